/* tests/leveldb/database.c */
#include "database.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/leveldb.h"

enum { WRITE_BUFFER_BYTES = 256 * 1024, TABLE_BYTES = 1024 * 1024 };

void database_key(char letter, uint32_t number, char key[KEY_BYTES + 1]) {
    snprintf(key, KEY_BYTES + 1, "%c%011u", letter, (unsigned)number);
}

static void make_value(const char *key, char value[VALUE_BYTES + 1]) {
    snprintf(value, VALUE_BYTES + 1, "value of %.11s", key);
}

static void check(char *error) {
    if (error != NULL) fail_msg("leveldb: %s", error);
}

void database_open(struct database *database, const char *path, leveldb_filterpolicy_t *policy,
                   bool paranoid) {
    *database = (struct database){.policy = policy,
                                  .options = leveldb_options_create(),
                                  .reading = leveldb_readoptions_create(),
                                  .writing = leveldb_writeoptions_create()};
    leveldb_options_set_create_if_missing(database->options, 1);
    leveldb_options_set_write_buffer_size(database->options, WRITE_BUFFER_BYTES);
    leveldb_options_set_max_file_size(database->options, TABLE_BYTES);
    leveldb_options_set_compression(database->options, leveldb_no_compression);
    leveldb_options_set_paranoid_checks(database->options, paranoid);
    if (policy != NULL) leveldb_options_set_filter_policy(database->options, policy);
    char *error = NULL;
    database->handle = leveldb_open(database->options, path, &error);
    check(error);
}

void database_close(struct database *database) {
    leveldb_close(database->handle);
    leveldb_options_destroy(database->options);
    leveldb_readoptions_destroy(database->reading);
    leveldb_writeoptions_destroy(database->writing);
    if (database->policy != NULL) leveldb_filterpolicy_destroy(database->policy);
}

void database_flush(struct database *database) {
    /* A range before all keys: memory goes into a table, and no table is rewritten. */
    leveldb_compact_range(database->handle, "\1", 1, "\2", 1);
}

void database_write(struct database *database, char letter, uint32_t first, uint32_t last) {
    char *error = NULL;
    for (uint32_t number = first; number < last; number++) {
        char key[KEY_BYTES + 1], value[VALUE_BYTES + 1];
        database_key(letter, number, key);
        make_value(key, value);
        leveldb_put(database->handle, database->writing, key, KEY_BYTES, value, VALUE_BYTES,
                    &error);
        check(error);
    }
    database_flush(database);
}

uint32_t database_count(struct database *database, char letter, uint32_t first, uint32_t last) {
    uint32_t found = 0;
    for (uint32_t number = first; number < last; number++) {
        char key[KEY_BYTES + 1], value[VALUE_BYTES + 1], *error = NULL;
        database_key(letter, number, key);
        make_value(key, value);
        size_t size = 0;
        char *read =
            leveldb_get(database->handle, database->reading, key, KEY_BYTES, &size, &error);
        found += read != NULL && size == VALUE_BYTES && memcmp(read, value, size) == 0;
        leveldb_free(read);
        leveldb_free(error);
    }
    return found;
}

struct counting {
    lethe_leveldb *policy;
    struct asked *asked;
};

static void counting_destroy(void *state) {
    struct counting *counting = state;
    lethe_leveldb_free(counting->policy);
    free(counting);
}

static char *counting_create(void *state, const char *const *keys, const size_t *sizes, int count,
                             size_t *size) {
    struct counting *counting = state;
    return lethe_leveldb_create(counting->policy, keys, sizes, (size_t)count, size);
}

static uint8_t counting_match(void *state, const char *key, size_t key_size, const char *filter,
                              size_t size) {
    struct counting *counting = state;
    bool may_match = lethe_leveldb_match(counting->policy, key, key_size, filter, size);
    counting->asked->times++;
    counting->asked->absent += !may_match;
    return may_match;
}

static const char *counting_name(void *state) {
    struct counting *counting = state;
    return lethe_leveldb_name(counting->policy);
}

leveldb_filterpolicy_t *database_counting_policy(const char *kind, double bits_per_key,
                                                 struct asked *asked) {
    struct counting *counting = malloc(sizeof *counting);
    *asked = (struct asked){0};
    counting->asked = asked;
    assert_ok(lethe_leveldb_new(kind,
                                &LETHE_OPTIONS(lethe_leveldb_options, .bits_per_key = bits_per_key),
                                &counting->policy));
    return leveldb_filterpolicy_create(counting, counting_destroy, counting_create, counting_match,
                                       counting_name);
}

leveldb_filterpolicy_t *database_policy(const char *kind) {
    leveldb_filterpolicy_t *policy;
    assert_ok(lethe_leveldb_policy(kind, NULL, &policy));
    return policy;
}

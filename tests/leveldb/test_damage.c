/* Goal: damage in the filters of a table never hides a key and never crashes, with LevelDB's own
 *       checks off.
 *
 * Method: find the filters in a table's file, change bytes there, open the database and read
 *         every key. Two parts are told apart: the filters themselves, where no key may be
 *         missing, and LevelDB's list of where they lie, which it trusts: there the database has
 *         to survive, and with paranoid_checks nothing may be missing. */
#include "support/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "support/folder.h"
#include "support/random.h"

enum { KEYS = 3000, FOOTER_BYTES = 48, ROUNDS = 25 };

static const char *const kinds[] = {"bloom", "blocked", "gaussian", "quotient"};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static struct test_folder folder;
static char path[300], table[600];
static unsigned char *bytes;
static size_t size;

/* Where the filters lie, and behind them the list of their places. */
static size_t filters_begin, filters_end, list_end;

static void write_table(void) {
    FILE *file = fopen(table, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void read_table(void) {
    DIR *entries = opendir(path);
    table[0] = '\0';
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (strstr(entry->d_name, ".ldb") == NULL) continue;
        assert_string_equal(table, ""); /* there is just one */
        snprintf(table, sizeof table, "%s/%s", path, entry->d_name);
    }
    closedir(entries);
    FILE *file = fopen(table, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(size);
    assert_int_equal(fread(bytes, 1, size, file), size);
    fclose(file);
}

static uint64_t read_varint(const unsigned char **at) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned char byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
}

/* LevelDB's doc/table_format.md: the footer says where the metaindex is, and its one entry where
 * the filters are, which end with the list's place in 4 bytes and the exponent of 2 KiB in one. */
static void find_filters(void) {
    const unsigned char *at = bytes + size - FOOTER_BYTES;
    at = bytes + read_varint(&at);
    assert_int_equal(read_varint(&at), 0);
    uint64_t name_size = read_varint(&at);
    read_varint(&at);
    assert_memory_equal(at, "filter.lethe.", 13);
    at += name_size;
    filters_begin = read_varint(&at);
    list_end = filters_begin + read_varint(&at);
    assert_true(list_end < size && bytes[list_end - 1] == 11);
    uint32_t list;
    memcpy(&list, bytes + list_end - 5, sizeof list);
    filters_end = filters_begin + list;
    assert_true(filters_end > filters_begin + 100 && filters_end < list_end);
}

static void make_database(const char *kind) {
    test_folder_make(&folder);
    snprintf(path, sizeof path, "%s/database", folder.path);
    struct database database;
    database_open(&database, path, database_policy(kind), false);
    database_write(&database, 'a', 0, KEYS);
    database_close(&database);
    read_table();
    find_filters();
}

static void drop_database(void) {
    free(bytes);
    test_folder_remove(&folder);
}

static uint32_t count_keys(const char *kind, bool paranoid) {
    struct database database;
    database_open(&database, path, database_policy(kind), paranoid);
    uint32_t found = database_count(&database, 'a', 0, KEYS);
    database_close(&database);
    return found;
}

/* Changes up to 20 bytes of a part, and puts them back after a reading. */
static uint32_t count_damaged(struct test_random *random, const char *kind, size_t begin,
                              size_t end, bool paranoid) {
    unsigned char *kept = malloc(size);
    memcpy(kept, bytes, size);
    for (uint64_t changes = 1 + test_random_below(random, 20); changes > 0; changes--)
        bytes[begin + test_random_below(random, end - begin)] ^=
            (unsigned char)(1 + test_random_below(random, 255));
    write_table();
    uint32_t found = count_keys(kind, paranoid);
    memcpy(bytes, kept, size);
    free(kept);
    return found;
}

static void damaged_filters_hide_nothing(void **state) {
    (void)state;
    struct test_random random = {1};
    for (int k = 0; k < KINDS; k++) {
        make_database(kinds[k]);
        assert_int_equal(count_keys(kinds[k], false), KEYS);
        for (int round = 0; round < ROUNDS; round++)
            assert_int_equal(count_damaged(&random, kinds[k], filters_begin, filters_end, false),
                             KEYS);
        /* All of them zeros, all of them ones. */
        memset(bytes + filters_begin, 0, filters_end - filters_begin);
        write_table();
        assert_int_equal(count_keys(kinds[k], false), KEYS);
        memset(bytes + filters_begin, 255, filters_end - filters_begin);
        write_table();
        assert_int_equal(count_keys(kinds[k], false), KEYS);
        drop_database();
    }
}

static void a_damaged_list_is_survived(void **state) {
    (void)state;
    struct test_random random = {2};
    for (int k = 0; k < KINDS; k++) {
        make_database(kinds[k]);
        for (int round = 0; round < ROUNDS; round++)
            assert_true(count_damaged(&random, kinds[k], filters_end, list_end, false) <= KEYS);
        drop_database();
    }
}

static void with_paranoid_checks_all_is_noticed(void **state) {
    (void)state;
    struct test_random random = {3};
    for (int k = 0; k < KINDS; k++) {
        make_database(kinds[k]);
        for (int round = 0; round < ROUNDS; round++)
            assert_int_equal(count_damaged(&random, kinds[k], filters_begin, list_end, true), KEYS);
        drop_database();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_filters_hide_nothing),
        cmocka_unit_test(a_damaged_list_is_survived),
        cmocka_unit_test(with_paranoid_checks_all_is_noticed),
    };
    return cmocka_run_group_tests_name("leveldb damage", tests, NULL, NULL);
}

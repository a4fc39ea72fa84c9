/* table.c - opens a table: finds it, or makes it, and compares it with what is wanted.
 *
 * I1   The description of a table is there before any of its partitions is. So if there are
 *      partitions and still no description afterwards, it was lost (redis/lost.h).
 * WHY  A partition that is missing is made with the table's own window before anything is counted
 *      in it. Otherwise the server would make it by itself, with its own default. */
#include "redis/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/description.h"
#include "redis/lost.h"
#include "say/message.h"

enum { CLUSTER_PARTITIONS = 16 };

static const uint64_t NEW_WINDOW_MS = 600000;
static const double NEW_ERROR = 1e-9;

static const char *const there_already[] = {"BUSYKEY", NULL};

static int set_name(struct redis_table *table, const char *name, const struct redis_url *url) {
    size_t size = strlen(name);
    if (size == 0 || size > REDIS_NAME_LIMIT_BYTES) {
        return message_fail(EXIT_USAGE, "the name of --table has %zu bytes; give one of 1 to %d",
                            size, REDIS_NAME_LIMIT_BYTES);
    }
    memcpy(table->name, name, size + 1);
    snprintf(table->shown, sizeof table->shown, "%s at %s", name,
             url != NULL ? url->shown : "the server");
    return EXIT_DONE;
}

/* Takes over what the table is, unless something else is wanted. */
static int adopt(struct redis_table *table, const struct redis_description *found,
                 const struct redis_table_options *options) {
    if (options->partitions > 0 && options->partitions != found->partitions) {
        return message_fail(EXIT_USAGE,
                            "%s has %zu partition%s, not %" PRIu64 ", which cannot be changed; "
                            "leave --partitions out, or "
                            "choose another --table",
                            table->shown, found->partitions, found->partitions == 1 ? "" : "s",
                            options->partitions);
    }
    if (options->window_ms > 0 && options->window_ms != found->window_ms) {
        return message_fail(
            EXIT_USAGE,
            "%s has a window of %" PRIu64 " ms, not %" PRIu64
            ", which cannot be changed; leave --window out, or choose another --table",
            table->shown, found->window_ms, options->window_ms);
    }
    if (options->error > 0 && options->error != found->error) {
        return message_fail(EXIT_USAGE,
                            "%s has an error of %g, not %g, which cannot be changed; leave --error "
                            "out, or choose another --table",
                            table->shown, found->error, options->error);
    }
    bool is_forgetful = found->window_kind == LETHE_WINDOW_FORGETFUL;
    if (options->forgetful == (is_forgetful ? LETHE_SWITCH_OFF : LETHE_SWITCH_ON)) {
        return message_fail(EXIT_USAGE,
                            "%s has a window of the %s kind, which cannot be changed; leave "
                            "--window-kind out, or choose another --table",
                            table->shown, is_forgetful ? "forgetful" : "quotient");
    }
    bool is_other = found->partitions > 1 &&
                    options->by_key == (found->is_by_key ? LETHE_SWITCH_OFF : LETHE_SWITCH_ON);
    if (is_other) {
        return message_fail(EXIT_USAGE,
                            "%s is spread by %s, which cannot be changed; leave --partition-by "
                            "out, or choose another --table",
                            table->shown, found->is_by_key ? "key" : "id");
    }
    if (options->periods.count > 0) {
        char wanted[REDIS_PERIODS_BYTES], has[REDIS_PERIODS_BYTES];
        redis_periods_write(&options->periods, wanted);
        redis_periods_write(&found->periods, has);
        if (strcmp(wanted, has) != 0) {
            return message_fail(EXIT_USAGE,
                                "%s counts per %s, not per %s, which cannot be changed; leave "
                                "--per and --keep out, or choose another --table",
                                table->shown, has, wanted);
        }
    }
    table->is_by_key = found->is_by_key;
    table->periods = found->periods;
    table->window_kind = found->window_kind;
    table->partition_count = found->partitions;
    table->seed = found->seed;
    table->window_ms = found->window_ms;
    table->error = found->error;
    memcpy(table->description, found->text, sizeof table->description);
    return EXIT_DONE;
}

/* Makes a table that was not found, unless parts of one are there. */
static int make_anew(struct redis_table *table, struct redis_description *found) {
    char left[REDIS_KEY_BYTES];
    table->is_new = true;
    int code = redis_lost_search(table, left);
    /* Somebody who makes it at this moment has written the description by now. */
    if (code == EXIT_DONE && left[0] != '\0') code = redis_description_read(table, found);
    if (code != EXIT_DONE || found->kind != TABLE_NOTHING) return code;
    if (left[0] != '\0') {
        return message_fail(
            EXIT_BAD_DATA,
            "the key %s, which describes the table, is gone, but its partition %s exists; a new "
            "description would spread ids differently, and duplicates would be counted: restore "
            "that key, or delete %s:{*}, or choose another --table",
            table->name, left, table->name);
    }
    code = redis_description_write(table);
    return code == EXIT_DONE ? redis_description_read(table, found) : code;
}

/* Finds the table, or makes it. */
static int find(struct redis_table *table, const struct redis_table_options *options) {
    struct redis_description found = {0};
    int code = redis_description_read(table, &found);
    if (code == EXIT_DONE && found.kind == TABLE_NOTHING && options->create) {
        size_t partitions = table->client->is_cluster ? CLUSTER_PARTITIONS : 1;
        table->partition_count = options->partitions > 0 ? (size_t)options->partitions : partitions;
        table->window_ms = options->window_ms > 0 ? options->window_ms : NEW_WINDOW_MS;
        table->error = options->error > 0 ? options->error : NEW_ERROR;
        table->window_kind =
            options->forgetful == LETHE_SWITCH_ON ? LETHE_WINDOW_FORGETFUL : LETHE_WINDOW_QUOTIENT;
        table->is_by_key = options->by_key == LETHE_SWITCH_ON;
        table->periods = options->periods;
        code = make_anew(table, &found);
    }
    if (code != EXIT_DONE) return code;
    if (found.kind == TABLE_NOTHING) {
        return message_fail(EXIT_ENVIRONMENT,
                            "there is no table %s; check the name; 'lethe count' creates tables",
                            table->shown);
    }
    if (found.partitions > 1 && strpbrk(table->name, "{}") != NULL) {
        return message_fail(EXIT_USAGE, "the name of --table has braces, which a table with "
                                        "partitions needs for itself; choose another name");
    }
    return adopt(table, &found, options);
}

static int name_partitions(struct redis_table *table) {
    uint16_t slots[REDIS_PARTITIONS_LIMIT];
    uint32_t tags[REDIS_PARTITIONS_LIMIT] = {0};
    table->partitions = calloc(table->partition_count, sizeof *table->partitions);
    if (table->partitions == NULL) return message_fail_memory();
    for (size_t i = 0; i < table->partition_count; i++) {
        slots[i] = (uint16_t)redis_slot_of_place(i, table->partition_count);
    }
    if (table->partition_count > 1) redis_tags_of_slots(slots, table->partition_count, tags);
    for (size_t i = 0; i < table->partition_count; i++) {
        struct redis_partition *partition = &table->partitions[i];
        size_t room = strlen(table->name) + 16;
        partition->key = malloc(room);
        if (partition->key == NULL) return message_fail_memory();
        if (table->partition_count == 1) {
            snprintf(partition->key, room, "%s", table->name);
        } else {
            snprintf(partition->key, room, "%s:{%" PRIu32 "}", table->name, tags[i]);
        }
        partition->slot = redis_slot((lethe_bytes){partition->key, strlen(partition->key)});
        redis_table_write_creation(table, partition->key, &partition->create);
        if (partition->create.is_short_of_memory) return message_fail_memory();
    }
    return EXIT_DONE;
}

struct making {
    const struct redis_table *table;
    size_t made;
};

static bool write_partition(void *context, size_t partition, struct redis_text *text) {
    const struct making *making = context;
    redis_table_write_creation(making->table, making->table->partitions[partition].key, text);
    return true;
}

static void count_made(void *context, size_t partition, const redisReply *reply) {
    (void)partition;
    struct making *making = context;
    if (reply->type == REDIS_REPLY_STATUS) making->made++;
}

/* Makes the partitions that are not there. */
static int make_partitions(struct redis_table *table) {
    struct making making = {.table = table};
    int code = redis_table_survey(table, &(struct redis_survey){.write = write_partition,
                                                                .on_reply = count_made,
                                                                .context = &making,
                                                                .is_write = true,
                                                                .tolerated = there_already});
    struct redis_table_stats stats;
    if (code == EXIT_DONE) code = redis_table_info(table, &stats);
    if (code != EXIT_DONE) return code;
    table->applied = stats.applied;
    table->is_untouched = stats.applied == 0 && stats.duplicates == 0 && stats.counters == 0;
    /* In a new table others may have counted already. */
    if (making.made > 0 && !table->is_untouched && !table->is_new) {
        message_warn("%s: %zu of %zu partitions were missing and are now empty; if they were "
                     "deleted or evicted, what was counted in them is lost",
                     table->shown, making.made, table->partition_count);
    }
    return EXIT_DONE;
}

int redis_table_open(const struct arguments *arguments, const struct redis_table_options *options,
                     struct redis_table **out) {
    *out = NULL;
    struct redis_table *table = calloc(1, sizeof *table);
    if (table != NULL) table->access = calloc(1, sizeof *table->access);
    if (table == NULL || table->access == NULL) {
        free(table);
        return message_fail_memory();
    }
    table->memory_bytes = options->memory_bytes;
    table->policy = options->policy;
    int code = redis_access_read(arguments, table->access);
    if (code == EXIT_DONE)
        code = set_name(table, arguments_text(arguments, "table"), &table->access->url);
    if (code == EXIT_DONE && options->create && options->partitions > 1 &&
        strpbrk(table->name, "{}") != NULL) {
        code = message_fail(EXIT_USAGE, "the name of --table has braces, which a table with "
                                        "partitions needs for itself; choose another name");
    }
    if (code == EXIT_DONE)
        code = redis_client_open(table->access, &options->client, &table->client);
    if (code == EXIT_DONE) code = find(table, options);
    if (code == EXIT_DONE) code = name_partitions(table);
    if (code == EXIT_DONE && options->create) code = make_partitions(table);
    if (code == EXIT_DONE) {
        table->watched_openings = table->client->openings;
        *out = table;
    } else {
        redis_table_close(table);
    }
    return code;
}

int redis_table_attach(struct redis_client *client, const char *name, struct redis_table **out) {
    *out = NULL;
    struct redis_table *table = calloc(1, sizeof *table);
    if (table == NULL) return message_fail_memory();
    table->is_shared = true;
    table->client = client;
    int code = set_name(table, name, &client->access->url);
    if (code == EXIT_DONE) code = find(table, &(struct redis_table_options){0});
    if (code == EXIT_DONE) code = name_partitions(table);
    if (code == EXIT_DONE) {
        *out = table;
    } else {
        redis_table_close(table);
    }
    return code;
}

int redis_table_outline(const char *name, const struct redis_description *found,
                        struct redis_table **out) {
    *out = NULL;
    struct redis_table *table = calloc(1, sizeof *table);
    if (table == NULL) return message_fail_memory();
    table->is_shared = true;
    int code = set_name(table, name, NULL);
    if (code == EXIT_DONE) code = adopt(table, found, &(struct redis_table_options){0});
    if (code == EXIT_DONE) code = name_partitions(table);
    if (code == EXIT_DONE) {
        *out = table;
    } else {
        redis_table_close(table);
    }
    return code;
}

void redis_table_close(struct redis_table *table) {
    if (table == NULL) return;
    for (size_t i = 0; table->partitions != NULL && i < table->partition_count; i++) {
        free(table->partitions[i].key);
        redis_text_free(&table->partitions[i].create);
    }
    free(table->partitions);
    redis_text_free(&table->watch_text);
    if (!table->is_shared) {
        redis_client_close(table->client);
        redis_access_free(table->access);
        free(table->access);
    }
    free(table);
}

size_t redis_table_place_of_key(const struct redis_table *table, lethe_bytes key) {
    return (size_t)redis_checksum(key) * table->partition_count >> 16;
}

size_t redis_table_place(const struct redis_table *table, const lethe_operation *operation) {
    if (table->partition_count == 1) return 0;
    if (table->is_by_key) {
        size_t place = redis_table_place_of_key(table, operation->changes[0].key);
        for (size_t i = 1; i < operation->change_count; i++) {
            if (redis_table_place_of_key(table, operation->changes[i].key) != place)
                return REDIS_NO_PLACE;
        }
        return place;
    }
    lethe_bytes id = operation->id;
    uint64_t hash = lethe_hash_bytes(table->seed, id.data, id.size).high >> 32;
    return (size_t)(hash * table->partition_count >> 32);
}

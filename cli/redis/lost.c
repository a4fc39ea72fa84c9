/* lost.c - looks for what is left of a table, keeps the description of a table that a run counts
 * into, and says of what was read that it lacks partitions.
 *
 * I1   Whether partitions are there is asked after the last question that rests on them: one that
 *      is lost while it is read is noticed.
 * WHY  With the description the number of partitions is lost as well, and keys cannot be searched
 *      by prefix without reading all keys of a server. But the slots of partitions follow from
 *      their number, and those of the first and the last partition are the same for many numbers:
 *      about 340 keys cover all numbers, unless both partitions are lost too. */
#include "redis/lost.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "say/message.h"

/* --- Looking for partitions */

struct search {
    const struct redis_table *table;
    uint32_t tags[REDIS_SLOTS];
    char *found;
};

static void write_key(const struct search *search, size_t place, char out[REDIS_KEY_BYTES]) {
    snprintf(out, REDIS_KEY_BYTES, "%s:{%" PRIu32 "}", search->table->name, search->tags[place]);
}

static bool write_question(void *context, size_t place, struct redis_text *text) {
    char key[REDIS_KEY_BYTES];
    write_key(context, place, key);
    redis_text_begin(text, 2);
    redis_text_string(text, "ONCE.INFO");
    redis_text_string(text, key);
    return true;
}

static void take_answer(void *context, size_t place, const redisReply *reply) {
    const struct search *search = context;
    if (reply->type == REDIS_REPLY_ARRAY) write_key(search, place, search->found);
}

/* The slots where partitions may be, each once. */
static size_t collect_slots(size_t wanted_count, uint16_t out[REDIS_SLOTS]) {
    static bool is_suspect[REDIS_SLOTS];
    memset(is_suspect, 0, sizeof is_suspect);
    for (size_t count = 2; count <= REDIS_PARTITIONS_LIMIT; count++) {
        size_t step = count == wanted_count ? 1 : count - 1;
        for (size_t i = 0; i < count; i += step) {
            is_suspect[redis_slot_of_place(i, count)] = true;
        }
    }
    size_t found = 0;
    for (size_t slot = 0; slot < REDIS_SLOTS; slot++) {
        if (is_suspect[slot]) out[found++] = (uint16_t)slot;
    }
    return found;
}

int redis_lost_search(struct redis_table *table, char found[REDIS_KEY_BYTES]) {
    /* What this user may not see is not this user's table. */
    static const char *const not_there[] = {"ERR no such table", "WRONGTYPE", "NOPERM", NULL};
    static struct search search;
    static uint16_t slots[REDIS_SLOTS];
    found[0] = '\0';
    if (strpbrk(table->name, "{}") != NULL) return EXIT_DONE; /* such a table has no partitions */
    search.table = table;
    search.found = found;
    struct redis_table suspects = {.client = table->client};
    suspects.partition_count = collect_slots(table->partition_count, slots);
    suspects.partitions = calloc(suspects.partition_count, sizeof *suspects.partitions);
    if (suspects.partitions == NULL) {
        return message_fail_memory();
    }
    for (size_t i = 0; i < suspects.partition_count; i++) {
        suspects.partitions[i].slot = slots[i];
    }
    redis_tags_of_slots(slots, suspects.partition_count, search.tags);
    int code = redis_table_survey(&suspects, &(struct redis_survey){.write = write_question,
                                                                    .on_reply = take_answer,
                                                                    .context = &search,
                                                                    .tolerated = not_there});
    free(suspects.partitions);
    return code;
}

/* --- Keeping the description */

static void compare(struct redis_request *request, size_t command, const redisReply *reply) {
    (void)command;
    struct redis_table *table = request->context;
    if (reply->type == REDIS_REPLY_NIL) {
        message_warn("the key %s, which describes the table, was gone and has been written again; "
                     "a server has lost data, with counters and ids",
                     table->name);
    } else if (reply->type == REDIS_REPLY_STRING && strcmp(reply->str, table->description) != 0 &&
               table->client->code == EXIT_DONE) {
        table->client->code = message_fail(
            EXIT_BAD_DATA,
            "%s was lost, and was made again by somebody else during this run: ids are spread in "
            "two ways, and duplicates may be counted; delete %s and %s:{*}, and count again",
            table->shown, table->name, table->name);
    }
}

static void on_compared(struct redis_request *request) {
    struct redis_table *table = request->context;
    table->is_watching = false;
}

void redis_lost_watch(struct redis_table *table) {
    struct redis_client *client = table->client;
    if (table->description[0] == '\0' || table->is_watching ||
        table->watched_openings == client->openings) {
        return;
    }
    struct redis_text *text = &table->watch_text;
    redis_text_clear(text);
    redis_text_begin(text, 5);
    redis_text_string(text, "SET");
    redis_text_string(text, table->name);
    redis_text_string(text, table->description);
    redis_text_string(text, "NX");
    redis_text_string(text, "GET");
    if (text->is_short_of_memory) {
        client->code = message_fail_memory();
        return;
    }
    lethe_bytes key = {.data = table->name, .size = strlen(table->name)};
    table->watch_request = (struct redis_request){.slot = redis_slot(key),
                                                  .is_write = true,
                                                  .text = text->data,
                                                  .size = text->size,
                                                  .commands = 1,
                                                  .on_reply = compare,
                                                  .on_done = on_compared,
                                                  .context = table};
    table->watched_openings = client->openings;
    table->is_watching = true;
    redis_client_submit(client, &table->watch_request);
}

/* --- Partitions that are missing */

enum { NAMED_MOST = 3, MAKING_MS = 250 };

void redis_lost_need(struct redis_table *table, const lethe_bytes *keys, size_t count) {
    for (size_t i = 0; i < count && table->is_by_key; i++)
        table->partitions[redis_table_place_of_key(table, keys[i])].is_needed = true;
    for (size_t i = 0; i < table->partition_count && (count == 0 || !table->is_by_key); i++)
        table->partitions[i].is_needed = true;
}

static bool write_check(void *context, size_t partition, struct redis_text *text) {
    const struct redis_table *table = context;
    if (!table->partitions[partition].is_needed) return false;
    redis_text_begin(text, 2);
    redis_text_string(text, "ONCE.INFO");
    redis_text_string(text, table->partitions[partition].key);
    return true;
}

static void take_check(void *context, size_t partition, const redisReply *reply) {
    const struct redis_table *table = context;
    table->partitions[partition].is_needed = reply->type == REDIS_REPLY_ERROR;
}

/* Asks for those that are needed; afterwards, these are those that are missing. */
static int find_missing(struct redis_table *table, size_t *missing) {
    static const char *const not_there[] = {"ERR no such table", NULL};
    int code = redis_table_survey(table, &(struct redis_survey){.write = write_check,
                                                                .on_reply = take_check,
                                                                .context = table,
                                                                .tolerated = not_there});
    *missing = 0;
    for (size_t i = 0; i < table->partition_count; i++)
        *missing += table->partitions[i].is_needed;
    return code;
}

/* "t:{1296}, t:{12} and 3 more" */
static void name_missing(const struct redis_table *table, size_t missing, char *out, size_t size) {
    size_t named = 0, used = 0;
    for (size_t i = 0; i < table->partition_count && named < NAMED_MOST && used < size; i++) {
        if (!table->partitions[i].is_needed) continue;
        used += (size_t)snprintf(out + used, size - used, "%s%s", named > 0 ? ", " : "",
                                 table->partitions[i].key);
        named++;
    }
    if (missing > named && used < size)
        snprintf(out + used, size - used, " and %zu more", missing - named);
}

int redis_lost_check(struct redis_table *table) {
    char names[NAMED_MOST * (REDIS_KEY_BYTES + 2) + 32] = "";
    size_t missing = 0;
    if (table->partition_count == 1) return EXIT_DONE;
    int code = find_missing(table, &missing);
    if (code == EXIT_DONE && missing > 0) {
        (void)nanosleep(&(struct timespec){.tv_nsec = MAKING_MS * 1000000L}, NULL);
        code = find_missing(table, &missing);
    }
    if (code != EXIT_DONE || missing == 0) return code;
    name_missing(table, missing, names, sizeof names);
    return message_fail(EXIT_BAD_DATA,
                        "of the %zu partitions of %s, %zu %s missing: %s; what was counted there "
                        "is lost, and these figures lack it. Were they deleted or evicted, or did "
                        "a server lose them? Restore them from a backup; or go on without, as "
                        "'lethe count' makes them again, empty",
                        table->partition_count, table->shown, missing, missing == 1 ? "is" : "are",
                        names);
}

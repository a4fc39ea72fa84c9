/* read.c - reads counters from all partitions and adds them up.
 *
 * WHY     The largest counters of each partition do not determine the largest sums: with more than
 *         one partition, top reads them all, as list does.
 * I1      A list of the first few keys keeps only these while it reads: now and then the others are
 *         thrown away. A key that was thrown away has enough keys before it already, and what comes
 *         later only adds to these. Of a key that is kept, the entries of all partitions are.
 * I2      A partition that is missing answers as an empty one does. So what rests on a partition
 *         that may be missing needs it to be there: redis/lost.h. One that has a counter is. */
#include "redis/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events/problem.h"
#include "redis/lost.h"
#include "say/message.h"

enum { SCAN_COUNT = 1000 };
/* So many entries, or bytes of keys, more than were left are gathered before some are thrown away
 * again. */
enum { TRIM_ENTRIES = 2048, TRIM_TEXT_BYTES = 1 << 20 };

static int fail_memory(void) {
    return message_fail_memory();
}

static int fail_sum(lethe_bytes key) {
    struct event_excerpt excerpt;
    return message_fail(EXIT_BAD_DATA,
                        "the sum of the counter '%s' over the partitions exceeds the range of 64 "
                        "bits; read each partition with ONCE.GET",
                        event_excerpt(key, &excerpt));
}

/* --- By key */

struct selection {
    struct redis_table *table;
    const char *command;
    const lethe_bytes *keys;
    size_t count;
    int64_t *values;
    bool *found;
    const lethe_bytes *overflown; /* the key of a sum that does not fit */
};

static bool write_keys(void *context, size_t partition, struct redis_text *text) {
    const struct selection *selection = context;
    redis_text_begin(text, 2 + selection->count);
    redis_text_string(text, selection->command);
    redis_text_string(text, selection->table->partitions[partition].key);
    for (size_t i = 0; i < selection->count; i++) {
        redis_text_word(text, selection->keys[i]);
    }
    return true;
}

/* I2 */
static void need_silent(const struct selection *selection, size_t partition) {
    struct redis_table *table = selection->table;
    bool has_part = !table->is_by_key;
    for (size_t i = 0; i < selection->count && !has_part; i++)
        has_part = redis_table_place_of_key(table, selection->keys[i]) == partition;
    if (has_part) table->partitions[partition].is_needed = true;
}

static void add_values(void *context, size_t partition, const redisReply *reply) {
    struct selection *selection = context;
    bool has_one = false;
    for (size_t i = 0; i < reply->elements && i < selection->count; i++) {
        const redisReply *value = reply->element[i];
        if (value->type != REDIS_REPLY_INTEGER) continue;
        selection->found[i] = has_one = true;
        if (__builtin_add_overflow(selection->values[i], (int64_t)value->integer,
                                   &selection->values[i])) {
            selection->overflown = &selection->keys[i];
        }
    }
    if (!has_one) need_silent(selection, partition);
}

int redis_get(struct redis_table *table, const lethe_bytes *keys, size_t count, int64_t *values,
              bool *found) {
    struct selection selection = {table, "ONCE.MGET", keys, count, values, found, NULL};
    if (count == 0) return EXIT_DONE;
    memset(values, 0, count * sizeof *values);
    memset(found, 0, count * sizeof *found);
    int code = redis_table_survey(
        table,
        &(struct redis_survey){.write = write_keys, .on_reply = add_values, .context = &selection});
    if (code == EXIT_DONE && selection.overflown != NULL) return fail_sum(*selection.overflown);
    return code;
}

int redis_delete(struct redis_table *table, const lethe_bytes *keys, size_t count, bool *existed) {
    struct selection selection = {table, "ONCE.DEL", keys, count, NULL, NULL, NULL};
    int64_t *values = malloc((count + 1) * sizeof *values);
    if (values == NULL) return fail_memory();
    int code = redis_get(table, keys, count, values, existed);
    if (code == EXIT_DONE) {
        code = redis_table_survey(
            table,
            &(struct redis_survey){.write = write_keys, .context = &selection, .is_write = true});
    }
    /* What is not there is deleted. */
    for (size_t i = 0; i < table->partition_count; i++)
        table->partitions[i].is_needed = false;
    free(values);
    return code;
}

/* --- All of them */

struct entry {
    size_t key; /* where it begins in text */
    uint32_t size, partition;
    uint64_t number; /* in which it came */
    int64_t value;
};

struct gathering {
    const struct redis_table *table;
    struct redis_text pattern; /* empty: all */
    uint64_t *cursors;
    bool *is_done;
    bool is_short_of_memory;
    char *text;
    size_t text_size, text_capacity;
    struct entry *entries;
    size_t count, capacity;
    uint64_t came; /* entries, those included that were thrown away */

    /* I1: from which key on, and how many different ones; 0: all. */
    lethe_bytes from;
    size_t most;
    /* When to throw some away, and after which key nothing is kept any more, if there is one. */
    size_t trim_at, trim_text_at;
    bool has_last;
    struct entry last;
};

static int compare_bytes(lethe_bytes a, lethe_bytes b) {
    size_t size = a.size < b.size ? a.size : b.size;
    int order = memcmp(a.data, b.data, size);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static lethe_bytes key_of(const struct gathering *all, const struct entry *entry) {
    return (lethe_bytes){.data = all->text + entry->key, .size = entry->size};
}

/* Whether a key may be among those that are wanted (I1). */
static bool is_wanted(const struct gathering *all, lethe_bytes key) {
    if (all->most == 0) return true;
    return compare_bytes(key, all->from) >= 0 &&
           (!all->has_last || compare_bytes(key, key_of(all, &all->last)) <= 0);
}

static bool gather_one(struct gathering *all, size_t partition, const redisReply *key,
                       const redisReply *value) {
    if (key->type != REDIS_REPLY_STRING || value->type != REDIS_REPLY_INTEGER) return true;
    size_t size = (size_t)key->len;
    if (!is_wanted(all, (lethe_bytes){.data = key->str, .size = size})) return true;
    if (all->text_capacity - all->text_size < size) {
        size_t capacity = 2 * (all->text_size + size) + 4096;
        char *larger = realloc(all->text, capacity);
        if (larger == NULL) return false;
        all->text = larger;
        all->text_capacity = capacity;
    }
    if (all->count == all->capacity) {
        size_t capacity = 2 * all->capacity + 1024;
        struct entry *larger = realloc(all->entries, capacity * sizeof *larger);
        if (larger == NULL) return false;
        all->entries = larger;
        all->capacity = capacity;
    }
    memcpy(all->text + all->text_size, key->str, size);
    all->entries[all->count++] = (struct entry){all->text_size, (uint32_t)size, (uint32_t)partition,
                                                all->came++, value->integer};
    all->text_size += size;
    return true;
}

static int compare_keys(const char *text, const struct entry *a, const struct entry *b) {
    return compare_bytes((lethe_bytes){text + a->key, a->size},
                         (lethe_bytes){text + b->key, b->size});
}

static int compare_entries(const void *left, const void *right, void *text) {
    const struct entry *a = left, *b = right;
    int order = compare_keys(text, a, b);
    if (order != 0) return order;
    if (a->partition != b->partition) return a->partition < b->partition ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* I1. Of a counter that a partition has listed twice, the later value is kept. */
static bool trim(struct gathering *all) {
    struct entry *entries = all->entries;
    size_t kept = 0, keys = 0, size = 0;
    qsort_r(entries, all->count, sizeof *entries, compare_entries, all->text);
    for (size_t i = 0; i < all->count; i++) {
        bool is_same = kept > 0 && compare_keys(all->text, &entries[kept - 1], &entries[i]) == 0;
        if (!is_same && keys++ == all->most) break;
        if (!is_same) size += entries[i].size;
        if (is_same && entries[kept - 1].partition == entries[i].partition) kept--;
        entries[kept++] = entries[i];
    }
    bool is_full = keys >= all->most;
    char *text = malloc(size + 1);
    if (text == NULL) return false;
    size = 0;
    for (size_t i = 0; i < kept; i++) { /* the entries of a key share its bytes */
        struct entry *entry = &entries[i];
        bool is_same = i > 0 && entries[i - 1].size == entry->size &&
                       memcmp(text + entries[i - 1].key, all->text + entry->key, entry->size) == 0;
        if (!is_same) memcpy(text + size, all->text + entry->key, entry->size);
        if (!is_same) size += entry->size;
        entry->key = size - entry->size;
    }
    free(all->text);
    all->text = text;
    all->text_size = all->text_capacity = size;
    all->count = kept;
    all->has_last = is_full;
    if (is_full) all->last = entries[kept - 1];
    all->trim_at = 2 * kept + TRIM_ENTRIES;
    all->trim_text_at = 2 * size + TRIM_TEXT_BYTES;
    return true;
}

static bool is_trimming_due(const struct gathering *all) {
    return all->most > 0 && (all->count >= all->trim_at || all->text_size >= all->trim_text_at);
}

static bool write_scan(void *context, size_t partition, struct redis_text *text) {
    const struct gathering *all = context;
    if (all->is_done[partition]) return false;
    lethe_bytes pattern = {.data = all->pattern.data, .size = all->pattern.size};
    redis_text_begin(text, pattern.size > 0 ? 7 : 5);
    redis_text_string(text, "ONCE.SCAN");
    redis_text_string(text, all->table->partitions[partition].key);
    redis_text_count(text, all->cursors[partition]);
    redis_text_string(text, "COUNT");
    redis_text_count(text, SCAN_COUNT);
    if (pattern.size > 0) {
        redis_text_string(text, "MATCH");
        redis_text_word(text, pattern);
    }
    return true;
}

static void take_scan(void *context, size_t partition, const redisReply *reply) {
    struct gathering *all = context;
    all->is_done[partition] = true;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) return;
    const redisReply *cursor = reply->element[0], *pairs = reply->element[1];
    if (cursor->str == NULL || pairs->type != REDIS_REPLY_ARRAY) return;
    all->cursors[partition] = strtoull(cursor->str, NULL, 10);
    all->is_done[partition] = all->cursors[partition] == 0;
    for (size_t i = 0; i + 1 < pairs->elements && !all->is_short_of_memory; i += 2) {
        all->is_short_of_memory =
            !gather_one(all, partition, pairs->element[i], pairs->element[i + 1]) ||
            (is_trimming_due(all) && !trim(all));
    }
}

/* The pattern for keys that begin so; the text's memory is used for bytes alone. */
static void write_pattern(struct redis_text *pattern, lethe_bytes prefix) {
    const char *data = prefix.data;
    if (prefix.size == 0) return;
    pattern->data = malloc(2 * prefix.size + 1);
    pattern->is_short_of_memory = pattern->data == NULL;
    for (size_t i = 0; i < prefix.size && pattern->data != NULL; i++) {
        if (strchr("*?[]\\^-", data[i]) != NULL && data[i] != '\0') {
            pattern->data[pattern->size++] = '\\';
        }
        pattern->data[pattern->size++] = data[i];
    }
    if (pattern->data != NULL) pattern->data[pattern->size++] = '*';
}

static int gather(struct redis_table *table, lethe_bytes prefix, struct gathering *all) {
    redis_lost_need(table, NULL, 0); /* I2 */
    all->table = table;
    all->cursors = calloc(table->partition_count, sizeof *all->cursors);
    all->is_done = calloc(table->partition_count, sizeof *all->is_done);
    write_pattern(&all->pattern, prefix);
    if (all->cursors == NULL || all->is_done == NULL || all->pattern.is_short_of_memory) {
        return fail_memory();
    }
    struct redis_survey survey = {.write = write_scan, .on_reply = take_scan, .context = all};
    for (size_t done = 0; done < table->partition_count;) {
        int code = redis_table_survey(table, &survey);
        if (code != EXIT_DONE) return code;
        if (all->is_short_of_memory) return fail_memory();
        for (done = 0; done < table->partition_count && all->is_done[done];) {
            done++;
        }
    }
    return EXIT_DONE;
}

static void release(struct gathering *all) {
    redis_text_free(&all->pattern);
    free(all->cursors);
    free(all->is_done);
    free(all->text);
    free(all->entries);
}

static int compare_values(const void *left, const void *right, void *text) {
    const struct entry *a = left, *b = right;
    if (a->value != b->value) return a->value > b->value ? -1 : 1;
    return compare_keys(text, a, b);
}

/* Sorts by key, and makes one entry of those of the same key. A scan may list a counter of a
 * partition twice, if the table grows meanwhile: the later value counts. */
static int add_up(struct gathering *all) {
    struct entry *entries = all->entries;
    size_t kept = 0;
    if (all->count == 0) return EXIT_DONE;
    qsort_r(entries, all->count, sizeof *entries, compare_entries, all->text);
    for (size_t i = 0; i < all->count; i++) {
        const struct entry *next = i + 1 < all->count ? &entries[i + 1] : NULL;
        if (next != NULL && next->partition == entries[i].partition &&
            compare_keys(all->text, next, &entries[i]) == 0) {
            continue;
        }
        if (kept > 0 && compare_keys(all->text, &entries[kept - 1], &entries[i]) == 0) {
            if (__builtin_add_overflow(entries[kept - 1].value, entries[i].value,
                                       &entries[kept - 1].value)) {
                return fail_sum((lethe_bytes){all->text + entries[i].key, entries[i].size});
            }
        } else {
            entries[kept++] = entries[i];
        }
    }
    all->count = kept;
    return EXIT_DONE;
}

static void visit_all(const struct gathering *all, size_t most,
                      bool (*visit)(void *, lethe_bytes, int64_t), void *context) {
    for (size_t i = 0; i < all->count && i < most; i++) {
        const struct entry *entry = &all->entries[i];
        if (!visit(context, (lethe_bytes){all->text + entry->key, entry->size}, entry->value)) {
            return;
        }
    }
}

/* The first `most` from a key on; 0: all. */
static int visit_in_order(struct redis_table *table, lethe_bytes prefix, struct gathering *all,
                          bool (*visit)(void *, lethe_bytes, int64_t), void *context) {
    int code = gather(table, prefix, all);
    if (code == EXIT_DONE) code = add_up(all);
    if (code == EXIT_DONE) visit_all(all, all->most > 0 ? all->most : SIZE_MAX, visit, context);
    release(all);
    return code;
}

int redis_each(struct redis_table *table, lethe_bytes prefix,
               bool (*visit)(void *, lethe_bytes, int64_t), void *context) {
    return visit_in_order(table, prefix, &(struct gathering){0}, visit, context);
}

int redis_each_from(struct redis_table *table, lethe_bytes prefix, lethe_bytes from, size_t most,
                    bool (*visit)(void *, lethe_bytes, int64_t), void *context) {
    struct gathering all = {
        .from = from, .most = most, .trim_at = TRIM_ENTRIES, .trim_text_at = TRIM_TEXT_BYTES};
    return visit_in_order(table, prefix, &all, visit, context);
}

/* --- The largest */

struct ranking {
    const struct redis_table *table;
    size_t number;
    bool (*visit)(void *, lethe_bytes, int64_t);
    void *context;
};

static bool write_top(void *context, size_t partition, struct redis_text *text) {
    const struct ranking *ranking = context;
    redis_text_begin(text, 3);
    redis_text_string(text, "ONCE.TOP");
    redis_text_string(text, ranking->table->partitions[partition].key);
    redis_text_count(text, ranking->number);
    return true;
}

static void visit_top(void *context, size_t partition, const redisReply *reply) {
    (void)partition;
    const struct ranking *ranking = context;
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const redisReply *key = reply->element[i], *value = reply->element[i + 1];
        if (key->type != REDIS_REPLY_STRING || value->type != REDIS_REPLY_INTEGER) continue;
        if (!ranking->visit(ranking->context, (lethe_bytes){key->str, (size_t)key->len},
                            value->integer)) {
            return;
        }
    }
}

int redis_top(struct redis_table *table, size_t number, bool (*visit)(void *, lethe_bytes, int64_t),
              void *context) {
    if (table->partition_count == 1) {
        struct ranking ranking = {table, number, visit, context};
        return redis_table_survey(
            table,
            &(struct redis_survey){.write = write_top, .on_reply = visit_top, .context = &ranking});
    }
    struct gathering all = {0};
    int code = gather(table, (lethe_bytes){.data = ""}, &all);
    if (code == EXIT_DONE) code = add_up(&all);
    if (code == EXIT_DONE && all.count > 0) {
        qsort_r(all.entries, all.count, sizeof *all.entries, compare_values, all.text);
        visit_all(&all, number, visit, context);
    }
    release(&all);
    return code;
}

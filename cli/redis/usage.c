/* usage.c - reads buckets from all partitions and adds them up.
 *
 * IDEA    First the keys, by ONCE.SCAN unless they are given; then for a few hundred of them at a
 *         time ONCE.GET and ONCE.RANGE, all in one request per partition. What comes back is kept
 *         as rows of key, period and value, sorted, and added up.
 * I1      A request may be answered twice, in parts. Rows of one partition, key and period are the
 *         same row, and the last one counts.
 * REST    A counter's total less its buckets: what KEEP has dropped. Each partition drops by
 *         itself, so the oldest periods may be in part in their buckets and in part in the rest.
 * LIMIT   A counter and its buckets are read one right after the other, but nothing keeps others
 *         from counting in between: the rest of a busy counter may be off by what came then. */
#include "redis/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events/problem.h"
#include "redis/lost.h"
#include "redis/read.h"
#include "say/message.h"

__extension__ typedef __int128 wide;

enum { KEYS_AT_ONCE = 256, BUCKETS_AT_ONCE = 1000, PERIODS_MOST = 1000000 };
/* Where the total is, among the rows of a key. */
static const int64_t TOTAL = -1;

struct row {
    uint32_t key, partition;
    int64_t start_ms;
    uint64_t number; /* in which it came */
    int64_t value;
};

struct reading {
    struct redis_table *table;
    char word[REDIS_PERIOD_BYTES];
    uint64_t from_ms, to_ms; /* of the buckets that are asked for */
    lethe_bytes *keys;
    char *text; /* what the keys consist of, if they were listed */
    size_t key_count, key_room, text_size, text_room;
    bool is_short_of_memory;

    /* The keys that are asked about, and from where on; a partition's own cursors. */
    size_t first, last;
    uint64_t *cursors;
    size_t open; /* how many of them are not done */
    struct row *rows;
    size_t row_count, row_room;
    wide *rests;
};

static bool grow(void **array, size_t *room, size_t needed, size_t each) {
    if (needed <= *room) return true;
    size_t larger = 2 * needed + 64;
    void *grown = realloc(*array, larger * each);
    if (grown == NULL) return false;
    *array = grown;
    *room = larger;
    return true;
}

/* --- Keys */

static bool take_key(void *context, lethe_bytes key, int64_t value) {
    struct reading *reading = context;
    (void)value;
    void *keys = reading->keys, *text = reading->text;
    bool fits = grow(&keys, &reading->key_room, reading->key_count + 1, sizeof *reading->keys);
    reading->keys = keys;
    fits = fits && grow(&text, &reading->text_room, reading->text_size + key.size, 1);
    reading->text = text;
    reading->is_short_of_memory = !fits;
    if (!fits) return false;
    if (key.size > 0) memcpy(reading->text + reading->text_size, key.data, key.size);
    /* Where it begins; its address is known when the text no longer moves. */
    reading->keys[reading->key_count++] = (lethe_bytes){NULL, key.size};
    reading->text_size += key.size;
    return true;
}

static int list_keys(struct reading *reading, lethe_bytes prefix) {
    int code = redis_each(reading->table, prefix, take_key, reading);
    if (code != EXIT_DONE) return code;
    if (reading->is_short_of_memory) return message_fail_memory();
    size_t at = 0;
    for (size_t i = 0; i < reading->key_count; i++) {
        reading->keys[i].data = reading->text != NULL ? reading->text + at : "";
        at += reading->keys[i].size;
    }
    return EXIT_DONE;
}

static int compare_keys(const void *left, const void *right) {
    const lethe_bytes *a = left, *b = right;
    size_t size = a->size < b->size ? a->size : b->size;
    int order = size > 0 ? memcmp(a->data, b->data, size) : 0;
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

/* Each once, in the order of their bytes. */
static int sort_keys(struct reading *reading, const lethe_bytes *keys, size_t count) {
    size_t kept = 0;
    reading->keys = malloc((count + 1) * sizeof *reading->keys);
    if (reading->keys == NULL) return message_fail_memory();
    memcpy(reading->keys, keys, count * sizeof *keys);
    qsort(reading->keys, count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || compare_keys(&reading->keys[kept - 1], &reading->keys[i]) != 0)
            reading->keys[kept++] = reading->keys[i];
    }
    reading->key_count = kept;
    return EXIT_DONE;
}

/* --- Buckets */

static uint64_t *cursor_of(struct reading *reading, size_t partition, size_t key) {
    return &reading->cursors[partition * KEYS_AT_ONCE + (key - reading->first)];
}

static const uint64_t DONE_CURSOR = UINT64_MAX;

/* Two commands for each key that is not done in this partition. */
static bool write_ranges(void *context, size_t partition, struct redis_text *text,
                         struct redis_ends *ends) {
    struct reading *reading = context;
    const char *table = reading->table->partitions[partition].key;
    bool is_asked = false;
    for (size_t i = reading->first; i < reading->last; i++) {
        uint64_t cursor = *cursor_of(reading, partition, i);
        if (cursor == DONE_CURSOR) continue;
        is_asked = true;
        redis_text_begin(text, 3);
        redis_text_string(text, "ONCE.GET");
        redis_text_string(text, table);
        redis_text_word(text, reading->keys[i]);
        redis_ends_add(ends, text, (uint32_t)i);
        redis_text_begin(text, 9);
        redis_text_string(text, "ONCE.RANGE");
        redis_text_string(text, table);
        redis_text_word(text, reading->keys[i]);
        redis_text_count(text, cursor);
        redis_text_count(text, reading->to_ms);
        redis_text_string(text, "PER");
        redis_text_string(text, reading->word);
        redis_text_string(text, "COUNT");
        redis_text_count(text, BUCKETS_AT_ONCE);
        redis_ends_add(ends, text, (uint32_t)i);
    }
    return is_asked;
}

static void add_row(struct reading *reading, size_t partition, size_t key, int64_t start_ms,
                    int64_t value) {
    void *rows = reading->rows;
    if (!grow(&rows, &reading->row_room, reading->row_count + 1, sizeof *reading->rows))
        reading->is_short_of_memory = true;
    reading->rows = rows;
    if (reading->is_short_of_memory) return;
    reading->rows[reading->row_count] =
        (struct row){(uint32_t)key, (uint32_t)partition, start_ms, reading->row_count, value};
    reading->row_count++;
}

static void take_answer(void *context, size_t partition, uint32_t key, const redisReply *reply) {
    struct reading *reading = context;
    if (reply->type == REDIS_REPLY_INTEGER) add_row(reading, partition, key, TOTAL, reply->integer);
    if (reply->type != REDIS_REPLY_ARRAY) return;
    uint64_t *cursor = cursor_of(reading, partition, key);
    if (*cursor == DONE_CURSOR) reading->open++; /* it was answered before, and is again */
    *cursor = DONE_CURSOR;
    reading->open--;
    if (reply->elements != 2) return;
    const redisReply *next = reply->element[0], *pairs = reply->element[1];
    if (next->type != REDIS_REPLY_INTEGER || pairs->type != REDIS_REPLY_ARRAY) return;
    if (next->integer > 0) {
        *cursor = (uint64_t)next->integer;
        reading->open++;
    }
    for (size_t i = 0; i + 1 < pairs->elements; i += 2) {
        const redisReply *start = pairs->element[i], *value = pairs->element[i + 1];
        if (start->type != REDIS_REPLY_INTEGER || value->type != REDIS_REPLY_INTEGER) continue;
        add_row(reading, partition, key, start->integer, value->integer);
    }
}

static int read_buckets(struct reading *reading) {
    size_t cursors = reading->table->partition_count * KEYS_AT_ONCE;
    reading->cursors = malloc(cursors * sizeof *reading->cursors);
    if (reading->cursors == NULL) return message_fail_memory();
    struct redis_survey survey = {
        .write_many = write_ranges, .on_each = take_answer, .context = reading};
    for (; reading->first < reading->key_count; reading->first = reading->last) {
        reading->last = reading->first + KEYS_AT_ONCE;
        if (reading->last > reading->key_count) reading->last = reading->key_count;
        for (size_t i = 0; i < cursors; i++)
            reading->cursors[i] = reading->from_ms;
        reading->open = reading->table->partition_count * (reading->last - reading->first);
        while (reading->open > 0) {
            int code = redis_table_survey(reading->table, &survey);
            if (code == EXIT_DONE && reading->is_short_of_memory) code = message_fail_memory();
            if (code != EXIT_DONE) return code;
        }
    }
    return EXIT_DONE;
}

/* --- Adding up */

static int compare_rows(const void *left, const void *right) {
    const struct row *a = left, *b = right;
    if (a->start_ms != b->start_ms) return a->start_ms < b->start_ms ? -1 : 1;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    if (a->partition != b->partition) return a->partition < b->partition ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static bool is_same(const struct row *a, const struct row *b) {
    return a->start_ms == b->start_ms && a->key == b->key;
}

/* One row for each key and period, in the order of periods, and the rest of each key. */
static int add_up(struct reading *reading) {
    struct row *rows = reading->rows;
    size_t kept = 0, count = reading->row_count;
    reading->rests = calloc(reading->key_count + 1, sizeof *reading->rests);
    if (reading->rests == NULL) return message_fail_memory();
    if (count > 0) qsort(rows, count, sizeof *rows, compare_rows);
    for (size_t i = 0; i < count; i++) {
        bool is_repeated = i + 1 < count && is_same(&rows[i], &rows[i + 1]) &&
                           rows[i].partition == rows[i + 1].partition;
        if (is_repeated) continue;
        wide *rest = &reading->rests[rows[i].key];
        *rest += rows[i].start_ms == TOTAL ? rows[i].value : -(wide)rows[i].value;
        if (rows[i].start_ms == TOTAL) continue;
        if (kept == 0 || !is_same(&rows[kept - 1], &rows[i])) {
            rows[kept++] = rows[i];
        } else if (__builtin_add_overflow(rows[kept - 1].value, rows[i].value,
                                          &rows[kept - 1].value)) {
            struct event_excerpt excerpt;
            return message_fail(EXIT_BAD_DATA,
                                "the sum of a period of the counter '%s' over the partitions "
                                "exceeds the range of 64 bits; read each partition with ONCE.RANGE",
                                event_excerpt(reading->keys[rows[i].key], &excerpt));
        }
    }
    reading->row_count = kept;
    return EXIT_DONE;
}

static void release(struct reading *reading) {
    free(reading->keys);
    free(reading->text);
    free(reading->cursors);
    free(reading->rows);
    free(reading->rests);
}

/* Reads and adds up. */
static int read_all(struct reading *reading, const struct redis_usage_query *query,
                    uint64_t length_ms) {
    redis_period_word(length_ms, reading->word);
    redis_lost_need(reading->table, query->keys, query->key_count);
    int code = query->key_count > 0 ? sort_keys(reading, query->keys, query->key_count)
                                    : list_keys(reading, query->prefix);
    if (code == EXIT_DONE) code = read_buckets(reading);
    return code == EXIT_DONE ? add_up(reading) : code;
}

/* --- Rows */

static bool visit_periods(const struct reading *reading, uint64_t first_ms, uint64_t end_ms,
                          uint64_t length_ms, lethe_usage_visit visit, void *context) {
    size_t at = 0;
    for (uint64_t start = first_ms; start < end_ms; start = redis_period_next(length_ms, start)) {
        lethe_usage_row row = {.from_ms = start, .to_ms = redis_period_next(length_ms, start)};
        while (at < reading->row_count && (uint64_t)reading->rows[at].start_ms < start)
            at++;
        for (size_t i = 0; i < reading->key_count; i++) {
            const struct row *here = at < reading->row_count ? &reading->rows[at] : NULL;
            bool is_there = here != NULL && (uint64_t)here->start_ms == start && here->key == i;
            row.key = reading->keys[i];
            row.value = is_there ? (uint64_t)here->value : 0;
            row.value_high = is_there && here->value < 0 ? -1 : 0;
            at += is_there;
            if (!visit(context, &row)) return false;
        }
    }
    return true;
}

/* Whether KEEP may have dropped some of the periods from first_ms on: of a counter whose buckets
 * begin later, something is in none of them. */
static bool has_dropped(const struct reading *reading, uint64_t first_ms) {
    bool *has_earlier = calloc(reading->key_count + 1, sizeof *has_earlier);
    if (has_earlier == NULL) return true;
    for (size_t i = 0; i < reading->row_count; i++) {
        if ((uint64_t)reading->rows[i].start_ms < first_ms)
            has_earlier[reading->rows[i].key] = true;
    }
    bool has = false;
    for (size_t i = 0; i < reading->key_count; i++)
        has = has || (!has_earlier[i] && reading->rests[i] != 0);
    free(has_earlier);
    return has;
}

static int visit_rows(const struct reading *reading, const struct redis_usage_query *query,
                      uint64_t length_ms, lethe_usage_visit visit, void *context) {
    size_t count = reading->row_count;
    uint64_t first = count > 0 ? (uint64_t)reading->rows[0].start_ms : query->to_ms;
    uint64_t end = count > 0 ? (uint64_t)reading->rows[count - 1].start_ms + 1 : first;
    if (query->from_ms > 0) first = redis_period_start(length_ms, query->from_ms);
    if (query->to_ms > 0) end = query->to_ms;
    uint64_t least_ms = length_ms == REDIS_MONTH ? UINT64_C(28) * 86400000 : length_ms;
    if (end > first && (end - first) / least_ms > PERIODS_MOST) {
        return message_fail(EXIT_USAGE,
                            "there are more than %d periods to print; give --from and --to, or a "
                            "longer --by",
                            PERIODS_MOST);
    }
    if (!visit_periods(reading, first, end, length_ms, visit, context)) return EXIT_DONE;
    if (query->from_ms > 0 && !has_dropped(reading, first)) return EXIT_DONE;
    for (size_t i = 0; i < reading->key_count; i++) {
        lethe_usage_row row = {.key = reading->keys[i],
                               .is_rest = true,
                               .value = (uint64_t)reading->rests[i],
                               .value_high = (int64_t)(reading->rests[i] >> 64)};
        if (!visit(context, &row)) break;
    }
    return EXIT_DONE;
}

int redis_usage(struct redis_table *table, const struct redis_usage_query *query,
                uint64_t length_ms, lethe_usage_visit visit, void *context) {
    struct reading reading = {.table = table, .to_ms = INT64_MAX};
    int code = read_all(&reading, query, length_ms);
    if (code == EXIT_DONE) code = visit_rows(&reading, query, length_ms, visit, context);
    release(&reading);
    return code;
}

static int compare_values(const void *left, const void *right) {
    const struct row *a = left, *b = right;
    if (a->value != b->value) return a->value > b->value ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

int redis_top_at(struct redis_table *table, uint64_t length_ms, uint64_t at_ms, size_t number,
                 bool (*visit)(void *, lethe_bytes, int64_t), void *context) {
    uint64_t start_ms = redis_period_start(length_ms, at_ms);
    struct reading reading = {.table = table, .from_ms = start_ms, .to_ms = start_ms};
    int code = read_all(&reading, &(struct redis_usage_query){.prefix = {.data = ""}}, length_ms);
    if (code == EXIT_DONE && reading.row_count > 0) {
        qsort(reading.rows, reading.row_count, sizeof *reading.rows, compare_values);
        for (size_t i = 0; i < reading.row_count && i < number; i++) {
            const struct row *row = &reading.rows[i];
            if (!visit(context, reading.keys[row->key], row->value)) break;
        }
    }
    release(&reading);
    return code;
}

/* --- By which periods */

int redis_usage_by(struct redis_table *table, const char *by, uint64_t *length_ms,
                   char name[REDIS_PERIOD_BYTES]) {
    struct redis_table_stats stats;
    struct redis_periods periods;
    int code = redis_table_info(table, &stats);
    if (code != EXIT_DONE) return code;
    if (stats.per_differs) {
        return message_fail(EXIT_BAD_DATA,
                            "the partitions of %s count per different periods; was one lost and "
                            "made again? Read each with ONCE.RANGE",
                            table->shown);
    }
    /* If all partitions are missing, the description knows. */
    if (stats.missing == table->partition_count)
        periods = table->periods;
    else if (!redis_periods_read(stats.per, &periods))
        periods.count = 0;
    if (periods.count == 0) {
        return message_fail(EXIT_USAGE,
                            "%s does not count per period; 'lethe count --per' makes tables that "
                            "do, and so does ONCE.CREATE with PER",
                            table->shown);
    }
    *length_ms = periods.each[0].length_ms;
    bool is_known = by == NULL;
    if (by != NULL && redis_period_parse(by, strlen(by), length_ms)) {
        for (size_t i = 0; i < periods.count; i++)
            is_known = is_known || periods.each[i].length_ms == *length_ms;
    }
    if (is_known) {
        redis_period_name(*length_ms, name);
        return EXIT_DONE;
    }
    char names[REDIS_PERIODS_LIMIT * REDIS_PERIOD_BYTES] = "", one[REDIS_PERIOD_BYTES];
    for (size_t i = 0; i < periods.count; i++) {
        redis_period_name(periods.each[i].length_ms, one);
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", one);
    }
    return message_fail(EXIT_USAGE, "%s does not count per '%.40s'; it counts per %s", table->shown,
                        by, names);
}

/* take_redis.c - `lethe take` and `lethe give-up` in a server: ONCE.TAKE and ONCE.ADD.
 *
 * WHY  A command is sent again until it is acknowledged. That is safe: of ONCE.TAKE, the second
 *      attempt is a duplicate and says how the counter stands. */
#include <stdio.h>
#include <string.h>

#include "frame/interrupt.h"
#include "input/integer.h"
#include "redis/periods.h"
#include "redis/table.h"
#include "say/message.h"
#include "take/take.h"

enum { RETRY_MS = 20000 };

static int open_table(const struct arguments *arguments, struct redis_table **out) {
    struct redis_table_options options = {.client.retry_ms = RETRY_MS};
    interrupt_begin();
    return redis_table_open(arguments, &options, out);
}

static bool counts_per(const struct redis_table *table, uint64_t length_ms) {
    for (size_t i = 0; i < table->periods.count; i++) {
        if (table->periods.each[i].length_ms == length_ms) return true;
    }
    return false;
}

/* Writes a period as the module has it. */
static int write_period(const struct redis_table *table, const char *period,
                        struct redis_text *text) {
    uint64_t length_ms;
    char word[REDIS_PERIOD_BYTES];
    if (!redis_period_parse(period, strlen(period), &length_ms))
        return message_fail(
            EXIT_USAGE,
            "a table has no periods of %s; it may have 1h, 1d, 1mo or another length "
            "from 100ms to 366d, such as 15m",
            period);
    if (!counts_per(table, length_ms))
        return message_fail(EXIT_USAGE,
                            "%s does not count per %s, so it can't keep a limit on that; make a "
                            "table with that period, by ONCE.CREATE or 'lethe count --per'",
                            table->shown, period);
    redis_period_word(length_ms, word);
    redis_text_string(text, word);
    return EXIT_DONE;
}

static int write_take(const struct redis_table *table, const struct taking *taking, const char *key,
                      int64_t amount, struct redis_text *text) {
    size_t words = 6;
    for (size_t i = 0; i < taking->bounds.count; i++)
        words += taking->bounds.each[i].period[0] != '\0' ? 4 : 2;
    redis_text_begin(text, words);
    redis_text_string(text, "ONCE.TAKE");
    redis_text_string(text, key);
    redis_text_word(text, taking->id);
    redis_text_word(text, taking->key);
    redis_text_number(text, amount);
    for (size_t i = 0; i < taking->bounds.count; i++) {
        const struct bound *bound = &taking->bounds.each[i];
        redis_text_string(text, bound->is_max ? "LIMIT" : "FLOOR");
        redis_text_number(text, bound->value);
        if (bound->period[0] == '\0') continue;
        redis_text_string(text, "PER");
        int code = write_period(table, bound->period, text);
        if (code != EXIT_DONE) return code;
    }
    redis_text_string(text, "NOCREATE");
    return EXIT_DONE;
}

/* [1 applied | 0 duplicate | -1 limited, value, left, resets_ms] */
static void on_taken(void *context, size_t partition, const redisReply *reply) {
    (void)partition;
    struct taking *taking = context;
    if (reply->elements != 4) return;
    long long outcome = reply->element[0]->integer;
    taking->outcome = outcome < 0    ? LETHE_OUTCOME_LIMITED
                      : outcome == 0 ? LETHE_OUTCOME_DUPLICATE
                                     : LETHE_OUTCOME_APPLIED;
    taking->limit = (lethe_limit){.value = reply->element[1]->integer,
                                  .left = reply->element[2]->integer,
                                  .resets_ms = reply->element[3]->integer};
}

static int ask_table(struct redis_table *table, struct taking *taking, int64_t amount) {
    struct redis_text text = {0};
    if (table->partition_count > 1 && !table->is_by_key) {
        return message_fail(EXIT_USAGE,
                            "%s is spread over %zu partitions by id, none of which knows a whole "
                            "counter; keep limits in a table with one partition, or in one that "
                            "is spread by key",
                            table->shown, table->partition_count);
    }
    lethe_change change = {.key = taking->key, .delta = amount};
    lethe_operation operation = {.id = taking->id, .changes = &change, .change_count = 1};
    const char *key = table->partitions[redis_table_place(table, &operation)].key;
    taking->outcome = LETHE_OUTCOME_INVALID;
    int code = write_take(table, taking, key, amount, &text);
    if (code == EXIT_DONE) {
        code = redis_table_ask(
            table, key, &text,
            &(struct redis_survey){.on_reply = on_taken, .context = taking, .is_write = true});
    }
    redis_text_free(&text);
    return code;
}

int take_redis(const struct arguments *arguments, struct taking *taking) {
    int64_t amount = 0;
    struct redis_table *table;
    lethe_bytes text = {.data = taking->amount, .size = strlen(taking->amount)};
    int code = bounds_scale(&taking->bounds, 0);
    if (code == EXIT_DONE && (integer_parse(text, &amount) != INTEGER_FINE || amount == 0)) {
        code = message_fail(EXIT_USAGE, "the amount '%s' is not a whole number other than 0",
                            taking->amount);
    }
    if (code == EXIT_DONE) code = open_table(arguments, &table);
    if (code != EXIT_DONE) return code;
    code = ask_table(table, taking, amount);
    redis_table_close(table);
    return code;
}

/* An answer to ONCE.ADD of one id: [1 | 0]. */
static void on_added(void *context, size_t partition, const redisReply *reply) {
    (void)partition;
    uint8_t *outcome = context;
    if (reply->elements == 1 && reply->element[0]->integer == 0) *outcome = LETHE_OUTCOME_DUPLICATE;
}

static int add_to(struct redis_table *table, size_t place, lethe_bytes id, uint8_t *outcome) {
    struct redis_text text = {0};
    const char *key = table->partitions[place].key;
    redis_text_begin(&text, 5);
    redis_text_string(&text, "ONCE.ADD");
    redis_text_string(&text, key);
    redis_text_string(&text, "NOCREATE");
    redis_text_string(&text, "IDS");
    redis_text_word(&text, id);
    int code = redis_table_ask(
        table, key, &text,
        &(struct redis_survey){.on_reply = on_added, .context = outcome, .is_write = true});
    redis_text_free(&text);
    return code;
}

/* Where a table is spread by key, only the id is known here: all partitions are told. It was
 * applied in one of them at the most. */
static int give_up(struct redis_table *table, lethe_bytes id, uint8_t *outcome) {
    lethe_operation operation = {.id = id};
    *outcome = LETHE_OUTCOME_APPLIED;
    if (!table->is_by_key) return add_to(table, redis_table_place(table, &operation), id, outcome);
    int code = EXIT_DONE;
    for (size_t i = 0; i < table->partition_count && code == EXIT_DONE; i++)
        code = add_to(table, i, id, outcome);
    return code;
}

int give_up_redis(const struct arguments *arguments, const lethe_bytes *ids, size_t count,
                  uint8_t *outcomes) {
    struct redis_table *table = NULL;
    int code = open_table(arguments, &table);
    for (size_t i = 0; i < count && code == EXIT_DONE; i++)
        code = give_up(table, ids[i], &outcomes[i]);
    redis_table_close(table);
    return code;
}

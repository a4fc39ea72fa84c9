/* table_info.c - the state of a table: sums over its partitions, and the worst of them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/table.h"
#include "say/message.h"

static const char *const no_table[] = {"ERR no such table", NULL};

static uint64_t number_of(const redisReply *reply) {
    return reply->type == REDIS_REPLY_INTEGER && reply->integer > 0 ? (uint64_t)reply->integer : 0;
}

static double real_of(const redisReply *reply) {
    return reply->type == REDIS_REPLY_STRING ? strtod(reply->str, NULL) : 0;
}

static uint32_t strain_of(const redisReply *reply) {
    uint32_t strain = 0;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
        const char *word = reply->element[i]->str;
        if (word == NULL) continue;
        if (strcmp(word, "error") == 0) strain |= LETHE_STRAIN_ERROR;
        if (strcmp(word, "memory") == 0) strain |= LETHE_STRAIN_MEMORY;
        if (strcmp(word, "clock") == 0) strain |= LETHE_STRAIN_CLOCK;
    }
    return strain;
}

static void raise(uint64_t *most, uint64_t value) {
    if (value > *most) *most = value;
}

/* Adds one number of ONCE.INFO to those of the table. */
static void add_number(struct redis_table_stats *stats, const char *name, const redisReply *value) {
    lethe_window_stats *window = &stats->window;
    uint64_t number = number_of(value);
    double real = real_of(value);
    if (strcmp(name, "kind") == 0 && value->str != NULL && strcmp(value->str, "forgetful") == 0)
        window->kind = LETHE_WINDOW_FORGETFUL;
    if (strcmp(name, "per") == 0 && value->str != NULL) {
        bool is_other = stats->per[0] != '\0' && strcmp(stats->per, value->str) != 0;
        stats->per_differs = stats->per_differs || is_other;
        snprintf(stats->per, sizeof stats->per, "%s", value->str);
    }
    if (strcmp(name, "window_ms") == 0) window->window_ms = number;
    if (strcmp(name, "clock_ms") == 0) raise(&stats->clock_ms, number);
    if (strcmp(name, "oldest_age_ms") == 0) raise(&window->oldest_age_ms, number);
    if (strcmp(name, "error_target") == 0) window->error_target = real;
    if (strcmp(name, "error_estimate") == 0 && real > window->error_estimate) {
        window->error_estimate = real;
    }
    if (strcmp(name, "ids") == 0) stats->ids += number;
    if (strcmp(name, "fresh") == 0) stats->applied += number;
    if (strcmp(name, "duplicates") == 0) stats->duplicates += number;
    if (strcmp(name, "refused") == 0) stats->refused += number;
    if (strcmp(name, "counters") == 0) stats->counters += number;
    if (strcmp(name, "memory_bytes") == 0) stats->memory_bytes += number;
    if (strcmp(name, "window_bytes") == 0) stats->window_bytes += number;
    if (strcmp(name, "claims_running") == 0) stats->claims_running += number;
    if (strcmp(name, "claims_done") == 0) stats->claims_done += number;
    if (strcmp(name, "holds_open") == 0) stats->holds_open += number;
    if (strcmp(name, "strain") == 0) window->strain |= strain_of(value);
    if (strcmp(name, "may_be_evicted") == 0 && number > 0) stats->may_be_evicted = true;
}

void redis_stats_add(struct redis_table_stats *stats, const redisReply *reply) {
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        const char *name = reply->element[i]->str;
        if (name != NULL) add_number(stats, name, reply->element[i + 1]);
    }
}

struct inspection {
    const struct redis_table *table;
    struct redis_table_stats *stats;
    /* Of a partition whose window is not the table's. */
    uint64_t other_window_ms;
    size_t other_partition;
};

static void take_info(void *context, size_t partition, const redisReply *reply) {
    struct inspection *inspection = context;
    struct redis_table_stats *stats = inspection->stats;
    if (reply->type == REDIS_REPLY_ERROR) {
        stats->missing++;
        return;
    }
    redis_stats_add(stats, reply);
    if (stats->window.window_ms != inspection->table->window_ms) {
        inspection->other_window_ms = stats->window.window_ms;
        inspection->other_partition = partition;
    }
}

static bool write_info(void *context, size_t partition, struct redis_text *text) {
    const struct inspection *inspection = context;
    redis_text_begin(text, 2);
    redis_text_string(text, "ONCE.INFO");
    redis_text_string(text, inspection->table->partitions[partition].key);
    return true;
}

int redis_table_info(struct redis_table *table, struct redis_table_stats *out) {
    *out = (struct redis_table_stats){0};
    struct inspection inspection = {.table = table, .stats = out};
    int code = redis_table_survey(table, &(struct redis_survey){.write = write_info,
                                                                .on_reply = take_info,
                                                                .context = &inspection,
                                                                .tolerated = no_table});
    if (code != EXIT_DONE || inspection.other_window_ms == 0) return code;
    return message_fail(EXIT_BAD_DATA,
                        "the partition %s has a window of %" PRIu64 " ms and the table one of "
                        "%" PRIu64 " ms; was it lost and made again? Delete that key, with "
                        "its counters, or choose another --table",
                        table->partitions[inspection.other_partition].key,
                        inspection.other_window_ms, table->window_ms);
}

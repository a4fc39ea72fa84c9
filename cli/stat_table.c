/* stat_table.c - `lethe stat` of a table in a server. */
#include <inttypes.h>
#include <stdio.h>

#include "json.h"
#include "message.h"
#include "stat.h"

static void print_text(const struct redis_table *table, const struct redis_table_stats *stats) {
    struct human_text a = {""}, b = {""};
    const lethe_window_stats *window = &stats->window;
    printf("table           %s\n", table->shown);
    printf("partitions      %zu\n", table->partition_count);
    printf("counters        %s%" PRIu64 "\n", table->partition_count > 1 ? "at most " : "",
           stats->counters);
    printf("window          %s\n", human_duration(table->window_ms, &a));
    printf("error allowed   %s, now %s\n", human_probability(table->error, &a),
           human_probability(window->error_estimate, &b));
    printf("clock           %s\n", stat_date(stats->clock_ms, &a));
    printf("applied         %" PRIu64 "\n", stats->applied);
    printf("duplicates      %" PRIu64 "\n", stats->duplicates);
    printf("refused         %" PRIu64 "\n", stats->refused);
    printf("ids remembered  %" PRIu64 ", the oldest for %s\n", stats->ids,
           human_seconds((double)window->oldest_age_ms / 1000, &a));
    printf("memory          %s, of which ids %s\n", human_bytes(stats->memory_bytes, &a),
           human_bytes(stats->window_bytes, &b));
}

static void print_json(const struct redis_table *table, const struct redis_table_stats *stats) {
    struct json json = json_begin(stdout);
    json_string(&json, "table", table->name);
    json_integer(&json, "partitions", table->partition_count);
    json_integer(&json, "counters", stats->counters);
    json_integer(&json, "window_ms", table->window_ms);
    json_real(&json, "error", table->error);
    json_real(&json, "window_error_estimate", stats->window.error_estimate);
    json_integer(&json, "clock_ms", stats->clock_ms);
    json_integer(&json, "applied", stats->applied);
    json_integer(&json, "duplicates", stats->duplicates);
    json_integer(&json, "refused", stats->refused);
    json_integer(&json, "ids", stats->ids);
    json_integer(&json, "oldest_age_ms", stats->window.oldest_age_ms);
    json_integer(&json, "memory_bytes", stats->memory_bytes);
    json_integer(&json, "window_bytes", stats->window_bytes);
    json_boolean(&json, "may_be_evicted", stats->may_be_evicted);
    json_integer(&json, "strain", stats->window.strain);
    json_end(&json);
}

int stat_table(struct redis_table *table, bool json) {
    struct redis_table_stats stats;
    int code = redis_table_info(table, &stats);
    if (code != EXIT_DONE) return code;
    if (json) {
        print_json(table, &stats);
    } else {
        print_text(table, &stats);
    }
    if (stats.missing > 0) {
        message_warn("%s: %" PRIu64 " of %zu partitions are not there; were they deleted or "
                     "evicted?",
                     table->shown, stats.missing, table->partition_count);
    }
    if (stats.may_be_evicted) {
        message_warn("%s: the server may evict tables when its memory is short, and would count "
                     "copies again; set its maxmemory-policy to noeviction",
                     table->shown);
    }
    return EXIT_DONE;
}

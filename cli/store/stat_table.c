/* stat_table.c - `lethe stat` of a table in a server. */
#include <inttypes.h>
#include <stdio.h>

#include "say/json.h"
#include "say/message.h"
#include "say/rows.h"
#include "store/stat.h"

static void print_text(const struct redis_table *table, const struct redis_table_stats *stats) {
    struct human_text a = {""}, b = {""};
    const lethe_window_stats *window = &stats->window;
    row_print("table", "%s", table->shown);
    bool is_spread = table->partition_count > 1;
    const char *by = table->is_by_key ? ", by key" : ", by id";
    row_print("partitions", "%zu%s", table->partition_count, is_spread ? by : "");
    row_print("counters", "%s%" PRIu64, is_spread && !table->is_by_key ? "at most " : "",
              stats->counters);
    if (table->periods.count > 0) row_print("periods", "%s", stats->per);
    row_print("window", "%s, %s kind", human_duration(table->window_ms, &a),
              stat_kind(table->window_kind));
    row_print("error allowed", "%s, now %s", human_probability(table->error, &a),
              human_probability(window->error_estimate, &b));
    row_print("clock", "%s", stat_date(stats->clock_ms, &a));
    row_number("applied", stats->applied);
    row_number("duplicates", stats->duplicates);
    row_number("refused", stats->refused);
    row_print("ids remembered", "%" PRIu64 ", the oldest for %s", stats->ids,
              human_seconds((double)window->oldest_age_ms / 1000, &a));
    row_print("memory", "%s, of which ids %s", human_bytes(stats->memory_bytes, &a),
              human_bytes(stats->window_bytes, &b));
}

static void print_json(const struct redis_table *table, const struct redis_table_stats *stats) {
    struct json json = json_begin(stdout);
    json_string(&json, "table", table->name);
    json_integer(&json, "partitions", table->partition_count);
    json_string(&json, "partition_by", table->is_by_key ? "key" : "id");
    json_string(&json, "per", table->periods.count > 0 ? stats->per : "");
    json_integer(&json, "counters", stats->counters);
    json_integer(&json, "window_ms", table->window_ms);
    json_string(&json, "window_kind", stat_kind(table->window_kind));
    json_real(&json, "error", table->error);
    json_real(&json, "error_estimate", stats->window.error_estimate);
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
        message_warn("%s: %" PRIu64 " of %zu partitions are missing; were they deleted or evicted?",
                     table->shown, stats.missing, table->partition_count);
    }
    if (stats.may_be_evicted) {
        message_warn("%s: the server may evict tables when its memory is short, and duplicates "
                     "would then be counted; set its maxmemory-policy to noeviction",
                     table->shown);
    }
    return EXIT_DONE;
}

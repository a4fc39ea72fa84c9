/* stat.c - `lethe stat`: what a store holds, and a picture of its window. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "frame/commands.h"
#include "input/decimal.h"
#include "lethe/holds.h"
#include "say/human.h"
#include "say/json.h"
#include "say/message.h"
#include "say/rows.h"
#include "store/counters.h"
#include "store/kind.h"
#include "store/stat.h"

enum { ROWS = 16, BAR_COLUMNS = 40, COUNTED_AT_MOST = 100000 };

const char *stat_date(uint64_t ms, struct human_text *out) {
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    if (ms == 0 || gmtime_r(&seconds, &parts) == NULL ||
        strftime(out->text, sizeof out->text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        snprintf(out->text, sizeof out->text, "not set yet");
    }
    return out->text;
}

const char *stat_kind(lethe_window_kind kind) {
    return kind == LETHE_WINDOW_FORGETFUL ? "forgetful" : "quotient";
}

/* Draws the periods of the log, the newest first, several in a row if there are many: how old the
 * ids in them are at most, how many there are, and a bar as long as their share of the fullest
 * row. */
static void draw_window(const lethe_store_stats *stats) {
    uint32_t count = stats->period_count;
    uint32_t rows = count < ROWS ? count : ROWS;
    uint64_t ids[ROWS] = {0}, oldest_ms[ROWS] = {0}, most = 1;
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t from = (uint32_t)((uint64_t)count * row / rows);
        uint32_t to = (uint32_t)((uint64_t)count * (row + 1) / rows);
        oldest_ms[row] = stats->periods[from].first_ms;
        for (uint32_t i = from; i < to; i++) {
            ids[row] += stats->periods[i].ids;
        }
        if (ids[row] > most) most = ids[row];
    }
    if (rows > 0) printf("\nage up to          ids\n");
    for (uint32_t row = rows; row-- > 0;) {
        struct human_text age, number;
        uint64_t age_ms = stats->clock_ms > oldest_ms[row] ? stats->clock_ms - oldest_ms[row] : 0;
        printf("%9s %12s  ", human_seconds((double)age_ms / 1000, &age),
               human_count((double)ids[row], &number));
        uint64_t columns = (ids[row] * BAR_COLUMNS + most - 1) / most;
        for (uint64_t i = 0; i < columns; i++) {
            putchar('#');
        }
        printf("%s\n", age_ms > stats->window.window_ms ? "  (past the window)" : "");
    }
}

/* How many counters there are: exactly where they are few, because the store's own estimate is far
 * off there. */
struct tally {
    uint64_t counters;
    bool is_exact;
    lethe_claims_stats claims;
    lethe_holds_stats holds;
};

/* A lethe_store_visit. */
static bool count_counter(void *context, lethe_bytes key, int64_t value) {
    (void)key;
    (void)value;
    struct tally *tally = context;
    return ++tally->counters <= COUNTED_AT_MOST;
}

static lethe_status count_counters(lethe_store *store, const lethe_store_stats *stats,
                                   struct tally *out) {
    *out = (struct tally){.claims = LETHE_INIT(lethe_claims_stats),
                          .holds = LETHE_INIT(lethe_holds_stats)};
    if (stats->sketch_bytes > 0) return LETHE_OK;
    lethe_status status = lethe_store_each(store, (lethe_bytes){0}, count_counter, out);
    out->is_exact = out->counters <= COUNTED_AT_MOST;
    if (!out->is_exact && stats->counters > out->counters) out->counters = stats->counters;
    return status;
}

static void print_counters(const lethe_store_stats *stats, const struct tally *tally) {
    struct human_text size, chance;
    struct decimal_text total, error;
    if (stats->sketch_bytes == 0) {
        row_print("counters", "%s%" PRIu64, tally->is_exact ? "" : "about ", tally->counters);
        return;
    }
    row_print("sketch", "%s, the %" PRIu32 " most frequent keys listed",
              human_bytes(stats->sketch_bytes, &size), stats->sketch_top);
    row_print("counted", "%s", decimal_show_natural(stats->sketch_total, stats->scale, &total));
    row_print("too high by", "%s at most, except with probability %s",
              decimal_show_natural((uint64_t)ceil(stats->sketch_error), stats->scale, &error),
              human_probability(stats->sketch_delta, &chance));
}

static void print_claims(const lethe_claims_stats *claims) {
    struct human_text a, b;
    if (claims->open == 0 && claims->done == 0) return;
    row_print("claims", "%" PRIu64 " open, %" PRIu64 " done, replies %s of %s at most",
              claims->open, claims->done, human_bytes(claims->reply_bytes, &a),
              human_bytes(claims->reply_limit_bytes, &b));
}

static void print_holds(const lethe_holds_stats *holds) {
    if (holds->open == 0 && holds->ended == 0 && holds->forced == 0) return;
    row_print("holds", "%" PRIu64 " open, %" PRIu64 " ended, %" PRIu64 " forced past their limit",
              holds->open, holds->ended, holds->forced);
}

/* Of the window and of the ledger, which add up. */
static double allowed_error(const lethe_store_stats *stats) {
    return stats->window.error_target + stats->ledger.error_target;
}

static void print_text(const char *folder, const lethe_store_stats *stats,
                       const struct tally *tally) {
    struct human_text a = {""}, b = {""}, c = {""}, d = {""};
    row_print("store", "%s", folder);
    print_counters(stats, tally);
    if (stats->scale > 0) {
        row_print("scale", "%u digit%s after the point", stats->scale,
                  stats->scale == 1 ? "" : "s");
    }
    row_print("window", "%s, %s kind", human_duration(stats->window.window_ms, &a),
              stat_kind(stats->window.kind));
    row_print("error allowed", "%s", human_probability(allowed_error(stats), &a));
    row_print("mode", "%s%s, %s", stats->exact ? "exact" : "approximate",
              stats->check_payload ? ", payloads checked" : "",
              stats->event_time ? "time of the events" : "time of the clock");
    if (stats->forever) {
        row_print("ledger", "ids are kept for ever, %s; error allowed %s, plus %s of the window",
                  human_bytes(stats->ledger.disk_bytes, &a),
                  human_probability(stats->ledger.error_target, &b),
                  human_probability(stats->window.error_target, &c));
    }
    if (stats->per[0] != '\0') {
        row_print("periods", "%s, in the zone %s%s%s", stats->per, stats->zone,
                  stats->keep[0] != '\0' ? ", kept " : "", stats->keep);
    }
    row_print("clock", "%s", stat_date(stats->clock_ms, &a));
    row_number("applied", stats->applied);
    row_number("duplicates", stats->duplicates);
    row_number("late", stats->late);
    row_number("future", stats->future);
    row_number("overflow", stats->overflow);
    row_number("invalid", stats->invalid);
    row_number("refused", stats->refused);
    row_number("mismatched", stats->mismatched);
    row_number("limited", stats->limited);
    row_print("commits", "%" PRIu64 ", of which %" PRIu64 " are folded", stats->commits,
              stats->folded);
    row_number("ids remembered", stats->log_ids);
    print_claims(&tally->claims);
    print_holds(&tally->holds);
    row_print("on disk", "%s %s, ids %s, index %s, changes %s",
              stats->sketch_bytes > 0 ? "sketch" : "counters",
              human_bytes(stats->counters_bytes, &a), human_bytes(stats->log_bytes, &b),
              human_bytes(stats->index_bytes, &c), human_bytes(stats->changes_bytes, &d));
    draw_window(stats);
}

static void print_json(const char *folder, const lethe_store_stats *stats,
                       const struct tally *tally) {
    struct json json = json_begin(stdout);
    struct decimal_text total;
    json_string(&json, "store", folder);
    json_string(&json, "kind", store_kind_counters.name);
    json_integer(&json, "counters", tally->counters);
    if (stats->sketch_bytes == 0) json_boolean(&json, "counters_exact", tally->is_exact);
    if (stats->sketch_bytes > 0) {
        json_integer(&json, "sketch_bytes", stats->sketch_bytes);
        json_integer(&json, "sketch_top", stats->sketch_top);
        json_number(&json, "sketch_total",
                    decimal_show_natural(stats->sketch_total, stats->scale, &total));
        json_real(&json, "sketch_error", stats->sketch_error / (double)decimal_unit(stats->scale));
        json_real(&json, "sketch_delta", stats->sketch_delta);
    }
    json_integer(&json, "window_ms", stats->window.window_ms);
    json_string(&json, "window_kind", stat_kind(stats->window.kind));
    json_real(&json, "error", allowed_error(stats));
    json_real(&json, "error_estimate", store_error_estimate(stats));
    json_real(&json, "window_error", stats->window.error_target);
    json_real(&json, "ledger_error", stats->ledger.error_target);
    json_boolean(&json, "exact", stats->exact);
    json_boolean(&json, "check_payload", stats->check_payload);
    json_boolean(&json, "event_time", stats->event_time);
    json_boolean(&json, "forever", stats->forever);
    json_integer(&json, "scale", stats->scale);
    if (stats->per[0] != '\0') {
        json_string(&json, "per", stats->per);
        json_string(&json, "zone", stats->zone);
        json_string(&json, "keep", stats->keep);
        json_integer(&json, "buckets_bytes", stats->buckets_bytes);
    }
    json_integer(&json, "ledger_bytes", stats->ledger.disk_bytes);
    json_integer(&json, "clock_ms", stats->clock_ms);
    json_integer(&json, "applied", stats->applied);
    json_integer(&json, "duplicates", stats->duplicates);
    json_integer(&json, "late", stats->late);
    json_integer(&json, "future", stats->future);
    json_integer(&json, "overflow", stats->overflow);
    json_integer(&json, "invalid", stats->invalid);
    json_integer(&json, "refused", stats->refused);
    json_integer(&json, "mismatched", stats->mismatched);
    json_integer(&json, "limited", stats->limited);
    json_integer(&json, "commits", stats->commits);
    json_integer(&json, "folded", stats->folded);
    json_integer(&json, "log_ids", stats->log_ids);
    json_integer(&json, "log_bytes", stats->log_bytes);
    json_integer(&json, "changes_bytes", stats->changes_bytes);
    json_integer(&json, "index_bytes", stats->index_bytes);
    json_integer(&json, "counters_bytes", stats->counters_bytes);
    json_integer(&json, "claims_open", tally->claims.open);
    json_integer(&json, "claims_done", tally->claims.done);
    json_integer(&json, "claims_reply_bytes", tally->claims.reply_bytes);
    json_integer(&json, "claims_reply_limit_bytes", tally->claims.reply_limit_bytes);
    json_integer(&json, "claims_bytes", tally->claims.disk_bytes);
    json_integer(&json, "holds_open", tally->holds.open);
    json_integer(&json, "holds_ended", tally->holds.ended);
    json_integer(&json, "holds_forced", tally->holds.forced);
    json_array(&json, "periods");
    for (uint32_t i = 0; i < stats->period_count; i++) {
        json_item(&json);
        json_integer(&json, "first_ms", stats->periods[i].first_ms);
        json_integer(&json, "last_ms", stats->periods[i].last_ms);
        json_integer(&json, "ids", stats->periods[i].ids);
        json_item_end(&json);
    }
    json_array_end(&json);
    json_end(&json);
}

int stat_store(const char *folder, bool json) {
    static lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    struct tally tally;
    lethe_store *store;
    int code = store_open(folder, &LETHE_OPTIONS(lethe_store_options, .read_only = true), &store);
    if (code != EXIT_DONE) return code;
    lethe_status status = lethe_store_info(store, &stats);
    if (status == LETHE_OK) status = count_counters(store, &stats, &tally);
    if (status == LETHE_OK) status = lethe_claims_info(store, &tally.claims);
    if (status == LETHE_OK) status = lethe_holds_info(store, &tally.holds);
    if (status != LETHE_OK) {
        code = store_fail_call(status, "read the store", folder, store);
    } else if (json) {
        print_json(folder, &stats, &tally);
    } else {
        print_text(folder, &stats, &tally);
    }
    return store_close(folder, store, code);
}

int run_stat(const struct arguments *arguments) {
    const struct store_kind *kind;
    const char *folder;
    struct counters counters;
    bool json = arguments_has(arguments, "json");
    int code = counters_check(arguments);
    if (code != EXIT_DONE) return code;
    if (arguments_has(arguments, "db")) {
        code = kind_find(arguments, &folder, &kind);
        return code != EXIT_DONE ? code : kind->stat(folder, json);
    }
    code = counters_open(arguments, false, &counters);
    if (code == EXIT_DONE) code = counters_close(&counters, stat_table(counters.table, json));
    return code;
}

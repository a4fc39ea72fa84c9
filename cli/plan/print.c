/* print.c - prints the plan of a store. */
#include <stdio.h>

#include "lethe/store.h"
#include "plan/plan.h"
#include "plan/print.h"
#include "say/human.h"
#include "say/json.h"
#include "say/message.h"
#include "say/rows.h"

const char *plan_time(double seconds, struct human_text *out) {
    if (seconds < 1) {
        snprintf(out->text, sizeof out->text, seconds < 0.01 ? "%.2g ms" : "%.0f ms",
                 seconds * 1000);
    } else if (seconds < 120) {
        snprintf(out->text, sizeof out->text, "%.0f s", seconds);
    } else if (seconds < 7200) {
        snprintf(out->text, sizeof out->text, "%.0f min", seconds / 60);
    } else {
        snprintf(out->text, sizeof out->text, "%.0f h", seconds / 3600);
    }
    return out->text;
}

void plan_print_load(const struct plan_wants *wants, uint64_t ids) {
    struct human_text a, b, c;
    double rate = wants->events_per_s;
    if (rate >= 10) {
        row_print("events", "%s a second, %s a day", human_count(rate, &a),
                  human_count(rate * 86400, &b));
    } else {
        row_print("events", "%s a day", human_count(rate * 86400, &b));
    }
    row_print("window", "%s, error %s%s", human_duration(wants->window_ms, &a),
              human_probability(wants->error, &b),
              wants->memory_bytes > 0 ? "; the longest that fits" : "");
    row_print("ids remembered", "%s", human_count((double)ids, &c));
}

static void print_memory(const struct plan_wants *wants, const lethe_store_needs *needs) {
    struct human_text a, b, c;
    row_print("memory", "%s", human_bytes(needs->memory_bytes, &a));
    row_print("  ids", "%s; opened again %s; at most %s, while it grows",
              human_bytes(needs->window_bytes, &a), human_bytes(needs->window_reopened_bytes, &b),
              human_bytes(needs->window_peak_bytes, &c));
    if (wants->keys > 0) {
        row_print("  counters", "%s", human_bytes(needs->counters_memory_bytes, &a));
    } else {
        row_print("  counters", "not planned; say how many there are with --keys");
    }
    if (wants->per != NULL)
        row_print("  buckets", "%s", human_bytes(needs->buckets_memory_bytes, &a));
    if (wants->exact) row_print("  index", "%s", human_bytes(needs->index_memory_bytes, &a));
    if (wants->forever) row_print("  ledger", "%s", human_bytes(needs->ledger_memory_bytes, &a));
    row_print("  fixed", "%s", human_bytes(needs->fixed_memory_bytes, &a));
}

static void print_disk(const struct plan_wants *wants, const lethe_store_needs *needs) {
    struct human_text a, b, c, d;
    const char *after = human_duration(wants->after_ms, &d);
    bool grows = wants->forever || wants->per != NULL;
    row_print("disk", "%s%s%s", human_bytes(needs->disk_bytes, &a), grows ? " after " : "",
              grows ? after : "");
    row_print("  ids", "%s", human_bytes(needs->log_bytes, &a));
    if (wants->keys > 0) {
        row_print("  counters", "%s", human_bytes(needs->counters_bytes, &a));
        row_print("  changes", "%s at most, and %s that is not merged yet",
                  human_bytes(needs->changes_bytes, &a), human_bytes(needs->unmerged_bytes, &b));
    }
    if (wants->per != NULL)
        row_print("  buckets", "%s, %s of them", human_bytes(needs->buckets_bytes, &a),
                  human_count((double)needs->buckets, &b));
    if (wants->exact && needs->index_bytes > 0)
        row_print("  index", "%s", human_bytes(needs->index_bytes, &a));
    if (wants->forever)
        row_print("  ledger", "%s, %s ids; their error %s", human_bytes(needs->ledger_bytes, &a),
                  human_count((double)needs->ledger_ids, &b),
                  human_probability(needs->ledger_error, &c));
}

/* By how much the disk grows in a day, when the window is full. */
static double growth_of(const struct plan_wants *wants, const lethe_store_needs *needs) {
    double days = (double)wants->after_ms / 86400e3, bytes = (double)needs->ledger_bytes;
    if (wants->keep == NULL) bytes += (double)needs->buckets_bytes;
    return bytes / days;
}

static void print_json(const struct plan_wants *wants, const lethe_store_needs *needs) {
    struct json json = json_begin(stdout);
    json_string(&json, "plan", "store");
    plan_json_load(&json, wants, needs->ids);
    json_integer(&json, "log_ids", needs->log_ids);
    json_integer(&json, "buckets", needs->buckets);
    json_integer(&json, "ledger_ids", needs->ledger_ids);
    json_real(&json, "ledger_error", needs->ledger_error);
    json_integer(&json, "memory_bytes", needs->memory_bytes);
    json_integer(&json, "window_bytes", needs->window_bytes);
    json_integer(&json, "window_peak_bytes", needs->window_peak_bytes);
    json_integer(&json, "window_reopened_bytes", needs->window_reopened_bytes);
    json_integer(&json, "counters_memory_bytes", needs->counters_memory_bytes);
    json_integer(&json, "buckets_memory_bytes", needs->buckets_memory_bytes);
    json_integer(&json, "index_memory_bytes", needs->index_memory_bytes);
    json_integer(&json, "ledger_memory_bytes", needs->ledger_memory_bytes);
    json_integer(&json, "fixed_memory_bytes", needs->fixed_memory_bytes);
    json_integer(&json, "disk_bytes", needs->disk_bytes);
    json_integer(&json, "log_bytes", needs->log_bytes);
    json_integer(&json, "changes_bytes", needs->changes_bytes);
    json_integer(&json, "unmerged_bytes", needs->unmerged_bytes);
    json_integer(&json, "counters_bytes", needs->counters_bytes);
    json_integer(&json, "buckets_bytes", needs->buckets_bytes);
    json_integer(&json, "index_bytes", needs->index_bytes);
    json_integer(&json, "ledger_bytes", needs->ledger_bytes);
    json_real(&json, "growth_bytes_per_day", growth_of(wants, needs));
    json_real(&json, "opening_s", plan_opening_s(wants, needs));
    json_real(&json, "cores", plan_counting_s(wants) * wants->events_per_s);
    json_end(&json);
}

void plan_json_load(struct json *json, const struct plan_wants *wants, uint64_t ids) {
    json_real(json, "events_per_s", wants->events_per_s);
    json_integer(json, "window_ms", wants->window_ms);
    json_real(json, "error", wants->error);
    json_integer(json, "keys", wants->keys);
    json_integer(json, "key_bytes", wants->key_bytes);
    json_string(json, "per", wants->per != NULL ? wants->per : "");
    json_integer(json, "after_ms", wants->after_ms);
    json_integer(json, "ids", ids);
}

void plan_print_store(const struct plan_wants *wants, const lethe_store_needs *needs) {
    struct human_text a;
    double cores = plan_counting_s(wants) * wants->events_per_s;
    if (wants->json) {
        print_json(wants, needs);
    } else {
        plan_print_load(wants, needs->ids);
        print_memory(wants, needs);
        print_disk(wants, needs);
        double growth = growth_of(wants, needs);
        if (growth > 0) {
            row_print("growth", "%s a day, on disk", human_bytes((uint64_t)growth, &a));
        } else {
            row_print("growth", "none, once the window is full");
        }
        row_print("opening", "%s", plan_time(plan_opening_s(wants, needs), &a));
        row_print("work", "%.3g of a core", cores);
    }
    if (cores > 1)
        message_warn("one process counts in one thread, and this is more than a core can do; "
                     "spread the events over several stores by their ids, or plan with --redis");
}

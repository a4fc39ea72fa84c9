/* engine/plan.c - what a store will take, without making one.
 *
 * IDEA    Each part of a store plans itself, by the arithmetic that it works with: the window
 *         (window/plan.c), the counters in memory (values/tally.c), the ledger
 *         (filter/cascade/needs.c). The log is a number of bytes for each id and each commit. What
 *         RocksDB makes of these is measured, and stated below as constants.
 * WHY     `unit-plan_store` makes stores and compares: a constant that is no longer true is
 *         noticed there.
 * LIMIT   One steady rate, and keys that are used equally often. A sketch, claims, holds and the
 *         forgetful kind of window are not planned. */
#include <math.h>

#include "core/detail.h"
#include "core/sized.h"
#include "core/tunables.h"
#include "engine/ids/index.h"
#include "engine/meters/buckets.h"
#include "engine/store.h"
#include "engine/values/tally.h"

static const uint64_t MOST_AFTER_MS = UINT64_C(100) * 366 * 86400000;
/* With the longest keys they take a sixteenth of what 64 bits can say. */
static const double MOST_BUCKETS = 0x1p49;
static const uint64_t USUAL_AFTER_MS = UINT64_C(365) * 86400000;
#define DAY_MS 86400000.0

/* Measured: `unit-plan_store` says how far off they are. A segment of ids in a sorted table,
 * besides its ids; a counter and a bucket in sorted tables, besides their keys; a change in the
 * log, besides its key; an id of the index, in runs. */
#define SEGMENT_BYTES 58.0
#define COUNTER_BYTES 8.4
#define BUCKET_BYTES 8.4
#define CHANGE_BYTES 6.0
#define BESIDE_CHANGE_BYTES 4.0
#define INDEX_BYTES 18.3
/* Tables of one fold each that RocksDB keeps before it merges them with the others. */
#define UNMERGED_TABLES 4.0
/* When commits are not asked to wait: how long one takes, about. */
#define COMMIT_MS 2.0
/* lethe/store.h, under Memory. */
#define FIXED_MEMORY_BYTES ((uint64_t)64 << 20)

enum { USUAL_KEY_BYTES = 16, DIGEST_BYTES = 4, LAG_BYTES = 4 };

/* What the functions below share. */
struct plan {
    lethe_store_options options;
    lethe_store_load load;
    lethe_ids ids;
    lethe_store_needs needs;
};

static double per_ms(const struct plan *plan) {
    return plan->load.events_per_s / 1000;
}

static lethe_status check_load(const lethe_store_load *load, lethe_detail *detail) {
    if (!(load->events_per_s > 0 && load->events_per_s <= 1e12))
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "the rate must be above 0, and at most 1e12 events a second");
    if (load->key_bytes > LETHE_KEY_LIMIT_BYTES)
        return lethe_detail_fill(detail, LETHE_EINVAL, "a key has %d bytes at most",
                                 LETHE_KEY_LIMIT_BYTES);
    if (load->counters > (uint64_t)1 << 48)
        return lethe_detail_fill(detail, LETHE_EINVAL, "so many counters are not planned");
    if (load->after_ms > MOST_AFTER_MS)
        return lethe_detail_fill(detail, LETHE_EINVAL, "plan for 100 years at most");
    return LETHE_OK;
}

static lethe_status check_modes(const lethe_store_options *options, lethe_detail *detail) {
    bool is_exact = options->exact == LETHE_SWITCH_ON || options->check_payload == LETHE_SWITCH_ON;
    if (options->sketch_bytes > 0 || options->forgetful == LETHE_SWITCH_ON)
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "a sketch and the forgetful kind of window are not planned");
    if (is_exact && options->forever == LETHE_SWITCH_ON)
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "a store that keeps ids for ever is not exact; choose one");
    return LETHE_OK;
}

/* --- ids --- */

static lethe_status plan_window(struct plan *plan, lethe_detail *detail) {
    lethe_store_needs *needs = &plan->needs;
    double kept = (double)plan->ids.kept_ms, window = (double)plan->options.window_ms;
    needs->ids = (uint64_t)(per_ms(plan) * window);
    needs->log_ids = (uint64_t)(per_ms(plan) * (kept + window / LETHE_PERIODS_PER_WINDOW));
    lethe_window_options options = lethe_ids_window(&plan->ids, &plan->options);
    lethe_window_needs grown = LETHE_INIT(lethe_window_needs), again = grown;
    uint64_t ids = (uint64_t)(per_ms(plan) * kept);
    lethe_status status = lethe_window_plan(&options, ids, &grown);
    options.capacity = needs->log_ids;
    if (status == LETHE_OK) status = lethe_window_plan(&options, ids, &again);
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, LETHE_EFULL,
                                 "%.3g ids are more than one window can hold; shorten W, or spread "
                                 "the events over several stores",
                                 (double)ids);
    }
    needs->window_bytes = grown.memory_bytes;
    needs->window_peak_bytes = grown.peak_memory_bytes;
    /* One that has grown by many parts is made again beside the old one, with room for a quarter
     * more, as long as it is not too large for that: ids/renew.c. */
    uint64_t limit = lethe_tune.renew_most_bytes, last = again.memory_bytes;
    bool is_renewed = plan->options.max_memory_bytes == 0 && plan->options.threads != 1 &&
                      ids >= lethe_tune.renew_ids && grown.parts >= lethe_tune.renew_parts;
    if (is_renewed && last <= limit) needs->window_peak_bytes += last / 4 * 5;
    if (is_renewed && last > limit && needs->window_peak_bytes < limit + limit / 4 * 5)
        needs->window_peak_bytes = limit + limit / 4 * 5;
    needs->window_reopened_bytes = again.memory_bytes;
    return LETHE_OK;
}

static void plan_log(struct plan *plan) {
    const lethe_store_options *options = &plan->options;
    double waits_ms =
        options->commit_interval_ms > 0 ? (double)options->commit_interval_ms : COMMIT_MS;
    uint32_t most =
        options->commit_operations > 0 ? options->commit_operations : LETHE_GROUP_LIMIT / 2;
    double a_commit = fmin(fmax(per_ms(plan) * waits_ms, 1), (double)most / 4);
    double each = LETHE_LOG_ID_BYTES + SEGMENT_BYTES / a_commit;
    if (options->exact == LETHE_SWITCH_ON || options->check_payload == LETHE_SWITCH_ON) {
        each += DIGEST_BYTES + (options->event_time == LETHE_SWITCH_ON ? LAG_BYTES : 0);
        uint64_t ids = plan->needs.log_ids;
        double index = (double)lethe_index_planned_tail_bytes(ids) +
                       (double)lethe_index_planned_in_runs(ids) * INDEX_BYTES;
        double in_memory = fmin(index, (double)lethe_tune.index_memory_bytes);
        plan->needs.index_memory_bytes = (uint64_t)in_memory;
        plan->needs.index_bytes = (uint64_t)(index - in_memory);
    }
    plan->needs.log_bytes = (uint64_t)((double)plan->needs.log_ids * each);
}

static lethe_status plan_ledger(struct plan *plan, lethe_detail *detail) {
    const lethe_store_options *options = &plan->options;
    if (options->forever != LETHE_SWITCH_ON) return LETHE_OK;
    double ids = per_ms(plan) * (double)plan->load.after_ms;
    lethe_cascade_needs cascade = LETHE_INIT(lethe_cascade_needs);
    lethe_ledger_options ledger = {.error = options->ledger_error,
                                   .capacity = options->ledger_capacity,
                                   .memory_bytes = options->ledger_memory_bytes};
    if (ids > 0x1p44 || lethe_ledger_plan(&ledger, (uint64_t)ids, &cascade) != LETHE_OK) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "a ledger of %.3g ids cannot be planned: there may be 2^44, and "
                                 "fewer with a small error; plan for less time, or a larger error",
                                 ids);
    }
    plan->needs.ledger_ids = (uint64_t)ids;
    plan->needs.ledger_error = cascade.error;
    plan->needs.ledger_memory_bytes = cascade.memory_bytes;
    plan->needs.ledger_bytes = cascade.disk_bytes;
    return LETHE_OK;
}

/* --- values --- */

/* The mean length of a period, in milliseconds. */
static double length_of(lethe_resolution resolution) {
    switch (resolution.unit) {
    case LETHE_UNIT_SECONDS:
        return resolution.seconds * 1000.0;
    case LETHE_UNIT_DAY:
        return DAY_MS;
    case LETHE_UNIT_WEEK:
        return 7 * DAY_MS;
    case LETHE_UNIT_MONTH:
        return 365.2425 / 12 * DAY_MS;
    case LETHE_UNIT_YEAR:
        return 365.2425 * DAY_MS;
    }
    return DAY_MS;
}

/* How many counters are changed at least once in a time, if each event changes one of them at
 * random. */
static double changed_within(const struct plan *plan, double ms) {
    double counters = (double)plan->load.counters;
    return counters == 0 ? 0 : -counters * expm1(-per_ms(plan) * ms / counters);
}

/* What a sorted table stores of a key of random letters, sixteen different ones: neighbours begin
 * alike, and that is stored once. */
static double stored_key(double key_bytes, double keys) {
    return key_bytes - fmin(log2(fmax(keys, 1)) / 4, key_bytes / 2);
}

/* Adds the buckets of one resolution: all that are kept, and those in memory. */
static void add_buckets(const struct plan *plan, const lethe_meter *meter, double *all,
                        double *in_memory) {
    double length = length_of(meter->resolution), kept = (double)plan->load.after_ms;
    if (meter->keep_ms > 0) kept = fmin(kept, (double)meter->keep_ms + length);
    double periods = kept / length, a_period = changed_within(plan, fmin(length, kept));
    *all += a_period * fmax(periods, 1);
    *in_memory += a_period;
}

static lethe_status plan_values(struct plan *plan, lethe_detail *detail) {
    lethe_meters meters = {0};
    const lethe_state state = {0};
    lethe_status status = lethe_meters_resolve(&meters, &plan->options, &state, false, detail);
    if (status != LETHE_OK) return status;
    double key = (double)plan->load.key_bytes, counters = (double)plan->load.counters;
    double all = 0, in_memory = 0;
    for (uint32_t i = 0; i < meters.count; i++)
        add_buckets(plan, &meters.all[i], &all, &in_memory);
    if (all > MOST_BUCKETS) {
        lethe_meters_drop(&meters);
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "%.3g buckets are not planned; keep fewer of them, or plan for "
                                 "less time",
                                 all);
    }
    lethe_store_needs *needs = &plan->needs;
    uint64_t cap = plan->options.counters_memory_bytes;
    if (cap == 0) cap = (uint64_t)1 << 30;
    uint32_t room = meters.count * LETHE_BESIDE_BYTES;
    uint64_t beside = plan->load.counters * room;
    needs->counters_memory_bytes =
        lethe_tally_planned_bytes(plan->load.counters, plan->load.key_bytes, room) - beside;
    if (meters.count > 0) needs->buckets_memory_bytes = beside + lethe_tally_planned_bytes(0, 0, 0);
    /* Beyond the cap, what is on disk leaves memory. */
    if (needs->counters_memory_bytes > cap) needs->counters_memory_bytes = cap;
    if (needs->buckets_memory_bytes > cap - needs->counters_memory_bytes)
        needs->buckets_memory_bytes = cap - needs->counters_memory_bytes;
    needs->buckets = (uint64_t)all;
    double a_counter = stored_key(key, counters) + COUNTER_BYTES;
    double a_bucket = stored_key(key, in_memory) + BUCKET_BYTES;
    needs->counters_bytes = (uint64_t)(counters * a_counter);
    needs->buckets_bytes = (uint64_t)(all * a_bucket);
    /* A commit writes each counter that it changes, and its buckets, once; a fold does so for all
     * commits since the last one. */
    double an_event = key + CHANGE_BYTES + meters.count * BESIDE_CHANGE_BYTES;
    double written = per_ms(plan) * (double)plan->load.after_ms * an_event;
    double a_fold = fmin(written, (double)lethe_tune.fold_after_bytes);
    if (plan->load.counters > 0) {
        double changed = -counters * expm1(-a_fold / an_event / counters);
        double table = changed * (a_counter + meters.count * a_bucket);
        needs->changes_bytes = (uint64_t)a_fold;
        needs->unmerged_bytes = (uint64_t)(UNMERGED_TABLES * table);
    }
    lethe_meters_drop(&meters);
    return LETHE_OK;
}

static void add_up(lethe_store_needs *needs) {
    needs->fixed_memory_bytes = FIXED_MEMORY_BYTES;
    needs->memory_bytes = needs->window_bytes + needs->counters_memory_bytes +
                          needs->buckets_memory_bytes + needs->index_memory_bytes +
                          needs->ledger_memory_bytes + needs->fixed_memory_bytes;
    needs->disk_bytes = needs->log_bytes + needs->changes_bytes + needs->unmerged_bytes +
                        needs->counters_bytes + needs->buckets_bytes + needs->index_bytes +
                        needs->ledger_bytes;
}

lethe_status lethe_store_plan(const lethe_store_options *options, const lethe_store_load *load,
                              lethe_store_needs *out, lethe_detail *detail) {
    struct plan plan = {.needs = {.size = sizeof plan.needs}};
    if (lethe_sized_check(out, LETHE_SIZE_WITH(out, disk_bytes)) != LETHE_OK) return LETHE_EINVAL;
    lethe_status status = LETHE_TAKE(options, &plan.options, allocator);
    if (status == LETHE_OK) status = LETHE_TAKE(load, &plan.load, after_ms);
    if (status != LETHE_OK || load == NULL) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "options or load are missing, have a size of 0, or fields that "
                                 "this version of lethe does not know");
    }
    if (plan.load.key_bytes == 0) plan.load.key_bytes = USUAL_KEY_BYTES;
    if (plan.load.after_ms == 0) plan.load.after_ms = USUAL_AFTER_MS;
    lethe_engine_default_settings(&plan.options);
    status = lethe_engine_check_options(&plan.options, detail);
    if (status == LETHE_OK) status = check_modes(&plan.options, detail);
    if (status == LETHE_OK) status = check_load(&plan.load, detail);
    if (status != LETHE_OK) return status;
    lethe_ids_plan(&plan.ids, plan.options.window_ms);
    status = plan_window(&plan, detail);
    if (status == LETHE_OK) plan_log(&plan);
    if (status == LETHE_OK) status = plan_ledger(&plan, detail);
    if (status == LETHE_OK) status = plan_values(&plan, detail);
    if (status != LETHE_OK) return status;
    add_up(&plan.needs);
    return LETHE_GIVE(&plan.needs, out, disk_bytes);
}

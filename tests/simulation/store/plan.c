/* simulation/store/plan.c - drawing a plan from a seed. */
#include "simulation/store/plan.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/hash.h"
#include "simulation/store/verdict.h"

const char *const step_names[STEP_KINDS] = {
    [STEP_APPLY] = "apply",     [STEP_SUBMIT] = "submit",  [STEP_WAIT] = "wait",
    [STEP_BULK] = "bulk",       [STEP_SET] = "set",        [STEP_DELETE] = "delete",
    [STEP_READ] = "read",       [STEP_LIST] = "list",      [STEP_PAUSE] = "pause",
    [STEP_SUSPEND] = "suspend", [STEP_CLOSE] = "close",    [STEP_KILL] = "kill",
    [STEP_CUT] = "cut power",   [STEP_REBOOT] = "reboot",  [STEP_WALL] = "step the wall clock",
    [STEP_FAULT] = "fault",     [STEP_STALL] = "stall",    [STEP_FILL] = "fill the disk",
    [STEP_FLIP] = "flip a bit", [STEP_FOLLOW] = "follow",  [STEP_CHECK] = "check",
    [STEP_BACKUP] = "backup",   [STEP_RESTORE] = "restore"};

static bool one_in(struct test_random *random, uint64_t n) {
    return test_random_below(random, n) == 0;
}

/* A number from least to most, each magnitude as likely as another. */
static uint64_t magnitude(struct test_random *random, uint64_t least, uint64_t most) {
    double share = (double)test_random_below(random, 1 << 20) / (1 << 20);
    return (uint64_t)((double)least * pow((double)most / (double)least, share));
}

static void draw_options(struct plan *plan, struct test_random *random) {
    static const double errors[] = {0.1, 0.01, 1e-3, 1e-6, 1e-9, 1e-12};
    lethe_store_options *options = &plan->options;
    *options = (lethe_store_options){
        .window_ms = one_in(random, 3) ? 1000 : magnitude(random, 1000, 3600000),
        .error = errors[test_random_below(random, 6)],
        .commit_interval_ms = one_in(random, 3) ? magnitude(random, 1, 10000) : 0,
        .commit_operations = one_in(random, 2) ? (uint32_t)magnitude(random, 1, 3000) : 0,
        .counters_memory_bytes = one_in(random, 4) ? magnitude(random, 1 << 10, 1 << 20) : 0,
        .event_time = one_in(random, 2),
        .max_future_ms = one_in(random, 2) ? 0 : magnitude(random, 10, 100000),
        .create = true,
        .seed = test_random_next(random) | 1,
    };
    switch (test_random_below(random, 5)) {
    case 0:
        options->exact = true;
        break;
    case 1:
        options->check_payload = true;
        break;
    case 2:
    case 3:
        options->forever = true;
        options->ledger_capacity = magnitude(random, 1 << 14, 1 << 20);
        options->ledger_memory_bytes = 2 << 20;
        plan->adds_forever = one_in(random, 3);
        break;
    }
}

static void draw_machine(struct plan *plan, struct test_random *random) {
    plan->tunables = lethe_tune;
    plan->tunables.fold_after_bytes = magnitude(random, 1 << 10, 1 << 20);
    plan->tunables.ledger_checkpoint_ids = magnitude(random, 50, 100000);
    plan->tunables.cascade_table_homes = magnitude(random, 64, 4096);
    plan->tunables.cascade_log_file_bytes = magnitude(random, 1 << 10, 1 << 18);
    plan->tunables.cascade_obsolete_bytes = 1 << 16;
    plan->tunables.simple_operations = 1;
    if (one_in(random, 3)) plan->tunables.first_commit = UINT32_MAX - magnitude(random, 1, 1000);
    if (one_in(random, 3)) plan->tunables.stamp_limit = magnitude(random, 5, 1000);
    plan->machine = (struct machine_habits){
        .switch_one_in = (uint32_t)magnitude(random, 2, 200),
        .spurious_one_in = one_in(random, 2) ? 20 : 0,
        .point_us = one_in(random, 2) ? magnitude(random, 1, 100) : 0,
    };
    plan->disk = (struct disk_habits){.keeps_order = one_in(random, 2),
                                      .kept_percent = (uint32_t)test_random_below(random, 101),
                                      .drops_unsynced = one_in(random, 2),
                                      .capacity_bytes = UINT64_MAX};
    plan->system = (struct system_habits){.sync_us = magnitude(random, 1, 20000),
                                          .access_us = one_in(random, 2) ? 50 : 0,
                                          .short_one_in = one_in(random, 2) ? 10 : 0,
                                          .interrupted_one_in = one_in(random, 2) ? 20 : 0};
    plan->database =
        (struct database_habits){.flush_after_bytes = magnitude(random, 1 << 10, 1 << 20),
                                 .compact_one_in = (uint32_t)magnitude(random, 1, 10),
                                 .split_one_in = (uint32_t)magnitude(random, 1, 20)};
    plan->batch = (uint32_t)magnitude(random, 3, 400);
    plan->duplicates_percent = (uint32_t)test_random_below(random, 70);
    plan->late_percent = one_in(random, 2) ? (uint32_t)test_random_below(random, 30) : 0;
    plan->ahead_percent = one_in(random, 3) ? (uint32_t)test_random_below(random, 10) : 0;
    plan->jump_percent = one_in(random, 2) ? (uint32_t)test_random_below(random, 10) : 0;
    plan->variant_percent = one_in(random, 3) ? 20 : 0;
    plan->marks_percent = one_in(random, 2) ? 30 : 0;
}

/* Drawn by itself, so that the seeds that have none of it do what they did. */
static void draw_more(struct plan *plan, uint64_t seed) {
    struct test_random random = {.state = lethe_hash_bytes(2, &seed, sizeof seed).low};
    plan->switches = one_in(&random, 3);
    plan->clients = one_in(&random, 3) ? 2 + (unsigned)test_random_below(&random, 3) : 1;
    /* The last ones that fit, or those before they begin anew. */
    uint64_t last = one_in(&random, 2) ? UINT32_MAX : plan->tunables.stamp_limit;
    if (one_in(&random, 4)) plan->tunables.first_stamp = last - magnitude(&random, 1, 1000);
    if (one_in(&random, 3)) plan->options.forgetful = LETHE_SWITCH_ON;
    if (plan->tunables.first_stamp < 2 || plan->tunables.first_stamp > UINT32_MAX)
        plan->tunables.first_stamp = 2;
    if (one_in(&random, 3))
        plan->options.scale = 1 + (int32_t)test_random_below(&random, LETHE_SCALE_LIMIT);
    plan->count_late_percent = one_in(&random, 2) ? 50 : 0;
    if (one_in(&random, 2)) plan->tunables.fill_thread_ids = 0;
    plan->tunables.shared_allocator = 1; /* that of the machine is */
    plan->options.threads = 1 + (uint32_t)test_random_below(&random, 3);
    plan->tunables.fill_round_ids = magnitude(&random, 1, 1000);
}

/* By itself, too. */
static void draw_meters(struct plan *plan, uint64_t seed) {
    struct test_random random = {.state = lethe_hash_bytes(3, &seed, sizeof seed).low};
    if (one_in(&random, 2)) {
        static const char *const per[] = {"1h,1mo", "1mo,1h", "1mo,1h,1d,15m"};
        plan->options.per = per[test_random_below(&random, 3)];
        plan->options.zone = "+05:45";
        if (one_in(&random, 4)) plan->options.keep = one_in(&random, 2) ? "1h=3h" : "1mo=1d,1h=1h";
        plan->adds_meters = one_in(&random, 3);
    }
}

/* By itself, too. */
static void draw_bounds(struct plan *plan, uint64_t seed) {
    struct test_random random = {.state = lethe_hash_bytes(4, &seed, sizeof seed).low};
    if (one_in(&random, 3)) plan->bounds_percent = 10 + (uint32_t)test_random_below(&random, 60);
}

/* And this. */
static void draw_claims(struct plan *plan, uint64_t seed) {
    struct test_random random = {.state = lethe_hash_bytes(5, &seed, sizeof seed).low};
    plan->claims = one_in(&random, 3);
    plan->holds = one_in(&random, 3);
}

/* And this: an index that is sorted and merged all the time, and goes to files. */
static void draw_index(struct plan *plan, uint64_t seed) {
    struct test_random random = {.state = lethe_hash_bytes(6, &seed, sizeof seed).low};
    plan->tunables.index_tail_ids = magnitude(&random, 8, 2000);
    plan->tunables.index_memory_bytes = one_in(&random, 2) ? 0 : magnitude(&random, 100, 1 << 18);
    plan->tunables.index_ahead_bytes = magnitude(&random, 1, 1 << 16);
}

/* And this: long runs of operations that take the shorter way if they are prepared. */
static void draw_simple(struct plan *plan, uint64_t seed) {
    struct test_random random = {.state = lethe_hash_bytes(7, &seed, sizeof seed).low};
    plan->is_simple = one_in(&random, 2);
}

/* And this: folds of two tables. */
static void draw_fold(struct plan *plan, uint64_t seed) {
    struct test_random random = {.state = lethe_hash_bytes(8, &seed, sizeof seed).low};
    if (one_in(&random, 2)) plan->tunables.fold_split_keys = magnitude(&random, 2, 100);
}

/* And this: windows that are made again all the time, also where they have one part. */
static void draw_renewal(struct plan *plan, uint64_t seed) {
    struct test_random random = {.state = lethe_hash_bytes(9, &seed, sizeof seed).low};
    if (one_in(&random, 3)) return;
    plan->tunables.renew_ids = magnitude(&random, 1, 300);
    plan->tunables.renew_parts = 1 + test_random_below(&random, 2);
    plan->tunables.renew_percent = one_in(&random, 2) ? 0 : 50;
}

/* How often each kind of step comes. */
static void draw_weights(struct test_random *random, bool event_time,
                         uint32_t weights[STEP_KINDS]) {
    static const uint32_t usual[STEP_KINDS] = {
        [STEP_APPLY] = 40, [STEP_SUBMIT] = 40, [STEP_WAIT] = 15,  [STEP_BULK] = 4,
        [STEP_SET] = 4,    [STEP_DELETE] = 3,  [STEP_READ] = 6,   [STEP_LIST] = 3,
        [STEP_PAUSE] = 10, [STEP_SUSPEND] = 8, [STEP_CLOSE] = 7,  [STEP_KILL] = 6,
        [STEP_CUT] = 6,    [STEP_REBOOT] = 3,  [STEP_WALL] = 4,   [STEP_FAULT] = 8,
        [STEP_STALL] = 4,  [STEP_FILL] = 2,    [STEP_FLIP] = 3,   [STEP_FOLLOW] = 5,
        [STEP_CHECK] = 3,  [STEP_BACKUP] = 3,  [STEP_RESTORE] = 1};
    for (unsigned i = 0; i < STEP_KINDS; i++) {
        weights[i] = usual[i];
        if (i != STEP_APPLY && i != STEP_SUBMIT && one_in(random, 3)) weights[i] = 0;
        if (one_in(random, 8)) weights[i] *= 4;
    }
    if (!event_time) weights[STEP_SUSPEND] += 20; /* nothing else makes ids old */
}

void plan_draw(struct plan *plan, uint64_t seed, size_t step_count) {
    /* Seeds that follow each other must not give plans that do. */
    struct test_random random = {.state = lethe_hash_bytes(1, &seed, sizeof seed).low};
    *plan = (struct plan){0};
    draw_options(plan, &random);
    draw_machine(plan, &random);
    draw_more(plan, seed);
    draw_meters(plan, seed);
    draw_bounds(plan, seed);
    draw_claims(plan, seed);
    draw_index(plan, seed);
    draw_simple(plan, seed);
    draw_fold(plan, seed);
    draw_renewal(plan, seed);
    uint32_t weights[STEP_KINDS], sum = 0;
    draw_weights(&random, plan->options.event_time, weights);
    for (unsigned i = 0; i < STEP_KINDS; i++)
        sum += weights[i];
    uint64_t kill_one_in = one_in(&random, 3) ? 0 : magnitude(&random, 5, 100);
    plan->step_count = step_count > 0 ? step_count : (size_t)magnitude(&random, 20, 300);
    plan->steps = calloc(plan->step_count, sizeof *plan->steps);
    assert(plan->steps != NULL);
    for (size_t i = 0; i < plan->step_count; i++) {
        uint32_t drawn = (uint32_t)test_random_below(&random, sum);
        struct step *step = &plan->steps[i];
        while (drawn >= weights[step->kind])
            drawn -= weights[step->kind++];
        step->seed = test_random_next(&random);
        if (kill_one_in > 0 && one_in(&random, kill_one_in))
            step->kill_after = magnitude(&random, 1, 20000);
        step->cuts_power = one_in(&random, 2);
    }
}

void plan_describe(const struct plan *plan) {
    const lethe_store_options *options = &plan->options;
    verdict_tell("  %u clients at once%s%s%s%s, first stamp %llu, scale %d", plan->clients,
                 plan->switches ? ", modes that change" : "", plan->claims ? ", claims" : "",
                 plan->holds ? ", holds" : "", options->forgetful ? ", forgetful window" : "",
                 (unsigned long long)plan->tunables.first_stamp, (int)options->scale);
    if (plan->is_simple) verdict_tell("  mostly simple operations");
    if (plan->bounds_percent > 0) verdict_tell("  %u%% with bounds", plan->bounds_percent);
    if (options->per != NULL)
        verdict_tell("  meters %s%s%s%s", options->per, plan->adds_meters ? " (later)" : "",
                     options->keep != NULL ? ", kept " : "",
                     options->keep != NULL ? options->keep : "");
    verdict_tell("  a store by %s, window %llu ms, error %g%s%s%s%s, commits of %u after %llu ms",
                 options->event_time ? "event time" : "wall clock",
                 (unsigned long long)options->window_ms, options->error,
                 options->exact ? ", exact" : "", options->check_payload ? ", payload" : "",
                 options->forever ? ", forever" : "", plan->adds_forever ? " (later)" : "",
                 options->commit_operations, (unsigned long long)options->commit_interval_ms);
}

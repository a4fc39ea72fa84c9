/* Goal: against an exact map from id to when it was last recorded, no id within the window is ever
 * missed, whatever load, pauses, clock faults, growth, shrinking, saving, loading, merging,
 * forgetting and refreshing come in between (P1); what is too old is forgotten, up to the error
 * (P3); and reads change nothing.
 *
 * test_window_model [SEEDS [FIRST]] runs that many random schedules of each kind; without it a
 * fair part of what `make test-long` does. The file is long because every function of a window is a
 * step of one schedule here. */
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/window.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/statistics.h"
#include "window/chain.h"

enum { KEYS = 1 << 15, STEPS = 120, MAX_BATCH = 3000, MAX_STRIPES = 4, STRIPE_SHIFT = 58 };

static uint64_t seeds_to_run = 300, first_seed = 1;

/* What must be known of one id. */
struct memory {
    uint64_t recorded; /* when, plus one; 0 is never */
    bool was_fresh;    /* its recorder was told fresh, so it may be forgotten on purpose */
    bool was_judged;   /* counted among the old ones since */
};

/* One window and what it must know. */
struct subject {
    lethe_window *window;
    uint64_t clocks_ms[MAX_STRIPES]; /* a stripe's clock moves with its own ids */
    unsigned merges;
    struct memory memory[KEYS];
};

struct schedule {
    uint64_t seed;
    struct test_random random;
    lethe_window_options options;
    bool has_records, has_forgets, has_merges;
    uint64_t now_ms; /* the outside world's clock, which has faults */
    uint64_t gone_ms;
    uint64_t rate, step_ms;
    uint64_t hot_key; /* most ids are near it: young ones, and retries of them */
    struct subject subjects[2];
    uint64_t old_trials, old_hits;
    double old_expected;
    uint64_t operations;
};

static uint64_t below(struct schedule *schedule, uint64_t range) {
    return test_random_below(&schedule->random, range);
}

static lethe_hash hash_of(const struct schedule *schedule, uint64_t key) {
    return lethe_hash_u64(schedule->options.seed, schedule->seed << 32 | key);
}

static uint64_t *clock_of(const struct schedule *schedule, struct subject *subject,
                          lethe_hash hash) {
    uint32_t stripes = schedule->options.stripes;
    return &subject->clocks_ms[stripes == 0 ? 0 : hash.low >> STRIPE_SHIFT & (stripes - 1)];
}

/* The time as the window sees it, for an id. */
static uint64_t time_of(const struct schedule *schedule, uint64_t clock_ms) {
    uint64_t now_ms = schedule->now_ms;
    if (schedule->options.kind == LETHE_WINDOW_QUOTIENT && now_ms > LETHE_CHAIN_MAX_TIME_MS)
        now_ms = LETHE_CHAIN_MAX_TIME_MS;
    return now_ms > clock_ms ? now_ms : clock_ms;
}

static uint64_t choose_key(struct schedule *schedule) {
    if (below(schedule, 3) == 0) return below(schedule, KEYS);
    if (below(schedule, 2) == 0) schedule->hot_key++;
    return (schedule->hot_key - below(schedule, 2 * schedule->rate + 1)) % KEYS;
}

/* What a failure should be read with. */
static void describe(const struct schedule *schedule) {
    const lethe_window_options *options = &schedule->options;
    print_message("seed %" PRIu64 ", kind %d, W %" PRIu64 ", error %g, slack %g, capacity %" PRIu64
                  ", stripes %u, refresh %d, records %d, forgets %d, merges %d\n",
                  schedule->seed, options->kind, options->window_ms, options->error, options->slack,
                  options->capacity, options->stripes, options->refresh_on_duplicate,
                  schedule->has_records, schedule->has_forgets, schedule->has_merges);
}

/* What the window said of a key at a time, against the map. */
static void judge(struct schedule *schedule, struct subject *subject, uint64_t key,
                  uint64_t time_ms, lethe_answer answer) {
    struct memory *memory = &subject->memory[key];
    schedule->operations++;
    uint64_t age_ms = memory->recorded == 0 ? UINT64_MAX : time_ms - (memory->recorded - 1);
    if (age_ms <= schedule->options.window_ms) {
        if (answer != LETHE_ANSWER_DUPLICATE) {
            describe(schedule);
            fail_msg("key %" PRIu64 " of age %" PRIu64 " ms was missed at %" PRIu64, key, age_ms,
                     time_ms);
        }
    } else if (age_ms > schedule->gone_ms && !memory->was_judged) {
        /* Once each: an id that looks like another does so as long as that one lives. */
        memory->was_judged = true;
        schedule->old_trials++;
        schedule->old_hits += answer == LETHE_ANSWER_DUPLICATE;
        /* Recording what looks like an old id keeps that one young. */
        bool keeps_young = schedule->has_records || schedule->options.refresh_on_duplicate;
        schedule->old_expected +=
            schedule->options.error * (1 + subject->merges) * (keeps_young ? 2 : 1);
    }
}

static void remember(struct subject *subject, uint64_t key, uint64_t time_ms) {
    subject->memory[key].recorded = time_ms + 1;
    subject->memory[key].was_judged = false;
}

/* What check_and_record does to the map, after it was judged. */
static void follow(const struct schedule *schedule, struct subject *subject, uint64_t key,
                   uint64_t time_ms, lethe_answer answer) {
    struct memory *memory = &subject->memory[key];
    if (answer == LETHE_ANSWER_FRESH) {
        remember(subject, key, time_ms);
        memory->was_fresh = true;
    } else if (schedule->options.refresh_on_duplicate && memory->recorded != 0 &&
               time_ms - (memory->recorded - 1) <= schedule->gone_ms) {
        remember(subject, key, time_ms);
    }
}

static void do_check(struct schedule *schedule, struct subject *subject) {
    uint64_t key = choose_key(schedule);
    lethe_hash hash = hash_of(schedule, key);
    lethe_answer answer = lethe_window_test(subject->window, hash, schedule->now_ms);
    judge(schedule, subject, key, time_of(schedule, *clock_of(schedule, subject, hash)), answer);
}

static void do_record(struct schedule *schedule, struct subject *subject) {
    uint64_t key = choose_key(schedule);
    lethe_hash hash = hash_of(schedule, key);
    assert_ok(lethe_window_add(subject->window, hash, schedule->now_ms));
    uint64_t *clock_ms = clock_of(schedule, subject, hash);
    *clock_ms = time_of(schedule, *clock_ms);
    remember(subject, key, *clock_ms);
    schedule->operations++;
}

static void do_check_and_record(struct schedule *schedule, struct subject *subject) {
    uint64_t key = choose_key(schedule);
    lethe_hash hash = hash_of(schedule, key);
    lethe_answer answer;
    assert_ok(lethe_window_add_and_test(subject->window, hash, schedule->now_ms, &answer));
    uint64_t *clock_ms = clock_of(schedule, subject, hash);
    *clock_ms = time_of(schedule, *clock_ms);
    judge(schedule, subject, key, *clock_ms, answer);
    follow(schedule, subject, key, *clock_ms, answer);
}

static void do_batch(struct schedule *schedule, struct subject *subject, size_t count,
                     bool records) {
    static lethe_hash hashes[MAX_BATCH];
    static uint64_t keys[MAX_BATCH];
    static uint8_t answers[MAX_BATCH];
    for (size_t i = 0; i < count; i++) {
        keys[i] = choose_key(schedule);
        hashes[i] = hash_of(schedule, keys[i]);
    }
    if (records) {
        assert_ok(lethe_window_add_and_test_batch(subject->window, hashes, count, schedule->now_ms,
                                                  answers));
    } else {
        lethe_window_test_batch(subject->window, hashes, count, schedule->now_ms, answers);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t *clock_ms = clock_of(schedule, subject, hashes[i]);
        uint64_t time_ms = time_of(schedule, *clock_ms);
        if (records) *clock_ms = time_ms;
        judge(schedule, subject, keys[i], time_ms, (lethe_answer)answers[i]);
        if (records) follow(schedule, subject, keys[i], time_ms, (lethe_answer)answers[i]);
    }
}

/* Only what its recorder was told is fresh and what must still be there: then it is found. */
static void do_forget(struct schedule *schedule, struct subject *subject) {
    uint64_t key = choose_key(schedule);
    lethe_hash hash = hash_of(schedule, key);
    uint64_t *clock_ms = clock_of(schedule, subject, hash);
    uint64_t time_ms = time_of(schedule, *clock_ms);
    struct memory *memory = &subject->memory[key];
    if (memory->recorded == 0 || !memory->was_fresh) return;
    if (time_ms - (memory->recorded - 1) > schedule->options.window_ms) return;
    if (lethe_window_remove(subject->window, hash, schedule->now_ms) != LETHE_OK) {
        describe(schedule);
        fail_msg("key %" PRIu64 " can't be forgotten", key);
    }
    *clock_ms = time_ms;
    *memory = (struct memory){0};
    schedule->operations++;
}

static void do_operations(struct schedule *schedule, struct subject *subject) {
    uint64_t count = below(schedule, 2 * schedule->rate + 1);
    if (count > 300) count = 300;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t what = below(schedule, 16);
        if (what < 2) {
            do_check(schedule, subject);
        } else if (what < 4 && schedule->has_records) {
            do_record(schedule, subject);
        } else if (what < 5 && schedule->has_forgets) {
            do_forget(schedule, subject);
        } else {
            do_check_and_record(schedule, subject);
        }
    }
    if (below(schedule, 4) == 0) {
        size_t size = 1 + below(schedule, 4 * schedule->rate);
        if (size > MAX_BATCH) size = MAX_BATCH;
        do_batch(schedule, subject, size, below(schedule, 4) != 0);
    }
}

static void save(const lethe_window *window, lethe_memory_writer *writer) {
    *writer = (lethe_memory_writer){0};
    assert_ok(lethe_window_save(window, lethe_sink_to_memory(writer)));
}

static void do_save_and_load(struct schedule *schedule, struct subject *subject) {
    lethe_memory_writer writer;
    save(subject->window, &writer);
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    lethe_window *loaded;
    assert_ok(lethe_window_load(lethe_source_from_memory(&reader), NULL, &loaded));
    lethe_memory_writer_free(&writer);
    lethe_window_stats before = window_stats(subject->window, schedule->now_ms);
    lethe_window_stats after = window_stats(loaded, schedule->now_ms);
    assert_int_equal(before.ids, after.ids);
    assert_int_equal(before.clock_ms, after.clock_ms);
    assert_int_equal(before.oldest_age_ms, after.oldest_age_ms);
    assert_int_equal(before.fresh, after.fresh);
    assert_int_equal(before.strain, after.strain);
    assert_true(before.error_estimate == after.error_estimate);
    lethe_window_free(subject->window);
    subject->window = loaded;
}

/* Reads, also those that are far ahead of the window's clock, leave every byte as it is. */
static void do_reads(struct schedule *schedule, struct subject *subject) {
    lethe_memory_writer before, after;
    save(subject->window, &before);
    uint64_t now_ms = schedule->now_ms;
    for (int i = 0; i < 20; i++) {
        schedule->now_ms = now_ms + below(schedule, UINT64_C(1) << below(schedule, 40));
        do_check(schedule, subject);
        (void)window_stats(subject->window, schedule->now_ms);
        if (i % 5 == 0) do_batch(schedule, subject, 1 + below(schedule, 100), false);
    }
    schedule->now_ms = now_ms;
    save(subject->window, &after);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, after.data, before.size);
    lethe_memory_writer_free(&before);
    lethe_memory_writer_free(&after);
}

static void empty_model(struct subject *subject) {
    lethe_window *window = subject->window;
    memset(subject, 0, sizeof *subject);
    subject->window = window;
}

/* One subject's memory goes into the other; it starts anew. */
static void do_merge(struct schedule *schedule) {
    bool backwards = below(schedule, 2) == 0;
    struct subject *into = &schedule->subjects[backwards], *from = &schedule->subjects[!backwards];
    lethe_status status = lethe_window_merge(into->window, from->window);
    if (status == LETHE_EFULL) { /* too many parts: nothing has changed */
        uint64_t now_ms = schedule->now_ms;
        assert_true(window_stats(into->window, now_ms).parts +
                        window_stats(from->window, now_ms).parts >
                    LETHE_CHAIN_MAX_MERGED);
        return;
    }
    assert_ok(status);
    into->merges += 1 + from->merges;
    for (int i = 0; i < MAX_STRIPES; i++) {
        if (from->clocks_ms[i] > into->clocks_ms[i]) into->clocks_ms[i] = from->clocks_ms[i];
    }
    for (size_t key = 0; key < KEYS; key++) {
        bool both = from->memory[key].recorded != 0 && into->memory[key].recorded != 0;
        if (from->memory[key].recorded > into->memory[key].recorded)
            into->memory[key] = from->memory[key];
        if (both) into->memory[key].was_fresh = false; /* each has an entry of its own */
    }
    assert_int_equal(window_stats(from->window, schedule->now_ms).ids, 0);
    empty_model(from);
}

static void do_work(struct schedule *schedule, struct subject *subject) {
    uint64_t calls = below(schedule, 2) == 0 ? 100000 : 1;
    while (window_work(subject->window, schedule->now_ms, 1) && --calls > 0)
        continue;
    uint32_t stripes = schedule->options.stripes == 0 ? 1 : schedule->options.stripes;
    for (uint32_t i = 0; i < stripes; i++)
        subject->clocks_ms[i] = time_of(schedule, subject->clocks_ms[i]);
}

/* To a boundary of periods, or the last moment before it, or some round number of them ahead. */
static void jump_by_periods(struct schedule *schedule, const struct subject *subject) {
    lethe_window_stats stats = window_stats(subject->window, schedule->now_ms);
    uint64_t window_ms = schedule->options.window_ms, periods = 1;
    switch (below(schedule, 5)) {
    case 0:
        periods = UINT64_C(1) << (below(schedule, 6) == 0 ? 14 + below(schedule, 4) : 3);
        break;
    case 1:
        schedule->now_ms += window_ms; /* what was recorded just now is of exactly that age */
        return;
    case 2:
        schedule->now_ms += window_ms - 1;
        return;
    default:
        break;
    }
    uint64_t generations = stats.kind == LETHE_WINDOW_QUOTIENT ? stats.generations - 1 : 8;
    if (schedule->now_ms > LETHE_CHAIN_MAX_TIME_MS) return;
    uint64_t next = schedule->now_ms * generations / window_ms + periods;
    schedule->now_ms = (next * window_ms + generations - 1) / generations - below(schedule, 2);
}

/* The world's clock and load: mostly steady, with everything that happens to clocks and loads. */
static void move_time(struct schedule *schedule) {
    switch (below(schedule, 32)) {
    case 0: /* back */
        schedule->now_ms -= below(schedule, schedule->now_ms / 2 + 1);
        break;
    case 1: /* back a little */
        schedule->now_ms -= below(schedule, 1000 < schedule->now_ms ? 1000 : schedule->now_ms + 1);
        break;
    case 2: /* a pause */
        schedule->now_ms += below(schedule, 2 * schedule->options.window_ms);
        break;
    case 3: /* far ahead */
        if (below(schedule, 4) == 0) schedule->now_ms += UINT64_C(1) << below(schedule, 42);
        break;
    case 4: /* another pace; sometimes it stands still */
        schedule->step_ms =
            below(schedule, 3) == 0 ? 0 : below(schedule, schedule->options.window_ms / 10);
        break;
    case 5:
    case 6: /* another load */
        schedule->rate = UINT64_C(1) << below(schedule, 11);
        break;
    case 7:
    case 8:
    case 9:
        jump_by_periods(schedule, &schedule->subjects[0]);
        break;
    default:
        schedule->now_ms += schedule->step_ms == 0 ? 0 : below(schedule, 2 * schedule->step_ms);
    }
}

static void step(struct schedule *schedule) {
    move_time(schedule);
    if (schedule->now_ms == UINT64_MAX) schedule->now_ms--; /* the map keeps times plus one */
    struct subject *subject = &schedule->subjects[below(schedule, 4) == 0];
    do_operations(schedule, subject);
    switch (below(schedule, 40)) {
    case 0:
    case 1:
        do_save_and_load(schedule, subject);
        break;
    case 2:
        if (schedule->has_merges) do_merge(schedule);
        break;
    case 3:
        do_reads(schedule, subject);
        break;
    default:
        if (below(schedule, 3) == 0) do_work(schedule, subject);
    }
}

static void choose_options(struct schedule *schedule, lethe_window_kind kind) {
    static const double errors[] = {0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12};
    static const double slacks[] = {0.02, 0.05, 0.1, 0.25, 0.5, 1};
    lethe_window_options *options = &schedule->options;
    options->size = sizeof *options;
    options->kind = kind;
    options->seed = schedule->seed;
    options->window_ms = 1000 + below(schedule, UINT64_C(1) << (2 + below(schedule, 30)));
    if (options->window_ms > 2592000000) options->window_ms = 2592000000;
    options->error = errors[below(schedule, 8)];
    options->slack = slacks[below(schedule, 6)];
    if (below(schedule, 3) == 0) options->capacity = 1 + below(schedule, 20000);
    if (below(schedule, 3) == 0) options->stripes = MAX_STRIPES;
    if (kind == LETHE_WINDOW_QUOTIENT) options->refresh_on_duplicate = below(schedule, 4) == 0;
    schedule->has_records = below(schedule, 2) == 0;
    schedule->has_merges = below(schedule, 3) != 0;
    /* An id that looks like one that is forgotten goes with it, unless that can't happen. */
    bool is_rare = options->error <= 1e-9;
    schedule->has_forgets = kind == LETHE_WINDOW_QUOTIENT && !schedule->has_records &&
                            (is_rare || !(schedule->has_merges || options->refresh_on_duplicate));
    schedule->gone_ms = (uint64_t)((double)options->window_ms * (1 + options->slack));
}

static void run_schedule(struct schedule *schedule) {
    static const uint64_t starts[] = {0, 1, 12345, UINT64_C(1760000000000)};
    schedule->now_ms = starts[below(schedule, 4)];
    schedule->rate = UINT64_C(1) << below(schedule, 9);
    schedule->step_ms = 1 + below(schedule, schedule->options.window_ms / 20 + 1);
    for (int i = 0; i < 2; i++)
        assert_ok(lethe_window_new(&schedule->options, &schedule->subjects[i].window));
    uint64_t end_of_time = below(schedule, 4) == 0 ? STEPS - 10 : STEPS;
    for (uint64_t i = 0; i < STEPS; i++) {
        if (i == end_of_time) schedule->now_ms = UINT64_MAX - 1 - below(schedule, 3);
        step(schedule);
    }
    for (int i = 0; i < 2; i++)
        lethe_window_free(schedule->subjects[i].window);
}

static void run_all(lethe_window_kind kind) {
    static struct schedule schedule;
    uint64_t operations = 0, trials = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seeds_to_run; seed++) {
        memset(&schedule, 0, sizeof schedule);
        schedule.seed = seed;
        schedule.random.state = seed;
        choose_options(&schedule, kind);
        run_schedule(&schedule);
        operations += schedule.operations;
        trials += schedule.old_trials;
        double rate = schedule.old_expected / (double)(schedule.old_trials + 1);
        if (!rate_is_at_most(schedule.old_hits, schedule.old_trials, rate)) {
            describe(&schedule);
            fail_msg("%" PRIu64 " of %" PRIu64 " old or fresh ids were known; expected %g",
                     schedule.old_hits, schedule.old_trials, schedule.old_expected);
        }
    }
    print_message("%" PRIu64 " seeds, %" PRIu64 " operations, %" PRIu64 " of them on old ids\n",
                  seeds_to_run, operations, trials);
}

static void the_quotient_kind_keeps_its_promises(void **state) {
    (void)state;
    run_all(LETHE_WINDOW_QUOTIENT);
}

static void the_bloom_kind_keeps_its_promises(void **state) {
    (void)state;
    run_all(LETHE_WINDOW_FORGETFUL);
}

int main(int count, char **words) {
    if (count > 1) seeds_to_run = strtoull(words[1], NULL, 10);
    if (count > 2) first_seed = strtoull(words[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_quotient_kind_keeps_its_promises),
        cmocka_unit_test(the_bloom_kind_keeps_its_promises),
    };
    return cmocka_run_group_tests_name("window_model", tests, NULL, NULL);
}

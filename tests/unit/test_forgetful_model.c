/* Goal: against an exact map from id to when it was recorded, no duplicate within the window is
 *       ever missed, whatever load, pauses, clock faults, adaptation, saving, loading, copying and
 *       merging come in between; and what is too old is forgotten, up to the error.
 *
 * test_forgetful_model [SEEDS [FIRST]] runs that many random schedules of each setting; without
 * it a fair part of what `make test-long` does. */
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/forgetful.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/statistics.h"

enum { KEYS = 8192, STEPS = 300, MOST_AT_ONCE = 96 };

static uint64_t seeds_to_run = 100, first_seed = 1;
static uint64_t operations;

/* One filter and what it must know. */
struct subject {
    lethe_forgetful *filter;
    uint64_t clock_ms;
    uint64_t recorded_ms[KEYS]; /* when, plus one; 0 is never */
    bool was_merged;            /* then the error may be above its target */
};

struct schedule {
    uint64_t seed;
    struct test_random random;
    lethe_forgetful_options options;
    uint64_t window_ms, gone_ms; /* must be known up to one age, and unknown after the other */
    uint64_t now_ms;             /* the outside world's clock, which has faults */
    uint64_t rate;               /* about how many ids a step */
    uint64_t step_ms;
    struct subject subjects[2];
    uint64_t old_trials, old_hits;
};

static uint64_t below(struct schedule *schedule, uint64_t range) {
    return test_random_below(&schedule->random, range);
}

static lethe_hash hash_of(const struct schedule *schedule, uint64_t key) {
    return lethe_hash_u64(schedule->options.seed, schedule->seed << 32 | key);
}

/* What the filter said of a key at its time, against the map. */
static void judge(struct schedule *schedule, const struct subject *subject, uint64_t key,
                  uint64_t time_ms, bool answer) {
    operations++;
    uint64_t recorded = subject->recorded_ms[key];
    uint64_t age_ms = recorded == 0 ? UINT64_MAX : time_ms - (recorded - 1);
    if (age_ms <= schedule->window_ms) {
        if (!answer) {
            fail_msg("seed %" PRIu64 ": key %" PRIu64 " of age %" PRIu64
                     " ms was missed (window %" PRIu64 ")",
                     schedule->seed, key, age_ms, schedule->window_ms);
        }
    } else if (age_ms > schedule->gone_ms && !subject->was_merged) {
        schedule->old_trials++;
        schedule->old_hits += answer;
    }
}

static uint64_t time_of(const struct schedule *schedule, const struct subject *subject) {
    return schedule->now_ms > subject->clock_ms ? schedule->now_ms : subject->clock_ms;
}

static void do_check(struct schedule *schedule, struct subject *subject) {
    uint64_t key = below(schedule, KEYS);
    bool answer = lethe_forgetful_test(subject->filter, hash_of(schedule, key), schedule->now_ms);
    judge(schedule, subject, key, time_of(schedule, subject), answer);
}

static void do_record(struct schedule *schedule, struct subject *subject) {
    uint64_t key = below(schedule, KEYS);
    assert_ok(lethe_forgetful_add(subject->filter, hash_of(schedule, key), schedule->now_ms));
    subject->clock_ms = time_of(schedule, subject);
    subject->recorded_ms[key] = subject->clock_ms + 1;
}

static void do_check_and_record(struct schedule *schedule, struct subject *subject) {
    uint64_t key = below(schedule, KEYS);
    lethe_answer answer;
    assert_ok(lethe_forgetful_add_and_test(subject->filter, hash_of(schedule, key),
                                           schedule->now_ms, &answer));
    bool duplicate = answer == LETHE_ANSWER_DUPLICATE;
    subject->clock_ms = time_of(schedule, subject);
    judge(schedule, subject, key, subject->clock_ms, duplicate);
    if (!duplicate) subject->recorded_ms[key] = subject->clock_ms + 1;
}

static void do_batch(struct schedule *schedule, struct subject *subject, bool records) {
    lethe_hash hashes[MOST_AT_ONCE * 2];
    uint64_t keys[MOST_AT_ONCE * 2];
    uint8_t duplicate[MOST_AT_ONCE * 2];
    size_t count = below(schedule, MOST_AT_ONCE * 2) + 1;
    for (size_t i = 0; i < count; i++) {
        keys[i] = below(schedule, KEYS);
        hashes[i] = hash_of(schedule, keys[i]);
    }
    uint64_t time_ms = time_of(schedule, subject);
    if (records) {
        assert_ok(lethe_forgetful_add_and_test_batch(subject->filter, hashes, count,
                                                     schedule->now_ms, duplicate));
        subject->clock_ms = time_ms;
    } else {
        lethe_forgetful_test_batch(subject->filter, hashes, count, schedule->now_ms, duplicate);
    }
    for (size_t i = 0; i < count; i++) {
        judge(schedule, subject, keys[i], time_ms, duplicate[i]);
        if (records && !duplicate[i]) subject->recorded_ms[keys[i]] = time_ms + 1;
    }
}

static void do_operations(struct schedule *schedule, struct subject *subject) {
    uint64_t count = below(schedule, 2 * schedule->rate + 1);
    for (uint64_t i = 0; i < count; i++) {
        switch (below(schedule, 8)) {
        case 0:
            do_record(schedule, subject);
            break;
        case 1:
            do_check(schedule, subject);
            break;
        default:
            do_check_and_record(schedule, subject);
        }
    }
    if (below(schedule, 4) == 0) do_batch(schedule, subject, below(schedule, 3) != 0);
}

static void replace(struct subject *subject, lethe_forgetful *with) {
    lethe_forgetful_free(subject->filter);
    subject->filter = with;
}

static void do_save_and_load(struct subject *subject) {
    lethe_memory_writer writer = {0};
    assert_ok(lethe_forgetful_save(subject->filter, lethe_sink_to_memory(&writer)));
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    lethe_forgetful *loaded;
    assert_ok(lethe_forgetful_load(lethe_source_from_memory(&reader), NULL, &loaded));
    replace(subject, loaded);
    lethe_memory_writer_free(&writer);
}

static void do_copy(struct subject *subject) {
    lethe_forgetful *copy;
    assert_ok(lethe_forgetful_copy(subject->filter, &copy));
    replace(subject, copy);
}

static void do_clear(struct subject *subject) {
    lethe_forgetful_clear(subject->filter);
    memset(subject->recorded_ms, 0, sizeof subject->recorded_ms);
    subject->clock_ms = 0;
}

/* The second subject's memory goes into the first; the second starts anew. */
static void do_merge(struct schedule *schedule) {
    struct subject *into = &schedule->subjects[0], *from = &schedule->subjects[1];
    if (schedule->options.setting == LETHE_FORGETFUL_PAPER) return;
    assert_ok(lethe_forgetful_merge(into->filter, from->filter));
    into->was_merged = true;
    if (from->clock_ms > into->clock_ms) into->clock_ms = from->clock_ms;
    for (size_t key = 0; key < KEYS; key++) {
        if (from->recorded_ms[key] > into->recorded_ms[key]) {
            into->recorded_ms[key] = from->recorded_ms[key];
        }
    }
    do_clear(from);
}

static void do_advance(struct schedule *schedule, struct subject *subject) {
    uint64_t calls = below(schedule, 3) == 0 ? UINT64_MAX : 1;
    while (forgetful_work(subject->filter, schedule->now_ms, 8) && --calls > 0)
        continue;
    subject->clock_ms = time_of(schedule, subject);
}

/* The world's clock and load: mostly steady, with everything that happens to clocks and loads. */
static void move_time(struct schedule *schedule) {
    switch (below(schedule, 60)) {
    case 0: /* back */
        schedule->now_ms -= below(schedule, schedule->now_ms / 2);
        break;
    case 1: /* a pause */
        schedule->now_ms += below(schedule, 2 * schedule->window_ms);
        break;
    case 2: /* far ahead */
        if (below(schedule, 4) == 0) schedule->now_ms += UINT64_C(1) << below(schedule, 42);
        break;
    case 3: /* another pace; sometimes it stands still */
        schedule->step_ms = below(schedule, 3) == 0 ? 0 : below(schedule, schedule->window_ms / 10);
        break;
    case 4: /* another load */
        schedule->rate = UINT64_C(1) << below(schedule, 8);
        break;
    default:
        schedule->now_ms += schedule->step_ms == 0 ? 0 : below(schedule, 2 * schedule->step_ms);
    }
}

static void step(struct schedule *schedule) {
    move_time(schedule);
    struct subject *subject = &schedule->subjects[below(schedule, 4) == 0];
    do_operations(schedule, subject);
    switch (below(schedule, 40)) {
    case 0:
        do_save_and_load(subject);
        break;
    case 1:
        do_copy(subject);
        break;
    case 2:
        if (below(schedule, 3) == 0) do_merge(schedule);
        break;
    case 3:
        if (below(schedule, 20) == 0) do_clear(subject);
        break;
    default:
        if (below(schedule, 2) == 0) do_advance(schedule, subject);
    }
}

static void choose_elastic(struct schedule *schedule) {
    static const double errors[] = {0.1, 0.01, 1e-3, 1e-6};
    lethe_forgetful_options *options = &schedule->options;
    options->size = sizeof *options;
    options->window_ms = 1000 + below(schedule, UINT64_C(1) << (10 + below(schedule, 16)));
    options->error = errors[below(schedule, 4)];
    options->slack = below(schedule, 2) == 0 ? 0.25 : 0.1 + (double)below(schedule, 10) / 20;
    if (below(schedule, 3) == 0) options->capacity = 1 + below(schedule, 20000);
    schedule->window_ms = options->window_ms;
    schedule->gone_ms = (uint64_t)((double)options->window_ms * (1 + options->slack)) + 1;
}

static void choose_paper(struct schedule *schedule) {
    lethe_forgetful_options *options = &schedule->options;
    options->size = sizeof *options;
    options->setting = LETHE_FORGETFUL_PAPER;
    options->bits = 500 + below(schedule, 20000);
    options->hashes = 1 + (uint32_t)below(schedule, 8);
    options->past = 1 + (uint32_t)below(schedule, 10);
    options->period_ms = 1000 + below(schedule, 10000);
    options->adapt = (uint32_t)below(schedule, 4);
    options->salted = below(schedule, 2) == 0;
    options->check = (lethe_forgetful_check_kind)(below(schedule, 4) == 0);
    options->error = 0.01;
    options->max_memory_bytes = UINT64_C(1) << 20;
    options->window_ms = (options->past + 1) * options->period_ms - below(schedule, 3) * 500;
    schedule->window_ms = options->window_ms;
    schedule->gone_ms = UINT64_MAX;
}

static void run_schedule(struct schedule *schedule) {
    schedule->options.seed = schedule->seed;
    schedule->now_ms = 1 + below(schedule, UINT64_C(1) << 41);
    schedule->rate = 16;
    schedule->step_ms = 1 + below(schedule, schedule->window_ms / 20 + 1);
    for (int i = 0; i < 2; i++)
        assert_ok(lethe_forgetful_new(&schedule->options, &schedule->subjects[i].filter));
    for (int i = 0; i < STEPS; i++)
        step(schedule);
    for (int i = 0; i < 2; i++)
        lethe_forgetful_free(schedule->subjects[i].filter);
}

static void run_all(void (*choose)(struct schedule *), bool judges_old) {
    static struct schedule schedule;
    operations = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seeds_to_run; seed++) {
        memset(&schedule, 0, sizeof schedule);
        schedule.seed = seed;
        schedule.random.state = seed;
        choose(&schedule);
        run_schedule(&schedule);
        if (judges_old &&
            !rate_is_at_most(schedule.old_hits, schedule.old_trials, schedule.options.error)) {
            fail_msg("seed %" PRIu64 ": %" PRIu64 " of %" PRIu64 " old or fresh ids were known; "
                     "error %g",
                     seed, schedule.old_hits, schedule.old_trials, schedule.options.error);
        }
    }
    print_message("%" PRIu64 " schedules, %" PRIu64 " answers judged\n", seeds_to_run, operations);
}

static void elastic_keeps_its_promises(void **state) {
    (void)state;
    run_all(choose_elastic, true);
}

static void the_corrected_paper_loses_nothing(void **state) {
    (void)state;
    run_all(choose_paper, false);
}

int main(int count, char **words) {
    if (count > 1) seeds_to_run = strtoull(words[1], NULL, 10);
    if (count > 2) first_seed = strtoull(words[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elastic_keeps_its_promises),
        cmocka_unit_test(the_corrected_paper_loses_nothing),
    };
    return cmocka_run_group_tests_name("forgetful_model", tests, NULL, NULL);
}

/* Goal: the paper's setting does what the paper says, except where that would lose ids; and those
 * places are shown.
 *
 * Method: the algorithms as printed are written down here, on the filter's own members, and asked
 * beside the corrected ones. */
#include "support/test.h"

#include <math.h>
#include <stdio.h>

#include "filter/forgetful/forgetful.h"
#include "support/reports.h"
#include "support/statistics.h"

enum { SECOND_MS = 1000 };

static lethe_hash hash_of(uint64_t key) {
    return lethe_hash_u64(LETHE_DEFAULT_SEED, key);
}

static lethe_forgetful *make(lethe_forgetful_options options) {
    options.setting = LETHE_FORGETFUL_PAPER;
    lethe_forgetful *filter;
    assert_ok(lethe_forgetful_new(&options, &filter));
    return filter;
}

static void record(lethe_forgetful *filter, uint64_t key, uint64_t now_ms) {
    assert_ok(lethe_forgetful_add(filter, hash_of(key), now_ms));
}

/* Algorithm 2, line by line. The list must be refreshed up to now. */
static bool printed_check(const lethe_forgetful *filter, lethe_hash hash) {
    struct member **list = filter->members; /* 0 future, 1 present, 2 pastNewest, ... pastOldest */
    size_t past_newest = 2, past_oldest = filter->count - 1;
    if (lethe_member_test(list[0], hash)) return true;
    if (lethe_member_test(list[1], hash) && lethe_member_test(list[past_newest], hash)) return true;
    if (past_oldest > past_newest) {
        for (size_t i = past_newest; i <= past_oldest - 1; i++) {
            if (lethe_member_test(list[i], hash) && lethe_member_test(list[i + 1], hash))
                return true;
        }
    } else if (lethe_member_test(list[past_oldest], hash)) {
        return true;
    }
    return false;
}

/* The same with "the oldest alone" reached for every N, as the text has it. */
static bool texts_check(const lethe_forgetful *filter, lethe_hash hash) {
    return printed_check(filter, hash) ||
           lethe_member_test(filter->members[filter->count - 1], hash);
}

/* Goal: with N > 1 Algorithm 2 as printed misses ids that the text promises to know: those whose
 * only filter is the oldest.
 * Method: one id; it must be known for (N+1)t. */
static void the_printed_check_loses_ids(void **state) {
    (void)state;
    for (uint32_t past = 1; past <= 6; past++) {
        lethe_forgetful *filter =
            make(LETHE_OPTIONS(lethe_forgetful_options, .past = past, .period_ms = 1000));
        record(filter, 1, 999);
        record(filter, 2, 1998); /* keeps the clock running: period began at 999 */
        uint64_t promised_ms = 999 + (past + 1) * UINT64_C(1000), lost_ms = 0;
        for (uint64_t now_ms = 999; now_ms <= promised_ms; now_ms += 100) {
            while (forgetful_work(filter, now_ms, 8))
                continue;
            assert_true(lethe_forgetful_test(filter, hash_of(1), now_ms));
            assert_true(texts_check(filter, hash_of(1)));
            if (!printed_check(filter, hash_of(1)) && lost_ms == 0) lost_ms = now_ms;
        }
        if (past == 1) {
            assert_int_equal(lost_ms, 0); /* the basic filter is printed right */
        } else {
            assert_true(lost_ms != 0 && lost_ms <= promised_ms);
        }
        lethe_forgetful_free(filter);
    }
}

/* Goal: filters that scaling up puts behind the oldest cover nothing. Asking only pairs and the
 *       last one loses the ids of the one that was oldest before.
 * Method: an id that is in the oldest filter alone; then so much load that Algorithm 3 doubles. */
static void scaling_up_hides_the_oldest(void **state) {
    (void)state;
    lethe_forgetful *filter =
        make(LETHE_OPTIONS(lethe_forgetful_options, .past = 2, .period_ms = 300, .error = 1e-3,
                           .adapt = LETHE_FORGETFUL_ADAPT_FILTERS));
    record(filter, 1, 0);
    for (uint64_t key = 100; key < 700; key++)
        record(filter, key, 950); /* three refreshes later: the id is in the last of four */
    assert_true(lethe_member_test(filter->members[3], hash_of(1)));
    assert_true(texts_check(filter, hash_of(1)));
    forgetful_work(filter, SECOND_MS, 8);
    assert_int_equal(filter->count, 8);
    assert_false(texts_check(filter, hash_of(1)));
    assert_true(lethe_forgetful_test(filter, hash_of(1), SECOND_MS));
    assert_true(forgetful_member(filter, 3, SECOND_MS).is_alone);
    lethe_forgetful_free(filter);
}

/* Goal: Algorithm 3 with a window never forgets early, though it turns both knobs.
 * Method: quiet and busy stretches; ids of every age up to the window are asked for all the
 *         time. */
static void adaptation_keeps_the_window(void **state) {
    (void)state;
    enum { WINDOW_MS = 20000, TICKS = 3000 };
    lethe_forgetful *filter =
        make(LETHE_OPTIONS(lethe_forgetful_options, .past = 4, .period_ms = 5000, .error = 1e-3,
                           .adapt = 3, .window_ms = WINDOW_MS));
    uint32_t most_filters = 0, fewest_filters = 9999;
    for (uint64_t tick = 0; tick < TICKS; tick++) {
        uint64_t now_ms = tick * 100;
        uint64_t load = tick / 500 % 2 == 0 ? 12 : 1;
        for (uint64_t i = 0; i < load; i++)
            record(filter, tick * 100 + i, now_ms);
        while (forgetful_work(filter, now_ms, 8))
            continue;
        for (uint64_t age = 0; age <= WINDOW_MS / 100 && age <= tick; age += 11)
            assert_true(lethe_forgetful_test(filter, hash_of((tick - age) * 100), now_ms));
        lethe_forgetful_stats stats = forgetful_stats(filter, now_ms);
        assert_true((stats.past + 1) * stats.period_ms >= WINDOW_MS);
        if (stats.filters > most_filters) most_filters = stats.filters;
        if (stats.filters < fewest_filters) fewest_filters = stats.filters;
    }
    assert_true(most_filters >= 2 * fewest_filters);
    lethe_forgetful_free(filter);
}

/* Goal: (N+1)t >= W at every step is not enough: when the period grows, N may shrink by the measure
 *       of periods to come, while the filters in the list are from shorter ones.
 * Method: a list in its steady state, a cap that lets no filters be added, and a peak that is
 *         over soon; then both knobs go back, a filter and a second at a time. */
static void filters_are_not_dropped_by_the_measure_of_longer_ones(void **state) {
    (void)state;
    enum { WINDOW_MS = 60000, TICKS = 2600, PEAK_AT = 1501 };
    lethe_forgetful *filter =
        make(LETHE_OPTIONS(lethe_forgetful_options, .past = 8, .period_ms = 10000, .error = 0.05,
                           .window_ms = WINDOW_MS));
    filter->plan.options.max_memory_bytes = filter->memory_bytes;
    for (uint64_t tick = 0; tick < TICKS; tick++) {
        uint64_t now_ms = tick * 100;
        if (tick == PEAK_AT) {
            filter->plan.options.adapt = 3;
            filter->ticked_ms = now_ms;
            for (uint64_t i = 0; i < 1000; i++)
                record(filter, 100000 + i, now_ms);
        }
        record(filter, tick, now_ms);
        while (forgetful_work(filter, now_ms, 8))
            continue;
        for (uint64_t age = 0; age <= WINDOW_MS / 100 && age <= tick; age += 3)
            assert_true(lethe_forgetful_test(filter, hash_of(tick - age), now_ms));
    }
    assert_true(forgetful_stats(filter, 0).past < 4);
    lethe_forgetful_free(filter);
}

/* Goal: one run of Algorithm 3 does what it says, and each knob can be left alone. */
static void each_knob_turns_alone(void **state) {
    (void)state;
    for (uint32_t adapt = 0; adapt < 4; adapt++) {
        lethe_forgetful *filter = make(LETHE_OPTIONS(
            lethe_forgetful_options, .past = 3, .period_ms = 20000, .error = 1e-3, .adapt = adapt));
        for (uint64_t key = 0; key < 1000; key++)
            record(filter, key, 0);
        forgetful_work(filter, 999, 8);
        assert_int_equal(forgetful_stats(filter, 999).past, 3);
        forgetful_work(filter, 1000, 8);
        lethe_forgetful_stats stats = forgetful_stats(filter, 1000);
        assert_int_equal(stats.filters, adapt & 1 ? 10 : 5);
        assert_int_equal(stats.period_ms, adapt & 2 ? 19000 : 20000);
        lethe_forgetful_free(filter);

        filter = make(
            LETHE_OPTIONS(lethe_forgetful_options, .past = 3, .period_ms = 20000, .adapt = adapt));
        record(filter, 1, 0);
        forgetful_work(filter, 1000, 8);
        stats = forgetful_stats(filter, 1000);
        assert_int_equal(stats.filters, adapt & 1 ? 4 : 5);
        assert_int_equal(stats.period_ms, adapt & 2 ? 21000 : 20000);
        lethe_forgetful_free(filter);
    }
}

/* Goal: ids are known for (N+1)t and gone after (N+2)t, refreshed in time or not at all. */
static void ids_last_as_long_as_the_paper_says(void **state) {
    (void)state;
    for (uint32_t past = 1; past <= 5; past++) {
        for (int lazy = 0; lazy < 2; lazy++) {
            lethe_forgetful *filter = make(LETHE_OPTIONS(lethe_forgetful_options, .past = past));
            record(filter, 0, 0); /* starts the clock */
            for (uint64_t key = 1; key < 50; key++)
                record(filter, key, key * 100);
            for (uint64_t now_ms = 5000; now_ms < (past + 3) * UINT64_C(5000); now_ms += 100) {
                if (!lazy) forgetful_work(filter, now_ms, 8);
                for (uint64_t key = 1; key < 50; key++) {
                    uint64_t age_ms = now_ms - key * 100;
                    bool known = lethe_forgetful_test(filter, hash_of(key), now_ms);
                    if (age_ms <= (past + 1) * UINT64_C(5000)) assert_true(known);
                    if (age_ms > (past + 2) * UINT64_C(5000)) assert_false(known);
                }
            }
            lethe_forgetful_free(filter);
        }
    }
}

struct rates {
    double measured, estimated;
};

/* A steady state with so many ids a period, many times over with other ids. */
static struct rates steady_rates(lethe_forgetful_options options, uint64_t ids_a_period) {
    struct rates rates = {0};
    uint64_t key = 0, hits = 0, trials = 0;
    enum { ROUNDS = 60, PROBES = 20000 };
    lethe_forgetful *filter = make(options);
    uint64_t now_ms = 0, step_ms = filter->period_ms / ids_a_period;
    for (uint64_t i = 0; i < (filter->past + 2) * ids_a_period + ROUNDS * ids_a_period; i++) {
        record(filter, key++, now_ms);
        now_ms += step_ms;
        if (i % ids_a_period != ids_a_period - 1 || i < (filter->past + 2) * ids_a_period) continue;
        rates.estimated += forgetful_stats(filter, now_ms - step_ms).error_estimate / ROUNDS;
        for (int probe = 0; probe < PROBES; probe++) {
            lethe_hash hash = hash_of(UINT64_C(1) << 60 | trials++);
            hits += lethe_forgetful_test(filter, hash, now_ms - step_ms);
        }
    }
    lethe_forgetful_free(filter);
    rates.measured = (double)hits / (double)trials;
    return rates;
}

/* Goal: Equation 3 holds for salted filters, and for unsalted ones is too low, the more so the more
 * filters there are: they hold the same ids, so they err together. */
static void salting_makes_equation_3_true(void **state) {
    (void)state;
    static const uint32_t pasts[] = {4, 10, 22};
    double last_ratio = 1;
    for (int i = 0; i < 3; i++) {
        lethe_forgetful_options options =
            LETHE_OPTIONS(lethe_forgetful_options, .bits = 6250, .hashes = 5, .past = pasts[i]);
        struct rates unsalted = steady_rates(options, 150);
        options.salted = true;
        struct rates salted = steady_rates(options, 150);
        double ratio = unsalted.measured / unsalted.estimated;
        double salted_ratio = salted.measured / salted.estimated;
        print_message("N=%u: measured over Equation 3: unsalted %.2f, salted %.2f\n", pasts[i],
                      ratio, salted_ratio);
        assert_true(ratio > last_ratio + 0.1);
        assert_true(fabs(salted_ratio - 1) < 0.15);
        last_ratio = ratio;
    }
}

/* Goal: the corrected Equation 1 gives the error of one filter, and 3 and its counterpart those of
 * both checks. */
static void the_estimate_is_right(void **state) {
    (void)state;
    for (int simple = 0; simple < 2; simple++) {
        struct rates rates = steady_rates(
            LETHE_OPTIONS(lethe_forgetful_options, .bits = 3000, .hashes = 4, .past = 3,
                          .salted = true, .check = (lethe_forgetful_check_kind)simple),
            100);
        print_message("check %d: measured %.3g, Equation 3 %.3g\n", simple, rates.measured,
                      rates.estimated);
        assert_true(fabs(rates.measured / rates.estimated - 1) < 0.1);
    }
}

static void far_jumps_are_bounded(void **state) {
    (void)state;
    lethe_forgetful *filter = make(LETHE_OPTIONS(lethe_forgetful_options, .past = 100, .adapt = 3));
    record(filter, 1, 5);
    int calls = 0;
    while (forgetful_work(filter, UINT64_MAX - 1, 8))
        calls++;
    assert_true(calls < 200);
    assert_false(lethe_forgetful_test(filter, hash_of(1), 0));
    record(filter, 2, UINT64_MAX);
    assert_true(lethe_forgetful_test(filter, hash_of(2), UINT64_MAX));
    lethe_forgetful_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_printed_check_loses_ids),
        cmocka_unit_test(scaling_up_hides_the_oldest),
        cmocka_unit_test(adaptation_keeps_the_window),
        cmocka_unit_test(filters_are_not_dropped_by_the_measure_of_longer_ones),
        cmocka_unit_test(each_knob_turns_alone),
        cmocka_unit_test(ids_last_as_long_as_the_paper_says),
        cmocka_unit_test(salting_makes_equation_3_true),
        cmocka_unit_test(the_estimate_is_right),
        cmocka_unit_test(far_jumps_are_bounded),
    };
    return cmocka_run_group_tests_name("forgetful_paper", tests, NULL, NULL);
}

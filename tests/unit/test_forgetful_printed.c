/* Goal: the printed setting is Algorithms 1 to 3 to the letter, and what that loses is known.
 *
 * Method: a model of the algorithms, on exact sets instead of Bloom filters, answers and adapts
 * beside the filter. Then the ids of the window that are not recognised are counted. */
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "filter/forgetful/forgetful.h"
#include "support/random.h"
#include "support/reports.h"

enum { SECOND_MS = 1000, MOST_IDS = 4096, MOST_SETS = 1024, BITS = 6250, HASHES = 5 };

static lethe_hash hash_of(uint64_t key) {
    return lethe_hash_u64(LETHE_DEFAULT_SEED, key);
}

static lethe_forgetful *make(lethe_forgetful_setting setting, lethe_forgetful_options options) {
    options.setting = setting;
    lethe_forgetful *filter;
    assert_ok(lethe_forgetful_new(&options, &filter));
    return filter;
}

static void work(lethe_forgetful *filter, uint64_t now_ms) {
    while (forgetful_work(filter, now_ms, 8))
        continue;
}

/* Sections III and IV, with sets: list[0] is future, list[1] present, then pastNewest to
 * pastOldest. */
struct model {
    struct set {
        bool holds[MOST_IDS];
        unsigned size;
    } list[MOST_SETS];
    unsigned past; /* N */
    uint64_t period_ms, began_ms;
    double target;
};

/* Algorithm 2, line by line. */
static bool model_check(const struct model *model, unsigned id) {
    const struct set *list = model->list;
    unsigned past_newest = 2, past_oldest = model->past + 1;
    if (list[0].holds[id]) return true;
    if (list[1].holds[id] && list[past_newest].holds[id]) return true;
    if (past_oldest > past_newest) {
        for (unsigned i = past_newest; i <= past_oldest - 1; i++) {
            if (list[i].holds[id] && list[i + 1].holds[id]) return true;
        }
    } else if (list[past_oldest].holds[id]) {
        return true;
    }
    return false;
}

static void set_add(struct set *set, unsigned id) {
    set->size += !set->holds[id];
    set->holds[id] = true;
}

/* Algorithm 1. Returns whether the id was inserted. */
static bool model_insert(struct model *model, unsigned id) {
    if (model_check(model, id)) return false;
    set_add(&model->list[0], id);
    set_add(&model->list[1], id);
    return true;
}

/* Section III-C. */
static void model_refresh(struct model *model, uint64_t now_ms) {
    for (; now_ms >= model->began_ms + model->period_ms; model->began_ms += model->period_ms) {
        memmove(model->list + 1, model->list, (model->past + 1) * sizeof model->list[0]);
        memset(model->list, 0, sizeof model->list[0]);
    }
}

/* Equation 1, as its right side has it, and Equation 3. */
static double set_error(const struct set *set) {
    return pow(1 - pow(1 - 1.0 / BITS, HASHES * (double)set->size), HASHES);
}

static double model_error(const struct model *model) {
    double none = 1 - set_error(&model->list[0]);
    for (unsigned i = 1; i <= model->past; i++)
        none *= 1 - set_error(&model->list[i]) * set_error(&model->list[i + 1]);
    return 1 - none * (1 - set_error(&model->list[model->past + 1]));
}

/* Algorithm 3. N stays at 1 or more, and the period at a second or more. */
static void model_resize(struct model *model) {
    double error = model_error(model);
    if (error >= 0.9 * model->target) {
        unsigned before = model->past + 2;
        assert_true(2 * before <= MOST_SETS);
        memset(model->list + before, 0, before * sizeof model->list[0]);
        model->past = 2 * before - 2;
        if (model->period_ms >= UINT64_C(2) * SECOND_MS) model->period_ms -= SECOND_MS;
    } else if (error <= 0.1 * model->target) {
        if (model->past > 1) model->past--;
        model->period_ms += SECOND_MS;
    }
}

/* Method: loads that rise and fall. The target is so small that the algorithm adapts to a few ids,
 * and Bloom filters with so few of them do not err within this test. Ids of all ages come again. */
static void it_is_algorithms_1_to_3(void **state) {
    (void)state;
    static struct model model;
    unsigned most_past = 0, lost = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct test_random random = {.state = seed};
        memset(&model, 0, sizeof model);
        model.past = 1 + (unsigned)seed % 4;
        model.period_ms = (2 + seed % 3) * SECOND_MS;
        model.target = 1e-8;
        lethe_forgetful *filter =
            make(LETHE_FORGETFUL_PRINTED,
                 LETHE_OPTIONS(lethe_forgetful_options, .bits = BITS, .hashes = HASHES,
                               .past = model.past, .period_ms = model.period_ms,
                               .error = model.target, .adapt = 3));
        unsigned next = 0;
        /* While the future filter is full they double every second: then enough was seen. */
        for (uint64_t tick = 0; tick < 600 && model.past < MOST_SETS / 2 - 2; tick++) {
            uint64_t now_ms = tick * 100;
            work(filter, now_ms);
            model_refresh(&model, now_ms);
            if (now_ms % SECOND_MS == 0 && now_ms > 0) model_resize(&model);
            model_refresh(&model, now_ms); /* a period that was just made shorter may be over */
            work(filter, now_ms);
            unsigned load =
                tick % 300 < 60 ? tick % 2 == 0 : tick % (tick % 300 < 180 ? 5 : 20) == 0;
            for (unsigned i = 0; i < load && next < MOST_IDS; i++) {
                unsigned id = next++;
                if (id > 0 && test_random_below(&random, 8) == 0)
                    id = (unsigned)test_random_below(&random, id);
                lethe_answer answer;
                assert_ok(lethe_forgetful_add_and_test(filter, hash_of(id), now_ms, &answer));
                bool inserted = model_insert(&model, id);
                assert_int_equal(answer, inserted ? LETHE_ANSWER_FRESH : LETHE_ANSWER_DUPLICATE);
            }
            lethe_forgetful_stats stats = forgetful_stats(filter, now_ms);
            assert_int_equal(stats.past, model.past);
            assert_int_equal(stats.period_ms, model.period_ms);
            assert_true(fabs(stats.error_estimate - model_error(&model)) < 1e-12);
            for (unsigned id = 0; id < next; id++) {
                bool known = lethe_forgetful_test(filter, hash_of(id), now_ms);
                assert_int_equal(known, model_check(&model, id));
                for (unsigned i = 0; i < model.past + 2 && !known; i++)
                    lost += model.list[i].holds[id];
            }
            if (model.past > most_past) most_past = model.past;
        }
        lethe_forgetful_free(filter);
    }
    assert_true(most_past >= 14); /* it did double, more than once */
    assert_true(lost > 0);
}

/* The share of the ids of the last window_ms, one every 10 ms from 0 on, that is not known. */
static double lost_share(const lethe_forgetful *filter, uint64_t now_ms, uint64_t window_ms) {
    unsigned lost = 0, asked = 0;
    for (uint64_t age_ms = 0; age_ms <= window_ms && age_ms <= now_ms; age_ms += 10, asked++)
        lost += !lethe_forgetful_test(filter, hash_of((now_ms - age_ms) / 10), now_ms);
    return (double)lost / asked;
}

/* Goal: with N > 1 the check misses, on average, 1 / (2N + 2) of the ids of the last (N+1)t: those
 *       whose only filter is the oldest. With N = 1 it misses none, and corrected it never does.
 * Method: a steady load; the window is asked for ten times a period. */
static void the_oldest_filter_is_not_asked(void **state) {
    (void)state;
    enum { PERIOD_MS = 1000, STEPS = 10 };
    for (uint32_t past = 1; past <= 6; past++) {
        double lost[2] = {0, 0};
        for (int corrected = 0; corrected < 2; corrected++) {
            lethe_forgetful *filter =
                make(corrected ? LETHE_FORGETFUL_PAPER : LETHE_FORGETFUL_PRINTED,
                     LETHE_OPTIONS(lethe_forgetful_options, .bits = 100000, .past = past,
                                   .period_ms = PERIOD_MS));
            uint64_t steady_ms = (past + 3) * (uint64_t)PERIOD_MS;
            for (uint64_t now_ms = 0; now_ms < steady_ms + PERIOD_MS; now_ms += 10) {
                assert_ok(lethe_forgetful_add(filter, hash_of(now_ms / 10), now_ms));
                if (now_ms < steady_ms || now_ms % (PERIOD_MS / STEPS) != 0) continue;
                uint64_t window_ms = (past + 1) * (uint64_t)PERIOD_MS;
                lost[corrected] += lost_share(filter, now_ms, window_ms) / STEPS;
            }
            lethe_forgetful_free(filter);
        }
        double expected = past == 1 ? 0 : 1 / (2.0 * past + 2);
        print_message("N = %u: lost %.1f%% as printed, %.1f%% corrected\n", past, 100 * lost[0],
                      100 * lost[1]);
        assert_true(fabs(lost[0] - expected) < 0.15 * expected + 1e-9);
        assert_true(lost[1] == 0);
    }
}

/* Goal: doubling a basic filter at a tenth of a period loses 45% of the ids of the window, those of
 *       the oldest filter's own period: no pair has them, and the oldest filter is not asked alone
 *       any more. For the same reason false positives become far fewer. Corrected, nothing is lost,
 *       and as many false positives remain.
 * Method: a steady load, then one run of Algorithm 3. */
static void doubling_loses_half_of_the_window(void **state) {
    (void)state;
    enum { PERIOD_MS = 10000, PROBES = 200000 };
    for (int corrected = 0; corrected < 2; corrected++) {
        lethe_forgetful *filter = make(corrected ? LETHE_FORGETFUL_PAPER : LETHE_FORGETFUL_PRINTED,
                                       LETHE_OPTIONS(lethe_forgetful_options, .bits = 12500,
                                                     .period_ms = PERIOD_MS, .error = 0.05));
        double rates[2] = {0, 0}, lost[2] = {0, 0};
        for (uint64_t now_ms = 0; now_ms <= 5 * PERIOD_MS + PERIOD_MS / 10; now_ms += 10)
            assert_ok(lethe_forgetful_add(filter, hash_of(now_ms / 10), now_ms));
        uint64_t now_ms = 5 * PERIOD_MS + PERIOD_MS / 10;
        for (int doubled = 0; doubled < 2; doubled++) {
            if (doubled) {
                filter->plan.options.adapt = LETHE_FORGETFUL_ADAPT_FILTERS;
                filter->ticked_ms = now_ms - SECOND_MS;
                work(filter, now_ms);
            }
            lost[doubled] = lost_share(filter, now_ms, 2 * (uint64_t)PERIOD_MS);
            for (uint64_t i = 0; i < PROBES; i++)
                rates[doubled] += lethe_forgetful_test(filter, hash_of(1 << 30 | i), now_ms);
        }
        print_message("%s: false positives %.4f, then %.4f; lost %.1f%%, then %.1f%%\n",
                      corrected ? "corrected" : "printed", rates[0] / PROBES, rates[1] / PROBES,
                      100 * lost[0], 100 * lost[1]);
        assert_true(forgetful_stats(filter, now_ms).filters == 6);
        assert_true(lost[0] == 0);
        assert_true(corrected ? lost[1] == 0 : lost[1] > 0.42 && lost[1] < 0.45);
        assert_true(corrected ? rates[1] > 0.9 * rates[0] : rates[1] < 0.5 * rates[0]);
        lethe_forgetful_free(filter);
    }
}

/* Goal: a window or a salt would be a correction. */
static void it_takes_no_correction(void **state) {
    (void)state;
    lethe_forgetful *filter;
    lethe_forgetful_options options = LETHE_OPTIONS(
        lethe_forgetful_options, .setting = LETHE_FORGETFUL_PRINTED, .window_ms = 5000);
    assert_int_equal(lethe_forgetful_new(&options, &filter), LETHE_EINVAL);
    options.window_ms = 0;
    options.salted = true;
    assert_int_equal(lethe_forgetful_new(&options, &filter), LETHE_EINVAL);
    options.salted = false;
    assert_ok(lethe_forgetful_new(&options, &filter));
    assert_int_equal(forgetful_stats(filter, 0).setting, LETHE_FORGETFUL_PRINTED);
    assert_int_equal(lethe_forgetful_merge(filter, filter), LETHE_EMISMATCH);
    lethe_forgetful_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_algorithms_1_to_3),
        cmocka_unit_test(the_oldest_filter_is_not_asked),
        cmocka_unit_test(doubling_loses_half_of_the_window),
        cmocka_unit_test(it_takes_no_correction),
    };
    return cmocka_run_group_tests_name("forgetful_printed", tests, NULL, NULL);
}

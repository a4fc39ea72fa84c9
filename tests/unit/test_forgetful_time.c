/* Goal:   the forgetful filter forgets in time, pauses or not, and no clock that fails makes it
 *         forget early.
 * Method: ids asked for at every age; bursts and pauses; clocks that go back, and the end of
 *         time. */
#include "support/test.h"

#include "lethe/forgetful.h"
#include "support/reports.h"
#include "support/statistics.h"

enum { WINDOW_MS = 60000 };

static lethe_hash hash_of(uint64_t key) {
    return lethe_hash_u64(LETHE_DEFAULT_SEED, key);
}

/* Goal: an id older than W(1 + slack) is as unknown as a fresh one.
 * Method: one in ten ids is kept aside and asked for at every age; at a large error, so that a
 *         filter that lingers would show. */
static void old_ids_are_gone(void **state) {
    (void)state;
    enum { AGES = 40, IDS = 120000 };
    uint64_t known[AGES] = {0}, asked[AGES] = {0};
    lethe_forgetful *filter;
    lethe_forgetful_options options =
        LETHE_OPTIONS(lethe_forgetful_options, .window_ms = WINDOW_MS, .error = 1e-3);
    assert_ok(lethe_forgetful_new(&options, &filter));
    for (uint64_t key = 0; key < IDS; key++) {
        uint64_t now_ms = key * 2; /* four windows */
        assert_ok(lethe_forgetful_add(filter, hash_of(key), now_ms));
        for (uint64_t age = 0; age < AGES; age++) {
            uint64_t age_ms = age * WINDOW_MS / 20 + 1; /* up to twice the window */
            if (age_ms > now_ms || (key + age) % 8 != 0) continue;
            asked[age]++;
            known[age] += lethe_forgetful_test(filter, hash_of(key - age_ms / 2), now_ms);
        }
    }
    for (uint64_t age = 0; age < AGES; age++) {
        if (age < 20) assert_int_equal(known[age], asked[age]);
        if (age >= 25) assert_true(rate_is_at_most(known[age], asked[age], 1e-3));
    }
    lethe_forgetful_free(filter);
}

/* Goal: a pause does not make a filter linger: ids from before it are gone in time, also by chance.
 * Method: bursts with pauses shorter than the window; ids of two bursts ago are all too old. */
static void pauses_do_not_prolong(void **state) {
    (void)state;
    enum { BURST = 3000, ROUNDS = 60 };
    uint64_t known = 0, asked = 0;
    lethe_forgetful *filter;
    lethe_forgetful_options options = LETHE_OPTIONS(lethe_forgetful_options, .window_ms = WINDOW_MS,
                                                    .error = 1e-3, .capacity = 36000);
    assert_ok(lethe_forgetful_new(&options, &filter));
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t now_ms = round * WINDOW_MS / 5 * 4;
        for (uint64_t i = 0; i < BURST; i++)
            assert_ok(lethe_forgetful_add(filter, hash_of(round * BURST + i), now_ms));
        for (uint64_t i = 0; round >= 2 && i < BURST; i++) {
            known += lethe_forgetful_test(filter, hash_of((round - 2) * BURST + i), now_ms);
            asked++;
        }
    }
    print_message("of ids from before two pauses %.3g were known\n", (double)known / (double)asked);
    assert_true(rate_is_at_most(known, asked, 1e-3));
    lethe_forgetful_free(filter);
}

/* Goal: clocks that fail, fail safely. */
static void clock_faults_forget_nothing_early(void **state) {
    (void)state;
    lethe_forgetful *filter;
    assert_ok(lethe_forgetful_new(&LETHE_OPTIONS(lethe_forgetful_options, .window_ms = WINDOW_MS),
                                  &filter));
    uint64_t start_ms = 1000000;
    assert_ok(lethe_forgetful_add(filter, hash_of(1), start_ms));
    /* Back: recorded at the clock it had, so known a window from there. */
    assert_ok(lethe_forgetful_add(filter, hash_of(2), 0));
    assert_true(lethe_forgetful_test(filter, hash_of(1), 0));
    assert_true(lethe_forgetful_test(filter, hash_of(2), start_ms + WINDOW_MS));
    /* Reads do not move it, however far ahead they ask. */
    assert_false(lethe_forgetful_test(filter, hash_of(1), UINT64_MAX));
    assert_int_equal(forgetful_stats(filter, UINT64_MAX).ids_held, 0);
    assert_true(lethe_forgetful_test(filter, hash_of(1), start_ms));
    /* Far ahead: all is forgotten, and the end of time is a time like any other. */
    assert_ok(lethe_forgetful_add(filter, hash_of(3), UINT64_MAX - 5));
    assert_false(lethe_forgetful_test(filter, hash_of(1), 0));
    assert_true(lethe_forgetful_test(filter, hash_of(3), UINT64_MAX));
    for (uint64_t key = 10; key < 5000; key++)
        assert_ok(lethe_forgetful_add(filter, hash_of(key), UINT64_MAX));
    for (uint64_t key = 10; key < 5000; key++)
        assert_true(lethe_forgetful_test(filter, hash_of(key), UINT64_MAX));
    while (forgetful_work(filter, UINT64_MAX, 8))
        continue;
    lethe_forgetful_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_ids_are_gone),
        cmocka_unit_test(pauses_do_not_prolong),
        cmocka_unit_test(clock_faults_forget_nothing_early),
    };
    return cmocka_run_group_tests_name("forgetful_time", tests, NULL, NULL);
}

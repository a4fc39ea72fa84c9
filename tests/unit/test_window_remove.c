/* Goal:   removing an id, and refreshing one, changes that id's life and no other's.
 * Method: ids that look alike at a large error; ids with entries in several parts. */
#include "support/test.h"

#include <string.h>

#include "support/reports.h"
#include "support/window.h"

static lethe_hash hash_of(uint64_t id) {
    return lethe_hash_u64(5, id);
}

static void forget_answers(void **state) {
    (void)state;
    lethe_window *window =
        test_window_make(&LETHE_OPTIONS(lethe_window_options, .window_ms = 14000, .error = 1e-12));
    lethe_answer answer;
    assert_int_equal(lethe_window_remove(window, hash_of(1), 0), LETHE_ENOTFOUND);
    assert_ok(lethe_window_add_and_test(window, hash_of(1), 0, &answer));
    assert_ok(lethe_window_add_and_test(window, hash_of(2), 0, &answer));
    assert_ok(lethe_window_remove(window, hash_of(1), 0));
    assert_int_equal(lethe_window_remove(window, hash_of(1), 0), LETHE_ENOTFOUND);
    assert_int_equal(lethe_window_test(window, hash_of(1), 0), LETHE_ANSWER_FRESH);
    assert_int_equal(lethe_window_test(window, hash_of(2), 0), LETHE_ANSWER_DUPLICATE);
    assert_int_equal(window_stats(window, 0).ids, 1);
    assert_ok(lethe_window_add_and_test(window, hash_of(1), 0, &answer));
    assert_int_equal(answer, LETHE_ANSWER_FRESH);
    assert_int_equal(lethe_window_remove(window, hash_of(2), 30000), LETHE_ENOTFOUND);
    lethe_window_free(window);

    window = test_window_make(&LETHE_OPTIONS(lethe_window_options, .kind = LETHE_WINDOW_FORGETFUL));
    assert_ok(lethe_window_add(window, hash_of(1), 0));
    assert_int_equal(lethe_window_remove(window, hash_of(1), 0), LETHE_EINVAL);
    assert_int_equal(lethe_window_test(window, hash_of(1), 0), LETHE_ANSWER_DUPLICATE);
    lethe_window_free(window);
}

/* Goal:   forgetting one id never costs another its memory, even where they look alike (P1).
 * Method: at an error of 0.1 many do; half of the ids are forgotten. */
static void forgetting_one_spares_the_others(void **state) {
    (void)state;
    enum { IDS = 20000 };
    lethe_window *window =
        test_window_make(&LETHE_OPTIONS(lethe_window_options, .window_ms = 14000, .error = 0.1));
    static bool is_recorded[IDS];
    memset(is_recorded, 0, sizeof is_recorded);
    for (uint64_t id = 0; id < IDS; id++) {
        lethe_answer answer;
        assert_ok(lethe_window_add_and_test(window, hash_of(id), id / 4, &answer));
        is_recorded[id] = answer == LETHE_ANSWER_FRESH;
        if (id % 2 == 1 && is_recorded[id / 2]) {
            assert_ok(lethe_window_remove(window, hash_of(id / 2), id / 4));
            is_recorded[id / 2] = false;
        }
    }
    for (uint64_t id = 0; id < IDS; id++) {
        if (is_recorded[id])
            assert_int_equal(lethe_window_test(window, hash_of(id), IDS / 4),
                             LETHE_ANSWER_DUPLICATE);
    }
    lethe_window_free(window);
}

/* A refreshed id may have entries in several parts; forgetting it forgets them all. */
static void forgetting_a_refreshed_id_forgets_it(void **state) {
    (void)state;
    lethe_window *window = test_window_make(&LETHE_OPTIONS(
        lethe_window_options, .window_ms = 14000, .error = 1e-12, .refresh_on_duplicate = true));
    lethe_answer answer;
    for (uint64_t id = 0; id < 30000; id++) {
        assert_ok(lethe_window_add_and_test(window, hash_of(id), id / 4, &answer));
        assert_int_equal(answer, LETHE_ANSWER_FRESH);
        assert_ok(lethe_window_add_and_test(window, hash_of(7), id / 4, &answer));
        assert_int_equal(answer, id < 7 ? (id == 0 ? LETHE_ANSWER_FRESH : LETHE_ANSWER_DUPLICATE)
                                        : LETHE_ANSWER_DUPLICATE);
        if (id == 6) id++; /* it is there already */
    }
    assert_true(window_stats(window, 7500).parts > 1);
    assert_ok(lethe_window_remove(window, hash_of(7), 7500));
    assert_int_equal(lethe_window_test(window, hash_of(7), 7500), LETHE_ANSWER_FRESH);
    lethe_window_free(window);
}

static void refreshing_extends_a_life(void **state) {
    (void)state;
    lethe_window *window = test_window_make(&LETHE_OPTIONS(
        lethe_window_options, .window_ms = 14000, .error = 1e-12, .refresh_on_duplicate = true));
    lethe_answer answer;
    for (uint64_t now_ms = 0; now_ms < 200000; now_ms += 13999) {
        assert_ok(lethe_window_add_and_test(window, hash_of(1), now_ms, &answer));
        assert_int_equal(answer, now_ms == 0 ? LETHE_ANSWER_FRESH : LETHE_ANSWER_DUPLICATE);
        assert_int_equal(window_stats(window, now_ms).ids, 1);
    }
    lethe_window_free(window);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forget_answers),
        cmocka_unit_test(forgetting_one_spares_the_others),
        cmocka_unit_test(forgetting_a_refreshed_id_forgets_it),
        cmocka_unit_test(refreshing_extends_a_life),
    };
    return cmocka_run_group_tests_name("window_remove", tests, NULL, NULL);
}

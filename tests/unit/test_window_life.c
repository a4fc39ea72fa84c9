/* Goal:   an id lives as long as it is promised, to the millisecond, and what expired does not come
 *         back.
 * Method: windows that periods do not divide; times as late as they get; stamps that wrap
 *         around. */
#include "support/test.h"

#include <inttypes.h>

#include "support/reports.h"
#include "support/window.h"
#include "window/chain.h"

/* One id, recorded at x, asked for by a reader that is ahead and by one that made time pass. */
static void check_life(const lethe_window_options *options, uint64_t x_ms) {
    lethe_hash hash = lethe_hash_u64(options->seed, x_ms);
    uint64_t window_ms = options->window_ms;
    uint64_t gone_ms = (uint64_t)((double)window_ms * (1 + options->slack));
    uint64_t times_ms[] = {x_ms, x_ms + window_ms - 1, x_ms + window_ms, x_ms + gone_ms + 1};
    lethe_window *window;
    assert_ok(lethe_window_new(options, &window));
    assert_ok(lethe_window_add(window, hash, x_ms));
    for (int passes = 0; passes < 2; passes++) {
        for (int i = 0; i < 4; i++) {
            if (passes == 1) (void)window_work(window, times_ms[i], 1);
            bool known = lethe_window_test(window, hash, times_ms[i]) == LETHE_ANSWER_DUPLICATE;
            if (known != (i < 3)) {
                fail_msg("kind %d, W %" PRIu64 ", slack %g: recorded at %" PRIu64 ", at %" PRIu64
                         " %s",
                         options->kind, window_ms, options->slack, x_ms, times_ms[i],
                         known ? "still known" : "not known any more");
            }
        }
    }
    lethe_window_free(window);
}

/* Goal:   an id lives for W at least and for W(1 + slack) at most, to the millisecond.
 * Method: windows that periods do not divide, each moment of the first two periods and some that
 *         are as late as time gets. */
static void a_life_is_exact_to_the_millisecond(void **state) {
    (void)state;
    static const uint64_t windows_ms[] = {1000, 1001, 1007, 1055, 1999, 4096, 2592000000};
    static const double slacks[] = {0.02, 0.033, 0.1, 0.25, 1};
    for (int kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < sizeof windows_ms / sizeof windows_ms[0]; i++) {
            for (size_t j = 0; j < sizeof slacks / sizeof slacks[0]; j++) {
                lethe_window_options options = LETHE_OPTIONS(
                    lethe_window_options, .kind = (lethe_window_kind)kind,
                    .window_ms = windows_ms[i], .slack = slacks[j], .error = 1e-12, .seed = 1);
                for (uint64_t x_ms = 0; x_ms < 160; x_ms++)
                    check_life(&options, x_ms);
                check_life(&options, UINT64_C(1) << 40);
                check_life(&options, LETHE_CHAIN_MAX_TIME_MS - 2 * windows_ms[i] - 1);
            }
        }
    }
}

/* Goal:   what expired long ago does not come back when a block's stamp of 16 bits wraps around.
 * Method: jumps of 2^16 periods and near it, by readers and by writers, in one step and in some. */
static void long_ago_does_not_come_back(void **state) {
    (void)state;
    enum { IDS = 3000 };
    lethe_window_options options = LETHE_OPTIONS(lethe_window_options, .window_ms = 14000,
                                                 .error = 1e-12, .capacity = IDS, .seed = 1);
    static const uint64_t first_jumps[] = {0, 1, 100, 16383, 16384, 32768, 65500, 65535};
    for (size_t i = 0; i < sizeof first_jumps / sizeof first_jumps[0]; i++) {
        for (uint64_t total = 65536 - 20; total < 65536 + 20; total++) {
            lethe_window *window;
            assert_ok(lethe_window_new(&options, &window));
            for (uint64_t id = 0; id < IDS; id++)
                assert_ok(lethe_window_add(window, lethe_hash_u64(1, id), 500));
            assert_int_equal(window_stats(window, 500).ids, IDS);
            if (first_jumps[i] > 0) (void)window_work(window, first_jumps[i] * 1000, 1);
            uint64_t now_ms = total * 1000;
            for (int passes = 0; passes < 2; passes++) {
                for (uint64_t id = 0; id < IDS; id += 10) {
                    lethe_hash hash = lethe_hash_u64(1, id);
                    assert_int_equal(lethe_window_test(window, hash, now_ms), LETHE_ANSWER_FRESH);
                    uint8_t answer;
                    lethe_window_test_batch(window, &hash, 1, now_ms, &answer);
                    assert_int_equal(answer, LETHE_ANSWER_FRESH);
                }
                assert_int_equal(window_stats(window, now_ms).ids, 0);
                (void)window_work(window, now_ms, 1);
            }
            lethe_window_free(window);
        }
    }
}

/* Goal:   counts stay exact while the slow sweep goes round and stamps wrap around.
 * Method: 150,000 periods with an id in every third, in a part most blocks of which see none for
 *         thousands of periods. */
static void a_trickle_is_counted_exactly(void **state) {
    (void)state;
    enum { PERIODS = 150000 };
    lethe_window_options options = LETHE_OPTIONS(lethe_window_options, .window_ms = 30000,
                                                 .error = 1e-12, .capacity = 20000, .seed = 1);
    lethe_window *window;
    assert_ok(lethe_window_new(&options, &window));
    for (uint64_t period = 0; period < PERIODS; period++) {
        uint64_t now_ms = period * 1000 + period % 1000;
        lethe_answer answer = LETHE_ANSWER_FRESH;
        if (period % 3 == 0) {
            lethe_hash hash = lethe_hash_u64(1, period);
            assert_ok(lethe_window_add_and_test(window, hash, now_ms, &answer));
        } else {
            (void)window_work(window, now_ms, 1);
        }
        assert_int_equal(answer, LETHE_ANSWER_FRESH);
        uint64_t first = period < 30 ? 0 : period - 30; /* alive: of this period and 30 before */
        uint64_t alive = period / 3 - (first + 2) / 3 + 1;
        assert_int_equal(window_stats(window, now_ms).ids, alive);
        uint64_t oldest = (first + 2) / 3 * 3;
        assert_int_equal(lethe_window_test(window, lethe_hash_u64(1, oldest), now_ms),
                         LETHE_ANSWER_DUPLICATE);
        if (oldest >= 3) {
            assert_int_equal(lethe_window_test(window, lethe_hash_u64(1, oldest - 3), now_ms),
                             LETHE_ANSWER_FRESH);
        }
    }
    lethe_window_free(window);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_life_is_exact_to_the_millisecond),
        cmocka_unit_test(long_ago_does_not_come_back),
        cmocka_unit_test(a_trickle_is_counted_exactly),
    };
    return cmocka_run_group_tests_name("window_life", tests, NULL, NULL);
}

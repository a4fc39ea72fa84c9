/* Goal:   after lethe_window_make_room an id can be added, whatever the cap, and nothing else has
 *         changed by it.
 * Method: windows of the forgetful kind under a cap, in bursts and pauses, with either policy. One
 *         makes room before each addition, its twin does not: both refuse the same ids and have the
 *         same bytes. Room that is made and not used changes no answer, and can be saved. */
#include "support/test.h"

#include <string.h>

#include "lethe/window.h"
#include "support/random.h"

enum { IDS = 60000 };

static lethe_window *make(lethe_policy policy, uint64_t cap_bytes) {
    lethe_window *window;
    assert_ok(lethe_window_new(&LETHE_OPTIONS(lethe_window_options, .kind = LETHE_WINDOW_FORGETFUL,
                                              .policy = policy, .window_ms = 60000, .error = 1e-6,
                                              .max_memory_bytes = cap_bytes),
                               &window));
    return window;
}

static lethe_hash hash_of(const lethe_window *window, uint64_t id) {
    return lethe_hash_bytes(lethe_window_seed(window), &id, sizeof id);
}

/* Long bursts at one moment, and pauses. */
static uint64_t pass(struct test_random *random, uint64_t now_ms) {
    uint64_t kind = test_random_below(random, 20000);
    if (kind > 3) return now_ms;
    return now_ms + (kind == 0 ? 70000 : kind == 1 ? 3000 : 100);
}

static lethe_memory_writer save(const lethe_window *window) {
    lethe_memory_writer writer = {0};
    assert_ok(lethe_window_save(window, lethe_sink_to_memory(&writer)));
    return writer;
}

static void assert_same_bytes(const lethe_window *a, const lethe_window *b) {
    lethe_memory_writer one = save(a), other = save(b);
    assert_int_equal(one.size, other.size);
    assert_memory_equal(one.data, other.data, one.size);
    lethe_memory_writer_free(&one);
    lethe_memory_writer_free(&other);
}

static void an_addition_after_it_is_an_addition(void **state) {
    (void)state;
    for (unsigned policy = 0; policy < 2; policy++) {
        struct test_random random = {.state = policy + 1};
        lethe_window *with = make((lethe_policy)policy, 100 << 10);
        lethe_window *without = make((lethe_policy)policy, 100 << 10);
        uint64_t now_ms = 1, refused = 0;
        for (uint64_t id = 0; id < IDS; id++) {
            now_ms = pass(&random, now_ms);
            lethe_hash hash = hash_of(with, id);
            lethe_status room = lethe_window_make_room(with, hash, now_ms);
            assert_int_equal(lethe_window_add(without, hash, now_ms), room);
            if (room == LETHE_OK) assert_ok(lethe_window_add(with, hash, now_ms));
            refused += room == LETHE_EFULL;
            if (id % 4096 == 0) assert_same_bytes(with, without);
        }
        assert_same_bytes(with, without);
        assert_true(refused > 0 || policy == LETHE_POLICY_DEGRADE);
        lethe_window_free(with);
        lethe_window_free(without);
    }
}

static void room_that_is_not_used_changes_no_answer(void **state) {
    (void)state;
    struct test_random random = {.state = 7};
    lethe_window *window = make(LETHE_POLICY_REFUSE, 0);
    uint64_t now_ms = 1;
    static uint64_t added_ms[IDS];
    for (uint64_t id = 0; id < IDS; id++) {
        now_ms = pass(&random, now_ms);
        lethe_hash hash = hash_of(window, id);
        assert_ok(lethe_window_make_room(window, hash, now_ms));
        added_ms[id] = 0;
        if (id % 3 == 0) {
            assert_ok(lethe_window_add(window, hash, now_ms));
            added_ms[id] = now_ms;
        }
        bool more;
        if (id % 7 == 0) assert_ok(lethe_window_work(window, now_ms, 0, &more));
        if (id % 5000 == 0) {
            lethe_memory_writer saved = save(window);
            lethe_memory_reader reader = {.data = saved.data, .size = saved.size};
            lethe_window *loaded;
            assert_ok(lethe_window_load(lethe_source_from_memory(&reader), NULL, &loaded));
            lethe_window_free(window);
            window = loaded;
            lethe_memory_writer_free(&saved);
        }
        uint64_t other = test_random_below(&random, id + 1);
        lethe_answer answer = lethe_window_test(window, hash_of(window, other), now_ms);
        if (added_ms[other] > 0 && now_ms - added_ms[other] <= 60000)
            assert_int_equal(answer, LETHE_ANSWER_DUPLICATE);
        if (added_ms[other] == 0 || now_ms - added_ms[other] > 75000)
            assert_int_equal(answer, LETHE_ANSWER_FRESH);
    }
    lethe_window_free(window);
}

static void the_quotient_kind_has_no_need_of_it(void **state) {
    (void)state;
    lethe_window *window;
    assert_ok(lethe_window_new(NULL, &window));
    assert_int_equal(lethe_window_make_room(window, hash_of(window, 1), 1), LETHE_EINVAL);
    lethe_window_free(window);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_addition_after_it_is_an_addition),
        cmocka_unit_test(room_that_is_not_used_changes_no_answer),
        cmocka_unit_test(the_quotient_kind_has_no_need_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

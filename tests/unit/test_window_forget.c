/* Goal:   an id that is forgotten is fresh, wherever the window has it, and copies of a window
 *         forget alike.
 * Method: ids get entries in several parts, by recording them once more, by merging and by
 *         refreshing; then they are forgotten. Errors are so small that no id looks like another,
 *         or large where that is the question. */
#include "support/test.h"

#include "support/reports.h"
#include "support/window.h"
#include "window/chain.h"

enum { WINDOW_MS = 60000, PERIOD_MS = WINDOW_MS / 30, MANY = 4000, MORE = 60000 };

static lethe_hash hash_of(uint64_t id) {
    return lethe_hash_u64(LETHE_DEFAULT_SEED, id);
}

static lethe_window *make(double error) {
    lethe_window *window;
    assert_ok(lethe_window_new(
        &LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS, .error = error), &window));
    return window;
}

static void record_range(lethe_window *window, uint64_t first, uint64_t count, uint64_t now_ms) {
    for (uint64_t id = first; id < first + count; id++)
        assert_ok(lethe_window_add(window, hash_of(id), now_ms));
}

/* A window of several parts; those of the first ids are not the newest. */
static lethe_window *make_grown(double error) {
    lethe_window *window = make(error);
    record_range(window, 0, MANY, 1000);
    assert_true(window_stats(window, 1000).parts > 1);
    return window;
}

static void assert_forgets(lethe_window *window, uint64_t id, uint64_t now_ms) {
    assert_int_equal(lethe_window_test(window, hash_of(id), now_ms), LETHE_ANSWER_DUPLICATE);
    assert_ok(lethe_window_remove(window, hash_of(id), now_ms));
    assert_int_equal(lethe_window_test(window, hash_of(id), now_ms), LETHE_ANSWER_FRESH);
    assert_int_equal(lethe_window_remove(window, hash_of(id), now_ms), LETHE_ENOTFOUND);
}

static void what_was_recorded_again_is_forgotten_everywhere(void **state) {
    (void)state;
    for (int loaded = 0; loaded < 2; loaded++) {
        lethe_window *window = make_grown(1e-12);
        record_range(window, 0, 10, 1001);
        if (loaded) test_window_reload(&window);
        for (uint64_t id = 0; id < 10; id++)
            assert_forgets(window, id, 1002);
        for (uint64_t id = 10; id < MANY; id++)
            assert_int_equal(lethe_window_test(window, hash_of(id), 1002), LETHE_ANSWER_DUPLICATE);
        lethe_window_free(window);
    }
}

/* The part in which the ids are becomes an old one in the middle of the batch that records them
 * again. */
static void what_a_growing_batch_records_again_as_well(void **state) {
    (void)state;
    lethe_window *window = make(1e-12);
    static lethe_hash ids[MANY];
    record_range(window, 0, 10, 1000);
    for (uint64_t i = 0; i < MANY; i++)
        ids[i] = hash_of(MANY - 1 - i);
    assert_ok(lethe_window_add_batch(window, ids, MANY, 1000, NULL));
    assert_true(window_stats(window, 1000).parts > 1);
    for (uint64_t id = 0; id < MANY; id++)
        assert_forgets(window, id, 1002);
    assert_int_equal(window_stats(window, 1002).ids, 0);
    lethe_window_free(window);
}

static void what_was_merged_is_forgotten_everywhere(void **state) {
    (void)state;
    lethe_window *window = make(1e-12), *other = make(1e-12);
    record_range(window, 0, 100, 1000);
    record_range(other, 50, 100, 2000);
    assert_ok(lethe_window_merge(window, other));
    for (uint64_t id = 0; id < 150; id++)
        assert_forgets(window, id, 2000);
    lethe_window_free(window);
    lethe_window_free(other);
}

/* Copies that were made long ago are gone, and with them the doubt whose entries they are. */
static void doubt_ends_with_the_repeats(void **state) {
    (void)state;
    static bool is_fresh[MANY + MORE];
    for (int later = 0; later < 2; later++) {
        lethe_window *window = make_grown(0.1);
        uint64_t now_ms = 1001;
        record_range(window, 0, 10, now_ms);
        uint64_t lost = 0;
        if (later) now_ms += WINDOW_MS + 2 * PERIOD_MS;
        for (uint64_t id = MANY; id < MANY + MORE; id++) {
            lethe_answer answer;
            assert_ok(lethe_window_add_and_test(window, hash_of(id), now_ms, &answer));
            is_fresh[id] = answer == LETHE_ANSWER_FRESH;
        }
        assert_true(window_stats(window, now_ms).parts > 1);
        /* Every other one goes. */
        for (uint64_t id = MANY; id < MANY + MORE; id += 2) {
            if (is_fresh[id]) lost += lethe_window_remove(window, hash_of(id), now_ms) != LETHE_OK;
        }
        for (uint64_t id = MANY + 1; id < MANY + MORE; id += 2) {
            if (is_fresh[id])
                lost += lethe_window_test(window, hash_of(id), now_ms) == LETHE_ANSWER_FRESH;
        }
        assert_true(later ? lost == 0 : lost < MORE / 10);
        lethe_window_free(window);
    }
}

/* A window and its copy forget the same, whatever has happened before the copy was made. */
static void copies_of_a_window_forget_alike(void **state) {
    (void)state;
    for (int again = 0; again < 2; again++) {
        lethe_window *window = make_grown(0.1), *copy = NULL;
        if (again) record_range(window, 0, 10, 1001);
        lethe_memory_writer writer = {0};
        assert_ok(lethe_window_save(window, lethe_sink_to_memory(&writer)));
        lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
        assert_ok(lethe_window_load(lethe_source_from_memory(&reader), NULL, &copy));
        for (uint64_t id = 0; id < MANY; id += 3) {
            assert_int_equal(lethe_window_remove(window, hash_of(id), 1002),
                             lethe_window_remove(copy, hash_of(id), 1002));
        }
        lethe_memory_writer writers[2] = {{0}, {0}};
        assert_ok(lethe_window_save(window, lethe_sink_to_memory(&writers[0])));
        assert_ok(lethe_window_save(copy, lethe_sink_to_memory(&writers[1])));
        assert_int_equal(writers[0].size, writers[1].size);
        assert_memory_equal(writers[0].data, writers[1].data, writers[0].size);
        lethe_memory_writer_free(&writers[0]);
        lethe_memory_writer_free(&writers[1]);
        lethe_memory_writer_free(&writer);
        lethe_window_free(window);
        lethe_window_free(copy);
    }
}

static const struct lethe_part_operations *real_operations;
static uint64_t checks;

static bool count_check(const lethe_part *part, lethe_hash id, uint64_t period) {
    checks++;
    return real_operations->test(part, id, period);
}

/* Goal: whether ids are in older parts is looked up once for each, also where a window is full
 *       and none of a batch fits. */
static void a_batch_into_a_full_window_takes_no_longer(void **state) {
    (void)state;
    static lethe_hash ids[MANY];
    lethe_chain chain;
    lethe_window_options options;
    assert_ok(lethe_chain_plan(&LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS,
                                              .error = 1e-12, .max_memory_bytes = 1 << 20,
                                              .policy = LETHE_POLICY_REFUSE),
                               &options));
    assert_ok(lethe_chain_init(&chain, &options));
    uint64_t next = 0;
    lethe_status last = LETHE_OK;
    while (chain.refused < 1000)
        last = lethe_chain_add(&chain, hash_of(next++), 1000);
    assert_int_equal(last, LETHE_EFULL);
    assert_true(chain.part_count > 1);
    for (uint64_t i = 0; i < MANY; i++)
        ids[i] = hash_of(next + i);
    real_operations = chain.parts[1]->operations;
    struct lethe_part_operations counting = *real_operations;
    counting.test = count_check;
    chain.parts[1]->operations = &counting;
    checks = 0;
    assert_int_equal(lethe_chain_add_batch(&chain, ids, MANY, 1000, NULL), LETHE_EFULL);
    assert_in_range(checks, 1, MANY);
    chain.parts[1]->operations = real_operations;
    lethe_chain_drop(&chain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_recorded_again_is_forgotten_everywhere),
        cmocka_unit_test(what_a_growing_batch_records_again_as_well),
        cmocka_unit_test(what_was_merged_is_forgotten_everywhere),
        cmocka_unit_test(doubt_ends_with_the_repeats),
        cmocka_unit_test(copies_of_a_window_forget_alike),
        cmocka_unit_test(a_batch_into_a_full_window_takes_no_longer),
    };
    return cmocka_run_group_tests_name("window_forget", tests, NULL, NULL);
}

/* Goal:   a window that a thread fills from the log is the window that the calls one after another
 *         would have made, to the last byte; and an error comes back without anybody waiting.
 * Method: runs of many sizes, the same ids and times again in some; a window under a cap that is
 *         too small for them. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "engine/ids/fill.h"
#include "support/random.h"

enum { RUNS = 60, MOST_IDS = 20000 };

/* The ids of a run, as the log has them. */
static lethe_id_run make_run(struct test_random *random, uint64_t *clock_ms, unsigned char *ids) {
    lethe_id_run run = {.count = (uint32_t)test_random_below(random, MOST_IDS + 1)};
    *clock_ms += test_random_below(random, 400);
    run.clock_ms = *clock_ms;
    for (uint32_t i = 0; i < run.count; i++) {
        uint64_t id = test_random_below(random, 1 << 20);
        lethe_log_id_store(ids + (size_t)i * LETHE_LOG_ID_BYTES,
                           lethe_log_id_of(lethe_hash_u64(1, id)));
    }
    return run;
}

static lethe_window *make_window(uint64_t max_memory_bytes) {
    lethe_window *window;
    assert_ok(
        lethe_window_new(&LETHE_OPTIONS(lethe_window_options, .window_ms = 10000, .error = 1e-6,
                                        .capacity = 100000, .max_memory_bytes = max_memory_bytes),
                         &window));
    return window;
}

/* Adds a run in one call. */
static void add_run(lethe_window *window, const unsigned char *ids, lethe_id_run run,
                    lethe_hash *hashes) {
    lethe_log_ids_expand(ids, run.count, hashes);
    assert_ok(lethe_window_add_batch(window, hashes, run.count, run.clock_ms, NULL));
}

static void the_window_is_the_same(void **state) {
    (void)state;
    struct test_random random = {.state = 1};
    unsigned char *ids = malloc((size_t)MOST_IDS * LETHE_LOG_ID_BYTES);
    lethe_hash *hashes = malloc(MOST_IDS * sizeof *hashes);
    lethe_window *filled = make_window(0), *expected = make_window(0);
    lethe_fill *fill = lethe_fill_begin(filled);
    assert_true(ids != NULL && hashes != NULL && fill != NULL);
    uint64_t clock_ms = 1600000000000;
    for (int i = 0; i < RUNS; i++) {
        lethe_id_run run = make_run(&random, &clock_ms, ids);
        assert_ok(lethe_fill_run(fill, ids, run));
        add_run(expected, ids, run, hashes);
    }
    assert_ok(lethe_fill_end(fill));
    lethe_memory_writer first = {0}, second = {0};
    assert_ok(lethe_window_save(filled, lethe_sink_to_memory(&first)));
    assert_ok(lethe_window_save(expected, lethe_sink_to_memory(&second)));
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    lethe_memory_writer_free(&first);
    lethe_memory_writer_free(&second);
    lethe_window_free(filled);
    lethe_window_free(expected);
    free(hashes);
    free(ids);
}

static void an_error_comes_back(void **state) {
    (void)state;
    struct test_random random = {.state = 2};
    unsigned char *ids = malloc((size_t)MOST_IDS * LETHE_LOG_ID_BYTES);
    lethe_window *window = make_window(600000);
    lethe_fill *fill = lethe_fill_begin(window);
    assert_true(ids != NULL && fill != NULL);
    uint64_t clock_ms = 1600000000000;
    lethe_status status = LETHE_OK;
    /* A caller need not stop at an error. */
    for (int i = 0; i < RUNS; i++) {
        lethe_id_run run = make_run(&random, &clock_ms, ids);
        lethe_status now = lethe_fill_run(fill, ids, run);
        if (status == LETHE_OK) status = now;
    }
    assert_int_equal(status, LETHE_EFULL);
    assert_int_equal(lethe_fill_end(fill), LETHE_EFULL);
    lethe_window_free(window);
    free(ids);
}

static void nothing_to_fill_is_no_error(void **state) {
    (void)state;
    assert_ok(lethe_fill_end(NULL));
    lethe_window *window = make_window(0);
    lethe_fill *fill = lethe_fill_begin(window);
    assert_non_null(fill);
    assert_ok(lethe_fill_end(fill));
    lethe_window_free(window);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_window_is_the_same),
        cmocka_unit_test(an_error_comes_back),
        cmocka_unit_test(nothing_to_fill_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

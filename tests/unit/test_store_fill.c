/* Goal:   a window that threads fill from the log is the window that the calls one after another
 *         would have made, to the last byte, in stores of every kind; and an error comes back
 *         without anybody waiting.
 * Method: runs of many sizes, the same ids and times again in some, for one thread and several, in
 *         long rounds and short ones; stores opened with threads and without; windows under a cap
 *         that is too small for them. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tunables.h"
#include "engine/ids/fill.h"
#include "engine/store.h"
#include "support/random.h"
#include "support/store.h"
#include "support/window.h"

enum { MOST_IDS = 20000, EVENTS = 20000, LARGE = 1500000 };

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

static lethe_window *make_window(lethe_window_options options) {
    options.size = sizeof options;
    options.window_ms = 10000;
    if (options.error == 0) options.error = 1e-6;
    return test_window_make(&options);
}

/* Adds a run in one call. */
static void add_run(lethe_window *window, const unsigned char *ids, lethe_id_run run,
                    lethe_hash *hashes) {
    lethe_log_ids_expand(ids, run.count, hashes);
    assert_ok(lethe_window_add_batch(window, hashes, run.count, run.clock_ms, NULL));
}

static void fill_and_compare(lethe_window_options options, unsigned threads, uint64_t seed) {
    struct test_random random = {.state = seed};
    unsigned char *ids = malloc((size_t)MOST_IDS * LETHE_LOG_ID_BYTES);
    lethe_hash *hashes = malloc(MOST_IDS * sizeof *hashes);
    lethe_window *filled = make_window(options), *expected = make_window(options);
    lethe_fill *fill = lethe_fill_begin(filled, threads);
    assert_true(ids != NULL && hashes != NULL && fill != NULL);
    uint64_t clock_ms = 1600000000000;
    for (int i = 0; i < TEST_SIZED(60, 30); i++) {
        lethe_id_run run = make_run(&random, &clock_ms, ids);
        assert_ok(lethe_fill_run(fill, ids, run));
        add_run(expected, ids, run, hashes);
    }
    assert_ok(lethe_fill_end(fill));
    test_window_assert_same(filled, expected);
    lethe_window_free(filled);
    lethe_window_free(expected);
    free(hashes);
    free(ids);
}

static void the_window_is_the_same(void **state) {
    (void)state;
    const lethe_tunables usual = lethe_tune;
    fill_and_compare((lethe_window_options){.capacity = 100000}, 2, 1);
    fill_and_compare((lethe_window_options){.capacity = LARGE}, 2, 2);
    static const uint64_t rounds[] = {100, 5000, 40000};
    for (unsigned threads = 1; threads <= TEST_SIZED(9, 3); threads++) {
        lethe_tune.fill_round_ids = threads == 1 ? 777 : rounds[threads % 3];
        double error = threads % 2 == 0 ? 1e-12 : 1e-6;
        fill_and_compare((lethe_window_options){.capacity = LARGE, .error = error}, threads,
                         threads);
    }
    lethe_tune = usual;
}

/* Events of a store, in several calls; some come twice. */
static void submit_events(lethe_store *store) {
    static char names[4000][16];
    struct test_event events[4000];
    static uint8_t outcomes[4000];
    struct test_random random = {.state = 5};
    for (unsigned done = 0; done < EVENTS; done += 4000) {
        for (unsigned i = 0; i < 4000; i++) {
            (void)snprintf(names[i], sizeof names[i], "%u",
                           (unsigned)test_random_below(&random, 2 * EVENTS));
            events[i] = (struct test_event){
                .id = names[i], .key = "k", .delta = 1, .time_ms = 1600000000000 + (done + i) * 10};
        }
        test_store_submit(store, events, 4000, outcomes);
    }
}

static lethe_memory_writer save_window(const char *path, lethe_store_options options) {
    lethe_memory_writer saved = {0};
    lethe_store *store = test_store_open(path, options);
    assert_ok(lethe_window_save(store->ids.window, lethe_sink_to_memory(&saved)));
    assert_true(test_store_stats(store).log_ids > 5000);
    test_store_close(store);
    return saved;
}

/* The windows of stores: kinds, errors, W, clocks, caps, modes. */
static void stores_open_with_the_same_window(void **state) {
    (void)state;
    const lethe_tunables usual = lethe_tune;
    const lethe_store_options options[] = {
        {.error = 1e-6},
        {.error = 1e-12},
        {.error = 1e-6, .event_time = LETHE_SWITCH_ON, .window_ms = 120000},
        {.error = 1e-12, .event_time = LETHE_SWITCH_ON, .window_ms = 3600000},
        {.error = 1e-9, .exact = LETHE_SWITCH_ON},
        {.error = 1e-9, .exact = LETHE_SWITCH_ON, .event_time = LETHE_SWITCH_ON},
        {.error = 1e-6, .forever = LETHE_SWITCH_ON},
        {.error = 1e-6, .forgetful = LETHE_SWITCH_ON},
        {.error = 1e-6, .max_memory_bytes = 12 << 20},
        {.error = 1e-6, .max_memory_bytes = 3 << 20, .policy = LETHE_POLICY_DEGRADE},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i += TEST_SIZED(1, 3)) {
        struct test_folder folder;
        test_folder_make(&folder);
        lethe_store_options opened = options[i];
        opened.create = true;
        opened.capacity = LARGE;
        if (opened.forgetful) opened.capacity = 100000; /* it has no slabs */
        lethe_store *store = test_store_open(folder.path, opened);
        submit_events(store);
        test_store_close(store);
        lethe_tune.fill_thread_ids = UINT64_MAX;
        lethe_memory_writer alone = save_window(folder.path, opened);
        lethe_tune.fill_thread_ids = 0;
        for (opened.threads = 1; opened.threads <= 3; opened.threads++) {
            lethe_memory_writer shared = save_window(folder.path, opened);
            assert_int_equal(shared.size, alone.size);
            assert_memory_equal(shared.data, alone.data, alone.size);
            lethe_memory_writer_free(&shared);
        }
        lethe_memory_writer_free(&alone);
        lethe_tune = usual;
        test_folder_remove(&folder);
    }
}

static void an_error_comes_back(void **state) {
    (void)state;
    const lethe_tunables usual = lethe_tune;
    lethe_tune.fill_round_ids = MOST_IDS;
    struct test_random random = {.state = 2};
    unsigned char *ids = malloc((size_t)MOST_IDS * LETHE_LOG_ID_BYTES);
    lethe_window *window =
        make_window((lethe_window_options){.capacity = 100000, .max_memory_bytes = 600000});
    lethe_fill *fill = lethe_fill_begin(window, 2);
    assert_true(ids != NULL && fill != NULL);
    uint64_t clock_ms = 1600000000000;
    lethe_status status = LETHE_OK;
    /* A caller need not stop at an error. */
    for (int i = 0; i < TEST_SIZED(60, 30); i++) {
        lethe_id_run run = make_run(&random, &clock_ms, ids);
        lethe_status now = lethe_fill_run(fill, ids, run);
        if (status == LETHE_OK) status = now;
    }
    assert_int_equal(status, LETHE_EFULL);
    assert_int_equal(lethe_fill_end(fill), LETHE_EFULL);
    lethe_tune = usual;
    lethe_window_free(window);
    free(ids);
}

static void nothing_to_fill_is_no_error(void **state) {
    (void)state;
    assert_ok(lethe_fill_end(NULL));
    lethe_window *window = make_window((lethe_window_options){.capacity = LARGE});
    lethe_fill *fill = lethe_fill_begin(window, 2);
    assert_non_null(fill);
    assert_ok(lethe_fill_end(fill));
    lethe_window_free(window);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_window_is_the_same),
        cmocka_unit_test(stores_open_with_the_same_window),
        cmocka_unit_test(an_error_comes_back),
        cmocka_unit_test(nothing_to_fill_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Goal:   a public function whose arguments lack something says LETHE_EINVAL, changes nothing and
 *         leaves no result behind; one that returns no status does what its header says. Windows,
 *         forgetful filters and sketches.
 * Method: a table of calls, one for each argument that each function needs. Structs with a size are
 *         given every wrong one. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/lethe.h"
#include "support/folder.h"
#include "support/refusals.h"
#include "support/reports.h"

static void windows(void **state) {
    (void)state;
    const lethe_hash hash = {.low = 1, .high = 2};
    uint8_t answers = 7;
    const lethe_window_run run = {.now_ms = 0, .count = 1};
    bool more = true;
    lethe_answer answer = LETHE_ANSWER_FRESH;
    lethe_window *window, *forgetful, *made = ANYTHING, *loaded = ANYTHING;
    lethe_window_options no_size = {.window_ms = 1000};
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats), bad_stats = {.size = 8};
    assert_ok(lethe_window_new(NULL, &window));
    assert_ok(lethe_window_new(&LETHE_OPTIONS(lethe_window_options, .kind = LETHE_WINDOW_FORGETFUL),
                               &forgetful));

    const struct refusal refusals[] = {
        REFUSAL(lethe_window_new(NULL, NULL)),
        REFUSAL(lethe_window_new(&no_size, &made)),
        REFUSAL(lethe_window_add(NULL, hash, 0)),
        REFUSAL(lethe_window_add_and_test(NULL, hash, 0, &answer)),
        REFUSAL(lethe_window_add_and_test(window, hash, 0, NULL)),
        REFUSAL(lethe_window_add_and_test(forgetful, hash, 0, NULL)),
        REFUSAL(lethe_window_test_batch(NULL, &hash, 1, 0, &answers)),
        REFUSAL(lethe_window_test_batch(window, NULL, 1, 0, &answers)),
        REFUSAL(lethe_window_test_batch(window, &hash, 1, 0, NULL)),
        REFUSAL(lethe_window_add_and_test_batch(NULL, &hash, 1, 0, &answers)),
        REFUSAL(lethe_window_add_and_test_batch(window, NULL, 1, 0, &answers)),
        REFUSAL(lethe_window_add_and_test_batch(window, &hash, 1, 0, NULL)),
        REFUSAL(lethe_window_add_batch(NULL, &hash, 1, 0, &answers)),
        REFUSAL(lethe_window_add_batch(window, NULL, 1, 0, &answers)),
        REFUSAL(lethe_window_add_runs(NULL, &hash, &run, 1, NULL)),
        REFUSAL(lethe_window_add_runs(window, NULL, &run, 1, NULL)),
        REFUSAL(lethe_window_add_runs(window, &hash, NULL, 1, NULL)),
        REFUSAL(lethe_window_add_runs(window, &hash, &run, 1, &(lethe_crew){.members = 2})),
        REFUSAL(lethe_window_refill(NULL, 1)),
        REFUSAL(lethe_window_refill(forgetful, 1)),
        REFUSAL(lethe_window_refill(window, (UINT64_C(1) << 36) + 1)),
        REFUSAL(lethe_window_remove(NULL, hash, 0)),
        REFUSAL(lethe_window_make_room(NULL, hash, 0)),
        REFUSAL(lethe_window_work(NULL, 0, 1, &more)),
        REFUSAL(lethe_window_work(window, 0, 1, NULL)),
        REFUSAL(lethe_window_info(NULL, 0, &stats)),
        REFUSAL(lethe_window_info(window, 0, NULL)),
        REFUSAL(lethe_window_info(window, 0, &bad_stats)),
        REFUSAL(lethe_window_merge(NULL, window)),
        REFUSAL(lethe_window_merge(window, NULL)),
        REFUSAL(lethe_window_save(NULL, no_sink)),
        REFUSAL(lethe_window_save(window, no_sink)),
        REFUSAL(lethe_window_save(forgetful, no_sink)),
        REFUSAL(lethe_window_load(no_source, NULL, &loaded)),
        REFUSAL(lethe_window_load(no_source, NULL, NULL)),
        REFUSAL(lethe_window_save_file(window, NULL, NULL)),
        REFUSAL(lethe_window_load_file("/dev/null/no", NULL, NULL, NULL)),
    };
    CHECK_REFUSALS(refusals);
    assert_null(made);
    assert_null(loaded);
    assert_int_equal(answer, LETHE_ANSWER_REFUSED);
    assert_int_equal(answers, 7);
    assert_false(more);
    assert_int_equal(window_stats(window, 0).ids + window_stats(forgetful, 0).ids, 0);
    assert_int_equal(bad_stats.ids + stats.window_ms, 0);

    lethe_window_free(NULL);
    lethe_window_prefetch(NULL, hash);
    assert_int_equal(lethe_window_seed(NULL), 0);
    assert_int_equal(lethe_window_test(NULL, hash, 0), LETHE_ANSWER_FRESH);
    assert_ok(lethe_window_test_batch(window, NULL, 0, 0, NULL));
    assert_ok(lethe_window_add_and_test_batch(window, NULL, 0, 0, NULL));
    assert_ok(lethe_window_add_batch(window, NULL, 0, 0, NULL));
    assert_ok(lethe_window_add_runs(window, NULL, NULL, 0, NULL));
    assert_ok(lethe_window_add_runs(window, NULL, &(lethe_window_run){0}, 1, NULL));
    lethe_window_free(window);
    lethe_window_free(forgetful);
}

static void forgetful_filters(void **state) {
    (void)state;
    const lethe_hash hash = {.low = 1, .high = 2};
    uint8_t answers = 7;
    bool more = true;
    lethe_answer answer = LETHE_ANSWER_FRESH;
    lethe_forgetful *filter, *made = ANYTHING, *copied = ANYTHING, *loaded = ANYTHING;
    lethe_forgetful_options no_size = {.window_ms = 1000};
    lethe_forgetful_stats stats = LETHE_INIT(lethe_forgetful_stats), bad_stats = {.size = 8};
    lethe_forgetful_filter member = LETHE_INIT(lethe_forgetful_filter), bad_member = {.size = 8};
    assert_ok(lethe_forgetful_new(NULL, &filter));
    assert_ok(lethe_forgetful_add(filter, hash, 0));
    uint32_t filters = forgetful_stats(filter, 0).filters;

    const struct refusal refusals[] = {
        REFUSAL(lethe_forgetful_new(NULL, NULL)),
        REFUSAL(lethe_forgetful_new(&no_size, &made)),
        REFUSAL(lethe_forgetful_copy(NULL, &copied)),
        REFUSAL(lethe_forgetful_copy(filter, NULL)),
        REFUSAL(lethe_forgetful_add(NULL, hash, 0)),
        REFUSAL(lethe_forgetful_add_and_test(NULL, hash, 0, &answer)),
        REFUSAL(lethe_forgetful_add_and_test(filter, hash, 0, NULL)),
        REFUSAL(lethe_forgetful_test_batch(NULL, &hash, 1, 0, &answers)),
        REFUSAL(lethe_forgetful_test_batch(filter, NULL, 1, 0, &answers)),
        REFUSAL(lethe_forgetful_test_batch(filter, &hash, 1, 0, NULL)),
        REFUSAL(lethe_forgetful_add_and_test_batch(NULL, &hash, 1, 0, &answers)),
        REFUSAL(lethe_forgetful_add_and_test_batch(filter, NULL, 1, 0, &answers)),
        REFUSAL(lethe_forgetful_add_and_test_batch(filter, &hash, 1, 0, NULL)),
        REFUSAL(lethe_forgetful_work(NULL, 0, 1, &more)),
        REFUSAL(lethe_forgetful_work(filter, 0, 1, NULL)),
        REFUSAL(lethe_forgetful_info(NULL, 0, &stats)),
        REFUSAL(lethe_forgetful_info(filter, 0, NULL)),
        REFUSAL(lethe_forgetful_info(filter, 0, &bad_stats)),
        REFUSAL(lethe_forgetful_member(NULL, 0, 0, &member)),
        REFUSAL(lethe_forgetful_member(filter, 0, 0, NULL)),
        REFUSAL(lethe_forgetful_member(filter, 0, 0, &bad_member)),
        REFUSAL(lethe_forgetful_member(filter, filters, 0, &member)),
        REFUSAL(lethe_forgetful_merge(NULL, filter)),
        REFUSAL(lethe_forgetful_merge(filter, NULL)),
        REFUSAL(lethe_forgetful_save(NULL, no_sink)),
        REFUSAL(lethe_forgetful_save(filter, no_sink)),
        REFUSAL(lethe_forgetful_load(no_source, NULL, &loaded)),
        REFUSAL(lethe_forgetful_load(no_source, NULL, NULL)),
    };
    CHECK_REFUSALS(refusals);
    assert_null(made);
    assert_null(copied);
    assert_null(loaded);
    assert_int_equal(answer, LETHE_ANSWER_REFUSED);
    assert_int_equal(answers, 7);
    assert_false(more);
    assert_int_equal(member.bits + stats.window_ms, 0);
    assert_int_equal(forgetful_stats(filter, 0).fresh, 1);

    lethe_forgetful_free(NULL);
    lethe_forgetful_clear(NULL);
    assert_int_equal(lethe_forgetful_seed(NULL), 0);
    assert_false(lethe_forgetful_test(NULL, hash, 0));
    assert_ok(lethe_forgetful_test_batch(filter, NULL, 0, 0, NULL));
    assert_ok(lethe_forgetful_add_and_test_batch(filter, NULL, 0, 0, NULL));
    lethe_forgetful_free(filter);
}

static void sketches(void **state) {
    (void)state;
    const lethe_hash hash = {.low = 1, .high = 2};
    const lethe_bytes key = {"a", 1}, half_key = {NULL, 1};
    const lethe_sketch_delta change = {.key = {"a", 1}, .delta = 1}, half = {.key = {NULL, 1}};
    uint8_t done = 7;
    uint64_t count = 7;
    size_t listed = 7;
    lethe_sketch_top_entry entry;
    lethe_sketch *sketch, *listing, *made = ANYTHING, *copied = ANYTHING, *loaded = ANYTHING,
                                    *imported = ANYTHING;
    lethe_sketch_options no_size = {.width = 10};
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape), bad_shape = {.size = 8};
    lethe_sketch_stats stats = LETHE_INIT(lethe_sketch_stats), bad_stats = {.size = 8};
    assert_ok(lethe_sketch_new(NULL, &sketch));
    assert_ok(lethe_sketch_new(&LETHE_OPTIONS(lethe_sketch_options, .top = 1), &listing));

    const struct refusal refusals[] = {
        REFUSAL(lethe_sketch_plan(NULL, NULL)),
        REFUSAL(lethe_sketch_plan(NULL, &bad_shape)),
        REFUSAL(lethe_sketch_plan(&no_size, &shape)),
        REFUSAL(lethe_sketch_new(NULL, NULL)),
        REFUSAL(lethe_sketch_new(&no_size, &made)),
        REFUSAL(lethe_sketch_copy(NULL, &copied)),
        REFUSAL(lethe_sketch_copy(sketch, NULL)),
        REFUSAL(lethe_sketch_get_shape(NULL, &shape)),
        REFUSAL(lethe_sketch_get_shape(sketch, NULL)),
        REFUSAL(lethe_sketch_info(NULL, &stats)),
        REFUSAL(lethe_sketch_info(sketch, NULL)),
        REFUSAL(lethe_sketch_info(sketch, &bad_stats)),
        REFUSAL(lethe_sketch_estimate(NULL, 9, &stats)),
        REFUSAL(lethe_sketch_estimate(sketch, 0, &stats)),
        REFUSAL(lethe_sketch_estimate(sketch, 9, NULL)),
        REFUSAL(lethe_sketch_estimate(sketch, 9, &bad_stats)),
        REFUSAL(lethe_sketch_add(NULL, "a", 1, 1)),
        REFUSAL(lethe_sketch_add(sketch, NULL, 1, 1)),
        REFUSAL(lethe_sketch_add(sketch, "a", 1, 0)),
        REFUSAL(lethe_sketch_remove(NULL, "a", 1, 1)),
        REFUSAL(lethe_sketch_remove(sketch, NULL, 1, 1)),
        REFUSAL(lethe_sketch_remove(sketch, "a", 1, 0)),
        REFUSAL(lethe_sketch_add_hash(NULL, hash, 1)),
        REFUSAL(lethe_sketch_add_hash(listing, hash, 1)),
        REFUSAL(lethe_sketch_remove_hash(NULL, hash, 1)),
        REFUSAL(lethe_sketch_remove_hash(listing, hash, 1)),
        REFUSAL(lethe_sketch_add_batch(NULL, &hash, 1, NULL, &done)),
        REFUSAL(lethe_sketch_add_batch(sketch, NULL, 1, NULL, &done)),
        REFUSAL(lethe_sketch_remove_batch(NULL, &hash, 1, NULL, &done)),
        REFUSAL(lethe_sketch_remove_batch(sketch, NULL, 1, NULL, &done)),
        REFUSAL(lethe_sketch_count_batch(NULL, &hash, 1, &count, &done)),
        REFUSAL(lethe_sketch_count_batch(sketch, NULL, 1, &count, &done)),
        REFUSAL(lethe_sketch_count_batch(sketch, &hash, 1, NULL, &done)),
        REFUSAL(lethe_sketch_add_key_batch(NULL, &key, 1, NULL, &done)),
        REFUSAL(lethe_sketch_add_key_batch(sketch, NULL, 1, NULL, &done)),
        REFUSAL(lethe_sketch_remove_key_batch(NULL, &key, 1, NULL, &done)),
        REFUSAL(lethe_sketch_remove_key_batch(sketch, NULL, 1, NULL, &done)),
        REFUSAL(lethe_sketch_change(NULL, &change, 1)),
        REFUSAL(lethe_sketch_change(sketch, NULL, 1)),
        REFUSAL(lethe_sketch_change(sketch, &half, 1)),
        REFUSAL(lethe_sketch_merge(NULL, sketch)),
        REFUSAL(lethe_sketch_merge(sketch, NULL)),
        REFUSAL(lethe_sketch_top(NULL, &entry, 1, &listed)),
        REFUSAL(lethe_sketch_top(listing, NULL, 1, &listed)),
        REFUSAL(lethe_sketch_top(listing, &entry, 1, NULL)),
        REFUSAL(lethe_sketch_save(NULL, no_sink)),
        REFUSAL(lethe_sketch_save(sketch, no_sink)),
        REFUSAL(lethe_sketch_load(no_source, NULL, &loaded)),
        REFUSAL(lethe_sketch_load(no_source, NULL, NULL)),
        REFUSAL(lethe_sketch_export(NULL, no_sink)),
        REFUSAL(lethe_sketch_export(sketch, no_sink)),
        REFUSAL(lethe_sketch_import(no_source, NULL, &imported)),
        REFUSAL(lethe_sketch_import(no_source, NULL, NULL)),
        REFUSAL(lethe_sketch_apply(NULL, no_source)),
        REFUSAL(lethe_sketch_apply(sketch, no_source)),
        REFUSAL(lethe_sketch_save_file(sketch, NULL, NULL)),
        REFUSAL(lethe_sketch_load_file("/dev/null/no", NULL, NULL, NULL)),
        REFUSAL(lethe_sketch_export_file(sketch, NULL, NULL)),
        REFUSAL(lethe_sketch_import_file("/dev/null/no", NULL, NULL, NULL)),
        REFUSAL(lethe_sketch_apply_file(NULL, NULL, NULL)),
    };
    CHECK_REFUSALS(refusals);
    assert_null(made);
    assert_null(copied);
    assert_null(loaded);
    assert_null(imported);
    assert_int_equal(done, 7);
    assert_int_equal(count, 7);
    assert_int_equal(listed, 0);
    assert_int_equal(shape.width + stats.counter_max, 0);
    assert_int_equal(lethe_sketch_total(sketch) + lethe_sketch_total(listing), 0);
    /* An item that is half filled is refused, and the results say so. */
    assert_int_equal(lethe_sketch_add_key_batch(sketch, &half_key, 1, NULL, &done), LETHE_EINVAL);
    assert_int_equal(done, 0);

    lethe_sketch_free(NULL);
    lethe_sketch_clear(NULL);
    bool saturated = true;
    assert_int_equal(lethe_sketch_seed(NULL) + lethe_sketch_total(NULL), 0);
    assert_int_equal(lethe_sketch_count(NULL, "a", 1, &saturated), 0);
    assert_false(saturated);
    assert_int_equal(lethe_sketch_count_hash(NULL, hash, NULL), 0);
    assert_ok(lethe_sketch_add_batch(sketch, NULL, 0, NULL, NULL));
    assert_ok(lethe_sketch_remove_batch(sketch, NULL, 0, NULL, NULL));
    assert_ok(lethe_sketch_count_batch(sketch, NULL, 0, NULL, NULL));
    assert_ok(lethe_sketch_change(sketch, NULL, 0));
    lethe_sketch_free(sketch);
    lethe_sketch_free(listing);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),
        cmocka_unit_test(forgetful_filters),
        cmocka_unit_test(sketches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

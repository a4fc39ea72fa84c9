/* Goal:   what holds owe their callers beside the rules of the model: wrong arguments and failed
 *         allocations change nothing; sums that do not fit are answered so; a limit holds among
 *         threads; damage is found; versions that know of no holds are not misled.
 * Method: tables of wrong calls; allocations that fail in turn; threads that compete for one limit;
 *         records removed behind the engine's back. */
#include "support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/claims/record.h"
#include "engine/store.h"
#include "lethe/holds.h"
#include "support/heap.h"
#include "support/refusals.h"
#include "support/store.h"
#include "support/store_records.h"

enum { WINDOW_MS = 60000, LEASE_MS = 1000000, THREADS = 4, EACH = 60 };

static const lethe_store_options usual = {.window_ms = WINDOW_MS, .create = true};
static struct test_folder folder;

static int setup(void **state) {
    (void)state;
    test_folder_make(&folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static lethe_hold hold_of(const char *id, const char *key, int64_t amount, int64_t max) {
    return (lethe_hold){.size = sizeof(lethe_hold),
                        .id = test_text(id),
                        .key = test_text(key),
                        .amount = amount,
                        .max = max,
                        .lease_ms = LEASE_MS};
}

static lethe_hold_answer place(lethe_store *store, const char *id, int64_t amount, int64_t max) {
    lethe_hold hold = hold_of(id, "k", amount, max);
    lethe_hold_answer answer;
    assert_ok(lethe_hold_place(store, &hold, &answer, NULL));
    return answer;
}

static lethe_hold_answer settle(lethe_store *store, const char *id, int64_t actual) {
    lethe_hold_answer answer;
    assert_ok(lethe_hold_settle(store, test_text(id), actual, 0, &answer, NULL));
    return answer;
}

static lethe_holds_stats stats_of(lethe_store *store) {
    lethe_holds_stats stats = LETHE_INIT(lethe_holds_stats);
    assert_ok(lethe_holds_info(store, &stats));
    return stats;
}

static bool see(void *context, const lethe_hold *hold) {
    (void)hold;
    (*(unsigned *)context)++;
    return true;
}

/* A hold that is right except for one field. */
#define WRONG(field, value, words)                                \
    do {                                                          \
        lethe_hold wrong = right;                                 \
        wrong.field = (value);                                    \
        REFUSED(lethe_hold_place(store, &wrong, &answer, NULL));  \
        if ((words) != NULL) test_store_explains(store, (words)); \
    } while (0)

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    static char large[1025];
    const lethe_bytes id = test_text("i"), none = {0}, half = {NULL, 1}, long_one = {large, 1025};
    lethe_hold right = hold_of("i", "k", 1, 10), unsized = {0}, shown = LETHE_INIT(lethe_hold);
    lethe_hold_answer answer;
    lethe_holds_stats no_stats = {0};
    unsigned seen = 0;
    lethe_store *store = test_store_open(folder.path, usual);
    REFUSED(lethe_hold_place(NULL, &right, &answer, NULL));
    REFUSED(lethe_hold_place(store, NULL, &answer, NULL));
    REFUSED(lethe_hold_place(store, &right, NULL, NULL));
    REFUSED(lethe_hold_place(store, &unsized, &answer, NULL));
    WRONG(id, none, "1 to 1024 bytes");
    WRONG(id, half, "1 to 1024 bytes");
    WRONG(id, long_one, "1 to 1024 bytes");
    WRONG(key, none, "1 to 1024 bytes");
    WRONG(key, long_one, "1 to 1024 bytes");
    WRONG(amount, 0, "1 or more");
    WRONG(amount, INT64_MIN, "1 or more");
    WRONG(lease_ms, 0, "30 days");
    WRONG(lease_ms, LETHE_LEASE_LIMIT_MS + 1, "30 days");
    WRONG(flags, LETHE_CHANGE_BUCKET, "does not have");
    WRONG(flags, LETHE_CHANGE_MIN, "does not have");
    WRONG(resolution, 1, "does not have");
    REFUSED(lethe_hold_settle(NULL, id, 1, 0, &answer, NULL));
    REFUSED(lethe_hold_settle(store, id, 1, 0, NULL, NULL));
    REFUSED(lethe_hold_settle(store, none, 1, 0, &answer, NULL));
    REFUSED(lethe_hold_settle(store, id, -1, 0, &answer, NULL));
    REFUSED(lethe_hold_settle(store, id, 1, 2, &answer, NULL));
    REFUSED(lethe_hold_release(NULL, id, &answer));
    REFUSED(lethe_hold_release(store, id, NULL));
    REFUSED(lethe_hold_release(store, long_one, &answer));
    REFUSED(lethe_hold_get(NULL, id, &shown));
    REFUSED(lethe_hold_get(store, id, NULL));
    REFUSED(lethe_hold_get(store, id, &unsized));
    REFUSED(lethe_hold_get(store, none, &shown));
    REFUSED(lethe_holds_each(NULL, none, see, &seen));
    REFUSED(lethe_holds_each(store, none, NULL, &seen));
    REFUSED(lethe_holds_each(store, half, see, &seen));
    REFUSED(lethe_holds_each(store, long_one, see, &seen));
    REFUSED(lethe_holds_info(NULL, &no_stats));
    REFUSED(lethe_holds_info(store, NULL));
    REFUSED(lethe_holds_info(store, &no_stats));
    lethe_hold_free(NULL);
    assert_ok(lethe_holds_each(store, none, see, &seen));
    assert_int_equal(seen, 0);
    assert_string_equal(lethe_hold_answer_name((lethe_hold_answer)99), "?");
    assert_string_equal(lethe_hold_answer_name(LETHE_HOLD_UNKNOWN), "unknown");
    assert_string_equal(lethe_hold_state_name(LETHE_HOLD_IS_RELEASED), "released");
    test_store_close(store);
}

static void some_stores_have_none(void **state) {
    (void)state;
    lethe_hold hold = hold_of("i", "k", 1, 10);
    lethe_hold_answer answer;
    uint32_t hour;
    lethe_store_options options = usual;
    options.sketch_bytes = 4096;
    lethe_store *store = test_store_open(folder.path, options);
    REFUSED(lethe_hold_place(store, &hold, &answer, NULL));
    test_store_explains(store, "sketch");
    REFUSED(lethe_hold_settle(store, hold.id, 1, 0, &answer, NULL));
    REFUSED(lethe_hold_release(store, hold.id, &answer));
    test_store_close(store);
    store = test_store_open_reader(folder.path);
    REFUSED(lethe_hold_place(store, &hold, &answer, NULL));
    test_store_explains(store, "to read only");
    test_store_close(store);
    test_folder_remove(&folder);
    test_folder_make(&folder);
    options = usual;
    options.event_time = LETHE_SWITCH_ON;
    options.per = "1h";
    store = test_store_open(folder.path, options);
    assert_ok(lethe_store_resolution(store, "1h", &hour));
    hold.flags = LETHE_CHANGE_BUCKET;
    hold.resolution = hour;
    REFUSED(lethe_hold_place(store, &hold, &answer, NULL));
    test_store_explains(store, "event time");
    test_store_close(store);
}

static void set(lethe_store *store, const char *key, int64_t value) {
    lethe_bytes bytes = test_text(key);
    assert_ok(lethe_store_set(store, &bytes, &value, 1));
}

static void sums_that_do_not_fit_are_answered_so(void **state) {
    (void)state;
    lethe_store_options options = usual;
    options.per = "1y";
    lethe_store *store = test_store_open(folder.path, options);
    /* What is held alone. */
    set(store, "k", INT64_MIN);
    assert_int_equal(place(store, "a", INT64_MAX, INT64_MAX), LETHE_HOLD_HELD);
    assert_int_equal(place(store, "b", 1, INT64_MAX), LETHE_HOLD_OVERFLOW);
    assert_int_equal(stats_of(store).open, 1);
    assert_int_equal(settle(store, "a", 0), LETHE_HOLD_SETTLED);
    /* The bucket, where the counter has room. */
    assert_int_equal(test_store_apply(store, "op", "k", INT64_MAX, 0), LETHE_OUTCOME_APPLIED);
    set(store, "k", 0);
    assert_int_equal(place(store, "c", 1, 100), LETHE_HOLD_OVERFLOW);
    /* A counter that was raised after the hold; nothing is half done. */
    set(store, "m", 0);
    lethe_hold hold = hold_of("d", "m", 5, 100);
    lethe_hold_answer answer;
    assert_ok(lethe_hold_place(store, &hold, &answer, NULL));
    assert_int_equal(answer, LETHE_HOLD_HELD);
    set(store, "m", INT64_MAX);
    assert_int_equal(settle(store, "d", 1), LETHE_HOLD_OVERFLOW);
    assert_int_equal(test_store_value(store, "m"), INT64_MAX);
    assert_int_equal(stats_of(store).open, 1);
    assert_int_equal(settle(store, "d", 0), LETHE_HOLD_SETTLED);
    test_store_close(store);
}

/* While a hold's end is not recorded on disk, others are placed in its room: all of them together
 * may be more than fits, and the store opens all the same. */
static void lapsed_holds_are_not_added_up(void **state) {
    (void)state;
    enum { LAPSING = 8 };
    lethe_hold_answer answer;
    lethe_store *store = test_store_open(folder.path, usual);
    for (unsigned i = 0; i < LAPSING; i++) {
        char id[16];
        snprintf(id, sizeof id, "%u", i);
        lethe_hold hold = hold_of(id, "k", INT64_MAX / LAPSING, INT64_MAX);
        hold.lease_ms = 400;
        assert_ok(lethe_hold_place(store, &hold, &answer, NULL));
        assert_int_equal(answer, LETHE_HOLD_HELD);
    }
    while (stats_of(store).open > 0)
        usleep(1000);
    assert_int_equal(place(store, "large", INT64_MAX, INT64_MAX), LETHE_HOLD_HELD);
    test_store_close(store);
    store = test_store_open(folder.path, usual);
    assert_int_equal(stats_of(store).open, 1);
    assert_int_equal(stats_of(store).held, INT64_MAX);
    assert_int_equal(place(store, "more", 1, INT64_MAX), LETHE_HOLD_LIMITED);
    assert_int_equal(settle(store, "0", 1), LETHE_HOLD_LIMITED); /* a new take */
    assert_int_equal(settle(store, "large", 7), LETHE_HOLD_SETTLED);
    assert_int_equal(settle(store, "0", 1), LETHE_HOLD_SETTLED);
    assert_int_equal(test_store_value(store, "k"), 8);
    assert_int_equal(stats_of(store).ended, LAPSING + 1);
    test_store_close(store);
}

static void wait_for_fold(lethe_store *store) {
    lethe_engine_enter(store);
    while (store->fold.running || store->fold.wanted)
        lethe_os_condition_wait(&store->log.done, &store->lock);
    lethe_engine_leave(store);
}

/* A settlement that does not fit has listed its counter in a group that nothing else is in. A fold
 * that ends then gives counters up, and moves the others. */
static void a_settlement_that_does_not_fit_is_in_its_group(void **state) {
    (void)state;
    enum { ROUNDS = 8 };
    lethe_store_options options = usual;
    options.counters_memory_bytes = 1; /* each commit is followed by such a fold */
    lethe_store *store = test_store_open(folder.path, options);
    set(store, "k", 0);
    assert_int_equal(place(store, "d", 5, 100), LETHE_HOLD_HELD);
    set(store, "k", INT64_MAX);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct test_folder killed;
        char id[16], key[32];
        snprintf(id, sizeof id, "%u", i);
        snprintf(key, sizeof key, "key-%u", i);
        wait_for_fold(store);
        assert_int_equal(test_store_apply(store, id, key, 1, 0), LETHE_OUTCOME_APPLIED);
        assert_int_equal(settle(store, "d", 1), LETHE_HOLD_OVERFLOW);
        wait_for_fold(store);
        test_store_kill(&folder, &killed);
        lethe_store *copy = test_store_open(killed.path, usual);
        assert_int_equal(test_store_value(copy, "k"), INT64_MAX);
        assert_int_equal(test_store_value(copy, key), 1);
        assert_int_equal(test_store_stats(copy).counters, i + 2);
        test_store_close(copy);
        test_folder_remove(&killed);
    }
    test_store_close(store);
}

/* --- threads --- */

struct worker {
    lethe_store *store;
    unsigned number, held, taken;
};

static void *compete(void *context) {
    struct worker *worker = context;
    for (unsigned i = 0; i < EACH; i++) {
        char id[32];
        lethe_hold_answer answer;
        lethe_limit limit;
        snprintf(id, sizeof id, "%u-%u", worker->number, i);
        lethe_hold hold = hold_of(id, "k", 3, 100);
        assert_ok(lethe_hold_place(worker->store, &hold, &answer, &limit));
        worker->held += answer == LETHE_HOLD_HELD;
        if (answer == LETHE_HOLD_HELD && i % 3 == 0) {
            assert_ok(lethe_hold_settle(worker->store, hold.id, 1, 0, &answer, NULL));
            assert_int_equal(answer, LETHE_HOLD_SETTLED);
        }
        lethe_change change = {.key = hold.key, .delta = 1, .flags = LETHE_CHANGE_MAX, .max = 100};
        lethe_operation operation = {.id = hold.id, .changes = &change, .change_count = 1};
        uint8_t outcome;
        assert_ok(lethe_store_apply(worker->store, &operation, 1, &outcome, NULL));
        worker->taken += outcome == LETHE_OUTCOME_APPLIED;
    }
    return NULL;
}

static void a_limit_holds_among_threads(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    struct worker workers[THREADS] = {0};
    lethe_store *store = test_store_open(folder.path, usual);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.store = store, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, compete, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    int64_t value = test_store_value(store, "k"), held = 3 * (int64_t)stats_of(store).open;
    assert_true(value + held <= 100 && value + held > 97);
    test_store_close(store);
}

/* --- memory --- */

static void failed_allocations_change_nothing(void **state) {
    (void)state;
    bool succeeded = false;
    unsigned failures = 0;
    for (size_t n = 0; !succeeded; n++) {
        struct test_heap heap;
        test_heap_init(&heap, SIZE_MAX);
        lethe_store_options options = usual;
        options.allocator = &heap.allocator;
        lethe_store *store = test_store_open(folder.path, options);
        lethe_hold hold = hold_of("i", "k", 7, 10);
        lethe_hold_answer answer;
        heap.fail_at = heap.allocations + n;
        lethe_status status = lethe_hold_place(store, &hold, &answer, NULL);
        heap.fail_at = SIZE_MAX;
        succeeded = status == LETHE_OK;
        if (!succeeded) assert_int_equal(status, LETHE_ENOMEM);
        lethe_status closed = lethe_store_close(store, NULL);
        (void)closed; /* the failed one may have been of the commit */
        assert_int_equal(heap.live_bytes, 0);
        store = test_store_open(folder.path, usual);
        if (succeeded) assert_int_equal(stats_of(store).open, 1);
        bool is_there = stats_of(store).open == 1;
        assert_int_equal(place(store, "i", 7, 10),
                         is_there ? LETHE_HOLD_DUPLICATE : LETHE_HOLD_HELD);
        assert_int_equal(place(store, "j", 4, 10), LETHE_HOLD_LIMITED);
        assert_int_equal(settle(store, "i", 0), LETHE_HOLD_SETTLED);
        test_store_close(store);
        failures += !succeeded;
        test_folder_remove(&folder);
        test_folder_make(&folder);
    }
    assert_true(failures >= 3);
}

/* --- damage --- */

/* A store with holds of which one record is removed. Opening it finds that a hold is missing; check
 * finds all. */
static void find_missing(lethe_bytes key, bool opens) {
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    lethe_detail detail = {""};
    struct test_folder own;
    test_folder_make(&own);
    lethe_store *store = test_store_open(own.path, usual);
    assert_int_equal(place(store, "open", 1, 10), LETHE_HOLD_HELD);
    assert_int_equal(place(store, "over", 1, 10), LETHE_HOLD_HELD);
    assert_int_equal(settle(store, "over", 1), LETHE_HOLD_SETTLED);
    test_store_close(store);
    assert_ok(lethe_store_check(own.path, &health, &detail));
    assert_int_equal(health.holds, 2);
    test_store_write_record(own.path, LETHE_FAMILY_CLAIMS, key, (lethe_bytes){0});
    assert_int_equal(lethe_store_check(own.path, &health, &detail), LETHE_ECORRUPT);
    assert_non_null(strstr(detail.text, "restore a backup"));
    lethe_status expected = opens ? LETHE_OK : LETHE_ECORRUPT;
    assert_int_equal(test_store_try_open(own.path, usual, &store, &detail), expected);
    if (opens) test_store_close(store);
    test_folder_remove(&own);
}

static void damage_is_found(void **state) {
    (void)state;
    lethe_claim_key key;
    find_missing((lethe_bytes){"", 0}, false);
    find_missing(test_text("hopen"), false);
    find_missing(test_text("hover"), false);
    lethe_claim_key_of_number(LETHE_HOLD_ENDED_AT, 1, &key);
    find_missing(lethe_claim_key_bytes(&key), true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(wrong_arguments_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(some_stores_have_none, setup, teardown),
        cmocka_unit_test_setup_teardown(sums_that_do_not_fit_are_answered_so, setup, teardown),
        cmocka_unit_test_setup_teardown(lapsed_holds_are_not_added_up, setup, teardown),
        cmocka_unit_test_setup_teardown(a_settlement_that_does_not_fit_is_in_its_group, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_limit_holds_among_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_allocations_change_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_is_found, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Goal:   what the header says of bounds and of giving up, rule by rule: what is invalid, what is
 *         judged together, what a refusal leaves behind, and that threads never pass a limit.
 * Method: small stores, one for each rule; bounds at the ends of int64; many threads that take from
 *         one counter; a copy of the folder while the store is open. */
#include "support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/store.h"

static const lethe_store_options usual = {
    .window_ms = 86400000, .error = 1e-12, .create = true, .per = "1h,1d"};

static lethe_store_options with(lethe_store_options options, const char *mode) {
    if (strcmp(mode, "event time") == 0) options.event_time = LETHE_SWITCH_ON;
    if (strcmp(mode, "exact") == 0) options.exact = LETHE_SWITCH_ON;
    if (strcmp(mode, "check payload") == 0) options.check_payload = LETHE_SWITCH_ON;
    if (strcmp(mode, "for ever") == 0) {
        options.forever = LETHE_SWITCH_ON;
        options.ledger_memory_bytes = 1 << 22;
    }
    if (strcmp(mode, "forgetful") == 0) options.forgetful = LETHE_SWITCH_ON;
    return options;
}

static lethe_change up_to(const char *key, int64_t delta, int64_t max) {
    return (lethe_change){
        .key = test_text(key), .delta = delta, .flags = LETHE_CHANGE_MAX, .max = max};
}

static lethe_change down_to(const char *key, int64_t delta, int64_t min) {
    return (lethe_change){
        .key = test_text(key), .delta = delta, .flags = LETHE_CHANGE_MIN, .min = min};
}

static lethe_change per(lethe_change change, uint32_t resolution) {
    change.flags |= LETHE_CHANGE_BUCKET;
    change.resolution = resolution;
    return change;
}

static lethe_outcome apply(lethe_store *store, const char *id, const lethe_change *changes,
                           size_t count, lethe_limit *limits) {
    static lethe_limit unused[16];
    uint8_t outcome = 99;
    lethe_operation operation = {.id = test_text(id),
                                 .changes = changes,
                                 .change_count = count,
                                 .time_ms = UINT64_C(1600000000000)};
    assert_ok(lethe_store_apply_bounded(store, &operation, 1, &outcome,
                                        limits != NULL ? limits : unused));
    return (lethe_outcome)outcome;
}

static lethe_outcome take(lethe_store *store, const char *id, lethe_change change) {
    return apply(store, id, &change, 1, NULL);
}

static lethe_outcome give_up(lethe_store *store, const char *id) {
    uint8_t outcome = 99;
    lethe_operation operation = {
        .id = test_text(id), .flags = LETHE_OPERATION_GIVE_UP, .time_ms = UINT64_C(1600000000000)};
    assert_ok(lethe_store_apply(store, &operation, 1, &outcome, NULL));
    return (lethe_outcome)outcome;
}

/* A store in a folder of its own. */
static struct test_folder folder;
static lethe_store *begin(lethe_store_options options) {
    test_folder_make(&folder);
    return test_store_open(folder.path, options);
}
static void end(lethe_store *store) {
    test_store_close(store);
    test_folder_remove(&folder);
}

static void a_bound_judges_its_direction(void **state) {
    (void)state;
    lethe_store *store = begin(usual);
    lethe_limit limit;
    lethe_change change = up_to("k", 60, 100);
    assert_int_equal(apply(store, "1", &change, 1, &limit), LETHE_OUTCOME_APPLIED);
    assert_int_equal(limit.value, 60);
    assert_int_equal(limit.left, 40);
    assert_int_equal(limit.resets_ms, LETHE_NEVER_RESETS);
    assert_int_equal(apply(store, "2", &change, 1, &limit), LETHE_OUTCOME_LIMITED);
    assert_int_equal(limit.value, 60);
    assert_int_equal(limit.left, 40);
    assert_true(limit.is_crossed);
    assert_int_equal(take(store, "3", up_to("k", 40, 100)), LETHE_OUTCOME_APPLIED);
    /* The limit is lowered: nothing more comes in, and giving back is free. */
    assert_int_equal(take(store, "4", up_to("k", 1, 50)), LETHE_OUTCOME_LIMITED);
    assert_int_equal(take(store, "5", up_to("k", -10, 50)), LETHE_OUTCOME_APPLIED);
    assert_int_equal(take(store, "6", up_to("k", 0, 50)), LETHE_OUTCOME_APPLIED);
    assert_int_equal(take(store, "7", down_to("k", -91, 0)), LETHE_OUTCOME_LIMITED);
    assert_int_equal(take(store, "8", down_to("k", -90, 0)), LETHE_OUTCOME_APPLIED);
    assert_int_equal(take(store, "9", down_to("k", 5, 1000)), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_value(store, "k"), 5);
    assert_int_equal(test_store_stats(store).limited, 3);
    assert_int_equal(test_store_stats(store).refused, 0);
    end(store);
}

/* A transfer, whose two sides hold or fall together; several bounds on one key. */
static void changes_are_judged_together(void **state) {
    (void)state;
    lethe_store *store = begin(usual);
    lethe_limit limits[3];
    assert_int_equal(take(store, "in", up_to("a", 100, 100)), LETHE_OUTCOME_APPLIED);
    lethe_change transfer[] = {down_to("a", -70, 0), up_to("b", 70, 50)};
    assert_int_equal(apply(store, "t1", transfer, 2, limits), LETHE_OUTCOME_LIMITED);
    assert_false(limits[0].is_crossed);
    assert_true(limits[1].is_crossed);
    assert_int_equal(test_store_value(store, "a"), 100);
    transfer[1].max = 70;
    assert_int_equal(apply(store, "t1", transfer, 2, limits), LETHE_OUTCOME_APPLIED);
    /* What is given back in the same operation counts. */
    lethe_change both_ways[] = {up_to("b", 50, 75), {.key = test_text("b"), .delta = -45}};
    assert_int_equal(apply(store, "t2", both_ways, 2, limits), LETHE_OUTCOME_APPLIED);
    assert_int_equal(limits[0].value, 75);
    lethe_change more[] = {up_to("b", 5, 1000), per(up_to("b", 0, 80), 0),
                           per(up_to("b", 0, 79), 1)};
    assert_int_equal(apply(store, "t3", more, 3, limits), LETHE_OUTCOME_LIMITED);
    assert_false(limits[0].is_crossed || limits[1].is_crossed);
    assert_true(limits[2].is_crossed);
    assert_true(limits[2].resets_ms > 0 && limits[2].resets_ms <= 86400000);
    more[2].max = 80;
    assert_int_equal(apply(store, "t3", more, 3, limits), LETHE_OUTCOME_APPLIED);
    end(store);
}

static void what_no_store_can_judge_is_invalid(void **state) {
    (void)state;
    lethe_store *store = begin(usual);
    lethe_change good = per(up_to("k", 1, 5), 1);
    lethe_change wrong[] = {good, good, good, good, good};
    wrong[0].resolution = 2;
    wrong[1].resolution = UINT32_MAX;
    wrong[2].flags = LETHE_CHANGE_BUCKET; /* of no bound */
    wrong[3].flags = LETHE_CHANGE_MAX;    /* the resolution is of no bucket */
    wrong[4].flags |= 8;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(take(store, "id", wrong[i]), LETHE_OUTCOME_INVALID);
    lethe_operation with_changes = {.id = test_text("id"),
                                    .changes = &good,
                                    .change_count = 1,
                                    .flags = LETHE_OPERATION_GIVE_UP};
    uint8_t outcome;
    assert_ok(lethe_store_apply(store, &with_changes, 1, &outcome, NULL));
    assert_int_equal(outcome, LETHE_OUTCOME_INVALID);
    with_changes = (lethe_operation){.id = test_text("id")}; /* nor changes nor the flag */
    assert_ok(lethe_store_apply(store, &with_changes, 1, &outcome, NULL));
    assert_int_equal(outcome, LETHE_OUTCOME_INVALID);
    assert_int_equal(take(store, "id", good), LETHE_OUTCOME_APPLIED);
    uint32_t which = 9;
    assert_ok(lethe_store_resolution(store, "60m", &which));
    assert_int_equal(which, 0);
    assert_ok(lethe_store_resolution(store, "1d", &which));
    assert_int_equal(which, 1);
    assert_int_equal(lethe_store_resolution(store, "1y", &which), LETHE_ENOTFOUND);
    assert_int_equal(lethe_store_resolution(store, "", &which), LETHE_ENOTFOUND);
    end(store);
    /* By the time of events, whoever is late would choose a bucket that has room. */
    store = begin(with(usual, "event time"));
    assert_int_equal(take(store, "id", good), LETHE_OUTCOME_INVALID);
    assert_int_equal(take(store, "id", up_to("k", 6, 5)), LETHE_OUTCOME_LIMITED);
    assert_int_equal(take(store, "id", up_to("k", 5, 5)), LETHE_OUTCOME_APPLIED);
    end(store);
    /* An estimate is no value to hold anybody to; giving up needs none. */
    lethe_store_options sketch = usual;
    sketch.per = NULL;
    sketch.sketch_bytes = 1 << 16;
    store = begin(sketch);
    assert_int_equal(take(store, "id", up_to("k", 1, 5)), LETHE_OUTCOME_INVALID);
    assert_int_equal(take(store, "id", down_to("k", -1, 0)), LETHE_OUTCOME_INVALID);
    assert_int_equal(give_up(store, "id"), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "id", 0), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_stats(store).invalid, 2);
    end(store);
}

static void the_ends_of_int64_are_bounds_too(void **state) {
    (void)state;
    lethe_store *store = begin(usual);
    lethe_limit limit;
    lethe_change change = up_to("k", INT64_MAX, INT64_MAX);
    assert_int_equal(apply(store, "1", &change, 1, &limit), LETHE_OUTCOME_APPLIED);
    assert_int_equal(limit.left, 0);
    /* It would overflow as well. */
    assert_int_equal(take(store, "2", up_to("k", 1, INT64_MAX)), LETHE_OUTCOME_LIMITED);
    assert_int_equal(take(store, "2", down_to("k", 1, INT64_MIN)), LETHE_OUTCOME_OVERFLOW);
    assert_int_equal(take(store, "3", up_to("low", INT64_MIN, 0)), LETHE_OUTCOME_APPLIED);
    assert_int_equal(take(store, "4", down_to("low", -1, INT64_MIN)), LETHE_OUTCOME_LIMITED);
    change = up_to("low", 1, INT64_MAX);
    assert_int_equal(apply(store, "5", &change, 1, &limit), LETHE_OUTCOME_APPLIED);
    assert_int_equal(limit.left, INT64_MAX); /* there is more than that */
    assert_int_equal(test_store_value(store, "k"), INT64_MAX);
    assert_int_equal(test_store_stats(store).overflow, 1);
    end(store);
}

/* As many changes as there may be, all of one key, all with bounds. */
static void many_bounds_are_judged_in_time(void **state) {
    (void)state;
    lethe_store *store = begin(usual);
    enum { MANY = LETHE_CHANGES_LIMIT };
    lethe_change *changes = malloc(MANY * sizeof *changes);
    lethe_limit *limits = malloc(MANY * sizeof *limits);
    assert_true(changes != NULL && limits != NULL);
    for (size_t i = 0; i < MANY; i++)
        changes[i] = up_to("k", 1, i == MANY / 2 ? MANY - 1 : MANY);
    assert_int_equal(apply(store, "1", changes, MANY, limits), LETHE_OUTCOME_LIMITED);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(limits[i].is_crossed, i == MANY / 2);
    changes[MANY / 2].max = MANY;
    assert_int_equal(apply(store, "1", changes, MANY, limits), LETHE_OUTCOME_APPLIED);
    assert_int_equal(limits[0].value, MANY);
    free(changes);
    free(limits);
    end(store);
}

static const char *const modes[] = {"plain",         "event time", "exact",
                                    "check payload", "for ever",   "forgetful"};

/* In each mode, over a kill and a restart: a refusal is not remembered, a grant is. */
static void a_refusal_is_not_remembered(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        lethe_store_options options = with(usual, modes[i]);
        struct test_folder other;
        lethe_store *store = begin(options);
        assert_int_equal(take(store, "granted", up_to("k", 5, 5)), LETHE_OUTCOME_APPLIED);
        assert_int_equal(take(store, "refused", up_to("k", 1, 5)), LETHE_OUTCOME_LIMITED);
        assert_int_equal(take(store, "refused", up_to("k", 1, 5)), LETHE_OUTCOME_LIMITED);
        assert_int_equal(take(store, "given up", up_to("k", 1, 5)), LETHE_OUTCOME_LIMITED);
        assert_int_equal(give_up(store, "given up"), LETHE_OUTCOME_APPLIED);
        test_folder_make(&other);
        test_store_kill(&folder, &other);
        test_store_close(store);
        test_folder_remove(&folder);
        folder = other;
        store = test_store_open(folder.path, options);
        lethe_store_stats stats = test_store_stats(store);
        assert_int_equal(stats.limited, 3);
        assert_int_equal(stats.applied, 2);
        /* Other bounds make no other operation, and no second debit. */
        bool checks = strcmp(modes[i], "check payload") == 0;
        lethe_outcome differs = checks ? LETHE_OUTCOME_MISMATCH : LETHE_OUTCOME_DUPLICATE;
        lethe_limit limit;
        lethe_change again = up_to("k", 5, 50);
        assert_int_equal(apply(store, "granted", &again, 1, &limit), LETHE_OUTCOME_DUPLICATE);
        assert_int_equal(limit.value, 5);
        assert_int_equal(limit.left, 45);
        lethe_change more[] = {up_to("k", 0, 3), up_to("k", 5, 4), down_to("k", 0, 7)};
        assert_int_equal(apply(store, "granted", more, 3, NULL), LETHE_OUTCOME_DUPLICATE);
        assert_int_equal(take(store, "refused", up_to("k", 1, 6)), LETHE_OUTCOME_APPLIED);
        assert_int_equal(take(store, "refused", up_to("k", 1, 5)), LETHE_OUTCOME_DUPLICATE);
        assert_int_equal(take(store, "given up", up_to("k", 1, 100)), differs);
        assert_int_equal(give_up(store, "given up"), LETHE_OUTCOME_DUPLICATE);
        assert_int_equal(give_up(store, "granted"), differs);
        assert_int_equal(test_store_value(store, "k"), 6);
        test_store_close(store);
        lethe_store_health health = LETHE_INIT(lethe_store_health);
        assert_ok(lethe_store_check(folder.path, &health, NULL));
        assert_int_equal(health.log_ids, 3);
        test_folder_remove(&folder);
    }
}

/* Goal:   with check_payload, bounds make no other operation, and a change of 0 is a change. */
static void a_change_of_zero_is_a_change(void **state) {
    (void)state;
    lethe_store *store = begin(with(usual, "check payload"));
    lethe_change ann = {.key = test_text("ann")}, bob = {.key = test_text("bob")};
    assert_int_equal(take(store, "e1", ann), LETHE_OUTCOME_APPLIED);
    assert_int_equal(take(store, "e1", up_to("ann", 0, 5)), LETHE_OUTCOME_DUPLICATE);
    lethe_change twice[] = {up_to("ann", 0, 5), down_to("ann", 0, -5)};
    assert_int_equal(apply(store, "e1", twice, 2, NULL), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(take(store, "e1", up_to("bob", 0, 5)), LETHE_OUTCOME_MISMATCH);
    assert_int_equal(take(store, "e1", bob), LETHE_OUTCOME_MISMATCH);
    assert_int_equal(give_up(store, "e1"), LETHE_OUTCOME_MISMATCH);
    assert_int_equal(apply(store, "e2", twice, 2, NULL), LETHE_OUTCOME_APPLIED);
    assert_int_equal(take(store, "e2", ann), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(take(store, "e2", bob), LETHE_OUTCOME_MISMATCH);
    /* Several keys, some of which are not changed. */
    lethe_change plain[] = {{.key = test_text("ann"), .delta = 2}, bob};
    lethe_change bounded[] = {up_to("bob", 0, 5), up_to("ann", 0, 9), up_to("ann", 2, 5),
                              down_to("bob", 0, -1)};
    lethe_change another[] = {up_to("carl", 0, 5), up_to("ann", 2, 5)};
    assert_int_equal(apply(store, "e3", plain, 2, NULL), LETHE_OUTCOME_APPLIED);
    assert_int_equal(apply(store, "e3", bounded, 4, NULL), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(apply(store, "e3", another, 2, NULL), LETHE_OUTCOME_MISMATCH);
    assert_int_equal(apply(store, "e4", bounded, 4, NULL), LETHE_OUTCOME_APPLIED);
    assert_int_equal(apply(store, "e4", plain, 2, NULL), LETHE_OUTCOME_DUPLICATE);
    /* One key twice, once with 0, with bounds on both and without. */
    lethe_change both[] = {ann, {.key = test_text("ann"), .delta = 0}, bob};
    lethe_change both_bounded[] = {up_to("ann", 0, 50), up_to("ann", 0, 50), up_to("bob", 0, 50)};
    assert_int_equal(apply(store, "e5", both, 3, NULL), LETHE_OUTCOME_APPLIED);
    assert_int_equal(apply(store, "e5", both_bounded, 3, NULL), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(apply(store, "e6", both_bounded, 3, NULL), LETHE_OUTCOME_APPLIED);
    assert_int_equal(apply(store, "e6", both, 3, NULL), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_value(store, "ann"), 4);
    end(store);
}

enum { THREADS = 4, TAKES = 60, LIMIT = 100 };
static lethe_store *shared;

static void *take_often(void *context) {
    size_t *granted = context;
    for (unsigned i = 0; i < TAKES; i++) {
        char id[40];
        snprintf(id, sizeof id, "%p-%u", context, i);
        lethe_change change = up_to("k", 1, LIMIT);
        lethe_operation operation = {.id = test_text(id), .changes = &change, .change_count = 1};
        uint8_t outcome = 99;
        if (lethe_store_apply(shared, &operation, 1, &outcome, NULL) != LETHE_OK) abort();
        *granted += outcome == LETHE_OUTCOME_APPLIED;
    }
    return NULL;
}

static void threads_never_pass_a_limit(void **state) {
    (void)state;
    shared = begin(usual);
    pthread_t threads[THREADS];
    size_t granted[THREADS] = {0}, sum = 0;
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_often, &granted[i]), 0);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += granted[i];
    }
    assert_int_equal(sum, LIMIT);
    assert_int_equal(test_store_value(shared, "k"), LIMIT);
    assert_int_equal(test_store_stats(shared).limited, THREADS * TAKES - LIMIT);
    end(shared);
}

static void arguments_are_checked(void **state) {
    (void)state;
    lethe_store *store = begin(usual);
    lethe_change change = up_to("k", 1, 1);
    lethe_operation operation = {.id = test_text("1"), .changes = &change, .change_count = 1};
    lethe_limit limit;
    uint8_t outcome;
    uint32_t which;
    assert_int_equal(lethe_store_apply_bounded(NULL, &operation, 1, &outcome, &limit),
                     LETHE_EINVAL);
    assert_int_equal(lethe_store_apply_bounded(store, NULL, 1, &outcome, &limit), LETHE_EINVAL);
    assert_int_equal(lethe_store_apply_bounded(store, &operation, 1, NULL, &limit), LETHE_EINVAL);
    assert_int_equal(lethe_store_apply_bounded(store, &operation, 1, &outcome, NULL), LETHE_EINVAL);
    assert_ok(lethe_store_apply_bounded(store, NULL, 0, NULL, NULL));
    assert_int_equal(lethe_store_resolution(NULL, "1h", &which), LETHE_EINVAL);
    assert_int_equal(lethe_store_resolution(store, NULL, &which), LETHE_EINVAL);
    assert_int_equal(lethe_store_resolution(store, "1h", NULL), LETHE_EINVAL);
    lethe_store *reader = test_store_open_reader(folder.path);
    assert_int_equal(lethe_store_apply_bounded(reader, &operation, 1, &outcome, &limit),
                     LETHE_EINVAL);
    assert_ok(lethe_store_resolution(reader, "1d", &which));
    test_store_close(reader);
    end(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_judges_its_direction),
        cmocka_unit_test(changes_are_judged_together),
        cmocka_unit_test(what_no_store_can_judge_is_invalid),
        cmocka_unit_test(the_ends_of_int64_are_bounds_too),
        cmocka_unit_test(many_bounds_are_judged_in_time),
        cmocka_unit_test(a_refusal_is_not_remembered),
        cmocka_unit_test(a_change_of_zero_is_a_change),
        cmocka_unit_test(threads_never_pass_a_limit),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Goal:   marks are durable in the same commit as the operations that they belong to, with a step
 *         in between or without; and a commit that is asked for ends a group.
 * Method: marks that are set, replaced and removed; steps that succeed and fail; the store is
 *         opened again after each. Tickets show which operations are in one commit. */
#include "support/test.h"

#include <string.h>

#include "support/store.h"

enum { START_MS = 1000000000, WINDOW_MS = 60000 };

static const lethe_store_options usual = {
    .window_ms = WINDOW_MS, .error = 1e-9, .event_time = true, .create = true};

static bool count_mark(void *context, const lethe_mark *mark) {
    unsigned *seen = context;
    if (mark->name.size == 6 && memcmp(mark->name.data, "file-a", 6) == 0) {
        assert_int_equal(mark->value.size, 3);
        assert_memory_equal(mark->value.data, "two", 3);
    }
    (*seen)++;
    return true;
}

static void marks_are_kept(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options widest = usual;
    widest.commit_operations = LETHE_CHANGES_LIMIT;
    lethe_store *store = test_store_open(folder.path, widest);
    lethe_mark marks[] = {{test_text("file-a"), test_text("one")},
                          {test_text("file-b"), test_text("x")}};
    lethe_mark later[] = {{test_text("file-a"), test_text("two")}, {test_text("file-b"), {0}}};
    uint64_t ticket;
    assert_ok(lethe_store_submit(store, NULL, 0, marks, 2, NULL, NULL, &ticket));
    assert_ok(lethe_store_submit(store, NULL, 0, later, 2, NULL, NULL, &ticket));
    assert_ok(lethe_store_wait(store, ticket));
    assert_true(lethe_store_is_done(store, ticket));
    static char long_name[1025];
    lethe_mark bad = {{long_name, 1025}, test_text("x")};
    assert_int_equal(lethe_store_submit(store, NULL, 0, &bad, 1, NULL, NULL, &ticket),
                     LETHE_EINVAL);
    /* With operations they are durable in one step, so these must fit into one commit. */
    lethe_change change = {.key = test_text("k"), .delta = 1};
    lethe_operation operation = {
        .id = test_text("i"), .changes = &change, .change_count = 1, .time_ms = START_MS};
    static lethe_operation many[LETHE_CHANGES_LIMIT + 1];
    static uint8_t outcomes[LETHE_CHANGES_LIMIT + 1];
    for (size_t i = 0; i <= LETHE_CHANGES_LIMIT; i++) {
        many[i] = operation;
    }
    uint64_t first, second;
    assert_int_equal(
        lethe_store_submit(store, many, LETHE_CHANGES_LIMIT + 1, later, 1, outcomes, NULL, &ticket),
        LETHE_EINVAL);
    assert_ok(lethe_store_submit(store, many, 1, NULL, 0, outcomes, NULL, &first));
    assert_ok(
        lethe_store_submit(store, many, LETHE_CHANGES_LIMIT, later, 1, outcomes, NULL, &second));
    assert_int_equal(second, first + 1);
    test_store_close(store);
    store = test_store_open(folder.path, usual);
    unsigned seen = 0;
    assert_ok(lethe_store_marks(store, count_mark, &seen));
    assert_int_equal(seen, 1);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* What a step between deciding and committing was told, and what it makes of it. */
struct step {
    uint8_t outcomes[3];
    lethe_status status;
    char value[2];
};

static lethe_status take_step(void *context, const uint8_t *outcomes, lethe_mark *marks) {
    struct step *step = context;
    memcpy(step->outcomes, outcomes, sizeof step->outcomes);
    step->value[0] = (char)('0' + (outcomes[0] == LETHE_OUTCOME_APPLIED));
    marks[0].value = (lethe_bytes){step->value, 1};
    return step->status;
}

static bool take_value(void *context, const lethe_mark *mark) {
    assert_int_equal(mark->value.size, 1);
    *(char *)context = *(const char *)mark->value.data;
    return true;
}

/* Goal:   a step between deciding and committing knows the outcomes, has its mark in the same
 *         commit, and if it fails nothing of the operations is there when the store is opened
 *         again. */
static void a_step_before_the_commit(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_change change = {.key = {"k", 1}, .delta = 1};
    const char *const ids[] = {"a", "a", "b"};
    for (unsigned round = 0; round < 3; round++) {
        struct step step = {.status = round == 1 ? LETHE_EIO : LETHE_OK};
        lethe_store *store = test_store_open(folder.path, usual);
        lethe_operation operations[3];
        for (size_t i = 0; i < 3; i++) {
            operations[i] = (lethe_operation){
                .id = {ids[i], 1}, .changes = &change, .change_count = 1, .time_ms = START_MS};
        }
        if (round == 1) operations[2].id = (lethe_bytes){"c", 1};
        lethe_mark mark = {.name = {"m", 1}};
        uint64_t ticket;
        uint8_t outcomes[3];
        assert_int_equal(lethe_store_submit_with(store, operations, 3, &mark, 0, outcomes, NULL,
                                                 take_step, &step, &ticket),
                         LETHE_EINVAL);
        assert_int_equal(lethe_store_submit_with(store, operations, 3, &mark, 1, outcomes, NULL,
                                                 take_step, &step, &ticket),
                         step.status);
        assert_int_equal(step.outcomes[0],
                         round == 0 ? LETHE_OUTCOME_APPLIED : LETHE_OUTCOME_DUPLICATE);
        assert_int_equal(step.outcomes[1], LETHE_OUTCOME_DUPLICATE);
        assert_int_equal(step.outcomes[2],
                         round == 2 ? LETHE_OUTCOME_DUPLICATE : LETHE_OUTCOME_APPLIED);
        if (round == 1) {
            assert_int_equal(lethe_store_close(store, NULL), LETHE_EIO);
            continue;
        }
        assert_ok(lethe_store_wait(store, ticket));
        char value = 0;
        assert_ok(lethe_store_marks(store, take_value, &value));
        assert_int_equal(value, round == 0 ? '1' : '0');
        assert_int_equal(test_store_value(store, "k"), 2);
        test_store_close(store);
    }
    test_folder_remove(&folder);
}

static uint64_t submit(lethe_store *store, const char *id) {
    lethe_change change = {.key = test_text("k"), .delta = 1};
    lethe_operation operation = {
        .id = test_text(id), .changes = &change, .change_count = 1, .time_ms = START_MS};
    uint8_t outcome;
    uint64_t ticket;
    assert_ok(lethe_store_submit(store, &operation, 1, NULL, 0, &outcome, NULL, &ticket));
    return ticket;
}

static void a_commit_that_is_asked_for(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options slow = usual;
    slow.commit_interval_ms = 10000;
    lethe_store *store = test_store_open(folder.path, slow);
    uint64_t commits = test_store_stats(store).commits;
    assert_ok(lethe_store_commit(store)); /* of nothing */
    uint64_t ticket = submit(store, "a");
    assert_int_equal(submit(store, "b"), ticket);
    assert_ok(lethe_store_commit(store));
    assert_int_equal(submit(store, "c"), ticket + 1);
    assert_ok(lethe_store_wait(store, ticket));
    assert_int_equal(test_store_stats(store).commits, commits + 1);
    test_store_close(store);
    store = test_store_open_reader(folder.path);
    assert_int_equal(lethe_store_commit(store), LETHE_EINVAL);
    assert_int_equal(test_store_value(store, "k"), 3);
    test_store_close(store);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_kept),
        cmocka_unit_test(a_step_before_the_commit),
        cmocka_unit_test(a_commit_that_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Goal:   the edges of the engine's contract: bad options and operations, marks, the payload check, caps, other
 *         windows, a second writer, readers, backups, damaged stores, failed allocations.
 * Method: one store a test, small and by event time unless time itself is the subject. */
#include "support/test.h"

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lethe/counter.h"
#include "support/folder.h"
#include "support/heap.h"
#include "support/random.h"

enum { START_MS = 1000000000, WINDOW_MS = 60000 };

static const lethe_counter_options usual = {
    .window_ms = WINDOW_MS, .error = 1e-9, .event_time = true, .create = true};

static lethe_counter *open_with(const char *path, lethe_counter_options options) {
    lethe_detail detail = {""};
    lethe_counter *counter;
    lethe_status status = lethe_counter_open(path, &options, &counter, &detail);
    if (status != LETHE_OK) print_error("%s\n", detail.text);
    assert_ok(status);
    return counter;
}

static void close_it(lethe_counter *counter) {
    assert_ok(lethe_counter_close(counter, NULL));
}

static lethe_bytes text(const char *string) {
    return (lethe_bytes){string, strlen(string)};
}

static lethe_outcome apply_at(lethe_counter *counter, const char *id, const char *key,
                              int64_t delta, uint64_t time_ms) {
    lethe_change change = {.key = text(key), .delta = delta};
    lethe_operation operation = {
        .id = text(id), .changes = &change, .change_count = 1, .time_ms = time_ms};
    uint8_t outcome = 99;
    assert_ok(lethe_counter_apply(counter, &operation, 1, &outcome, NULL));
    return (lethe_outcome)outcome;
}

static int64_t value_of(lethe_counter *counter, const char *key) {
    lethe_bytes bytes = text(key);
    int64_t value;
    bool found;
    assert_ok(lethe_counter_get(counter, &bytes, 1, &value, &found));
    return value;
}

static void options_out_of_range_are_refused(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    const lethe_counter_options bad[] = {
        {.create = true, .window_ms = 999},
        {.create = true, .window_ms = 2592000001},
        {.create = true, .error = 0.2},
        {.create = true, .error = 1e-13},
        {.create = true, .error = -1},
        {.create = true, .error = 0.0 / 0.0},
        {.create = true, .commit_operations = 65537},
        {.create = true, .commit_interval_ms = 10001},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        lethe_counter *counter = (void *)&folder;
        lethe_detail detail = {""};
        assert_int_equal(lethe_counter_open(folder.path, &bad[i], &counter, &detail), LETHE_EINVAL);
        assert_null(counter);
        assert_true(detail.text[0] != '\0');
    }
    lethe_counter *counter;
    assert_int_equal(lethe_counter_open(folder.path, NULL, &counter, NULL), LETHE_ENOTFOUND);
    assert_int_equal(lethe_counter_open("/nonexistent/folder", &usual, &counter, NULL),
                     LETHE_ENOTFOUND);
    assert_int_equal(lethe_counter_open("/dev/null", &usual, &counter, NULL), LETHE_EINVAL);
    test_folder_remove(&folder);
}

static void a_folder_with_other_files_is_left_alone(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    char path[300];
    snprintf(path, sizeof path, "%s/letter.txt", folder.path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    lethe_counter *counter;
    assert_int_equal(lethe_counter_open(folder.path, &usual, &counter, NULL), LETHE_EINVAL);
    DIR *entries = opendir(folder.path);
    unsigned count = 0;
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    assert_int_equal(count, 3); /* itself, its parent, the letter */
    test_folder_remove(&folder);
}

static void operations_out_of_range_are_refused(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter *counter = open_with(folder.path, usual);
    static char long_text[1025];
    memset(long_text, 'x', sizeof long_text);
    lethe_change good = {.key = text("k"), .delta = 1}, empty = {.delta = 1},
                 long_key = {.key = {long_text, 1025}, .delta = 1},
                 longest_key = {.key = {long_text, 1024}, .delta = 1};
    const lethe_operation operations[] = {
        {.id = {"", 0}, .changes = &good, .change_count = 1, .time_ms = START_MS},
        {.id = {long_text, 1025}, .changes = &good, .change_count = 1, .time_ms = START_MS},
        {.id = text("a"), .changes = &empty, .change_count = 1, .time_ms = START_MS},
        {.id = text("a"), .changes = &long_key, .change_count = 1, .time_ms = START_MS},
        {.id = text("a"), .changes = &good, .change_count = 0, .time_ms = START_MS},
        {.id = {long_text, 1024}, .changes = &longest_key, .change_count = 1, .time_ms = START_MS},
    };
    uint8_t outcomes[6];
    assert_ok(lethe_counter_apply(counter, operations, 6, outcomes, NULL));
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(outcomes[i], LETHE_INVALID);
    }
    assert_int_equal(outcomes[5], LETHE_APPLIED);
    assert_int_equal(value_of(counter, "k"), 0);
    close_it(counter);
    test_folder_remove(&folder);
}

/* One operation on as many counters as it may touch, all of them or none. */
static void an_operation_may_touch_many_counters(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter *counter = open_with(folder.path, usual);
    lethe_change *changes = calloc(LETHE_CHANGES_LIMIT, sizeof *changes);
    char(*names)[16] = calloc(LETHE_CHANGES_LIMIT, sizeof *names);
    for (size_t i = 0; i < LETHE_CHANGES_LIMIT; i++) {
        changes[i].key = (lethe_bytes){names[i], (size_t)sprintf(names[i], "k%zu", i)};
        changes[i].delta = (int64_t)i;
    }
    lethe_operation operation = {.id = text("all"),
                                 .changes = changes,
                                 .change_count = LETHE_CHANGES_LIMIT,
                                 .time_ms = START_MS};
    uint8_t outcome;
    assert_ok(lethe_counter_apply(counter, &operation, 1, &outcome, NULL));
    assert_int_equal(outcome, LETHE_APPLIED);
    assert_int_equal(value_of(counter, "k65535"), 65535);
    /* The last one overflows: none changes. */
    changes[LETHE_CHANGES_LIMIT - 1].delta = INT64_MAX;
    operation.id = text("too much");
    assert_ok(lethe_counter_apply(counter, &operation, 1, &outcome, NULL));
    assert_int_equal(outcome, LETHE_OVERFLOW);
    assert_int_equal(value_of(counter, "k1"), 1);
    /* It was not applied, so it may come again in a form that fits. */
    changes[LETHE_CHANGES_LIMIT - 1].delta = 1;
    assert_ok(lethe_counter_apply(counter, &operation, 1, &outcome, NULL));
    assert_int_equal(outcome, LETHE_APPLIED);
    assert_int_equal(value_of(counter, "k1"), 2);
    close_it(counter);
    free(changes);
    free(names);
    test_folder_remove(&folder);
}

static void copies_of_a_refused_operation_are_refused(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter *counter = open_with(folder.path, usual);
    assert_int_equal(apply_at(counter, "a", "k", INT64_MAX, START_MS), LETHE_APPLIED);
    lethe_change change = {.key = text("k"), .delta = 1};
    lethe_operation one = {
        .id = text("b"), .changes = &change, .change_count = 1, .time_ms = START_MS};
    lethe_operation many[5] = {one, one, one, one, one};
    uint8_t outcomes[5];
    assert_ok(lethe_counter_apply(counter, many, 5, outcomes, NULL));
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(outcomes[i], LETHE_OVERFLOW);
    }
    close_it(counter);
    test_folder_remove(&folder);
}

static void another_payload_is_told(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter_options options = usual;
    options.check_payload = true;
    lethe_counter *counter = open_with(folder.path, options);
    assert_int_equal(apply_at(counter, "a", "k", 1, START_MS), LETHE_APPLIED);
    for (unsigned round = 0; round < 2; round++) {
        assert_int_equal(apply_at(counter, "a", "k", 1, START_MS), LETHE_COPY);
        assert_int_equal(apply_at(counter, "a", "k", 2, START_MS), LETHE_DIFFERS);
        assert_int_equal(apply_at(counter, "a", "l", 1, START_MS), LETHE_DIFFERS);
        close_it(counter); /* and the same when it comes from disk */
        counter = open_with(folder.path, options);
    }
    assert_int_equal(value_of(counter, "k"), 1);
    lethe_counter_stats stats;
    lethe_counter_info(counter, &stats);
    assert_int_equal(stats.differing, 4);
    close_it(counter);
    test_folder_remove(&folder);
}

/* Exact mode may be switched on and off: the index follows the log. */
static void exact_mode_begins_and_ends_at_any_time(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter_options exact = usual, off = usual;
    exact.exact = LETHE_ON;
    off.exact = LETHE_OFF;
    const lethe_counter_options *const turns[] = {&usual, &exact, &off, &exact, &usual};
    const bool is_exact[] = {false, true, false, true, true};
    char id[16];
    for (unsigned turn = 0; turn < 5; turn++) {
        lethe_counter *counter = open_with(folder.path, *turns[turn]);
        for (unsigned i = 0; i < 50 * turn; i++) {
            sprintf(id, "%u", i);
            assert_int_equal(apply_at(counter, id, "k", 1, START_MS), LETHE_COPY);
        }
        for (unsigned i = 50 * turn; i < 50 * turn + 50; i++) {
            sprintf(id, "%u", i);
            assert_int_equal(apply_at(counter, id, "k", 1, START_MS), LETHE_APPLIED);
        }
        close_it(counter);
        lethe_counter_health health;
        assert_ok(lethe_counter_check(folder.path, &health, NULL));
        assert_int_equal(health.index_entries, is_exact[turn] ? 50 * turn + 50 : 0);
    }
    test_folder_remove(&folder);
}

/* At an error of 0.1 the window is wrong all the time, and exact mode never. */
static void exact_mode_is_exact(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter_options options = usual;
    options.exact = true;
    options.error = 0.1;
    lethe_counter *counter = open_with(folder.path, options);
    enum { COUNT = 20000 };
    static lethe_operation operations[COUNT];
    static char ids[COUNT][12];
    static uint8_t outcomes[COUNT];
    lethe_change change = {.key = text("k"), .delta = 1};
    for (unsigned i = 0; i < COUNT; i++) {
        operations[i] = (lethe_operation){.id = {ids[i], (size_t)sprintf(ids[i], "%u", i)},
                                          .changes = &change,
                                          .change_count = 1,
                                          .time_ms = START_MS + i};
    }
    for (unsigned round = 0; round < 2; round++) {
        assert_ok(lethe_counter_apply(counter, operations, COUNT, outcomes, NULL));
        for (unsigned i = 0; i < COUNT; i++) {
            assert_int_equal(outcomes[i], round == 0 ? LETHE_APPLIED : LETHE_COPY);
        }
    }
    lethe_counter_stats stats;
    lethe_counter_info(counter, &stats);
    assert_true(stats.confirmed_false > 0);
    assert_int_equal(value_of(counter, "k"), COUNT);
    close_it(counter);
    test_folder_remove(&folder);
}

static void time_is_judged(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter *counter = open_with(folder.path, usual);
    assert_int_equal(apply_at(counter, "a", "k", 1, START_MS), LETHE_APPLIED);
    assert_int_equal(apply_at(counter, "b", "k", 1, START_MS - WINDOW_MS), LETHE_APPLIED);
    assert_int_equal(apply_at(counter, "c", "k", 1, START_MS - WINDOW_MS - 1), LETHE_LATE);
    assert_int_equal(apply_at(counter, "d", "k", 1, UINT64_MAX), LETHE_AHEAD);
    /* The clock did not move. */
    assert_int_equal(apply_at(counter, "e", "k", 1, START_MS - WINDOW_MS), LETHE_APPLIED);
    /* It moves for an event that is new, and then the oldest are forgotten. */
    assert_int_equal(apply_at(counter, "f", "k", 1, START_MS + WINDOW_MS), LETHE_APPLIED);
    assert_int_equal(apply_at(counter, "a", "k", 1, START_MS), LETHE_COPY);
    assert_int_equal(apply_at(counter, "g", "k", 1, START_MS + 3 * WINDOW_MS), LETHE_APPLIED);
    assert_int_equal(apply_at(counter, "a", "k", 1, START_MS), LETHE_LATE);
    assert_int_equal(apply_at(counter, "a", "k", 1, START_MS + 3 * WINDOW_MS), LETHE_APPLIED);
    lethe_counter_stats stats;
    lethe_counter_info(counter, &stats);
    assert_int_equal(stats.late, 2);
    assert_int_equal(stats.ahead, 1);
    assert_int_equal(stats.clock_ms, START_MS + 3 * WINDOW_MS);
    assert_int_equal(stats.log_ids, 2); /* what aged is dropped from the log */
    close_it(counter);
    test_folder_remove(&folder);
}

static void another_window_takes_effect(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter *counter = open_with(folder.path, usual);
    assert_int_equal(apply_at(counter, "a", "k", 1, START_MS), LETHE_APPLIED);
    close_it(counter);
    lethe_counter_options longer = usual;
    longer.window_ms = 10 * WINDOW_MS;
    longer.error = 1e-3;
    counter = open_with(folder.path, longer);
    assert_int_equal(apply_at(counter, "b", "k", 1, START_MS + 5 * WINDOW_MS), LETHE_APPLIED);
    assert_int_equal(apply_at(counter, "a", "k", 1, START_MS), LETHE_COPY);
    close_it(counter);
    /* What the options leave open is as it was. */
    lethe_counter_options open_options = {.event_time = true};
    counter = open_with(folder.path, open_options);
    lethe_counter_stats stats;
    lethe_counter_info(counter, &stats);
    assert_int_equal(stats.window.window_ms, 10 * WINDOW_MS);
    assert_true(stats.window.error_target == 1e-3);
    close_it(counter);
    counter = open_with(folder.path, usual);
    assert_int_equal(apply_at(counter, "a", "k", 1, START_MS), LETHE_LATE);
    close_it(counter);
    test_folder_remove(&folder);
}

/* By the wall clock: an hour's window remembers over a restart. */
static void the_wall_clock_goes_on(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter_options options = {.window_ms = 3600000, .create = true};
    uint64_t last_ms = 0;
    for (unsigned round = 0; round < 3; round++) {
        lethe_counter *counter = open_with(folder.path, options);
        assert_int_equal(apply_at(counter, "a", "k", 1, 0),
                         round == 0 ? LETHE_APPLIED : LETHE_COPY);
        lethe_counter_stats stats;
        lethe_counter_info(counter, &stats);
        assert_true(stats.clock_ms >= last_ms);
        assert_true(stats.clock_ms > UINT64_C(1700000000000));
        last_ms = stats.clock_ms;
        close_it(counter);
    }
    test_folder_remove(&folder);
}

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
    lethe_counter_options widest = usual;
    widest.commit_operations = LETHE_CHANGES_LIMIT;
    lethe_counter *counter = open_with(folder.path, widest);
    lethe_mark marks[] = {{text("file-a"), text("one")}, {text("file-b"), text("x")}};
    lethe_mark later[] = {{text("file-a"), text("two")}, {text("file-b"), {0}}};
    uint64_t ticket;
    assert_ok(lethe_counter_submit(counter, NULL, 0, marks, 2, NULL, NULL, &ticket));
    assert_ok(lethe_counter_submit(counter, NULL, 0, later, 2, NULL, NULL, &ticket));
    assert_ok(lethe_counter_wait(counter, ticket));
    assert_true(lethe_counter_is_done(counter, ticket));
    static char long_name[1025];
    lethe_mark bad = {{long_name, 1025}, text("x")};
    assert_int_equal(lethe_counter_submit(counter, NULL, 0, &bad, 1, NULL, NULL, &ticket),
                     LETHE_EINVAL);
    /* With operations they are durable in one step, so these must fit into one commit. */
    lethe_change change = {.key = text("k"), .delta = 1};
    lethe_operation operation = {
        .id = text("i"), .changes = &change, .change_count = 1, .time_ms = START_MS};
    static lethe_operation many[LETHE_CHANGES_LIMIT + 1];
    static uint8_t outcomes[LETHE_CHANGES_LIMIT + 1];
    for (size_t i = 0; i <= LETHE_CHANGES_LIMIT; i++) {
        many[i] = operation;
    }
    uint64_t first, second;
    assert_int_equal(lethe_counter_submit(counter, many, LETHE_CHANGES_LIMIT + 1, later, 1,
                                          outcomes, NULL, &ticket),
                     LETHE_EINVAL);
    assert_ok(lethe_counter_submit(counter, many, 1, NULL, 0, outcomes, NULL, &first));
    assert_ok(lethe_counter_submit(counter, many, LETHE_CHANGES_LIMIT, later, 1, outcomes, NULL,
                                   &second));
    assert_int_equal(second, first + 1);
    close_it(counter);
    counter = open_with(folder.path, usual);
    unsigned seen = 0;
    assert_ok(lethe_counter_marks(counter, count_mark, &seen));
    assert_int_equal(seen, 1);
    close_it(counter);
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
    step->value[0] = (char)('0' + (outcomes[0] == LETHE_APPLIED));
    marks[0].value = (lethe_bytes){step->value, 1};
    return step->status;
}

static bool take_value(void *context, const lethe_mark *mark) {
    assert_int_equal(mark->value.size, 1);
    *(char *)context = *(const char *)mark->value.data;
    return true;
}

/* Goal:   a step between deciding and committing knows the outcomes, has its mark in the same commit, and if it fails nothing of
 *         the operations is there when the store is opened again. */
static void a_step_before_the_commit(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_change change = {.key = {"k", 1}, .delta = 1};
    const char *const ids[] = {"a", "a", "b"};
    for (unsigned round = 0; round < 3; round++) {
        struct step step = {.status = round == 1 ? LETHE_EIO : LETHE_OK};
        lethe_counter *counter = open_with(folder.path, usual);
        lethe_operation operations[3];
        for (size_t i = 0; i < 3; i++) {
            operations[i] = (lethe_operation){
                .id = {ids[i], 1}, .changes = &change, .change_count = 1, .time_ms = START_MS};
        }
        if (round == 1) operations[2].id = (lethe_bytes){"c", 1};
        lethe_mark mark = {.name = {"m", 1}};
        uint64_t ticket;
        uint8_t outcomes[3];
        assert_int_equal(lethe_counter_submit_with(counter, operations, 3, &mark, 0, outcomes, NULL,
                                                   take_step, &step, &ticket),
                         LETHE_EINVAL);
        assert_int_equal(lethe_counter_submit_with(counter, operations, 3, &mark, 1, outcomes, NULL,
                                                   take_step, &step, &ticket),
                         step.status);
        assert_int_equal(step.outcomes[0], round == 0 ? LETHE_APPLIED : LETHE_COPY);
        assert_int_equal(step.outcomes[1], LETHE_COPY);
        assert_int_equal(step.outcomes[2], round == 2 ? LETHE_COPY : LETHE_APPLIED);
        if (round == 1) {
            assert_int_equal(lethe_counter_close(counter, NULL), LETHE_EIO);
            continue;
        }
        assert_ok(lethe_counter_wait(counter, ticket));
        char value = 0;
        assert_ok(lethe_counter_marks(counter, take_value, &value));
        assert_int_equal(value, round == 0 ? '1' : '0');
        lethe_bytes key = {"k", 1};
        int64_t sum;
        bool found;
        assert_ok(lethe_counter_get(counter, &key, 1, &sum, &found));
        assert_int_equal(sum, 2);
        close_it(counter);
    }
    test_folder_remove(&folder);
}

static void the_cap_of_the_window_is_kept(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter_options options = usual;
    options.max_memory_bytes = 256 << 10;
    lethe_counter *counter = open_with(folder.path, options);
    unsigned refused = 0;
    static lethe_operation operations[1000];
    static char ids[1000][16];
    static uint8_t outcomes[1000];
    lethe_change change = {.key = text("k"), .delta = 1};
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < 1000; i++) {
            operations[i] =
                (lethe_operation){.id = {ids[i], (size_t)sprintf(ids[i], "%u", round * 1000 + i)},
                                  .changes = &change,
                                  .change_count = 1,
                                  .time_ms = START_MS};
        }
        assert_ok(lethe_counter_apply(counter, operations, 1000, outcomes, NULL));
        for (unsigned i = 0; i < 1000; i++) {
            refused += outcomes[i] == LETHE_NO_ROOM;
        }
    }
    assert_true(refused > 0);
    lethe_counter_stats stats;
    lethe_counter_info(counter, &stats);
    assert_true(stats.window.memory_bytes <= 256 << 10);
    assert_int_equal(value_of(counter, "k"), (int64_t)stats.applied);
    assert_int_equal(stats.applied + stats.refused, 200000);
    close_it(counter);
    test_folder_remove(&folder);
}

static void a_second_writer_is_refused(void **state) {
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* the thread sanitizer can't follow a fork of a process that has threads */
#endif
    struct test_folder folder;
    test_folder_make(&folder);
    int ready[2], leave[2];
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(leave), 0);
    pid_t child = fork();
    if (child == 0) {
        lethe_counter *own;
        char byte = lethe_counter_open(folder.path, &usual, &own, NULL) == LETHE_OK ? 'y' : 'n';
        if (write(ready[1], &byte, 1) != 1 || read(leave[0], &byte, 1) != 1) _exit(1);
        _exit(0); /* as a process ends that was killed: without closing */
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    lethe_counter *counter;
    lethe_detail detail = {""};
    assert_int_equal(lethe_counter_open(folder.path, &usual, &counter, &detail), LETHE_EBUSY);
    char holder[32];
    snprintf(holder, sizeof holder, "process %ld ", (long)child);
    assert_non_null(strstr(detail.text, holder));
    lethe_counter_health health;
    assert_int_equal(lethe_counter_check(folder.path, &health, NULL), LETHE_EBUSY);
    assert_int_equal(lethe_counter_backup(folder.path, "/nonexistent", NULL), LETHE_EBUSY);
    assert_int_equal(write(leave[1], "x", 1), 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    counter = open_with(folder.path, usual);
    close_it(counter);
    test_folder_remove(&folder);
}

static void readers_follow_the_writer(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter *writer = open_with(folder.path, usual);
    assert_int_equal(apply_at(writer, "a", "k", 1, START_MS), LETHE_APPLIED);
    lethe_counter *reader = open_with(folder.path, (lethe_counter_options){.read_only = true});
    assert_int_equal(value_of(reader, "k"), 1);
    char id[16];
    for (unsigned i = 0; i < 20; i++) {
        sprintf(id, "r%u", i);
        assert_int_equal(apply_at(writer, id, "k", 1, START_MS), LETHE_APPLIED);
        assert_int_equal(value_of(reader, "k"), 1 + i);
        assert_ok(lethe_counter_refresh(reader, NULL));
        assert_int_equal(value_of(reader, "k"), 2 + i);
    }
    lethe_change change = {.key = text("k"), .delta = 1};
    lethe_operation operation = {.id = text("x"), .changes = &change, .change_count = 1};
    uint8_t outcome;
    assert_int_equal(lethe_counter_apply(reader, &operation, 1, &outcome, NULL), LETHE_EINVAL);
    lethe_counter_stats stats;
    lethe_counter_info(reader, &stats);
    assert_int_equal(stats.applied, 21);
    assert_int_equal(stats.period_count, 1);
    assert_int_equal(stats.periods[0].ids, 21);
    close_it(reader);
    close_it(writer);
    test_folder_remove(&folder);
}

static void backups_bring_a_store_back(void **state) {
    (void)state;
    struct test_folder folder, other;
    test_folder_make(&folder);
    test_folder_make(&other);
    char store[300], backups[300], restored[300];
    snprintf(store, sizeof store, "%s/store", folder.path);
    snprintf(backups, sizeof backups, "%s/backups", folder.path);
    snprintf(restored, sizeof restored, "%s/restored", folder.path);
    assert_int_equal(lethe_counter_restore(backups, restored, NULL), LETHE_ENOTFOUND);
    for (unsigned round = 0; round < 2; round++) {
        lethe_counter *counter = open_with(store, usual);
        assert_int_equal(apply_at(counter, round == 0 ? "a" : "b", "k", 1, START_MS),
                         LETHE_APPLIED);
        close_it(counter);
        assert_ok(lethe_counter_backup(store, backups, NULL));
    }
    assert_int_equal(lethe_counter_restore(backups, store, NULL), LETHE_EINVAL);
    assert_ok(lethe_counter_restore(backups, restored, NULL));
    lethe_counter *counter = open_with(restored, usual);
    assert_int_equal(value_of(counter, "k"), 2);
    assert_int_equal(apply_at(counter, "a", "k", 1, START_MS), LETHE_COPY);
    assert_int_equal(apply_at(counter, "b", "k", 1, START_MS), LETHE_COPY);
    close_it(counter);
    test_folder_remove(&folder);
    test_folder_remove(&other);
}

/* Opens, applies and closes with an allocator that fails at one point. */
static lethe_status try_with(const char *path, const lethe_allocator *allocator, const char *id) {
    lethe_counter_options options = usual;
    options.allocator = allocator;
    options.exact = true;
    lethe_counter *counter;
    lethe_status status = lethe_counter_open(path, &options, &counter, NULL);
    if (status != LETHE_OK) return status;
    lethe_change change = {.key = text(id), .delta = 1};
    lethe_operation operation = {
        .id = text(id), .changes = &change, .change_count = 1, .time_ms = START_MS};
    uint8_t outcome;
    status = lethe_counter_apply(counter, &operation, 1, &outcome, NULL);
    lethe_status closed = lethe_counter_close(counter, NULL);
    return status != LETHE_OK ? status : closed;
}

/* Goal: every failed allocation is reported, leaks nothing, and loses nothing that was acknowledged. */
static void each_failed_allocation_is_survived(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_status status = LETHE_ENOMEM;
    unsigned acknowledged = 0;
    for (size_t n = 0; status != LETHE_OK; n++) {
        struct test_heap heap;
        test_heap_init(&heap, n);
        status = try_with(folder.path, &heap.allocator, "a");
        assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
        assert_int_equal(heap.live_blocks, 0);
        acknowledged += status == LETHE_OK;
    }
    assert_int_equal(acknowledged, 1);
    lethe_counter *counter = open_with(folder.path, usual);
    assert_int_equal(value_of(counter, "a"), 1);
    close_it(counter);
    test_folder_remove(&folder);
}

/* Adds a kind of records that this version does not know, as a newer one might. */
static void add_family(const char *path) {
    static const char *const names[] = {"default", "ids", "changes", "counters", "index"};
    char data[300], *message = NULL;
    snprintf(data, sizeof data, "%s/data", path);
    rocksdb_options_t *options = rocksdb_options_create();
    const rocksdb_options_t *each[] = {options, options, options, options, options};
    rocksdb_column_family_handle_t *handles[5];
    rocksdb_t *database =
        rocksdb_open_column_families(options, data, 5, names, each, handles, &message);
    assert_null(message);
    rocksdb_column_family_handle_t *added =
        rocksdb_create_column_family(database, options, "later", &message);
    assert_null(message);
    rocksdb_column_family_handle_destroy(added);
    for (size_t i = 0; i < 5; i++) {
        rocksdb_column_family_handle_destroy(handles[i]);
    }
    rocksdb_close(database);
    rocksdb_options_destroy(options);
}

static void a_newer_store_is_refused(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter *counter = open_with(folder.path, usual);
    close_it(counter);
    add_family(folder.path);
    lethe_detail detail = {""};
    assert_int_equal(lethe_counter_open(folder.path, &usual, &counter, &detail), LETHE_EVERSION);
    assert_non_null(strstr(detail.text, "later"));
    test_folder_remove(&folder);
}

struct racer {
    lethe_counter *counter;
    unsigned number;
};

static void *race(void *context) {
    const struct racer *racer = context;
    uintptr_t applied = 0;
    for (unsigned i = 0; i < 200; i++) {
        char id[16];
        sprintf(id, "%u", i);
        lethe_change change = {.key = text("k"), .delta = 1};
        lethe_operation operation = {
            .id = text(id), .changes = &change, .change_count = 1, .time_ms = START_MS};
        uint8_t outcome = 99;
        if (lethe_counter_apply(racer->counter, &operation, 1, &outcome, NULL) != LETHE_OK) {
            return (void *)UINTPTR_MAX;
        }
        applied += outcome == LETHE_APPLIED;
    }
    return (void *)applied;
}

static void racing_copies_are_applied_once(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    for (unsigned exact = 0; exact < 2; exact++) {
        lethe_counter_options options = usual;
        options.exact = exact == 1;
        char path[300];
        snprintf(path, sizeof path, "%s/%u", folder.path, exact);
        lethe_counter *counter = open_with(path, options);
        pthread_t threads[4];
        struct racer racer = {.counter = counter};
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, race, &racer), 0);
        }
        uintptr_t total = 0;
        for (unsigned i = 0; i < 4; i++) {
            void *applied;
            assert_int_equal(pthread_join(threads[i], &applied), 0);
            total += (uintptr_t)applied;
        }
        assert_int_equal(total, 200);
        assert_int_equal(value_of(counter, "k"), 200);
        close_it(counter);
    }
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(a_folder_with_other_files_is_left_alone),
        cmocka_unit_test(operations_out_of_range_are_refused),
        cmocka_unit_test(an_operation_may_touch_many_counters),
        cmocka_unit_test(copies_of_a_refused_operation_are_refused),
        cmocka_unit_test(another_payload_is_told),
        cmocka_unit_test(exact_mode_begins_and_ends_at_any_time),
        cmocka_unit_test(exact_mode_is_exact),
        cmocka_unit_test(time_is_judged),
        cmocka_unit_test(another_window_takes_effect),
        cmocka_unit_test(the_wall_clock_goes_on),
        cmocka_unit_test(marks_are_kept),
        cmocka_unit_test(a_step_before_the_commit),
        cmocka_unit_test(the_cap_of_the_window_is_kept),
        cmocka_unit_test(a_second_writer_is_refused),
        cmocka_unit_test(readers_follow_the_writer),
        cmocka_unit_test(backups_bring_a_store_back),
        cmocka_unit_test(a_newer_store_is_refused),
        cmocka_unit_test(each_failed_allocation_is_survived),
        cmocka_unit_test(racing_copies_are_applied_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

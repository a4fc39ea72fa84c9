/* Goal:   what a store accepted under a memory cap, the next one to open it with the same options
 *         takes in again: it opens, knows every id (P1), and says what the cap cost.
 * Method: stores over a grid of caps, errors, policies, modes and speeds, each filled until its
 *         window is full or has taken twice what fits, closed and opened several times; ids come
 *         again, and more of them. Caps that were lowered are told apart. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tunables.h"
#include "lethe/policy.h"
#include "support/store.h"

enum { START_MS = 1000000000, WINDOW_MS = 60000, BATCH = 2000 };

/* One store of the grid. */
struct cell {
    uint64_t cap_bytes;
    double error;
    lethe_policy policy;
    bool exact;
    /* How long it takes until the last id has come. */
    uint64_t spread_ms;
};

/* What was sent to a store so far. */
struct sent {
    uint32_t count;
    uint64_t now_ms;
    uint8_t *outcomes;
    uint64_t *times_ms;
};

static lethe_store_options options_of(const struct cell *cell) {
    return (lethe_store_options){.window_ms = WINDOW_MS,
                                 .error = cell->error,
                                 .event_time = LETHE_SWITCH_ON,
                                 .create = true,
                                 .seed = 7,
                                 .max_memory_bytes = cell->cap_bytes,
                                 .policy = cell->policy,
                                 .exact = cell->exact ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP};
}

/* Submits ids first to first + count - 1, all at one time. */
static void submit(lethe_store *store, uint32_t first, uint32_t count, const uint64_t *times_ms,
                   uint8_t *outcomes) {
    static char names[BATCH][16];
    static struct test_event events[BATCH];
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "i%u", (unsigned)(first + i));
        events[i] = (struct test_event){
            .id = names[i], .key = "k", .delta = 1, .time_ms = times_ms[first + i]};
    }
    test_store_submit(store, events, count, outcomes);
}

/* Sends new ids, until so many were sent, or many were refused. */
static void send_more(lethe_store *store, const struct cell *cell, struct sent *sent,
                      uint32_t most) {
    uint32_t from = sent->count, refused = 0;
    while (sent->count + BATCH <= most && refused < BATCH) {
        for (uint32_t i = 0; i < BATCH; i++)
            sent->times_ms[sent->count + i] = sent->now_ms;
        submit(store, sent->count, BATCH, sent->times_ms, sent->outcomes + sent->count);
        for (uint32_t i = 0; i < BATCH; i++)
            refused += sent->outcomes[sent->count + i] == LETHE_OUTCOME_REFUSED;
        sent->count += BATCH;
        sent->now_ms += cell->spread_ms * BATCH / (most - from);
    }
}

/* Everything that was applied is known, as long as W lasts. */
static void send_again(lethe_store *store, const struct sent *sent) {
    static uint8_t outcomes[BATCH];
    for (uint32_t first = 0; first < sent->count; first += BATCH) {
        if (sent->times_ms[first] + WINDOW_MS < sent->now_ms) continue;
        submit(store, first, BATCH, sent->times_ms, outcomes);
        for (uint32_t i = 0; i < BATCH; i++) {
            if (sent->outcomes[first + i] != LETHE_OUTCOME_APPLIED) continue;
            assert_int_equal(outcomes[i], LETHE_OUTCOME_DUPLICATE);
        }
        /* Those that were refused may be accepted now. */
        for (uint32_t i = 0; i < BATCH; i++) {
            if (outcomes[i] == LETHE_OUTCOME_APPLIED)
                sent->outcomes[first + i] = LETHE_OUTCOME_APPLIED;
        }
    }
}

/* The cap is kept, or the store has said that it is not. */
static void expect_honesty(lethe_store *store, const struct cell *cell,
                           const lethe_detail *detail) {
    lethe_store_stats stats = test_store_stats(store);
    const lethe_store_window *window = &stats.window;
    bool is_beyond = window->memory_bytes > cell->cap_bytes;
    assert_int_equal(strstr(detail->text, "more than its memory cap") != NULL, is_beyond);
    if (is_beyond) assert_true((window->strain & LETHE_STRAIN_MEMORY) != 0);
    assert_true(window->memory_bytes <= cell->cap_bytes + cell->cap_bytes / 2);
    if (cell->policy == LETHE_POLICY_REFUSE) assert_true(window->error_estimate <= cell->error);
    assert_int_equal((window->strain & LETHE_STRAIN_ERROR) != 0,
                     window->error_estimate > cell->error);
}

static void try_cell(const struct cell *cell) {
    uint32_t most = (uint32_t)(cell->cap_bytes / 3) / BATCH * BATCH;
    struct sent sent = {.now_ms = START_MS,
                        .outcomes = calloc(2 * most, 1),
                        .times_ms = calloc(2 * most, sizeof(uint64_t))};
    assert_true(sent.outcomes != NULL && sent.times_ms != NULL);
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, options_of(cell));
    send_more(store, cell, &sent, most);
    test_store_close(store);
    for (unsigned opening = 0; opening < 3; opening++) {
        lethe_detail detail = {""};
        store = test_store_open_noting(folder.path, options_of(cell), &detail);
        expect_honesty(store, cell, &detail);
        /* One part for all takes less than the parts that grew. Only exact mode knows ids apart
         * that those had taken for one another. */
        if (!cell->exact) assert_true(detail.text[0] == '\0');
        send_again(store, &sent);
        if (opening == 0) send_more(store, cell, &sent, sent.count + most / 2 / BATCH * BATCH);
        test_store_close(store);
    }
    test_folder_remove(&folder);
    free(sent.outcomes);
    free(sent.times_ms);
}

static void what_was_accepted_is_taken_in_again(void **state) {
    (void)state;
    static const uint64_t caps[] = {64 << 10, 192 << 10, 1 << 20, 3 << 20};
    static const double errors[] = {1e-12, 1e-3, 1e-6};
    static const uint64_t spreads_ms[] = {0, WINDOW_MS * 9 / 10, WINDOW_MS * 5 / 2};
    const lethe_tunables usual = lethe_tune;
    unsigned number = 0;
    for (unsigned cap = 0; cap < TEST_SIZED(4, 3); cap++) {
        for (unsigned i = 0; i < 3 * 2 * 2 * 3; i++) {
            struct cell cell = {.cap_bytes = caps[cap],
                                .error = errors[i % 3],
                                .exact = i / 3 % 2 != 0,
                                .policy =
                                    i / 6 % 2 != 0 ? LETHE_POLICY_DEGRADE : LETHE_POLICY_REFUSE,
                                .spread_ms = spreads_ms[i / 12]};
            number++;
            /* Every day, of the larger caps only the default error with policy degrade. */
            bool is_usual = cell.error == 1e-12 && cell.policy == LETHE_POLICY_DEGRADE;
            bool is_for_days = cap == 0 || (cap < 3 && is_usual && cell.spread_ms == 0);
            if (!is_for_days && !test_is_large()) continue;
            lethe_tune.fill_thread_ids = number % 2 == 0 ? 0 : UINT64_MAX;
            try_cell(&cell);
        }
    }
    lethe_tune = usual;
}

static void fill(const char *path, const struct cell *cell, uint32_t count) {
    uint8_t *outcomes = calloc(count, 1);
    uint64_t *times_ms = calloc(count, sizeof *times_ms);
    assert_true(outcomes != NULL && times_ms != NULL);
    struct sent sent = {.now_ms = START_MS, .outcomes = outcomes, .times_ms = times_ms};
    lethe_store *store = test_store_open(path, options_of(cell));
    send_more(store, cell, &sent, count);
    test_store_close(store);
    free(outcomes);
    free(times_ms);
}

/* Sends more ids than the spare room of a refilled window. */
static unsigned refused_of_more(lethe_store *store) {
    unsigned refused = 0;
    for (unsigned i = 0; i < 300; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "more%u", i);
        refused += test_store_submit_one(store, id, "k", 1, START_MS) == LETHE_OUTCOME_REFUSED;
    }
    return refused;
}

/* A cap that is a little too small gives way and says so; one that is far too small is refused, and
 * the store is as it was. */
static void a_cap_that_was_lowered(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    struct cell cell = {.cap_bytes = 1 << 20, .error = 1e-9};
    fill(folder.path, &cell, 100000); /* about 44 bits each */
    cell.cap_bytes = 450 << 10;
    lethe_detail detail = {""};
    lethe_store *store = test_store_open_noting(folder.path, options_of(&cell), &detail);
    assert_non_null(strstr(detail.text, "more than its memory cap"));
    expect_honesty(store, &cell, &detail);
    assert_true(refused_of_more(store) > 0);
    assert_int_equal(test_store_add(store, "i1", START_MS), LETHE_OUTCOME_DUPLICATE);
    /* When they are forgotten there is room again, and the cap is kept. */
    assert_int_equal(test_store_add(store, "later", START_MS + 2 * WINDOW_MS),
                     LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "last", START_MS + 4 * WINDOW_MS),
                     LETHE_OUTCOME_APPLIED);
    lethe_store_stats stats = test_store_stats(store);
    assert_true(stats.window.memory_bytes <= cell.cap_bytes);
    assert_int_equal(stats.window.strain & LETHE_STRAIN_MEMORY, 0);
    test_store_close(store);
    test_folder_remove(&folder);

    test_folder_make(&folder);
    cell.cap_bytes = 1 << 20;
    fill(folder.path, &cell, 100000);
    cell.cap_bytes = 128 << 10;
    assert_int_equal(test_store_try_open(folder.path, options_of(&cell), &store, &detail),
                     LETHE_EFULL);
    assert_non_null(strstr(detail.text, "100000 ids"));
    cell.cap_bytes = 0;
    store = test_store_open(folder.path, options_of(&cell));
    assert_int_equal(test_store_add(store, "i99999", START_MS), LETHE_OUTCOME_DUPLICATE);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* Ids that expired while the store was closed need no room. */
static void what_expired_needs_no_room(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    struct cell cell = {.cap_bytes = 1 << 20, .error = 1e-12};
    fill(folder.path, &cell, 100000);
    lethe_store *store = test_store_open(folder.path, options_of(&cell));
    assert_int_equal(test_store_add(store, "later", START_MS + WINDOW_MS / 64 + WINDOW_MS + 1),
                     LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    cell.cap_bytes = 64 << 10;
    lethe_detail detail = {""};
    store = test_store_open_noting(folder.path, options_of(&cell), &detail);
    expect_honesty(store, &cell, &detail);
    test_store_close(store);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cap_that_was_lowered),
        cmocka_unit_test(what_expired_needs_no_room),
        cmocka_unit_test(what_was_accepted_is_taken_in_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Goal:   in exact mode a store knows every id of the last W with its time and its payload, however
 *         its index is cut into runs and files; through reopening, with exact mode and payloads
 *         switched on and off, and from a log and records as an earlier version left them.
 * Method: random batches by event time, against an array; small tails and no memory for runs. */
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "core/tunables.h"
#include "support/random.h"
#include "support/store.h"
#include "support/store_records.h"

enum { START_MS = 1000000000, WINDOW_MS = 64000, IDS = 600, BATCH = 60, ROUNDS = 8, BATCHES = 12 };

/* What is known of an id. */
struct memory {
    uint64_t clock_ms;
    int64_t delta;
    bool is_applied;
    /* The log may say that it was applied up to a step later; what it did is known; it is in a
     * record of an earlier version. */
    bool is_vague, is_compared, is_in_record;
};

static struct memory memories[IDS];
/* The store's clock, and the time that events have reached, which may be later. */
static uint64_t clock_ms, time_ms;
static struct test_random random;

static uint64_t below(uint64_t range) {
    return test_random_below(&random, range);
}

struct batch {
    lethe_operation operations[BATCH];
    lethe_change changes[BATCH];
    char ids[BATCH][12];
    unsigned numbers[BATCH];
    uint8_t outcomes[BATCH];
    size_t count;
};

static void draw(struct batch *batch) {
    batch->count = 1 + below(BATCH - 1);
    for (size_t i = 0; i < batch->count; i++) {
        unsigned number = batch->numbers[i] = (unsigned)below(IDS);
        time_ms += below(4) == 0 ? below(WINDOW_MS / 64) : 0;
        batch->changes[i] = (lethe_change){.key = test_text("k"), .delta = 1 + (int64_t)below(2)};
        batch->operations[i] = (lethe_operation){
            .id = {batch->ids[i], (size_t)snprintf(batch->ids[i], 12, "%u", number)},
            .changes = &batch->changes[i],
            .change_count = 1,
            .time_ms = time_ms - below(1000)};
    }
}

/* What the outcome must be, or LETHE_OUTCOME_INVALID if it may be either of two. */
static lethe_outcome expected(const struct memory *memory, int64_t delta, bool exact,
                              bool checks_payload) {
    uint64_t age_ms = clock_ms - memory->clock_ms;
    if (!memory->is_applied) return LETHE_OUTCOME_APPLIED;
    uint64_t longest_ms = WINDOW_MS + (exact ? 0 : WINDOW_MS / 4);
    if (memory->is_vague) longest_ms += WINDOW_MS / 64;
    if (age_ms > longest_ms) return LETHE_OUTCOME_APPLIED;
    if (age_ms > WINDOW_MS) return LETHE_OUTCOME_INVALID;
    bool differs = checks_payload && memory->is_compared && memory->delta != delta;
    return differs ? LETHE_OUTCOME_MISMATCH : LETHE_OUTCOME_DUPLICATE;
}

static void judge(const struct batch *batch, bool exact, bool checks_payload) {
    for (size_t i = 0; i < batch->count; i++) {
        struct memory *memory = &memories[batch->numbers[i]];
        int64_t delta = batch->changes[i].delta;
        if (batch->operations[i].time_ms > clock_ms) clock_ms = batch->operations[i].time_ms;
        lethe_outcome outcome = (lethe_outcome)batch->outcomes[i];
        lethe_outcome right = expected(memory, delta, exact, checks_payload);
        if (right != LETHE_OUTCOME_INVALID && outcome != right)
            fail_msg("id %u: %d in place of %d; exact %d, clock %llu, applied at %llu%s%s%s",
                     batch->numbers[i], outcome, right, exact, (unsigned long long)clock_ms,
                     (unsigned long long)memory->clock_ms, memory->is_vague ? ", vaguely" : "",
                     memory->is_compared ? ", compared" : "",
                     memory->is_in_record ? ", in a record" : "");
        if (outcome == LETHE_OUTCOME_APPLIED)
            *memory = (struct memory){.is_applied = true,
                                      .clock_ms = clock_ms,
                                      .is_vague = !exact,
                                      .is_compared = exact,
                                      .delta = delta};
    }
}

/* Exact mode is switched off: what only the records knew is lost. */
static void forget_records(void) {
    for (unsigned i = 0; i < IDS; i++) {
        struct memory *memory = &memories[i];
        if (memory->is_in_record) memory->is_compared = false;
        if (memory->is_in_record) memory->is_vague = true;
        memory->is_in_record = false;
    }
}

static void make_earlier(const char *path) {
    test_store_make_earlier(path);
    for (unsigned i = 0; i < IDS; i++)
        memories[i].is_in_record = memories[i].is_applied;
}

static void try_seed(uint64_t seed) {
    static struct batch batch;
    struct test_folder folder;
    test_folder_make(&folder);
    random.state = seed;
    memset(memories, 0, sizeof memories);
    clock_ms = 0;
    time_ms = START_MS;
    lethe_tune.index_tail_ids = 1 + below(100);
    lethe_tune.index_memory_bytes = seed % 2 == 0 ? 0 : 1 << 20;
    for (unsigned round = 0; round < ROUNDS; round++) {
        bool exact = below(4) != 0, checks_payload = exact && below(2) == 0;
        lethe_store_options options = {
            .window_ms = WINDOW_MS, .error = 1e-9, .event_time = true, .create = true};
        options.exact = exact ? LETHE_SWITCH_ON : LETHE_SWITCH_OFF;
        options.check_payload = checks_payload ? LETHE_SWITCH_ON : LETHE_SWITCH_OFF;
        lethe_store *store = test_store_open(folder.path, options);
        if (!exact) forget_records();
        for (unsigned i = 0; i < BATCHES; i++) {
            draw(&batch);
            assert_ok(
                lethe_store_apply(store, batch.operations, batch.count, batch.outcomes, NULL));
            judge(&batch, exact, checks_payload);
        }
        if (below(3) == 0) time_ms += below(WINDOW_MS);
        test_store_close(store);
        lethe_store_health health = LETHE_INIT(lethe_store_health);
        assert_ok(lethe_store_check(folder.path, &health, NULL));
        if (exact && below(2) == 0) make_earlier(folder.path);
    }
    test_folder_remove(&folder);
}

static void exact_mode_knows_every_id(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++)
        try_seed(seed);
}

/* Records of an earlier version go when the log has all that they know. */
static void records_of_an_earlier_version_go(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = {
        .window_ms = WINDOW_MS, .event_time = true, .create = true, .check_payload = true};
    lethe_store *store = test_store_open(folder.path, options);
    assert_int_equal(test_store_apply(store, "a", "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    test_store_make_earlier(folder.path);
    const uint64_t times_ms[] = {START_MS + 1, START_MS + WINDOW_MS, START_MS + 4 * WINDOW_MS};
    for (unsigned i = 0; i < 3; i++) {
        store = test_store_open(folder.path, options);
        if (i < 2)
            assert_int_equal(test_store_apply(store, "a", "k", 2, START_MS),
                             LETHE_OUTCOME_MISMATCH);
        char id[8];
        snprintf(id, sizeof id, "b%u", i);
        assert_int_equal(test_store_apply(store, id, "k", 1, times_ms[i]), LETHE_OUTCOME_APPLIED);
        test_store_close(store);
        lethe_store_health health = LETHE_INIT(lethe_store_health);
        assert_ok(lethe_store_check(folder.path, &health, NULL));
        assert_int_equal(health.index_entries, i < 2 ? i + 2 : 2); /* "a", or what is left of it */
    }
    store = test_store_open(folder.path, options);
    test_store_close(store);
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    assert_ok(lethe_store_check(folder.path, &health, NULL));
    assert_int_equal(health.index_entries, 1);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_mode_knows_every_id),
        cmocka_unit_test(records_of_an_earlier_version_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

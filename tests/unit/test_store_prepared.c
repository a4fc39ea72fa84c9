/* Goal:   operations that were prepared are decided as if they had not been, in every mode.
 * Method: two stores get the same random operations in the same calls; one of them prepared. Most
 *         are simple; the others have several changes, bounds, flags, no id, or a key that is too
 *         long. Ids come again, also within a call; some counters overflow, and their operations
 *         are tried again. With event time a call is longer than W, so that copies are older and
 *         younger than it and the window turns within a chunk; events are late, too far ahead, or
 *         jump. Outcomes, values, buckets, marks and totals must be the same, also after both are
 *         opened again. Then threads that prepare while another one submits. */
#include "support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store.h"
#include "support/random.h"
#include "support/store.h"

enum { MOST = 5000, CHANGES = 3, IDS = 4000, KEYS = 700, NAME = 24, CALLS = 32 };

enum { WINDOW_MS = 60000 };
static const uint64_t START_MS = UINT64_C(1600000000000), NEVER_MS = UINT64_C(9000000000000);

/* Both stores see the same wall clock, or an operation could be in the next second of one. */
static _Atomic uint64_t wall_ms = UINT64_C(1750000000000);

uint64_t __wrap_lethe_os_wall_ms(void);
uint64_t __wrap_lethe_os_wall_ms(void) {
    return wall_ms;
}

static struct {
    char ids[MOST][NAME];
    char keys[MOST][CHANGES][NAME];
    lethe_change changes[MOST][CHANGES];
    lethe_operation operations[MOST];
    uint8_t outcomes[2][MOST];
    size_t count;
} call;

static char too_long[LETHE_KEY_LIMIT_BYTES + 1];

struct mode {
    const char *name;
    lethe_store_options options;
    /* Of a hundred operations, so many are not simple. Not with a window by event time alone: runs
     * of simple ones are recorded under other times then, and a copy that is a little older than W
     * may be a duplicate or not. */
    unsigned others;
};

static const struct mode modes[] = {
    {"plain", {.error = 1e-12}, 0},
    {"plain, mixed", {.error = 1e-12}, 10},
    {"plain, mostly others", {.error = 1e-12}, 60},
    {"few in a commit", {.error = 1e-12, .commit_operations = 900}, 3},
    {"often wrong", {.error = 0.05}, 1},
    {"a cap", {.error = 1e-6, .max_memory_bytes = 1 << 16, .policy = LETHE_POLICY_REFUSE}, 1},
    {"counters on disk", {.error = 1e-12, .counters_memory_bytes = 1}, 2},
    {"exact", {.exact = LETHE_SWITCH_ON, .error = 0.05}, 5},
    {"payload", {.check_payload = LETHE_SWITCH_ON, .error = 0.05}, 5},
    {"for ever", {.forever = LETHE_SWITCH_ON, .ledger_memory_bytes = 1 << 22}, 5},
    {"event time", {.event_time = LETHE_SWITCH_ON, .window_ms = WINDOW_MS}, 0},
    {"event time, often wrong",
     {.event_time = LETHE_SWITCH_ON, .window_ms = WINDOW_MS, .error = 0.05},
     0},
    {"event time, a cap",
     {.event_time = LETHE_SWITCH_ON,
      .window_ms = WINDOW_MS,
      .max_memory_bytes = 1 << 16,
      .policy = LETHE_POLICY_REFUSE},
     0},
    {"event time, exact",
     {.event_time = LETHE_SWITCH_ON,
      .window_ms = WINDOW_MS,
      .exact = LETHE_SWITCH_ON,
      .error = 0.05},
     0},
    {"event time, payload",
     {.event_time = LETHE_SWITCH_ON,
      .window_ms = WINDOW_MS,
      .check_payload = LETHE_SWITCH_ON,
      .error = 0.05},
     0},
    {"event time, for ever",
     {.event_time = LETHE_SWITCH_ON,
      .window_ms = WINDOW_MS,
      .forever = LETHE_SWITCH_ON,
      .ledger_memory_bytes = 1 << 22},
     3},
    {"event time, meters",
     {.event_time = LETHE_SWITCH_ON, .window_ms = WINDOW_MS, .per = "1m,1mo"},
     0},
    {"event time, for ever, meters on disk",
     {.event_time = LETHE_SWITCH_ON,
      .window_ms = WINDOW_MS,
      .forever = LETHE_SWITCH_ON,
      .ledger_memory_bytes = 1 << 22,
      .counters_memory_bytes = 1,
      .per = "1m",
      .keep = "1m=1h"},
     3},
    {"event time, forgetful",
     {.event_time = LETHE_SWITCH_ON, .window_ms = WINDOW_MS, .forgetful = LETHE_SWITCH_ON},
     0},
    {"forgetful", {.forgetful = LETHE_SWITCH_ON, .error = 1e-4}, 5},
    {"meters", {.per = "1h", .error = 1e-12}, 5},
    {"two meters", {.per = "1s,1mo", .error = 1e-12}, 1},
    {"sketch", {.sketch_bytes = 1 << 16, .error = 1e-12}, 5},
};

static void draw_change(struct test_random *random, size_t i, size_t j) {
    lethe_change *change = &call.changes[i][j];
    uint64_t key = test_random_below(random, 4) == 0 ? test_random_below(random, 20)
                                                     : test_random_below(random, KEYS);
    snprintf(call.keys[i][j], NAME, "key-%llu", (unsigned long long)key);
    *change = (lethe_change){.key = test_text(call.keys[i][j]),
                             .delta = (int64_t)test_random_below(random, 9) - 2};
    /* The counter of key 0 overflows now and then, and that of key 1 by its other end. */
    if (key == 0) change->delta = INT64_MAX / 3;
    if (key == 1) change->delta = test_random_below(random, 3) == 0 ? INT64_MAX : INT64_MIN / 3;
}

/* Makes an operation that is not simple, or not valid. */
static void make_other(struct test_random *random, size_t i, bool has_bounds) {
    lethe_operation *operation = &call.operations[i];
    switch (test_random_below(random, 7)) {
    case 0:
    case 1:
        operation->change_count = 2 + test_random_below(random, CHANGES - 1);
        return;
    case 2:
        call.changes[i][0].flags = has_bounds ? LETHE_CHANGE_MAX : 0;
        call.changes[i][0].max = 20;
        return;
    case 3:
        operation->id.size = 0;
        return;
    case 4:
        call.changes[i][0].key = (lethe_bytes){.data = too_long, .size = sizeof too_long};
        return;
    case 5:
        operation->flags = LETHE_OPERATION_GIVE_UP;
        operation->change_count = 0;
        return;
    default:
        operation->reserved = 1;
    }
}

/* The time of an event after those that came to *time_ms: mostly a little later. */
static uint64_t draw_time(struct test_random *random, size_t at, uint64_t *time_ms) {
    *time_ms += test_random_below(random, 40);
    /* The last one of a chunk: what comes after it is of the next one. */
    if (at % 1024 == 1023 && test_random_below(random, 2) == 0) return *time_ms + 2 * WINDOW_MS;
    switch (test_random_below(random, 200)) {
    case 0:
    case 1:
    case 2:
    case 3:
        return *time_ms - test_random_below(random, WINDOW_MS); /* not in order */
    case 4:
    case 5:
        return *time_ms - WINDOW_MS + 300 - test_random_below(random, 600); /* late, or just not */
    case 6:
        return *time_ms - WINDOW_MS - test_random_below(random, 3 * WINDOW_MS);
    case 7:
        return NEVER_MS + test_random_below(random, WINDOW_MS);
    case 8:
    case 9:
        return *time_ms + WINDOW_MS - 300 + test_random_below(random, WINDOW_MS); /* one jumps */
    case 10:
        if (test_random_below(random, 20) == 0) *time_ms += 2 * WINDOW_MS; /* all do */
        return *time_ms;
    default:
        return *time_ms;
    }
}

static void draw_call(struct test_random *random, const struct mode *mode, uint64_t *time_ms) {
    bool has_sketch = mode->options.sketch_bytes > 0;
    call.count = 1 + test_random_below(random, test_random_below(random, 3) == 0 ? 100 : MOST);
    if (mode->options.commit_operations > 0 && call.count > mode->options.commit_operations)
        call.count = mode->options.commit_operations;
    for (size_t i = 0; i < call.count; i++) {
        snprintf(call.ids[i], NAME, "id-%llu", (unsigned long long)test_random_below(random, IDS));
        for (size_t j = 0; j < CHANGES; j++)
            draw_change(random, i, j);
        call.operations[i] = (lethe_operation){.id = test_text(call.ids[i]),
                                               .changes = call.changes[i],
                                               .change_count = 1,
                                               .time_ms = draw_time(random, i, time_ms)};
        if (test_random_below(random, 4) == 0)
            call.operations[i].flags = LETHE_OPERATION_COUNT_LATE;
        if (test_random_below(random, 100) < mode->others) make_other(random, i, !has_sketch);
    }
}

static lethe_bytes mark_value(const char *text) {
    return (lethe_bytes){.data = text, .size = strlen(text)};
}

static bool show_mark(void *context, const lethe_mark *mark) {
    char *out = context;
    snprintf(out, NAME, "%.*s", (int)mark->value.size, (const char *)mark->value.data);
    return true;
}

/* The sums of the buckets and of the rests, each key weighed by its own number; with event time,
 * each period, too. By the wall clock the two stores need not agree on the period. */
struct bucket_sums {
    bool by_events;
    uint64_t buckets, rests;
};

static bool add_row(void *context, const lethe_usage_row *row) {
    struct bucket_sums *sums = context;
    uint64_t period = row->is_rest || !sums->by_events ? 0 : row->from_ms;
    uint64_t weight = lethe_hash_bytes(1 + period, row->key.data, row->key.size).low;
    if (row->is_rest) {
        sums->rests += weight * row->value;
    } else {
        sums->buckets += weight * row->value;
    }
    return true;
}

static void compare_buckets(lethe_store *const stores[2], bool by_events) {
    struct bucket_sums sums[2] = {{.by_events = by_events}, {.by_events = by_events}};
    for (unsigned i = 0; i < 2; i++) {
        lethe_usage_query query = LETHE_INIT(lethe_usage_query);
        assert_ok(lethe_store_usage(stores[i], &query, add_row, &sums[i]));
    }
    assert_true(sums[0].buckets != 0);
    assert_int_equal(sums[0].buckets, sums[1].buckets);
    assert_int_equal(sums[0].rests, sums[1].rests);
}

static void compare(lethe_store *const stores[2]) {
    char marks[2][NAME] = {"", ""};
    lethe_store_stats stats[2];
    for (unsigned i = 0; i < 2; i++) {
        assert_ok(lethe_store_marks(stores[i], show_mark, marks[i]));
        stats[i] = test_store_stats(stores[i]);
    }
    assert_string_equal(marks[0], marks[1]);
    if (stats[0].buckets_in_memory > 0) compare_buckets(stores, stats[0].event_time);
    assert_int_equal(stats[0].applied, stats[1].applied);
    assert_int_equal(stats[0].duplicates, stats[1].duplicates);
    assert_int_equal(stats[0].overflow, stats[1].overflow);
    assert_int_equal(stats[0].limited, stats[1].limited);
    assert_int_equal(stats[0].invalid, stats[1].invalid);
    assert_int_equal(stats[0].refused, stats[1].refused);
    assert_int_equal(stats[0].late, stats[1].late);
    assert_int_equal(stats[0].future, stats[1].future);
    if (stats[0].event_time) assert_int_equal(stats[0].clock_ms, stats[1].clock_ms);
    assert_int_equal(stats[0].mismatched, stats[1].mismatched);
    for (unsigned i = 0; i < KEYS; i++) {
        char key[NAME];
        snprintf(key, sizeof key, "key-%u", i);
        assert_int_equal(test_store_value(stores[0], key), test_store_value(stores[1], key));
    }
}

/* With event time, each call is one commit. Otherwise the disk decides where calls and commits are
 * cut, and so what is still known of ids that are older than W. */
static void submit_both(lethe_store *const stores[2], lethe_prepared *prepared, unsigned round,
                        bool by_events) {
    uint64_t tickets[2];
    char text[NAME];
    snprintf(text, sizeof text, "%u", round);
    lethe_mark mark = {.name = test_text("m"), .value = mark_value(text)};
    size_t mark_count = by_events ? 1 : round % 2;
    assert_ok(lethe_store_submit(stores[0], call.operations, call.count, &mark, mark_count,
                                 call.outcomes[0], NULL, &tickets[0]));
    assert_ok(lethe_store_prepare(stores[1], call.operations, call.count, prepared));
    assert_ok(lethe_store_submit_prepared(stores[1], prepared, &mark, mark_count, call.outcomes[1],
                                          NULL, NULL, &tickets[1]));
    for (unsigned i = 0; i < 2 && (by_events || round % 5 == 0 || round % 16 == 15); i++)
        assert_ok(lethe_store_wait(stores[i], tickets[i]));
}

static void run_mode(const struct mode *mode, uint64_t seed) {
    struct test_random random = {seed};
    struct test_folder folders[2];
    lethe_store *stores[2];
    lethe_prepared *prepared;
    uint64_t time_ms = START_MS, outcomes[LETHE_OUTCOME_APPLIED_LATE + 1] = {0};
    bool by_events = mode->options.event_time == LETHE_SWITCH_ON;
    assert_ok(lethe_prepared_new(MOST, NULL, &prepared));
    lethe_store_options options = mode->options;
    options.create = true;
    options.seed = 1 + seed; /* both are wrong about the same ids */
    for (unsigned i = 0; i < 2; i++) {
        test_folder_make(&folders[i]);
        stores[i] = test_store_open(folders[i].path, options);
    }
    for (unsigned round = 0; round < CALLS; round++) {
        draw_call(&random, mode, &time_ms);
        wall_ms += round * 397 % 700;
        submit_both(stores, prepared, round, by_events);
        for (size_t i = 0; i < call.count; i++) {
            if (call.outcomes[0][i] != call.outcomes[1][i])
                fail_msg("%s, seed %llu, call %u, operation %zu: %u, and %u prepared", mode->name,
                         (unsigned long long)seed, round, i, call.outcomes[0][i],
                         call.outcomes[1][i]);
            outcomes[call.outcomes[0][i]]++;
        }
        if (round % 16 != 15) continue;
        compare(stores);
        for (unsigned i = 0; i < 2; i++) {
            test_store_close(stores[i]);
            stores[i] = test_store_open(folders[i].path, mode->options);
        }
        compare(stores);
    }
    assert_true(outcomes[LETHE_OUTCOME_OVERFLOW] > 0);
    if (by_events) assert_true(outcomes[LETHE_OUTCOME_FUTURE] > 0);
    if (by_events && !mode->options.forever) {
        assert_true(outcomes[LETHE_OUTCOME_LATE] > 0);
        assert_true(outcomes[LETHE_OUTCOME_APPLIED_LATE] > 0);
    }
    lethe_prepared_free(prepared);
    for (unsigned i = 0; i < 2; i++) {
        test_store_close(stores[i]);
        test_folder_remove(&folders[i]);
    }
}

static void prepared_operations_are_decided_alike(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        for (uint64_t seed = 1; seed <= TEST_SIZED(2, 1); seed++)
            run_mode(&modes[i], seed);
    }
}

/* Gives a store the address of the one before it, as malloc may do. */
static void *store_block;

static void *allocate_again(void *context, size_t size) {
    (void)context;
    if (size != sizeof(lethe_store) || store_block == NULL)
        return lethe_default_allocator()->allocate_zeroed(NULL, size);
    void *block = store_block;
    store_block = NULL;
    return memset(block, 0, size);
}

static void release_for_the_next(void *context, void *block, size_t size) {
    (void)context;
    if (size == sizeof(lethe_store) && store_block == NULL)
        store_block = block;
    else
        lethe_default_allocator()->release(NULL, block, size);
}

/* Another store has another seed, and the same store may have got other modes. */
static void what_was_prepared_is_not_for_the_next_store(void **state) {
    (void)state;
    const lethe_allocator again = {NULL, allocate_again, release_for_the_next};
    struct test_folder folders[2];
    lethe_change change = {.key = test_text("k"), .delta = 1};
    lethe_operation operation = {.id = test_text("a"), .changes = &change, .change_count = 1};
    lethe_prepared *prepared;
    assert_ok(lethe_prepared_new(1, NULL, &prepared));
    test_folder_make(&folders[0]);
    test_folder_make(&folders[1]);
    for (unsigned next = 0; next < 2; next++) {
        lethe_store_options options = {.create = true, .allocator = &again};
        lethe_store *first = test_store_open(folders[0].path, options), *before = first;
        assert_ok(lethe_store_prepare(first, &operation, 1, prepared));
        test_store_close(first);
        if (next == 0) options.exact = LETHE_SWITCH_ON;
        lethe_store *second = test_store_open(folders[next].path, options);
        assert_ptr_equal(second, before);
        uint8_t outcome;
        uint64_t ticket;
        assert_int_equal(
            lethe_store_submit_prepared(second, prepared, NULL, 0, &outcome, NULL, NULL, &ticket),
            LETHE_EINVAL);
        test_store_close(second);
    }
    lethe_default_allocator()->release(NULL, store_block, sizeof(lethe_store));
    store_block = NULL;
    lethe_prepared_free(prepared);
    test_folder_remove(&folders[0]);
    test_folder_remove(&folders[1]);
}

static void wrong_arguments(void **state) {
    (void)state;
    struct test_folder folders[2];
    lethe_store *stores[2];
    for (unsigned i = 0; i < 2; i++) {
        test_folder_make(&folders[i]);
        stores[i] = test_store_open(folders[i].path, (lethe_store_options){.create = true});
    }
    lethe_prepared *prepared;
    lethe_change change = {.key = test_text("k"), .delta = 1};
    lethe_operation operations[2] = {{.id = test_text("a"), .changes = &change, .change_count = 1},
                                     {.id = test_text("b"), .changes = &change, .change_count = 1}};
    uint8_t outcomes[2];
    uint64_t ticket;
    assert_int_equal(lethe_prepared_new(0, NULL, &prepared), LETHE_EINVAL);
    assert_null(prepared);
    assert_int_equal(lethe_prepared_new(1, NULL, NULL), LETHE_EINVAL);
    assert_int_equal(lethe_prepared_new(SIZE_MAX, NULL, &prepared), LETHE_ENOMEM);
    assert_ok(lethe_prepared_new(1, NULL, &prepared));
    assert_int_equal(
        lethe_store_submit_prepared(stores[0], prepared, NULL, 0, outcomes, NULL, NULL, &ticket),
        LETHE_EINVAL); /* nothing is prepared */
    assert_int_equal(lethe_store_prepare(stores[0], operations, 2, prepared), LETHE_EINVAL);
    assert_int_equal(lethe_store_prepare(NULL, operations, 1, prepared), LETHE_EINVAL);
    assert_int_equal(lethe_store_prepare(stores[0], NULL, 1, prepared), LETHE_EINVAL);
    assert_int_equal(lethe_store_prepare(stores[0], operations, 1, NULL), LETHE_EINVAL);
    assert_ok(lethe_store_prepare(stores[0], operations, 1, prepared));
    assert_int_equal(lethe_store_prepare(stores[0], operations, 2, prepared), LETHE_EINVAL);
    assert_int_equal(
        lethe_store_submit_prepared(stores[0], prepared, NULL, 0, outcomes, NULL, NULL, &ticket),
        LETHE_EINVAL); /* what failed leaves nothing */
    assert_ok(lethe_store_prepare(stores[0], operations, 1, prepared));
    assert_int_equal(
        lethe_store_submit_prepared(stores[1], prepared, NULL, 0, outcomes, NULL, NULL, &ticket),
        LETHE_EINVAL); /* for another store */
    assert_int_equal(
        lethe_store_submit_prepared(stores[0], NULL, NULL, 0, outcomes, NULL, NULL, &ticket),
        LETHE_EINVAL);
    assert_ok(
        lethe_store_submit_prepared(stores[0], prepared, NULL, 0, outcomes, NULL, NULL, &ticket));
    assert_int_equal(outcomes[0], LETHE_OUTCOME_APPLIED);
    assert_ok(lethe_store_wait(stores[0], ticket));
    lethe_prepared_free(prepared);
    lethe_prepared_free(NULL);
    for (unsigned i = 0; i < 2; i++) {
        test_store_close(stores[i]);
        test_folder_remove(&folders[i]);
    }
}

/* Goal:   a bucket that would overflow takes its operation back, although the counter has room.
 * Method: what fills the bucket of an hour is taken from the counter again in the hour before. */
static void a_bucket_overflows(void **state) {
    (void)state;
    static const int64_t deltas[] = {INT64_MAX, -INT64_MAX, -1, 5, -5};
    static const uint64_t hours[] = {1, 0, 1, 1, 1};
    /* A few operations are decided one by one: there are enough others of another key. */
    enum { OWN = 5, COUNT = 200 };
    static const uint8_t expected[COUNT] = {[3] = LETHE_OUTCOME_OVERFLOW};
    struct test_folder folder;
    lethe_prepared *prepared;
    uint64_t ticket;
    test_folder_make(&folder);
    assert_ok(lethe_prepared_new(COUNT, NULL, &prepared));
    lethe_store *store = test_store_open(
        folder.path,
        (lethe_store_options){.create = true, .event_time = LETHE_SWITCH_ON, .per = "1h"});
    for (size_t i = 0; i < COUNT; i++) {
        bool is_other = i >= OWN;
        snprintf(call.ids[i], NAME, "%zu", i);
        call.changes[i][0] = (lethe_change){.key = test_text(is_other ? "other" : "k"),
                                            .delta = is_other ? 1 : deltas[i]};
        call.operations[i] =
            (lethe_operation){.id = test_text(call.ids[i]),
                              .changes = call.changes[i],
                              .change_count = 1,
                              .time_ms = START_MS + (is_other ? 1 : hours[i]) * 3600000};
    }
    assert_ok(lethe_store_prepare(store, call.operations, COUNT, prepared));
    assert_ok(lethe_store_submit_prepared(store, prepared, NULL, 0, call.outcomes[0], NULL, NULL,
                                          &ticket));
    assert_memory_equal(call.outcomes[0], expected, COUNT);
    assert_int_equal(test_store_value(store, "k"), -6);
    lethe_prepared_free(prepared);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* --- keys that are alike --- */

enum { MANY = 400000, ALIKE_SEED = 77 };

struct tagged {
    uint32_t tag, number;
};

static int by_tag(const void *a, const void *b) {
    const struct tagged *one = a, *other = b;
    return (one->tag > other->tag) - (one->tag < other->tag);
}

/* Goal:   counters are told apart by their keys, and not by the part of a hash that finds them.
 * Method: of many keys some pairs have the same tag, by the seed of the store; both of a pair are
 *         changed in turn. */
static void keys_that_share_a_tag(void **state) {
    (void)state;
    struct tagged *all = malloc(MANY * sizeof *all);
    for (uint32_t i = 0; i < MANY; i++) {
        char key[NAME];
        int size = snprintf(key, sizeof key, "key-%u", i);
        lethe_hash hash = lethe_hash_bytes(ALIKE_SEED, key, (size_t)size);
        all[i] = (struct tagged){.tag = (uint32_t)(hash.high >> 32), .number = i};
    }
    qsort(all, MANY, sizeof *all, by_tag);
    uint32_t pair[2] = {0, 0};
    for (uint32_t i = 1; i < MANY; i++) {
        if (all[i].tag != all[i - 1].tag) continue;
        pair[0] = all[i].number;
        pair[1] = all[i - 1].number;
    }
    free(all);
    assert_int_not_equal(pair[0], pair[1]); /* there is one */
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_prepared *prepared;
    assert_ok(lethe_prepared_new(MOST, NULL, &prepared));
    lethe_store *store = test_store_open(
        folder.path, (lethe_store_options){.create = true, .seed = ALIKE_SEED, .error = 1e-12});
    for (size_t i = 0; i < MOST; i++) {
        snprintf(call.ids[i], NAME, "%zu", i);
        snprintf(call.keys[i][0], NAME, "key-%u", pair[i % 3 == 0]);
        call.changes[i][0] = (lethe_change){.key = test_text(call.keys[i][0]), .delta = 1};
        call.operations[i] = (lethe_operation){
            .id = test_text(call.ids[i]), .changes = call.changes[i], .change_count = 1};
    }
    uint64_t ticket;
    assert_ok(lethe_store_prepare(store, call.operations, MOST, prepared));
    assert_ok(lethe_store_submit_prepared(store, prepared, NULL, 0, call.outcomes[0], NULL, NULL,
                                          &ticket));
    char key[NAME];
    snprintf(key, sizeof key, "key-%u", pair[1]);
    assert_int_equal(test_store_value(store, key), (MOST + 2) / 3);
    snprintf(key, sizeof key, "key-%u", pair[0]);
    assert_int_equal(test_store_value(store, key), MOST - (MOST + 2) / 3);
    lethe_prepared_free(prepared);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* --- threads --- */

enum { THREADS = 3, ROUNDS = 60, EACH = 500 };

struct worker {
    lethe_store *store;
    unsigned number;
    uint64_t applied;
    pthread_t thread;
};

/* Each prepares and submits the same ids as the others, in its own order. */
static void *work(void *context) {
    struct worker *worker = context;
    static const char key[] = "shared";
    char(*ids)[NAME] = malloc(EACH * sizeof *ids);
    lethe_operation *operations = calloc(EACH, sizeof *operations);
    lethe_change change = {.key = {.data = key, .size = sizeof key - 1}, .delta = 1};
    lethe_prepared *prepared = NULL;
    assert_ok(lethe_prepared_new(EACH, NULL, &prepared));
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint8_t outcomes[EACH];
        uint64_t ticket;
        unsigned which = (round * (worker->number + 1)) % ROUNDS;
        for (unsigned i = 0; i < EACH; i++) {
            snprintf(ids[i], NAME, "%u-%u", which, i);
            operations[i] =
                (lethe_operation){.id = test_text(ids[i]), .changes = &change, .change_count = 1};
        }
        assert_ok(lethe_store_prepare(worker->store, operations, EACH, prepared));
        assert_ok(lethe_store_submit_prepared(worker->store, prepared, NULL, 0, outcomes, NULL,
                                              NULL, &ticket));
        for (unsigned i = 0; i < EACH; i++)
            worker->applied += outcomes[i] == LETHE_OUTCOME_APPLIED;
    }
    lethe_prepared_free(prepared);
    free(operations);
    free(ids);
    return NULL;
}

static void threads_prepare_while_others_submit(void **state) {
    (void)state;
    struct test_folder folder;
    struct worker workers[THREADS];
    uint64_t applied = 0;
    test_folder_make(&folder);
    lethe_store *store =
        test_store_open(folder.path, (lethe_store_options){.create = true, .error = 1e-12});
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.store = store, .number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        applied += workers[i].applied;
    }
    assert_int_equal(applied, test_store_value(store, "shared"));
    assert_int_equal(applied, ROUNDS * EACH); /* the first goes through all of them */
    test_store_close(store);
    test_folder_remove(&folder);
}

int main(void) {
    memset(too_long, 'x', sizeof too_long);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prepared_operations_are_decided_alike),
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(what_was_prepared_is_not_for_the_next_store),
        cmocka_unit_test(a_bucket_overflows),
        cmocka_unit_test(keys_that_share_a_tag),
        cmocka_unit_test(threads_prepare_while_others_submit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

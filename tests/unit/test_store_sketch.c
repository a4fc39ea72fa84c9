/* Goal:   a store with a sketch says, to the bit, what a sketch says that was fed with exactly the
 *         operations that were applied: over duplicates, removals, refusals, several counters,
 *         folds, restarts and crashes.
 * Method: random streams; a plain sketch of the same shape and seed is the model, fed one change at
 *         a time. A crash is this program itself, run again to apply some batches and leave without
 *         a word.
 *         Arguments: seeds, steps a seed; or what a crash needs. */
#include "support/test.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/store.h"
#include "lethe/sketch.h"
#include "support/heap.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/store.h"

extern char **environ;

enum { IDS = 3000, KEYS = 400, BATCH = 60, CHANGES = 5, CRASH_BATCHES = 6 };
static const uint64_t SKETCH_BYTES = 16384, SEED = 12345; /* so small that keys share counters */

static unsigned seeds = 4, steps = 60;

struct subject {
    struct test_random random;
    struct test_folder folder;
    lethe_store_options options;
    lethe_store *store;
    lethe_sketch *model;
    bool was_applied[IDS];
    unsigned refused, removed;
};

static void open_store(struct subject *subject) {
    subject->store = test_store_open(subject->folder.path, subject->options);
}

struct drawn {
    unsigned id_number;
    char id[16], keys[CHANGES][16];
    lethe_change changes[CHANGES];
    lethe_operation operation;
};

static size_t write_key(char *out, uint64_t number) {
    return (size_t)sprintf(out, "key%u", (unsigned)number);
}

/* Few keys get most. Some deltas fill a counter, some take more than there is. */
static void draw(struct test_random *random, struct drawn *drawn) {
    drawn->id_number = (unsigned)test_random_below(random, IDS);
    struct test_random own = {.state = drawn->id_number + 99};
    size_t count = test_random_below(&own, 3) > 0 ? 1 : 1 + test_random_below(&own, CHANGES);
    for (size_t i = 0; i < count; i++) {
        uint64_t key = test_random_below(&own, 1 + test_random_below(&own, KEYS));
        int64_t delta = 1 + (int64_t)test_random_below(&own, 50);
        uint64_t kind = test_random_below(&own, 40);
        if (kind < 10) delta = -(int64_t)test_random_below(&own, 30);
        if (kind == 10) delta = INT64_C(1500000000);
        if (kind == 11) delta = test_random_below(&own, 2) == 0 ? INT64_MAX : INT64_MIN;
        drawn->changes[i] =
            (lethe_change){.key = {.size = write_key(drawn->keys[i], key)}, .delta = delta};
    }
    drawn->operation = (lethe_operation){.change_count = count};
    drawn->operation.id.size = (size_t)sprintf(drawn->id, "id%u", drawn->id_number);
}

static void point(struct drawn *drawn) {
    drawn->operation.id.data = drawn->id;
    drawn->operation.changes = drawn->changes;
    for (size_t i = 0; i < drawn->operation.change_count; i++)
        drawn->changes[i].key.data = drawn->keys[i];
}

static size_t draw_batch(struct test_random *random, struct drawn drawn[BATCH],
                         lethe_operation operations[BATCH]) {
    size_t count = 1 + test_random_below(random, BATCH);
    for (size_t i = 0; i < count; i++) {
        draw(random, &drawn[i]);
        if (i > 0 && test_random_below(random, 5) == 0) drawn[i] = drawn[i - 1];
        point(&drawn[i]);
        operations[i] = drawn[i].operation;
    }
    return count;
}

/* Makes the changes one by one. */
static bool feed(lethe_sketch *sketch, const lethe_operation *operation) {
    for (size_t i = 0; i < operation->change_count; i++) {
        const lethe_change *change = &operation->changes[i];
        const void *key = change->key.data;
        size_t size = change->key.size;
        if (change->delta < 0) {
            if (lethe_sketch_remove(sketch, key, size, -(uint64_t)change->delta) != LETHE_OK)
                return false;
        } else if (change->delta > 0) {
            assert_ok(lethe_sketch_add(sketch, key, size, (uint64_t)change->delta));
            if (sketch_count(sketch, key, size).saturated) return false;
        }
    }
    return true;
}

/* What must become of an operation; the model changes with it. */
static lethe_outcome judge(struct subject *subject, const struct drawn *drawn) {
    if (subject->was_applied[drawn->id_number]) return LETHE_OUTCOME_DUPLICATE;
    lethe_sketch *next;
    assert_ok(lethe_sketch_copy(subject->model, &next));
    if (!feed(next, &drawn->operation)) {
        lethe_sketch_free(next);
        subject->refused++;
        return LETHE_OUTCOME_OVERFLOW;
    }
    lethe_sketch_free(subject->model);
    subject->model = next;
    subject->was_applied[drawn->id_number] = true;
    subject->removed += drawn->changes[0].delta < 0;
    return LETHE_OUTCOME_APPLIED;
}

static void apply_batch(struct subject *subject) {
    struct drawn drawn[BATCH];
    lethe_operation operations[BATCH];
    uint8_t outcomes[BATCH];
    int64_t values[BATCH * CHANGES], *value = values;
    bool wants_values = test_random_below(&subject->random, 2) == 0;
    size_t count = draw_batch(&subject->random, drawn, operations);
    assert_ok(lethe_store_apply(subject->store, operations, count, outcomes,
                                wants_values ? values : NULL));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(outcomes[i], judge(subject, &drawn[i]));
        for (size_t j = 0; wants_values && j < operations[i].change_count; j++) {
            lethe_bytes key = operations[i].changes[j].key;
            assert_int_equal(*value++, sketch_count(subject->model, key.data, key.size).count);
        }
    }
}

struct listing {
    lethe_sketch_top_entry entries[2 * KEYS];
    size_t listed, seen;
};

static bool compare_entry(void *context, lethe_bytes key, int64_t value) {
    struct listing *listing = context;
    const lethe_sketch_top_entry *entry = &listing->entries[listing->seen++];
    assert_true(listing->seen <= listing->listed);
    assert_int_equal(value, entry->count);
    assert_int_equal(key.size, entry->key.size);
    assert_memory_equal(key.data, entry->key.data, key.size);
    return true;
}

static void compare_all(struct subject *subject, lethe_store *store) {
    lethe_store_stats stats = test_store_stats(store);
    assert_int_equal(stats.sketch_total, lethe_sketch_total(subject->model));
    assert_int_equal(stats.sketch_bytes, SKETCH_BYTES);
    assert_int_equal(stats.counters, 0);
    for (unsigned i = 0; i < KEYS; i++) {
        char name[16];
        lethe_bytes key = {name, write_key(name, i)};
        int64_t value;
        bool found;
        lethe_estimate estimate;
        assert_ok(lethe_store_get(store, &key, 1, &value, &found));
        assert_ok(lethe_store_estimate(store, &key, 1, &estimate));
        uint64_t expected = sketch_count(subject->model, name, key.size).count;
        assert_int_equal(value, expected);
        assert_int_equal(found, expected > 0);
        assert_int_equal(estimate.value, expected);
        assert_true(estimate.least <= expected &&
                    (double)(expected - estimate.least) <= stats.sketch_error);
    }
    struct listing listing = {0};
    assert_ok(lethe_sketch_top(subject->model, listing.entries, 2 * KEYS, &listing.listed));
    while (listing.listed > 0 && listing.entries[listing.listed - 1].count == 0)
        listing.listed--;
    assert_ok(lethe_store_top(store, 2 * KEYS, compare_entry, &listing));
    assert_int_equal(listing.seen, listing.listed);
}

static void compare_as_reader(struct subject *subject, lethe_store **reader) {
    lethe_detail detail = {""};
    lethe_store_options options = {.read_only = true};
    lethe_status status = *reader != NULL
                              ? lethe_store_refresh(*reader, &detail)
                              : test_store_try_open(subject->folder.path, options, reader, &detail);
    if (status != LETHE_OK) print_error("%s\n", detail.text);
    assert_ok(status);
    compare_all(subject, *reader);
    if (test_random_below(&subject->random, 3) > 0) return;
    test_store_close(*reader);
    *reader = NULL;
}

static void fold_now(lethe_store *store) {
    lethe_engine_enter(store);
    assert_ok(lethe_fold_all(store));
    lethe_engine_leave(store);
}

/* The process that crashes: applies batches, folds at some point, or at the very end, and is
 * gone. */
static int crash(const char *folder, uint64_t state, unsigned fold_at) {
    struct test_random random = {.state = state};
    lethe_store *store;
    lethe_detail detail = {""};
    lethe_store_options options = {.commit_operations = 7};
    if (test_store_try_open(folder, options, &store, &detail) != LETHE_OK) {
        (void)fprintf(stderr, "%s\n", detail.text);
        return 1;
    }
    for (unsigned i = 0; i < CRASH_BATCHES; i++) {
        struct drawn drawn[BATCH];
        lethe_operation operations[BATCH];
        uint8_t outcomes[BATCH];
        size_t count = draw_batch(&random, drawn, operations);
        if (lethe_store_apply(store, operations, count, outcomes, NULL) != LETHE_OK) return 1;
        if (i == fold_at) fold_now(store);
    }
    _exit(0);
}

static void crash_and_recover(struct subject *subject) {
    char name[] = "test_store_sketch", option[] = "--crash", state[32], fold_at[16];
    (void)sprintf(state, "%llu", (unsigned long long)subject->random.state);
    (void)sprintf(fold_at, "%u", (unsigned)(subject->random.state >> 20) % (CRASH_BATCHES + 3));
    char *words[] = {name, option, subject->folder.path, state, fold_at, NULL};
    test_store_close(subject->store);
    pid_t child;
    int code;
    assert_int_equal(posix_spawn(&child, "/proc/self/exe", NULL, NULL, words, environ), 0);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    for (unsigned i = 0; i < CRASH_BATCHES; i++) {
        struct drawn drawn[BATCH];
        lethe_operation operations[BATCH];
        size_t count = draw_batch(&subject->random, drawn, operations);
        for (size_t j = 0; j < count; j++)
            (void)judge(subject, &drawn[j]);
    }
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    lethe_detail detail = {""};
    lethe_status status = lethe_store_check(subject->folder.path, &health, &detail);
    if (status != LETHE_OK) print_error("%s\n", detail.text);
    assert_ok(status);
    assert_int_equal(health.sketch_bytes, SKETCH_BYTES);
    open_store(subject);
    compare_all(subject, subject->store);
}

static void back_up_and_restore(struct subject *subject) {
    struct test_folder backups, copy;
    test_folder_make(&backups);
    test_folder_make(&copy);
    test_store_close(subject->store);
    assert_ok(lethe_store_backup(subject->folder.path, backups.path, NULL, NULL));
    assert_ok(lethe_store_restore(backups.path, 0, copy.path, NULL, NULL));
    lethe_store *restored;
    assert_ok(lethe_store_open(copy.path, NULL, &restored, NULL));
    compare_all(subject, restored);
    test_store_close(restored);
    test_folder_remove(&backups);
    test_folder_remove(&copy);
    open_store(subject);
}

static void step_once(struct subject *subject, lethe_store **reader) {
    switch (test_random_below(&subject->random, 25)) {
    case 0:
        test_store_close(subject->store);
        open_store(subject);
        break;
    case 1:
        compare_all(subject, subject->store);
        break;
    case 2:
        compare_as_reader(subject, reader);
        break;
    case 3:
        fold_now(subject->store);
        break;
    case 4:
        crash_and_recover(subject);
        break;
    default:
        apply_batch(subject);
        break;
    }
}

static void run_seed(bool exact, uint64_t seed) {
    static struct subject fresh;
    struct subject subject = fresh;
    subject.random.state = seed;
    subject.options = (lethe_store_options){.window_ms = 3600000,
                                            .error = 1e-9,
                                            .exact = exact,
                                            .create = true,
                                            .seed = SEED,
                                            .sketch_bytes = SKETCH_BYTES,
                                            .sketch_top = KEYS};
    if (seed % 2 == 0) subject.options.commit_operations = 7;
    if (seed % 3 == 0) subject.options.counters_memory_bytes = 1;
    lethe_sketch_options plan =
        LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID, .memory_bytes = SKETCH_BYTES,
                      .top = KEYS, .seed = SEED);
    assert_ok(lethe_sketch_new(&plan, &subject.model));
    test_folder_make(&subject.folder);
    open_store(&subject);
    lethe_store *reader = NULL;
    for (unsigned step = 0; step < steps; step++)
        step_once(&subject, &reader);
    back_up_and_restore(&subject);
    compare_all(&subject, subject.store);
    assert_true(subject.refused > 20 && subject.removed > 20);
    test_store_close(reader);
    test_store_close(subject.store);
    lethe_sketch_free(subject.model);
    test_folder_remove(&subject.folder);
}

static void model_agrees(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++)
        run_seed(seed % 2 == 0, seed);
}

int main(int count, char **words) {
    if (count == 5 && strcmp(words[1], "--crash") == 0) {
        return crash(words[2], strtoull(words[3], NULL, 10), (unsigned)atoi(words[4]));
    }
    if (count > 1) seeds = (unsigned)atoi(words[1]);
    if (count > 2) steps = (unsigned)atoi(words[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Goal:   a store with a sketch says, to the bit, what a sketch says that was fed with exactly the operations that
 *         were applied: over copies, removals, refusals, several counters, folds, restarts and crashes.
 * Method: random streams; a plain sketch of the same shape and seed is the model, fed one change at a time. A crash is
 *         this program itself, run again to apply some batches and leave without a word.
 *         Arguments: seeds, steps a seed; or what a crash needs. */
#include "support/test.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine.h"
#include "lethe/counter.h"
#include "lethe/sketch.h"
#include "support/folder.h"
#include "support/heap.h"
#include "support/random.h"

extern char **environ;

enum { IDS = 3000, KEYS = 400, BATCH = 60, CHANGES = 5, CRASH_BATCHES = 6 };
static const uint64_t SKETCH_BYTES = 16384, SEED = 12345; /* so small that keys share counters */

static unsigned seeds = 4, steps = 60;

struct subject {
    struct test_random random;
    struct test_folder folder;
    lethe_counter_options options;
    lethe_counter *counter;
    lethe_sketch *model;
    bool was_applied[IDS];
    unsigned refused, removed;
};

static void open_store(struct subject *subject) {
    lethe_detail detail = {""};
    lethe_status status =
        lethe_counter_open(subject->folder.path, &subject->options, &subject->counter, &detail);
    if (status != LETHE_OK) print_error("%s\n", detail.text);
    assert_ok(status);
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
            if (lethe_sketch_query(sketch, key, size).saturated) return false;
        }
    }
    return true;
}

/* What must become of an operation; the model changes with it. */
static lethe_outcome judge(struct subject *subject, const struct drawn *drawn) {
    if (subject->was_applied[drawn->id_number]) return LETHE_COPY;
    lethe_sketch *next;
    assert_ok(lethe_sketch_copy(subject->model, &next));
    if (!feed(next, &drawn->operation)) {
        lethe_sketch_free(next);
        subject->refused++;
        return LETHE_OVERFLOW;
    }
    lethe_sketch_free(subject->model);
    subject->model = next;
    subject->was_applied[drawn->id_number] = true;
    subject->removed += drawn->changes[0].delta < 0;
    return LETHE_APPLIED;
}

static void apply_batch(struct subject *subject) {
    struct drawn drawn[BATCH];
    lethe_operation operations[BATCH];
    uint8_t outcomes[BATCH];
    int64_t values[BATCH * CHANGES], *value = values;
    bool wants_values = test_random_below(&subject->random, 2) == 0;
    size_t count = draw_batch(&subject->random, drawn, operations);
    assert_ok(lethe_counter_apply(subject->counter, operations, count, outcomes,
                                  wants_values ? values : NULL));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(outcomes[i], judge(subject, &drawn[i]));
        for (size_t j = 0; wants_values && j < operations[i].change_count; j++) {
            lethe_bytes key = operations[i].changes[j].key;
            assert_int_equal(*value++,
                             lethe_sketch_query(subject->model, key.data, key.size).count);
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
    assert_int_equal(key.size, entry->size);
    assert_memory_equal(key.data, entry->key, key.size);
    return true;
}

static void compare_all(struct subject *subject, lethe_counter *counter) {
    lethe_counter_stats stats;
    lethe_counter_info(counter, &stats);
    assert_int_equal(stats.sketch_total, lethe_sketch_total(subject->model));
    assert_int_equal(stats.sketch_bytes, SKETCH_BYTES);
    assert_int_equal(stats.counters, 0);
    for (unsigned i = 0; i < KEYS; i++) {
        char name[16];
        lethe_bytes key = {name, write_key(name, i)};
        int64_t value;
        bool found;
        lethe_estimate estimate;
        assert_ok(lethe_counter_get(counter, &key, 1, &value, &found));
        assert_ok(lethe_counter_estimate(counter, &key, 1, &estimate));
        uint64_t expected = lethe_sketch_query(subject->model, name, key.size).count;
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
    assert_ok(lethe_counter_top(counter, 2 * KEYS, compare_entry, &listing));
    assert_int_equal(listing.seen, listing.listed);
}

static void compare_as_reader(struct subject *subject, lethe_counter **reader) {
    lethe_detail detail = {""};
    lethe_counter_options options = {.read_only = true};
    lethe_status status = *reader != NULL
                              ? lethe_counter_refresh(*reader, &detail)
                              : lethe_counter_open(subject->folder.path, &options, reader, &detail);
    if (status != LETHE_OK) print_error("%s\n", detail.text);
    assert_ok(status);
    compare_all(subject, *reader);
    if (test_random_below(&subject->random, 3) > 0) return;
    assert_ok(lethe_counter_close(*reader, NULL));
    *reader = NULL;
}

static void fold_now(lethe_counter *counter) {
    lethe_engine_enter(counter);
    assert_ok(lethe_engine_fold_all(counter));
    lethe_engine_leave(counter);
}

/* The process that crashes: applies batches, folds at some point, or at the very end, and is gone. */
static int crash(const char *folder, uint64_t state, unsigned fold_at) {
    struct test_random random = {.state = state};
    lethe_counter *counter;
    lethe_detail detail = {""};
    lethe_counter_options options = {.commit_operations = 7};
    if (lethe_counter_open(folder, &options, &counter, &detail) != LETHE_OK) {
        (void)fprintf(stderr, "%s\n", detail.text);
        return 1;
    }
    for (unsigned i = 0; i < CRASH_BATCHES; i++) {
        struct drawn drawn[BATCH];
        lethe_operation operations[BATCH];
        uint8_t outcomes[BATCH];
        size_t count = draw_batch(&random, drawn, operations);
        if (lethe_counter_apply(counter, operations, count, outcomes, NULL) != LETHE_OK) return 1;
        if (i == fold_at) fold_now(counter);
    }
    _exit(0);
}

static void crash_and_recover(struct subject *subject) {
    char name[] = "test_counter_sketch", option[] = "--crash", state[32], fold_at[16];
    (void)sprintf(state, "%llu", (unsigned long long)subject->random.state);
    (void)sprintf(fold_at, "%u", (unsigned)(subject->random.state >> 20) % (CRASH_BATCHES + 3));
    char *words[] = {name, option, subject->folder.path, state, fold_at, NULL};
    assert_ok(lethe_counter_close(subject->counter, NULL));
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
    lethe_counter_health health;
    lethe_detail detail = {""};
    lethe_status status = lethe_counter_check(subject->folder.path, &health, &detail);
    if (status != LETHE_OK) print_error("%s\n", detail.text);
    assert_ok(status);
    assert_int_equal(health.sketch_bytes, SKETCH_BYTES);
    open_store(subject);
    compare_all(subject, subject->counter);
}

static void back_up_and_restore(struct subject *subject) {
    struct test_folder backups, copy;
    test_folder_make(&backups);
    test_folder_make(&copy);
    assert_ok(lethe_counter_close(subject->counter, NULL));
    assert_ok(lethe_counter_backup(subject->folder.path, backups.path, NULL));
    assert_ok(lethe_counter_restore(backups.path, copy.path, NULL));
    lethe_counter *restored;
    assert_ok(lethe_counter_open(copy.path, NULL, &restored, NULL));
    compare_all(subject, restored);
    assert_ok(lethe_counter_close(restored, NULL));
    test_folder_remove(&backups);
    test_folder_remove(&copy);
    open_store(subject);
}

static void step_once(struct subject *subject, lethe_counter **reader) {
    switch (test_random_below(&subject->random, 25)) {
    case 0:
        assert_ok(lethe_counter_close(subject->counter, NULL));
        open_store(subject);
        break;
    case 1:
        compare_all(subject, subject->counter);
        break;
    case 2:
        compare_as_reader(subject, reader);
        break;
    case 3:
        fold_now(subject->counter);
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
    subject.options = (lethe_counter_options){.window_ms = 3600000,
                                              .error = 1e-9,
                                              .exact = exact,
                                              .create = true,
                                              .seed = SEED,
                                              .sketch_bytes = SKETCH_BYTES,
                                              .sketch_top = KEYS};
    if (seed % 2 == 0) subject.options.commit_operations = 7;
    if (seed % 3 == 0) subject.options.counters_memory_bytes = 1;
    lethe_sketch_options plan = {
        .kind = LETHE_SKETCH_FID, .memory_bytes = SKETCH_BYTES, .top = KEYS, .seed = SEED};
    assert_ok(lethe_sketch_new(&plan, &subject.model));
    test_folder_make(&subject.folder);
    open_store(&subject);
    lethe_counter *reader = NULL;
    for (unsigned step = 0; step < steps; step++)
        step_once(&subject, &reader);
    back_up_and_restore(&subject);
    compare_all(&subject, subject.counter);
    assert_true(subject.refused > 20 && subject.removed > 20);
    assert_ok(lethe_counter_close(reader, NULL));
    assert_ok(lethe_counter_close(subject.counter, NULL));
    lethe_sketch_free(subject.model);
    test_folder_remove(&subject.folder);
}

static void model_agrees(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++)
        run_seed(seed % 2 == 0, seed);
}

static lethe_status try_open(const char *folder, lethe_counter_options options,
                             lethe_detail *detail) {
    lethe_counter *counter;
    *detail = (lethe_detail){""};
    lethe_status status = lethe_counter_open(folder, &options, &counter, detail);
    if (status == LETHE_OK) assert_ok(lethe_counter_close(counter, NULL));
    return status;
}

static void a_store_stays_of_one_kind(void **state) {
    (void)state;
    struct test_folder exact, sketched;
    test_folder_make(&exact);
    test_folder_make(&sketched);
    lethe_detail detail;
    lethe_counter_options wanted = {.create = true, .sketch_bytes = 1 << 20, .sketch_top = 10};
    assert_ok(try_open(exact.path, (lethe_counter_options){.create = true}, &detail));
    assert_ok(try_open(sketched.path, wanted, &detail));
    assert_int_equal(try_open(exact.path, wanted, &detail), LETHE_EINVAL);
    assert_non_null(strstr(detail.text, "exact counters"));
    assert_ok(try_open(sketched.path, (lethe_counter_options){0}, &detail));
    assert_ok(try_open(sketched.path, wanted, &detail));
    wanted.sketch_top = 0;
    assert_ok(try_open(sketched.path, wanted, &detail));
    wanted.sketch_top = 11;
    assert_int_equal(try_open(sketched.path, wanted, &detail), LETHE_EINVAL);
    assert_non_null(strstr(detail.text, "10 most frequent"));
    wanted.sketch_top = 0;
    wanted.sketch_bytes = 2 << 20;
    assert_int_equal(try_open(sketched.path, wanted, &detail), LETHE_EINVAL);
    assert_non_null(strstr(detail.text, "1048576 bytes"));
    const lethe_counter_options bad[] = {
        {.create = true, .sketch_bytes = 4095},
        {.create = true, .sketch_bytes = UINT64_C(1) << 33},
        {.create = true, .sketch_top = 5},
        {.create = true, .sketch_bytes = 1 << 20, .sketch_top = (1 << 20) + 1}};
    test_folder_remove(&exact);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        test_folder_make(&exact);
        assert_int_equal(try_open(exact.path, bad[i], &detail), LETHE_EINVAL);
        test_folder_remove(&exact);
    }
    test_folder_remove(&sketched);
}

static bool visit_none(void *context, lethe_bytes key, int64_t value) {
    (void)context, (void)key, (void)value;
    fail();
    return false;
}

static void what_a_sketch_cannot_do_is_refused(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter *counter;
    lethe_counter_options options = {.create = true, .sketch_bytes = 4096};
    assert_ok(lethe_counter_open(folder.path, &options, &counter, NULL));
    lethe_bytes key = {"key", 3};
    int64_t value = 5;
    bool existed;
    assert_int_equal(lethe_counter_set(counter, &key, &value, 1), LETHE_EINVAL);
    assert_int_equal(lethe_counter_delete(counter, &key, 1, &existed), LETHE_EINVAL);
    assert_int_equal(lethe_counter_each(counter, (lethe_bytes){0}, visit_none, NULL), LETHE_EINVAL);
    assert_ok(lethe_counter_top(counter, 10, visit_none, NULL));
    assert_ok(lethe_counter_close(counter, NULL));
    test_folder_remove(&folder);
    test_folder_make(&folder);
    options.sketch_bytes = 0;
    lethe_estimate estimate;
    assert_ok(lethe_counter_open(folder.path, &options, &counter, NULL));
    assert_int_equal(lethe_counter_estimate(counter, &key, 1, &estimate), LETHE_EINVAL);
    assert_ok(lethe_counter_close(counter, NULL));
    test_folder_remove(&folder);
}

/* Records that somebody else wrote into a store: family, key, value; no value deletes. */
struct foreign {
    const char *what;
    enum lethe_family family;
    lethe_bytes key, value;
};

#define KEY(text) \
    { .data = (text), .size = sizeof(text) - 1 }
#define COMMIT_9 KEY("\0\0\0\0\0\0\0\11")

/* A store with a sketch of one piece, saved, and a few commits. */
static void make_small(const struct test_folder *folder) {
    lethe_counter *counter;
    lethe_counter_options options = {.create = true, .seed = SEED, .sketch_bytes = SKETCH_BYTES};
    assert_ok(lethe_counter_open(folder->path, &options, &counter, NULL));
    for (unsigned i = 0; i < 5; i++) {
        char id[8];
        lethe_change change = {{"a", 1}, 3};
        lethe_operation operation = {
            .id = {id, (size_t)sprintf(id, "%u", i)}, .changes = &change, .change_count = 1};
        uint8_t outcome;
        assert_ok(lethe_counter_apply(counter, &operation, 1, &outcome, NULL));
    }
    assert_ok(lethe_counter_close(counter, NULL));
}

static void write_foreign(const struct test_folder *folder, const struct foreign *foreign) {
    lethe_store *store;
    assert_ok(lethe_store_open(folder->path, LETHE_STORE_WRITE, false, NULL, &store, NULL));
    lethe_batch *batch = lethe_batch_new();
    if (foreign->value.data == NULL) {
        lethe_batch_delete(batch, store, foreign->family, foreign->key);
    } else {
        lethe_batch_put(batch, store, foreign->family, foreign->key, foreign->value);
    }
    assert_ok(lethe_store_commit(store, batch, NULL));
    lethe_batch_free(batch);
    lethe_store_close(store);
}

static void foreign_records_are_refused(void **state) {
    (void)state;
    const struct foreign all[] = {
        {"no piece", LETHE_FAMILY_COUNTERS, KEY("\0\0\0\0"), {0}},
        {"an empty piece", LETHE_FAMILY_COUNTERS, KEY("\0\0\0\0"), KEY("")},
        {"another piece", LETHE_FAMILY_COUNTERS, KEY("\0\0\0\0"), KEY("LETHE?")},
        {"a piece too many", LETHE_FAMILY_COUNTERS, KEY("\0\0\0\1"), KEY("x")},
        {"a counter", LETHE_FAMILY_COUNTERS, KEY("clicks"), KEY("\2")},
        {"no size", LETHE_FAMILY_COUNTERS, KEY("\377\377\377\377"), {0}},
        {"a short size", LETHE_FAMILY_COUNTERS, KEY("\377\377\377\377"), KEY("\1")},
        {"a large size", LETHE_FAMILY_COUNTERS, KEY("\377\377\377\377"),
         KEY("\377\377\377\377\377\377\377\377")},
        {"a size of nothing", LETHE_FAMILY_COUNTERS, KEY("\377\377\377\377"),
         KEY("\0\0\0\0\0\0\0\0")},
        {"a sketch of an earlier commit", LETHE_FAMILY_COUNTERS, KEY(""), KEY("\0\0\0\0\0\0\0\1")},
        {"a sketch of a commit to come", LETHE_FAMILY_COUNTERS, KEY(""), KEY("\0\0\0\0\1\0\0\0")},
        {"a commit that is no number", LETHE_FAMILY_COUNTERS, KEY(""), KEY("\1")},
        {"no commit", LETHE_FAMILY_COUNTERS, KEY(""), {0}},
        {"values among the deltas", LETHE_FAMILY_CHANGES, COMMIT_9, KEY("\1\0\0\0\1\0\0\0\2a\2")},
        {"a removal of what is not there", LETHE_FAMILY_CHANGES, COMMIT_9,
         KEY("\2\0\0\0\1\0\0\0\1b\1")},
        {"a change that nobody noted", LETHE_FAMILY_CHANGES, COMMIT_9,
         KEY("\2\0\0\0\1\0\0\0\1b\2")},
        {"a commit of no number", LETHE_FAMILY_CHANGES, KEY("\377"), KEY("\2\0\0\0\1\0\0\0\1b\2")},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct test_folder folder;
        test_folder_make(&folder);
        make_small(&folder);
        write_foreign(&folder, &all[i]);
        lethe_counter *counter;
        lethe_counter_health health;
        lethe_detail detail = {""};
        lethe_status status = lethe_counter_open(folder.path, NULL, &counter, &detail);
        if (status != LETHE_ECORRUPT) print_error("%s: %d\n", all[i].what, (int)status);
        assert_int_equal(status, LETHE_ECORRUPT);
        assert_true(detail.text[0] != '\0');
        detail.text[0] = '\0';
        assert_int_equal(lethe_counter_check(folder.path, &health, &detail), LETHE_ECORRUPT);
        assert_true(detail.text[0] != '\0');
        test_folder_remove(&folder);
    }
}

/* Each allocation of a whole life fails once: an error, or nothing noticed; and what was acknowledged is there. */
static void short_memory_is_told(void **state) {
    (void)state;
    bool done = false;
    for (size_t fail_at = 0; !done; fail_at++) {
        struct test_folder folder;
        struct test_heap heap;
        test_folder_make(&folder);
        test_heap_init(&heap, fail_at);
        lethe_counter *counter;
        lethe_counter_options options = {.create = true,
                                         .seed = SEED,
                                         .sketch_bytes = SKETCH_BYTES,
                                         .sketch_top = 3,
                                         .allocator = &heap.allocator};
        bool acknowledged = false;
        lethe_status status = lethe_counter_open(folder.path, &options, &counter, NULL);
        if (status == LETHE_OK) {
            lethe_change changes[] = {{{"a", 1}, 3}, {{"b", 1}, 2}, {{"a", 1}, -1}};
            lethe_operation operation = {
                .id = {"id", 2}, .changes = changes, .change_count = 3, .time_ms = 0};
            uint8_t outcome;
            status = lethe_counter_apply(counter, &operation, 1, &outcome, NULL);
            acknowledged = status == LETHE_OK && outcome == LETHE_APPLIED;
            lethe_status closed = lethe_counter_close(counter, NULL);
            if (status == LETHE_OK) status = closed;
        }
        assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
        assert_int_equal(heap.live_bytes, 0);
        done = status == LETHE_OK && heap.allocations <= fail_at;
        if (acknowledged) {
            lethe_bytes key = {"a", 1};
            int64_t value;
            bool found;
            assert_ok(lethe_counter_open(folder.path, NULL, &counter, NULL));
            assert_ok(lethe_counter_get(counter, &key, 1, &value, &found));
            assert_int_equal(value, 2);
            assert_ok(lethe_counter_close(counter, NULL));
        }
        test_folder_remove(&folder);
    }
}

int main(int count, char **words) {
    if (count == 5 && strcmp(words[1], "--crash") == 0) {
        return crash(words[2], strtoull(words[3], NULL, 10), (unsigned)atoi(words[4]));
    }
    if (count > 1) seeds = (unsigned)atoi(words[1]);
    if (count > 2) steps = (unsigned)atoi(words[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_agrees),
        cmocka_unit_test(a_store_stays_of_one_kind),
        cmocka_unit_test(what_a_sketch_cannot_do_is_refused),
        cmocka_unit_test(foreign_records_are_refused),
        cmocka_unit_test(short_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

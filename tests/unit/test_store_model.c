/* Goal:   a store decides every operation as an exact model does, over restarts, evictions and
 *         folds.
 * Method: random streams of fresh operations, duplicates young and old, late and future events,
 *         several counters an operation, overflows, sets and deletes, by event time; the model
 *         knows when each id was applied and what each counter holds. Arguments: seeds, steps a
 *         seed. */
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/store.h"

enum { IDS = 4000, KEYS = 300, BATCH = 40, CHANGES = 4, WINDOW_MS = 60000 };

static unsigned seeds = 6, steps = 120;

struct model {
    uint64_t clock_ms;
    bool was_applied[IDS];
    uint64_t applied_ms[IDS], digest[IDS];
    bool exists[KEYS];
    int64_t values[KEYS];
};

struct subject {
    struct test_random random;
    struct test_folder folder;
    lethe_store_options options;
    lethe_store *store;
    struct model model;
    uint64_t judged;
};

static void open_store(struct subject *subject) {
    subject->store = test_store_open(subject->folder.path, subject->options);
}

/* Ids and keys of all lengths: the number, and then as many letters as it says. */
static size_t write_name(char *out, char kind, unsigned number) {
    int size = sprintf(out, "%c%u", kind, number);
    for (unsigned i = 0; i < number % 30; i++)
        out[size++] = (char)('a' + i % 26);
    return (size_t)size;
}

struct drawn {
    char id[64], keys[CHANGES][64];
    unsigned id_number, key_numbers[CHANGES];
    lethe_change changes[CHANGES];
    lethe_operation operation;
};

/* An operation's changes follow from its id, so that a duplicate is one in all that it has. */
static void draw(struct subject *subject, struct drawn *drawn) {
    struct test_random *random = &subject->random;
    drawn->id_number = (unsigned)test_random_below(random, IDS);
    struct test_random own = {.state = drawn->id_number + 77};
    size_t count = 1 + test_random_below(&own, CHANGES);
    for (size_t i = 0; i < count; i++) {
        drawn->key_numbers[i] = (unsigned)test_random_below(&own, KEYS);
        drawn->changes[i] = (lethe_change){
            .key = {drawn->keys[i], write_name(drawn->keys[i], 'k', drawn->key_numbers[i])},
            .delta = (int64_t)test_random_below(&own, 2001) - 1000};
        /* Some deltas are so large that two of them overflow. */
        if (test_random_below(&own, 40) == 0) drawn->changes[i].delta = INT64_MAX / 2 + 5;
    }
    uint64_t time_ms = subject->model.clock_ms;
    switch (test_random_below(random, 12)) {
    case 0:
        time_ms -= test_random_below(random, 3 * WINDOW_MS);
        break;
    case 1:
        time_ms = UINT64_MAX / 2 + test_random_below(random, 1000);
        break;
    case 2:
        time_ms += test_random_below(random, WINDOW_MS / 20);
        break;
    default:
        time_ms += test_random_below(random, 3);
        break;
    }
    drawn->operation =
        (lethe_operation){.id = {drawn->id, write_name(drawn->id, 'i', drawn->id_number)},
                          .changes = drawn->changes,
                          .change_count = count,
                          .time_ms = time_ms};
    if (test_random_below(random, 100) == 0) drawn->operation.id.size = 0;
}

/* What an operation that is fresh does to the model. */
static lethe_outcome model_apply(struct model *model, const struct drawn *drawn) {
    struct model before = *model;
    for (size_t i = 0; i < drawn->operation.change_count; i++) {
        unsigned key = drawn->key_numbers[i];
        /* All changes of the key: only where it ends up counts. */
        __extension__ __int128 after = before.values[key];
        for (size_t j = 0; j < drawn->operation.change_count; j++)
            after += drawn->key_numbers[j] == key ? drawn->changes[j].delta : 0;
        if (after > INT64_MAX || after < INT64_MIN) {
            *model = before;
            return LETHE_OUTCOME_OVERFLOW;
        }
        model->values[key] = (int64_t)after;
        model->exists[key] = true;
    }
    model->was_applied[drawn->id_number] = true;
    model->applied_ms[drawn->id_number] = model->clock_ms;
    return LETHE_OUTCOME_APPLIED;
}

/* The model's own decision; where it leaves a choice, the store's is taken. */
static lethe_outcome judge(struct subject *subject, const struct drawn *drawn, lethe_outcome said) {
    struct model *model = &subject->model;
    uint64_t time_ms = drawn->operation.time_ms;
    if (drawn->operation.id.size == 0) return LETHE_OUTCOME_INVALID;
    if (time_ms > UINT64_MAX / 4) return LETHE_OUTCOME_FUTURE;
    if (time_ms + WINDOW_MS < model->clock_ms) return LETHE_OUTCOME_LATE;
    if (time_ms > model->clock_ms) model->clock_ms = time_ms;
    uint64_t age_ms = model->clock_ms - model->applied_ms[drawn->id_number];
    if (model->was_applied[drawn->id_number]) {
        if (age_ms <= WINDOW_MS) return LETHE_OUTCOME_DUPLICATE;
        if (!subject->options.exact && age_ms <= WINDOW_MS + WINDOW_MS / 4 &&
            said == LETHE_OUTCOME_DUPLICATE) {
            return LETHE_OUTCOME_DUPLICATE;
        }
    }
    return model_apply(model, drawn);
}

static void apply_batch(struct subject *subject) {
    static struct drawn drawn[BATCH];
    lethe_operation operations[BATCH];
    uint8_t outcomes[BATCH];
    int64_t values[BATCH * CHANGES], *value = values;
    size_t count = 1 + test_random_below(&subject->random, BATCH);
    for (size_t i = 0; i < count; i++) {
        draw(subject, &drawn[i]);
        /* Copies within the batch as well. */
        if (i > 0 && test_random_below(&subject->random, 5) == 0) drawn[i] = drawn[i - 1];
        operations[i] = drawn[i].operation;
        operations[i].id.data = drawn[i].id;
        operations[i].changes = drawn[i].changes;
        for (size_t j = 0; j < operations[i].change_count; j++) {
            drawn[i].changes[j].key.data = drawn[i].keys[j];
        }
    }
    assert_ok(lethe_store_apply(subject->store, operations, count, outcomes, values));
    for (size_t i = 0; i < count; i++) {
        lethe_outcome expected = judge(subject, &drawn[i], (lethe_outcome)outcomes[i]);
        assert_int_equal(outcomes[i], expected);
        for (size_t j = 0; j < operations[i].change_count; j++) {
            assert_int_equal(*value++, subject->model.values[drawn[i].key_numbers[j]]);
        }
        subject->judged++;
    }
}

static void set_or_delete(struct subject *subject) {
    char name[64];
    unsigned key = (unsigned)test_random_below(&subject->random, KEYS);
    lethe_bytes bytes = {name, write_name(name, 'k', key)};
    if (test_random_below(&subject->random, 2) == 0) {
        bool existed;
        assert_ok(lethe_store_delete(subject->store, &bytes, 1, &existed));
        assert_int_equal(existed, subject->model.exists[key]);
        subject->model.exists[key] = false;
        subject->model.values[key] = 0;
    } else {
        int64_t value = (int64_t)test_random_below(&subject->random, 1000);
        assert_ok(lethe_store_set(subject->store, &bytes, &value, 1));
        subject->model.exists[key] = true;
        subject->model.values[key] = value;
    }
}

struct visited {
    const struct model *model;
    size_t count;
    char last[64];
    size_t last_size;
    int64_t last_value;
};

static unsigned number_of(lethe_bytes key) {
    char text[64] = "";
    memcpy(text, key.data, key.size);
    return (unsigned)atoi(text + 1);
}

static bool visit_in_order(void *context, lethe_bytes key, int64_t value) {
    struct visited *visited = context;
    unsigned number = number_of(key);
    assert_true(visited->model->exists[number]);
    assert_int_equal(value, visited->model->values[number]);
    size_t shorter = key.size < visited->last_size ? key.size : visited->last_size;
    int order = memcmp(visited->last, key.data, shorter);
    assert_true(visited->count == 0 || order < 0 || (order == 0 && visited->last_size < key.size));
    memcpy(visited->last, key.data, key.size);
    visited->last_size = key.size;
    visited->count++;
    return true;
}

static bool visit_descending(void *context, lethe_bytes key, int64_t value) {
    struct visited *visited = context;
    assert_int_equal(value, visited->model->values[number_of(key)]);
    assert_true(visited->count == 0 || value <= visited->last_value);
    visited->last_value = value;
    visited->count++;
    return true;
}

static void compare_all(struct subject *subject, lethe_store *store) {
    size_t existing = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        char name[64];
        lethe_bytes key = {name, write_name(name, 'k', i)};
        int64_t value;
        bool found;
        assert_ok(lethe_store_get(store, &key, 1, &value, &found));
        assert_int_equal(found, subject->model.exists[i]);
        assert_int_equal(value, subject->model.values[i]);
        existing += found;
    }
    struct visited all = {.model = &subject->model}, top = {.model = &subject->model};
    assert_ok(lethe_store_each(store, (lethe_bytes){0}, visit_in_order, &all));
    assert_int_equal(all.count, existing);
    assert_ok(lethe_store_top(store, 10, visit_descending, &top));
    assert_int_equal(top.count, existing < 10 ? existing : 10);
}

/* Another process would see what is committed; here the same process opens the store a second
 * time, to read. */
static void compare_as_reader(struct subject *subject) {
    lethe_store *reader = test_store_open_reader(subject->folder.path);
    compare_all(subject, reader);
    test_store_close(reader);
}

static void run_seed(bool exact, uint64_t seed) {
    struct subject subject = {.random = {.state = seed},
                              .options = {.window_ms = WINDOW_MS,
                                          .error = 1e-9,
                                          .exact = exact,
                                          .event_time = true,
                                          .create = true}};
    if (seed % 2 == 0) subject.options.commit_operations = 7;
    if (seed % 3 == 0) subject.options.counters_memory_bytes = 1; /* evict whenever possible */
    subject.model.clock_ms = UINT64_C(1600000000000);
    test_folder_make(&subject.folder);
    open_store(&subject);
    for (unsigned step = 0; step < steps; step++) {
        uint64_t what = test_random_below(&subject.random, 30);
        if (what == 0) {
            test_store_close(subject.store);
            if (test_random_below(&subject.random, 4) == 0) {
                subject.options.error = subject.options.error < 1e-9 ? 1e-9 : 1e-12;
            }
            open_store(&subject);
        } else if (what == 1) {
            set_or_delete(&subject);
        } else if (what == 2) {
            compare_all(&subject, subject.store);
            compare_as_reader(&subject);
        } else {
            apply_batch(&subject);
        }
    }
    compare_all(&subject, subject.store);
    test_store_close(subject.store);
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    assert_ok(lethe_store_check(subject.folder.path, &health, NULL));
    open_store(&subject);
    compare_all(&subject, subject.store);
    test_store_close(subject.store);
    test_folder_remove(&subject.folder);
}

static void model_agrees(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        run_seed(false, seed);
    }
}

static void model_agrees_in_exact_mode(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        run_seed(true, seed);
    }
}

int main(int count, char **words) {
    if (count > 1) seeds = (unsigned)atoi(words[1]);
    if (count > 2) steps = (unsigned)atoi(words[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_agrees),
        cmocka_unit_test(model_agrees_in_exact_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

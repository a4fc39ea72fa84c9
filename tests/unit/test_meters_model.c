/* Goal:   a store with meters shows, at every moment and for each resolution, exactly the buckets
 *         that a model has, and totals that are their sum and the rest; in every mode, over folds,
 *         evictions, kills, sets, deletes, retention, and resolutions that are added.
 * Method: random operations by event time, young and old, of several changes; the model knows
 *         every bucket. Labels are computed here from a fixed offset, without the store's code.
 *         Arguments: seeds, steps a seed. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tunables.h"
#include "support/random.h"
#include "support/store.h"

__extension__ typedef __int128 wide;

enum { KEYS = 12, CHANGES = 3, BATCH = 30, BUCKETS = 4000, WINDOW_MS = 40 * 3600 * 1000 };
static const uint64_t START_MS = UINT64_C(1600000000000), HOUR_MS = 3600000, DAY_MS = 86400000;
/* Of +05:45. */
static const uint64_t OFFSET_MS = 20700000;

static unsigned seeds = 6, steps = 40;

enum { BY_HOUR, BY_DAY, RESOLUTIONS };
static const char *const names[RESOLUTIONS] = {"1h", "1d"};

struct bucket {
    unsigned key;
    uint64_t label;
    int64_t value;
};

struct model {
    uint64_t clock_ms;
    int64_t totals[KEYS];
    bool exists[KEYS];
    bool has[RESOLUTIONS];
    uint64_t keep_ms[RESOLUTIONS], kept_from[RESOLUTIONS];
    struct bucket buckets[RESOLUTIONS][BUCKETS];
    size_t counts[RESOLUTIONS];
};

struct subject {
    struct test_random random;
    struct test_folder folder;
    lethe_store_options options;
    lethe_store *store;
    struct model model;
    unsigned next_id;
    /* How long nothing has happened. */
    uint64_t idle_ms;
    /* The store folds all the time. */
    bool folds;
};

/* Hours count from 1970; days, too, here. */
static uint64_t label_of(unsigned by, uint64_t time_ms) {
    return by == BY_HOUR ? time_ms / HOUR_MS : (time_ms + OFFSET_MS) / DAY_MS;
}
static uint64_t begin_of(unsigned by, uint64_t label) {
    return by == BY_HOUR ? label * HOUR_MS : label * DAY_MS - OFFSET_MS;
}

static struct bucket *bucket_of(struct model *model, unsigned by, unsigned key, uint64_t label) {
    for (size_t i = 0; i < model->counts[by]; i++) {
        struct bucket *bucket = &model->buckets[by][i];
        if (bucket->key == key && bucket->label == label) return bucket;
    }
    assert_true(model->counts[by] < BUCKETS);
    struct bucket *bucket = &model->buckets[by][model->counts[by]++];
    *bucket = (struct bucket){.key = key, .label = label};
    return bucket;
}

/* What commits drop at the store's time. */
static void model_retain(struct model *model) {
    for (unsigned by = 0; by < RESOLUTIONS; by++) {
        if (!model->has[by] || model->keep_ms[by] == 0) continue;
        uint64_t from = label_of(by, model->clock_ms - model->keep_ms[by]);
        if (from <= model->kept_from[by]) continue;
        model->kept_from[by] = from;
        size_t kept = 0;
        for (size_t i = 0; i < model->counts[by]; i++) {
            if (model->buckets[by][i].label >= from)
                model->buckets[by][kept++] = model->buckets[by][i];
        }
        model->counts[by] = kept;
    }
}

static size_t name_key(char *out, unsigned key) {
    /* Some keys begin as the keys of buckets do. */
    if (key % 3 == 0) {
        memcpy(out, "\1\0\0", 3);
        return 3 + (size_t)sprintf(out + 3, "key-%u", key);
    }
    return (size_t)sprintf(out, "k%u", key);
}

struct drawn {
    char id[24], keys[CHANGES][32];
    unsigned numbers[CHANGES];
    lethe_change changes[CHANGES];
    lethe_operation operation;
};

static void draw(struct subject *subject, struct drawn *drawn) {
    struct test_random *random = &subject->random;
    /* Half of them are simple. */
    size_t most = test_random_below(random, 2) == 0 ? 1 : CHANGES;
    size_t count = 1 + test_random_below(random, most);
    for (size_t i = 0; i < count; i++) {
        drawn->numbers[i] = (unsigned)test_random_below(random, KEYS);
        drawn->changes[i] =
            (lethe_change){.key = {drawn->keys[i], name_key(drawn->keys[i], drawn->numbers[i])},
                           .delta = (int64_t)test_random_below(random, 2001) - 1000};
        if (test_random_below(random, 30) == 0) drawn->changes[i].delta = INT64_MAX / 2 + 5;
        if (test_random_below(random, 60) == 0) drawn->changes[i].delta = INT64_MIN / 2 - 5;
    }
    uint64_t time_ms = subject->model.clock_ms + subject->idle_ms + test_random_below(random, 1000);
    if (test_random_below(random, 4) == 0)
        time_ms = subject->model.clock_ms - test_random_below(random, WINDOW_MS);
    drawn->operation = (lethe_operation){
        .id = {drawn->id, 0}, .changes = drawn->changes, .change_count = count, .time_ms = time_ms};
    drawn->operation.id.size = (size_t)sprintf(drawn->id, "i%u", subject->next_id++);
}

/* Only where a value ends up counts. */
static bool add(int64_t *value, wide moved) {
    wide after = *value + moved;
    *value = (int64_t)after;
    return after >= INT64_MIN && after <= INT64_MAX;
}

/* All or nothing: a bucket that overflows takes everything back. */
static lethe_outcome model_apply(struct model *model, const struct drawn *drawn) {
    static struct model before;
    before = *model;
    uint64_t time_ms = drawn->operation.time_ms;
    if (time_ms > model->clock_ms) before.clock_ms = model->clock_ms = time_ms;
    wide moved[KEYS] = {0};
    bool fits = true;
    for (size_t i = 0; i < drawn->operation.change_count; i++) {
        model->exists[drawn->numbers[i]] = true;
        moved[drawn->numbers[i]] += drawn->changes[i].delta;
    }
    for (size_t i = 0; i < drawn->operation.change_count; i++) {
        unsigned key = drawn->numbers[i];
        fits = add(&model->totals[key], moved[key]) && fits;
        for (unsigned by = 0; by < RESOLUTIONS; by++) {
            uint64_t label = label_of(by, time_ms);
            if (!model->has[by] || label < model->kept_from[by]) continue;
            fits = add(&bucket_of(model, by, key, label)->value, moved[key]) && fits;
        }
        moved[key] = 0; /* made */
    }
    if (fits) return LETHE_OUTCOME_APPLIED;
    *model = before;
    return LETHE_OUTCOME_OVERFLOW;
}

static void apply_batch(struct subject *subject) {
    static struct drawn drawn[BATCH];
    lethe_operation operations[BATCH];
    uint8_t outcomes[BATCH];
    size_t count = 1 + test_random_below(&subject->random, BATCH);
    for (size_t i = 0; i < count; i++) {
        draw(subject, &drawn[i]);
        operations[i] = drawn[i].operation;
    }
    uint64_t before_ms = subject->model.clock_ms;
    uint64_t ticket;
    test_store_submit_either(subject->store, operations, count, outcomes, &ticket);
    assert_ok(lethe_store_wait(subject->store, ticket));
    for (size_t i = 0; i < count; i++) {
        bool is_late = drawn[i].operation.time_ms + WINDOW_MS < subject->model.clock_ms &&
                       subject->options.forever != LETHE_SWITCH_ON;
        lethe_outcome expected =
            is_late ? LETHE_OUTCOME_LATE : model_apply(&subject->model, &drawn[i]);
        if (outcomes[i] != expected)
            fail_msg("%u: outcome %u, not %u, clock %llu", (unsigned)i, outcomes[i], expected,
                     (unsigned long long)before_ms);
    }
    model_retain(&subject->model);
    subject->idle_ms = 0;
}

static void set_or_delete(struct subject *subject) {
    char name[32];
    struct model *model = &subject->model;
    unsigned key = (unsigned)test_random_below(&subject->random, KEYS);
    lethe_bytes bytes = {name, name_key(name, key)};
    if (test_random_below(&subject->random, 2) == 0) {
        int64_t value = (int64_t)test_random_below(&subject->random, 1000);
        assert_ok(lethe_store_set(subject->store, &bytes, &value, 1));
        model->exists[key] = true;
        model->totals[key] = value;
        return;
    }
    bool existed;
    assert_ok(lethe_store_delete(subject->store, &bytes, 1, &existed));
    assert_int_equal(existed, model->exists[key]);
    model->exists[key] = false;
    model->totals[key] = 0;
    for (unsigned by = 0; by < RESOLUTIONS; by++) {
        size_t kept = 0;
        for (size_t i = 0; i < model->counts[by]; i++) {
            if (model->buckets[by][i].key != key)
                model->buckets[by][kept++] = model->buckets[by][i];
        }
        model->counts[by] = kept;
    }
}

struct seen {
    struct subject *subject;
    unsigned by;
    uint64_t from_ms, to_ms; /* asked for */
    bool asked[KEYS];
    size_t keys;
    uint64_t last_from_ms;
    size_t rows_of_period, nonzero;
    bool has_rests[KEYS];
    __int128 sums[KEYS];
};

static unsigned number_of(lethe_bytes key) {
    for (unsigned i = 0; i < KEYS; i++) {
        char name[32];
        size_t size = name_key(name, i);
        if (size == key.size && memcmp(name, key.data, size) == 0) return i;
    }
    fail_msg("a key that nobody counted");
    return 0;
}

static bool see(void *context, const lethe_usage_row *row) {
    struct seen *seen = context;
    struct model *model = &seen->subject->model;
    unsigned key = number_of(row->key);
    assert_true(seen->asked[key]);
    if (row->is_rest) {
        assert_false(seen->has_rests[key]);
        seen->has_rests[key] = true;
        unsigned __int128 high = (uint64_t)row->value_high;
        __int128 rest = (__int128)(high << 64 | row->value), sum = 0;
        for (size_t i = 0; i < model->counts[seen->by]; i++) {
            if (model->buckets[seen->by][i].key == key) sum += model->buckets[seen->by][i].value;
        }
        assert_true(rest + sum == model->totals[key]);
        return true;
    }
    uint64_t label = label_of(seen->by, row->from_ms);
    assert_true(row->from_ms == begin_of(seen->by, label));
    assert_true(row->to_ms == begin_of(seen->by, label + 1));
    assert_int_equal(row->offset_s, OFFSET_MS / 1000);
    assert_int_equal(row->to_offset_s, OFFSET_MS / 1000);
    assert_true(label >= model->kept_from[seen->by]);
    if (row->from_ms != seen->last_from_ms) {
        assert_true(seen->last_from_ms == 0 || seen->rows_of_period == seen->keys);
        assert_true(seen->last_from_ms == 0 || begin_of(seen->by, label - 1) == seen->last_from_ms);
        seen->rows_of_period = 0;
        seen->last_from_ms = row->from_ms;
    }
    seen->rows_of_period++;
    assert_true(seen->to_ms == 0 || row->from_ms < seen->to_ms);
    assert_true(seen->from_ms == 0 || row->to_ms > seen->from_ms);
    int64_t expected = 0;
    for (size_t i = 0; i < model->counts[seen->by]; i++) {
        struct bucket *bucket = &model->buckets[seen->by][i];
        if (bucket->key == key && bucket->label == label) expected = bucket->value;
    }
    assert_int_equal((int64_t)row->value, expected);
    assert_int_equal(row->value_high, expected < 0 ? -1 : 0);
    seen->nonzero += expected != 0;
    return true;
}

/* How many buckets of the asked keys are not zero in the asked time. */
static size_t expected_nonzero(const struct seen *seen) {
    const struct model *model = &seen->subject->model;
    size_t count = 0;
    for (size_t i = 0; i < model->counts[seen->by]; i++) {
        const struct bucket *bucket = &model->buckets[seen->by][i];
        if (!seen->asked[bucket->key] || bucket->value == 0) continue;
        uint64_t from_ms = begin_of(seen->by, bucket->label);
        uint64_t to_ms = begin_of(seen->by, bucket->label + 1);
        count += (seen->to_ms == 0 || from_ms < seen->to_ms) &&
                 (seen->from_ms == 0 || to_ms > seen->from_ms);
    }
    return count;
}

static void compare_usage(struct subject *subject, lethe_store *store, unsigned by) {
    struct test_random *random = &subject->random;
    struct seen seen = {.subject = subject, .by = by};
    lethe_usage_query query = LETHE_INIT(lethe_usage_query);
    char key_names[KEYS][32];
    lethe_bytes keys[KEYS];
    query.by = names[by];
    if (test_random_below(random, 2) == 0)
        query.from_ms = subject->model.clock_ms - test_random_below(random, 4 * WINDOW_MS);
    if (test_random_below(random, 2) == 0)
        query.to_ms = subject->model.clock_ms - test_random_below(random, WINDOW_MS) + HOUR_MS;
    seen.from_ms = query.from_ms;
    seen.to_ms = query.to_ms;
    unsigned how = (unsigned)test_random_below(random, 3);
    for (unsigned i = 0; i < KEYS; i++) {
        if (how == 0) seen.asked[i] = subject->model.exists[i];
        if (how == 1) seen.asked[i] = subject->model.exists[i] && i % 3 != 0;
        if (how == 2 && test_random_below(random, 4) == 0) {
            seen.asked[i] = true;
            keys[query.key_count] = (lethe_bytes){key_names[i], name_key(key_names[i], i)};
            query.key_count++;
        }
        seen.keys += seen.asked[i];
    }
    if (how == 2 && query.key_count == 0) return;
    if (how == 1) query.prefix = (lethe_bytes){"k", 1};
    if (how == 2) query.keys = keys;
    lethe_status status = lethe_store_usage(store, &query, see, &seen);
    assert_ok(status);
    assert_int_equal(seen.nonzero, expected_nonzero(&seen));
    for (unsigned i = 0; i < KEYS && query.from_ms == 0; i++)
        assert_int_equal(seen.has_rests[i], seen.asked[i]);
}

struct ranked {
    struct subject *subject;
    unsigned by;
    uint64_t label;
    size_t count;
    int64_t last;
};

static bool see_ranked(void *context, lethe_bytes key, int64_t value) {
    struct ranked *ranked = context;
    assert_true(ranked->count == 0 || value <= ranked->last);
    ranked->last = value;
    ranked->count++;
    assert_int_equal(
        value,
        bucket_of(&ranked->subject->model, ranked->by, number_of(key), ranked->label)->value);
    return true;
}

static void compare_top(struct subject *subject, lethe_store *store, unsigned by) {
    struct model *model = &subject->model;
    uint64_t at_ms = model->clock_ms - test_random_below(&subject->random, WINDOW_MS);
    struct ranked ranked = {.subject = subject, .by = by, .label = label_of(by, at_ms)};
    size_t before = model->counts[by], expected = 0;
    for (size_t i = 0; i < before; i++)
        expected += model->buckets[by][i].label == ranked.label;
    assert_ok(lethe_store_top_at(store, names[by], at_ms, 100, see_ranked, &ranked));
    assert_int_equal(ranked.count, expected);
    assert_int_equal(model->counts[by], before);
}

struct listed {
    struct model *model;
    size_t count;
};

static bool see_counter(void *context, lethe_bytes key, int64_t value) {
    struct listed *listed = context;
    assert_int_equal(value, listed->model->totals[number_of(key)]);
    listed->count++;
    return true;
}

static void compare_all(struct subject *subject, lethe_store *store) {
    struct model *model = &subject->model;
    struct listed listed = {.model = model}, top = {.model = model};
    size_t existing = 0;
    for (unsigned i = 0; i < KEYS; i++)
        existing += model->exists[i];
    assert_ok(lethe_store_each(store, (lethe_bytes){0}, see_counter, &listed));
    assert_ok(lethe_store_top(store, KEYS, see_counter, &top));
    assert_int_equal(listed.count, existing);
    assert_int_equal(top.count, existing);
    for (unsigned by = 0; by < RESOLUTIONS; by++) {
        if (!model->has[by]) continue;
        for (unsigned i = 0; i < 3; i++)
            compare_usage(subject, store, by);
        compare_top(subject, store, by);
    }
}

static void open_store(struct subject *subject) {
    subject->store = test_store_open(subject->folder.path, subject->options);
    /* They belong to the store from now on. */
    subject->options.per = subject->options.zone = subject->options.keep = NULL;
    model_retain(&subject->model);
}

/* Another retention, or the second resolution, from this opening on. */
static void change_meters(struct subject *subject) {
    struct model *model = &subject->model;
    switch (test_random_below(&subject->random, 5)) {
    case 0:
        subject->options.per = "1d,60m";
        model->has[BY_DAY] = true;
        break;
    case 1:
        subject->options.keep = "1h=36h";
        model->keep_ms[BY_HOUR] = 36 * HOUR_MS;
        break;
    case 2:
        if (!model->has[BY_DAY]) break;
        subject->options.keep = "1h=ever,1d=2d";
        model->keep_ms[BY_HOUR] = 0;
        model->keep_ms[BY_DAY] = 2 * DAY_MS;
        break;
    default:
        break;
    }
}

static void back_up(struct subject *subject) {
    struct test_folder backups, restored;
    test_folder_make(&backups);
    test_folder_make(&restored);
    test_store_close(subject->store);
    assert_ok(lethe_store_backup(subject->folder.path, backups.path, NULL, NULL));
    assert_ok(lethe_store_restore(backups.path, 0, restored.path, NULL, NULL));
    lethe_store *reader = test_store_open_reader(restored.path);
    compare_all(subject, reader);
    test_store_close(reader);
    test_folder_remove(&backups);
    test_folder_remove(&restored);
    change_meters(subject);
    open_store(subject);
}

/* What a kill at this moment leaves is all there, to a reader and to the next writer. Not while
 * folds may be running: a copy takes time. */
static void kill_and_look(struct subject *subject) {
    struct test_folder killed;
    if (subject->folds) return;
    test_store_kill(&subject->folder, &killed);
    lethe_store *reader = test_store_open_reader(killed.path);
    compare_all(subject, reader);
    test_store_close(reader);
    lethe_store_options options = subject->options;
    options.per = options.zone = options.keep = NULL;
    lethe_store *writer = test_store_open(killed.path, options);
    compare_all(subject, writer);
    test_store_close(writer);
    test_folder_remove(&killed);
}

static void do_step(struct subject *subject) {
    switch (test_random_below(&subject->random, 24)) {
    case 0:
        test_store_close(subject->store);
        change_meters(subject);
        open_store(subject);
        break;
    case 2:
    case 3:
        set_or_delete(subject);
        break;
    case 4: {
        lethe_store *reader = test_store_open_reader(subject->folder.path);
        compare_all(subject, reader);
        test_store_close(reader);
        break;
    }
    case 5:
        compare_all(subject, subject->store);
        break;
    case 6:
        if (test_random_below(&subject->random, 4) == 0) back_up(subject);
        break;
    case 7:
    case 8:
        subject->idle_ms += test_random_below(&subject->random, 8 * HOUR_MS);
        break;
    case 9:
        kill_and_look(subject);
        break;
    default:
        apply_batch(subject);
        break;
    }
}

static void run_seed(uint64_t seed) {
    static struct subject subject;
    subject = (struct subject){.random = {.state = seed},
                               .options = {.window_ms = WINDOW_MS,
                                           .error = 1e-12,
                                           .event_time = LETHE_SWITCH_ON,
                                           .create = true,
                                           .zone = "+05:45",
                                           .per = "1h"}};
    lethe_tunables usual = lethe_tune;
    subject.model.clock_ms = START_MS + seed * HOUR_MS;
    subject.model.has[BY_HOUR] = true;
    if (seed % 2 == 0) subject.options.commit_operations = 7;
    subject.folds = seed % 3 != 2;
    if (seed % 3 == 0) subject.options.counters_memory_bytes = 1; /* evict whenever possible */
    lethe_tune.simple_operations = 1;
    if (seed % 3 == 1) lethe_tune.fold_after_bytes = 300;
    if (seed % 4 == 1) subject.options.exact = LETHE_SWITCH_ON;
    if (seed % 4 == 2) subject.options.check_payload = LETHE_SWITCH_ON;
    if (seed % 4 == 3) subject.options.forever = LETHE_SWITCH_ON;
    if (seed % 5 == 0) subject.options.forgetful = LETHE_SWITCH_ON;
    if (seed % 6 == 0) lethe_tune.stamp_limit = 20;
    if (seed / 2 % 2 == 0) lethe_tune.fold_split_keys = 2;
    test_folder_make(&subject.folder);
    if (seed % 2 == 0) { /* a store that counted before it had meters */
        subject.options.per = subject.options.zone = NULL;
        subject.model.has[BY_HOUR] = false;
        open_store(&subject);
        for (unsigned i = 0; i < 5; i++)
            apply_batch(&subject);
        test_store_close(subject.store);
        subject.options.per = "1h";
        subject.options.zone = "+05:45";
        subject.model.has[BY_HOUR] = true;
    }
    open_store(&subject);
    for (unsigned step = 0; step < steps; step++)
        do_step(&subject);
    compare_all(&subject, subject.store);
    test_store_close(subject.store);
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    lethe_detail detail;
    assert_ok(lethe_store_check(subject.folder.path, &health, &detail));
    open_store(&subject);
    compare_all(&subject, subject.store);
    test_store_close(subject.store);
    test_folder_remove(&subject.folder);
    lethe_tune = usual;
}

static void model_agrees(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++)
        run_seed(seed);
}

int main(int count, char **words) {
    if (count > 1) seeds = (unsigned)atoi(words[1]);
    if (count > 2) steps = (unsigned)atoi(words[2]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(model_agrees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

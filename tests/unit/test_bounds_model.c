/* Goal:   every operation with bounds gets the outcome and the limits that a model computes, and
 *         nothing that was refused leaves a trace; in every mode, over sets, deletes,
 *         backups, retention, and wall clocks that are set back.
 * Method: random operations of several changes, with bounds near the values, of which some come
 *         again with other bounds, and some are given up. Both clocks are the test's: the wall
 *         clock's hours are the buckets. Arguments: seeds, steps a seed. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tunables.h"
#include "os/clock.h"
#include "support/random.h"
#include "support/store.h"

__extension__ typedef __int128 wide;

enum { KEYS = 6, CHANGES = 4, BATCH = 12, IDS = 4000, LABELS = 400, KEPT_HOURS = 5 };
static const uint64_t START_MS = UINT64_C(1600000000000), HOUR_MS = 3600000;
enum { BY_HOUR, BY_DAY, RESOLUTIONS };
static const uint64_t lengths_ms[RESOLUTIONS] = {UINT64_C(3600000), UINT64_C(86400000)};
static unsigned seeds = 8, steps = 60;
static uint64_t usual_fold_bytes;

static uint64_t wall_now_ms, boot_now_ms;
uint64_t __wrap_lethe_os_wall_ms(void);
uint64_t __wrap_lethe_os_wall_ms(void) {
    return wall_now_ms;
}
uint64_t __wrap_lethe_os_boot_ms(void);
uint64_t __wrap_lethe_os_boot_ms(void) {
    return boot_now_ms;
}

struct sent {
    char id[24], keys[CHANGES][16];
    unsigned numbers[CHANGES];
    lethe_change changes[CHANGES];
    lethe_operation operation;
    uint8_t expected;
    lethe_limit limits[CHANGES];
};

enum fate { UNKNOWN, APPLIED, GIVEN_UP };

struct model {
    int64_t totals[KEYS];
    bool exists[KEYS];
    /* From START_MS on, and where retention has come to. */
    int64_t buckets[RESOLUTIONS][LABELS][KEYS];
    uint64_t kept_from[RESOLUTIONS];
    uint64_t limited, applied;
    enum fate fates[IDS];
};

struct subject {
    struct test_random random;
    struct test_folder folder;
    lethe_store_options options;
    bool by_events, has_meters, checks;
    lethe_store *store;
    struct model model;
    /* What ids have as changes: bounds are drawn anew. */
    uint64_t seed;
    unsigned id_count;
    uint64_t clock_ms;
};

static uint64_t below(struct subject *subject, uint64_t n) {
    return test_random_below(&subject->random, n);
}

static uint64_t label_now(uint32_t by) {
    assert_true(wall_now_ms >= START_MS);
    uint64_t label = wall_now_ms / lengths_ms[by] - START_MS / lengths_ms[by];
    assert_true(label < LABELS);
    return label;
}

/* --- the model --- */

static int64_t value_of(const struct model *model, const lethe_change *change, unsigned key) {
    bool of_bucket = (change->flags & LETHE_CHANGE_BUCKET) != 0;
    if (!of_bucket) return model->totals[key];
    uint32_t by = change->resolution;
    return label_now(by) < model->kept_from[by] ? 0 : model->buckets[by][label_now(by)][key];
}

static bool is_dropped(const struct model *model, const lethe_change *change) {
    return (change->flags & LETHE_CHANGE_BUCKET) != 0 &&
           label_now(change->resolution) < model->kept_from[change->resolution];
}

static bool crosses(const struct model *model, const struct sent *sent, size_t at) {
    const lethe_change *change = &sent->changes[at];
    wide moved = 0;
    for (size_t i = 0; i < sent->operation.change_count; i++)
        moved += sent->numbers[i] == sent->numbers[at] ? sent->changes[i].delta : 0;
    wide after = value_of(model, change, sent->numbers[at]) + moved;
    bool drops = is_dropped(model, change);
    bool above = (change->flags & LETHE_CHANGE_MAX) != 0 && (drops || after > change->max);
    bool under = (change->flags & LETHE_CHANGE_MIN) != 0 && (drops || after < change->min);
    return (moved > 0 && above) || (moved < 0 && under);
}

static int64_t left_of_period(uint32_t by) {
    return (int64_t)(lengths_ms[by] - wall_now_ms % lengths_ms[by]);
}

static int64_t clip(wide number) {
    if (number < 0) return 0;
    return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

static void expect_limits(const struct model *model, struct sent *sent, bool is_limited) {
    for (size_t i = 0; i < sent->operation.change_count; i++) {
        const lethe_change *change = &sent->changes[i];
        lethe_limit *limit = &sent->limits[i];
        bool has_max = change->flags & LETHE_CHANGE_MAX, has_min = change->flags & LETHE_CHANGE_MIN;
        int64_t value = value_of(model, change, sent->numbers[i]);
        *limit = (lethe_limit){.value = value, .left = INT64_MAX, .resets_ms = LETHE_NEVER_RESETS};
        if (has_max) limit->left = clip((wide)change->max - value);
        if (has_min && (!has_max || change->delta < 0))
            limit->left = clip((wide)value - change->min);
        if ((has_max || has_min) && is_dropped(model, change)) limit->left = 0;
        if (change->flags & LETHE_CHANGE_BUCKET)
            limit->resets_ms = left_of_period(change->resolution);
        limit->is_crossed = is_limited && crosses(model, sent, i);
    }
}

/* Only where a value ends up counts. */
static bool add(int64_t *value, wide moved) {
    wide after = *value + moved;
    *value = (int64_t)after;
    return after >= INT64_MIN && after <= INT64_MAX;
}

static bool add_all(struct model *model, const struct sent *sent, bool has_buckets) {
    wide moved[KEYS] = {0};
    for (size_t i = 0; i < sent->operation.change_count; i++) {
        model->exists[sent->numbers[i]] = true;
        moved[sent->numbers[i]] += sent->changes[i].delta;
    }
    for (unsigned key = 0; key < KEYS; key++) {
        if (!add(&model->totals[key], moved[key])) return false;
        for (uint32_t by = 0; by < RESOLUTIONS && has_buckets; by++) {
            if (label_now(by) < model->kept_from[by]) continue;
            if (!add(&model->buckets[by][label_now(by)][key], moved[key])) return false;
        }
    }
    return true;
}

static lethe_outcome decide_fresh(struct subject *subject, const struct sent *sent) {
    static struct model before;
    struct model *model = &subject->model;
    for (size_t i = 0; i < sent->operation.change_count; i++) {
        if (crosses(model, sent, i)) return LETHE_OUTCOME_LIMITED;
    }
    before = *model;
    if (add_all(model, sent, subject->has_meters)) return LETHE_OUTCOME_APPLIED;
    *model = before;
    return LETHE_OUTCOME_OVERFLOW;
}

static void expect(struct subject *subject, struct sent *sent) {
    struct model *model = &subject->model;
    enum fate *fate = &model->fates[atoi(sent->id + 1)];
    bool gives_up = sent->operation.flags == LETHE_OPERATION_GIVE_UP;
    sent->expected = LETHE_OUTCOME_INVALID;
    memset(sent->limits, 0, sizeof sent->limits);
    for (size_t i = 0; i < sent->operation.change_count; i++) {
        bool of_bucket = (sent->changes[i].flags & LETHE_CHANGE_BUCKET) != 0;
        if (of_bucket && (subject->by_events || !subject->has_meters)) return;
    }
    if (*fate != UNKNOWN) {
        bool differs = subject->checks && (*fate == GIVEN_UP) != gives_up;
        sent->expected = differs ? LETHE_OUTCOME_MISMATCH : LETHE_OUTCOME_DUPLICATE;
    } else {
        sent->expected = gives_up ? LETHE_OUTCOME_APPLIED : decide_fresh(subject, sent);
    }
    bool is_applied = sent->expected == LETHE_OUTCOME_APPLIED;
    if (is_applied) *fate = gives_up ? GIVEN_UP : APPLIED;
    model->applied += is_applied;
    model->limited += sent->expected == LETHE_OUTCOME_LIMITED;
    expect_limits(model, sent, sent->expected == LETHE_OUTCOME_LIMITED);
}

/* --- operations --- */

static int64_t draw_bound(struct subject *subject, int64_t value) {
    switch (below(subject, 8)) {
    case 0:
        return below(subject, 2) == 0 ? INT64_MAX : INT64_MIN;
    case 1:
        return 0;
    default:
        break;
    }
    int64_t near = (int64_t)below(subject, 201) - 100, bound;
    return __builtin_add_overflow(value, near, &bound) ? value : bound;
}

static void draw_bounds(struct subject *subject, lethe_change *change, unsigned key) {
    if (below(subject, 3) == 0) return;
    change->flags = 1 + (uint32_t)below(subject, 3); /* max, min, or both */
    if (subject->has_meters ? below(subject, 2) == 0 : below(subject, 30) == 0)
        change->flags |= LETHE_CHANGE_BUCKET;
    if (change->flags & LETHE_CHANGE_BUCKET)
        change->resolution = (uint32_t)below(subject, RESOLUTIONS);
    int64_t value = value_of(&subject->model, change, key);
    change->max = draw_bound(subject, value);
    change->min = draw_bound(subject, value);
}

static void draw(struct subject *subject, struct sent *sent) {
    unsigned id = subject->id_count;
    if (id == 0 || (below(subject, 4) > 0 && id < IDS))
        subject->id_count++;
    else
        id = (unsigned)below(subject, id);
    *sent = (struct sent){0};
    struct test_random own = {.state = subject->seed ^ id * UINT64_C(0x9e3779b97f4a7c15)};
    size_t count = 1 + test_random_below(&own, CHANGES);
    for (size_t i = 0; i < count; i++) {
        unsigned key = (unsigned)test_random_below(&own, KEYS);
        int64_t delta = (int64_t)test_random_below(&own, 101) - 50;
        if (delta == 0 && subject->checks) delta = 1; /* without bounds it would be payload */
        if (test_random_below(&own, 40) == 0) delta = INT64_MAX / 2 + 5;
        if (test_random_below(&own, 40) == 0) delta = INT64_MIN / 2 - 5;
        size_t size = (size_t)sprintf(sent->keys[i], "key-%u", key);
        sent->numbers[i] = key;
        sent->changes[i] = (lethe_change){.key = {sent->keys[i], size}, .delta = delta};
        draw_bounds(subject, &sent->changes[i], key);
    }
    sent->operation = (lethe_operation){.id = {sent->id, (size_t)sprintf(sent->id, "i%u", id)},
                                        .changes = sent->changes,
                                        .change_count = count,
                                        .time_ms = subject->clock_ms};
    if (below(subject, 12) > 0) return;
    sent->operation.flags = LETHE_OPERATION_GIVE_UP;
    sent->operation.changes = NULL;
    sent->operation.change_count = 0;
}

static void compare_limits(const struct sent *sent, const lethe_limit *limits) {
    for (size_t i = 0; i < sent->operation.change_count; i++) {
        assert_int_equal(limits[i].value, sent->limits[i].value);
        assert_int_equal(limits[i].left, sent->limits[i].left);
        assert_int_equal(limits[i].resets_ms, sent->limits[i].resets_ms);
        assert_int_equal(limits[i].is_crossed, sent->limits[i].is_crossed);
    }
}

static void apply_batch(struct subject *subject) {
    static struct sent sent[BATCH];
    lethe_operation operations[BATCH];
    uint8_t outcomes[BATCH];
    lethe_limit limits[BATCH * CHANGES], *next = limits;
    size_t count = 1 + below(subject, BATCH);
    for (size_t i = 0; i < count; i++) {
        draw(subject, &sent[i]);
        operations[i] = sent[i].operation;
    }
    bool wants_limits = below(subject, 3) > 0;
    assert_ok(wants_limits
                  ? lethe_store_apply_bounded(subject->store, operations, count, outcomes, limits)
                  : lethe_store_apply(subject->store, operations, count, outcomes, NULL));
    for (size_t i = 0; i < count; i++) {
        expect(subject, &sent[i]);
        if (outcomes[i] != sent[i].expected)
            fail_msg("%s: outcome %u, not %u", sent[i].id, outcomes[i], sent[i].expected);
        if (wants_limits) compare_limits(&sent[i], next);
        next += sent[i].operation.change_count;
    }
}

/* --- everything else that happens to a store --- */

static void set_or_delete(struct subject *subject) {
    char name[16];
    struct model *model = &subject->model;
    unsigned key = (unsigned)below(subject, KEYS);
    lethe_bytes bytes = {name, (size_t)sprintf(name, "key-%u", key)};
    if (below(subject, 3) > 0) {
        int64_t value = (int64_t)below(subject, 200) - 100;
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
    for (size_t i = 0; i < LABELS; i++)
        model->buckets[BY_HOUR][i][key] = model->buckets[BY_DAY][i][key] = 0;
}

/* Time passes, or somebody sets the wall clock. Retention follows with the next commit. */
static void pass_time(struct subject *subject) {
    uint64_t passed_ms = below(subject, 3 * HOUR_MS);
    boot_now_ms += passed_ms;
    wall_now_ms += passed_ms;
    subject->clock_ms += passed_ms;
    if (!subject->by_events && below(subject, 4) == 0) {
        wall_now_ms -= below(subject, 9 * HOUR_MS);
        if (wall_now_ms < START_MS) wall_now_ms = START_MS;
    }
    lethe_bytes tick = test_text("tick");
    int64_t value = 1;
    assert_ok(lethe_store_set(subject->store, &tick, &value, 1));
    if (!subject->has_meters || subject->by_events) return;
    uint64_t oldest_ms = subject->clock_ms - KEPT_HOURS * HOUR_MS;
    if (oldest_ms < START_MS) return;
    uint64_t label = oldest_ms / HOUR_MS - START_MS / HOUR_MS;
    uint64_t *kept_from = &subject->model.kept_from[BY_HOUR];
    if (label > *kept_from) *kept_from = label;
}

struct listed {
    const struct model *model;
    size_t count;
};

static bool see_counter(void *context, lethe_bytes key, int64_t value) {
    struct listed *listed = context;
    if (((const char *)key.data)[0] == 't') return true;
    listed->count++;
    assert_int_equal(value, listed->model->totals[((const char *)key.data)[4] - '0']);
    return true;
}

static void compare(struct subject *subject, lethe_store *store) {
    struct listed listed = {.model = &subject->model};
    size_t existing = 0;
    for (size_t i = 0; i < KEYS; i++)
        existing += subject->model.exists[i];
    assert_ok(lethe_store_each(store, (lethe_bytes){0}, see_counter, &listed));
    assert_int_equal(listed.count, existing);
    lethe_store_stats stats = test_store_stats(store);
    assert_int_equal(stats.limited, subject->model.limited);
    assert_int_equal(stats.applied, subject->model.applied);
}

static void open_store(struct subject *subject) {
    subject->store = test_store_open(subject->folder.path, subject->options);
}

/* The store itself, or one that is restored from a backup that is made beside it. */
static void reopen(struct subject *subject) {
    struct test_folder other, backups;
    bool restores = below(subject, 2) == 0;
    if (restores) {
        test_folder_make(&other);
        test_folder_make(&backups);
        assert_ok(lethe_store_backup(subject->folder.path, backups.path, NULL, NULL));
    }
    test_store_close(subject->store);
    if (restores) {
        assert_ok(lethe_store_restore(backups.path, 0, other.path, NULL, NULL));
        test_folder_remove(&backups);
        test_folder_remove(&subject->folder);
        subject->folder = other;
    }
    open_store(subject);
}

static void do_step(struct subject *subject) {
    switch (below(subject, 12)) {
    case 0:
        set_or_delete(subject);
        return;
    case 1:
    case 2:
        pass_time(subject);
        return;
    case 3:
        if (below(subject, 3) == 0) reopen(subject);
        return;
    case 4: {
        lethe_store *reader = test_store_open_reader(subject->folder.path);
        compare(subject, reader);
        test_store_close(reader);
        return;
    }
    default:
        apply_batch(subject);
    }
}

static void run(uint64_t seed) {
    static struct subject subject;
    subject = (struct subject){.random = {.state = seed}, .seed = seed * 77, .clock_ms = START_MS};
    wall_now_ms = START_MS;
    boot_now_ms = 1000000;
    lethe_store_options *options = &subject.options;
    *options =
        (lethe_store_options){.window_ms = 30 * 24 * HOUR_MS, .error = 1e-12, .create = true};
    bool is_small = lethe_tune.fold_after_bytes < usual_fold_bytes;
    options->counters_memory_bytes = is_small ? 1 : 0;
    subject.by_events = seed % 4 == 3;
    subject.has_meters = seed % 4 != 0;
    subject.checks = seed % 5 == 1;
    options->event_time = subject.by_events ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
    options->per = subject.has_meters ? "1h,1d" : NULL;
    options->keep = subject.has_meters && !subject.by_events ? "1h=5h" : NULL;
    options->check_payload = subject.checks ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
    options->exact = seed % 5 == 2 ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
    options->forever = seed % 5 == 3 ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
    options->ledger_memory_bytes = 1 << 22;
    options->forgetful = seed % 3 == 1 ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
    options->scale = (int32_t)(seed % 2 * 2);
    test_folder_make(&subject.folder);
    open_store(&subject);
    for (unsigned i = 0; i < steps; i++)
        do_step(&subject);
    compare(&subject, subject.store);
    test_store_close(subject.store);
    test_folder_remove(&subject.folder);
}

static void a_model_agrees(void **state) {
    (void)state;
    usual_fold_bytes = lethe_tune.fold_after_bytes;
    lethe_tune.fold_split_keys = 3;
    for (unsigned seed = 1; seed <= seeds; seed++) {
        lethe_tune.fold_after_bytes = seed / 2 % 2 == 0 ? usual_fold_bytes : 2000;
        print_message("seed %u\n", seed);
        run(seed);
    }
}

int main(int count, char **words) {
    if (count > 1) seeds = (unsigned)atoi(words[1]);
    if (count > 2) steps = (unsigned)atoi(words[2]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_model_agrees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

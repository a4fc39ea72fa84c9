/* Goal:   holds, settlements and operations with bounds get the answers, the limits and the values
 *         that a model computes, to the last number; a lease never ends before its true time; how a
 *         hold ended is known for W; all of it over kills, backups, readers, sets, deletes,
 *         retention, restarts of the machine, and wall clocks that are set.
 * Method: random calls with clocks that the test sets. The wall clock's hours and days are the
 *         buckets. Which of them retention has dropped, the store says. In every kind of store. */
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "lethe/holds.h"
#include "support/random.h"
#include "support/store.h"

enum { IDS = 12, KEYS = 3, WINDOW_MS = 8000, STEPS = 600, HOURS = 4000 };
enum { BY_HOUR, BY_DAY, RESOLUTIONS };
static const uint64_t START_MS = UINT64_C(1700006400000); /* a midnight */
static const uint64_t HOUR_MS = 3600000;
static const uint64_t lengths_ms[RESOLUTIONS] = {UINT64_C(3600000), UINT64_C(86400000)};
static const char *const names[RESOLUTIONS] = {"1h", "1d"};

/* --- the machine's clocks, in place of the real ones --- */

static uint64_t boot_ms, wall_ms;
static unsigned boots;

uint64_t __wrap_lethe_os_boot_ms(void);
uint64_t __wrap_lethe_os_wall_ms(void);
void __wrap_lethe_os_boot_id(unsigned char out[16]);

uint64_t __wrap_lethe_os_boot_ms(void) {
    return boot_ms;
}

uint64_t __wrap_lethe_os_wall_ms(void) {
    return wall_ms;
}

void __wrap_lethe_os_boot_id(unsigned char out[16]) {
    memset(out, (int)boots, 16);
}

/* --- the model --- */

struct model_hold {
    lethe_hold_state state; /* open also if the lease has ended */
    unsigned key;
    int64_t amount, max, actual;
    int place; /* 0: the counter; otherwise a resolution, from 1 on */
    uint64_t deadline_ms, ended_ms, wall_ms;
    uint64_t true_ms; /* the lease may not end before this, whatever the clocks say */
};

/* How often what happened, in all runs. */
static struct {
    unsigned held, limited, duplicates, mismatches, settled, taken_anew, excess, forced, released,
        lapsed, dropped, bounded;
} seen;

struct model {
    struct test_random random;
    struct test_folder folder;
    lethe_store *store;
    lethe_store_options options;
    bool has_meters, by_events;
    struct model_hold holds[IDS];
    int64_t values[KEYS];
    int64_t buckets[RESOLUTIONS][HOURS][KEYS];
    uint64_t kept_from_ms[RESOLUTIONS];
    uint64_t forced, operations;
    /* True time; the clock of claims, which may be behind. */
    uint64_t true_ms, clock_ms;
};

static uint64_t below(struct model *model, uint64_t range) {
    return test_random_below(&model->random, range);
}

static void pass(struct model *model, uint64_t ms) {
    boot_ms += ms;
    wall_ms += ms;
    model->true_ms += ms;
    model->clock_ms += ms;
}

static lethe_bytes name(char *out, const char *kind, unsigned number) {
    return (lethe_bytes){out, (size_t)sprintf(out, "%s-%u", kind, number)};
}

static bool is_unsettled(const struct model_hold *hold) {
    return hold->state == LETHE_HOLD_IS_OPEN;
}

static bool runs(const struct model *model, const struct model_hold *hold) {
    return is_unsettled(hold) && model->clock_ms <= hold->deadline_ms;
}

static uint64_t end_of(const struct model_hold *hold) {
    return is_unsettled(hold) ? hold->deadline_ms : hold->ended_ms;
}

static struct model_hold *known(struct model *model, unsigned id) {
    struct model_hold *hold = &model->holds[id];
    if (hold->state != LETHE_HOLD_IS_NONE && model->clock_ms > end_of(hold) + WINDOW_MS)
        *hold = (struct model_hold){.state = LETHE_HOLD_IS_NONE};
    return hold;
}

static uint64_t label_of(int place, uint64_t at_ms) {
    uint64_t label = (at_ms - START_MS) / lengths_ms[place - 1];
    assert_true(label < HOURS);
    return label;
}

static bool is_dropped(const struct model *model, int place, uint64_t at_ms) {
    if (place == 0) return false;
    return START_MS + label_of(place, at_ms) * lengths_ms[place - 1] <
           model->kept_from_ms[place - 1];
}

static int64_t value_of(const struct model *model, unsigned key, int place, uint64_t at_ms) {
    if (place == 0) return model->values[key];
    return is_dropped(model, place, at_ms) ? 0
                                           : model->buckets[place - 1][label_of(place, at_ms)][key];
}

static int64_t held_of(struct model *model, unsigned key, int place, uint64_t at_ms) {
    int64_t sum = 0;
    for (unsigned i = 0; i < IDS; i++) {
        const struct model_hold *hold = known(model, i);
        if (!runs(model, hold) || hold->key != key) continue;
        if (place > 0 && label_of(place, hold->wall_ms) != label_of(place, at_ms)) continue;
        sum += hold->amount;
    }
    return sum;
}

static int64_t left_under(struct model *model, unsigned key, int place, uint64_t at_ms,
                          int64_t max) {
    int64_t left = max - value_of(model, key, place, at_ms) - held_of(model, key, place, at_ms);
    return left < 0 || is_dropped(model, place, at_ms) ? 0 : left;
}

static void add(struct model *model, unsigned key, int64_t delta, uint64_t at_ms) {
    model->values[key] += delta;
    for (int place = 1; place <= RESOLUTIONS && model->has_meters; place++) {
        if (!is_dropped(model, place, at_ms))
            model->buckets[place - 1][label_of(place, at_ms)][key] += delta;
    }
}

/* Where retention has come to. */
static void note_retention(struct model *model) {
    uint64_t whole_from_ms;
    for (unsigned i = 0; i < RESOLUTIONS && model->has_meters; i++)
        assert_ok(lethe_store_usage_reach(model->store, names[i], &model->kept_from_ms[i],
                                          &whole_from_ms));
}

static void compare_limit(struct model *model, const lethe_limit *limit, unsigned key, int place,
                          uint64_t at_ms, int64_t max, bool is_limited) {
    assert_int_equal(limit->value, value_of(model, key, place, at_ms));
    assert_int_equal(limit->left, left_under(model, key, place, at_ms, max));
    assert_int_equal(limit->is_crossed, is_limited);
    int64_t resets_ms = LETHE_NEVER_RESETS;
    if (place > 0) {
        uint64_t end_ms = START_MS + (label_of(place, at_ms) + 1) * lengths_ms[place - 1];
        resets_ms = end_ms > wall_ms ? (int64_t)(end_ms - wall_ms) : 0;
    }
    assert_int_equal(limit->resets_ms, resets_ms);
}

/* --- calls --- */

static int some_place(struct model *model) {
    return model->has_meters && !model->by_events ? (int)below(model, 3) : 0;
}

/* A limit that is sometimes near. */
static int64_t some_max(struct model *model, unsigned key, int place) {
    int64_t now = value_of(model, key, place, wall_ms) + held_of(model, key, place, wall_ms);
    return below(model, 3) == 0 ? 1000000 : now + (int64_t)below(model, 40) - 4;
}

static uint64_t some_lease(struct model *model) {
    static const uint64_t spans[] = {300, WINDOW_MS, 60 * UINT64_C(3600000)};
    return 1 + below(model, spans[below(model, 3)]);
}

static void do_place(struct model *model, unsigned id) {
    char id_name[20], key_name[20];
    struct model_hold *hold = known(model, id);
    struct model_hold asked = {.state = LETHE_HOLD_IS_OPEN,
                               .key = (unsigned)below(model, KEYS),
                               .amount = 1 + (int64_t)below(model, 30),
                               .place = some_place(model),
                               .wall_ms = wall_ms};
    uint64_t lease_ms = some_lease(model);
    asked.max = some_max(model, asked.key, asked.place);
    bool is_known = hold->state != LETHE_HOLD_IS_NONE, is_mine = is_known && below(model, 3) > 0;
    if (is_mine) {
        asked.key = hold->key;
        asked.amount = hold->amount;
        asked.max = hold->max;
        asked.place = hold->place;
    }
    bool differs = is_known && (asked.key != hold->key || asked.amount != hold->amount ||
                                asked.max != hold->max || asked.place != hold->place);
    lethe_hold wanted = {.size = sizeof wanted,
                         .id = name(id_name, "id", id),
                         .key = name(key_name, "key", asked.key),
                         .amount = asked.amount,
                         .max = asked.max,
                         .flags = asked.place > 0 ? LETHE_CHANGE_BUCKET : 0,
                         .resolution = asked.place > 0 ? (uint32_t)asked.place - 1 : 0,
                         .lease_ms = lease_ms};
    lethe_hold_answer answer;
    lethe_limit limit;
    bool is_limited = asked.amount > left_under(model, asked.key, asked.place, wall_ms, asked.max);
    assert_ok(lethe_hold_place(model->store, &wanted, &answer, &limit));
    if (is_known) {
        assert_int_equal(answer, differs ? LETHE_HOLD_MISMATCH : LETHE_HOLD_DUPLICATE);
        if (!differs)
            compare_limit(model, &limit, hold->key, hold->place, hold->wall_ms, hold->max, false);
        seen.duplicates += !differs;
        seen.mismatches += differs;
        return;
    }
    assert_int_equal(answer, is_limited ? LETHE_HOLD_LIMITED : LETHE_HOLD_HELD);
    seen.limited += is_limited;
    seen.held += !is_limited;
    asked.deadline_ms = model->clock_ms + lease_ms;
    asked.true_ms = model->true_ms + lease_ms;
    if (!is_limited) *hold = asked;
    compare_limit(model, &limit, asked.key, asked.place, wall_ms, asked.max, is_limited);
}

static lethe_hold_answer expect_settle(struct model *model, struct model_hold *hold, int64_t actual,
                                       bool is_forced) {
    if (hold->state == LETHE_HOLD_IS_NONE) return LETHE_HOLD_UNKNOWN;
    if (hold->state == LETHE_HOLD_IS_RELEASED) return LETHE_HOLD_MISMATCH;
    if (hold->state == LETHE_HOLD_IS_SETTLED)
        return hold->actual == actual ? LETHE_HOLD_DUPLICATE : LETHE_HOLD_MISMATCH;
    bool is_open = runs(model, hold);
    /* A lease that has ended has lasted its true time, whatever was done to the clocks. */
    if (!is_open) assert_true(model->true_ms > hold->true_ms);
    if (!is_open) hold->wall_ms = wall_ms;
    int64_t more = is_open ? actual - hold->amount : actual;
    bool is_limited =
        more > 0 && more > left_under(model, hold->key, hold->place, hold->wall_ms, hold->max);
    seen.dropped += is_open && is_dropped(model, hold->place, hold->wall_ms);
    if (is_limited && !is_forced) return LETHE_HOLD_LIMITED;
    seen.taken_anew += !is_open;
    seen.excess += is_open && more > 0;
    seen.forced += is_limited;
    model->forced += is_limited;
    return LETHE_HOLD_SETTLED;
}

static void do_settle(struct model *model, unsigned id) {
    char id_name[20];
    struct model_hold *hold = known(model, id), before = *hold;
    int64_t actual = (int64_t)below(model, 45);
    if (hold->state == LETHE_HOLD_IS_SETTLED && below(model, 2) == 0) actual = hold->actual;
    bool is_forced = below(model, 6) == 0;
    lethe_hold_answer answer, expected = expect_settle(model, hold, actual, is_forced);
    lethe_limit limit;
    assert_ok(lethe_hold_settle(model->store, name(id_name, "id", id), actual,
                                is_forced ? LETHE_SETTLE_FORCE : 0, &answer, &limit));
    assert_int_equal(answer, expected);
    if (expected == LETHE_HOLD_SETTLED) {
        hold->state = LETHE_HOLD_IS_SETTLED;
        hold->actual = actual;
        hold->ended_ms = model->clock_ms;
        add(model, hold->key, actual, hold->wall_ms);
        seen.settled++;
    }
    if (expected != LETHE_HOLD_MISMATCH && expected != LETHE_HOLD_UNKNOWN)
        compare_limit(model, &limit, hold->key, hold->place, hold->wall_ms, hold->max,
                      expected == LETHE_HOLD_LIMITED);
    if (expected == LETHE_HOLD_LIMITED) *hold = before;
}

static void do_release(struct model *model, unsigned id) {
    char id_name[20];
    struct model_hold *hold = known(model, id);
    static const lethe_hold_answer answers[] = {LETHE_HOLD_UNKNOWN, LETHE_HOLD_RELEASED,
                                                LETHE_HOLD_RELEASED, LETHE_HOLD_MISMATCH,
                                                LETHE_HOLD_DUPLICATE};
    lethe_hold_answer answer, expected = answers[hold->state];
    assert_ok(lethe_hold_release(model->store, name(id_name, "id", id), &answer));
    assert_int_equal(answer, expected);
    if (expected != LETHE_HOLD_RELEASED) return;
    hold->state = LETHE_HOLD_IS_RELEASED;
    hold->ended_ms = model->clock_ms;
    seen.released++;
}

/* An operation with a bound, or without. */
static void do_apply(struct model *model) {
    char id[24], key_name[20];
    unsigned key = (unsigned)below(model, KEYS);
    int place = some_place(model);
    bool is_bounded = below(model, 4) > 0;
    int64_t max = some_max(model, key, place), delta = (int64_t)below(model, 20) - 5;
    lethe_change change = {.key = name(key_name, "key", key), .delta = delta};
    if (is_bounded) {
        change.flags = LETHE_CHANGE_MAX | (place > 0 ? LETHE_CHANGE_BUCKET : 0);
        change.resolution = place > 0 ? (uint32_t)place - 1 : 0;
        change.max = max;
    }
    lethe_operation operation = {.changes = &change, .change_count = 1};
    operation.id = name(id, "op", (unsigned)++model->operations);
    bool is_limited =
        is_bounded && delta > 0 && delta > left_under(model, key, place, wall_ms, max);
    uint8_t outcome;
    lethe_limit limit;
    assert_ok(lethe_store_apply_bounded(model->store, &operation, 1, &outcome, &limit));
    assert_int_equal(outcome, is_limited ? LETHE_OUTCOME_LIMITED : LETHE_OUTCOME_APPLIED);
    if (!is_limited) add(model, key, delta, wall_ms);
    seen.bounded += is_limited;
    if (is_bounded) compare_limit(model, &limit, key, place, wall_ms, max, is_limited);
}

static void do_overwrite(struct model *model) {
    char key_name[20];
    unsigned key = (unsigned)below(model, KEYS);
    lethe_bytes bytes = name(key_name, "key", key);
    if (below(model, 2) == 0) {
        int64_t value = (int64_t)below(model, 100) - 20;
        assert_ok(lethe_store_set(model->store, &bytes, &value, 1));
        model->values[key] = value;
        return;
    }
    assert_ok(lethe_store_delete(model->store, &bytes, 1, NULL));
    model->values[key] = 0;
    for (unsigned i = 0; i < RESOLUTIONS; i++) {
        for (unsigned j = 0; j < HOURS; j++)
            model->buckets[i][j][key] = 0;
    }
}

/* --- looking --- */

static void compare(struct model *model, unsigned id, const lethe_hold *shown) {
    const struct model_hold *hold = known(model, id);
    char key_name[20];
    bool is_open = runs(model, hold);
    if (hold->state == LETHE_HOLD_IS_NONE) {
        assert_int_equal(shown->state, LETHE_HOLD_IS_NONE);
        return;
    }
    bool has_lapsed = is_unsettled(hold) && !is_open;
    assert_int_equal(shown->state, has_lapsed ? LETHE_HOLD_IS_LAPSED : hold->state);
    seen.lapsed += has_lapsed;
    lethe_bytes key = name(key_name, "key", hold->key);
    assert_int_equal(shown->key.size, key.size);
    assert_memory_equal(shown->key.data, key.data, key.size);
    assert_int_equal(shown->amount, hold->amount);
    assert_int_equal(shown->max, hold->max);
    assert_int_equal(shown->actual, hold->actual);
    assert_int_equal(shown->flags, hold->place > 0 ? LETHE_CHANGE_BUCKET : 0);
    assert_int_equal(shown->wall_ms, hold->wall_ms);
    assert_int_equal(shown->left_ms,
                     end_of(hold) + (is_open ? 0 : WINDOW_MS) + 1 - model->clock_ms);
}

struct listing {
    struct model *model;
    bool seen[IDS];
};

static bool list_one(void *context, const lethe_hold *hold) {
    struct listing *listing = context;
    char text[20] = "";
    unsigned id;
    assert_true(hold->id.size < sizeof text);
    memcpy(text, hold->id.data, hold->id.size);
    assert_int_equal(sscanf(text, "id-%u", &id), 1);
    compare(listing->model, id, hold);
    listing->seen[id] = true;
    return true;
}

static bool add_up(void *context, const lethe_usage_row *row) {
    struct model *model = context;
    unsigned key;
    if (row->is_rest) return true;
    assert_int_equal(sscanf(row->key.data, "key-%u", &key), 1);
    assert_int_equal((int64_t)row->value, value_of(model, key, 1, row->from_ms));
    return true;
}

static void compare_values(struct model *model, lethe_store *store) {
    char key_names[KEYS][20];
    for (unsigned i = 0; i < KEYS; i++) {
        (void)name(key_names[i], "key", i);
        assert_int_equal(test_store_value(store, key_names[i]), model->values[i]);
    }
    lethe_usage_query query = LETHE_INIT(lethe_usage_query);
    if (model->has_meters) assert_ok(lethe_store_usage(store, &query, add_up, model));
}

static void compare_all(struct model *model, lethe_store *store) {
    struct listing listing = {.model = model};
    unsigned unsettled = 0, ended = 0;
    assert_ok(lethe_holds_each(store, (lethe_bytes){0}, list_one, &listing));
    for (unsigned i = 0; i < IDS; i++) {
        char id_name[20];
        lethe_hold shown = LETHE_INIT(lethe_hold);
        const struct model_hold *hold = known(model, i);
        assert_int_equal(listing.seen[i], hold->state != LETHE_HOLD_IS_NONE);
        unsettled += is_unsettled(hold);
        ended += hold->state > LETHE_HOLD_IS_LAPSED;
        assert_ok(lethe_hold_get(store, name(id_name, "id", i), &shown));
        compare(model, i, &shown);
        lethe_hold_free(&shown);
        assert_null(shown.memory);
    }
    lethe_holds_stats stats = LETHE_INIT(lethe_holds_stats);
    assert_ok(lethe_holds_info(store, &stats));
    /* Those that are too old may still be there. */
    assert_true(stats.open + stats.ended >= unsettled + ended && stats.ended >= ended &&
                stats.open + stats.ended <= IDS);
    assert_int_equal(stats.forced, model->forced);
    compare_values(model, store);
}

/* --- what happens to the store --- */

static void open_store(struct model *model) {
    model->store = test_store_open(model->folder.path, model->options);
}

static void step_wall(struct model *model, int64_t most_hours) {
    int64_t hours = (int64_t)below(model, 2 * (uint64_t)most_hours) - most_hours;
    wall_ms = (uint64_t)((int64_t)wall_ms + hours * (int64_t)HOUR_MS);
    if (wall_ms < START_MS) wall_ms = START_MS + 40 * HOUR_MS;
}

/* A restart of the machine: what it was off for does not count. */
static void reboot(struct model *model) {
    test_store_close(model->store);
    uint64_t stamped_wall_ms = wall_ms, down_ms = below(model, 3 * WINDOW_MS);
    uint64_t up_ms = below(model, WINDOW_MS / 4);
    wall_ms += down_ms + up_ms;
    if (below(model, 2) == 0) step_wall(model, 20);
    boots++;
    boot_ms = up_ms;
    model->true_ms += down_ms + up_ms;
    uint64_t by_wall_ms = wall_ms > stamped_wall_ms ? wall_ms - stamped_wall_ms : 0;
    model->clock_ms += up_ms < by_wall_ms ? up_ms : by_wall_ms;
    open_store(model);
}

/* The store as of this moment, beside the writer: what a kill leaves. In the same boot. */
static void go_on_from_backup(struct model *model) {
    struct test_folder backups, copy;
    test_folder_make(&backups);
    test_folder_make(&copy);
    assert_ok(lethe_store_backup(model->folder.path, backups.path, NULL, NULL));
    test_store_close(model->store);
    assert_ok(lethe_store_restore(backups.path, 0, copy.path, NULL, NULL));
    test_folder_remove(&model->folder);
    test_folder_remove(&backups);
    model->folder = copy;
    pass(model, below(model, 100));
    open_store(model);
}

static void look_as_reader(struct model *model) {
    lethe_store *reader = test_store_open_reader(model->folder.path);
    compare_all(model, reader);
    test_store_close(reader);
}

static void disturb(struct model *model) {
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    switch (below(model, 9)) {
    case 0:
        reboot(model);
        return;
    case 1:
    case 2:
        go_on_from_backup(model);
        return;
    case 3:
        step_wall(model, 30);
        return;
    case 4:
        look_as_reader(model);
        return;
    case 5:
        assert_ok(lethe_store_check(model->folder.path, &health, NULL));
        assert_true(health.holds <= IDS);
        return;
    case 6:
        pass(model, below(model, 2 * WINDOW_MS));
        return;
    case 7:
        pass(model, below(model, 9 * HOUR_MS));
        return;
    default:
        test_store_close(model->store);
        pass(model, below(model, WINDOW_MS / 2));
        open_store(model);
        return;
    }
}

/* To the last moment of a lease or of what is remembered, or to the moment after it; and asks what
 * is left then. */
static void pass_to_the_edge(struct model *model, unsigned id) {
    const struct model_hold *hold = known(model, id);
    uint64_t at_ms = end_of(hold) + below(model, 2);
    if (hold->state == LETHE_HOLD_IS_NONE || at_ms > model->clock_ms + 10 * WINDOW_MS) return;
    if (at_ms < model->clock_ms) at_ms += WINDOW_MS;
    if (at_ms >= model->clock_ms) pass(model, at_ms - model->clock_ms);
    note_retention(model);
    do_place(model, id);
}

static void step(struct model *model) {
    unsigned id = (unsigned)below(model, IDS);
    if (below(model, 15) == 0)
        pass_to_the_edge(model, id);
    else if (below(model, 30) == 0)
        pass(model, below(model, 6 * HOUR_MS));
    else
        pass(model, below(model, 60));
    note_retention(model);
    switch (below(model, 30)) {
    case 0:
        compare_all(model, model->store);
        return;
    case 1:
        disturb(model);
        return;
    case 2:
        do_overwrite(model);
        return;
    case 3:
    case 4:
        do_release(model, id);
        return;
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
    case 10:
        if (!model->by_events) do_apply(model);
        return;
    default:
        if (below(model, 2) == 0)
            do_place(model, id);
        else
            do_settle(model, id);
        return;
    }
}

/* What has ended is forgotten, a few with each call; and nothing is held any more. */
static void forgets_all(struct model *model) {
    lethe_hold_answer answer;
    pass(model, 80 * HOUR_MS);
    for (unsigned i = 0; i < 40; i++) {
        assert_ok(lethe_hold_release(model->store, test_text("none"), &answer));
        assert_int_equal(answer, LETHE_HOLD_UNKNOWN);
        pass(model, WINDOW_MS);
    }
    lethe_holds_stats stats = LETHE_INIT(lethe_holds_stats);
    assert_ok(lethe_holds_info(model->store, &stats));
    assert_int_equal(stats.open, 0);
    assert_int_equal(stats.ended, 0);
}

static void run(lethe_store_options options, uint64_t seed) {
    static struct model model;
    model = (struct model){.random = {seed},
                           .has_meters = options.per != NULL,
                           .by_events = options.event_time == LETHE_SWITCH_ON};
    test_folder_make(&model.folder);
    model.options = options;
    model.options.create = true;
    model.options.window_ms = WINDOW_MS;
    boot_ms = 1000000;
    wall_ms = START_MS + 100 * HOUR_MS;
    boots = 1;
    open_store(&model);
    for (unsigned i = 0; i < STEPS; i++)
        step(&model);
    note_retention(&model);
    compare_all(&model, model.store);
    forgets_all(&model);
    test_store_close(model.store);
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    assert_ok(lethe_store_check(model.folder.path, &health, NULL));
    assert_int_equal(health.holds, 0);
    test_folder_remove(&model.folder);
}

static void of_counters(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++)
        run((lethe_store_options){0}, seed);
}

static void of_buckets(void **state) {
    (void)state;
    for (uint64_t seed = 3; seed <= 6; seed++)
        run((lethe_store_options){.per = "1h,1d", .keep = "1h=3h,1d=2d"}, seed);
}

static void in_other_kinds_of_stores(void **state) {
    (void)state;
    run((lethe_store_options){.exact = LETHE_SWITCH_ON, .per = "1h,1d"}, 7);
    run((lethe_store_options){.forever = LETHE_SWITCH_ON}, 8);
    run((lethe_store_options){.forgetful = LETHE_SWITCH_ON, .per = "1h,1d"}, 9);
    run((lethe_store_options){.event_time = LETHE_SWITCH_ON, .per = "1h,1d"}, 10);
    run((lethe_store_options){.check_payload = LETHE_SWITCH_ON, .scale = 2}, 11);
}

static void the_runs_came_to_all_of_it(void **state) {
    (void)state;
    assert_true(seen.held > 200 && seen.limited > 50 && seen.bounded > 50);
    assert_true(seen.duplicates > 50 && seen.mismatches > 50 && seen.released > 20);
    assert_true(seen.settled > 200 && seen.taken_anew > 20 && seen.excess > 20);
    assert_true(seen.forced > 10 && seen.lapsed > 20 && seen.dropped > 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_counters),
        cmocka_unit_test(of_buckets),
        cmocka_unit_test(in_other_kinds_of_stores),
        cmocka_unit_test(the_runs_came_to_all_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

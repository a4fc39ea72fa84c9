/* Goal:   holds, settlements and operations with bounds get the answers, the limits and the values
 *         that a model computes, to the last number; a lease never ends before its true time; how a
 *         hold ended is known for W; all of it over kills, backups, readers, sets, deletes,
 *         retention, restarts of the machine, and wall clocks that are set.
 * Method: random calls with clocks that the test sets, against the model of support/holds_model.h.
 *         In every kind of store. */
#include "support/test.h"

#include "support/holds_model.h"

enum { STEPS = 600 };

/* How often what happened, in all runs. */
static struct {
    unsigned held, limited, duplicates, mismatches, settled, taken_anew, excess, forced, released,
        lapsed, dropped, bounded;
} seen;

static uint64_t below(struct model *model, uint64_t range) {
    return test_life_below(&model->life, range);
}

static void pass(struct model *model, uint64_t ms) {
    test_life_pass(&model->life, ms);
}

/* --- calls --- */

static int some_place(struct model *model) {
    return model->has_meters && !model->by_events ? (int)below(model, 3) : 0;
}

/* A limit that is sometimes near. */
static int64_t some_max(struct model *model, unsigned key, int place) {
    int64_t now = model_value_of(model, key, place, test_machine.wall_ms) +
                  model_held_of(model, key, place, test_machine.wall_ms);
    return below(model, 3) == 0 ? 1000000 : now + (int64_t)below(model, 40) - 4;
}

static uint64_t some_lease(struct model *model) {
    static const uint64_t spans[] = {300, WINDOW_MS, 60 * UINT64_C(3600000)};
    return 1 + below(model, spans[below(model, 3)]);
}

static void do_place(struct model *model, unsigned id) {
    char id_name[20], key_name[20];
    struct model_hold *hold = model_known(model, id);
    struct model_hold asked = {.state = LETHE_HOLD_IS_OPEN,
                               .key = (unsigned)below(model, KEYS),
                               .amount = 1 + (int64_t)below(model, 30),
                               .place = some_place(model),
                               .wall_ms = test_machine.wall_ms};
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
                         .id = test_name(id_name, "id", id),
                         .key = test_name(key_name, "key", asked.key),
                         .amount = asked.amount,
                         .max = asked.max,
                         .flags = asked.place > 0 ? LETHE_CHANGE_BUCKET : 0,
                         .resolution = asked.place > 0 ? (uint32_t)asked.place - 1 : 0,
                         .lease_ms = lease_ms};
    lethe_hold_answer answer;
    lethe_limit limit;
    bool is_limited = asked.amount > model_left_under(model, asked.key, asked.place,
                                                      test_machine.wall_ms, asked.max);
    assert_ok(lethe_hold_place(model->life.store, &wanted, &answer, &limit));
    if (is_known) {
        assert_int_equal(answer, differs ? LETHE_HOLD_MISMATCH : LETHE_HOLD_DUPLICATE);
        if (!differs)
            model_compare_limit(model, &limit, hold->key, hold->place, hold->wall_ms, hold->max,
                                false);
        seen.duplicates += !differs;
        seen.mismatches += differs;
        return;
    }
    assert_int_equal(answer, is_limited ? LETHE_HOLD_LIMITED : LETHE_HOLD_HELD);
    seen.limited += is_limited;
    seen.held += !is_limited;
    asked.deadline_ms = model->life.clock_ms + lease_ms;
    asked.true_ms = model->life.true_ms + lease_ms;
    if (!is_limited) *hold = asked;
    model_compare_limit(model, &limit, asked.key, asked.place, test_machine.wall_ms, asked.max,
                        is_limited);
}

static lethe_hold_answer expect_settle(struct model *model, struct model_hold *hold, int64_t actual,
                                       bool is_forced) {
    if (hold->state == LETHE_HOLD_IS_NONE) return LETHE_HOLD_UNKNOWN;
    if (hold->state == LETHE_HOLD_IS_RELEASED) return LETHE_HOLD_MISMATCH;
    if (hold->state == LETHE_HOLD_IS_SETTLED)
        return hold->actual == actual ? LETHE_HOLD_DUPLICATE : LETHE_HOLD_MISMATCH;
    bool is_open = model_runs(model, hold);
    /* A lease that has ended has lasted its true time, whatever was done to the clocks. */
    if (!is_open) assert_true(model->life.true_ms > hold->true_ms);
    if (!is_open) hold->wall_ms = test_machine.wall_ms;
    int64_t more = is_open ? actual - hold->amount : actual;
    bool is_limited = more > 0 && more > model_left_under(model, hold->key, hold->place,
                                                          hold->wall_ms, hold->max);
    seen.dropped += is_open && model_is_dropped(model, hold->place, hold->wall_ms);
    if (is_limited && !is_forced) return LETHE_HOLD_LIMITED;
    seen.taken_anew += !is_open;
    seen.excess += is_open && more > 0;
    seen.forced += is_limited;
    model->forced += is_limited;
    return LETHE_HOLD_SETTLED;
}

static void do_settle(struct model *model, unsigned id) {
    char id_name[20];
    struct model_hold *hold = model_known(model, id), before = *hold;
    int64_t actual = (int64_t)below(model, 45);
    if (hold->state == LETHE_HOLD_IS_SETTLED && below(model, 2) == 0) actual = hold->actual;
    bool is_forced = below(model, 6) == 0;
    lethe_hold_answer answer, expected = expect_settle(model, hold, actual, is_forced);
    lethe_limit limit;
    assert_ok(lethe_hold_settle(model->life.store, test_name(id_name, "id", id), actual,
                                is_forced ? LETHE_SETTLE_FORCE : 0, &answer, &limit));
    assert_int_equal(answer, expected);
    if (expected == LETHE_HOLD_SETTLED) {
        hold->state = LETHE_HOLD_IS_SETTLED;
        hold->actual = actual;
        hold->ended_ms = model->life.clock_ms;
        model_add(model, hold->key, actual, hold->wall_ms);
        seen.settled++;
    }
    if (expected != LETHE_HOLD_MISMATCH && expected != LETHE_HOLD_UNKNOWN)
        model_compare_limit(model, &limit, hold->key, hold->place, hold->wall_ms, hold->max,
                            expected == LETHE_HOLD_LIMITED);
    if (expected == LETHE_HOLD_LIMITED) *hold = before;
}

static void do_release(struct model *model, unsigned id) {
    char id_name[20];
    struct model_hold *hold = model_known(model, id);
    static const lethe_hold_answer answers[] = {LETHE_HOLD_UNKNOWN, LETHE_HOLD_RELEASED,
                                                LETHE_HOLD_RELEASED, LETHE_HOLD_MISMATCH,
                                                LETHE_HOLD_DUPLICATE};
    lethe_hold_answer answer, expected = answers[hold->state];
    assert_ok(lethe_hold_release(model->life.store, test_name(id_name, "id", id), &answer));
    assert_int_equal(answer, expected);
    if (expected != LETHE_HOLD_RELEASED) return;
    hold->state = LETHE_HOLD_IS_RELEASED;
    hold->ended_ms = model->life.clock_ms;
    seen.released++;
}

/* An operation with a bound, or without. */
static void do_apply(struct model *model) {
    char id[24], key_name[20];
    unsigned key = (unsigned)below(model, KEYS);
    int place = some_place(model);
    bool is_bounded = below(model, 4) > 0;
    int64_t max = some_max(model, key, place), delta = (int64_t)below(model, 20) - 5;
    lethe_change change = {.key = test_name(key_name, "key", key), .delta = delta};
    if (is_bounded) {
        change.flags = LETHE_CHANGE_MAX | (place > 0 ? LETHE_CHANGE_BUCKET : 0);
        change.resolution = place > 0 ? (uint32_t)place - 1 : 0;
        change.max = max;
    }
    lethe_operation operation = {.changes = &change, .change_count = 1};
    operation.id = test_name(id, "op", (unsigned)++model->operations);
    bool is_limited = is_bounded && delta > 0 &&
                      delta > model_left_under(model, key, place, test_machine.wall_ms, max);
    uint8_t outcome;
    lethe_limit limit;
    assert_ok(lethe_store_apply_bounded(model->life.store, &operation, 1, &outcome, &limit));
    assert_int_equal(outcome, is_limited ? LETHE_OUTCOME_LIMITED : LETHE_OUTCOME_APPLIED);
    if (!is_limited) model_add(model, key, delta, test_machine.wall_ms);
    seen.bounded += is_limited;
    if (is_bounded)
        model_compare_limit(model, &limit, key, place, test_machine.wall_ms, max, is_limited);
}

static void do_overwrite(struct model *model) {
    char key_name[20];
    unsigned key = (unsigned)below(model, KEYS);
    lethe_bytes bytes = test_name(key_name, "key", key);
    if (below(model, 2) == 0) {
        int64_t value = (int64_t)below(model, 100) - 20;
        assert_ok(lethe_store_set(model->life.store, &bytes, &value, 1));
        model->values[key] = value;
        return;
    }
    assert_ok(lethe_store_delete(model->life.store, &bytes, 1, NULL));
    model->values[key] = 0;
    for (unsigned i = 0; i < RESOLUTIONS; i++) {
        for (unsigned j = 0; j < HOURS; j++)
            model->buckets[i][j][key] = 0;
    }
}

/* --- looking --- */

static void compare(struct model *model, unsigned id, const lethe_hold *shown) {
    const struct model_hold *hold = model_known(model, id);
    char key_name[20];
    bool is_open = model_runs(model, hold);
    if (hold->state == LETHE_HOLD_IS_NONE) {
        assert_int_equal(shown->state, LETHE_HOLD_IS_NONE);
        return;
    }
    bool has_lapsed = model_is_unsettled(hold) && !is_open;
    assert_int_equal(shown->state, has_lapsed ? LETHE_HOLD_IS_LAPSED : hold->state);
    seen.lapsed += has_lapsed;
    lethe_bytes key = test_name(key_name, "key", hold->key);
    assert_int_equal(shown->key.size, key.size);
    assert_memory_equal(shown->key.data, key.data, key.size);
    assert_int_equal(shown->amount, hold->amount);
    assert_int_equal(shown->max, hold->max);
    assert_int_equal(shown->actual, hold->actual);
    assert_int_equal(shown->flags, hold->place > 0 ? LETHE_CHANGE_BUCKET : 0);
    assert_int_equal(shown->wall_ms, hold->wall_ms);
    assert_int_equal(shown->left_ms,
                     model_end_of(hold) + (is_open ? 0 : WINDOW_MS) + 1 - model->life.clock_ms);
}

struct listing {
    struct model *model;
    bool seen[IDS];
};

static bool list_one(void *context, const lethe_hold *hold) {
    struct listing *listing = context;
    unsigned id = test_number_of(hold->id, "id");
    compare(listing->model, id, hold);
    listing->seen[id] = true;
    return true;
}

static bool add_up(void *context, const lethe_usage_row *row) {
    struct model *model = context;
    if (row->is_rest) return true;
    unsigned key = test_number_of(row->key, "key");
    assert_int_equal((int64_t)row->value, model_value_of(model, key, 1, row->from_ms));
    return true;
}

static void compare_values(struct model *model, lethe_store *store) {
    char key_names[KEYS][20];
    for (unsigned i = 0; i < KEYS; i++) {
        (void)test_name(key_names[i], "key", i);
        assert_int_equal(test_store_value(store, key_names[i]), model->values[i]);
    }
    lethe_usage_query query = LETHE_INIT(lethe_usage_query);
    if (model->has_meters) assert_ok(lethe_store_usage(store, &query, add_up, model));
}

static void compare_all(struct model *model, lethe_store *store) {
    struct listing listing = {.model = model};
    unsigned unsettled = 0, ended = 0, open = 0;
    assert_ok(lethe_holds_each(store, (lethe_bytes){0}, list_one, &listing));
    for (unsigned i = 0; i < IDS; i++) {
        char id_name[20];
        lethe_hold shown = LETHE_INIT(lethe_hold);
        const struct model_hold *hold = model_known(model, i);
        assert_int_equal(listing.seen[i], hold->state != LETHE_HOLD_IS_NONE);
        unsettled += model_is_unsettled(hold);
        open += model_runs(model, hold);
        ended += hold->state > LETHE_HOLD_IS_LAPSED;
        assert_ok(lethe_hold_get(store, test_name(id_name, "id", i), &shown));
        compare(model, i, &shown);
        lethe_hold_free(&shown);
        assert_null(shown.memory);
    }
    lethe_holds_stats stats = LETHE_INIT(lethe_holds_stats);
    assert_ok(lethe_holds_info(store, &stats));
    /* Those that are too old may still be there. */
    assert_true(stats.open + stats.ended >= unsettled + ended && stats.ended >= ended &&
                stats.open + stats.ended <= IDS);
    /* A lease that has ended is none of the open ones, whether that is recorded yet or not. */
    if (store == model->life.store) assert_int_equal(stats.open, open);
    assert_int_equal(stats.forced, model->forced);
    compare_values(model, store);
}

/* --- what happens to the store --- */

static void step_wall(struct test_life *life, int64_t most_hours) {
    int64_t hours = (int64_t)test_life_below(life, 2 * (uint64_t)most_hours) - most_hours;
    uint64_t to_ms = (uint64_t)((int64_t)test_machine.wall_ms + hours * (int64_t)HOUR_MS);
    test_machine.wall_ms = to_ms < START_MS ? START_MS + 40 * HOUR_MS : to_ms;
}

/* Beside a restart of the machine. */
static void perhaps_step_wall(struct test_life *life) {
    if (test_life_below(life, 2) == 0) step_wall(life, 20);
}

static void look_as_reader(struct model *model) {
    lethe_store *reader = test_store_open_reader(model->life.folder.path);
    compare_all(model, reader);
    test_store_close(reader);
}

static void disturb(struct model *model) {
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    switch (below(model, 9)) {
    case 0:
        test_life_reboot(&model->life, perhaps_step_wall);
        return;
    case 1:
    case 2:
        test_life_go_on_from_backup(&model->life);
        return;
    case 3:
        step_wall(&model->life, 30);
        return;
    case 4:
        look_as_reader(model);
        return;
    case 5:
        assert_ok(lethe_store_check(model->life.folder.path, &health, NULL));
        assert_true(health.holds <= IDS);
        return;
    case 6:
        pass(model, below(model, 2 * WINDOW_MS));
        return;
    case 7:
        pass(model, below(model, 9 * HOUR_MS));
        return;
    default:
        test_life_reopen(&model->life, WINDOW_MS / 2);
        return;
    }
}

/* To the last moment of a lease or of what is remembered, or to the moment after it; and asks what
 * is left then. */
static void pass_to_the_edge(struct model *model, unsigned id) {
    const struct model_hold *hold = model_known(model, id);
    uint64_t at_ms = model_end_of(hold) + below(model, 2);
    if (hold->state == LETHE_HOLD_IS_NONE || at_ms > model->life.clock_ms + 10 * WINDOW_MS) return;
    if (at_ms < model->life.clock_ms) at_ms += WINDOW_MS;
    if (at_ms >= model->life.clock_ms) pass(model, at_ms - model->life.clock_ms);
    model_note_retention(model);
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
    model_note_retention(model);
    switch (below(model, 30)) {
    case 0:
        compare_all(model, model->life.store);
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
        assert_ok(lethe_hold_release(model->life.store, test_text("none"), &answer));
        assert_int_equal(answer, LETHE_HOLD_UNKNOWN);
        pass(model, WINDOW_MS);
    }
    lethe_holds_stats stats = LETHE_INIT(lethe_holds_stats);
    assert_ok(lethe_holds_info(model->life.store, &stats));
    assert_int_equal(stats.open, 0);
    assert_int_equal(stats.ended, 0);
}

static void run(lethe_store_options options, uint64_t seed) {
    static struct model model;
    model = (struct model){.has_meters = options.per != NULL,
                           .by_events = options.event_time == LETHE_SWITCH_ON};
    options.window_ms = WINDOW_MS;
    test_life_begin(&model.life, options, seed, START_MS + 100 * HOUR_MS);
    for (unsigned i = 0; i < STEPS; i++)
        step(&model);
    model_note_retention(&model);
    compare_all(&model, model.life.store);
    forgets_all(&model);
    test_life_end(&model.life);
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    assert_ok(lethe_store_check(model.life.folder.path, &health, NULL));
    assert_int_equal(health.holds, 0);
    test_folder_remove(&model.life.folder);
}

static void of_counters(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= TEST_SIZED(2, 1); seed++)
        run((lethe_store_options){0}, seed);
}

static void of_buckets(void **state) {
    (void)state;
    for (uint64_t seed = 3; seed <= TEST_SIZED(6, 4); seed++)
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

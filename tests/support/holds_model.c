/* tests/support/holds_model.c - see holds_model.h. */
#include "support/holds_model.h"

#include "support/test.h"

static const uint64_t lengths_ms[RESOLUTIONS] = {HOUR_MS, 24 * HOUR_MS};
static const char *const names[RESOLUTIONS] = {"1h", "1d"};

bool model_is_unsettled(const struct model_hold *hold) {
    return hold->state == LETHE_HOLD_IS_OPEN;
}

bool model_runs(const struct model *model, const struct model_hold *hold) {
    return model_is_unsettled(hold) && model->life.clock_ms <= hold->deadline_ms;
}

uint64_t model_end_of(const struct model_hold *hold) {
    return model_is_unsettled(hold) ? hold->deadline_ms : hold->ended_ms;
}

struct model_hold *model_known(struct model *model, unsigned id) {
    struct model_hold *hold = &model->holds[id];
    if (hold->state != LETHE_HOLD_IS_NONE && model->life.clock_ms > model_end_of(hold) + WINDOW_MS)
        *hold = (struct model_hold){.state = LETHE_HOLD_IS_NONE};
    return hold;
}

static uint64_t label_of(int place, uint64_t at_ms) {
    uint64_t label = (at_ms - START_MS) / lengths_ms[place - 1];
    assert_true(label < HOURS);
    return label;
}

bool model_is_dropped(const struct model *model, int place, uint64_t at_ms) {
    if (place == 0) return false;
    return START_MS + label_of(place, at_ms) * lengths_ms[place - 1] <
           model->kept_from_ms[place - 1];
}

int64_t model_value_of(const struct model *model, unsigned key, int place, uint64_t at_ms) {
    if (place == 0) return model->values[key];
    return model_is_dropped(model, place, at_ms)
               ? 0
               : model->buckets[place - 1][label_of(place, at_ms)][key];
}

int64_t model_held_of(struct model *model, unsigned key, int place, uint64_t at_ms) {
    int64_t sum = 0;
    for (unsigned i = 0; i < IDS; i++) {
        const struct model_hold *hold = model_known(model, i);
        if (!model_runs(model, hold) || hold->key != key) continue;
        if (place > 0 && label_of(place, hold->wall_ms) != label_of(place, at_ms)) continue;
        sum += hold->amount;
    }
    return sum;
}

int64_t model_left_under(struct model *model, unsigned key, int place, uint64_t at_ms,
                         int64_t max) {
    int64_t left =
        max - model_value_of(model, key, place, at_ms) - model_held_of(model, key, place, at_ms);
    return left < 0 || model_is_dropped(model, place, at_ms) ? 0 : left;
}

void model_add(struct model *model, unsigned key, int64_t delta, uint64_t at_ms) {
    model->values[key] += delta;
    for (int place = 1; place <= RESOLUTIONS && model->has_meters; place++) {
        if (!model_is_dropped(model, place, at_ms))
            model->buckets[place - 1][label_of(place, at_ms)][key] += delta;
    }
}

void model_note_retention(struct model *model) {
    uint64_t whole_from_ms;
    for (unsigned i = 0; i < RESOLUTIONS && model->has_meters; i++)
        assert_ok(lethe_store_usage_reach(model->life.store, names[i], &model->kept_from_ms[i],
                                          &whole_from_ms));
}

void model_compare_limit(struct model *model, const lethe_limit *limit, unsigned key, int place,
                         uint64_t at_ms, int64_t max, bool is_limited) {
    assert_int_equal(limit->value, model_value_of(model, key, place, at_ms));
    assert_int_equal(limit->left, model_left_under(model, key, place, at_ms, max));
    assert_int_equal(limit->is_crossed, is_limited);
    int64_t resets_ms = LETHE_NEVER_RESETS;
    if (place > 0) {
        uint64_t end_ms = START_MS + (label_of(place, at_ms) + 1) * lengths_ms[place - 1];
        resets_ms = end_ms > test_machine.wall_ms ? (int64_t)(end_ms - test_machine.wall_ms) : 0;
    }
    assert_int_equal(limit->resets_ms, resets_ms);
}

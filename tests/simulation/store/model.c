/* simulation/store/model.c - the two states and the list between them.
 *
 * I1      submitted is acknowledged with all effects of the list made to it. */
#include "simulation/store/model.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/store/verdict.h"
#include "support/random.h"

size_t model_key_name(char *out, uint32_t key) {
    return (size_t)snprintf(out, MODEL_NAME, "shared-%u", key);
}

size_t model_mark_name(char *out, uint32_t mark) {
    return (size_t)snprintf(out, MODEL_NAME, "source-%u", mark);
}

/* The changes of an id follow from it, so that a duplicate is one. */
void model_compose(const struct model *model, struct sent *sent, uint32_t id, uint8_t variant) {
    struct test_random random = {.state = model->seed ^ id * UINT64_C(0x9e3779b97f4a7c15)};
    size_t count = 1 + (size_t)test_random_below(&random, MODEL_CHANGES);
    if (model->is_simple && id % 32 != 0) count = 1;
    sent->id = id;
    sent->variant = variant;
    sent->may_be_limited = sent->must_be_limited = false;
    for (size_t i = 0; i < count; i++) {
        sent->changes[i].flags = 0;
        uint32_t key = (uint32_t)test_random_below(&random, MODEL_KEYS);
        int64_t delta = (int64_t)test_random_below(&random, 2001) - 1000;
        /* Some are so large that two of them do not fit. */
        bool is_large = test_random_below(&random, 30) == 0;
        if (is_large && !model->is_modest) delta = INT64_MAX / 2 + 5;
        if (i > 0) sent->changes[i].delta = delta + variant;
        if (i > 0) sent->changes[i].key.size = model_key_name(sent->keys[i], key);
        sent->changes[i].key.data = sent->keys[i];
    }
    sent->changes[0].delta = 1;
    sent->changes[0].key.size = (size_t)snprintf(sent->keys[0], MODEL_NAME, "w-%u", id);
    sent->operation = (lethe_operation){
        .id = {sent->id_name, (size_t)snprintf(sent->id_name, MODEL_NAME, "id-%u", id)},
        .changes = sent->changes,
        .change_count = count};
}

uint32_t model_number_in(lethe_bytes name, size_t prefix) {
    char text[MODEL_NAME] = "";
    memcpy(text, name.data, name.size < sizeof text ? name.size : sizeof text - 1);
    return (uint32_t)strtoul(text + prefix, NULL, 10);
}

uint32_t model_key_number(lethe_bytes name) {
    return model_number_in(name, 7);
}

/* --- effects --- */

static void apply_changes(const struct model *model, struct state *state, uint32_t id,
                          uint8_t variant) {
    struct sent sent;
    model_compose(model, &sent, id, variant);
    for (size_t i = 1; i < sent.operation.change_count; i++) {
        uint32_t key = model_number_in(sent.changes[i].key, 7);
        /* On the way it may leave the range. */
        state->values[key] =
            (int64_t)((uint64_t)state->values[key] + (uint64_t)sent.changes[i].delta);
        state->exists[key] = true;
    }
}

void model_make(const struct model *model, struct state *state, const struct effect *effect) {
    switch (effect->kind) {
    case EFFECT_APPLY:
        if (effect->variant != VARIANT_GIVEN_UP) {
            apply_changes(model, state, effect->which, effect->variant);
            state->ids[effect->which].witness++;
        }
        state->ids[effect->which].is_applied = true;
        state->ids[effect->which].may_be_forgotten = false;
        state->ids[effect->which].may_be_remembered = false;
        state->ids[effect->which].is_compared = model->rules.exact;
        state->ids[effect->which].variant = effect->variant;
        state->ids[effect->which].applied = effect->moment;
        return;
    case EFFECT_SET:
    case EFFECT_DELETE:
        if (effect->kind == EFFECT_SET)
            /* Modulo 2^64: a rest may be as large as the difference of two values. */
            state->rests[effect->which] +=
                (uint64_t)effect->value - (uint64_t)state->values[effect->which];
        else
            state->rests[effect->which] = 0; /* its buckets go as well */
        state->values[effect->which] = effect->value;
        state->exists[effect->which] = effect->kind == EFFECT_SET;
        return;
    case EFFECT_MARK:
        state->marks[effect->which] = (uint64_t)effect->value;
        return;
    }
}

static void add_effect(struct model *model, struct effect effect) {
    if (model->effect_count == model->effect_room) {
        model->effect_room = 2 * model->effect_room + 64;
        model->effects = realloc(model->effects, model->effect_room * sizeof *model->effects);
        assert(model->effects != NULL);
    }
    effect.client = model->client;
    model->effects[model->effect_count++] = effect;
    model_make(model, &model->submitted, &effect);
}

void model_meter(struct model *model) {
    assert(model->effect_count == 0);
    struct state *state = &model->submitted;
    state->has_meters = true;
    memcpy(state->rests, state->values, sizeof state->rests);
    for (uint32_t i = 0; i < model->id_count; i++)
        state->ids[i].unmetered = state->ids[i].witness;
    model->acknowledged = *state;
}

void model_set(struct model *model, uint32_t key, int64_t value, bool deletes) {
    add_effect(model, (struct effect){.kind = deletes ? EFFECT_DELETE : EFFECT_SET,
                                      .which = key,
                                      .value = deletes ? 0 : value});
}

void model_mark(struct model *model, uint32_t mark, uint64_t value) {
    add_effect(model, (struct effect){.kind = EFFECT_MARK, .which = mark, .value = (int64_t)value});
}

void model_acknowledge(struct model *model, uint64_t before) {
    if (before <= model->first_effect) return;
    size_t count = (size_t)(before - model->first_effect);
    assert(count <= model->effect_count);
    for (size_t i = 0; i < count; i++)
        model_make(model, &model->acknowledged, &model->effects[i]);
    model->effect_count -= count;
    memmove(model->effects, model->effects + count, model->effect_count * sizeof *model->effects);
    model->first_effect = before;
}

/* --- judging answers --- */

/* Whether an operation would push a counter out of its range. */
static bool overflows(const struct model *model, const struct sent *sent) {
    __extension__ __int128 values[MODEL_KEYS];
    for (size_t i = 0; i < MODEL_KEYS; i++)
        values[i] = model->submitted.values[i];
    for (size_t i = 1; i < sent->operation.change_count; i++)
        values[model_number_in(sent->changes[i].key, 7)] += sent->changes[i].delta;
    for (size_t i = 0; i < MODEL_KEYS; i++) {
        if (values[i] > INT64_MAX || values[i] < INT64_MIN) return true;
    }
    return false;
}

static const char *name_of(unsigned outcome) {
    static const char *const names[] = {"applied",  "duplicate",   "late",    "future",
                                        "overflow", "invalid",     "refused", "mismatch",
                                        "limited",  "applied late"};
    return outcome < 10 ? names[outcome] : "nothing";
}

__attribute__((noreturn)) static void blame(const struct sent *sent, unsigned said,
                                            const char *expected, const struct memory *memory,
                                            struct moment now) {
    verdict_fail("answers",
                 "id-%u was called %s, and %s was right (applied %u times, last at %" PRIu64
                 "..%" PRIu64 " ms, now it is %" PRIu64 "..%" PRIu64 ", its own time %" PRIu64 ")",
                 sent->id, name_of(said), expected, memory->witness, memory->applied.least_ms,
                 memory->applied.most_ms, now.least_ms, now.most_ms, sent->operation.time_ms);
}

/* What the age of an id says: it must be remembered, must be forgotten, or may be either. */
enum age { YOUNG, BETWEEN, OLD };

/* By the rules of now alone. */
static enum age age_by_rules(const struct rules *rules, const struct memory *memory,
                             struct moment now) {
    if (rules->forever) return YOUNG;
    uint64_t most =
        now.most_ms > memory->applied.least_ms ? now.most_ms - memory->applied.least_ms : 0;
    uint64_t least =
        now.least_ms > memory->applied.most_ms ? now.least_ms - memory->applied.most_ms : 0;
    if (most <= rules->window_ms) return YOUNG;
    uint64_t limit = rules->exact ? rules->window_ms : rules->window_ms + rules->window_ms / 4;
    return least > limit ? OLD : BETWEEN;
}

static enum age age_of(const struct model *model, const struct memory *memory, struct moment now) {
    enum age age = age_by_rules(&model->rules, memory, now);
    if (age == YOUNG && memory->may_be_forgotten) return BETWEEN;
    return age == OLD && memory->may_be_remembered ? BETWEEN : age;
}

static bool counts_late(const struct sent *sent) {
    return (sent->operation.flags & LETHE_OPERATION_COUNT_LATE) != 0;
}

/* The same of an operation that is counted although it is late: whatever is left of its id makes it
 * a duplicate. The index may have the id at any age, and is asked whenever the window hints at it:
 * an operation with the same id that was not applied (overflow) leaves such a hint. */
static enum age age_if_late(const struct model *model, const struct memory *memory,
                            struct moment now) {
    enum age age = age_of(model, memory, now);
    return age == OLD && model->rules.exact ? BETWEEN : age;
}

static void check_values(const struct model *model, const struct sent *sent,
                         const int64_t *values) {
    if (values == NULL) return;
    for (size_t i = 0; i < sent->operation.change_count; i++) {
        int64_t expected = i == 0
                               ? model->submitted.ids[sent->id].witness
                               : model->submitted.values[model_number_in(sent->changes[i].key, 7)];
        if (values[i] != expected)
            verdict_fail("values", "id-%u: %s is said to be %" PRId64 ", and is %" PRId64, sent->id,
                         sent->keys[i], values[i], expected);
    }
}

/* Event time: whether the store may call it late or ahead; moves the clock where it may not. */
static bool is_out_of_time(struct model *model, const struct sent *sent, uint8_t outcome,
                           struct moment *now, struct moment wall, bool lenient) {
    const struct rules *rules = &model->rules;
    uint64_t time_ms = sent->operation.time_ms, clock_ms = model->clock_ms;
    const struct memory *memory = &model->submitted.ids[sent->id];
    *now = (struct moment){clock_ms, clock_ms};
    /* The wall clock goes on while operations are decided: what is near its limit may be either. */
    bool ahead = time_ms > clock_ms && time_ms > wall.most_ms + rules->max_future_ms;
    bool late = !rules->forever && time_ms + rules->window_ms < clock_ms;
    bool jumps = !rules->forever && time_ms > clock_ms + rules->window_ms;
    bool may_be_ahead =
        time_ms > clock_ms && (jumps || time_ms > wall.least_ms + rules->max_future_ms);
    if (!lenient && ahead && outcome != LETHE_OUTCOME_FUTURE)
        blame(sent, outcome, "ahead", memory, *now);
    bool is_late = outcome == LETHE_OUTCOME_LATE || outcome == LETHE_OUTCOME_APPLIED_LATE;
    if (!lenient && late && !counts_late(sent) && outcome != LETHE_OUTCOME_LATE)
        blame(sent, outcome, "late", memory, *now);
    if (!lenient && counts_late(sent) &&
        (outcome == LETHE_OUTCOME_LATE || (late && outcome == LETHE_OUTCOME_APPLIED)))
        blame(sent, outcome, "applied late", memory, *now);
    if (!lenient && outcome == LETHE_OUTCOME_FUTURE && !may_be_ahead)
        blame(sent, outcome, "not ahead", memory, *now);
    bool is_known = rules->forever && memory->is_applied && age_of(model, memory, *now) == YOUNG;
    bool may_be_late = late || (time_ms < model->forgotten_ms && !is_known);
    if (!lenient && is_late && !may_be_late) blame(sent, outcome, "not late", memory, *now);
    if (ahead || outcome == LETHE_OUTCOME_FUTURE || outcome == LETHE_OUTCOME_LATE) return true;
    if (time_ms > clock_ms) model->clock_ms = time_ms;
    *now = (struct moment){model->clock_ms, model->clock_ms};
    return false;
}

static void judge_fresh(struct model *model, const struct sent *sent, uint8_t outcome,
                        struct moment now) {
    struct memory *memory = &model->submitted.ids[sent->id];
    bool too_large = overflows(model, sent);
    bool is_applied = outcome == LETHE_OUTCOME_APPLIED || outcome == LETHE_OUTCOME_APPLIED_LATE;
    bool crosses = bounds_are_crossed(model, sent);
    if (outcome == LETHE_OUTCOME_LIMITED && (crosses || sent->may_be_limited)) return;
    if (!crosses && (too_large ? outcome == LETHE_OUTCOME_OVERFLOW : is_applied)) {
        if (!too_large)
            add_effect(model, (struct effect){.kind = EFFECT_APPLY,
                                              .which = sent->id,
                                              .variant = sent->variant,
                                              .moment = now});
        return;
    }
    bool may_be_wrong =
        outcome == LETHE_OUTCOME_DUPLICATE && !model->rules.exact && model->rules.error > 1e-8;
    const char *expected = crosses ? "limited" : too_large ? "overflow" : "applied";
    if (!may_be_wrong) blame(sent, outcome, expected, memory, now);
    model->wrongly_duplicates++;
}

void model_judge(struct model *model, const struct sent *sent, uint8_t outcome, struct moment now,
                 struct moment wall, const int64_t *values, bool lenient) {
    const struct memory *memory = &model->submitted.ids[sent->id];
    if (lenient) { /* beyond what is durable: only what may be there matters */
        bool is_applied = outcome == LETHE_OUTCOME_APPLIED || outcome == LETHE_OUTCOME_APPLIED_LATE;
        bool is_in_time = outcome != LETHE_OUTCOME_FUTURE && outcome != LETHE_OUTCOME_LATE;
        /* A duplicate moves the clock, too, and those after it are recorded under that time. */
        if (model->rules.event_time && is_in_time && sent->operation.time_ms > model->clock_ms)
            model->clock_ms = sent->operation.time_ms;
        if (!is_applied || overflows(model, sent) || bounds_are_crossed(model, sent)) return;
        if (model->rules.event_time) now = (struct moment){model->clock_ms, model->clock_ms};
        judge_fresh(model, sent, outcome, now);
        return;
    }
    if (model->rules.event_time && is_out_of_time(model, sent, outcome, &now, wall, lenient)) {
        check_values(model, sent, values);
        return;
    }
    enum age age = memory->is_applied ? age_of(model, memory, now) : OLD;
    uint64_t time_ms = sent->operation.time_ms;
    bool is_late = model->rules.event_time && (time_ms + model->rules.window_ms < now.least_ms ||
                                               time_ms < model->forgotten_ms);
    if (memory->is_applied && counts_late(sent) && is_late) age = age_if_late(model, memory, now);
    /* Where the store takes such an event at all, it has forgotten nothing. */
    if (memory->is_applied && time_ms < model->forgotten_ms && !counts_late(sent) &&
        age_by_rules(&model->rules, memory, now) == YOUNG)
        age = YOUNG;
    /* The witness alone is the same in all variants. */
    bool differs = model->rules.check_payload && memory->is_compared &&
                   memory->variant != sent->variant &&
                   (sent->operation.change_count != 1 || memory->variant == VARIANT_GIVEN_UP);
    uint8_t repeated = differs ? LETHE_OUTCOME_MISMATCH : LETHE_OUTCOME_DUPLICATE;
    if (age == YOUNG) {
        if (outcome != repeated) blame(sent, outcome, name_of(repeated), memory, now);
    } else if (age == BETWEEN && outcome == repeated) {
        /* The store remembers it a little longer. */
    } else {
        model->fresh++;
        judge_fresh(model, sent, outcome, now);
    }
    check_values(model, sent, values);
}

void model_switch(struct model *model, struct rules rules, struct moment now) {
    assert(model->effect_count == 0);
    const struct rules before = model->rules;
    bool remembers_longer =
        !before.forever && (rules.forever || rules.window_ms > before.window_ms);
    for (uint32_t i = 0; i < model->id_count; i++) {
        struct memory *memory = &model->submitted.ids[i];
        if (!memory->is_applied) continue;
        if (remembers_longer) memory->may_be_forgotten |= age_of(model, memory, now) != YOUNG;
        memory->may_be_remembered = true;
    }
    model->acknowledged = model->submitted;
    uint64_t window_ms = before.window_ms;
    if (remembers_longer && rules.event_time && model->clock_ms > window_ms + model->forgotten_ms)
        model->forgotten_ms = model->clock_ms - window_ms;
    model->rules = rules;
}

void model_end(const struct model *model) {
    double expected = model->rules.error * (double)model->fresh;
    if ((double)model->wrongly_duplicates > 8 + 4 * expected)
        verdict_fail("error",
                     "%" PRIu64 " of %" PRIu64
                     " fresh operations were called duplicates, with an error of %g",
                     model->wrongly_duplicates, model->fresh, model->rules.error);
}

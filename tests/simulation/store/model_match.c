/* simulation/store/model_match.c - what a store shows, and which state of the model that is.
 *
 * I1      A store shows acknowledged with the first n effects, for some n: all of the first n, none
 *         of the others.
 * WHY     Which n is found by making effect after effect and counting the places where the
 *         states differ: a whole comparison for each n would be quadratic. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "simulation/store/model.h"
#include "simulation/store/verdict.h"

static bool begins(lethe_bytes name, const char *prefix) {
    return name.size > strlen(prefix) && memcmp(name.data, prefix, strlen(prefix)) == 0;
}

/* Those of claims and holds, which look after them. */
static bool is_others(lethe_bytes key) {
    return begins(key, "work-") || begins(key, "held-");
}

void model_show(struct shown *shown, lethe_bytes key, int64_t value) {
    if (begins(key, "w-") && model_number_in(key, 2) < MODEL_IDS) {
        shown->witness[model_number_in(key, 2)] = (uint32_t)value;
    } else if (begins(key, "shared-") && model_number_in(key, 7) < MODEL_KEYS) {
        shown->values[model_number_in(key, 7)] = value;
        shown->exists[model_number_in(key, 7)] = true;
    } else if (!is_others(key)) {
        verdict_fail("counters", "there is a counter \"%.*s\" that nobody made", (int)key.size,
                     (const char *)key.data);
    }
}

void model_show_bucket(struct shown *shown, lethe_bytes key, int64_t value) {
    if (begins(key, "w-") && model_number_in(key, 2) < MODEL_IDS) {
        shown->witness_sums[model_number_in(key, 2)] += (uint32_t)value;
    } else if (begins(key, "shared-") && model_number_in(key, 7) < MODEL_KEYS) {
        shown->sums[model_number_in(key, 7)] += value;
    } else if (!is_others(key)) {
        verdict_fail("meters", "there are buckets of \"%.*s\", which nobody made", (int)key.size,
                     (const char *)key.data);
    }
}

/* A witness is never set: all of it is in buckets, except what was there before there were any. */
static void check_meters(const struct model *model, const struct shown *shown) {
    if (!model->acknowledged.has_meters) return;
    if (!shown->has_meters) verdict_fail("meters", "the store has lost its meters");
    for (uint32_t i = 0; i < model->id_count; i++) {
        uint32_t unmetered = model->acknowledged.ids[i].unmetered;
        uint32_t most = shown->witness[i] - unmetered, sum = shown->witness_sums[i];
        if (sum == most || (shown->drops && sum < most)) continue;
        verdict_fail("meters",
                     "id-%u is there %u times, %u of them without meters, and %u in buckets", i,
                     shown->witness[i], unmetered, sum);
    }
}

void model_show_mark(struct shown *shown, const lethe_mark *mark) {
    if (!begins(mark->name, "source-") || model_number_in(mark->name, 7) >= MODEL_MARKS)
        verdict_fail("marks", "there is a mark \"%.*s\" that nobody made", (int)mark->name.size,
                     (const char *)mark->name.data);
    shown->marks[model_number_in(mark->name, 7)] = model_number_in(mark->value, 0);
}

/* What is set by hand is in no bucket, and what is deleted is in none either. */
static bool rest_differs(const struct state *state, const struct shown *shown, uint32_t key) {
    return state->has_meters && !shown->drops &&
           (uint64_t)shown->values[key] - (uint64_t)shown->sums[key] != state->rests[key];
}

static bool key_differs(const struct state *state, const struct shown *shown, uint32_t key) {
    if (rest_differs(state, shown, key)) return true;
    return state->values[key] != shown->values[key] || state->exists[key] != shown->exists[key];
}

static unsigned count_differences(const struct model *model, const struct state *state,
                                  const struct shown *shown, char *text, size_t size) {
    unsigned count = 0;
    size_t used = 0;
    for (uint32_t i = 0; i < model->id_count; i++) {
        if (state->ids[i].witness == shown->witness[i]) continue;
        count++;
        if (text != NULL && count < 6 && used < size)
            used += (size_t)snprintf(text + used, size - used,
                                     "; id-%u is there %u times, and was applied %u times", i,
                                     shown->witness[i], state->ids[i].witness);
    }
    for (uint32_t i = 0; i < MODEL_KEYS; i++) {
        if (!key_differs(state, shown, i)) continue;
        count++;
        if (text != NULL && count < 6 && used < size)
            used += (size_t)snprintf(
                text + used, size - used,
                "; shared-%u is %" PRId64 "%s, %" PRId64 " in buckets, and should be %" PRId64
                "%s, %" PRId64 " not in buckets",
                i, shown->values[i], shown->exists[i] ? "" : " (missing)", shown->sums[i],
                state->values[i], state->exists[i] ? "" : " (missing)", (int64_t)state->rests[i]);
    }
    for (uint32_t i = 0; i < MODEL_MARKS; i++) {
        if (state->marks[i] == shown->marks[i]) continue;
        count++;
        if (text != NULL && count < 6 && used < size)
            used += (size_t)snprintf(text + used, size - used,
                                     "; mark %u is %" PRIu64 ", and should be %" PRIu64, i,
                                     shown->marks[i], state->marks[i]);
    }
    return count;
}

void model_match_submitted(const struct model *model, const struct shown *shown) {
    char text[1024] = "";
    check_meters(model, shown);
    if (count_differences(model, &model->submitted, shown, text, sizeof text) > 0)
        verdict_fail("reads", "a writer does not see what it submitted%s", text);
}

/* Differences in the places that an effect can change. */
static unsigned count_nearby(const struct state *state, const struct shown *shown,
                             const struct effect *effect) {
    unsigned count = 0;
    if (effect->kind == EFFECT_APPLY)
        count += state->ids[effect->which].witness != shown->witness[effect->which];
    for (uint32_t i = 0; i < MODEL_KEYS; i++)
        count += key_differs(state, shown, i);
    for (uint32_t i = 0; i < MODEL_MARKS; i++)
        count += state->marks[i] != shown->marks[i];
    return count;
}

/* How many effects make the state that is shown; *least becomes the number of places where it
 * still differs. */
static size_t find_point(const struct model *model, const struct shown *shown, unsigned *least) {
    static struct state state;
    state = model->acknowledged;
    unsigned differences = count_differences(model, &state, shown, NULL, 0);
    size_t found = 0;
    *least = differences;
    for (size_t i = 0; i<model->effect_count && * least> 0; i++) {
        unsigned before = count_nearby(&state, shown, &model->effects[i]);
        model_make(model, &state, &model->effects[i]);
        differences += count_nearby(&state, shown, &model->effects[i]) - before;
        if (differences > *least) continue;
        *least = differences;
        found = i + 1;
    }
    return found;
}

void model_match(struct model *model, const struct shown *shown, bool settles, const char *who) {
    unsigned differences;
    check_meters(model, shown);
    model_order(model, shown);
    size_t found = find_point(model, shown, &differences), under_way = model->effect_count;
    if (differences > 0) {
        char text[1024] = "";
        model_acknowledge(model, model->first_effect + found);
        (void)count_differences(model, &model->acknowledged, shown, text, sizeof text);
        verdict_fail("prefix",
                     "%s shows no state between acknowledged and submitted (%zu effects under "
                     "way); nearest is the one after %zu of them%s",
                     who, under_way, found, text);
    }
    if (!settles) return;
    if (under_way > 0)
        verdict_tell("        %zu of %zu effects under way are there", found, under_way);
    model_acknowledge(model, model->first_effect + found);
    model->effect_count = 0;
    model->submitted = model->acknowledged;
}

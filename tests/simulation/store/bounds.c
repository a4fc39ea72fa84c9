/* simulation/store/bounds.c - bounds that operations carry, and ids that are given up.
 *
 * I1      Bounds on counters are judged exactly: the model knows every value.
 * I2      The model knows no buckets. So an operation with a bound on one may be limited; but what
 *         was applied never leaves a bucket beyond its bound, and the bucket of a witness, which
 *         only grows, is never let through a bound of 0.
 * I3      Giving up shows in no counter. So it is sent only with a mark, in whose commit it is: if
 *         the mark is there, the id is given up, and otherwise it is not. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/store/verdict.h"
#include "simulation/store/world.h"

__extension__ typedef __int128 wide;

static uint64_t below(struct world *world, uint64_t n) {
    return test_random_below(&world->random, n);
}

/* A bound on a bucket of the first resolution. */
static void bound_bucket(struct world *world, struct sent *sent) {
    size_t at = (size_t)below(world, sent->operation.change_count);
    lethe_change *change = &sent->changes[at];
    if (change->delta == 0) return;
    *change = (lethe_change){.key = change->key,
                             .delta = change->delta,
                             .flags = LETHE_CHANGE_MAX | LETHE_CHANGE_BUCKET,
                             .max = at == 0 ? 0 : (int64_t)below(world, 5000)};
    sent->may_be_limited = true;
    sent->must_be_limited = at == 0;
}

void bounds_draw(struct world *world, struct sent *sent) {
    const struct model *model = &world->model;
    if (below(world, 100) >= world->plan.bounds_percent) return;
    for (size_t i = 1; i < sent->operation.change_count; i++) {
        lethe_change *change = &sent->changes[i];
        int64_t value = model->submitted.values[model_key_number(change->key)];
        bool is_far = value > INT64_MAX / 2 || value < INT64_MIN / 2;
        change->flags = (uint32_t)below(world, 4); /* none, max, min, both */
        if (is_far) value = 0;
        change->resolution = 0;
        change->max = value + (int64_t)below(world, 3001) - 1000;
        change->min = value - (int64_t)below(world, 3001) + 1000;
        if (is_far) change->flags = 0;
        /* Without bounds, a change of 0 is a part of the payload; with them it is none. */
        if (change->delta == 0) change->flags = 0;
    }
    if (model->submitted.has_meters && !model->rules.event_time && world_one_in(world, 10))
        bound_bucket(world, sent);
}

void bounds_give_up(struct world *world, struct sent *sent) {
    if (world->plan.bounds_percent == 0 || !world_one_in(world, 10)) return;
    sent->variant = VARIANT_GIVEN_UP;
    sent->may_be_limited = sent->must_be_limited = false;
    sent->operation.flags |= LETHE_OPERATION_GIVE_UP;
    sent->operation.changes = NULL;
    sent->operation.change_count = 0;
}

static wide movement(const struct sent *sent, size_t at) {
    lethe_bytes key = sent->changes[at].key;
    wide moved = 0;
    for (size_t i = 0; i < sent->operation.change_count; i++) {
        lethe_bytes other = sent->changes[i].key;
        if (other.size == key.size && memcmp(other.data, key.data, key.size) == 0)
            moved += sent->changes[i].delta;
    }
    return moved;
}

static bool is_beyond(const lethe_change *change, wide moved, wide after) {
    if (moved > 0) return (change->flags & LETHE_CHANGE_MAX) != 0 && after > change->max;
    if (moved < 0) return (change->flags & LETHE_CHANGE_MIN) != 0 && after < change->min;
    return false;
}

bool bounds_are_crossed(const struct model *model, const struct sent *sent) {
    for (size_t i = 1; i < sent->operation.change_count; i++) {
        const lethe_change *change = &sent->changes[i];
        if (change->flags == 0 || (change->flags & LETHE_CHANGE_BUCKET) != 0) continue;
        wide moved = movement(sent, i);
        wide after = model->submitted.values[model_key_number(change->key)] + moved;
        if (is_beyond(change, moved, after)) return true;
    }
    return sent->must_be_limited;
}

void bounds_check(const struct sent *sent, uint8_t outcome, const lethe_limit *limits) {
    bool is_applied = outcome == LETHE_OUTCOME_APPLIED || outcome == LETHE_OUTCOME_APPLIED_LATE;
    bool is_crossed = false;
    for (size_t i = 0; i < sent->operation.change_count; i++) {
        is_crossed = is_crossed || limits[i].is_crossed;
        if (is_applied && is_beyond(&sent->changes[i], movement(sent, i), limits[i].value))
            verdict_fail("bounds", "id-%u was applied, and %s is %" PRId64 ", beyond its bound",
                         sent->id, sent->keys[i], limits[i].value);
    }
    if (is_crossed != (outcome == LETHE_OUTCOME_LIMITED))
        verdict_fail("bounds", "id-%u is %slimited, and by %s of its changes", sent->id,
                     is_crossed ? "not " : "", is_crossed ? "some" : "none");
}

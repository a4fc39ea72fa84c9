/* window/plan.c - what a window will take, without making one.
 *
 * IDEA    The chain's own arithmetic (growth.h, part.c), run for a load that begins at once and
 *         stays as it is: each part is filled before the next is made, until one suffices.
 * I1      A part is made for the ids of G + 1 periods, since that is how long an entry is kept in
 *         the worst case. So a part whose capacity is at least that never fills, and is the last.
 * LIMIT   Loads that come and go, caps and the forgetful kind are not planned. */
#include <math.h>

#include "core/sized.h"
#include "window/growth.h"
#include "window/window.h"

/* A chain that is only thought of. */
struct growing {
    const lethe_window_options *options;
    unsigned generations;
    /* Ids in W, and the most that are alive at once. */
    double ids, alive_most;
    struct lethe_part_shape parts[LETHE_CHAIN_MAX_PARTS];
    /* When the last id is added to it, in W from the beginning. */
    double filled_at[LETHE_CHAIN_MAX_PARTS];
    unsigned count;
    /* Ids that all parts together took. */
    double added;
};

/* Whether a part still has living entries at a time. */
static bool is_alive(const struct growing *growing, unsigned part, double at) {
    return growing->filled_at[part] + 1 + 1.0 / growing->generations > at;
}

static double used_error(const struct growing *growing, double at) {
    double error = 0;
    for (unsigned i = 0; i < growing->count; i++) {
        const struct lethe_part_shape *shape = &growing->parts[i];
        if (is_alive(growing, i, at)) error += lethe_part_error(shape, shape->capacity);
    }
    return error;
}

static unsigned alive_parts(const struct growing *growing, double at) {
    unsigned count = 0;
    for (unsigned i = 0; i < growing->count; i++)
        count += is_alive(growing, i, at);
    return count;
}

static double bytes_at(const struct growing *growing, double at) {
    double bytes = 0;
    for (unsigned i = 0; i < growing->count; i++) {
        if (is_alive(growing, i, at)) bytes += (double)lethe_part_planned_bytes(&growing->parts[i]);
    }
    return bytes;
}

static lethe_status add_part(struct growing *growing, struct lethe_growth next) {
    if (growing->count == LETHE_CHAIN_MAX_PARTS) return LETHE_EFULL;
    struct lethe_part_shape *shape = &growing->parts[growing->count];
    bool one_line = growing->options->one_line;
    if (!lethe_part_plan(next.capacity, next.share, growing->generations, one_line, shape))
        return LETHE_EFULL;
    growing->added += (double)next.capacity;
    growing->filled_at[growing->count++] =
        growing->ids > 0 ? growing->added / growing->ids : INFINITY;
    return LETHE_OK;
}

/* One stripe. */
static lethe_status plan_chain(const lethe_window_options *options, double ids,
                               lethe_window_needs *out) {
    struct growing growing = {.options = options, .ids = ids};
    growing.generations = lethe_growth_generations(options->slack);
    growing.alive_most = ids * (1 + 1.0 / growing.generations);
    double needed = growing.alive_most * LETHE_GROWTH_HEADROOM, peak, at = 0;
    const bool is_capped = options->max_memory_bytes != 0;
    struct lethe_growth next =
        lethe_growth_first(options->capacity, growing.generations, options->error, is_capped);
    lethe_status status = add_part(&growing, next);
    if (status != LETHE_OK) return status;
    for (peak = bytes_at(&growing, 0); (double)next.capacity < growing.alive_most;) {
        at = growing.filled_at[growing.count - 1];
        next = lethe_growth_next(&(struct lethe_growth_state){
            .alive = fmin(growing.added, growing.alive_most),
            .needed = needed,
            .error = options->error,
            .used_error = used_error(&growing, at),
            .parts = alive_parts(&growing, at),
            .is_capped = is_capped,
        });
        status = add_part(&growing, next);
        if (status != LETHE_OK) return status;
        peak = fmax(peak, bytes_at(&growing, at));
    }
    const struct lethe_part_shape *last = &growing.parts[growing.count - 1];
    out->memory_bytes = lethe_part_planned_bytes(last);
    out->peak_memory_bytes = (uint64_t)peak;
    out->slabs = last->slabs;
    out->slab_bytes = last->slab_bytes;
    out->error = lethe_part_error(last, (uint64_t)growing.alive_most);
    out->parts = growing.count;
    return LETHE_OK;
}

lethe_status lethe_window_plan(const lethe_window_options *options, uint64_t ids,
                               lethe_window_needs *out) {
    lethe_window_options taken, plan;
    lethe_window_needs needs = {.size = sizeof needs};
    if (lethe_sized_check(out, LETHE_SIZE_WITH(out, reserved)) != LETHE_OK) return LETHE_EINVAL;
    lethe_status status = LETHE_TAKE(options, &taken, allocator);
    if (status == LETHE_OK) status = lethe_chain_plan(&taken, &plan);
    if (status != LETHE_OK) return status;
    bool powers = (plan.stripes & (plan.stripes - 1)) == 0;
    if (!powers || plan.stripes > LETHE_WINDOW_MAX_STRIPES || plan.kind != LETHE_WINDOW_QUOTIENT)
        return LETHE_EINVAL;
    lethe_window shared = {.options = plan, .stripe_count = plan.stripes > 0 ? plan.stripes : 1};
    lethe_window_options share = lethe_window_stripe_options(&shared);
    status = plan_chain(&share, (double)ids / shared.stripe_count, &needs);
    if (status != LETHE_OK) return status;
    uint64_t fixed =
        sizeof shared + shared.stripe_count * (uint64_t)sizeof(struct lethe_window_stripe);
    needs.memory_bytes = needs.memory_bytes * shared.stripe_count + fixed;
    needs.peak_memory_bytes = needs.peak_memory_bytes * shared.stripe_count + fixed;
    needs.slabs *= shared.stripe_count;
    needs.ids = ids;
    return LETHE_GIVE(&needs, out, reserved);
}

/* window/chain_growth.c - how a chain grows, shrinks and frees memory: when it makes a part,
 * for how many ids, with which share of the error and within which cap. chain.c has the essay. */
#include "window/chain.h"

#include <math.h>

#include "core/allocator.h"
#include "window/growth.h"

#define MAX_WINDOW_MS (UINT64_C(30) * 24 * 3600 * 1000)
#define MIN_WINDOW_MS 1000
#define DEFAULT_WINDOW_MS 600000
#define DEFAULT_ERROR 1e-6
#define DEFAULT_SLACK 0.25

/* Bits of memory per id with the shortest remainders. */
#define SHORTEST_BITS 11.0

enum {
    MIN_CAPACITY = LETHE_GROWTH_MIN_CAPACITY,
    SHRINK_FACTOR = 8,
    MIN_DEGRADED_BITS = LETHE_GROWTH_SHORTEST_BITS,
    MIN_REOPENED = 64
};

lethe_status lethe_chain_plan(const lethe_window_options *options, lethe_window_options *out) {
    lethe_window_options plan = *options;
    plan.size = sizeof plan;
    if (plan.window_ms == 0) plan.window_ms = DEFAULT_WINDOW_MS;
    if (plan.error == 0) plan.error = DEFAULT_ERROR;
    if (plan.slack == 0) plan.slack = DEFAULT_SLACK;
    if (plan.seed == 0) plan.seed = LETHE_DEFAULT_SEED;
    /* Written so that a NaN is refused as well. */
    bool valid = plan.error >= 1e-12 && plan.error <= 0.1 && plan.slack >= 0.02 &&
                 plan.slack <= 1 && plan.window_ms >= MIN_WINDOW_MS &&
                 plan.window_ms <= MAX_WINDOW_MS && plan.capacity <= LETHE_CHAIN_MAX_HINT &&
                 (plan.policy == LETHE_POLICY_REFUSE || plan.policy == LETHE_POLICY_DEGRADE);
    if (!valid) return LETHE_EINVAL;
    *out = plan;
    return LETHE_OK;
}

uint64_t lethe_chain_start_of(const lethe_chain *chain, uint64_t period) {
    return (period * chain->options.window_ms + chain->generations - 1) / chain->generations;
}

void lethe_chain_set_clock(lethe_chain *chain, uint64_t clock_ms) {
    chain->clock_ms = clock_ms;
    chain->period = clock_ms * chain->generations / chain->options.window_ms;
    chain->period_end_ms = lethe_chain_start_of(chain, chain->period + 1);
}

static uint64_t memory_of(lethe_part *const *parts, unsigned count) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < count; i++)
        bytes += lethe_part_allocated_bytes(parts[i]);
    return bytes;
}

uint64_t lethe_chain_living_bytes(const lethe_chain *chain) {
    return memory_of(chain->parts, chain->part_count);
}

uint64_t lethe_chain_memory(const lethe_chain *chain) {
    return lethe_chain_living_bytes(chain) + memory_of(chain->graves, chain->grave_count);
}

uint64_t lethe_chain_committed_bytes(const lethe_chain *chain) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < chain->part_count; i++) {
        /* Only the newest is written, so only the newest can grow. */
        bytes += i == 0 ? lethe_part_planned_bytes(&chain->parts[i]->shape)
                        : lethe_part_allocated_bytes(chain->parts[i]);
    }
    return bytes;
}

void lethe_chain_note_peak(lethe_chain *chain) {
    uint64_t bytes = lethe_chain_memory(chain);
    if (bytes > chain->peak_memory_bytes) chain->peak_memory_bytes = bytes;
}

bool lethe_chain_dig(lethe_chain *chain, unsigned budget) {
    while (chain->grave_count > 0 && budget > 0) {
        lethe_part *grave = chain->graves[chain->grave_count - 1];
        uint64_t before = grave->slabs_allocated;
        if (lethe_part_free_some(grave, budget)) {
            lethe_part_free(grave);
            chain->grave_count--;
        }
        budget -= before < budget ? (unsigned)before : budget;
    }
    return chain->grave_count == 0;
}

void lethe_chain_sweep(lethe_chain *chain) {
    size_t left = LETHE_CHAIN_SWEEP_BYTES;
    chain->is_sweeping = false;
    for (unsigned i = 0; i < chain->part_count; i++) {
        left -= lethe_part_sweep(chain->parts[i], left);
        chain->is_sweeping |= lethe_part_sweep_lag(chain->parts[i]) > 0;
    }
}

void lethe_chain_make_way(lethe_chain *chain, uint64_t needed_bytes) {
    uint64_t cap = chain->options.max_memory_bytes;
    if (cap == 0) return;
    while (needed_bytes + memory_of(chain->graves, chain->grave_count) > cap) {
        if (lethe_chain_dig(chain, 1)) return;
    }
}

static void bury(lethe_chain *chain, lethe_part *part) {
    lethe_chain_note_peak(chain);
    if (chain->grave_count == LETHE_CHAIN_MAX_GRAVES) {
        lethe_part_free(chain->graves[--chain->grave_count]);
    }
    chain->graves[chain->grave_count++] = part;
}

/* Removes part number index from the chain. */
static void retire(lethe_chain *chain, unsigned index) {
    bury(chain, chain->parts[index]);
    chain->part_count--;
    for (unsigned i = index; i < chain->part_count; i++)
        chain->parts[i] = chain->parts[i + 1];
}

/* Makes a part the first, before those that are now number 0 to count - 1. */
static void put_first(lethe_chain *chain, lethe_part *part, unsigned count) {
    for (unsigned i = count; i > 0; i--)
        chain->parts[i] = chain->parts[i - 1];
    chain->parts[0] = part;
}

static uint64_t alive_in_all(const lethe_chain *chain) {
    uint64_t alive = 0;
    for (unsigned i = 0; i < chain->part_count; i++)
        alive += chain->parts[i]->alive;
    return alive;
}

static double error_of_all(const lethe_chain *chain) {
    double error = 0;
    for (unsigned i = 0; i < chain->part_count; i++)
        error += lethe_part_error(&chain->parts[i]->shape, chain->parts[i]->alive);
    return error;
}

/* The ids that would be alive at once if they kept arriving at the current rate. */
static double forecast(const lethe_chain *chain) {
    uint64_t elapsed_ms = chain->clock_ms - lethe_chain_start_of(chain, chain->period) + 1;
    double elapsed = (double)elapsed_ms * chain->generations / (double)chain->options.window_ms;
    if (elapsed < 0.11) elapsed = 0.11; /* a shorter time says too little about the rate */
    double rate = fmax((double)chain->arrivals / elapsed, (double)chain->arrivals_before);
    return rate * (chain->generations + 1) * LETHE_GROWTH_HEADROOM;
}

static bool plan_part(const lethe_chain *chain, uint64_t capacity, double share,
                      struct lethe_part_shape *shape) {
    return lethe_part_plan(capacity, share, chain->generations, chain->options.one_line, shape);
}

/* Plans a part for fewer ids; LETHE_EFULL if so few are not worth a part. */
static lethe_status plan_smaller(const lethe_chain *chain, uint64_t capacity, double share,
                                 uint64_t room_bytes, struct lethe_part_shape *shape) {
    double fits = (double)room_bytes / (double)lethe_part_planned_bytes(shape);
    uint64_t smaller = (uint64_t)((double)capacity * fits * 0.98);
    if (smaller < MIN_CAPACITY || smaller < capacity / 16) return LETHE_EFULL;
    if (!plan_part(chain, smaller, share, shape)) return LETHE_EFULL;
    return lethe_part_planned_bytes(shape) <= room_bytes ? LETHE_OK : LETHE_EFULL;
}

/* Plans a part with shorter remainders, and for fewer ids only if the shortest do not fit. */
static lethe_status plan_degraded(const lethe_chain *chain, uint64_t capacity, double share,
                                  uint64_t room_bytes, struct lethe_part_shape *shape) {
    while (shape->queue.bits > MIN_DEGRADED_BITS) {
        share *= 2; /* one bit less */
        if (!plan_part(chain, capacity, share, shape)) return LETHE_EFULL;
        if (lethe_part_planned_bytes(shape) <= room_bytes) return LETHE_OK;
    }
    return plan_smaller(chain, capacity, share, room_bytes, shape);
}

/* Whether ids arrive so fast that the cap could not hold a window of them in any way. Then it is
 * a burst, such as a log that is replayed. To prepare for more of it would ruin the error for
 * nothing. */
static bool is_burst(const lethe_chain *chain) {
    /* Counts what has arrived in a period, without extrapolating. */
    double arrivals = fmax((double)chain->arrivals, (double)chain->arrivals_before);
    return arrivals * (chain->generations + 1) * SHORTEST_BITS >
           (double)chain->options.max_memory_bytes * 8;
}

/* Plans a part under policy degrade. */
static lethe_status plan_rising(const lethe_chain *chain, uint64_t capacity, double share,
                                uint64_t room_bytes, struct lethe_part_shape *shape) {
    if (is_burst(chain)) {
        /* Up to three quarters of the cap, parts keep the error; after that, ids count more. */
        uint64_t kept_bytes = chain->options.max_memory_bytes / 4;
        uint64_t good_bytes = room_bytes > kept_bytes ? room_bytes - kept_bytes : 0;
        if (lethe_part_planned_bytes(shape) <= good_bytes) return LETHE_OK;
        if (plan_smaller(chain, capacity, share, good_bytes, shape) == LETHE_OK) return LETHE_OK;
        uint64_t alive = alive_in_all(chain);
        if (capacity > alive) capacity = alive;
        if (!plan_part(chain, capacity, share, shape)) return LETHE_EFULL;
        return plan_degraded(chain, capacity, share, room_bytes, shape);
    }
    /* Leave a portion of the room to the following parts, and more if these will have to be
     * larger. */
    double portion = fmax((double)capacity / fmax(forecast(chain), 1), 0.5);
    room_bytes = (uint64_t)((double)room_bytes * fmin(portion, 0.875));
    if (lethe_part_planned_bytes(shape) <= room_bytes) return LETHE_OK;
    return plan_degraded(chain, capacity, share, room_bytes, shape);
}

/* Plans a part that fits in the room under the cap; LETHE_EFULL if none does. */
static lethe_status plan_within(const lethe_chain *chain, uint64_t capacity, double share,
                                struct lethe_part_shape *shape) {
    uint64_t cap = chain->options.max_memory_bytes, committed = lethe_chain_committed_bytes(chain);
    if (!plan_part(chain, capacity, share, shape)) return LETHE_EFULL;
    if (cap == 0) return LETHE_OK;
    uint64_t room_bytes = cap > committed ? cap - committed : 0;
    if (chain->options.policy == LETHE_POLICY_DEGRADE) {
        return plan_rising(chain, capacity, share, room_bytes, shape);
    }
    if (lethe_part_planned_bytes(shape) <= room_bytes) return LETHE_OK;
    return plan_smaller(chain, capacity, share, room_bytes, shape);
}

lethe_status lethe_chain_put_part(lethe_chain *chain, const struct lethe_part_shape *shape) {
    lethe_chain_make_way(chain,
                         lethe_chain_committed_bytes(chain) + lethe_part_planned_bytes(shape));
    lethe_part *part = lethe_part_new(shape, chain->period, chain->options.allocator);
    if (part == NULL) return LETHE_ENOMEM;
    put_first(chain, part, chain->part_count);
    chain->part_count++;
    return LETHE_OK;
}

/* Makes a new part, which becomes the newest. */
static lethe_status open_part(lethe_chain *chain, uint64_t capacity, double share) {
    if (chain->part_count == LETHE_CHAIN_MAX_PARTS) return LETHE_EFULL;
    struct lethe_part_shape shape;
    lethe_status status = plan_within(chain, capacity, share, &shape);
    bool is_short = status != LETHE_OK || shape.capacity < capacity ||
                    lethe_part_error(&shape, shape.capacity) > share * 1.001;
    /* A part with too high an error strains the window until it has expired. */
    chain->is_capped = is_short || (chain->is_capped && error_of_all(chain) > chain->options.error);
    return status == LETHE_OK ? lethe_chain_put_part(chain, &shape) : status;
}

/* Makes the emptiest of the older parts the newest, when no new part can be made. */
static lethe_status reopen_part(lethe_chain *chain) {
    unsigned best = 0;
    uint64_t most_free = MIN_REOPENED;
    for (unsigned i = 1; i < chain->part_count; i++) {
        const lethe_part *part = chain->parts[i];
        uint64_t room = part->alive < part->shape.capacity ? part->shape.capacity - part->alive : 0;
        if (room <= most_free) continue;
        most_free = room;
        best = i;
    }
    if (best == 0) return LETHE_EFULL;
    lethe_part *part = chain->parts[best];
    double error = error_of_all(chain) - lethe_part_error(&part->shape, part->alive) +
                   lethe_part_error(&part->shape, part->shape.capacity);
    bool refuses = chain->options.policy == LETHE_POLICY_REFUSE;
    if (refuses && error > chain->options.error) return LETHE_EFULL;
    uint64_t cap = chain->options.max_memory_bytes;
    uint64_t growth = lethe_part_planned_bytes(&part->shape) - lethe_part_allocated_bytes(part);
    uint64_t needed = lethe_chain_living_bytes(chain) + growth;
    if (cap != 0 && needed > cap) return LETHE_EFULL;
    lethe_chain_make_way(chain, needed);
    put_first(chain, part, best);
    return LETHE_OK;
}

/* Chooses the capacity and the error of a new part for the current load. */
static void choose_size(const lethe_chain *chain, uint64_t *capacity, double *out_share) {
    struct lethe_growth next = lethe_growth_next(&(struct lethe_growth_state){
        .alive = (double)alive_in_all(chain),
        .needed = forecast(chain),
        .error = chain->options.error,
        .used_error = error_of_all(chain),
        .parts = chain->part_count,
        .is_capped = chain->options.max_memory_bytes != 0,
    });
    *capacity = next.capacity;
    *out_share = next.share;
}

lethe_status lethe_chain_make_room(lethe_chain *chain) {
    bool is_known = chain->full_at_ms == chain->clock_ms + 1;
    if (is_known && chain->full_arrivals == chain->arrivals) return LETHE_EFULL;
    uint64_t capacity;
    double share;
    choose_size(chain, &capacity, &share);
    lethe_status status = open_part(chain, capacity, share);
    if (status == LETHE_EFULL) status = reopen_part(chain);
    if (status == LETHE_EFULL && chain->is_refilling)
        status = lethe_chain_open_beyond(chain, alive_in_all(chain), share);
    if (status == LETHE_EFULL) {
        chain->full_at_ms = chain->clock_ms + 1;
        chain->full_arrivals = chain->arrivals;
    }
    return status;
}

void lethe_chain_drop_newest(lethe_chain *chain) {
    lethe_part_free(chain->parts[0]);
    chain->part_count--;
    for (unsigned i = 0; i < chain->part_count; i++)
        chain->parts[i] = chain->parts[i + 1];
}

lethe_status lethe_chain_init(lethe_chain *chain, const lethe_window_options *options) {
    *chain = (lethe_chain){.options = *options, .calls_until_dig = LETHE_CHAIN_CALLS_A_DIG};
    chain->generations = lethe_growth_generations(options->slack);
    lethe_chain_set_clock(chain, 0);
    struct lethe_growth first = lethe_growth_first(options->capacity, chain->generations,
                                                   options->error, options->max_memory_bytes != 0);
    lethe_status status = open_part(chain, first.capacity, first.share);
    if (status == LETHE_OK && chain->is_capped && options->policy == LETHE_POLICY_REFUSE) {
        status = LETHE_EFULL;
    }
    if (status != LETHE_OK) lethe_chain_drop(chain);
    return status;
}

void lethe_chain_drop(lethe_chain *chain) {
    for (unsigned i = 0; i < chain->part_count; i++)
        lethe_part_free(chain->parts[i]);
    for (unsigned i = 0; i < chain->grave_count; i++)
        lethe_part_free(chain->graves[i]);
    *chain = (lethe_chain){0};
}

/* Whether the newest part has shorter remainders than it should, and a part with much longer ones
 * would fit now. */
static bool can_improve(const lethe_chain *chain) {
    const lethe_part *newest = chain->parts[0];
    if (lethe_part_error(&newest->shape, newest->shape.capacity) <= chain->options.error)
        return false;
    uint64_t capacity;
    double share;
    choose_size(chain, &capacity, &share);
    struct lethe_part_shape shape;
    if (plan_within(chain, capacity, share, &shape) != LETHE_OK || shape.capacity < capacity) {
        return false;
    }
    double now = lethe_part_error(&newest->shape, newest->shape.capacity);
    return lethe_part_error(&shape, capacity) <= fmax(chain->options.error, now / 4);
}

/* Whether the load is far below what the newest part was made for. */
static bool can_shrink(const lethe_chain *chain) {
    double needed = fmax(forecast(chain), (double)alive_in_all(chain));
    needed = fmax(fmax(needed, (double)chain->options.capacity), MIN_CAPACITY);
    return chain->part_count == 1 &&
           needed * SHRINK_FACTOR <= (double)chain->parts[0]->shape.capacity;
}

/* Adds a new part if it would suit the load better than the newest. If that fails, the next period
 * tries again. A chain that is being refilled has a part for all that is still to come. */
static void adapt(lethe_chain *chain) {
    if (chain->is_refilling || (!can_shrink(chain) && !can_improve(chain))) return;
    uint64_t capacity;
    double share;
    choose_size(chain, &capacity, &share);
    bool was_capped = chain->is_capped;
    if (open_part(chain, capacity, share) != LETHE_OK) chain->is_capped = was_capped;
}

/* The cap is no longer a limit once there is room again and the error is within its target. */
static void relax(lethe_chain *chain) {
    const lethe_part *newest = chain->parts[0];
    if (newest->alive < newest->shape.capacity && error_of_all(chain) <= chain->options.error)
        chain->is_capped = false;
}

/* Whether all entries of the newest part have expired, and yet its blocks would have to be
 * swept now, before their stamps repeat. */
static bool is_stale(const lethe_chain *chain) {
    const lethe_part *newest = chain->parts[0];
    return lethe_part_alive_at(newest, chain->period) == 0 &&
           lethe_part_is_urgent_at(newest, chain->period);
}

/* Whether the newest part is larger than the cap. Only a refill makes such a part, and needs it. */
static bool is_beyond_cap(const lethe_chain *chain) {
    uint64_t cap = chain->options.max_memory_bytes;
    return cap != 0 && !chain->is_refilling &&
           lethe_part_planned_bytes(&chain->parts[0]->shape) > cap;
}

/* Replaces the newest part by an empty one of its shape, or by a small one if it is beyond the cap.
 * If memory for that is missing, the old one stays and is swept. */
static void renew(lethe_chain *chain) {
    struct lethe_part_shape shape = chain->parts[0]->shape;
    struct lethe_growth first =
        lethe_growth_first(0, chain->generations, chain->options.error, true);
    if (is_beyond_cap(chain) && !plan_part(chain, first.capacity, first.share, &shape)) return;
    lethe_part *part = lethe_part_new(&shape, chain->period, chain->options.allocator);
    if (part == NULL) return;
    bury(chain, chain->parts[0]);
    chain->parts[0] = part;
    lethe_chain_make_way(chain, lethe_chain_committed_bytes(chain));
}

void lethe_chain_begin_period(lethe_chain *chain) {
    uint64_t before = chain->period;
    lethe_chain_set_clock(chain, chain->clock_ms);
    chain->arrivals_before = chain->period == before + 1 ? chain->arrivals : 0;
    chain->arrivals = 0;
    bool has_shed =
        is_beyond_cap(chain) && lethe_part_alive_at(chain->parts[0], chain->period) == 0;
    if (chain->period - before > chain->generations || is_stale(chain) || has_shed) renew(chain);
    for (unsigned i = chain->part_count; i-- > 0;) {
        if (i > 0 && lethe_part_alive_at(chain->parts[i], chain->period) == 0) {
            retire(chain, i);
        } else {
            lethe_part_advance(chain->parts[i], chain->period);
        }
    }
    chain->is_sweeping = true;
    lethe_chain_dig(chain, 1);
    relax(chain);
    adapt(chain);
}

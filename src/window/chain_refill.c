/* window/chain_refill.c - a chain that is filled again, with ids that were accepted before.
 *
 * IDEA    A store's window is gone when the store is closed, and is made again from the log. The
 *         ids are known by number then: one part for all of them, with the longest remainders that
 *         the cap allows. The chain that accepted them grew part by part, and could not know.
 * I1      Ids that one chain accepted under a cap, the next one takes in under the same cap, error
 *         and policy. Whoever has the ids must remember them (P1), so nothing is refused here.
 * I2      Until the refill ends, the chain stays with its part. It looks as if made for far more
 *         than arrives, or as if a better one would fit, only because the rest is still to come.
 * WHY     One part takes less than several for the same ids, so as a rule it fits. It may take a
 *         few per cent more: its remainders have whole bits, and ids that the earlier chain took
 *         for one another (exact mode knows them apart) count one by one. Then the cap gives way,
 *         by no more than half of it, and the strain says so. More than that is not a chain that
 *         grew under this cap, but a cap that was lowered, or an error: LETHE_EFULL.
 * WHY     Without a cap the chain will grow on. A part that took nearly all of the error would
 *         leave so little to the last one, which stays, that it would take up to two fifths more
 *         memory.
 * LIMIT   Windows of once-tables are saved as they are, and never refilled. Their plans must not
 *         change, since replicas plan alike. */
#include "window/chain.h"
#include "window/growth.h"

/* Remainders of 14 bits are an error of a few in a thousand. */
enum { SPARE_IDS = 64, GOOD_BITS = 14, SHORTEST_BITS = LETHE_GROWTH_SHORTEST_BITS };

/* The most that a refill may take. */
static uint64_t limit_of(const lethe_chain *chain) {
    uint64_t cap = chain->options.max_memory_bytes;
    return cap == 0 ? UINT64_MAX : cap + cap / 2;
}

/* Plans a part for so many ids; with policy degrade, with shorter remainders if it does not fit
 * into the room otherwise, but not shorter than that. *fits becomes whether it does. LETHE_EFULL if
 * there is no such part. */
static lethe_status plan(const lethe_chain *chain, uint64_t capacity, double share,
                         uint64_t room_bytes, unsigned shortest_bits,
                         struct lethe_part_shape *shape, bool *fits) {
    const lethe_window_options *options = &chain->options;
    bool degrades = options->policy == LETHE_POLICY_DEGRADE;
    for (;; share *= 2) {
        if (!lethe_part_plan(capacity, share, chain->generations, options->one_line, shape))
            return LETHE_EFULL;
        *fits = lethe_part_planned_bytes(shape) <= room_bytes;
        if (*fits || !degrades || shape->queue.bits <= shortest_bits) return LETHE_OK;
    }
}

lethe_status lethe_chain_open_beyond(lethe_chain *chain, uint64_t alive, double share) {
    if (chain->part_count == LETHE_CHAIN_MAX_PARTS) return LETHE_EFULL;
    uint64_t capacity = alive / 8;
    if (capacity < LETHE_GROWTH_MIN_CAPACITY) capacity = LETHE_GROWTH_MIN_CAPACITY;
    struct lethe_part_shape shape;
    bool fits;
    lethe_status status = plan(chain, capacity, share, 0, SHORTEST_BITS, &shape, &fits);
    if (status != LETHE_OK) return status;
    if (lethe_chain_committed_bytes(chain) + lethe_part_planned_bytes(&shape) > limit_of(chain))
        return LETHE_EFULL;
    chain->is_capped = true;
    return lethe_chain_put_part(chain, &shape);
}

/* Plans the part for all ids, with spare room: the next part needs some too, and under policy
 * degrade half of the cap, as long as that does not cost much of the error. What the newest part
 * takes, no later one can get back. */
static lethe_status plan_with_spare(const lethe_chain *chain, uint64_t ids,
                                    struct lethe_part_shape *shape, bool *fits) {
    uint64_t cap = chain->options.max_memory_bytes;
    const uint64_t rooms[] = {cap / 2, cap - cap / 4, cap - cap / 8};
    bool degrades = chain->options.policy == LETHE_POLICY_DEGRADE;
    struct lethe_growth first =
        lethe_growth_first(ids, chain->generations, chain->options.error, cap != 0);
    if (cap == 0) {
        double share = chain->options.error * LETHE_GROWTH_REFILLED_SHARE;
        return plan(chain, first.capacity, share, UINT64_MAX, 0, shape, fits);
    }
    if (!degrades) return plan(chain, first.capacity, first.share, cap, 0, shape, fits);
    *fits = false;
    lethe_status status = LETHE_OK;
    for (unsigned i = 0; i < 3 && status == LETHE_OK && !*fits; i++) {
        status = plan(chain, first.capacity, first.share, rooms[i],
                      i < 2 ? GOOD_BITS : SHORTEST_BITS, shape, fits);
    }
    return status;
}

/* Plans the part for all ids: with spare room; for these alone; beyond the cap. */
static lethe_status plan_all(const lethe_chain *chain, uint64_t ids,
                             struct lethe_part_shape *shape) {
    double share = chain->options.error * LETHE_GROWTH_HINTED_SHARE;
    uint64_t cap = chain->options.max_memory_bytes;
    bool fits;
    lethe_status status = plan_with_spare(chain, ids, shape, &fits);
    if (status == LETHE_OK && !fits && cap > 0)
        status = plan(chain, ids + SPARE_IDS, share, cap, SHORTEST_BITS, shape, &fits);
    if (status != LETHE_OK) return status;
    return lethe_part_planned_bytes(shape) <= limit_of(chain) ? LETHE_OK : LETHE_EFULL;
}

lethe_status lethe_chain_refill(lethe_chain *chain, uint64_t ids) {
    lethe_part *empty = chain->parts[0];
    if (ids > 0 && empty->shape.capacity < ids + SPARE_IDS) {
        struct lethe_part_shape shape;
        lethe_status status = plan_all(chain, ids, &shape);
        if (status != LETHE_OK) return status;
        status = lethe_chain_put_part(chain, &shape);
        if (status != LETHE_OK) return status;
        lethe_part_free(empty);
        chain->part_count = 1;
        double error = lethe_part_error(&shape, shape.capacity);
        chain->is_capped = error > chain->options.error ||
                           (chain->options.max_memory_bytes > 0 &&
                            lethe_part_planned_bytes(&shape) > chain->options.max_memory_bytes);
    }
    chain->is_refilling = ids > 0;
    chain->full_at_ms = 0;
    return LETHE_OK;
}

/* window/lanes.c - many ids added to a chain by several threads, with the result of one.
 *
 * IDEA    Both blocks of an id are in one slab of the part, and nothing that an id does to a part
 *         reaches another slab. So the slabs are dealt out: a lane is a range of them, and the
 *         thread that has it looks at all ids and adds those of its lane, in their order.
 * I1      A slab is written by one thread, and gets its ids in the order in which one thread would
 *         have added them. So its bytes are the same.
 * I2      What is counted for a whole part, a lane counts in a copy of the part; the differences
 *         are added up when all lanes are done. Only the list of slabs is not copied: each of its
 *         entries belongs to one lane, like the slab itself.
 * I3      Lanes are used only where nothing but the ids decides what happens: while the chain is
 *         one part with room for all of them, and its clock moves within one period without
 *         anything to sweep or to free. Everything else is done by the caller's thread, one run at
 *         a time.
 * I4      A lane that meets an id without room, in a part that is not full, or no memory, stops
 *         there. What is left of it is added when the others are done, by the caller's thread,
 *         which makes room. That is as good as never: all entries of two blocks would have to lie
 *         in full blocks with their other side too. The ids are remembered under the same times
 *         then, but some of the other lanes' lie in the older part where one thread would have put
 *         them into the newer.
 * WHY     Each thread reads all ids, at a nanosecond each, and none has to wait until another has
 *         sorted them. */
#include "window/chain.h"

#include "core/bits.h"
#include "core/inline.h"

/* Fewer ids are not worth waking anybody. */
enum { LEAST_IDS = 4096, MOST_LANES = 16, BATCH = 1024 };

struct lane {
    /* I2. */
    lethe_part part;
    uint64_t first_slab, slab_count;
    uint64_t inserted;
    /* Of the lane's ids, those that were dealt with: all, unless it is stuck. */
    uint64_t handled;
    bool is_done, is_stuck;
};

struct lanes {
    const lethe_hash *ids;
    size_t id_count;
    uint64_t period, slabs;
    uint32_t count;
    struct lane lanes[MOST_LANES];
};

LETHE_INLINE bool is_in(const struct lane *lane, uint64_t slabs, const lethe_hash *id) {
    return lethe_multiply_high(id->high, slabs) - lane->first_slab < lane->slab_count;
}

static void add_to_lane(struct lane *lane, const lethe_hash *ids, size_t count, uint64_t period) {
    lethe_part_result result;
    uint64_t inserted;
    size_t done =
        lane->part.operations->add_batch(&lane->part, ids, count, period, &inserted, &result);
    lane->inserted += inserted;
    lane->handled += done;
    lane->is_stuck = done < count;
}

static void fill_lane(void *argument, uint32_t number) {
    struct lanes *lanes = argument;
    if (number >= lanes->count) return;
    struct lane *lane = &lanes->lanes[number];
    lethe_hash mine[BATCH];
    size_t count = 0;
    for (size_t i = 0; i < lanes->id_count && !lane->is_stuck; i++) {
        mine[count] = lanes->ids[i];
        count += is_in(lane, lanes->slabs, &lanes->ids[i]);
        if (count < BATCH) continue;
        add_to_lane(lane, mine, count, lanes->period);
        count = 0;
    }
    if (!lane->is_stuck) add_to_lane(lane, mine, count, lanes->period);
    lane->is_done = true;
}

static void prepare(struct lanes *lanes, const lethe_part *part, uint32_t members) {
    lanes->slabs = part->shape.slabs;
    lanes->count = members < MOST_LANES ? members : MOST_LANES;
    if (lanes->count > lanes->slabs) lanes->count = (uint32_t)lanes->slabs;
    for (uint32_t i = 0; i < lanes->count; i++) {
        uint64_t first = lanes->slabs * i / lanes->count;
        lanes->lanes[i] =
            (struct lane){.part = *part,
                          .first_slab = first,
                          .slab_count = lanes->slabs * (i + 1) / lanes->count - first};
    }
}

/* Adds what the lane has counted since `before`. */
static void count_lane(lethe_part *part, const lethe_part *before, const lethe_part *lane) {
    part->alive += lane->alive - before->alive;
    part->slabs_allocated += lane->slabs_allocated - before->slabs_allocated;
    for (unsigned i = 0; i < LETHE_PART_PERIODS; i++)
        part->added[i] += lane->added[i] - before->added[i];
}

/* Adds the ids of a lane that are left: I4. */
static lethe_status add_rest(lethe_chain *chain, const struct lanes *lanes,
                             const struct lane *lane) {
    lethe_hash rest[BATCH];
    size_t count = 0;
    uint64_t passed = 0;
    lethe_status first = LETHE_OK;
    for (size_t i = 0; i <= lanes->id_count; i++) {
        bool is_last = i == lanes->id_count;
        if (!is_last && is_in(lane, lanes->slabs, &lanes->ids[i]) && passed++ >= lane->handled)
            rest[count++] = lanes->ids[i];
        if (count < BATCH && !is_last) continue;
        lethe_status status = lethe_chain_add_now(chain, rest, count, NULL);
        if (first == LETHE_OK) first = status;
        count = 0;
    }
    return first;
}

static lethe_status add_in_lanes(lethe_chain *chain, const lethe_hash *ids, size_t count,
                                 const lethe_crew *crew) {
    lethe_part *part = chain->parts[0];
    const lethe_part before = *part;
    struct lanes lanes = {.ids = ids, .id_count = count, .period = chain->period};
    prepare(&lanes, part, crew->members);
    crew->run(crew->context, fill_lane, &lanes);
    for (uint32_t i = 0; i < lanes.count; i++) {
        if (!lanes.lanes[i].is_done) fill_lane(&lanes, i);
        count_lane(part, &before, &lanes.lanes[i].part);
        chain->arrivals += lanes.lanes[i].inserted;
    }
    lethe_status first = LETHE_OK;
    for (uint32_t i = 0; i < lanes.count; i++) {
        if (!lanes.lanes[i].is_stuck) continue;
        lethe_status status = add_rest(chain, &lanes, &lanes.lanes[i]);
        if (first == LETHE_OK) first = status;
    }
    return first;
}

/* Whether the clock can follow to now_ms without doing anything else. */
static bool is_quiet(const lethe_chain *chain, uint64_t now_ms) {
    return now_ms < chain->period_end_ms && chain->grave_count == 0 && !chain->is_sweeping;
}

/* The ids that may be added at once: none while there are several parts, or one slab. */
static uint64_t room_for_lanes(const lethe_chain *chain, const lethe_crew *crew) {
    const lethe_part *part = chain->parts[0];
    if (crew->members < 2 || chain->part_count > 1 || part->shape.slabs < 2) return 0;
    return part->alive < part->shape.capacity ? part->shape.capacity - part->alive : 0;
}

lethe_status lethe_chain_add_runs(lethe_chain *chain, const lethe_hash *ids,
                                  const lethe_window_run *runs, size_t run_count,
                                  const lethe_crew *crew) {
    lethe_status first = LETHE_OK;
    for (size_t i = 0; i < run_count;) {
        lethe_chain_follow(chain, runs[i].now_ms);
        uint64_t count = runs[i++].count, room = room_for_lanes(chain, crew);
        while (count <= room && i < run_count && runs[i].count <= room - count &&
               is_quiet(chain, runs[i].now_ms)) {
            lethe_chain_follow(chain, runs[i].now_ms);
            count += runs[i++].count;
        }
        lethe_status status = count >= LEAST_IDS && count <= room
                                  ? add_in_lanes(chain, ids, count, crew)
                                  : lethe_chain_add_now(chain, ids, count, NULL);
        if (first == LETHE_OK) first = status;
        if (ids != NULL) ids += count;
    }
    return first;
}

/* window/part.c - the forgetful quotient filter: planning, memory and counts of one part.
 *
 * IDEA    A quotient filter whose blocks are queues, which know the ages of their entries
 *         (window/queue.h). One lookup in one structure answers for the whole window. Forgetting is
 *         a shift of a block's ages when the block is next written: expired entries cost no work of
 *         their own and take no space from new ones.
 * LAYOUT  Slabs of 2 to 4 MiB, each an array of blocks. A block is one cache line if that is
 *         cheapest.
 * I1      An id has two blocks, in one slab, and its entry is in one of them. A new entry goes
 *         to the emptier block. If both are full, one of their entries moves to its own other
 *         block. This fills all blocks almost completely. If no entry can move, the part reports
 *         that it is full.
 * I2      A block's stamp is the period of its last write, modulo 256. A writer can tell stamps
 *         apart that are less than 64 periods old, and no stamp gets older. For that, a slow sweep
 *         visits every block once in 31 periods, and may lag by almost as much again; a part that
 *         was not used for longer is replaced. So the sweep can proceed in small pieces, without a
 *         long pause at the start of a period. The period says where the sweep should be; the
 *         difference to where it is says how far it lags.
 * I3      An entry added in period i is alive through period i + G. With G periods in a window W,
 *         an id added at any time in period i is recognised for at least W (P1) and at most W + one
 *         period (P3).
 * I4      alive is exactly the number of entries of periods period - G to period. It never exceeds
 *         capacity, for which the remainders were made long enough (P2).
 * WHY     Both blocks of an id are always searched, so the error is 2 * alive / blocks * 2^-f. The
 *         numbers of an entry's two blocks add up to a number that its remainder determines, so an
 *         entry can move although its id is unknown. See docs/design/window.md.
 * LIMIT   A part does not grow; chain.c makes another one. */
#include "window/part.h"

#include <limits.h>
#include <math.h>

#include "core/allocator.h"
#include "core/cpu.h"

#define SLAB_BYTES ((uint64_t)2 * 1024 * 1024)
#define MAX_CAPACITY (UINT64_C(1) << 38)
#define MAX_SLABS (UINT64_C(1) << 22)

/* The slots of a block that are free on average when the part is at its capacity. With fewer, too
 * many additions would have to move another entry. */
#define FREE_SLOTS 1.26
/* Blocks of two cache lines are chosen only if they save more memory than this; and than that where
 * blocks of one line are preferred. */
#define TWO_LINES_PENALTY 1.05
#define ONE_LINE_PENALTY 1.1

/* The periods that one lap of the sweep takes, and the age that no stamp reaches: two laps and one
 * period. */
enum { MIN_BLOCKS = 2, LAP_PERIODS = 31, STAMP_PERIODS = 63 };

/* Fills in the fields that follow from the others. */
static void derive_sizes(struct lethe_part_shape *shape) {
    shape->slab_bytes = (size_t)(shape->blocks * shape->queue.block_bytes);
}

double lethe_part_error(const struct lethe_part_shape *shape, uint64_t alive) {
    double blocks = (double)shape->slabs * (double)shape->blocks;
    return ldexp(2 * (double)alive / blocks, -(int)shape->queue.bits);
}

/* How many blocks of a shape are needed: to have enough slots, and to have few enough entries in
 * each for the error. */
static double blocks_for(const struct lethe_queue_shape *queue, double capacity, double error) {
    double for_room = capacity / (queue->slots - FREE_SLOTS);
    double for_error = ldexp(2 * capacity / error, -(int)queue->bits);
    return ceil(fmax(fmax(for_room, for_error), MIN_BLOCKS));
}

/* The shape of blocks that takes the least memory. Returns how many blocks of it are needed. */
static double choose_queue(double capacity, double error, unsigned generations, bool one_line,
                           struct lethe_queue_shape *best) {
    static const unsigned sizes[] = {32, 64, 128};
    double least = INFINITY, best_blocks = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double two_lines = one_line ? ONE_LINE_PENALTY : TWO_LINES_PENALTY;
        double penalty = sizes[i] == 128 ? two_lines : 1;
        for (unsigned bits = 1; bits <= LETHE_QUEUE_MAX_BITS; bits++) {
            struct lethe_queue_shape queue;
            if (!lethe_queue_plan(bits, generations, sizes[i], &queue)) continue;
            double blocks = blocks_for(&queue, capacity, error);
            /* Of two that cost the same, the one with longer remainders. */
            if (blocks * sizes[i] * penalty > least) continue;
            least = blocks * sizes[i] * penalty;
            best_blocks = blocks;
            *best = queue;
        }
    }
    return best_blocks;
}

/* If there are several slabs, they have at least 2 MiB, the size of a huge page; without huge
 * pages every random access would miss the TLB too. All slabs have the same size. */
bool lethe_part_plan(uint64_t capacity, double error, unsigned generations, bool one_line,
                     struct lethe_part_shape *out) {
    if (capacity == 0 || capacity > MAX_CAPACITY || !(error > 0)) return false;
    struct lethe_part_shape shape = {.capacity = capacity};
    double total = choose_queue((double)capacity, error, generations, one_line, &shape.queue);
    if (total == 0 || total > 0x1p40) return false;
    uint64_t total_blocks = (uint64_t)total;
    shape.slabs = total_blocks * shape.queue.block_bytes / SLAB_BYTES;
    if (shape.slabs == 0) shape.slabs = 1;
    if (shape.slabs > MAX_SLABS) return false;
    shape.blocks = (total_blocks + shape.slabs - 1) / shape.slabs;
    derive_sizes(&shape);
    *out = shape;
    return true;
}

bool lethe_part_finish_shape(struct lethe_part_shape *shape) {
    if (!lethe_queue_plan(shape->queue.bits, shape->queue.generations, shape->queue.block_bytes,
                          &shape->queue)) {
        return false;
    }
    if (shape->capacity == 0 || shape->capacity > MAX_CAPACITY || shape->blocks < MIN_BLOCKS ||
        shape->slabs == 0 || shape->slabs > MAX_SLABS) {
        return false;
    }
    if (shape->blocks > 2 * SLAB_BYTES / shape->queue.block_bytes) return false;
    derive_sizes(shape);
    return shape->capacity <= shape->slabs * shape->blocks * shape->queue.slots;
}

bool lethe_part_has_whole_slabs(const struct lethe_part_shape *shape) {
    return shape->slabs == 1 || shape->slab_bytes >= SLAB_BYTES;
}

uint64_t lethe_part_planned_bytes(const struct lethe_part_shape *shape) {
    return shape->slabs * (shape->slab_bytes + sizeof(void *)) + sizeof(lethe_part);
}

uint64_t lethe_part_allocated_bytes(const lethe_part *part) {
    return part->slabs_allocated * part->shape.slab_bytes + part->shape.slabs * sizeof(void *) +
           sizeof *part;
}

const struct lethe_part_operations *
lethe_part_operations_for(const struct lethe_part_operations *set,
                          const struct lethe_queue_shape *shape) {
    unsigned i = 0;
    while (i < LETHE_PART_USUAL && memcmp(shape, &lethe_part_usual[i], sizeof *shape) != 0)
        i++;
    return set + i;
}

static uint64_t blocks_of(const struct lethe_part_shape *shape) {
    return shape->slabs * shape->blocks;
}

/* The block that a sweep without any lag would visit next in a period. */
static uint64_t sweep_target(const struct lethe_part_shape *shape, uint64_t period) {
    return blocks_of(shape) * (period % LAP_PERIODS) / LAP_PERIODS;
}

uint64_t lethe_part_sweep_lag(const lethe_part *part) {
    uint64_t target = sweep_target(&part->shape, part->period), total = blocks_of(&part->shape);
    uint64_t at = part->sweep_block % total;
    return target >= at ? target - at : target + total - at;
}

lethe_part *lethe_part_new(const struct lethe_part_shape *shape, uint64_t period,
                           const lethe_allocator *allocator) {
    size_t pointers_bytes;
    if (!lethe_size_multiply(shape->slabs, sizeof(void *), &pointers_bytes)) return NULL;
    lethe_part *part = lethe_alloc_zeroed(allocator, sizeof *part);
    if (part == NULL) return NULL;
    *part = (lethe_part){.shape = *shape, .allocator = allocator, .period = period};
    part->sweep_block = sweep_target(shape, period);
    const struct lethe_part_operations *set = lethe_part_portable;
    part->remainder_mask = (UINT64_C(1) << shape->queue.bits) - 1;
#if defined(__x86_64__)
    if (lethe_cpu_has_fast_pdep()) set = lethe_part_bmi2;
#endif
    part->operations = lethe_part_operations_for(set, &shape->queue);
    part->slabs = lethe_alloc_zeroed(allocator, pointers_bytes);
    if (part->slabs == NULL) {
        lethe_part_free(part);
        return NULL;
    }
    return part;
}

bool lethe_part_ensure_slab(lethe_part *part, uint64_t index) {
    if (part->slabs[index] != NULL) return true;
    part->slabs[index] = lethe_alloc_zeroed(part->allocator, part->shape.slab_bytes);
    if (part->slabs[index] == NULL) return false;
    part->slabs_allocated++;
    return true;
}

bool lethe_part_free_some(lethe_part *part, unsigned budget) {
    for (uint64_t i = part->shape.slabs; i > 0 && part->slabs_allocated > 0 && budget > 0; i--) {
        if (part->slabs[i - 1] == NULL) continue;
        lethe_release(part->allocator, part->slabs[i - 1], part->shape.slab_bytes);
        part->slabs[i - 1] = NULL;
        part->slabs_allocated--;
        budget--;
    }
    return part->slabs_allocated == 0;
}

void lethe_part_free(lethe_part *part) {
    if (part == NULL) return;
    if (part->slabs != NULL) (void)lethe_part_free_some(part, UINT_MAX);
    lethe_release(part->allocator, part->slabs, part->shape.slabs * sizeof(void *));
    lethe_release(part->allocator, part, sizeof *part);
}

/* The entries that were added age periods before period. */
static uint64_t added_at_age(const lethe_part *part, uint64_t period, unsigned age) {
    return part->added[(period - age) % LETHE_PART_PERIODS];
}

uint64_t lethe_part_alive_at(const lethe_part *part, uint64_t period) {
    uint64_t elapsed = period - part->period, alive = 0;
    for (unsigned age = 0; elapsed + age <= part->shape.queue.generations; age++)
        alive += added_at_age(part, part->period, age);
    return alive;
}

bool lethe_part_oldest_at(const lethe_part *part, uint64_t period, uint64_t *oldest) {
    uint64_t elapsed = period - part->period;
    bool any = false;
    for (unsigned age = 0; elapsed + age <= part->shape.queue.generations; age++) {
        if (added_at_age(part, part->period, age) == 0) continue;
        *oldest = part->period - age;
        any = true;
    }
    return any;
}

/* Adds a block's living entries to the part's counts; false if the block breaks I2 or its own
 * invariants. A block whose stamp is older than oldest is refreshed, because the sweep would come
 * too late for it. */
static bool recount_block(lethe_part *part, unsigned char *block, uint64_t oldest) {
    const struct lethe_queue_shape *queue = &part->shape.queue;
    if (!lethe_queue_is_valid(queue, block)) return false;
    uint64_t elapsed = (uint8_t)((uint8_t)part->period - lethe_queue_stamp(queue, block));
    lethe_queue_ages ages = lethe_queue_stored_ages(queue, block);
    if (ages != 0 && elapsed > STAMP_PERIODS) return false;
    if (ages != 0 && elapsed > oldest) lethe_queue_refresh(queue, block, part->period);
    for (uint64_t age = elapsed; ages != 0; ages >>= 1) {
        if ((ages & 1) == 0) {
            age++;
        } else if (age <= queue->generations) {
            part->added[(part->period - age) % LETHE_PART_PERIODS]++;
        }
    }
    return true;
}

bool lethe_part_recount(lethe_part *part) {
    for (unsigned i = 0; i < LETHE_PART_PERIODS; i++)
        part->added[i] = 0;
    /* The age of the sweep's last visit to a block follows from the blocks it has visited since,
     * and from its lag. */
    uint64_t total = blocks_of(&part->shape), lag = lethe_part_sweep_lag(part);
    uint64_t at = part->sweep_block % total;
    for (uint64_t i = 0; i < part->shape.slabs; i++) {
        if (part->slabs[i] == NULL) continue;
        for (uint64_t block = 0; block < part->shape.blocks; block++) {
            uint64_t number = i * part->shape.blocks + block;
            uint64_t behind = number < at ? at - number : total + at - number;
            uint64_t oldest = LAP_PERIODS * (behind + lag) / total;
            if (!recount_block(part, lethe_part_block(part, part->slabs[i], block), oldest))
                return false;
        }
    }
    part->alive = lethe_part_alive_at(part, part->period);
    return true;
}

static void sweep_blocks(lethe_part *part, uint64_t count) {
    uint64_t total = blocks_of(&part->shape);
    while (count > 0) {
        if (part->sweep_block >= total) part->sweep_block = 0;
        uint64_t piece = total - part->sweep_block;
        if (piece > count) piece = count;
        part->operations->sweep(part, part->sweep_block, piece, part->period);
        part->sweep_block += piece;
        count -= piece;
    }
}

size_t lethe_part_sweep(lethe_part *part, size_t most_bytes) {
    uint64_t lag = lethe_part_sweep_lag(part);
    uint64_t most = most_bytes / part->shape.queue.block_bytes;
    uint64_t count = lag < most ? lag : most;
    sweep_blocks(part, count);
    return (size_t)count * part->shape.queue.block_bytes;
}

/* The lag after elapsed further periods without sweeping; elapsed < STAMP_PERIODS. */
static uint64_t lag_after(const lethe_part *part, uint64_t elapsed) {
    uint64_t periods = part->period % LAP_PERIODS + elapsed;
    uint64_t laps = periods / LAP_PERIODS * blocks_of(&part->shape);
    return lethe_part_sweep_lag(part) + laps + sweep_target(&part->shape, periods) -
           sweep_target(&part->shape, part->period);
}

bool lethe_part_is_urgent_at(const lethe_part *part, uint64_t period) {
    uint64_t elapsed = period - part->period;
    return elapsed >= STAMP_PERIODS || lag_after(part, elapsed) >= blocks_of(&part->shape);
}

void lethe_part_advance(lethe_part *part, uint64_t period) {
    if (period == part->period) return;
    uint64_t elapsed = period - part->period;
    for (uint64_t step = 1; step <= elapsed && step <= LETHE_PART_PERIODS; step++) {
        /* The new period reuses the count of one that expired long ago. */
        part->added[(part->period + step) % LETHE_PART_PERIODS] = 0;
    }
    bool has_slept = elapsed >= STAMP_PERIODS;
    uint64_t lag = has_slept ? 0 : lag_after(part, elapsed), total = blocks_of(&part->shape);
    part->period = period;
    part->alive = lethe_part_alive_at(part, period);
    if (has_slept) {
        /* Stamps could wrap around, and long expired entries look young. Free everything. */
        (void)lethe_part_free_some(part, UINT_MAX);
    } else if (lag >= total) {
        /* Blocks that are a whole lap behind cannot wait. */
        uint64_t urgent = lag - total + 1;
        sweep_blocks(part, urgent < total ? urgent : total);
        if (urgent < total) return;
    } else {
        return;
    }
    part->sweep_block = sweep_target(&part->shape, period);
}

/* window/table.c - the forgetful quotient filter: planning, memory and accounts of one table.
 *
 * IDEA    A quotient filter whose blocks are queues, so that they know how old their entries are
 *         (window/queue.h). One lookup in one structure answers for the whole window, and forgetting is
 *         a shift of a block's ages when it is next written: old entries cost no work of their own
 *         and never stand in the way of new ones.
 * LAYOUT  segments of 2 to 4 MiB, each an array of blocks; a block is a cache line where that is the cheapest.
 * I1      An id has two blocks, in one segment, and its entry is in one of them: first in the one that was
 *         emptier, and if both are full, one of their entries moves to its own other block. That fills all
 *         blocks nearly to the end. Should no entry be able to move, the table says that it is full.
 * I2      A block's stamp is the period of its last write, modulo 256. A writer tells stamps apart that are less than 64 periods
 *         old. None is older, since a slow sweep is to visit every block once in 31 periods and may lag behind by almost as
 *         much; a table that slept longer is replaced. So the sweep can go in small pieces, and nobody waits for all of a
 *         period's. Where it should be follows from the period, and how far it lags from where it is.
 * I3      An entry recorded in period i is alive through period i + G. With G periods to a window W,
 *         an id recorded at any moment of period i is recognised for at least W (P1) and at
 *         most W + one period (P3).
 * I4      alive is the number of entries of periods period-G to period, exactly. It never exceeds
 *         capacity, for which the remainders were made long enough (P2).
 * WHY     Both blocks are always looked at, so an id's error is that of all entries of two blocks:
 *         2 * alive / blocks * 2^-f. The two numbers of the blocks add up to one that follows from the
 *         remainder, so that an entry can move without its id being known. docs/design/window.md.
 * LIMIT   A table doesn't grow; chain.c makes another one. */
#include "window/table.h"

#include <limits.h>
#include <math.h>

#include "core/allocator.h"
#include "core/cpu.h"

#define SEGMENT_BYTES ((uint64_t)2 * 1024 * 1024)
#define MAX_CAPACITY (UINT64_C(1) << 38)
#define MAX_SEGMENTS (UINT64_C(1) << 22)

/* Slots of a block that are left free on average when the table is at its capacity: with fewer, too many
 * entries would have to move for others. */
#define FREE_SLOTS 1.26
/* What must be saved for a block to take two lines. */
#define TWO_LINES_PENALTY 1.05

/* A lap of the sweep, and the age that stamps never reach: two laps and what a period's beginning adds. */
enum { MIN_BLOCKS = 2, LAP_PERIODS = 31, STAMP_PERIODS = 63 };

/* Fills in what follows from the rest. */
static void derive_sizes(struct lethe_table_shape *shape) {
    shape->segment_bytes = (size_t)(shape->blocks * shape->queue.block_bytes);
}

double lethe_table_error(const struct lethe_table_shape *shape, uint64_t alive) {
    double blocks = (double)shape->segments * (double)shape->blocks;
    return ldexp(2 * (double)alive / blocks, -(int)shape->queue.bits);
}

/* How many blocks of a shape it takes: for the room, and so that few enough entries are in each. */
static double blocks_for(const struct lethe_queue_shape *queue, double capacity, double error) {
    double for_room = capacity / (queue->slots - FREE_SLOTS);
    double for_error = ldexp(2 * capacity / error, -(int)queue->bits);
    return ceil(fmax(fmax(for_room, for_error), MIN_BLOCKS));
}

/* The shape of blocks that takes the least memory, and how many of them. */
static double choose_queue(double capacity, double error, unsigned generations,
                           struct lethe_queue_shape *best) {
    static const unsigned sizes[] = {32, 64, 128};
    double least = INFINITY, best_blocks = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double penalty = sizes[i] == 128 ? TWO_LINES_PENALTY : 1;
        for (unsigned bits = 1; bits <= LETHE_QUEUE_MAX_BITS; bits++) {
            struct lethe_queue_shape queue;
            if (!lethe_queue_plan(bits, generations, sizes[i], &queue)) continue;
            double blocks = blocks_for(&queue, capacity, error);
            /* Of two that cost the same the one with longer remainders. */
            if (blocks * sizes[i] * penalty > least) continue;
            least = blocks * sizes[i] * penalty;
            best_blocks = blocks;
            *best = queue;
        }
    }
    return best_blocks;
}

/* Segments have at least 2 MiB if there are many: the size of a huge page, without which every random
 * access would miss the TLB too. They share what is left over. */
bool lethe_table_plan(uint64_t capacity, double error, unsigned generations,
                      struct lethe_table_shape *out) {
    if (capacity == 0 || capacity > MAX_CAPACITY || !(error > 0)) return false;
    struct lethe_table_shape shape = {.capacity = capacity};
    double total = choose_queue((double)capacity, error, generations, &shape.queue);
    if (total == 0 || total > 0x1p40) return false;
    uint64_t total_blocks = (uint64_t)total;
    shape.segments = total_blocks * shape.queue.block_bytes / SEGMENT_BYTES;
    if (shape.segments == 0) shape.segments = 1;
    if (shape.segments > MAX_SEGMENTS) return false;
    shape.blocks = (total_blocks + shape.segments - 1) / shape.segments;
    derive_sizes(&shape);
    *out = shape;
    return true;
}

bool lethe_table_finish_shape(struct lethe_table_shape *shape) {
    if (!lethe_queue_plan(shape->queue.bits, shape->queue.generations, shape->queue.block_bytes,
                          &shape->queue)) {
        return false;
    }
    if (shape->capacity == 0 || shape->capacity > MAX_CAPACITY || shape->blocks < MIN_BLOCKS ||
        shape->segments == 0 || shape->segments > MAX_SEGMENTS) {
        return false;
    }
    if (shape->blocks > 2 * SEGMENT_BYTES / shape->queue.block_bytes) return false;
    derive_sizes(shape);
    return shape->capacity <= shape->segments * shape->blocks * shape->queue.slots;
}

bool lethe_table_has_whole_segments(const struct lethe_table_shape *shape) {
    return shape->segments == 1 || shape->segment_bytes >= SEGMENT_BYTES;
}

uint64_t lethe_table_planned_bytes(const struct lethe_table_shape *shape) {
    return shape->segments * (shape->segment_bytes + sizeof(void *)) + sizeof(lethe_table);
}

uint64_t lethe_table_allocated_bytes(const lethe_table *table) {
    return table->segments_allocated * table->shape.segment_bytes +
           table->shape.segments * sizeof(void *) + sizeof *table;
}

const struct lethe_table_operations *
lethe_table_operations_for(const struct lethe_table_operations *set,
                           const struct lethe_queue_shape *shape) {
    unsigned i = 0;
    while (i < LETHE_TABLE_USUAL && memcmp(shape, &lethe_table_usual[i], sizeof *shape) != 0)
        i++;
    return set + i;
}

static uint64_t blocks_of(const struct lethe_table_shape *shape) {
    return shape->segments * shape->blocks;
}

/* The block that a sweep which lags behind nothing visits next in a period. */
static uint64_t sweep_target(const struct lethe_table_shape *shape, uint64_t period) {
    return blocks_of(shape) * (period % LAP_PERIODS) / LAP_PERIODS;
}

uint64_t lethe_table_sweep_lag(const lethe_table *table) {
    uint64_t target = sweep_target(&table->shape, table->period), total = blocks_of(&table->shape);
    uint64_t at = table->sweep_block % total;
    return target >= at ? target - at : target + total - at;
}

lethe_table *lethe_table_new(const struct lethe_table_shape *shape, uint64_t period,
                             const lethe_allocator *allocator) {
    size_t pointers_bytes;
    if (!lethe_size_multiply(shape->segments, sizeof(void *), &pointers_bytes)) return NULL;
    lethe_table *table = lethe_alloc_zeroed(allocator, sizeof *table);
    if (table == NULL) return NULL;
    *table = (lethe_table){.shape = *shape, .allocator = allocator, .period = period};
    table->sweep_block = sweep_target(shape, period);
    const struct lethe_table_operations *set = lethe_table_portable;
    table->remainder_mask = (UINT64_C(1) << shape->queue.bits) - 1;
#if defined(__x86_64__)
    if (lethe_cpu_has_fast_pdep()) set = lethe_table_bmi2;
#endif
    table->operations = lethe_table_operations_for(set, &shape->queue);
    table->segments = lethe_alloc_zeroed(allocator, pointers_bytes);
    if (table->segments == NULL) {
        lethe_table_free(table);
        return NULL;
    }
    return table;
}

bool lethe_table_ensure_segment(lethe_table *table, uint64_t index) {
    if (table->segments[index] != NULL) return true;
    table->segments[index] = lethe_alloc_zeroed(table->allocator, table->shape.segment_bytes);
    if (table->segments[index] == NULL) return false;
    table->segments_allocated++;
    return true;
}

bool lethe_table_free_some(lethe_table *table, unsigned budget) {
    for (uint64_t i = table->shape.segments; i > 0 && table->segments_allocated > 0 && budget > 0;
         i--) {
        if (table->segments[i - 1] == NULL) continue;
        lethe_release(table->allocator, table->segments[i - 1], table->shape.segment_bytes);
        table->segments[i - 1] = NULL;
        table->segments_allocated--;
        budget--;
    }
    return table->segments_allocated == 0;
}

void lethe_table_free(lethe_table *table) {
    if (table == NULL) return;
    if (table->segments != NULL) (void)lethe_table_free_some(table, UINT_MAX);
    lethe_release(table->allocator, table->segments, table->shape.segments * sizeof(void *));
    lethe_release(table->allocator, table, sizeof *table);
}

/* recorded's place of the period that is age periods before period. */
static uint64_t recorded_at_age(const lethe_table *table, uint64_t period, unsigned age) {
    return table->recorded[(period - age) % LETHE_TABLE_PERIODS];
}

uint64_t lethe_table_alive_at(const lethe_table *table, uint64_t period) {
    uint64_t elapsed = period - table->period, alive = 0;
    for (unsigned age = 0; elapsed + age <= table->shape.queue.generations; age++)
        alive += recorded_at_age(table, table->period, age);
    return alive;
}

bool lethe_table_oldest_at(const lethe_table *table, uint64_t period, uint64_t *oldest) {
    uint64_t elapsed = period - table->period;
    bool any = false;
    for (unsigned age = 0; elapsed + age <= table->shape.queue.generations; age++) {
        if (recorded_at_age(table, table->period, age) == 0) continue;
        *oldest = table->period - age;
        any = true;
    }
    return any;
}

/* Counts a block's living entries into recorded; false when it breaks I2 or its own invariants. A stamp older than
 * oldest is made new: the sweep would come too late for it. */
static bool recount_block(lethe_table *table, unsigned char *block, uint64_t oldest) {
    const struct lethe_queue_shape *queue = &table->shape.queue;
    if (!lethe_queue_is_valid(queue, block)) return false;
    uint64_t elapsed = (uint8_t)((uint8_t)table->period - lethe_queue_stamp(queue, block));
    lethe_queue_ages ages = lethe_queue_stored_ages(queue, block);
    if (ages != 0 && elapsed > STAMP_PERIODS) return false;
    if (ages != 0 && elapsed > oldest) lethe_queue_refresh(queue, block, table->period);
    for (uint64_t age = elapsed; ages != 0; ages >>= 1) {
        if ((ages & 1) == 0) {
            age++;
        } else if (age <= queue->generations) {
            table->recorded[(table->period - age) % LETHE_TABLE_PERIODS]++;
        }
    }
    return true;
}

bool lethe_table_recount(lethe_table *table) {
    for (unsigned i = 0; i < LETHE_TABLE_PERIODS; i++)
        table->recorded[i] = 0;
    /* Since the sweep's last visit to a block it has done what lies between, and may have fallen behind since. */
    uint64_t total = blocks_of(&table->shape), lag = lethe_table_sweep_lag(table);
    uint64_t at = table->sweep_block % total;
    for (uint64_t i = 0; i < table->shape.segments; i++) {
        if (table->segments[i] == NULL) continue;
        for (uint64_t block = 0; block < table->shape.blocks; block++) {
            uint64_t number = i * table->shape.blocks + block;
            uint64_t behind = number < at ? at - number : total + at - number;
            uint64_t oldest = LAP_PERIODS * (behind + lag) / total;
            if (!recount_block(table, lethe_table_block(table, table->segments[i], block), oldest))
                return false;
        }
    }
    table->alive = lethe_table_alive_at(table, table->period);
    return true;
}

static void sweep_blocks(lethe_table *table, uint64_t count) {
    uint64_t total = blocks_of(&table->shape);
    while (count > 0) {
        if (table->sweep_block >= total) table->sweep_block = 0;
        uint64_t piece = total - table->sweep_block;
        if (piece > count) piece = count;
        table->operations->sweep(table, table->sweep_block, piece, table->period);
        table->sweep_block += piece;
        count -= piece;
    }
}

size_t lethe_table_sweep(lethe_table *table, size_t most_bytes) {
    uint64_t lag = lethe_table_sweep_lag(table);
    uint64_t most = most_bytes / table->shape.queue.block_bytes;
    uint64_t count = lag < most ? lag : most;
    sweep_blocks(table, count);
    return (size_t)count * table->shape.queue.block_bytes;
}

/* How far the sweep would lag behind if it stood still for fewer periods than stamps last. */
static uint64_t lag_after(const lethe_table *table, uint64_t elapsed) {
    uint64_t periods = table->period % LAP_PERIODS + elapsed;
    uint64_t laps = periods / LAP_PERIODS * blocks_of(&table->shape);
    return lethe_table_sweep_lag(table) + laps + sweep_target(&table->shape, periods) -
           sweep_target(&table->shape, table->period);
}

bool lethe_table_is_urgent_at(const lethe_table *table, uint64_t period) {
    uint64_t elapsed = period - table->period;
    return elapsed >= STAMP_PERIODS || lag_after(table, elapsed) >= blocks_of(&table->shape);
}

void lethe_table_advance(lethe_table *table, uint64_t period) {
    if (period == table->period) return;
    uint64_t elapsed = period - table->period;
    for (uint64_t step = 1; step <= elapsed && step <= LETHE_TABLE_PERIODS; step++) {
        /* The period that comes takes the place of one that expired long ago. */
        table->recorded[(table->period + step) % LETHE_TABLE_PERIODS] = 0;
    }
    bool has_slept = elapsed >= STAMP_PERIODS;
    uint64_t lag = has_slept ? 0 : lag_after(table, elapsed), total = blocks_of(&table->shape);
    table->period = period;
    table->alive = lethe_table_alive_at(table, period);
    if (has_slept) {
        /* Stamps would wrap around, and what expired long ago look young: all of it goes. */
        (void)lethe_table_free_some(table, UINT_MAX);
    } else if (lag >= total) {
        /* What is a lap behind can't wait. */
        uint64_t urgent = lag - total + 1;
        sweep_blocks(table, urgent < total ? urgent : total);
        if (urgent < total) return;
    } else {
        return;
    }
    table->sweep_block = sweep_target(&table->shape, period);
}

/* window/table.c - the forgetful quotient filter: planning, memory and counts of one table.
 *
 * IDEA    A quotient filter whose blocks are queues, which know the ages of their entries
 *         (window/queue.h). One lookup in one structure answers for the whole window. Forgetting is
 *         a shift of a block's ages when the block is next written: expired entries cost no work of
 *         their own and take no space from new ones.
 * LAYOUT  Segments of 2 to 4 MiB, each an array of blocks. A block is one cache line if that is
 *         cheapest.
 * I1      An id has two blocks, in one segment, and its entry is in one of them. A new entry goes
 *         to the emptier block. If both are full, one of their entries moves to its own other
 *         block. This fills all blocks almost completely. If no entry can move, the table reports
 *         that it is full.
 * I2      A block's stamp is the period of its last write, modulo 256. A writer can tell stamps
 *         apart that are less than 64 periods old, and no stamp gets older. For that, a slow sweep
 *         visits every block once in 31 periods, and may lag by almost as much again; a table that
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
 * LIMIT   A table does not grow; chain.c makes another one. */
#include "window/table.h"

#include <limits.h>
#include <math.h>

#include "core/allocator.h"
#include "core/cpu.h"

#define SEGMENT_BYTES ((uint64_t)2 * 1024 * 1024)
#define MAX_CAPACITY (UINT64_C(1) << 38)
#define MAX_SEGMENTS (UINT64_C(1) << 22)

/* The slots of a block that are free on average when the table is at its capacity. With fewer, too
 * many additions would have to move another entry. */
#define FREE_SLOTS 1.26
/* Blocks of two cache lines are chosen only if they save more memory than this. */
#define TWO_LINES_PENALTY 1.05

/* The periods that one lap of the sweep takes, and the age that no stamp reaches: two laps and one
 * period. */
enum { MIN_BLOCKS = 2, LAP_PERIODS = 31, STAMP_PERIODS = 63 };

/* Fills in the fields that follow from the others. */
static void derive_sizes(struct lethe_table_shape *shape) {
    shape->segment_bytes = (size_t)(shape->blocks * shape->queue.block_bytes);
}

double lethe_table_error(const struct lethe_table_shape *shape, uint64_t alive) {
    double blocks = (double)shape->segments * (double)shape->blocks;
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
            /* Of two that cost the same, the one with longer remainders. */
            if (blocks * sizes[i] * penalty > least) continue;
            least = blocks * sizes[i] * penalty;
            best_blocks = blocks;
            *best = queue;
        }
    }
    return best_blocks;
}

/* If there are several segments, they have at least 2 MiB, the size of a huge page; without huge
 * pages every random access would miss the TLB too. All segments have the same size. */
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

/* The block that a sweep without any lag would visit next in a period. */
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

/* The entries that were added age periods before period. */
static uint64_t added_at_age(const lethe_table *table, uint64_t period, unsigned age) {
    return table->added[(period - age) % LETHE_TABLE_PERIODS];
}

uint64_t lethe_table_alive_at(const lethe_table *table, uint64_t period) {
    uint64_t elapsed = period - table->period, alive = 0;
    for (unsigned age = 0; elapsed + age <= table->shape.queue.generations; age++)
        alive += added_at_age(table, table->period, age);
    return alive;
}

bool lethe_table_oldest_at(const lethe_table *table, uint64_t period, uint64_t *oldest) {
    uint64_t elapsed = period - table->period;
    bool any = false;
    for (unsigned age = 0; elapsed + age <= table->shape.queue.generations; age++) {
        if (added_at_age(table, table->period, age) == 0) continue;
        *oldest = table->period - age;
        any = true;
    }
    return any;
}

/* Adds a block's living entries to the table's counts; false if the block breaks I2 or its own
 * invariants. A block whose stamp is older than oldest is refreshed, because the sweep would come
 * too late for it. */
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
            table->added[(table->period - age) % LETHE_TABLE_PERIODS]++;
        }
    }
    return true;
}

bool lethe_table_recount(lethe_table *table) {
    for (unsigned i = 0; i < LETHE_TABLE_PERIODS; i++)
        table->added[i] = 0;
    /* The age of the sweep's last visit to a block follows from the blocks it has visited since,
     * and from its lag. */
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

/* The lag after elapsed further periods without sweeping; elapsed < STAMP_PERIODS. */
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
        /* The new period reuses the count of one that expired long ago. */
        table->added[(table->period + step) % LETHE_TABLE_PERIODS] = 0;
    }
    bool has_slept = elapsed >= STAMP_PERIODS;
    uint64_t lag = has_slept ? 0 : lag_after(table, elapsed), total = blocks_of(&table->shape);
    table->period = period;
    table->alive = lethe_table_alive_at(table, period);
    if (has_slept) {
        /* Stamps could wrap around, and long expired entries look young. Free everything. */
        (void)lethe_table_free_some(table, UINT_MAX);
    } else if (lag >= total) {
        /* Blocks that are a whole lap behind cannot wait. */
        uint64_t urgent = lag - total + 1;
        sweep_blocks(table, urgent < total ? urgent : total);
        if (urgent < total) return;
    } else {
        return;
    }
    table->sweep_block = sweep_target(&table->shape, period);
}

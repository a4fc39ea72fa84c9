/* window/table.c - the forgetful quotient filter: planning, memory and accounts of one table.
 *
 * IDEA    A quotient filter whose entries carry the period in which they were recorded. One lookup
 *         in one structure answers for the whole window, and forgetting is a comparison of ages.
 *         An entry is dropped when its block is next written in a later period, so old entries cost
 *         no work of their own and never stand in the way of new ones.
 * LAYOUT  segments of about 2 MiB, each an array of blocks (filter/quotient/block.h) laid out by
 *         parts: all heads (counts and ages), all remainders, all stamps. And a stash: a small exact
 *         set, for the few entries that find both their blocks full.
 * I1      An id has two blocks, in one segment, and its entry is in the one that was emptier. That
 *         keeps all blocks nearly equally full: at 93% only a few in ten thousand go to the stash.
 * I2      A block's stamp is the period of its last write, modulo 256. No entry in it was older than G
 *         periods then; so ages modulo 2^planes are unambiguous as long as stamps are: a slow
 *         sweep visits every block once in 128 periods, and a table that slept longer is replaced.
 * I3      An entry recorded in period i is alive through period i + G. With G periods to a window W,
 *         an id recorded at any moment of period i is recognised for at least W (P1) and at
 *         most W + one period (P3).
 * I4      alive is the number of entries of periods period-G to period, exactly. It never exceeds
 *         capacity, for which the remainders were made long enough (P2).
 * WHY     Both choices are always looked at, so an id's error is that of two buckets with `load`
 *         entries each: 2 * load * 2^-r. Spilling from a full block into the next one instead would make
 *         one look enough in an empty table; but a block that was full at any time in the last
 *         window must send its readers on, and at these loads nearly all were. docs/design/window.md.
 * LIMIT   A table doesn't grow; chain.c makes another one. */
#include "window/table.h"

#include <assert.h>
#include <math.h>

#include "core/allocator.h"
#include "core/cpu.h"

#define SEGMENT_BYTES ((uint64_t)2 * 1024 * 1024)
#define MAX_CAPACITY (UINT64_C(1) << 38)
#define MAX_SEGMENTS (UINT64_C(1) << 22)

enum {
    PADDING_BYTES = 48,
    MIN_BLOCKS = 2,
    SWEEP_PERIODS = 128,
    MANY_SEGMENTS = 8,
    STASH_SHARE = 2048,
    MIN_STASH = 64
};

static uint64_t block_bytes(const struct lethe_table_shape *shape) {
    return shape->head_bytes + 4 * (uint64_t)shape->remainder_bits + sizeof(uint8_t);
}

static uint64_t most_blocks(const struct lethe_table_shape *shape) {
    return (SEGMENT_BYTES - PADDING_BYTES - 8) / block_bytes(shape);
}

/* Fills in what follows from the rest. Segments are a multiple of 8 bytes, and a full one has exactly 2 MiB:
 * the size of a huge page, without which every random access would miss the TLB too. */
static void derive_sizes(struct lethe_table_shape *shape) {
    shape->head_bytes = 8 + 4 * (((size_t)shape->planes + 1) & ~(size_t)1);
    shape->stash = shape->capacity / STASH_SHARE + MIN_STASH;
    uint64_t bytes = (shape->blocks * block_bytes(shape) + 7) / 8 * 8 + PADDING_BYTES;
    shape->segment_bytes = (size_t)(shape->blocks == most_blocks(shape) ? SEGMENT_BYTES : bytes);
}

double lethe_table_error(const struct lethe_table_shape *shape, uint64_t alive) {
    double buckets = (double)shape->segments * (double)shape->blocks * LETHE_BLOCK_BUCKETS;
    return ldexp(2 * (double)alive / buckets, -(int)shape->remainder_bits);
}

bool lethe_table_plan(uint64_t capacity, double error, unsigned generations,
                      struct lethe_table_shape *out) {
    if (capacity == 0 || capacity > MAX_CAPACITY || !(error > 0)) return false;
    unsigned planes = 2;
    while ((1U << planes) < generations + 2)
        planes++;
    double bits = ceil(log2(2 * LETHE_TABLE_FULL_LOAD / error));
    if (bits < 1) bits = 1;
    if (planes > LETHE_TABLE_MAX_PLANES || bits > LETHE_TABLE_MAX_REMAINDER_BITS) return false;
    struct lethe_table_shape shape = {
        .remainder_bits = (unsigned)bits,
        .planes = planes,
        .generations = generations,
        .capacity = capacity,
    };
    double slots = (double)capacity / LETHE_TABLE_FULL_LOAD;
    uint64_t total_blocks = (uint64_t)ceil(slots / LETHE_BLOCK_SLOTS);
    if (total_blocks < MIN_BLOCKS) total_blocks = MIN_BLOCKS;
    derive_sizes(&shape);
    uint64_t most = most_blocks(&shape);
    shape.segments = (total_blocks + most - 1) / most;
    /* With many segments, all are full ones: the part of one that is too many costs little. */
    shape.blocks = shape.segments >= MANY_SEGMENTS
                       ? most
                       : (total_blocks + shape.segments - 1) / shape.segments;
    derive_sizes(&shape);
    *out = shape;
    return true;
}

bool lethe_table_finish_shape(struct lethe_table_shape *shape) {
    if (shape->remainder_bits < 1 || shape->remainder_bits > LETHE_TABLE_MAX_REMAINDER_BITS ||
        shape->planes < 2 || shape->planes > LETHE_TABLE_MAX_PLANES || shape->generations < 1 ||
        shape->generations + 2 > 1U << shape->planes) {
        return false;
    }
    if (shape->capacity == 0 || shape->capacity > MAX_CAPACITY || shape->blocks < MIN_BLOCKS ||
        shape->segments == 0 || shape->segments > MAX_SEGMENTS) {
        return false;
    }
    if (shape->blocks > SEGMENT_BYTES) return false;
    derive_sizes(shape);
    return shape->blocks <= most_blocks(shape) &&
           shape->capacity <= shape->segments * shape->blocks * LETHE_BLOCK_SLOTS;
}

uint64_t lethe_table_planned_bytes(const struct lethe_table_shape *shape) {
    return shape->segments * (shape->segment_bytes + sizeof(void *)) +
           shape->stash * sizeof(struct lethe_table_stray) + sizeof(lethe_table);
}

uint64_t lethe_table_allocated_bytes(const lethe_table *table) {
    return table->segments_allocated * table->shape.segment_bytes +
           table->shape.segments * sizeof(void *) + sizeof *table +
           (table->stash != NULL ? table->shape.stash * sizeof(struct lethe_table_stray) : 0);
}

lethe_table *lethe_table_new(const struct lethe_table_shape *shape, uint64_t period,
                             const lethe_allocator *allocator) {
    size_t pointers_bytes;
    if (!lethe_size_multiply(shape->segments, sizeof(void *), &pointers_bytes)) return NULL;
    lethe_table *table = lethe_alloc_zeroed(allocator, sizeof *table);
    if (table == NULL) return NULL;
    *table = (lethe_table){.shape = *shape,
                           .allocator = allocator,
                           .period = period,
                           .operations = &lethe_table_portable};
    table->remainder_mask = (UINT64_C(1) << shape->remainder_bits) - 1;
    table->remainders_at = (size_t)(shape->blocks * shape->head_bytes);
    table->stamps_at = (size_t)(table->remainders_at + shape->blocks * shape->remainder_bits * 4);
#if defined(__x86_64__)
    if (lethe_cpu_has_fast_pdep()) table->operations = &lethe_table_bmi2;
#endif
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

bool lethe_table_ensure_stash(lethe_table *table) {
    if (table->stash != NULL) return true;
    size_t bytes = (size_t)table->shape.stash * sizeof *table->stash;
    table->stash = lethe_alloc_zeroed(table->allocator, bytes);
    return table->stash != NULL;
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
    if (table->segments != NULL) {
        while (!lethe_table_free_some(table, 64)) {
        }
    }
    lethe_release(table->allocator, table->segments, table->shape.segments * sizeof(void *));
    lethe_release(table->allocator, table->stash, table->shape.stash * sizeof *table->stash);
    lethe_release(table->allocator, table, sizeof *table);
}

/* recorded's place of the period that is age periods before period. */
static uint64_t recorded_at_age(const lethe_table *table, uint64_t period, unsigned age) {
    return table->recorded[(period - age) & ((1U << table->shape.planes) - 1)];
}

uint64_t lethe_table_alive_at(const lethe_table *table, uint64_t period) {
    uint64_t elapsed = period - table->period, alive = 0;
    for (unsigned age = 0; elapsed + age <= table->shape.generations; age++)
        alive += recorded_at_age(table, table->period, age);
    return alive;
}

bool lethe_table_oldest_at(const lethe_table *table, uint64_t period, uint64_t *oldest) {
    uint64_t elapsed = period - table->period;
    bool any = false;
    for (unsigned age = 0; elapsed + age <= table->shape.generations; age++) {
        if (recorded_at_age(table, table->period, age) == 0) continue;
        *oldest = table->period - age;
        any = true;
    }
    return any;
}

/* Whether a block's counts are such as lethe_block_insert leaves. */
static bool is_valid_unary(uint64_t unary) {
    unsigned used = lethe_block_used(unary);
    if (used == 0) return true;
    unsigned highest = 63 - (unsigned)__builtin_clzll(unary);
    /* No entry after the last bucket's end. */
    return used <= LETHE_BLOCK_SLOTS && highest + 1 - used < LETHE_BLOCK_BUCKETS;
}

/* Counts a block's living entries into recorded; false when it breaks I2 or has invalid counts. */
static bool recount_block(lethe_table *table, unsigned char *segment, uint64_t block) {
    uint64_t unary = *lethe_table_unary(table, segment, block);
    if (!is_valid_unary(unary)) return false;
    unsigned used = lethe_block_used(unary), ages = 1U << table->shape.planes, seen = 0;
    uint32_t used_mask = (uint32_t)((UINT64_C(1) << used) - 1);
    uint8_t stamp = *lethe_table_stamp(table, segment, block);
    uint64_t elapsed = (uint8_t)((uint8_t)table->period - stamp);
    if (used > 0 && elapsed > SWEEP_PERIODS) return false;
    for (unsigned age = 0; age <= table->shape.generations; age++) {
        uint32_t match = lethe_block_match_planes(lethe_table_planes(table, segment, block),
                                                  table->shape.planes, (stamp - age) & (ages - 1));
        unsigned count = lethe_popcount64(match & used_mask);
        seen += count;
        if (age + elapsed <= table->shape.generations)
            table->recorded[(table->period - elapsed - age) & (ages - 1)] += count;
    }
    return seen == used;
}

/* Counts the living strays; false when one is from the future. */
static bool recount_stash(lethe_table *table) {
    table->strays = 0;
    if (table->stash == NULL) return true;
    for (uint64_t i = 0; i < table->shape.stash; i++) {
        uint64_t stamp = table->stash[i].period;
        if (stamp > table->period + 1) return false;
        if (stamp == 0) continue;
        table->strays++;
        if (table->stash[i].key != 0 && table->period + 1 - stamp <= table->shape.generations)
            table->recorded[(stamp - 1) & ((1U << table->shape.planes) - 1)]++;
    }
    return true;
}

bool lethe_table_recount(lethe_table *table) {
    for (unsigned i = 0; i < LETHE_TABLE_MAX_AGES; i++)
        table->recorded[i] = 0;
    for (uint64_t i = 0; i < table->shape.segments; i++) {
        if (table->segments[i] == NULL) continue;
        for (uint64_t block = 0; block < table->shape.blocks; block++) {
            if (!recount_block(table, table->segments[i], block)) return false;
        }
    }
    if (!recount_stash(table)) return false;
    table->alive = lethe_table_alive_at(table, table->period);
    return true;
}

/* Where the search for an id's stray begins, and how long it goes on. */
enum { STASH_PROBES = 16 };

static uint64_t stash_key(lethe_hash id) {
    return id.low ^ id.high * UINT64_C(0xff51afd7ed558ccd);
}

struct lethe_table_stray *lethe_table_find_stray(const lethe_table *table, lethe_hash id,
                                                 uint64_t period) {
    if (table->strays == 0) return NULL;
    uint64_t key = stash_key(id), at = lethe_multiply_high(key, table->shape.stash);
    for (int probe = 0; probe < STASH_PROBES; probe++) {
        struct lethe_table_stray *stray = &table->stash[at];
        if (stray->period == 0) return NULL;
        if (stray->key == key && period + 1 - stray->period <= table->shape.generations)
            return stray;
        if (++at == table->shape.stash) at = 0;
    }
    return NULL;
}

/* Whether a place of the stash holds nothing that is alive. */
static bool is_over(const lethe_table *table, const struct lethe_table_stray *stray,
                    uint64_t period) {
    return stray->period == 0 || stray->key == 0 ||
           period + 1 - stray->period > table->shape.generations;
}

/* Puts a stray into the first place from its own on that is free. Nothing is emptied here, so that
 * searches for the others pass on. */
static bool place_stray(lethe_table *table, struct lethe_table_stray stray, uint64_t period) {
    uint64_t at = lethe_multiply_high(stray.key, table->shape.stash);
    for (int probe = 0; probe < STASH_PROBES; probe++) {
        if (is_over(table, &table->stash[at], period)) {
            if (table->stash[at].period == 0) table->strays++;
            table->stash[at] = stray;
            return true;
        }
        if (++at == table->shape.stash) at = 0;
    }
    return false;
}

bool lethe_table_add_stray(lethe_table *table, lethe_hash id, uint64_t period) {
    if (!lethe_table_ensure_stash(table)) return false;
    struct lethe_table_stray stray = {.key = stash_key(id), .period = period + 1};
    return place_stray(table, stray, period);
}

/* Empties the places of what has expired and moves the others up, once a period. It begins after a place
 * that was empty before, which no search passes, and goes round: whatever lies between a stray and
 * its own place has then been moved before it, and no gap is left that would hide it. */
static void tidy_stash(lethe_table *table) {
    uint64_t size = table->shape.stash, start = 0;
    while (start < size && table->stash[start].period != 0)
        start++;
    if (start == size) return;
    for (uint64_t i = 0; i < size; i++) {
        struct lethe_table_stray *stray = &table->stash[i];
        if (stray->period == 0 || !is_over(table, stray, table->period)) continue;
        *stray = (struct lethe_table_stray){0};
        table->strays--;
    }
    for (uint64_t i = 1; i < size; i++) {
        uint64_t at = (start + i) % size;
        struct lethe_table_stray stray = table->stash[at];
        if (stray.period == 0) continue;
        table->stash[at] = (struct lethe_table_stray){0};
        table->strays--;
        bool placed = place_stray(table, stray, table->period); /* its old place at the latest */
        assert(placed);
        (void)placed;
    }
}

void lethe_table_advance(lethe_table *table, uint64_t period) {
    if (period == table->period) return;
    uint64_t elapsed = period - table->period;
    unsigned ages = 1U << table->shape.planes;
    for (uint64_t step = 1; step <= elapsed && step <= ages; step++) {
        /* The period that comes takes the place of one that expired long ago. */
        table->recorded[(table->period + step) & (ages - 1)] = 0;
    }
    /* What is older than G but still has its place is expired as well. */
    table->period = period;
    table->recorded[(period + 1) & (ages - 1)] = 0;
    table->alive = lethe_table_alive_at(table, period);
    if (table->strays > 0) tidy_stash(table);
    if (elapsed >= SWEEP_PERIODS) {
        /* Stamps would wrap around, and what expired long ago look young: all of it goes. */
        while (!lethe_table_free_some(table, 64)) {
        }
        return;
    }
    uint64_t total = table->shape.segments * table->shape.blocks;
    uint64_t share = total / SWEEP_PERIODS + 1;
    uint64_t count = share * elapsed;
    while (count > 0) {
        if (table->sweep_block >= total) table->sweep_block = 0;
        uint64_t piece = total - table->sweep_block;
        if (piece > count) piece = count;
        table->operations->sweep(table, table->sweep_block, piece, period);
        table->sweep_block += piece;
        count -= piece;
    }
}

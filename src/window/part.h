/* window/part.h - one part of the forgetful quotient filter: entries that have an age.
 *
 * A part is planned for a number of ids and an error, and never changes its shape. A chain
 * (chain.h) of several parts is what grows and shrinks. part.c has the essay. */
#ifndef LETHE_WINDOW_PART_H
#define LETHE_WINDOW_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/hash.h"
#include "lethe/window.h"
#include "window/queue_change.h"

/* The size of the ring of counts per period: more than the periods that can be alive at once. */
enum { LETHE_PART_PERIODS = 64 };

struct lethe_part_shape {
    /* The shape of a block. */
    struct lethe_queue_shape queue;

    uint64_t slabs;
    /* Per slab. */
    uint64_t blocks;
    size_t slab_bytes;

    /* Living entries at most, in all slabs together. */
    uint64_t capacity;
};

struct lethe_part_operations;

typedef struct lethe_part {
    struct lethe_part_shape shape;

    /* A slab is NULL until an id is added to it. */
    unsigned char **slabs;
    uint64_t slabs_allocated;
    uint64_t remainder_mask;
    const struct lethe_part_operations *operations;
    const lethe_allocator *allocator;

    /* The latest period that the part has seen, and the entries that are alive in it. */
    uint64_t period;
    uint64_t alive;
    /* The number of entries added in period i, at index i mod 64. */
    uint64_t added[LETHE_PART_PERIODS];

    /* The next block, counted over all slabs, that the slow sweep visits. */
    uint64_t sweep_block;
} lethe_part;

/* The first two are also the answers of a batch. */
typedef enum lethe_part_result {
    LETHE_PART_ADDED = LETHE_ANSWER_FRESH,
    LETHE_PART_IS_DUPLICATE = LETHE_ANSWER_DUPLICATE,
    LETHE_PART_IS_FULL,
    LETHE_PART_NO_MEMORY
} lethe_part_result;

/* Ids that are looked for in a part together: their blocks. */
enum { LETHE_PART_GROUP = 32 };
struct lethe_part_group {
    unsigned char *first[LETHE_PART_GROUP], *second[LETHE_PART_GROUP];
};

/* The operations on entries, compiled once per instruction set. period is never before the part's
 * own. */
struct lethe_part_operations {
    /* Prefetches the memory that the other operations on an id will read. */
    void (*prefetch)(const lethe_part *part, lethe_hash id);

    bool (*test)(const lethe_part *part, lethe_hash id, uint64_t period);

    /* Adds the id unless it is there. */
    lethe_part_result (*add_and_test)(lethe_part *part, lethe_hash id, uint64_t period);

    /* Adds an id that is known not to be there. */
    lethe_part_result (*insert)(lethe_part *part, lethe_hash id, uint64_t period);

    /* The number of living entries that match the id: its own entry, and by chance those of
     * other ids with the same fingerprint. */
    unsigned (*count_matches)(const lethe_part *part, lethe_hash id, uint64_t period);

    /* Removes one entry of the id; false if there is none. */
    bool (*remove)(lethe_part *part, lethe_hash id, uint64_t period);

    /* Looks for up to LETHE_PART_GROUP ids in two steps: finds their blocks and prefetches what the
     * next step reads of nearly all; says which ids are there, as a bit mask. */
    void (*ask_group)(const lethe_part *part, const lethe_hash *ids, unsigned count,
                      struct lethe_part_group *group);
    uint32_t (*test_group)(const lethe_part *part, const lethe_hash *ids, unsigned count,
                           const struct lethe_part_group *group, uint64_t period);

    /* Looks for ids in all parts. */
    void (*test_batch)(lethe_part *const *parts, unsigned count, const lethe_hash *ids,
                       size_t id_count, uint64_t period, uint8_t *answers);

    /* Looks for ids in all parts and adds the fresh ones to the first. Returns the number of
     * ids it dealt with. That is less than id_count if an id could not be added; *result is the
     * reason. */
    size_t (*add_and_test_batch)(lethe_part *const *parts, unsigned count, const lethe_hash *ids,
                                 size_t id_count, uint64_t period, uint8_t *answers,
                                 lethe_part_result *result);

    /* Refreshes each id that is there and adds the others; *inserted is the number of the others.
     * Returns the same as add_and_test_batch. */
    size_t (*add_batch)(lethe_part *part, const lethe_hash *ids, size_t id_count, uint64_t period,
                        uint64_t *inserted, lethe_part_result *result);

    /* Drops expired entries from blocks first to first + count - 1, counted over all slabs. */
    void (*sweep)(lethe_part *part, uint64_t first, uint64_t count, uint64_t period);
};

/* The shapes that lethe_part_plan chooses for errors of 1e-6, 1e-3 and 1e-12 if the capacity is
 * given, for 1e-12 with blocks of one line, and for 1e-9, the module's default. */
enum { LETHE_PART_USUAL = 5 };
static const struct lethe_queue_shape lethe_part_usual[LETHE_PART_USUAL] = {
    {.bits = 25, .generations = 30, .block_bytes = 64, .slots = 18, .head_at = 56},
    {.bits = 16, .generations = 30, .block_bytes = 64, .slots = 27, .head_at = 54},
    {.bits = 47, .generations = 30, .block_bytes = 128, .slots = 20, .head_at = 119},
    {.bits = 45, .generations = 30, .block_bytes = 64, .slots = 10, .head_at = 57},
    {.bits = 36, .generations = 30, .block_bytes = 128, .slots = 26, .head_at = 119},
};

/* For each instruction set: the operations on parts of each usual shape, and then of any shape. */
extern const struct lethe_part_operations lethe_part_portable[LETHE_PART_USUAL + 1];
#if defined(__x86_64__)
extern const struct lethe_part_operations lethe_part_bmi2[LETHE_PART_USUAL + 1];
#endif

/* The operations, out of such a set, that fit a shape. */
const struct lethe_part_operations *
lethe_part_operations_for(const struct lethe_part_operations *set,
                          const struct lethe_queue_shape *shape);

/* Plans a part for capacity living entries and at most that error. Slabs have 2 to 4 MiB; a
 * small part has one smaller slab. one_line: see lethe_window_options. False if that is out of
 * range. */
bool lethe_part_plan(uint64_t capacity, double error, unsigned generations, bool one_line,
                     struct lethe_part_shape *out);

/* Fills in the derived fields of a shape that was saved (bits, generations, block_bytes, slabs,
 * blocks and capacity). False if lethe_part_plan could not have made it. */
bool lethe_part_finish_shape(struct lethe_part_shape *shape);

/* Whether a part with several slabs has slabs of at least 2 MiB, as lethe_part_plan
 * makes them. A forged part of smaller slabs could have a huge list of slabs with little
 * in them. */
bool lethe_part_has_whole_slabs(const struct lethe_part_shape *shape);

/* The memory of a part with all its slabs allocated, and of a part as it is. */
uint64_t lethe_part_planned_bytes(const struct lethe_part_shape *shape);
uint64_t lethe_part_allocated_bytes(const lethe_part *part);

/* Makes an empty part. Slabs are allocated when they are needed. NULL if out of memory. */
lethe_part *lethe_part_new(const struct lethe_part_shape *shape, uint64_t period,
                           const lethe_allocator *allocator);
/* Takes NULL. */
void lethe_part_free(lethe_part *part);
/* Frees at most budget slabs, from the last one on. True if none is left. */
bool lethe_part_free_some(lethe_part *part, unsigned budget);

/* Allocates slab number index if necessary; false if out of memory. */
bool lethe_part_ensure_slab(lethe_part *part, uint64_t index);

/* Brings the part's counts to period. Sweeps only the blocks that cannot wait any longer; there
 * are none if lethe_part_sweep is called often enough. */
void lethe_part_advance(lethe_part *part, uint64_t period);

/* Whether advancing to period would have to sweep blocks. */
bool lethe_part_is_urgent_at(const lethe_part *part, uint64_t period);

/* Continues the sweep over at most that many bytes of blocks. Returns the bytes it swept. */
size_t lethe_part_sweep(lethe_part *part, size_t most_bytes);
/* By how many blocks the sweep lags. */
uint64_t lethe_part_sweep_lag(const lethe_part *part);

/* Derives the counts of a loaded part from its slabs; false if these functions could not
 * have made one of its blocks. Cost: O(slabs). */
bool lethe_part_recount(lethe_part *part);

/* The entries alive in a period that is not before the part's own. Changes nothing. */
uint64_t lethe_part_alive_at(const lethe_part *part, uint64_t period);

/* The oldest period of which an entry is still alive in period; false if there is none. */
bool lethe_part_oldest_at(const lethe_part *part, uint64_t period, uint64_t *oldest);

/* The probability that a fresh id matches an entry, if that many are alive. */
double lethe_part_error(const struct lethe_part_shape *shape, uint64_t alive);

static inline unsigned char *lethe_part_block(const lethe_part *part, unsigned char *slab,
                                              uint64_t block) {
    return slab + block * part->shape.queue.block_bytes;
}

/* The other block of an entry with that remainder, where a slab has that many blocks. The numbers
 * of its two blocks add up, modulo the number of blocks, to a number that the remainder determines.
 * So an entry can move although its id is unknown. */
static inline uint64_t lethe_part_other_block(uint64_t blocks, uint64_t remainder, uint64_t block) {
    uint64_t scrambled = (remainder * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    uint64_t sum = (scrambled * blocks) >> 32;
    return sum >= block ? sum - block : sum + blocks - block;
}

#endif

/* sketch/hot.inc.h - the operations on counters, written once for every instruction set.
 *
 * A template. The including file first defines two things for its instruction set:
 *   static inline void place_many(const lethe_hash *hashes, size_t count, uint32_t width,
 *                                 uint32_t first, uint32_t *at, size_t stride);
 * which stores the positions of four rows for each hash, stride apart; and OPERATIONS, the name of
 * the table at the end of this file.
 *
 * IDEA    A batch is processed in chunks (hot_chunk.inc.h). The kinds differ only in what they do
 *         to the counters of one chunk: hot_least.inc.h, hot_log.inc.h, hot_signed.inc.h.
 * I1      Each counter of the part that answers changes from its old value to its new one in one
 *         store. Both values are at least the frequency of every key of that counter, taken at its
 *         lowest during the call. Readers rely on this (lethe/sketch.h, Threads).
 * I2      FID, and conservative with a DS part: as long as neither is full, each counter of the FQ
 *         part is at most the counter that a count-min sketch would have. Removal by subtraction
 *         stores the difference of the two in the DS part.
 * WHY     After inlining, the size of a counter and the common depth of four are constants. So
 *         there is one source, and no loop over rows or switch over sizes is left in the machine
 *         code. */
#include "core/bits.h"
#include "sketch/cells.h"
#include "sketch/place.h"
#include "sketch/scale.h"
#include "sketch/sketch.h"

/* In this order: each part uses those before it. */
#include "sketch/hot_chunk.inc.h"

#include "sketch/hot_least.inc.h"
#include "sketch/hot_log.inc.h"
#include "sketch/hot_signed.inc.h"

/* The tables: each operation for each size of counters. The common depths are constants. */

LETHE_INLINE bool is_common(const struct lethe_sketch_core *core, bool with_is) {
    return __builtin_expect(
        core->depth == COMMON_DEPTH && (!with_is || core->is_depth == COMMON_DEPTH), true);
}

/* The count sketch has five rows if nobody asks for others. Only adding and counting in batches are
 * compiled for them as well. */
LETHE_INLINE bool is_count_depth(const struct lethe_sketch_core *core, chunk_work *work) {
    return (work == signed_add_chunk || work == signed_count_chunk) && core->depth == COUNT_DEPTH;
}

LETHE_INLINE void drive_any(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch,
                            chunk_work *work, unsigned size, bool with_is, bool with_ds) {
    if (is_count_depth(core, work)) {
        drive(core, batch, work, COUNT_DEPTH, size, 0, false);
    } else if (is_common(core, with_is)) {
        drive(core, batch, work, COMMON_DEPTH, size, with_is ? COMMON_DEPTH : 0, with_ds);
    } else {
        drive(core, batch, work, core->depth, size, with_is ? core->is_depth : 0, with_ds);
    }
}

LETHE_INLINE void one_common(struct lethe_sketch_core *core, struct one one, chunk_work *work,
                             unsigned size, bool with_is, bool with_ds) {
    uint32_t at[COMMON_DEPTH], is_at[COMMON_DEPTH];
    drive_one(core, &one, at, is_at, work, COMMON_DEPTH, size, with_is ? COMMON_DEPTH : 0, with_ds);
}

LETHE_INLINE void one_of_any_depth(struct lethe_sketch_core *core, struct one one, chunk_work *work,
                                   unsigned size, bool with_is, bool with_ds) {
    uint32_t at[LETHE_SKETCH_MAX_DEPTH], is_at[LETHE_SKETCH_MAX_DEPTH];
    drive_one(core, &one, at, is_at, work, core->depth, size, with_is ? core->is_depth : 0,
              with_ds);
}

/* A single key as a batch. */
LETHE_NOINLINE bool change_as_batch(struct lethe_sketch_core *core, lethe_hash hash,
                                    uint64_t weight,
                                    void (*change)(struct lethe_sketch_core *core,
                                                   const struct lethe_sketch_batch *batch)) {
    uint8_t flag = 0;
    change(core, &(const struct lethe_sketch_batch){
                     .hashes = &hash, .weights = &weight, .count = 1, .flags = &flag});
    return flag;
}

/* Below, name_one is the operation on a single key, and name_other what it does in sketches of
 * other depths. That one is a function apart: inside, it would make the common case longer. What is
 * rare, to add a key to a DS part at another depth, goes as a batch of one key, as each copy of
 * these functions takes long to compile. */

/* Counting writes nothing to the core. It reads only the fields that a writer never changes, so it
 * works on a copy of those and can share drive_any with the writing operations. */
#define FOR_READING(core)                                                       \
    (struct lethe_sketch_core) {                                                \
        .cells = (core)->cells, .width = (core)->width, .depth = (core)->depth, \
        .scale = (core)->scale                                                  \
    }
#define COUNT(name, work, size)                                                                 \
    static void name(const struct lethe_sketch_core *core,                                      \
                     const struct lethe_sketch_batch *batch) {                                  \
        struct lethe_sketch_core reading = FOR_READING(core);                                   \
        drive_any(&reading, batch, work, size, false, false);                                   \
    }                                                                                           \
    LETHE_NOINLINE uint64_t name##_other(const struct lethe_sketch_core *core, lethe_hash hash, \
                                         bool *saturated) {                                     \
        struct lethe_sketch_core reading = FOR_READING(core);                                   \
        uint64_t count;                                                                         \
        uint8_t flag;                                                                           \
        one_of_any_depth(&reading, (struct one){hash, 0, &count, &flag}, work, size, false,     \
                         false);                                                                \
        if (saturated != NULL) *saturated = flag;                                               \
        return count;                                                                           \
    }                                                                                           \
    static uint64_t name##_one(const struct lethe_sketch_core *core, lethe_hash hash,           \
                               bool *saturated) {                                               \
        if (!is_common(core, false)) return name##_other(core, hash, saturated);                \
        struct lethe_sketch_core reading = FOR_READING(core);                                   \
        uint64_t count;                                                                         \
        uint8_t flag;                                                                           \
        one_common(&reading, (struct one){hash, 0, &count, &flag}, work, size, false, false);   \
        if (saturated != NULL) *saturated = flag;                                               \
        return count;                                                                           \
    }
#define REMOVE(name, work, size, with_is, with_ds)                                               \
    static void name(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch) {   \
        drive_any(core, batch, work, size, with_is, with_ds);                                    \
    }                                                                                            \
    LETHE_NOINLINE bool name##_other(struct lethe_sketch_core *core, lethe_hash hash,            \
                                     uint64_t weight) {                                          \
        uint8_t flag;                                                                            \
        one_of_any_depth(core, (struct one){hash, weight, NULL, &flag}, work, size, with_is,     \
                         with_ds);                                                               \
        return flag;                                                                             \
    }                                                                                            \
    static bool name##_one(struct lethe_sketch_core *core, lethe_hash hash, uint64_t weight) {   \
        if (!is_common(core, with_is)) return name##_other(core, hash, weight);                  \
        uint8_t flag;                                                                            \
        one_common(core, (struct one){hash, weight, NULL, &flag}, work, size, with_is, with_ds); \
        return flag;                                                                             \
    }
#define ADD(name, work, size)                                                                     \
    static void name(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch) {    \
        add_batch_total(core, batch);                                                             \
        drive_any(core, batch, work, size, false, false);                                         \
    }                                                                                             \
    LETHE_NOINLINE void name##_other(struct lethe_sketch_core *core, lethe_hash hash,             \
                                     uint64_t weight) {                                           \
        one_of_any_depth(core, (struct one){hash, weight, NULL, NULL}, work, size, false, false); \
    }                                                                                             \
    static void name##_one(struct lethe_sketch_core *core, lethe_hash hash, uint64_t weight) {    \
        add_total(core, weight);                                                                  \
        if (is_common(core, false)) {                                                             \
            one_common(core, (struct one){hash, weight, NULL, NULL}, work, size, false, false);   \
        } else {                                                                                  \
            name##_other(core, hash, weight);                                                     \
        }                                                                                         \
    }
/* With or without a DS part, depending on the sketch. */
#define ADD_RAISING(name, work, size, with_is)                                                    \
    static void name(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch) {    \
        add_batch_total(core, batch);                                                             \
        if (core->ds != NULL) {                                                                   \
            drive_any(core, batch, work, size, with_is, true);                                    \
        } else {                                                                                  \
            drive_any(core, batch, work, size, with_is, false);                                   \
        }                                                                                         \
    }                                                                                             \
    LETHE_NOINLINE void name##_other(struct lethe_sketch_core *core, lethe_hash hash,             \
                                     uint64_t weight) {                                           \
        one_of_any_depth(core, (struct one){hash, weight, NULL, NULL}, work, size, with_is,       \
                         false);                                                                  \
    }                                                                                             \
    LETHE_NOINLINE void name##_with_ds(struct lethe_sketch_core *core, lethe_hash hash,           \
                                       uint64_t weight) {                                         \
        one_common(core, (struct one){hash, weight, NULL, NULL}, work, size, with_is, true);      \
    }                                                                                             \
    static void name##_one(struct lethe_sketch_core *core, lethe_hash hash, uint64_t weight) {    \
        if (core->ds != NULL && !is_common(core, with_is)) {                                      \
            (void)change_as_batch(core, hash, weight, name);                                      \
            return;                                                                               \
        }                                                                                         \
        add_total(core, weight);                                                                  \
        if (core->ds != NULL) {                                                                   \
            name##_with_ds(core, hash, weight);                                                   \
        } else if (is_common(core, with_is)) {                                                    \
            one_common(core, (struct one){hash, weight, NULL, NULL}, work, size, with_is, false); \
        } else {                                                                                  \
            name##_other(core, hash, weight);                                                     \
        }                                                                                         \
    }

#define OPERATIONS_OF_SIZE(size)                                                \
    ADD(count_min_add_##size, count_min_add_chunk, size)                        \
    REMOVE(count_min_remove_##size, count_min_remove_chunk, size, false, false) \
    COUNT(least_count_##size, least_count_chunk, size)                          \
    ADD_RAISING(conservative_add_##size, raise_add_chunk, size, false)          \
    REMOVE(conservative_remove_##size, raise_remove_chunk, size, false, true)   \
    ADD_RAISING(fid_add_##size, raise_add_chunk, size, true)                    \
    REMOVE(fid_remove_##size, raise_remove_chunk, size, true, true)             \
    ADD(signed_add_##size, signed_add_chunk, size)                              \
    REMOVE(signed_remove_##size, signed_remove_chunk, size, false, false)       \
    COUNT(signed_count_##size, signed_count_chunk, size)

OPERATIONS_OF_SIZE(0)
OPERATIONS_OF_SIZE(1)
OPERATIONS_OF_SIZE(2)
OPERATIONS_OF_SIZE(3)
ADD_RAISING(log_add_0, log_add_chunk, 0, false)
ADD_RAISING(log_add_1, log_add_chunk, 1, false)
REMOVE(log_remove_0, log_remove_chunk, 0, false, true)
REMOVE(log_remove_1, log_remove_chunk, 1, false, true)
COUNT(log_count_0, log_count_chunk, 0)
COUNT(log_count_1, log_count_chunk, 1)

#define ROW(kind, answer, size)                                                                  \
    {                                                                                            \
        kind##_add_##size, kind##_remove_##size, answer##_count_##size, kind##_add_##size##_one, \
            kind##_remove_##size##_one, answer##_count_##size##_one                              \
    }
#define ROWS(kind, answer) \
    { ROW(kind, answer, 0), ROW(kind, answer, 1), ROW(kind, answer, 2), ROW(kind, answer, 3) }

lethe_sketch_operations_table OPERATIONS = {
    [LETHE_SKETCH_COUNT_MIN] = ROWS(count_min, least),
    [LETHE_SKETCH_CONSERVATIVE] = ROWS(conservative, least),
    [LETHE_SKETCH_COUNT] = ROWS(signed, signed),
    [LETHE_SKETCH_LOG] = {ROW(log, log, 0), ROW(log, log, 1)},
    [LETHE_SKETCH_FID] = ROWS(fid, least),
};

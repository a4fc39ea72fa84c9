/* lethe/sketch.h - how often was each key added, in memory that does not grow with the keys.
 *
 * One type with five kinds. All consist of depth rows of width counters; a key has one counter in
 * each row.
 *   count-min      Every counter of the key grows; the answer is the smallest. The plain choice.
 *   conservative   Only the smallest counters grow: a smaller error in the same memory.
 *   count          Counters grow or shrink by the key's sign; the answer is the median. Errs in
 *                  both directions, and much less than count-min if frequencies are very unequal.
 *   log            Conservative, with counters that hold logarithms, so that 8 or 16 bits reach
 *                  large counts. Errs in both directions, as counters rise and fall by chance.
 *   FID            Three parts. The small FQ part alone answers. The IS part, ten times as wide,
 *                  limits how far the FQ part rises. The DS part makes removal possible. For
 *                  readers with little memory and a writer with much: lethe_sketch_export gives
 *                  the readers the FQ part. In equal TOTAL memory a conservative sketch errs less.
 *
 * Guarantee  count-min, conservative and FID never answer less than the true frequency, as long as
 *            only what was added is removed and the answer is not saturated. They exceed it by
 *            at most error_above of lethe_sketch_info, with probability 1 - delta.
 *            A removal that cannot be right is refused, and nothing changes.
 *            Counters stay at their largest value once they have reached it; they never wrap.
 * Memory     count-min: width * depth * counter_bits / 8 bytes. lethe_sketch_plan computes it.
 * Threads    One writer and any number of readers, without locks. For the three kinds above,
 *            lethe_sketch_count* never answers less than the lowest true frequency of the key
 *            during the call. An addition counts from the end of its call on, a removal from
 *            the start of its call on. All other functions belong to the writer's thread.
 * Caveats    A sketch does not list its keys; with `top` it keeps the most frequent ones.
 *            Removing keys that were never added breaks the guarantee for other keys, and is not
 *            detected as long as the estimate allows it. */
#ifndef LETHE_SKETCH_H
#define LETHE_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/hash.h"
#include "lethe/io.h"
#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lethe_sketch lethe_sketch;

typedef enum lethe_sketch_kind {
    LETHE_SKETCH_COUNT_MIN = 0,
    LETHE_SKETCH_CONSERVATIVE = 1,
    LETHE_SKETCH_COUNT = 2,
    LETHE_SKETCH_LOG = 3,
    LETHE_SKETCH_FID = 4
} lethe_sketch_kind;

/* How a conservative, log or FID sketch removes: with the DS part of the paper, which is as large
 * as the part that answers. count-min and count need none. */
typedef enum lethe_sketch_removal {
    /* FID: subtraction. conservative and log: none. */
    LETHE_SKETCH_REMOVAL_DEFAULT = 0,
    /* No DS part; removal is LETHE_EINVAL. */
    LETHE_SKETCH_REMOVAL_NONE = 1,
    /* The DS part holds the difference between a count-min sketch and the FQ part. */
    LETHE_SKETCH_REMOVAL_SUBTRACTION = 2,
    /* The DS part is a count-min sketch: the same answers, more writes. Not for log. */
    LETHE_SKETCH_REMOVAL_COUNT_MIN = 3
} lethe_sketch_removal;

/* The limits of the options: width, width * depth of each part, depth, top, and the size of a key
 * in a sketch that keeps the top. */
#define LETHE_SKETCH_MAX_WIDTH (UINT64_C(1) << 28)
#define LETHE_SKETCH_MAX_COUNTERS (UINT64_C(1) << 32)
#define LETHE_SKETCH_MAX_DEPTH 32
#define LETHE_SKETCH_MAX_TOP (UINT32_C(1) << 20)
#define LETHE_SKETCH_MAX_KEY_BYTES 65535

/* Zero in a field selects its default; NULL options are all defaults. The size comes from one of:
 * width (with depth), epsilon and delta, or memory_bytes (with depth). Giving two of them is
 * LETHE_EINVAL. */
typedef struct lethe_sketch_options {
    size_t size;

    lethe_sketch_kind kind;

    /* Rows; 0 -> 4 (count: 5); 1..32. width * depth is at most 2^32. */
    uint32_t depth;
    /* Counters per row; 0 -> 65536; 1..2^28. */
    uint64_t width;
    /* FID: counters per row of the IS part; 0 -> 10 * width; 1..2^28. is_depth is below. */
    uint64_t is_width;

    /* The error as a share of the total; (2e-8, 1). count: of the L2 norm. */
    double epsilon;
    /* The probability of a larger error; 0 -> 0.02; [1e-12, 0.5]. */
    double delta;

    /* Of all counters together: the widest sketch that fits. */
    uint64_t memory_bytes;

    /* 8, 16, 32 or 64; 0 -> 32. log: 8 or 16; 0 -> 16. */
    uint32_t counter_bits;
    lethe_sketch_removal removal;

    /* How many of the most frequent keys to keep; 0 -> none; up to 2^20. */
    uint32_t top;

    /* Keys the hash; 0 -> LETHE_DEFAULT_SEED. It is saved with the sketch. */
    uint64_t seed;
    /* NULL -> the default one. It must outlive the sketch. */
    const lethe_allocator *allocator;

    /* FID: rows of the IS part; 0 -> depth; 1..32. is_width * is_depth is at most 2^32. */
    uint64_t is_depth;
} lethe_sketch_options;

/* The shape that options lead to. */
typedef struct lethe_sketch_shape {
    size_t size;

    lethe_sketch_kind kind;
    uint32_t depth;
    uint64_t width;
    /* 0 without an IS part. */
    uint64_t is_width;
    uint32_t counter_bits;
    /* Never DEFAULT. */
    lethe_sketch_removal removal;
    uint32_t top;
    uint64_t seed;

    /* What the width and the depth give. */
    double epsilon;
    double delta;

    /* Of all counters, and of those that answer: the size of an export. */
    uint64_t memory_bytes;
    uint64_t query_memory_bytes;

    /* 0 without an IS part. */
    uint64_t is_depth;
} lethe_sketch_shape;

typedef struct lethe_sketch_stats {
    size_t size;

    /* Whether the sketch was made from an export. */
    bool query_only;
    /* Keys in the list of the most frequent ones. */
    uint32_t top_listed;

    /* What was added minus what was removed; stays at its largest value. */
    uint64_t total;

    /* Counters of the part that answers: those that are not zero, and those that are full. */
    uint64_t counters_used;
    uint64_t counters_saturated;
    /* The value of a full counter; log: the number it stands for. */
    uint64_t counter_max;
    /* The highest counter of the part that answers, without its sign. log: the counter itself, not
     * the number it stands for. */
    uint64_t counter_highest;

    /* With probability 1 - delta, estimate - error_above <= truth <= estimate + error_below. For
     * kinds that never under-estimate, error_below is 0 and the right half is certain. For a count
     * sketch both are estimated from its counters. */
    double error_above;
    double error_below;
    /* log: the estimate is off by this share of itself as well, as one standard deviation. After
     * removals it is a share of what the estimate was before them. */
    double relative_error;
} lethe_sketch_stats;

/* Computes the shape without allocating anything. On error *out is unchanged.
 * Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_plan(const lethe_sketch_options *options,
                                                          lethe_sketch_shape *out);

/* Creates an empty sketch. The caller owns *out (lethe_sketch_free). On error *out is NULL.
 * Cost: O(memory), paid as pages are touched. Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_new(const lethe_sketch_options *options,
                                                         lethe_sketch **out);

/* Creates an independent copy with the same allocator. On error *out is NULL.
 * Cost: O(memory). Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_copy(const lethe_sketch *sketch,
                                                          lethe_sketch **out);

/* Takes NULL. */
LETHE_API void lethe_sketch_free(lethe_sketch *sketch);

/* Forgets all keys; shape and seed stay. Takes NULL. Cost: O(memory). */
LETHE_API void lethe_sketch_clear(lethe_sketch *sketch);

/* The seed to hash keys with; 0 for NULL. Cost: O(1). */
LETHE_API uint64_t lethe_sketch_seed(const lethe_sketch *sketch);

/* Reports the shape that the sketch was made with. Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_sketch_get_shape(const lethe_sketch *sketch, lethe_sketch_shape *out);

/* The total of lethe_sketch_info: what was added minus what was removed. 0 for NULL. Cost: O(1). */
LETHE_API uint64_t lethe_sketch_total(const lethe_sketch *sketch);

/* Looks at all counters of the part that answers. Cost: O(width * depth). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_sketch_info(const lethe_sketch *sketch, lethe_sketch_stats *out);

/* The same from at most most_counters of them, in blocks. If there are more, counters_used and
 * counters_saturated are scaled up, counter_highest is that of the sample, and the errors of a
 * count sketch are epsilon times the total, which is an upper bound.
 * Cost: O(most_counters). Errors: LETHE_EINVAL (also for 0 counters). */
LETHE_API lethe_status lethe_sketch_estimate(const lethe_sketch *sketch, uint64_t most_counters,
                                             lethe_sketch_stats *out);

/* Single keys. add adds weight to the frequency of a key, remove subtracts it, count estimates it.
 * count also reports, unless saturated is NULL, whether the estimate rests on a full counter, so
 * that the true frequency may be above it (count: whether any of the key's counters is full). A
 * negative estimate of a count sketch is reported as 0. The count of a NULL sketch is 0.
 * Cost: one hash and, uncached, depth cache misses; adding and removing in FID three times that.
 * Errors, with nothing changed: LETHE_EINVAL (also for a weight of 0, a sketch made from an export,
 * with top a key longer than LETHE_SKETCH_MAX_KEY_BYTES, and removal from a sketch that cannot
 * remove), LETHE_ENOTFOUND (the removal cannot be right: the estimate, or in a count or log sketch
 * the total of all keys, is below weight).
 * LETHE_ENOMEM: the weight was added, but the key belongs in the list of the most frequent ones
 * and could not be stored there. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_add(lethe_sketch *sketch, const void *key,
                                                         size_t size, uint64_t weight);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_remove(lethe_sketch *sketch, const void *key,
                                                            size_t size, uint64_t weight);
LETHE_API uint64_t lethe_sketch_count(const lethe_sketch *sketch, const void *key, size_t size,
                                      bool *saturated);

/* The same for a key that is already hashed, with the sketch's seed. A sketch that keeps the top
 * needs the keys themselves: there add_hash and remove_hash are LETHE_EINVAL. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_add_hash(lethe_sketch *sketch, lethe_hash hash,
                                                              uint64_t weight);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_remove_hash(lethe_sketch *sketch,
                                                                 lethe_hash hash, uint64_t weight);
LETHE_API uint64_t lethe_sketch_count_hash(const lethe_sketch *sketch, lethe_hash hash,
                                           bool *saturated);

/* Batches: the same effect and answers as count single calls in order, with the cache misses
 * overlapped. NULL weights are 1 each. All keys are tried; the status is the first error. added[i]
 * or removed[i], unless that array is NULL, becomes 1, or 0 where nothing changed. counts[i] is
 * the estimate; saturated[i], unless saturated is NULL, becomes 1 or 0. Best from about 64 keys up;
 * the length has no upper bound. Errors: as the single calls. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_add_batch(lethe_sketch *sketch,
                                                               const lethe_hash *hashes,
                                                               size_t count,
                                                               const uint64_t *weights,
                                                               uint8_t *added);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_remove_batch(lethe_sketch *sketch,
                                                                  const lethe_hash *hashes,
                                                                  size_t count,
                                                                  const uint64_t *weights,
                                                                  uint8_t *removed);
LETHE_API lethe_status lethe_sketch_count_batch(const lethe_sketch *sketch,
                                                const lethe_hash *hashes, size_t count,
                                                uint64_t *counts, uint8_t *saturated);

/* The same for keys that are not hashed. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_add_key_batch(lethe_sketch *sketch,
                                                                   const lethe_bytes *keys,
                                                                   size_t count,
                                                                   const uint64_t *weights,
                                                                   uint8_t *added);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_remove_key_batch(lethe_sketch *sketch,
                                                                      const lethe_bytes *keys,
                                                                      size_t count,
                                                                      const uint64_t *weights,
                                                                      uint8_t *removed);

/* A change of one key's frequency: an addition, or a removal if delta is negative. A delta of 0
 * changes nothing. */
typedef struct lethe_sketch_delta {
    lethe_bytes key;
    int64_t delta;
} lethe_sketch_delta;

/* Makes changes in their order, all of them or none. After an error every counter has its old
 * value; readers may have seen some of the changes meanwhile. A key may occur several times.
 * Cost: as single calls, plus saving the old counters, for which memory is allocated above 4 KiB.
 * Errors, with nothing changed: LETHE_ENOTFOUND (as remove), LETHE_EFULL (after an addition, the
 * answer for its key would be saturated), LETHE_EINVAL (as add and remove), LETHE_ENOMEM. As with
 * add, LETHE_ENOMEM can also mean that all changes are made, but a key could not be listed. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_change(lethe_sketch *sketch,
                                                            const lethe_sketch_delta *deltas,
                                                            size_t count);

/* Adds all that other holds. count-min and count: the same bits as one sketch of all keys.
 * conservative and FID: never too low, but higher than one sketch of all keys. log: sums,
 * rounded at random without bias. With top, the lists are joined; a key that is in neither stays
 * out.
 * Cost: O(memory). Errors, with nothing changed: LETHE_EINVAL (also for a sketch made from
 * an export), LETHE_EMISMATCH (kind, width, depth, is_width, is_depth, counter_bits, removal,
 * top or seed differ), LETHE_ENOMEM (joining the lists). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_merge(lethe_sketch *sketch,
                                                           const lethe_sketch *other);

/* One of the most frequent keys. */
typedef struct lethe_sketch_top_entry {
    /* Belongs to the sketch; valid until the next write to the sketch. */
    lethe_bytes key;
    /* The estimate. For kinds that never under-estimate, the truth is certainly not above it. */
    uint64_t count;
    /* What was added since the key entered the list. The truth is certainly not below it. */
    uint64_t at_least;
} lethe_sketch_top_entry;

/* Stores the most frequent keys by descending count, at most room of them and at most `top`, and
 * their number in *listed. As long as nothing was removed and the kind never under-estimates, a key
 * is certainly listed if its frequency exceeds those of all but the first top - 1 keys by more than
 * the error. After removals a key may be missing until it is added again.
 * Cost: O(top log top). Errors: LETHE_EINVAL (also if the sketch keeps no top), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_top(const lethe_sketch *sketch,
                                                         lethe_sketch_top_entry *entries,
                                                         size_t room, size_t *listed);

/* Writes the sketch: docs/format/sketch.md. Cost: O(memory). Errors: LETHE_EINVAL (also for a
 * sketch made from an export), LETHE_ENOMEM, the sink's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_save(const lethe_sketch *sketch,
                                                          lethe_sink sink);

/* Reads a sketch that save wrote. The caller owns *out; on error it is NULL. A NULL allocator is
 * the default one. Cost: O(memory). Errors: LETHE_EINVAL, LETHE_ECORRUPT, LETHE_ETYPE,
 * LETHE_EVERSION, LETHE_ENOMEM, the source's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_load(lethe_source source,
                                                          const lethe_allocator *allocator,
                                                          lethe_sketch **out);

/* Writes only the part that answers: of a FID sketch the FQ part, a few hundred KB out of
 * megabytes. An export is a saved type of its own.
 * Cost: O(width * depth). Errors: LETHE_EINVAL, LETHE_ENOMEM, the sink's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_export(const lethe_sketch *sketch,
                                                            lethe_sink sink);

/* Makes a sketch from an export. It can count, and be copied, exported and freed; everything else
 * is LETHE_EINVAL. On error *out is NULL. Errors: as load. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_import(lethe_source source,
                                                            const lethe_allocator *allocator,
                                                            lethe_sketch **out);

/* Brings a sketch that import made to the state of a later export of the same sketch, while readers
 * continue: each answer is at least the lesser of the key's frequencies at the two exports.
 * Nothing changes before the whole export is read and checked. Cost: O(width * depth).
 * Errors, with nothing changed: LETHE_EINVAL (also for a sketch that import did not make),
 * LETHE_EMISMATCH (the shape or seed differs), and as load. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_apply(lethe_sketch *sketch,
                                                           lethe_source source);

/* The same to and from a file. detail and errors: as in lethe/bloom.h. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_save_file(const lethe_sketch *sketch,
                                                               const char *path,
                                                               lethe_detail *detail);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_load_file(const char *path,
                                                               const lethe_allocator *allocator,
                                                               lethe_sketch **out,
                                                               lethe_detail *detail);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_export_file(const lethe_sketch *sketch,
                                                                 const char *path,
                                                                 lethe_detail *detail);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_import_file(const char *path,
                                                                 const lethe_allocator *allocator,
                                                                 lethe_sketch **out,
                                                                 lethe_detail *detail);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_apply_file(lethe_sketch *sketch,
                                                                const char *path,
                                                                lethe_detail *detail);

#ifdef __cplusplus
}
#endif

#endif

/* lethe/sketch.h - how often was each key added, in memory that does not grow with the keys.
 *
 * Five kinds behind one type. All are depth rows of width counters; a key has one counter in each.
 *   count-min      every counter of the key grows; the answer is the smallest. The plain choice.
 *   conservative   only the smallest ones grow: a smaller error in the same memory.
 *   count          counters grow or shrink by the key's sign; the answer is the median. Errs to
 *                  both sides, and far less than count-min where frequencies are very unequal.
 *   log            conservative, with counters that hold a logarithm: 8 or 16 bits count far.
 *   FID            three parts. The small FQ part alone answers queries; the IS part, ten times as
 *                  wide, holds down what the FQ part is raised to; the DS part makes removal
 *                  possible. For readers with little memory beside a writer with much: export hands
 *                  the FQ part alone to them. In equal TOTAL memory a conservative sketch errs less.
 *
 * Guarantee  count-min, conservative, FID: never an estimate below the true frequency, provided only
 *            what was added is removed and the answer does not say saturated; and above it by at most
 *            error_above of lethe_sketch_info with probability 1 - delta.
 *            A removal that can't be right is refused and nothing changes.
 *            Counters stay at their largest value once they have reached it; they never wrap.
 * Memory     count-min: width * depth * counter_bits / 8 bytes; see lethe_sketch_plan.
 * Threads    One writer, any number of readers beside it, no locks: what lethe_sketch_query* say of a
 *            key is, for the three kinds above, never below its least true frequency during the call.
 *            An addition counts from when its call returns, a removal from when its call begins.
 *            All other functions belong to the writer's thread.
 * Caveats    A sketch lists no keys; give top to have it keep the most frequent ones beside.
 *            Removing keys that were never added breaks the guarantee for others, undetected if the
 *            estimate allows it. */
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

/* How a conservative or FID sketch can remove: by the paper's DS part, as large as the one that
 * answers. count-min and count remove without one, log never does. */
typedef enum lethe_sketch_removal {
    LETHE_SKETCH_REMOVAL_DEFAULT = 0,     /* FID: subtraction; conservative: none */
    LETHE_SKETCH_REMOVAL_NONE = 1,        /* no DS part; removal is LETHE_EINVAL */
    LETHE_SKETCH_REMOVAL_SUBTRACTION = 2, /* DS holds what FQ lacks of a count-min sketch */
    LETHE_SKETCH_REMOVAL_COUNT_MIN = 3 /* DS is a count-min sketch: the same answers, more writes */
} lethe_sketch_removal;

/* The limits of the options below. */
#define LETHE_SKETCH_MAX_WIDTH (UINT64_C(1) << 28)
#define LETHE_SKETCH_MAX_COUNTERS (UINT64_C(1) << 32) /* width * depth, of each part */
#define LETHE_SKETCH_MAX_DEPTH 32
#define LETHE_SKETCH_MAX_TOP (UINT32_C(1) << 20)
#define LETHE_SKETCH_MAX_KEY_BYTES 65535 /* of a key, where top is asked for */

/* Zero in a field selects its default; NULL means all defaults. The size comes in one of three ways:
 * width (with depth), epsilon and delta, or memory_bytes (with depth); naming two is LETHE_EINVAL. */
typedef struct lethe_sketch_options {
    lethe_sketch_kind kind;
    uint64_t width;        /* counters a row; 0 -> 65536; 1..2^28 */
    uint32_t depth;        /* rows; 0 -> 4 (count: 5); 1..32; width * depth at most 2^32 */
    uint64_t is_width;     /* FID: counters a row of the IS part; 0 -> 10 * width; 1..2^28 */
    double epsilon;        /* error as a share of the total; (2e-8, 1); count: of the L2 norm */
    double delta;          /* probability of a larger error; 0 -> 0.02; [1e-12, 0.5] */
    uint64_t memory_bytes; /* of all counters together; the widest sketch that fits */
    uint32_t counter_bits; /* 8, 16, 32 or 64; 0 -> 32; log: 8 or 16, 0 -> 16 */
    lethe_sketch_removal removal;
    uint32_t top;  /* how many most frequent keys to keep beside; 0 -> none; ..2^20 */
    uint64_t seed; /* keys the hash; 0 -> LETHE_DEFAULT_SEED; saved with the sketch */
    const lethe_allocator *allocator; /* NULL -> the default; must outlive the sketch */
} lethe_sketch_options;

/* The shape that options lead to. */
typedef struct lethe_sketch_shape {
    lethe_sketch_kind kind;
    uint64_t width;
    uint32_t depth;
    uint64_t is_width; /* 0 where there is no IS part */
    uint32_t counter_bits;
    lethe_sketch_removal removal; /* never DEFAULT */
    uint32_t top;
    uint64_t seed;
    double epsilon;              /* what width gives */
    double delta;                /* what depth gives */
    uint64_t memory_bytes;       /* of all counters */
    uint64_t query_memory_bytes; /* of those that answer queries: what an export weighs */
} lethe_sketch_shape;

typedef struct lethe_sketch_answer {
    uint64_t count; /* the estimate; a negative one of a count sketch is 0 */
    /* The estimate rests on a counter that is full: the true frequency may be above it. In a count
     * sketch, where any of the key's counters can move the median: one of them is full. */
    bool saturated;
} lethe_sketch_answer;

typedef struct lethe_sketch_stats {
    lethe_sketch_shape shape;
    bool query_only;        /* made from an export */
    uint64_t total;         /* what was added less what was removed; stays at its largest value */
    uint64_t counters_used; /* of the part that answers: not zero */
    uint64_t counters_saturated;
    uint64_t counter_max; /* where a counter is full; log: the number it then stands for */
    /* With probability 1 - delta, estimate - error_above <= true <= estimate + error_below; for the
     * kinds that never under-estimate error_below is 0 and the right half is certain. A count
     * sketch's is estimated from its counters. A log sketch's estimate is besides off by relative_error
     * of itself, one standard deviation. */
    double error_above, error_below, relative_error;
    uint32_t top_listed; /* keys kept beside */
    uint64_t
        counter_highest; /* of the part that answers, without its sign; not yet full below counter_max.
                               * log: of the counters themselves, not of what they stand for */
} lethe_sketch_stats;

/* Computes the shape without allocating anything. Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_plan(const lethe_sketch_options *options,
                                                          lethe_sketch_shape *out);

/* Creates an empty sketch. The caller owns *out (lethe_sketch_free). On error *out is NULL.
 * Cost: O(memory), paid as pages are touched. Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_new(const lethe_sketch_options *options,
                                                         lethe_sketch **out);

/* Creates an independent copy with the same allocator. Cost: O(memory). Errors: LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_copy(const lethe_sketch *sketch,
                                                          lethe_sketch **out);

/* Takes NULL. */
LETHE_API void lethe_sketch_free(lethe_sketch *sketch);

/* Forgets all keys; shape and seed stay. Cost: O(memory). */
LETHE_API void lethe_sketch_clear(lethe_sketch *sketch);

/* The shape the sketch was made with. Cost: O(1). */
LETHE_API lethe_sketch_shape lethe_sketch_get_shape(const lethe_sketch *sketch);

/* What was added less what was removed: the total of lethe_sketch_info. Cost: O(1). */
LETHE_API uint64_t lethe_sketch_total(const lethe_sketch *sketch);

/* Looks at all counters that answer. Cost: O(width * depth). */
LETHE_API lethe_sketch_stats lethe_sketch_info(const lethe_sketch *sketch);

/* Adds weight to a key's frequency. Cost: one hash, depth cache misses uncached; FID three times that.
 * Errors, with nothing changed: LETHE_EINVAL (weight 0; a sketch made from an export; with top, a key
 * longer than LETHE_SKETCH_MAX_KEY_BYTES). LETHE_ENOMEM: added, but the key, which belongs into the
 * list of the most frequent ones, could not be kept there. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_add(lethe_sketch *sketch, const void *key,
                                                         size_t size, uint64_t weight);

/* Takes weight from a key's frequency. Errors, with nothing changed: LETHE_ENOTFOUND (it can't be
 * right: the estimate, or in a count sketch the total of all keys, is below weight), LETHE_EINVAL
 * (as above; a sketch of this kind or made without a DS part can't remove). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_remove(lethe_sketch *sketch, const void *key,
                                                            size_t size, uint64_t weight);

/* Estimates a key's frequency. Cost: one hash, depth cache misses. */
LETHE_API lethe_sketch_answer lethe_sketch_query(const lethe_sketch *sketch, const void *key,
                                                 size_t size);

/* The same for a key that is hashed already, with the sketch's own seed. A sketch that keeps the top
 * must be told the keys themselves: there the first two are LETHE_EINVAL. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_add_hash(lethe_sketch *sketch, lethe_hash hash,
                                                              uint64_t weight);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_remove_hash(lethe_sketch *sketch,
                                                                 lethe_hash hash, uint64_t weight);
LETHE_API lethe_sketch_answer lethe_sketch_query_hash(const lethe_sketch *sketch, lethe_hash hash);

/* Batches: the same effect and answers as count single calls in order, with the cache misses
 * overlapped. weights NULL means 1 each. A zero weight or a key too long anywhere is LETHE_EINVAL and
 * nothing changes. Best from about 64 keys up; the length has no upper bound. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_add_batch(lethe_sketch *sketch,
                                                               const lethe_hash *hashes,
                                                               const uint64_t *weights,
                                                               size_t count);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_add_keys(lethe_sketch *sketch,
                                                              const lethe_bytes *keys,
                                                              const uint64_t *weights,
                                                              size_t count);
/* removed[i], unless removed is NULL, becomes 1, or 0 where it was refused; LETHE_OK in both cases. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_remove_batch(lethe_sketch *sketch,
                                                                  const lethe_hash *hashes,
                                                                  const uint64_t *weights,
                                                                  size_t count, uint8_t *removed);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_remove_keys(lethe_sketch *sketch,
                                                                 const lethe_bytes *keys,
                                                                 const uint64_t *weights,
                                                                 size_t count, uint8_t *removed);
/* counts[i] is the estimate; saturated[i], unless saturated is NULL, 1 or 0. */
LETHE_API void lethe_sketch_query_batch(const lethe_sketch *sketch, const lethe_hash *hashes,
                                        size_t count, uint64_t *counts, uint8_t *saturated);

/* A change of one key's frequency: added, or removed where it is negative. 0 changes nothing. */
typedef struct lethe_sketch_delta {
    lethe_bytes key;
    int64_t delta;
} lethe_sketch_delta;

/* Makes changes in their order, all of them or none: what is left after a refusal is, to the bit, what was
 * there; readers beside may have seen a part of it meanwhile. One key may occur several times.
 * Cost: as single calls, and writing down what the counters held; memory for that is allocated beyond 4 KiB.
 * Errors, with nothing changed: LETHE_ENOTFOUND (a removal can't be right, as with remove), LETHE_EFULL (after an
 * addition its key's answer would say saturated), LETHE_EINVAL (as add and remove), LETHE_ENOMEM. The last can also mean,
 * as with add, that all is changed but a key could not be listed. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_change(lethe_sketch *sketch,
                                                            const lethe_sketch_delta *deltas,
                                                            size_t count);

/* Adds all that other holds. count-min and count: bit for bit what adding it all to one sketch gives.
 * conservative and FID: still never too low, but higher than one sketch would be. log: sums, rounded
 * at random without bias. With top, the lists are joined; a key that neither lists can't get in.
 * Cost: O(memory). Errors, with nothing changed: LETHE_EMISMATCH (kind, width, depth, is_width, counter_bits,
 * removal, top or seed differ), LETHE_EINVAL (made from an export), LETHE_ENOMEM (joining the lists). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_merge(lethe_sketch *sketch,
                                                           const lethe_sketch *other);

/* One of the most frequent keys. at_least is what was seen added since the key was last listed: certain.
 * count is the estimate, and for the kinds that never under-estimate certainly not below the truth. */
typedef struct lethe_sketch_top_entry {
    const void *key; /* belongs to the sketch; valid until it is next written */
    size_t size;
    uint64_t count;
    uint64_t at_least;
} lethe_sketch_top_entry;

/* Stores the most frequent keys, at most room of them and at most as many as top asked for, by
 * falling count, and how many there are. Provided nothing was removed and the kind never under-estimates, a
 * key is surely listed if its frequency exceeds, by more than the error, that of all keys but the first
 * top - 1. After removals a key may be missing until it is added again. Cost: O(top log top).
 * Errors: LETHE_EINVAL (the sketch keeps no top), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_top(const lethe_sketch *sketch,
                                                         lethe_sketch_top_entry *entries,
                                                         size_t room, size_t *listed);

/* Writes the sketch. Cost: O(memory). Errors: LETHE_EINVAL (made from an export), LETHE_ENOMEM, the sink's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_save(const lethe_sketch *sketch,
                                                          lethe_sink sink);
/* Reads a sketch that save wrote; allocator NULL is the default. On error *out is NULL.
 * Cost: O(memory). Errors: LETHE_ECORRUPT, LETHE_ETYPE, LETHE_EVERSION, LETHE_ENOMEM, the source's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_load(lethe_source source,
                                                          const lethe_allocator *allocator,
                                                          lethe_sketch **out);

/* Writes only what answers queries: of a FID sketch the FQ part, a few hundred KB beside megabytes.
 * Its own saved type. Cost: O(width * depth). Errors: LETHE_ENOMEM, the sink's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_export(const lethe_sketch *sketch,
                                                            lethe_sink sink);
/* Makes a sketch of an export. It answers queries, and can be copied, exported and freed; all
 * else is LETHE_EINVAL. On error *out is NULL. Errors: as load. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_import(lethe_source source,
                                                            const lethe_allocator *allocator,
                                                            lethe_sketch **out);
/* Brings a sketch that import made to the state of a later export of the same sketch, while readers go
 * on: each answer is at least the lesser of the key's frequencies at the two exports.
 * Nothing changes before the export is read and checked whole. Cost: O(width * depth).
 * Errors, with nothing changed: LETHE_EINVAL (the sketch is not query-only), LETHE_EMISMATCH (an export of a
 * sketch of another shape or seed), and as load. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_apply(lethe_sketch *sketch,
                                                           lethe_source source);

/* The same to and from a file; a file that exists is replaced whole or not at all.
 * Errors: as above, and LETHE_EIO, LETHE_ENOSPACE, LETHE_ENOTFOUND, LETHE_EINVAL (the path is a folder, a
 * device or a pipe); errno tells more. An error of save_file leaves the old file, unless only the sync of the
 * folder failed: then the new one is there, and a power cut may bring the old one back. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_save_file(const lethe_sketch *sketch,
                                                               const char *path);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_load_file(const char *path,
                                                               const lethe_allocator *allocator,
                                                               lethe_sketch **out);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_export_file(const lethe_sketch *sketch,
                                                                 const char *path);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_import_file(const char *path,
                                                                 const lethe_allocator *allocator,
                                                                 lethe_sketch **out);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_sketch_apply_file(lethe_sketch *sketch,
                                                                const char *path);

#ifdef __cplusplus
}
#endif

#endif

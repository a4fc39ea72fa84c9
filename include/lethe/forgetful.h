/* lethe/forgetful.h - the forgetful Bloom filter: was this id added within the last W?
 *
 * A short list of Bloom filters, each for a stretch of time. An id is added to the two newest, so
 * neighbours overlap. The oldest are dropped as time passes. One type with three settings:
 *
 *   LETHE_FORGETFUL_ELASTIC  The default, for production. It is given a window W and an error e,
 *                            and keeps both at any load: filters are salted, close when their share
 *                            of the error is used up, follow the load in size, and expire by age.
 *   LETHE_FORGETFUL_PAPER    The filter of Subramanyam, Gupta, Leslie and Wang, with fixed m, k, N
 *                            and t and its dynamic resizing, corrected only where it would lose
 *                            ids. For study and comparison: docs/papers.md.
 *   LETHE_FORGETFUL_PRINTED  The same with nothing corrected: Algorithms 1 to 3 to the letter. For
 *                            study only: it loses ids.
 *
 * Guarantee  Elastic: an id added at time x is recognised at every time up to x + W. A fresh id is
 *            taken for a duplicate with a probability of at most e, at any load and while the
 *            filter adapts. An id is forgotten by x + W (1 + slack).
 *            Paper: an id added at x is recognised up to x + (N+1)t, or up to x + window_ms if a
 *            window was given. Nothing bounds the error; lethe_forgetful_info reports it.
 *            Printed: none. With N = 1 and without adaptation it is the paper's setting. Otherwise
 *            ids are forgotten up to a period early, and earlier when the filters are doubled.
 * Memory     Elastic: at a steady load about 25 bits per id in the window at e = 1e-3, 42 at 1e-6
 *            and 72 at 1e-12. max_memory_bytes and policy bound it. Paper and
 *            printed: (N+2) m bits.
 * Threads    Readers may share a filter; a writer needs it alone.
 * Time       Is an argument, in milliseconds from any origin. The filter's clock never goes back: a
 *            time before the latest one counts as the latest, so nothing is forgotten early. A jump
 *            far ahead forgets everything. Reads change nothing, not even the clock.
 * Caveats    An id cannot be removed. A time that is wrongly far ahead stays in the clock: reject
 *            absurd times before you call. */
#ifndef LETHE_FORGETFUL_H
#define LETHE_FORGETFUL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/hash.h"
#include "lethe/io.h"
#include "lethe/policy.h"
#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lethe_forgetful lethe_forgetful;

typedef enum lethe_forgetful_setting {
    LETHE_FORGETFUL_ELASTIC = 0,
    LETHE_FORGETFUL_PAPER = 1,
    LETHE_FORGETFUL_PRINTED = 2
} lethe_forgetful_setting;

/* The two membership tests of the paper. */
typedef enum lethe_forgetful_check_kind {
    /* Two neighbours must match: Algorithm 2, corrected or as printed. */
    LETHE_FORGETFUL_OPTIMISED = 0,
    /* Any filter may match: Section III-A. */
    LETHE_FORGETFUL_SIMPLE = 1
} lethe_forgetful_check_kind;

/* What Algorithm 3 may adapt. The algorithm as published adapts both. */
enum { LETHE_FORGETFUL_ADAPT_FILTERS = 1, LETHE_FORGETFUL_ADAPT_PERIOD = 2 };

/* Zero in a field selects its default; NULL options are all defaults. A field that belongs to
 * another setting must be zero. What is said of the paper's setting holds for the printed one too,
 * except where that is mentioned. */
typedef struct lethe_forgetful_options {
    size_t size;

    lethe_forgetful_setting setting;

    /* Elastic: what gives way at the cap. */
    lethe_policy policy;

    /* W. Elastic: 0 -> 600,000; 1 second..30 days. Paper: 0 -> none; otherwise (N+1)t >= W holds
     * while the filter adapts. Printed: must be 0. */
    uint64_t window_ms;
    /* Elastic: e; 0 -> 1e-6; [1e-12, 0.1]. Paper: the target of Algorithm 3; 0 -> 0.01. */
    double error;
    /* Elastic: 0 -> 0.25; [0.02, 1]. */
    double slack;
    /* Elastic: ids expected in W; 0 -> unknown; up to 2^36. A hint that saves growing; memory
     * follows the actual load. */
    uint64_t capacity;
    /* 0 -> no cap. Elastic: at least 64 KiB. */
    uint64_t max_memory_bytes;

    /* Paper: m, the bits of each filter; 0 -> 6250; 1..2^40. */
    uint64_t bits;
    /* Paper: k; 0 -> 5; 1..64. */
    uint32_t hashes;
    /* Paper: N; 0 -> 1; 1..4094. */
    uint32_t past;
    /* Paper: t; 0 -> 5000; 1..30 days; if it adapts, 1 second..1 hour. */
    uint64_t period_ms;
    /* Paper. */
    lethe_forgetful_check_kind check;
    /* Paper: LETHE_FORGETFUL_ADAPT_... bits; 0 -> fixed. */
    uint32_t adapt;
    /* Paper: false as published. Printed: must be false. Elastic filters always are. */
    bool salted;

    /* Keys the hash and the salts; 0 -> LETHE_DEFAULT_SEED. It is saved with the filter. */
    uint64_t seed;
    /* NULL -> the default one. It must outlive the filter. */
    const lethe_allocator *allocator;
} lethe_forgetful_options;

typedef struct lethe_forgetful_stats {
    size_t size;

    lethe_forgetful_setting setting;
    /* LETHE_STRAIN_... bits, or 0. */
    uint32_t strain;

    /* Paper: 0 if none was given. */
    uint64_t window_ms;
    uint64_t seed;
    /* Elastic. */
    double slack;

    double error_target;
    /* The probability that a fresh id is taken for a duplicate, now. */
    double error_estimate;

    /* A filter is the newest for at most this long. */
    uint64_t period_ms;
    /* The latest time seen; 0 before the first. */
    uint64_t clock_ms;
    /* The age of the oldest id that is still recognised; 0 if there is none. */
    uint64_t oldest_age_ms;

    /* Filters in the list, for lethe_forgetful_member. */
    uint32_t filters;
    /* Paper: the current N. Elastic: 0. */
    uint32_t past;

    /* Ids that were added and are still recognised; an id that was added twice counts twice. */
    uint64_t ids_held;
    /* All that is allocated. */
    uint64_t memory_bytes;

    /* So far: ids added, duplicates that add_and_test found, and ids refused with LETHE_EFULL. */
    uint64_t fresh;
    uint64_t duplicates;
    uint64_t refused;
} lethe_forgetful_stats;

/* One of the Bloom filters. */
typedef struct lethe_forgetful_filter {
    size_t size;

    /* k */
    uint32_t hashes;
    /* Whether it takes part in tests at the time asked for. */
    bool is_live;
    /* Whether a match in it counts without its older neighbour. */
    bool is_alone;

    /* m */
    uint64_t bits;
    uint64_t bits_set;

    /* Ids added to it, as the newest filter and as the second; and as the newest only. */
    uint64_t ids;
    uint64_t ids_as_first;
    /* When the first and the last id were added to it as the newest; 0 if there were none. */
    uint64_t first_ms;
    uint64_t last_ms;

    /* The probability that a fresh id passes it. Paper: by Equation 1; elastic: from its bits. */
    double error;
} lethe_forgetful_filter;

/* Creates an empty filter. The caller owns *out (lethe_forgetful_free). On error *out is NULL.
 * Cost: elastic O(1), the first id allocates the first filters; paper O(N m).
 * Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_new(const lethe_forgetful_options *options,
                                                            lethe_forgetful **out);

/* Creates an independent copy with the same allocator. On error *out is NULL.
 * Cost: O(memory). Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_copy(const lethe_forgetful *filter,
                                                             lethe_forgetful **out);

/* Takes NULL. */
LETHE_API void lethe_forgetful_free(lethe_forgetful *filter);

/* Forgets all ids, the totals and the clock. Options and seed stay, and in the paper's setting the
 * current N and t. Takes NULL. Cost: O(memory). */
LETHE_API void lethe_forgetful_clear(lethe_forgetful *filter);

/* The seed to hash ids with; 0 for NULL. Cost: O(1). */
LETHE_API uint64_t lethe_forgetful_seed(const lethe_forgetful *filter);

/* Whether the id is reported as added within the last W, as of now_ms. Changes nothing and
 * allocates nothing. False for NULL.
 * Cost: about one cache miss per filter for a fresh id: half of the filters are tested, with two
 * cache misses each on average. */
LETHE_API bool lethe_forgetful_test(const lethe_forgetful *filter, lethe_hash hash,
                                    uint64_t now_ms);

/* Adds an id, whether it is a duplicate or not. On error nothing has changed except the count of
 * refusals. Cost: 2k cache misses; now and then, when a period begins, one allocation.
 * Errors: LETHE_EINVAL, LETHE_EFULL (the cap, with LETHE_POLICY_REFUSE), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_add(lethe_forgetful *filter,
                                                            lethe_hash hash, uint64_t now_ms);

/* Both in one step: answers, and adds the id if it is fresh (Algorithm 1). A duplicate is not added
 * again. On error *answer is LETHE_ANSWER_REFUSED. Errors: as add. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_add_and_test(lethe_forgetful *filter,
                                                                     lethe_hash hash,
                                                                     uint64_t now_ms,
                                                                     lethe_answer *answer);

/* Batches: the same answers as count single calls in order, with the cache misses overlapped.
 * answers[i] becomes a lethe_answer. All ids are tried. The status is the first error; ids that
 * met one are LETHE_ANSWER_REFUSED. Errors: as the single calls. */
LETHE_API lethe_status lethe_forgetful_test_batch(const lethe_forgetful *filter,
                                                  const lethe_hash *hashes, size_t count,
                                                  uint64_t now_ms, uint8_t *answers);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_add_and_test_batch(lethe_forgetful *filter,
                                                                           const lethe_hash *hashes,
                                                                           size_t count,
                                                                           uint64_t now_ms,
                                                                           uint8_t *answers);

/* Gives the filter the time when there is nothing to add: frees expired filters, and in the
 * paper's setting refreshes and, once per second of that time, resizes. `budget` is the number
 * of filters to free or refresh at most, 0 for none; eight runs of Algorithm 3 count as one. *more
 * becomes whether there is more to do. Except for resizing, answers never depend on this call.
 * Cost: O(budget). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_forgetful_work(lethe_forgetful *filter, uint64_t now_ms,
                                            unsigned budget, bool *more);

/* Reports the state of the filter at now_ms. Cost: O(filters). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_forgetful_info(const lethe_forgetful *filter, uint64_t now_ms,
                                            lethe_forgetful_stats *out);

/* Reports one of its filters at now_ms; 0 is the newest.
 * Cost: O(1). Errors: LETHE_EINVAL (also for an index that is not below stats.filters). */
LETHE_API lethe_status lethe_forgetful_member(const lethe_forgetful *filter, uint32_t index,
                                              uint64_t now_ms, lethe_forgetful_filter *out);

/* Adds all that other remembers: copies its filters into the list, where they stay until they
 * expire, and adds its totals. The error is the sum of both, and a strain while it is above the
 * target. Elastic only. Cost: O(memory of other).
 * Errors, with nothing changed: LETHE_EINVAL, LETHE_EMISMATCH (setting, window or seed differ, or
 * the setting is not elastic), LETHE_EFULL (the cap, or more than 4096 filters), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_merge(lethe_forgetful *filter,
                                                              const lethe_forgetful *other);

/* Writes the filter: docs/format/forgetful.md.
 * Cost: O(memory). Errors: LETHE_EINVAL, LETHE_ENOMEM, the sink's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_save(const lethe_forgetful *filter,
                                                             lethe_sink sink);

/* Reads a filter that save wrote. The caller owns *out; on error it is NULL. A NULL allocator is
 * the default one. Cost: O(memory). Errors: LETHE_EINVAL, LETHE_ECORRUPT, LETHE_ETYPE,
 * LETHE_EVERSION, LETHE_ENOMEM, the source's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_load(lethe_source source,
                                                             const lethe_allocator *allocator,
                                                             lethe_forgetful **out);

#ifdef __cplusplus
}
#endif

#endif

/* lethe/forgetful.h - the forgetful Bloom filter: "seen in the last W?", and then no more.
 *
 * A short list of Bloom filters, each for a stretch of time. An id goes into the two newest, so
 * that neighbours overlap; the oldest are dropped as time passes. Two settings of one type:
 *
 *   LETHE_FORGETFUL_ELASTIC  The default, for use. Told a window W and an error e, it keeps
 *                            both at any load: filters are salted, close when their share of the
 *                            error is used up, follow the load in size, and expire by age.
 *   LETHE_FORGETFUL_PAPER    The filter of Subramanyam, Gupta, Leslie and Wang with its fixed m, k,
 *                            N and t and its dynamic resizing, corrected only where it would
 *                            lose ids. For study and comparison: see docs/papers.md.
 *
 * Guarantee  Elastic: an id recorded at time x is recognised at every time up to x + W; a fresh id
 *            is taken for a duplicate with a probability of at most e, at any load and while
 *            adapting; an id is gone by x + W(1 + slack).
 *            Paper: an id recorded at x is recognised up to x + (N+1)t, or up to x + window_ms if a
 *            window was given. The error is what it is; info tells.
 * Memory     Elastic: about 25 bits an id of the window at e = 1e-3, 42 at 1e-6, 72 at 1e-12, when
 *            the load is steady. max_memory_bytes bounds it, see policy. Paper: (N+2) m bits.
 * Threads    Readers may share a filter; a writer needs it alone.
 * Time       An argument, in milliseconds since any beginning. Inside it never goes back: a time
 *            before the latest one seen counts as that one, so nothing is forgotten early. A jump
 *            far ahead forgets everything. Reads change nothing, not even the clock.
 * Caveats    No single id can be forgotten on purpose. A record after a time that was wrongly
 *            far ahead keeps that clock: guard against absurd times before calling. */
#ifndef LETHE_FORGETFUL_H
#define LETHE_FORGETFUL_H

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

typedef struct lethe_forgetful lethe_forgetful;

typedef enum lethe_forgetful_setting {
    LETHE_FORGETFUL_ELASTIC = 0,
    LETHE_FORGETFUL_PAPER = 1
} lethe_forgetful_setting;

/* What happens when the memory cap leaves no room to keep the error. */
typedef enum lethe_forgetful_policy {
    LETHE_FORGETFUL_REFUSE = 0, /* recording returns LETHE_EFULL until something has expired */
    LETHE_FORGETFUL_DEGRADE = 1 /* ids are recorded all the same and the error rises */
} lethe_forgetful_policy;

/* The paper's two membership checks. */
typedef enum lethe_forgetful_check_kind {
    LETHE_FORGETFUL_OPTIMISED = 0, /* neighbours together: Algorithm 2, corrected */
    LETHE_FORGETFUL_SIMPLE = 1     /* any filter will do: Section III-A */
} lethe_forgetful_check_kind;

/* Which knobs Algorithm 3 may turn; both together is the algorithm as published. */
enum { LETHE_FORGETFUL_ADAPT_FILTERS = 1, LETHE_FORGETFUL_ADAPT_PERIOD = 2 };

/* Zero in a field selects its default; NULL means all defaults. A field that belongs to the other
 * setting must be zero. */
typedef struct lethe_forgetful_options {
    lethe_forgetful_setting setting;
    uint64_t window_ms; /* W; elastic: 0 -> 600000; 1 s..30 days.
                         * paper: 0 -> none; otherwise (N+1)t >= W is kept while adapting */
    double error;       /* elastic: e; 0 -> 1e-6; [1e-12, 0.1].
                         * paper: Algorithm 3's target; 0 -> 0.01 */
    double slack;       /* elastic: 0 -> 0.25; [0.02, 1]; an id is gone by x + W(1 + slack) */
    uint64_t capacity; /* elastic: ids expected in a window; 0 -> found out; up to 2^36. A hint that
                         * spares growing: memory follows the load that comes */
    uint64_t max_memory_bytes;     /* 0 -> no cap; elastic: at least 64 KiB */
    lethe_forgetful_policy policy; /* elastic: what gives way at the cap */

    uint64_t bits;      /* paper: m of each filter; 0 -> 6250; 1..2^40 */
    uint32_t hashes;    /* paper: k; 0 -> 5; 1..64 */
    uint32_t past;      /* paper: N; 0 -> 1; 1..4094 */
    uint64_t period_ms; /* paper: t; 0 -> 5000; 1..30 days; to adapt it, 1 s..1 hour */
    lethe_forgetful_check_kind check; /* paper */
    uint32_t adapt;                   /* paper: LETHE_FORGETFUL_ADAPT_..., 0 -> fixed */
    bool salted;                      /* paper: false as published; elastic filters always are */

    uint64_t seed; /* keys the hash and the salts; 0 -> LETHE_DEFAULT_SEED; saved with the filter */
    const lethe_allocator *allocator; /* NULL -> the default; must outlive the filter */
} lethe_forgetful_options;

/* Which promises do not hold at the moment. */
enum {
    LETHE_FORGETFUL_STRAIN_ERROR = 1,  /* the error estimate is above the target */
    LETHE_FORGETFUL_STRAIN_MEMORY = 2, /* the cap was in the way since the last period began */
    LETHE_FORGETFUL_STRAIN_REFUSED = 4 /* the last record was refused */
};

typedef struct lethe_forgetful_stats {
    lethe_forgetful_setting setting;
    uint64_t window_ms;     /* W; paper: 0 when none was given */
    double slack;           /* elastic */
    double error_target;    /* e */
    double error_estimate;  /* probability that a fresh id is taken for a duplicate, now */
    uint64_t period_ms;     /* a filter is the newest for at most so long */
    uint64_t clock_ms;      /* latest time seen; 0 before the first */
    uint64_t oldest_age_ms; /* of the oldest id that is still recognised; 0 when there is none */
    uint64_t ids_held;      /* recorded and still recognised, the repeated ones each time */
    uint64_t fresh;         /* recorded, ever */
    uint64_t duplicates;    /* found by check_and_record, ever */
    uint64_t refused;       /* answered LETHE_EFULL, ever */
    uint64_t memory_bytes;  /* all that is allocated */
    uint32_t filters;       /* how many lethe_forgetful_member can be asked for */
    uint32_t past;          /* paper: N as it is now; elastic: 0 */
    unsigned strain;        /* LETHE_FORGETFUL_STRAIN_... or 0 */
    uint64_t seed;
} lethe_forgetful_stats;

/* One of the Bloom filters. */
typedef struct lethe_forgetful_filter {
    uint64_t bits;         /* m */
    uint32_t hashes;       /* k */
    uint64_t bits_set;     /* counted as they are set */
    uint64_t ids;          /* recorded into it: as the newest filter and as the second */
    uint64_t ids_as_first; /* of them, as the newest */
    uint64_t first_ms;     /* when ids were recorded into it as the newest, first and */
    uint64_t last_ms;      /* last; both 0 when there were none */
    double error;  /* p(B): that a fresh id passes it; paper: Equation 1, elastic: its bits */
    bool is_live;  /* takes part in checks at the time asked for */
    bool is_alone; /* a match in it counts without its older neighbour */
} lethe_forgetful_filter;

/* Creates an empty filter. The caller owns *out (lethe_forgetful_free). On error *out is NULL.
 * Cost: O(1) elastic, which allocates its first filters with the first id; O(N m) paper.
 * Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_new(const lethe_forgetful_options *options,
                                                            lethe_forgetful **out);

/* Creates an independent copy with the same allocator. Cost: O(memory). Errors: LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_copy(const lethe_forgetful *filter,
                                                             lethe_forgetful **out);

/* Takes NULL. */
LETHE_API void lethe_forgetful_free(lethe_forgetful *filter);

/* Forgets all ids, the totals and the clock; options, seed, and in the paper's setting N and t as
 * they were adapted, stay. Cost: O(memory). */
LETHE_API void lethe_forgetful_clear(lethe_forgetful *filter);

/* Whether the id counts as recorded at now_ms. Changes nothing, allocates nothing.
 * Cost: about one cache miss a filter for a fresh id: half of the filters are probed, twice each
 * on average. */
LETHE_API bool lethe_forgetful_check(const lethe_forgetful *filter, lethe_hash hash,
                                     uint64_t now_ms);

/* Records an id, known or not. On error nothing has changed but the count of refusals.
 * Cost: 2k cache misses; now and then, when a period begins, one allocation.
 * Errors: LETHE_EFULL (cap and policy refuse), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_record(lethe_forgetful *filter,
                                                               lethe_hash hash, uint64_t now_ms);

/* Records an id unless it counts as recorded already, and tells which in *duplicate: Algorithm 1.
 * A duplicate is not recorded again. *duplicate is false on error. Errors: as of record. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_check_and_record(lethe_forgetful *filter,
                                                                         lethe_hash hash,
                                                                         uint64_t now_ms,
                                                                         bool *duplicate);

/* Batches: the same answers as count single calls in order (an id that repeats within the batch
 * is found), with the cache misses overlapped. duplicate[i] becomes 1 or 0. The recording
 * form stops at the first error; *done, unless NULL, tells how many ids were dealt with. */
LETHE_API void lethe_forgetful_check_batch(const lethe_forgetful *filter, const lethe_hash *hashes,
                                           size_t count, uint64_t now_ms, uint8_t *duplicate);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_check_and_record_batch(
    lethe_forgetful *filter, const lethe_hash *hashes, size_t count, uint64_t now_ms,
    uint8_t *duplicate, size_t *done);

/* Lets time pass: gives back what has expired, and in the paper's setting refreshes and, once a
 * second of that time, resizes. Answers never depend on when it is called, except for resizing. Does
 * a bounded piece of work and returns whether more is left to do at once. */
LETHE_API bool lethe_forgetful_advance(lethe_forgetful *filter, uint64_t now_ms);

/* How the filter stands at now_ms. Cost: O(filters). */
LETHE_API lethe_forgetful_stats lethe_forgetful_info(const lethe_forgetful *filter,
                                                     uint64_t now_ms);

/* One of its filters, 0 being the newest; index is below stats.filters. Cost: O(1). */
LETHE_API lethe_forgetful_filter lethe_forgetful_member(const lethe_forgetful *filter,
                                                        uint32_t index, uint64_t now_ms);

/* Adds all that other remembers: its filters are copied beside the own ones and kept until they
 * age, and its totals are added. The error is the sum of both, and shows as strain while
 * it is above the target. Elastic only. On error nothing has changed.
 * Cost: O(memory of other). Errors: LETHE_EMISMATCH (setting, window or seed differ, or it is the
 * paper's), LETHE_EFULL (the cap, or more than 4096 filters), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_merge(lethe_forgetful *filter,
                                                              const lethe_forgetful *other);

/* Writes the filter. Cost: O(memory). Errors: LETHE_ENOMEM, the sink's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_save(const lethe_forgetful *filter,
                                                             lethe_sink sink);
/* Reads a filter that save wrote; allocator NULL is the default. On error *out is NULL. Cost:
 * O(memory). Errors: LETHE_ECORRUPT, LETHE_ETYPE, LETHE_EVERSION, LETHE_ENOMEM, the source's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_forgetful_load(lethe_source source,
                                                             const lethe_allocator *allocator,
                                                             lethe_forgetful **out);

#ifdef __cplusplus
}
#endif

#endif

/* lethe/window.h - was this operation applied within the last W?
 *
 * A window remembers ids for a retry window W and then forgets them. It answers `fresh` or
 * `duplicate`, and errs on one side only:
 *
 * Guarantee  P1  An id recorded at time x is recognised at every time up to x + W.
 *            P2  A fresh id is taken for a duplicate with a probability of at most `error`, at any
 *                load, in steady state and while the window adapts to it. info tells the estimate.
 *            P3  An id is forgotten by x + W (1 + slack).
 *            P4  Memory stays under max_memory_bytes where that is set. When the load makes that
 *                impossible together with P2, the policy decides: refuse new ids (LETHE_EFULL,
 *                nothing changed), or let the error rise; info says which promise is strained.
 * Memory     For n ids in W: about 21 n bits at an error of 1e-3, 32 at 1e-6, 57 at 1e-12
 *            (quotient kind, capacity hinted). `lethe bench window` measures it.
 * Time       Is an argument, in milliseconds from any origin. It should not go back; where it does, the
 *            window's own clock stands still, so that nothing is forgotten early. A jump ahead
 *            forgets what is too old by then. Nothing here reads a clock.
 * Threads    With stripes = 0 a window belongs to one thread at a time. With stripes > 0 any
 *            thread may call anything but free, load and merge; copies of one id that
 *            race are settled by a lock on the id's stripe: exactly one is fresh.
 * Caveats    The caller hashes ids with lethe_hash_bytes and the window's own seed. `forget` is only
 *            for the caller that was told `fresh`; forgetting an id that was never
 *            recorded removes another one's memory with probability `error`. */
#ifndef LETHE_WINDOW_H
#define LETHE_WINDOW_H

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

typedef struct lethe_window lethe_window;

typedef enum lethe_window_kind {
    LETHE_WINDOW_QUOTIENT =
        0,                 /* the forgetful quotient filter: smaller, faster, can forget one id */
    LETHE_WINDOW_BLOOM = 1 /* the forgetful Bloom filter of the paper, elastic setting */
} lethe_window_kind;

typedef enum lethe_window_policy {
    LETHE_WINDOW_REFUSE = 0, /* at the memory cap, record fails with LETHE_EFULL */
    LETHE_WINDOW_DEGRADE =
        1 /* near the memory cap, the error rises; LETHE_EFULL only when not even the
                              * shortest fingerprints fit: in a burst, as when a log is replayed, beyond
                              * about twice what fits at the error asked for */
} lethe_window_policy;

typedef enum lethe_window_answer {
    LETHE_FRESH = 0,
    LETHE_DUPLICATE = 1,
    LETHE_REFUSED = 2 /* not a duplicate, but it could not be remembered: the status says why */
} lethe_window_answer;

/* Zero in a field selects its default; NULL means all defaults. */
typedef struct lethe_window_options {
    lethe_window_kind kind;
    uint64_t window_ms;        /* W; 0 -> 600,000 (10 minutes); 1,000..2,592,000,000 (30 days) */
    double error;              /* e; 0 -> 1e-6; [1e-12, 0.1]; halving costs about 1.1 bits an id */
    double slack;              /* 0 -> 0.25; [0.02, 1]; less costs memory */
    uint64_t capacity;         /* ids expected in W; 0 -> unknown: starts small and grows */
    uint64_t max_memory_bytes; /* 0 -> no cap */
    lethe_window_policy policy;
    bool refresh_on_duplicate; /* a duplicate counts as a new sighting and extends its id's life */
    uint32_t stripes;          /* 0 -> for one thread; 1..64, a power of two -> thread-safe */
    uint64_t seed; /* keys the hash; 0 -> LETHE_DEFAULT_SEED; stores draw a random one */
    const lethe_allocator *allocator; /* NULL -> the default; must outlive the window */
} lethe_window_options;

/* Promises under strain, as bits of lethe_window_stats.strain. */
enum {
    LETHE_STRAIN_ERROR = 1,  /* P2: the estimate is above the target (a merge, or policy degrade) */
    LETHE_STRAIN_MEMORY = 2, /* P4: the cap was met; ids are refused or the error rises */
    LETHE_STRAIN_CLOCK = 4 /* time is behind the window's clock: expiry waits for it to catch up */
};

typedef struct lethe_window_stats {
    lethe_window_kind kind;
    uint64_t window_ms;
    uint64_t seed;
    uint64_t clock_ms;      /* the latest time it was told */
    uint64_t oldest_age_ms; /* upper bound of the age of what it still remembers; 0 when empty */
    double error_target;
    double error_estimate; /* that a fresh id is taken for a duplicate, now */
    double slack;          /* what P3 is kept with; at most the option */
    uint64_t period_ms;    /* granularity of forgetting */
    uint32_t parts;        /* tables or filters that a check looks into */
    uint32_t generations;  /* periods it tells apart */
    uint64_t ids;          /* remembered */
    uint64_t capacity;     /* ids its newest part was sized for */
    uint64_t memory_bytes;
    uint64_t peak_memory_bytes;
    uint64_t max_memory_bytes;
    uint64_t fresh; /* answers so far */
    uint64_t duplicates;
    uint64_t refused;
    uint32_t strain; /* LETHE_STRAIN_... */
} lethe_window_stats;

/* Creates an empty window. The caller owns *out (lethe_window_free). On error *out is NULL.
 * Cost: O(capacity). Errors: LETHE_EINVAL, LETHE_ENOMEM, LETHE_EFULL (the hint exceeds the cap). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_new(const lethe_window_options *options,
                                                         lethe_window **out);
/* Takes NULL. */
LETHE_API void lethe_window_free(lethe_window *window);

/* The seed to hash ids with. */
LETHE_API uint64_t lethe_window_seed(const lethe_window *window);

/* Was the id recorded within the last W, as of now_ms? Changes nothing.
 * Cost: two cache misses, neither waiting for the other; four at an error below about 1e-7. */
LETHE_API lethe_window_answer lethe_window_check(const lethe_window *window, lethe_hash id,
                                                 uint64_t now_ms);

/* Remembers an id from now_ms on, whatever was known of it.
 * Cost: as check; a few in a hundred move another entry, which takes a few cache misses more; now and
 * then a segment of 2 to 4 MiB is allocated or freed. Errors: LETHE_EFULL (policy), LETHE_ENOMEM; then
 * nothing is remembered. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_record(lethe_window *window, lethe_hash id,
                                                            uint64_t now_ms);

/* Both in one step: answers, and remembers the id if it was fresh.
 * Errors: as record; then *answer is LETHE_REFUSED, or LETHE_DUPLICATE for a duplicate that could
 * not be refreshed and lives on as before. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_check_and_record(lethe_window *window,
                                                                      lethe_hash id,
                                                                      uint64_t now_ms,
                                                                      lethe_window_answer *answer);

/* Batches: the same answers as count single calls in order, with the cache misses overlapped.
 * answers[i] becomes a lethe_window_answer. All ids are tried; the status is the first error, and the
 * ids that met one are LETHE_REFUSED. Best from about 64 ids up. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_check_and_record_batch(
    lethe_window *window, const lethe_hash *ids, size_t count, uint64_t now_ms, uint8_t *answers);
LETHE_API void lethe_window_check_batch(const lethe_window *window, const lethe_hash *ids,
                                        size_t count, uint64_t now_ms, uint8_t *answers);

/* As count records in order, with the cache misses overlapped: rebuilds a window from a log. All ids are
 * tried; the status is the first error, and the ids that met one are not remembered. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_record_batch(lethe_window *window,
                                                                  const lethe_hash *ids,
                                                                  size_t count, uint64_t now_ms);

/* Announces an id that will be asked about soon, so that its memory is on its way by then. For callers
 * that have ids one by one, but know each a moment (100 ns, or some ids) before they need the answer;
 * batches do it by themselves. Changes nothing. The Bloom kind ignores it. */
LETHE_API void lethe_window_prefetch(const lethe_window *window, lethe_hash id);

/* Forgets one id on purpose, because its operation failed after it was recorded. Only for the
 * caller that was told LETHE_FRESH. Where another id can't be told from it, as happens with
 * probability `error`, both are kept, and this one stays a duplicate. An id that was recorded again (a replayed log, a
 * refresh, a merge) may have entries in several parts, and all of them go; then another one that can't be told
 * from it in one of these parts goes with them. Errors: LETHE_ENOTFOUND (not remembered), LETHE_EINVAL (the Bloom kind can't). Cost: as record. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_forget(lethe_window *window, lethe_hash id,
                                                            uint64_t now_ms);

/* Tells the window the time when there is nothing to record, so that it can give memory back.
 * At most `budget` segments are freed; returns whether there is more to do. Correctness never
 * depends on it. Cost: O(budget). */
LETHE_API bool lethe_window_work(lethe_window *window, uint64_t now_ms, unsigned budget);

/* Cost: O(parts); Bloom kind: and a sample of a few thousand blocks. Changes nothing. */
LETHE_API lethe_window_stats lethe_window_info(const lethe_window *window, uint64_t now_ms);

/* Takes over all that other remembers; other is emptied. Both lists are kept until they age; until
 * then the error is the sum of both. Errors: LETHE_EMISMATCH (kind, W, slack, seed, stripes or
 * allocator differ), LETHE_EFULL (the cap, or too many parts), LETHE_ENOMEM; then nothing is changed.
 * Cost: O(parts); Bloom kind: O(memory). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_merge(lethe_window *window,
                                                           lethe_window *other);

/* Saving and loading: docs/format/window.md. Cost: O(memory).
 * Errors: as for lethe/bloom.h. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_save(const lethe_window *window,
                                                          lethe_sink sink);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_load(lethe_source source,
                                                          const lethe_allocator *allocator,
                                                          lethe_window **out);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_save_file(const lethe_window *window,
                                                               const char *path);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_load_file(const char *path,
                                                               const lethe_allocator *allocator,
                                                               lethe_window **out);

#ifdef __cplusplus
}
#endif

#endif

/* lethe/window.h - was this id added within the last W?
 *
 * A window remembers ids for a retry window W and then forgets them. It answers `fresh` or
 * `duplicate`, and errs in one direction only:
 *
 * Guarantee  P1  An id added at time x is recognised at every time up to x + W.
 *            P2  A fresh id is taken for a duplicate with a probability of at most `error`, at any
 *                load, in steady state and while the window adapts. lethe_window_info reports the
 *                current estimate.
 *            P3  An id is forgotten by x + W (1 + slack).
 *            P4  Memory stays below max_memory_bytes if that is set. If the load makes P2 and the
 *                cap impossible together, the policy decides: refuse new ids (LETHE_EFULL, nothing
 *                changes) or let the error rise. lethe_window_info reports which promises are
 *                strained.
 * Memory     For n ids in W: about 21 n bits at an error of 1e-3, 32 n at 1e-6 and 57 n at 1e-12
 *            (quotient kind, with the capacity given). `lethe bench window-memory` measures it.
 * Time       Is an argument, in milliseconds from any origin. It should not go back. If it does,
 *            the window's clock stands still, so nothing is forgotten early. A jump ahead
 *            forgets the ids that are too old by then. Nothing here reads a clock.
 * Threads    With stripes = 0, a window belongs to one thread at a time. With stripes > 0, any
 *            thread may call any function except free, load, merge and refill. If the same id comes
 *            in several threads at once, a lock on its stripe decides: exactly one of them is
 *            fresh.
 * Caveats    The caller hashes ids with lethe_hash_bytes and the window's own seed. Only the caller
 *            that got the answer `fresh` may remove an id. Removing an id that was never added
 *            removes another one, with probability `error`. */
#ifndef LETHE_WINDOW_H
#define LETHE_WINDOW_H

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

typedef struct lethe_window lethe_window;

typedef enum lethe_window_kind {
    /* The forgetful quotient filter: smaller and faster, and can remove an id. */
    LETHE_WINDOW_QUOTIENT = 0,
    /* The forgetful Bloom filter of the paper (lethe/forgetful.h), elastic setting. */
    LETHE_WINDOW_FORGETFUL = 1
} lethe_window_kind;

/* Zero in a field selects its default; NULL options are all defaults. */
typedef struct lethe_window_options {
    size_t size;

    lethe_window_kind kind;

    /* What gives way at the cap. With LETHE_POLICY_DEGRADE, LETHE_EFULL comes only if not even the
     * shortest fingerprints fit: in a burst, such as a log that is replayed, beyond one and a half
     * times the ids that fit at the error asked for. */
    lethe_policy policy;

    /* W; 0 -> 600,000 (10 minutes); 1,000..2,592,000,000 (30 days). */
    uint64_t window_ms;
    /* e; 0 -> 1e-6; [1e-12, 0.1]. Halving it costs about 1.1 bits per id. */
    double error;
    /* 0 -> 0.25; [0.02, 1]. A smaller slack costs memory. */
    double slack;

    /* Ids expected in W, up to 2^36; 0 -> unknown: the window starts small and grows. */
    uint64_t capacity;
    /* 0 -> no cap. */
    uint64_t max_memory_bytes;

    /* Whether a duplicate extends the life of its id, as if the id were added again. Not for the
     * forgetful kind. */
    bool refresh_on_duplicate;
    /* 0 -> for one thread; 1..64, a power of two -> thread-safe. */
    uint32_t stripes;

    /* Keys the hash; 0 -> LETHE_DEFAULT_SEED. Stores use a random one. */
    uint64_t seed;
    /* NULL -> the default one. It must outlive the window. */
    const lethe_allocator *allocator;

    /* Blocks of one cache line rather than of two, wherever that takes at most a tenth more memory:
     * an id then costs two cache misses and not four. It is not saved with the window: one that is
     * loaded plans further parts without it. Not for the forgetful kind. */
    bool one_line;
} lethe_window_options;

typedef struct lethe_window_stats {
    size_t size;

    lethe_window_kind kind;
    /* LETHE_STRAIN_... bits, or 0. */
    uint32_t strain;

    uint64_t window_ms;
    uint64_t seed;

    /* The latest time that the window was given. */
    uint64_t clock_ms;
    /* An upper bound of the age of the oldest id that is remembered; 0 if there is none. */
    uint64_t oldest_age_ms;

    double error_target;
    /* The probability that a fresh id is taken for a duplicate, now. */
    double error_estimate;
    /* What P3 is kept with: at most the option. */
    double slack;

    /* The granularity of forgetting, and the number of periods that the window distinguishes. */
    uint64_t period_ms;
    uint32_t generations;
    /* What a test looks at: the parts of the chain, or the forgetful filter's filters. */
    uint32_t parts;

    /* Ids that are remembered. */
    uint64_t ids;
    /* The ids that the newest part was sized for. */
    uint64_t capacity;

    uint64_t memory_bytes;
    uint64_t peak_memory_bytes;
    uint64_t max_memory_bytes;

    /* Answers so far. */
    uint64_t fresh;
    uint64_t duplicates;
    uint64_t refused;
} lethe_window_stats;

/* What a window takes under a load: lethe_window_plan. */
typedef struct lethe_window_needs {
    size_t size;

    /* Ids within W. */
    uint64_t ids;
    /* In the long run, and the most while the window grows to that; the same if the capacity was
     * given. */
    uint64_t memory_bytes;
    uint64_t peak_memory_bytes;
    /* The allocations that nearly all of memory_bytes is made of. */
    uint64_t slabs;
    uint64_t slab_bytes;
    /* The probability that a fresh id is taken for a duplicate, in the long run. */
    double error;
    /* That it had by then, one after the other. */
    uint32_t parts;
    uint32_t reserved;
} lethe_window_needs;

/* Plans: what a window with these options takes when ids arrive at a steady rate, so many within W,
 * from the first moment on. Makes nothing. A cap (max_memory_bytes) is not looked at: compare.
 * Cost: some microseconds. Errors: LETHE_EINVAL (as lethe_window_new; the forgetful kind),
 * LETHE_EFULL (more ids than one window can hold). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_plan(const lethe_window_options *options,
                                                          uint64_t ids, lethe_window_needs *out);

/* Creates an empty window. The caller owns *out (lethe_window_free). On error *out is NULL.
 * Cost: O(capacity). Errors: LETHE_EINVAL, LETHE_ENOMEM, LETHE_EFULL (the capacity needs more than
 * the cap). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_new(const lethe_window_options *options,
                                                         lethe_window **out);

/* Takes NULL. */
LETHE_API void lethe_window_free(lethe_window *window);

/* The seed to hash ids with; 0 for NULL. Cost: O(1). */
LETHE_API uint64_t lethe_window_seed(const lethe_window *window);

/* Whether the id was added within the last W, as of now_ms: LETHE_ANSWER_DUPLICATE or
 * LETHE_ANSWER_FRESH. Changes nothing. To a NULL window every id is fresh.
 * Cost: two cache misses, neither of which waits for the other; four at an error below 1e-7. */
LETHE_API lethe_answer lethe_window_test(const lethe_window *window, lethe_hash id,
                                         uint64_t now_ms);

/* Remembers an id from now_ms on, whether it is a duplicate or not.
 * Cost: as test. A few per cent of the calls move another entry, which takes a few more cache
 * misses. Now and then a slab of 2 to 4 MiB is allocated or freed.
 * Errors: LETHE_EINVAL, LETHE_EFULL (policy), LETHE_ENOMEM; then the id is not remembered. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_add(lethe_window *window, lethe_hash id,
                                                         uint64_t now_ms);

/* Both in one step: answers, and remembers the id if it is fresh. Cost and errors: as add. On error
 * *answer is LETHE_ANSWER_REFUSED, or LETHE_ANSWER_DUPLICATE for a duplicate that could not be
 * refreshed, and is remembered as before. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_add_and_test(lethe_window *window,
                                                                  lethe_hash id, uint64_t now_ms,
                                                                  lethe_answer *answer);

/* Batches: the same answers as count single calls in order, with the cache misses overlapped.
 * answers[i] becomes a lethe_answer. All ids are tried. The status is the first error; ids that
 * met one are LETHE_ANSWER_REFUSED. Best from about 64 ids up. Errors: as the single calls. */
LETHE_API lethe_status lethe_window_test_batch(const lethe_window *window, const lethe_hash *ids,
                                               size_t count, uint64_t now_ms, uint8_t *answers);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_add_and_test_batch(
    lethe_window *window, const lethe_hash *ids, size_t count, uint64_t now_ms, uint8_t *answers);

/* The same as count calls of add in order, for example to rebuild a window from a log. added[i],
 * unless added is NULL, becomes 1, or 0 where the id met an error and is not remembered. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_add_batch(lethe_window *window,
                                                               const lethe_hash *ids, size_t count,
                                                               uint64_t now_ms, uint8_t *added);

/* Ids that are added at one time. */
typedef struct lethe_window_run {
    uint64_t now_ms;
    uint64_t count;
} lethe_window_run;

/* Threads of the caller's, to share work with: the library itself starts none. */
typedef struct lethe_crew {
    /* Tasks that can be done at once. */
    uint32_t members;
    /* Calls task(argument, i) once for each i below members, from any threads and in any order, and
     * returns when all of these calls have returned. */
    void (*run)(void *context, void (*task)(void *argument, uint32_t number), void *argument);
    void *context;
} lethe_crew;

/* The same as a call of add_batch for each run, one after the other: ids has those of the first
 * run, then those of the second. The members of the crew share the work where that is worthwhile:
 * in a quotient window without stripes, of 4 MiB and more, for many ids. The window remembers the
 * same as with one thread, and is the same to the last bit unless a part of it had no room for an
 * id before it was full. The window's allocator must be one that several threads may use, as the
 * default is. crew may be NULL. Cost: as add_batch, divided by the members at best. Errors: as
 * add_batch; LETHE_EINVAL if the crew has no function. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_add_runs(lethe_window *window,
                                                              const lethe_hash *ids,
                                                              const lethe_window_run *runs,
                                                              size_t run_count,
                                                              const lethe_crew *crew);

/* Prepares an empty window for ids that were accepted before, as many as a log has that the window
 * is about to be filled from (add_batch, add_runs). Makes room for them at once, under the cap if
 * they fit: with LETHE_POLICY_DEGRADE, at the lowest error with which they do. What a window with
 * these options accepted always finds room again, if need be with some per cent more memory than
 * the cap; LETHE_STRAIN_MEMORY is set then, and further ids are treated as the policy says. With
 * ids = 0 the refill is over: call that before the window is asked anything. Not saved.
 * Cost: as new. Errors: LETHE_EINVAL (also for the forgetful kind, a window that is not empty, more
 * than 2^36 ids), LETHE_EFULL (one and a half times the cap would not suffice), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_refill(lethe_window *window, uint64_t ids);

/* Announces an id that will be tested or added soon, so that its memory is fetched meanwhile. For
 * callers that get ids one by one, but know each of them a moment (100 ns, or some ids) before they
 * need the answer. Batches do this themselves. Changes nothing. Takes NULL. The forgetful kind
 * ignores it. Cost: O(parts). */
LETHE_API void lethe_window_prefetch(const lethe_window *window, lethe_hash id);

/* Removes an id whose operation failed after it was added. Only for the caller that got
 * LETHE_ANSWER_FRESH. If another id has the same fingerprint, which happens with probability
 * `error`, both are kept, and this id stays a duplicate. An id that was added again (by a
 * replayed log, a refresh or a merge) may have entries in several parts. All of them are
 * removed, and with them an id that has the same fingerprint in one of these parts.
 * Cost: as add. Errors: LETHE_EINVAL (also for the forgetful kind), LETHE_ENOTFOUND (not
 * remembered). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_remove(lethe_window *window, lethe_hash id,
                                                            uint64_t now_ms);

/* For the forgetful kind, which can't remove an id: makes room for one id at now_ms, so that an
 * addition at that time cannot fail, unless something was added to the window in between. A caller
 * whose operation may still fail tests the id, makes room, carries the operation out, and adds the
 * id last. If there is no room, that counts as a refused addition.
 * Cost: as add. Errors: LETHE_EINVAL (also for the quotient kind), LETHE_EFULL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_make_room(lethe_window *window, lethe_hash id,
                                                               uint64_t now_ms);

/* Gives the window the time when there is nothing to add, so that it can free memory. Frees at most
 * `budget` slabs (or filters) per stripe; 0 only lets time pass. *more becomes whether there is
 * more to free. Answers never depend on this call. Cost: O(budget). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_window_work(lethe_window *window, uint64_t now_ms, unsigned budget,
                                         bool *more);

/* Reports the state of the window at now_ms. Changes nothing.
 * Cost: O(parts). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_window_info(const lethe_window *window, uint64_t now_ms,
                                         lethe_window_stats *out);

/* Takes over all that other remembers, and empties other. The parts of both are kept until they
 * expire; until then the error is the sum of both.
 * Cost: O(parts); forgetful kind: O(memory). Errors, with nothing changed: LETHE_EINVAL,
 * LETHE_EMISMATCH (kind, W, slack, seed, stripes or allocator differ, or both are the same window),
 * LETHE_EFULL (the cap, or too many parts), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_merge(lethe_window *window,
                                                           lethe_window *other);

/* Saving and loading: docs/format/window.md. Cost: O(memory). Ownership, detail and errors: as in
 * lethe/bloom.h. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_save(const lethe_window *window,
                                                          lethe_sink sink);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_load(lethe_source source,
                                                          const lethe_allocator *allocator,
                                                          lethe_window **out);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_save_file(const lethe_window *window,
                                                               const char *path,
                                                               lethe_detail *detail);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_window_load_file(const char *path,
                                                               const lethe_allocator *allocator,
                                                               lethe_window **out,
                                                               lethe_detail *detail);

#ifdef __cplusplus
}
#endif

#endif

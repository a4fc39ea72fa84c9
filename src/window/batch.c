/* window/batch.c - operations on many ids: sorts them by stripe and hands each stripe its share.
 *
 * IDEA    A counting sort on the stack, chunk by chunk, keeps the order of ids within each stripe.
 * WHY     A stripe's lock is taken once for many ids, and their memory accesses overlap. */
#include <string.h>

#include "window/window.h"

enum { CHUNK = 1024 };

/* The batch functions of one stripe. */

static lethe_status stripe_add_and_test_batch(const lethe_window *window, uint32_t index,
                                              const lethe_hash *ids, size_t count, uint64_t now_ms,
                                              uint8_t *answers) {
    struct lethe_window_stripe *stripe = lethe_window_take(window, index);
    lethe_status status =
        lethe_window_is_forgetful(window)
            ? lethe_forgetful_add_and_test_batch(stripe->forgetful, ids, count, now_ms, answers)
            : lethe_chain_add_and_test_batch(&stripe->chain, ids, count, now_ms, answers);
    lethe_window_give(window, stripe);
    return status;
}

static lethe_status stripe_test_batch(const lethe_window *window, uint32_t index,
                                      const lethe_hash *ids, size_t count, uint64_t now_ms,
                                      uint8_t *answers) {
    struct lethe_window_stripe *stripe = lethe_window_take(window, index);
    lethe_status status = LETHE_OK;
    if (lethe_window_is_forgetful(window)) {
        status = lethe_forgetful_test_batch(stripe->forgetful, ids, count, now_ms, answers);
    } else {
        lethe_chain_test_batch(&stripe->chain, ids, count, now_ms, answers);
    }
    lethe_window_give(window, stripe);
    return status;
}

static lethe_status forgetful_add_batch(lethe_forgetful *filter, const lethe_hash *ids,
                                        size_t count, uint64_t now_ms, uint8_t *added) {
    lethe_status first = LETHE_OK;
    for (size_t i = 0; i < count; i++) {
        lethe_status status = lethe_forgetful_add(filter, ids[i], now_ms);
        if (added != NULL) added[i] = status == LETHE_OK;
        if (first == LETHE_OK) first = status;
    }
    return first;
}

static lethe_status stripe_add_batch(const lethe_window *window, uint32_t index,
                                     const lethe_hash *ids, size_t count, uint64_t now_ms,
                                     uint8_t *added) {
    struct lethe_window_stripe *stripe = lethe_window_take(window, index);
    lethe_status status = lethe_window_is_forgetful(window)
                              ? forgetful_add_batch(stripe->forgetful, ids, count, now_ms, added)
                              : lethe_chain_add_batch(&stripe->chain, ids, count, now_ms, added);
    lethe_window_give(window, stripe);
    return status;
}

typedef lethe_status batch_function(const lethe_window *window, uint32_t index,
                                    const lethe_hash *ids, size_t count, uint64_t now_ms,
                                    uint8_t *answers);

/* Sorts a chunk by stripe, keeps the order within each stripe, and calls function for each share.
 * answers may be NULL: then what function says about single ids is dropped. */
static lethe_status run_chunk(const lethe_window *window, batch_function *function,
                              const lethe_hash *ids, size_t count, uint64_t now_ms,
                              uint8_t *answers) {
    lethe_hash sorted[CHUNK];
    uint16_t origin[CHUNK];
    uint8_t results[CHUNK] = {0};
    size_t starts[LETHE_WINDOW_MAX_STRIPES + 1] = {0};
    for (size_t i = 0; i < count; i++)
        starts[lethe_window_stripe_of(window, ids[i]) + 1]++;
    for (uint32_t i = 0; i < window->stripe_count; i++)
        starts[i + 1] += starts[i];
    size_t next[LETHE_WINDOW_MAX_STRIPES];
    memcpy(next, starts, sizeof next);
    for (size_t i = 0; i < count; i++) {
        size_t at = next[lethe_window_stripe_of(window, ids[i])]++;
        sorted[at] = ids[i];
        origin[at] = (uint16_t)i;
    }
    lethe_status first = LETHE_OK;
    for (uint32_t i = 0; i < window->stripe_count; i++) {
        size_t size = starts[i + 1] - starts[i];
        if (size == 0) continue;
        lethe_status status =
            function(window, i, sorted + starts[i], size, now_ms, results + starts[i]);
        if (first == LETHE_OK) first = status;
    }
    for (size_t i = 0; i < count && answers != NULL; i++)
        answers[origin[i]] = results[i];
    return first;
}

/* results may be NULL: function then says nothing about single ids. */
static lethe_status run_batch(const lethe_window *window, batch_function *function,
                              const lethe_hash *ids, size_t count, uint64_t now_ms,
                              uint8_t *results) {
    if (window == NULL || (ids == NULL && count > 0)) return LETHE_EINVAL;
    if (window->stripe_count == 1) return function(window, 0, ids, count, now_ms, results);
    lethe_status first = LETHE_OK;
    for (size_t done = 0; done < count; done += CHUNK) {
        size_t chunk = count - done < CHUNK ? count - done : CHUNK;
        lethe_status status = run_chunk(window, function, ids + done, chunk, now_ms,
                                        results != NULL ? results + done : NULL);
        if (first == LETHE_OK) first = status;
    }
    return first;
}

lethe_status lethe_window_add_and_test_batch(lethe_window *window, const lethe_hash *ids,
                                             size_t count, uint64_t now_ms, uint8_t *answers) {
    if (answers == NULL && count > 0) return LETHE_EINVAL;
    return run_batch(window, stripe_add_and_test_batch, ids, count, now_ms, answers);
}

lethe_status lethe_window_test_batch(const lethe_window *window, const lethe_hash *ids,
                                     size_t count, uint64_t now_ms, uint8_t *answers) {
    if (answers == NULL && count > 0) return LETHE_EINVAL;
    return run_batch(window, stripe_test_batch, ids, count, now_ms, answers);
}

lethe_status lethe_window_add_batch(lethe_window *window, const lethe_hash *ids, size_t count,
                                    uint64_t now_ms, uint8_t *added) {
    return run_batch(window, stripe_add_batch, ids, count, now_ms, added);
}

lethe_status lethe_window_add_runs(lethe_window *window, const lethe_hash *ids,
                                   const lethe_window_run *runs, size_t run_count,
                                   const lethe_crew *crew) {
    if (window == NULL || (runs == NULL && run_count > 0)) return LETHE_EINVAL;
    if (crew != NULL && crew->run == NULL) return LETHE_EINVAL;
    for (size_t i = 0; i < run_count; i++) {
        if (ids == NULL && runs[i].count > 0) return LETHE_EINVAL;
    }
    if (window->is_plain && crew != NULL)
        return lethe_chain_add_runs(&window->stripes[0].chain, ids, runs, run_count, crew);
    lethe_status first = LETHE_OK;
    for (size_t i = 0; i < run_count; i++) {
        lethe_status status =
            lethe_window_add_batch(window, ids, runs[i].count, runs[i].now_ms, NULL);
        if (first == LETHE_OK) first = status;
        if (ids != NULL) ids += runs[i].count;
    }
    return first;
}

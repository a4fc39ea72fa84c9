/* window/window.c - the public window: one interface over two kinds, for one thread or many.
 *
 * IDEA    A window consists of one or more stripes. Each stripe is a complete window of its kind,
 *         with its own share of the capacity and of the memory cap. Bits of an id's hash that
 *         nothing else uses choose its stripe. So all duplicates of an id meet in one stripe, under
 *         one lock, and of two that race exactly one is fresh.
 * I1      The error of a fresh id is the error of its own stripe, so every stripe may use all of e.
 * I2      A window for one thread has one stripe and takes no lock.
 *
 * batch.c, info.c, merge.c and format.c have the other public functions. */
#include "window/window.h"
#include "core/allocator.h"
#include "core/inline.h"
#include "core/sized.h"
#include "filter/forgetful/forgetful.h"

/* What one stripe gets of so many ids. They fall on stripes at random: five standard deviations
 * above the mean suffice. */
static uint64_t share_of(const lethe_window *window, uint64_t ids) {
    if (ids == 0 || window->stripe_count == 1) return ids;
    double mean = (double)ids / (double)window->stripe_count;
    double spread = mean;
    for (int i = 0; i < 40; i++)
        spread = (spread + mean / spread) / 2; /* the square root */
    return (uint64_t)(mean + 5 * spread) + 1;
}

lethe_window_options lethe_window_stripe_options(const lethe_window *window) {
    lethe_window_options options = window->options;
    uint64_t count = window->stripe_count;
    if (options.max_memory_bytes > 0) {
        uint64_t fixed_bytes = lethe_window_fixed_bytes(window), cap = options.max_memory_bytes;
        options.max_memory_bytes = cap > fixed_bytes ? (cap - fixed_bytes) / count : 0;
        if (options.max_memory_bytes == 0) options.max_memory_bytes = 1; /* zero is no cap */
    }
    options.capacity = share_of(window, options.capacity);
    return options;
}

static lethe_status forgetful_init(const lethe_window_options *options, lethe_forgetful **out) {
    return lethe_forgetful_new(
        &LETHE_OPTIONS(lethe_forgetful_options, .policy = options->policy,
                       .window_ms = options->window_ms, .error = options->error,
                       .slack = options->slack, .capacity = options->capacity,
                       .max_memory_bytes = options->max_memory_bytes, .seed = options->seed,
                       .allocator = options->allocator),
        out);
}

lethe_status lethe_window_new_without_stripes(const lethe_window_options *options,
                                              lethe_window **out) {
    *out = NULL;
    bool powers = (options->stripes & (options->stripes - 1)) == 0;
    bool kinds = options->kind == LETHE_WINDOW_QUOTIENT || options->kind == LETHE_WINDOW_FORGETFUL;
    if (options->stripes > LETHE_WINDOW_MAX_STRIPES || !powers || !kinds) return LETHE_EINVAL;
    if (options->kind == LETHE_WINDOW_FORGETFUL && options->refresh_on_duplicate)
        return LETHE_EINVAL;
    lethe_window *window = lethe_alloc_zeroed(options->allocator, sizeof *window);
    if (window == NULL) return LETHE_ENOMEM;
    window->options = *options;
    window->is_shared = options->stripes > 0;
    window->is_plain = !window->is_shared && options->kind == LETHE_WINDOW_QUOTIENT;
    window->stripe_count = options->stripes > 0 ? options->stripes : 1;
    window->stripes_bytes = window->stripe_count * sizeof(struct lethe_window_stripe);
    window->stripes = lethe_alloc_zeroed(options->allocator, window->stripes_bytes);
    if (window->stripes == NULL) {
        lethe_release(options->allocator, window, sizeof *window);
        return LETHE_ENOMEM;
    }
    for (uint32_t i = 0; i < window->stripe_count; i++)
        lethe_os_lock_init(&window->stripes[i].lock);
    *out = window;
    return LETHE_OK;
}

lethe_status lethe_window_new(const lethe_window_options *options, lethe_window **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_window_options taken, plan;
    lethe_status status = LETHE_TAKE(options, &taken, allocator);
    if (status != LETHE_OK) return status;
    if (!lethe_allocator_is_usable(taken.allocator)) return LETHE_EINVAL;
    status = lethe_chain_plan(&taken, &plan);
    if (status != LETHE_OK) return status;
    lethe_window *window;
    status = lethe_window_new_without_stripes(&plan, &window);
    if (status != LETHE_OK) return status;
    lethe_window_options share = lethe_window_stripe_options(window);
    for (uint32_t i = 0; i < window->stripe_count && status == LETHE_OK; i++) {
        status = lethe_window_is_forgetful(window)
                     ? forgetful_init(&share, &window->stripes[i].forgetful)
                     : lethe_chain_init(&window->stripes[i].chain, &share);
    }
    if (status != LETHE_OK) {
        lethe_window_free(window);
        return status;
    }
    *out = window;
    return LETHE_OK;
}

void lethe_window_free(lethe_window *window) {
    if (window == NULL) return;
    for (uint32_t i = 0; i < window->stripe_count; i++) {
        lethe_chain_drop(&window->stripes[i].chain);
        lethe_forgetful_free(window->stripes[i].forgetful);
        lethe_os_lock_drop(&window->stripes[i].lock);
    }
    const lethe_allocator *allocator = window->options.allocator;
    lethe_release(allocator, window->stripes, window->stripes_bytes);
    lethe_release(allocator, window, sizeof *window);
}

uint64_t lethe_window_seed(const lethe_window *window) {
    return window != NULL ? window->options.seed : 0;
}

struct lethe_window_stripe *lethe_window_take(const lethe_window *window, uint32_t index) {
    struct lethe_window_stripe *stripe = &window->stripes[index];
    if (window->is_shared) lethe_os_lock_take(&stripe->lock);
    return stripe;
}

void lethe_window_give(const lethe_window *window, struct lethe_window_stripe *stripe) {
    if (window->is_shared) lethe_os_lock_give(&stripe->lock);
}

lethe_answer lethe_window_test(const lethe_window *window, lethe_hash id, uint64_t now_ms) {
    if (window == NULL) return LETHE_ANSWER_FRESH;
    struct lethe_window_stripe *stripe =
        lethe_window_take(window, lethe_window_stripe_of(window, id));
    lethe_answer answer;
    if (lethe_window_is_forgetful(window)) {
        answer = lethe_forgetful_test(stripe->forgetful, id, now_ms) ? LETHE_ANSWER_DUPLICATE
                                                                     : LETHE_ANSWER_FRESH;
    } else {
        answer = lethe_chain_test(&stripe->chain, id, now_ms);
    }
    lethe_window_give(window, stripe);
    return answer;
}

lethe_status lethe_window_add(lethe_window *window, lethe_hash id, uint64_t now_ms) {
    if (window == NULL) return LETHE_EINVAL;
    struct lethe_window_stripe *stripe =
        lethe_window_take(window, lethe_window_stripe_of(window, id));
    lethe_status status = lethe_window_is_forgetful(window)
                              ? lethe_forgetful_add(stripe->forgetful, id, now_ms)
                              : lethe_chain_add(&stripe->chain, id, now_ms);
    lethe_window_give(window, stripe);
    return status;
}

LETHE_NOINLINE lethe_status add_and_test_in_stripe(lethe_window *window, lethe_hash id,
                                                   uint64_t now_ms, lethe_answer *answer) {
    struct lethe_window_stripe *stripe =
        lethe_window_take(window, lethe_window_stripe_of(window, id));
    lethe_status status = lethe_window_is_forgetful(window)
                              ? lethe_forgetful_add_and_test(stripe->forgetful, id, now_ms, answer)
                              : lethe_chain_add_and_test(&stripe->chain, id, now_ms, answer);
    lethe_window_give(window, stripe);
    return status;
}

lethe_status lethe_window_add_and_test(lethe_window *window, lethe_hash id, uint64_t now_ms,
                                       lethe_answer *answer) {
    if (__builtin_expect(window == NULL || answer == NULL, 0)) {
        if (answer != NULL) *answer = LETHE_ANSWER_REFUSED;
        return LETHE_EINVAL;
    }
    if (window->is_plain)
        return lethe_chain_add_and_test(&window->stripes[0].chain, id, now_ms, answer);
    return add_and_test_in_stripe(window, id, now_ms, answer);
}

void lethe_window_prefetch(const lethe_window *window, lethe_hash id) {
    if (window == NULL || lethe_window_is_forgetful(window)) return;
    if (window->is_plain) {
        lethe_chain_prefetch(&window->stripes[0].chain, id);
        return;
    }
    struct lethe_window_stripe *stripe =
        lethe_window_take(window, lethe_window_stripe_of(window, id));
    lethe_chain_prefetch(&stripe->chain, id);
    lethe_window_give(window, stripe);
}

lethe_status lethe_window_remove(lethe_window *window, lethe_hash id, uint64_t now_ms) {
    if (window == NULL || lethe_window_is_forgetful(window)) return LETHE_EINVAL;
    struct lethe_window_stripe *stripe =
        lethe_window_take(window, lethe_window_stripe_of(window, id));
    lethe_status status = lethe_chain_remove(&stripe->chain, id, now_ms);
    lethe_window_give(window, stripe);
    return status;
}

lethe_status lethe_window_make_room(lethe_window *window, lethe_hash id, uint64_t now_ms) {
    if (window == NULL || !lethe_window_is_forgetful(window)) return LETHE_EINVAL;
    struct lethe_window_stripe *stripe =
        lethe_window_take(window, lethe_window_stripe_of(window, id));
    lethe_status status = lethe_forgetful_make_room(stripe->forgetful, now_ms);
    lethe_window_give(window, stripe);
    return status;
}

static bool is_empty(const lethe_window *window) {
    for (uint32_t i = 0; i < window->stripe_count; i++) {
        const lethe_chain *chain = &window->stripes[i].chain;
        if (chain->part_count > 1 || chain->parts[0]->alive > 0) return false;
    }
    return true;
}

lethe_status lethe_window_refill(lethe_window *window, uint64_t ids) {
    if (window == NULL || lethe_window_is_forgetful(window) || ids > LETHE_CHAIN_MAX_HINT)
        return LETHE_EINVAL;
    if (ids > 0 && !is_empty(window)) return LETHE_EINVAL;
    uint64_t share = share_of(window, ids);
    for (uint32_t i = 0; i < window->stripe_count; i++) {
        struct lethe_window_stripe *stripe = lethe_window_take(window, i);
        lethe_status status = lethe_chain_refill(&stripe->chain, share);
        lethe_window_give(window, stripe);
        if (status != LETHE_OK) return status;
    }
    return LETHE_OK;
}

lethe_status lethe_window_work(lethe_window *window, uint64_t now_ms, unsigned budget, bool *more) {
    if (more == NULL) return LETHE_EINVAL;
    *more = false;
    if (window == NULL) return LETHE_EINVAL;
    for (uint32_t i = 0; i < window->stripe_count; i++) {
        struct lethe_window_stripe *stripe = lethe_window_take(window, i);
        bool is_left = false;
        if (lethe_window_is_forgetful(window)) {
            (void)lethe_forgetful_work(stripe->forgetful, now_ms, budget, &is_left);
        } else {
            is_left = lethe_chain_work(&stripe->chain, now_ms, budget);
        }
        *more |= is_left;
        lethe_window_give(window, stripe);
    }
    return LETHE_OK;
}

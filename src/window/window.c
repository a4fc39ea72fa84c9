/* window/window.c - the public window: one interface over two kinds, for one thread or many.
 *
 * IDEA    A window is one or more stripes, each a complete window of its kind with its own share of the
 *         capacity and the cap. An id's stripe is chosen by bits of its hash that nothing else
 *         uses, so all copies of an id meet in one stripe, under one lock: two racing copies can
 *         never both be fresh.
 * I1      The error of a fresh id is that of its own stripe, so every stripe has the whole e.
 * I2      A window for one thread has one stripe and takes no lock.
 * WHY     In batches ids are sorted by stripe first, a counting sort on the stack, so that a lock
 *         is taken once for many ids and the memory accesses of all of them overlap. */
#include <assert.h>
#include <string.h>

#include "core/allocator.h"
#include "window/window.h"

enum { STRIPE_SHIFT = 58, CHUNK = 1024 };

/* What a window takes besides what its stripes remember. */
static uint64_t fixed_bytes_of(const lethe_window *window) {
    return sizeof *window + window->stripes_bytes;
}

lethe_window_options lethe_window_stripe_options(const lethe_window *window) {
    lethe_window_options options = window->options;
    uint64_t count = window->stripe_count;
    if (options.max_memory_bytes > 0) {
        uint64_t fixed_bytes = fixed_bytes_of(window), cap = options.max_memory_bytes;
        options.max_memory_bytes = cap > fixed_bytes ? (cap - fixed_bytes) / count : 0;
        if (options.max_memory_bytes == 0) options.max_memory_bytes = 1; /* zero is no cap */
    }
    if (options.capacity > 0 && count > 1) {
        /* Ids fall on stripes at random; five deviations more than the mean is enough for all. */
        double mean = (double)options.capacity / (double)count;
        double spread = mean;
        for (int i = 0; i < 40; i++)
            spread = (spread + mean / spread) / 2; /* the square root */
        options.capacity = (uint64_t)(mean + 5 * spread) + 1;
    }
    return options;
}

static lethe_status bloom_init(const lethe_window_options *options, lethe_forgetful **out) {
    return lethe_forgetful_new(
        &(lethe_forgetful_options){
            .window_ms = options->window_ms,
            .error = options->error,
            .slack = options->slack,
            .capacity = options->capacity,
            .max_memory_bytes = options->max_memory_bytes,
            .policy = options->policy == LETHE_WINDOW_REFUSE ? LETHE_FORGETFUL_REFUSE
                                                             : LETHE_FORGETFUL_DEGRADE,
            .seed = options->seed,
            .allocator = options->allocator,
        },
        out);
}

lethe_status lethe_window_new_without_stripes(const lethe_window_options *options,
                                              lethe_window **out) {
    *out = NULL;
    bool powers = (options->stripes & (options->stripes - 1)) == 0;
    bool kinds = options->kind == LETHE_WINDOW_QUOTIENT || options->kind == LETHE_WINDOW_BLOOM;
    if (options->stripes > LETHE_WINDOW_MAX_STRIPES || !powers || !kinds) return LETHE_EINVAL;
    if (options->kind == LETHE_WINDOW_BLOOM && options->refresh_on_duplicate) return LETHE_EINVAL;
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
    assert(out != NULL);
    *out = NULL;
    lethe_window_options plan;
    lethe_status status = lethe_chain_plan(options, &plan);
    if (status != LETHE_OK) return status;
    lethe_window *window;
    status = lethe_window_new_without_stripes(&plan, &window);
    if (status != LETHE_OK) return status;
    lethe_window_options share = lethe_window_stripe_options(window);
    for (uint32_t i = 0; i < window->stripe_count && status == LETHE_OK; i++) {
        status = lethe_window_is_bloom(window)
                     ? bloom_init(&share, &window->stripes[i].bloom)
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
        lethe_forgetful_free(window->stripes[i].bloom);
        lethe_os_lock_drop(&window->stripes[i].lock);
    }
    const lethe_allocator *allocator = window->options.allocator;
    lethe_release(allocator, window->stripes, window->stripes_bytes);
    lethe_release(allocator, window, sizeof *window);
}

uint64_t lethe_window_seed(const lethe_window *window) {
    return window->options.seed;
}

static inline uint32_t stripe_index(const lethe_window *window, lethe_hash id) {
    return (uint32_t)(id.low >> STRIPE_SHIFT) & (window->stripe_count - 1);
}

struct lethe_window_stripe *lethe_window_take(const lethe_window *window, uint32_t index) {
    struct lethe_window_stripe *stripe = &window->stripes[index];
    if (window->is_shared) lethe_os_lock_take(&stripe->lock);
    return stripe;
}

void lethe_window_give(const lethe_window *window, struct lethe_window_stripe *stripe) {
    if (window->is_shared) lethe_os_lock_give(&stripe->lock);
}

lethe_window_answer lethe_window_check(const lethe_window *window, lethe_hash id, uint64_t now_ms) {
    struct lethe_window_stripe *stripe = lethe_window_take(window, stripe_index(window, id));
    lethe_window_answer answer;
    if (lethe_window_is_bloom(window)) {
        answer = lethe_forgetful_check(stripe->bloom, id, now_ms) ? LETHE_DUPLICATE : LETHE_FRESH;
    } else {
        answer = lethe_chain_check(&stripe->chain, id, now_ms);
    }
    lethe_window_give(window, stripe);
    return answer;
}

lethe_status lethe_window_record(lethe_window *window, lethe_hash id, uint64_t now_ms) {
    struct lethe_window_stripe *stripe = lethe_window_take(window, stripe_index(window, id));
    lethe_status status = lethe_window_is_bloom(window)
                              ? lethe_forgetful_record(stripe->bloom, id, now_ms)
                              : lethe_chain_record(&stripe->chain, id, now_ms);
    lethe_window_give(window, stripe);
    return status;
}

static lethe_status bloom_check_and_record(lethe_forgetful *bloom, lethe_hash id, uint64_t now_ms,
                                           lethe_window_answer *answer) {
    bool duplicate = false;
    lethe_status status = lethe_forgetful_check_and_record(bloom, id, now_ms, &duplicate);
    *answer = status != LETHE_OK ? LETHE_REFUSED : duplicate ? LETHE_DUPLICATE : LETHE_FRESH;
    return status;
}

static __attribute__((noinline)) lethe_status
check_and_record_in_stripe(lethe_window *window, lethe_hash id, uint64_t now_ms,
                           lethe_window_answer *answer) {
    struct lethe_window_stripe *stripe = lethe_window_take(window, stripe_index(window, id));
    lethe_status status = lethe_window_is_bloom(window)
                              ? bloom_check_and_record(stripe->bloom, id, now_ms, answer)
                              : lethe_chain_check_and_record(&stripe->chain, id, now_ms, answer);
    lethe_window_give(window, stripe);
    return status;
}

lethe_status lethe_window_check_and_record(lethe_window *window, lethe_hash id, uint64_t now_ms,
                                           lethe_window_answer *answer) {
    if (window->is_plain)
        return lethe_chain_check_and_record(&window->stripes[0].chain, id, now_ms, answer);
    return check_and_record_in_stripe(window, id, now_ms, answer);
}

/* The Bloom kind stops at an id that it can't record; here the rest are tried as well. */
static lethe_status bloom_batch(lethe_forgetful *bloom, const lethe_hash *ids, size_t count,
                                uint64_t now_ms, uint8_t *answers) {
    lethe_status first = LETHE_OK;
    for (size_t done = 0; done < count; done++) {
        size_t piece = 0;
        lethe_status status = lethe_forgetful_check_and_record_batch(
            bloom, ids + done, count - done, now_ms, answers + done, &piece);
        done += piece;
        if (status == LETHE_OK) break;
        if (first == LETHE_OK) first = status;
        answers[done] = LETHE_REFUSED;
    }
    return first;
}

static lethe_status stripe_batch(const lethe_window *window, uint32_t index, const lethe_hash *ids,
                                 size_t count, uint64_t now_ms, uint8_t *answers) {
    struct lethe_window_stripe *stripe = lethe_window_take(window, index);
    lethe_status status =
        lethe_window_is_bloom(window)
            ? bloom_batch(stripe->bloom, ids, count, now_ms, answers)
            : lethe_chain_check_and_record_batch(&stripe->chain, ids, count, now_ms, answers);
    lethe_window_give(window, stripe);
    return status;
}

static lethe_status stripe_check_batch(const lethe_window *window, uint32_t index,
                                       const lethe_hash *ids, size_t count, uint64_t now_ms,
                                       uint8_t *answers) {
    struct lethe_window_stripe *stripe = lethe_window_take(window, index);
    if (lethe_window_is_bloom(window)) {
        lethe_forgetful_check_batch(stripe->bloom, ids, count, now_ms, answers);
    } else {
        lethe_chain_check_batch(&stripe->chain, ids, count, now_ms, answers);
    }
    lethe_window_give(window, stripe);
    return LETHE_OK;
}

/* There are no answers to give. */
static lethe_status
stripe_record_batch(const lethe_window *window, uint32_t index, const lethe_hash *ids, size_t count,
                    uint64_t now_ms,
                    uint8_t *answers) { /* NOLINT(readability-non-const-parameter) */
    (void)answers;
    struct lethe_window_stripe *stripe = lethe_window_take(window, index);
    lethe_status first = LETHE_OK;
    if (lethe_window_is_bloom(window)) {
        for (size_t i = 0; i < count; i++) {
            lethe_status status = lethe_forgetful_record(stripe->bloom, ids[i], now_ms);
            if (first == LETHE_OK) first = status;
        }
    } else {
        first = lethe_chain_record_batch(&stripe->chain, ids, count, now_ms);
    }
    lethe_window_give(window, stripe);
    return first;
}

typedef lethe_status batch_function(const lethe_window *window, uint32_t index,
                                    const lethe_hash *ids, size_t count, uint64_t now_ms,
                                    uint8_t *answers);

/* Sorts a chunk by stripe, keeping the order within each, and hands the parts to function. Without
 * answers, function's are dropped. */
static lethe_status run_chunk(const lethe_window *window, batch_function *function,
                              const lethe_hash *ids, size_t count, uint64_t now_ms,
                              uint8_t *answers) {
    lethe_hash sorted[CHUNK];
    uint16_t origin[CHUNK];
    uint8_t results[CHUNK] = {0};
    size_t starts[LETHE_WINDOW_MAX_STRIPES + 1] = {0};
    for (size_t i = 0; i < count; i++)
        starts[stripe_index(window, ids[i]) + 1]++;
    for (uint32_t i = 0; i < window->stripe_count; i++)
        starts[i + 1] += starts[i];
    size_t next[LETHE_WINDOW_MAX_STRIPES];
    memcpy(next, starts, sizeof next);
    for (size_t i = 0; i < count; i++) {
        size_t at = next[stripe_index(window, ids[i])]++;
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

static lethe_status run_batch(const lethe_window *window, batch_function *function,
                              const lethe_hash *ids, size_t count, uint64_t now_ms,
                              uint8_t *answers) {
    if (window->stripe_count == 1) return function(window, 0, ids, count, now_ms, answers);
    lethe_status first = LETHE_OK;
    for (size_t done = 0; done < count; done += CHUNK) {
        size_t chunk = count - done < CHUNK ? count - done : CHUNK;
        lethe_status status = run_chunk(window, function, ids + done, chunk, now_ms,
                                        answers != NULL ? answers + done : NULL);
        if (first == LETHE_OK) first = status;
    }
    return first;
}

lethe_status lethe_window_check_and_record_batch(lethe_window *window, const lethe_hash *ids,
                                                 size_t count, uint64_t now_ms, uint8_t *answers) {
    return run_batch(window, stripe_batch, ids, count, now_ms, answers);
}

void lethe_window_check_batch(const lethe_window *window, const lethe_hash *ids, size_t count,
                              uint64_t now_ms, uint8_t *answers) {
    (void)!run_batch(window, stripe_check_batch, ids, count, now_ms, answers);
}

lethe_status lethe_window_record_batch(lethe_window *window, const lethe_hash *ids, size_t count,
                                       uint64_t now_ms) {
    return run_batch(window, stripe_record_batch, ids, count, now_ms, NULL);
}

void lethe_window_prefetch(const lethe_window *window, lethe_hash id) {
    if (lethe_window_is_bloom(window)) return;
    struct lethe_window_stripe *stripe = lethe_window_take(window, stripe_index(window, id));
    lethe_chain_prefetch(&stripe->chain, id);
    lethe_window_give(window, stripe);
}

lethe_status lethe_window_forget(lethe_window *window, lethe_hash id, uint64_t now_ms) {
    if (lethe_window_is_bloom(window)) return LETHE_EINVAL;
    struct lethe_window_stripe *stripe = lethe_window_take(window, stripe_index(window, id));
    lethe_status status = lethe_chain_forget(&stripe->chain, id, now_ms);
    lethe_window_give(window, stripe);
    return status;
}

bool lethe_window_work(lethe_window *window, uint64_t now_ms, unsigned budget) {
    bool more = false;
    for (uint32_t i = 0; i < window->stripe_count; i++) {
        struct lethe_window_stripe *stripe = lethe_window_take(window, i);
        more |= lethe_window_is_bloom(window) ? lethe_forgetful_advance(stripe->bloom, now_ms)
                                              : lethe_chain_work(&stripe->chain, now_ms, budget);
        lethe_window_give(window, stripe);
    }
    return more;
}

static lethe_window_stats bloom_info(const lethe_window *window, const lethe_forgetful *bloom,
                                     uint64_t now_ms) {
    lethe_forgetful_stats from = lethe_forgetful_info(bloom, now_ms);
    lethe_window_stats stats = {
        .kind = LETHE_WINDOW_BLOOM,
        .window_ms = from.window_ms,
        .seed = from.seed,
        .clock_ms = from.clock_ms,
        .oldest_age_ms = from.oldest_age_ms,
        .error_target = from.error_target,
        .error_estimate = from.error_estimate,
        .slack = from.slack,
        .period_ms = from.period_ms,
        .parts = from.filters,
        .generations = from.filters,
        .ids = from.ids_held,
        .capacity = window->options.capacity,
        .memory_bytes = from.memory_bytes,
        .peak_memory_bytes = from.memory_bytes,
        .max_memory_bytes = window->options.max_memory_bytes,
        .fresh = from.fresh,
        .duplicates = from.duplicates,
        .refused = from.refused,
    };
    if ((from.strain & LETHE_FORGETFUL_STRAIN_ERROR) != 0) stats.strain |= LETHE_STRAIN_ERROR;
    if ((from.strain & ~(unsigned)LETHE_FORGETFUL_STRAIN_ERROR) != 0)
        stats.strain |= LETHE_STRAIN_MEMORY;
    /* This kind tells of the cap only while it is in the way of the newest filter. */
    bool degrades =
        window->options.max_memory_bytes > 0 && window->options.policy == LETHE_WINDOW_DEGRADE;
    if (degrades && (stats.strain & LETHE_STRAIN_ERROR) != 0) stats.strain |= LETHE_STRAIN_MEMORY;
    if (now_ms < from.clock_ms) stats.strain |= LETHE_STRAIN_CLOCK;
    return stats;
}

/* Sums what adds up over stripes, averages the errors, and keeps the extremes of the rest. */
static void add_stats(lethe_window_stats *sum, const lethe_window_stats *stats, uint32_t count) {
    sum->error_estimate += stats->error_estimate / count;
    sum->ids += stats->ids;
    sum->memory_bytes += stats->memory_bytes;
    sum->peak_memory_bytes += stats->peak_memory_bytes;
    sum->capacity += stats->capacity;
    sum->fresh += stats->fresh;
    sum->duplicates += stats->duplicates;
    sum->refused += stats->refused;
    sum->strain |= stats->strain;
    if (stats->parts > sum->parts) sum->parts = stats->parts;
    if (stats->clock_ms > sum->clock_ms) sum->clock_ms = stats->clock_ms;
    if (stats->oldest_age_ms > sum->oldest_age_ms) sum->oldest_age_ms = stats->oldest_age_ms;
}

lethe_window_stats lethe_window_info(const lethe_window *window, uint64_t now_ms) {
    lethe_window_stats sum = {0};
    for (uint32_t i = 0; i < window->stripe_count; i++) {
        struct lethe_window_stripe *stripe = lethe_window_take(window, i);
        lethe_window_stats stats = lethe_window_is_bloom(window)
                                       ? bloom_info(window, stripe->bloom, now_ms)
                                       : lethe_chain_info(&stripe->chain, now_ms);
        lethe_window_give(window, stripe);
        if (i == 0) {
            sum = stats;
            sum.error_estimate /= window->stripe_count;
        } else {
            add_stats(&sum, &stats, window->stripe_count);
        }
    }
    sum.max_memory_bytes = window->options.max_memory_bytes;
    sum.memory_bytes += fixed_bytes_of(window);
    sum.peak_memory_bytes += fixed_bytes_of(window);
    return sum;
}

static bool can_be_merged(const lethe_window_options *a, const lethe_window_options *b) {
    return a->kind == b->kind && a->stripes == b->stripes && a->seed == b->seed &&
           a->window_ms == b->window_ms && a->slack == b->slack && a->allocator == b->allocator;
}

static void swap_windows(lethe_window *a, lethe_window *b) {
    lethe_window copy = *a;
    *a = *b;
    *b = copy;
}

static lethe_status merge_quotient(lethe_window *window, lethe_window *other) {
    for (uint32_t i = 0; i < window->stripe_count; i++) {
        lethe_status status =
            lethe_chain_can_merge(&window->stripes[i].chain, &other->stripes[i].chain);
        if (status != LETHE_OK) return status;
    }
    for (uint32_t i = 0; i < window->stripe_count; i++)
        lethe_chain_merge(&window->stripes[i].chain, &other->stripes[i].chain);
    return LETHE_OK;
}

/* Merging a stripe of this kind can fail, so all are merged into copies before any is replaced. */
static lethe_status merge_bloom(lethe_window *window, lethe_window *other) {
    lethe_forgetful *merged[LETHE_WINDOW_MAX_STRIPES] = {NULL};
    lethe_status status = LETHE_OK;
    for (uint32_t i = 0; i < window->stripe_count && status == LETHE_OK; i++) {
        status = lethe_forgetful_copy(window->stripes[i].bloom, &merged[i]);
        if (status == LETHE_OK) status = lethe_forgetful_merge(merged[i], other->stripes[i].bloom);
    }
    for (uint32_t i = 0; i < window->stripe_count; i++) {
        lethe_forgetful *unused = merged[i];
        if (status == LETHE_OK) {
            unused = window->stripes[i].bloom;
            window->stripes[i].bloom = merged[i];
        }
        lethe_forgetful_free(unused);
    }
    return status;
}

lethe_status lethe_window_merge(lethe_window *window, lethe_window *other) {
    if (window == other || !can_be_merged(&window->options, &other->options)) {
        return LETHE_EMISMATCH;
    }
    lethe_window *empty; /* what other will be; made first, so that nothing fails half-way */
    lethe_status status = lethe_window_new(&other->options, &empty);
    if (status != LETHE_OK) return status;
    status =
        lethe_window_is_bloom(window) ? merge_bloom(window, other) : merge_quotient(window, other);
    if (status == LETHE_OK) swap_windows(other, empty);
    lethe_window_free(empty);
    return status;
}

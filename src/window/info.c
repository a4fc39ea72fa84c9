/* window/info.c - the stats of a window. Reads only. */
#include "core/sized.h"
#include "window/window.h"

static lethe_window_stats forgetful_info(const lethe_window *window,
                                         const lethe_forgetful *forgetful, uint64_t now_ms) {
    lethe_forgetful_stats from = LETHE_INIT(lethe_forgetful_stats);
    (void)lethe_forgetful_info(forgetful, now_ms, &from);
    lethe_window_stats stats = {
        .kind = LETHE_WINDOW_FORGETFUL,
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
    if ((from.strain & LETHE_STRAIN_ERROR) != 0) stats.strain |= LETHE_STRAIN_ERROR;
    if ((from.strain & ~(unsigned)LETHE_STRAIN_ERROR) != 0) stats.strain |= LETHE_STRAIN_MEMORY;
    /* This kind reports the cap only while the cap limits the newest filter. */
    bool degrades =
        window->options.max_memory_bytes > 0 && window->options.policy == LETHE_POLICY_DEGRADE;
    if (degrades && (stats.strain & LETHE_STRAIN_ERROR) != 0) stats.strain |= LETHE_STRAIN_MEMORY;
    if (now_ms < from.clock_ms) stats.strain |= LETHE_STRAIN_CLOCK;
    return stats;
}

/* Over all stripes: sums the amounts, averages the errors and keeps the extremes of the rest. */
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

lethe_status lethe_window_info(const lethe_window *window, uint64_t now_ms,
                               lethe_window_stats *out) {
    if (window == NULL) return LETHE_EINVAL;
    lethe_window_stats sum = {0};
    for (uint32_t i = 0; i < window->stripe_count; i++) {
        struct lethe_window_stripe *stripe = lethe_window_take(window, i);
        lethe_window_stats stats = lethe_window_is_forgetful(window)
                                       ? forgetful_info(window, stripe->forgetful, now_ms)
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
    sum.memory_bytes += lethe_window_fixed_bytes(window);
    sum.peak_memory_bytes += lethe_window_fixed_bytes(window);
    return LETHE_GIVE(&sum, out, refused);
}

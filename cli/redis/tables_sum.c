/* tables_sum.c - what the partitions of a table amount to.
 *
 * IDEA  Numbers of ids, events, counters and bytes are added up. A fresh id belongs to one
 *       partition, so the chance that it is taken for a duplicate is at most that of the worst one.
 *       The window that is kept is that of the partition that remembers the shortest time, of those
 *       that have ids: one that was lost and made again shows. */
#include <string.h>

#include "redis/tables.h"

static void add_part(struct redis_table_stats *sum, const struct redis_table_stats *part) {
    lethe_window_stats *window = &sum->window;
    sum->per_differs =
        sum->per_differs || (sum->per[0] != '\0' && strcmp(sum->per, part->per) != 0);
    memcpy(sum->per, part->per, sizeof sum->per);
    window->kind = part->window.kind;
    window->window_ms = part->window.window_ms;
    window->error_target = part->window.error_target;
    if (part->window.error_estimate > window->error_estimate)
        window->error_estimate = part->window.error_estimate;
    if (part->window.oldest_age_ms > window->oldest_age_ms)
        window->oldest_age_ms = part->window.oldest_age_ms;
    window->strain |= part->window.strain;
    if (part->clock_ms > sum->clock_ms) sum->clock_ms = part->clock_ms;
    sum->ids += part->ids;
    sum->counters += part->counters;
    sum->applied += part->applied;
    sum->duplicates += part->duplicates;
    sum->refused += part->refused;
    sum->memory_bytes += part->memory_bytes;
    sum->window_bytes += part->window_bytes;
    sum->claims_running += part->claims_running;
    sum->claims_done += part->claims_done;
    sum->holds_open += part->holds_open;
    sum->may_be_evicted = sum->may_be_evicted || part->may_be_evicted;
}

void redis_seen_add_up(struct redis_seen *seen) {
    size_t count = seen->table->partition_count;
    seen->sum = (struct redis_table_stats){0};
    seen->is_there = false;
    seen->kept_ms = 0;
    for (size_t i = 0; i < count; i++) {
        const struct redis_table_stats *part = &seen->parts[i];
        if (part->window.window_ms == 0) {
            seen->sum.missing++;
            seen->counted[i] = 0;
            continue;
        }
        /* A table that was made again begins at 0. */
        uint64_t before = part->applied >= seen->counted[i] ? seen->counted[i] : 0;
        if (!seen->is_new)
            seen->expected_lost += part->window.error_estimate * (double)(part->applied - before);
        seen->counted[i] = part->applied;
        seen->is_there = true;
        if (part->ids > 0 && (seen->sum.ids == 0 || part->window.oldest_age_ms < seen->kept_ms))
            seen->kept_ms = part->window.oldest_age_ms;
        add_part(&seen->sum, part);
    }
    seen->is_new = seen->is_new && !seen->is_there;
}

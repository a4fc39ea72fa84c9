/* engine/log/periods.c - the log's ids by age.
 *
 * WHY     A period is W / 16 long, so the log is never longer than that share above what it must
 *         be. When there are as many periods as fit, which takes a clock that jumps, the newest one
 *         takes everything: its ids are kept a little longer. */
#include "engine/log/periods.h"

#include <string.h>

void lethe_periods_add(lethe_periods *periods, uint64_t window_ms, uint64_t commit,
                       uint64_t clock_ms, uint64_t ids) {
    lethe_period *last = periods->count > 0 ? &periods->all[periods->count - 1] : NULL;
    bool is_full = periods->count == LETHE_PERIODS_SHOWN;
    if (last == NULL ||
        (!is_full && clock_ms - last->first_ms >= window_ms / LETHE_PERIODS_PER_WINDOW)) {
        last = &periods->all[periods->count++];
        *last = (lethe_period){.first_ms = clock_ms, .first_commit = commit};
    }
    last->last_ms = clock_ms;
    last->last_commit = commit;
    last->ids += ids;
}

void lethe_periods_add_first(lethe_periods *periods, uint64_t commit, uint64_t clock_ms,
                             uint64_t ids) {
    if (periods->count == 0) {
        lethe_periods_add(periods, 0, commit, clock_ms, ids);
        return;
    }
    lethe_period *first = &periods->all[0];
    first->first_commit = commit;
    first->first_ms = clock_ms;
    first->ids += ids;
}

uint64_t lethe_periods_ids(const lethe_periods *periods) {
    uint64_t ids = 0;
    for (uint32_t i = 0; i < periods->count; i++) {
        ids += periods->all[i].ids;
    }
    return ids;
}

uint64_t lethe_periods_drop(lethe_periods *periods, uint32_t count) {
    uint64_t ids = 0;
    for (uint32_t i = 0; i < count; i++) {
        ids += periods->all[i].ids;
    }
    periods->count -= count;
    memmove(periods->all, periods->all + count, periods->count * sizeof periods->all[0]);
    return ids;
}

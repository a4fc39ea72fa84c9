/* filter/forgetful/paper.c - the filter as published: fixed m, k and N, a refresh every t.
 *
 * IDEA    One future, one present and N past filters of one size. Every t the oldest is dropped,
 *         the others move back by one place and an empty filter becomes the future. A test looks at
 *         the future, then at pairs of neighbours, then at the oldest alone. Once a second,
 *         Algorithm 3 compares the estimated error with its target. It doubles the filters and
 *         shortens the period, or drops one filter and lengthens the period.
 * LAZY    Reads must not refresh, and a refresh may be overdue by several periods. So a test counts
 *         the refreshes that are due and treats each filter as that many places further back.
 *         Filters beyond the end count as dropped.
 * CORRECTED, and nothing else:
 *         1  Algorithm 2 as printed tests "the oldest alone" only if N = 1. Here it always does.
 *         2  Scaling up puts empty filters after the oldest one. The ids of the oldest one's own
 *            period are in no other filter, so it is still tested alone (is_paired is false) until
 *            it is dropped.
 *         3  If a window W was given, Algorithm 3 takes no step after which (N+1)t < W, and no
 *            filter is dropped while ids of its own period are younger than W. The first rule alone
 *            is not enough: filters filled during short periods would be dropped too soon after the
 *            period has become longer.
 * PRINTED LETHE_FORGETFUL_PRINTED is the same without these three. "The oldest alone" is then asked
 *         only if N = 1, the oldest counts as paired with the empty filter that was put after it,
 *         and there is no window. Its estimate is Equation 3 as printed, which has a term for the
 *         oldest alone at any N, so it describes a check that is not made.
 * I1      Without a window there are N + 2 members. With a window there may be more for a while.
 * I2      All members have the same m and k. The memory of a dropped member is reused for the
 *         future.
 * I3      Member i's own ids are also in member i + 1 while is_paired. The last member's are not.
 * LIMIT   The error rises with the load. That is the paper's design; the elastic setting avoids
 *         it. */
#include <assert.h>

#include "filter/forgetful/forgetful.h"

enum {
    STEP_MS = 1000, /* of the period; also the time between two runs of Algorithm 3 */
    LONGEST_PERIOD_MS = 3600000,
    TICKS_PER_REFRESH = 8,   /* runs of Algorithm 3 that take as much of a budget as a refresh */
    MOST_TICKS_BEHIND = 4096 /* after more, all is forgotten and the adaptation has settled */
};

static bool is_printed(const lethe_forgetful *filter) {
    return filter->plan.options.setting == LETHE_FORGETFUL_PRINTED;
}

static uint64_t refreshes_due(const lethe_forgetful *filter, uint64_t now_ms) {
    if (!filter->has_clock || now_ms < filter->period_began_ms) return 0;
    return (now_ms - filter->period_began_ms) / filter->period_ms;
}

/* Whether the window still needs the ids of this member's own period. */
static bool is_guarded(const lethe_forgetful *filter, size_t index, uint64_t now_ms) {
    const struct member *member = filter->members[index];
    uint64_t window_ms = filter->plan.options.window_ms;
    if (window_ms == 0 || member->own_ids == 0) return false;
    /* Algorithm 3 catches up second by second, so now_ms may be before the last addition. */
    return now_ms <= member->last_ms || now_ms - member->last_ms <= window_ms;
}

size_t lethe_forgetful_paper_live(const lethe_forgetful *filter, uint64_t now_ms, uint64_t *due) {
    *due = refreshes_due(filter, now_ms);
    size_t live = filter->count;
    while (live > 0 && *due + live - 1 >= filter->past + 2 &&
           !is_guarded(filter, live - 1, now_ms)) {
        live--;
    }
    return live;
}

bool lethe_forgetful_paper_is_alone(const lethe_forgetful *filter, size_t index, size_t live,
                                    uint64_t due) {
    bool is_future = index + due == 0, is_last = index + 1 == live;
    /* Algorithm 2 comes to its last branch only if there are no pairs of past filters. */
    if (is_printed(filter)) return is_future || (is_last && filter->past == 1);
    return is_future || is_last || !filter->members[index]->is_paired;
}

bool lethe_forgetful_paper_test(const lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms) {
    uint64_t due;
    size_t live = lethe_forgetful_paper_live(filter, now_ms, &due);
    bool simple = filter->plan.options.check == LETHE_FORGETFUL_SIMPLE;
    bool newer_holds = false; /* the newer neighbour contains the id and needs a second match */
    for (size_t i = 0; i < live; i++) {
        bool holds = lethe_member_test(filter->members[i], hash);
        bool alone = simple || lethe_forgetful_paper_is_alone(filter, i, live, due);
        if (holds && (alone || newer_holds)) return true;
        newer_holds = holds;
    }
    return false;
}

/* Equation 3, in which the last one always counts alone, or its counterpart for the simple test. */
double lethe_forgetful_paper_error(const lethe_forgetful *filter, uint64_t now_ms) {
    uint64_t due;
    size_t live = lethe_forgetful_paper_live(filter, now_ms, &due);
    bool simple = filter->plan.options.check == LETHE_FORGETFUL_SIMPLE;
    double none = 1, newer = 0;
    for (size_t i = 0; i < live; i++) {
        double error = lethe_member_expected_error(filter->members[i]);
        /* The pair with the newer neighbour. If that one counts alone, its term is included
         * already. */
        bool pairs = i > 0 && !simple && i - 1 + due > 0 && filter->members[i - 1]->is_paired;
        if (pairs) none *= 1 - newer * error;
        bool is_last = i + 1 == live;
        if (simple || is_last || lethe_forgetful_paper_is_alone(filter, i, live, due)) {
            none *= 1 - error;
        }
        newer = error;
    }
    return 1 - none;
}

/* Appends empty members as the oldest until there are count. On failure none is added. */
static lethe_status append_members(lethe_forgetful *filter, size_t count) {
    size_t before = filter->count;
    lethe_status status = lethe_forgetful_reserve(filter, count);
    while (status == LETHE_OK && filter->count < count) {
        struct member *member = lethe_forgetful_make_member(filter, filter->plan.options.bits,
                                                            filter->plan.options.hashes);
        if (member == NULL) {
            status = LETHE_ENOMEM;
        } else {
            filter->members[filter->count++] = member;
        }
    }
    if (status != LETHE_OK) {
        while (filter->count > before)
            lethe_forgetful_drop_member(filter, filter->members[--filter->count]);
        return status;
    }
    for (size_t i = before; i + 1 < filter->count; i++)
        filter->members[i]->is_paired = true;
    return LETHE_OK;
}

lethe_status lethe_forgetful_paper_begin(lethe_forgetful *filter) {
    return append_members(filter, (size_t)filter->past + 2);
}

/* Takes the oldest member off the list and returns it. */
static struct member *take_oldest(lethe_forgetful *filter) {
    struct member *oldest = filter->members[--filter->count];
    filter->members[filter->count - 1]->is_paired = false;
    return oldest;
}

/* One refresh. On failure nothing has changed. */
static lethe_status refresh(lethe_forgetful *filter, uint64_t now_ms) {
    struct member *future;
    if (filter->count >= (size_t)filter->past + 2 &&
        !is_guarded(filter, filter->count - 1, now_ms)) {
        future = take_oldest(filter);
        lethe_forgetful_reuse_member(filter, future);
    } else {
        lethe_status status = lethe_forgetful_reserve(filter, filter->count + 1);
        if (status != LETHE_OK) return status;
        future = lethe_forgetful_make_member(filter, filter->plan.options.bits,
                                             filter->plan.options.hashes);
        if (future == NULL) return LETHE_ENOMEM;
    }
    future->is_paired = true;
    lethe_forgetful_push_front(filter, future);
    while (filter->count > (size_t)filter->past + 2 &&
           !is_guarded(filter, filter->count - 1, now_ms)) {
        lethe_forgetful_drop_member(filter, take_oldest(filter));
    }
    return LETHE_OK;
}

/* Makes at most that many of the refreshes due. After as many as there are members, everything is
 * forgotten, and the rest only advance the clock. */
static lethe_status refresh_due(lethe_forgetful *filter, uint64_t most, uint64_t now_ms) {
    uint64_t due = refreshes_due(filter, now_ms);
    if (due > filter->count) {
        filter->period_began_ms += (due - filter->count) * filter->period_ms;
        due = filter->count;
    }
    for (; due > 0 && most > 0; due--, most--) {
        lethe_status status = refresh(filter, now_ms);
        if (status != LETHE_OK) return status;
        filter->period_began_ms += filter->period_ms;
    }
    return LETHE_OK;
}

static void start_clock(lethe_forgetful *filter, uint64_t now_ms) {
    if (filter->has_clock) return;
    filter->period_began_ms = now_ms;
    filter->ticked_ms = now_ms;
    filter->clock_ms = now_ms;
    filter->has_clock = true;
}

lethe_status lethe_forgetful_paper_prepare(lethe_forgetful *filter, uint64_t now_ms) {
    start_clock(filter, now_ms);
    return refresh_due(filter, UINT64_MAX, now_ms);
}

/* Whether N past filters and that period keep ids for the whole window. */
static bool keeps_window(const lethe_forgetful *filter, uint32_t past, uint64_t period_ms) {
    return (past + UINT64_C(1)) * period_ms >= filter->plan.options.window_ms;
}

/* Doubles the N + 2 filters, as far as limits and memory allow. */
static void scale_up_filters(lethe_forgetful *filter) {
    size_t wanted = 2 * ((size_t)filter->past + 2);
    if (wanted > LETHE_FORGETFUL_MOST_MEMBERS) wanted = LETHE_FORGETFUL_MOST_MEMBERS;
    uint64_t cap_bytes = filter->plan.options.max_memory_bytes;
    uint64_t more = wanted > filter->count ? wanted - filter->count : 0;
    uint64_t bytes =
        filter->memory_bytes + more * lethe_member_bytes_for(filter->plan.options.bits);
    if (cap_bytes != 0 && bytes > cap_bytes) {
        filter->is_strained = true;
        return;
    }
    /* If memory is missing the filter stays as it is. The next second tries again. */
    if (more > 0) {
        struct member *oldest = filter->members[filter->count - 1];
        if (append_members(filter, wanted) != LETHE_OK) {
            filter->is_strained = true;
            return;
        }
        oldest->is_paired = oldest->own_ids == 0 || is_printed(filter);
    }
    filter->is_strained = false;
    filter->past = (uint32_t)wanted - 2;
}

static void scale_down_filters(lethe_forgetful *filter, uint64_t now_ms) {
    if (filter->past <= 1 || !keeps_window(filter, filter->past - 1, filter->period_ms)) return;
    if (is_guarded(filter, filter->count - 1, now_ms)) return;
    filter->past--;
    if (filter->count > (size_t)filter->past + 2) {
        lethe_forgetful_drop_member(filter, take_oldest(filter));
    }
}

static void decrease_period(lethe_forgetful *filter) {
    uint64_t period_ms = filter->period_ms;
    if (period_ms < STEP_MS + STEP_MS) return;
    if (!keeps_window(filter, filter->past, period_ms - STEP_MS)) return;
    filter->period_ms -= STEP_MS;
}

static void increase_period(lethe_forgetful *filter) {
    if (filter->period_ms + STEP_MS <= LONGEST_PERIOD_MS) filter->period_ms += STEP_MS;
}

/* Algorithm 3. */
static void resize(lethe_forgetful *filter, uint64_t now_ms) {
    double error = lethe_forgetful_paper_error(filter, now_ms);
    double target = filter->plan.options.error;
    bool adapts_filters = (filter->plan.options.adapt & LETHE_FORGETFUL_ADAPT_FILTERS) != 0;
    bool adapts_period = (filter->plan.options.adapt & LETHE_FORGETFUL_ADAPT_PERIOD) != 0;
    if (error >= 0.9 * target) {
        if (adapts_filters) scale_up_filters(filter);
        if (adapts_period) decrease_period(filter);
    } else if (error <= 0.1 * target) {
        if (adapts_filters) scale_down_filters(filter, now_ms);
        if (adapts_period) increase_period(filter);
    }
}

/* Runs Algorithm 3 for each second up to now_ms, at most that often. Returns whether more are
 * left. */
static bool tick(lethe_forgetful *filter, uint64_t now_ms, uint64_t most) {
    uint64_t behind = (now_ms - filter->ticked_ms) / STEP_MS;
    if (behind > MOST_TICKS_BEHIND) {
        filter->ticked_ms += (behind - MOST_TICKS_BEHIND) * STEP_MS;
        behind = MOST_TICKS_BEHIND;
    }
    for (uint64_t done = 0; done < most && behind > 0; done++, behind--) {
        filter->ticked_ms += STEP_MS;
        /* A refresh that fails for lack of memory is tried again by the next addition. */
        if (refresh_due(filter, UINT64_MAX, filter->ticked_ms) != LETHE_OK) return false;
        resize(filter, filter->ticked_ms);
    }
    return behind > 0;
}

bool lethe_forgetful_paper_work(lethe_forgetful *filter, uint64_t now_ms, unsigned budget) {
    start_clock(filter, now_ms);
    uint64_t ticks = (uint64_t)budget * TICKS_PER_REFRESH;
    if (filter->plan.options.adapt != 0 && tick(filter, now_ms, ticks)) return true;
    if (refresh_due(filter, budget, now_ms) != LETHE_OK) return false;
    return refreshes_due(filter, now_ms) > 0;
}

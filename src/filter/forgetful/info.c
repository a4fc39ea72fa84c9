/* filter/forgetful/info.c - the stats of a forgetful filter. Reads only. */
#include "core/sized.h"
#include "filter/forgetful/forgetful.h"

lethe_status lethe_forgetful_member(const lethe_forgetful *filter, uint32_t index, uint64_t now_ms,
                                    lethe_forgetful_filter *out) {
    if (filter == NULL || index >= filter->count) return LETHE_EINVAL;
    now_ms = lethe_forgetful_time(filter, now_ms);
    const struct member *member = filter->members[index];
    lethe_forgetful_filter found = {
        .size = sizeof found,
        .bits = member->bits.range,
        .hashes = member->bits.hashes,
        .bits_set = member->bits_set,
        .ids = member->ids,
        .ids_as_first = member->own_ids,
        .first_ms = member->first_ms,
        .last_ms = member->last_ms,
    };
    if (lethe_forgetful_is_paper(filter)) {
        uint64_t due;
        size_t live = lethe_forgetful_paper_live(filter, now_ms, &due);
        found.error = lethe_member_expected_error(member);
        found.is_live = index < live;
        found.is_alone = found.is_live && lethe_forgetful_paper_is_alone(filter, index, live, due);
    } else {
        found.error = lethe_member_error(member);
        found.is_live = lethe_forgetful_elastic_is_live(filter, index, now_ms) ||
                        (index > 0 && lethe_forgetful_elastic_is_live(filter, index - 1, now_ms));
    }
    return LETHE_GIVE(&found, out, error);
}

/* Adds the ids of member index's own period to the stats, if they are live. */
static void count_held(const lethe_forgetful *filter, size_t index, bool is_live, uint64_t now_ms,
                       lethe_forgetful_stats *stats) {
    const struct member *member = filter->members[index];
    if (!is_live || member->own_ids == 0) return;
    stats->ids_held += member->own_ids;
    uint64_t age_ms = now_ms - member->first_ms;
    if (age_ms > stats->oldest_age_ms) stats->oldest_age_ms = age_ms;
}

static void count_all_held(const lethe_forgetful *filter, uint64_t now_ms,
                           lethe_forgetful_stats *stats) {
    uint64_t due;
    size_t paper_live =
        lethe_forgetful_is_paper(filter) ? lethe_forgetful_paper_live(filter, now_ms, &due) : 0;
    for (size_t i = 0; i < filter->count; i++) {
        bool is_live = lethe_forgetful_is_paper(filter)
                           ? i < paper_live
                           : lethe_forgetful_elastic_is_live(filter, i, now_ms);
        count_held(filter, i, is_live, now_ms, stats);
    }
}

static unsigned strain_of(const lethe_forgetful *filter, const lethe_forgetful_stats *stats) {
    unsigned strain = 0;
    if (stats->error_estimate > stats->error_target) strain |= LETHE_STRAIN_ERROR;
    if (filter->is_strained) strain |= LETHE_STRAIN_MEMORY;
    if (filter->was_refused) strain |= LETHE_STRAIN_REFUSED;
    return strain;
}

lethe_status lethe_forgetful_info(const lethe_forgetful *filter, uint64_t now_ms,
                                  lethe_forgetful_stats *out) {
    if (filter == NULL) return LETHE_EINVAL;
    now_ms = lethe_forgetful_time(filter, now_ms);
    const lethe_forgetful_options *options = &filter->plan.options;
    lethe_forgetful_stats stats = {
        .size = sizeof stats,
        .setting = options->setting,
        .window_ms = options->window_ms,
        .slack = options->slack,
        .error_target = options->error,
        .error_estimate = lethe_forgetful_is_paper(filter)
                              ? lethe_forgetful_paper_error(filter, now_ms)
                              : lethe_forgetful_elastic_error(filter, now_ms),
        .period_ms = lethe_forgetful_is_paper(filter) ? filter->period_ms : filter->plan.period_ms,
        .clock_ms = filter->clock_ms,
        .fresh = filter->fresh,
        .duplicates = filter->duplicates,
        .refused = filter->refused,
        .memory_bytes = filter->memory_bytes,
        .filters = (uint32_t)filter->count,
        .past = filter->past,
        .seed = options->seed,
    };
    count_all_held(filter, now_ms, &stats);
    stats.strain = strain_of(filter, &stats);
    return LETHE_GIVE(&stats, out, refused);
}

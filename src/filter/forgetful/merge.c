/* filter/forgetful/merge.c - adds what another filter remembers.
 *
 * Two lists of members cannot be merged pair by pair: their periods began at different times,
 * and their members differ in size and salt. So the other's live members are copied to the end
 * of the list, where they take no more ids. The two parts never form a pair across the seam,
 * because the last member of a list has no ids of its own period (I2 of elastic.c). */
#include "filter/forgetful/forgetful.h"

/* Whether other's member index is needed, for itself or for its newer neighbour. */
static bool is_wanted(const lethe_forgetful *other, size_t index, uint64_t now_ms) {
    return lethe_forgetful_elastic_is_live(other, index, now_ms) ||
           (index > 0 && lethe_forgetful_elastic_is_live(other, index - 1, now_ms));
}

static lethe_status check_room(const lethe_forgetful *filter, const lethe_forgetful *other,
                               uint64_t now_ms, size_t *count) {
    uint64_t bytes = filter->memory_bytes;
    *count = filter->count;
    for (size_t i = 0; i < other->count; i++) {
        if (!is_wanted(other, i, now_ms)) continue;
        bytes += lethe_member_bytes(other->members[i]);
        ++*count;
    }
    uint64_t cap_bytes = filter->plan.options.max_memory_bytes;
    bool fits = cap_bytes == 0 || bytes <= cap_bytes;
    return fits && *count <= LETHE_FORGETFUL_MOST_MEMBERS ? LETHE_OK : LETHE_EFULL;
}

/* Appends copies of other's live members. On failure the list stays as it was. */
static lethe_status append_copies(lethe_forgetful *filter, const lethe_forgetful *other,
                                  uint64_t now_ms) {
    size_t before = filter->count, taken = other->count; /* other may be filter itself */
    for (size_t i = 0; i < taken; i++) {
        if (!is_wanted(other, i, now_ms)) continue;
        struct member *copy = lethe_member_copy(other->members[i], filter->allocator);
        if (copy == NULL) {
            while (filter->count > before)
                lethe_forgetful_drop_member(filter, filter->members[--filter->count]);
            return LETHE_ENOMEM;
        }
        if (!lethe_forgetful_elastic_is_live(other, i, now_ms)) {
            copy->own_ids = 0;
            copy->is_paired = false;
        }
        filter->members[filter->count++] = copy;
        filter->memory_bytes += lethe_member_bytes(copy);
    }
    return LETHE_OK;
}

lethe_status lethe_forgetful_merge(lethe_forgetful *filter, const lethe_forgetful *other) {
    if (filter == NULL || other == NULL) return LETHE_EINVAL;
    const lethe_forgetful_options *own = &filter->plan.options, *its = &other->plan.options;
    if (own->setting != LETHE_FORGETFUL_ELASTIC || its->setting != LETHE_FORGETFUL_ELASTIC ||
        own->window_ms != its->window_ms || own->seed != its->seed) {
        return LETHE_EMISMATCH;
    }
    uint64_t now_ms = lethe_forgetful_time(filter, other->clock_ms);
    size_t count;
    lethe_status status = check_room(filter, other, now_ms, &count);
    if (status == LETHE_OK) status = lethe_forgetful_reserve(filter, count);
    if (status == LETHE_OK) status = append_copies(filter, other, now_ms);
    if (status != LETHE_OK) return status;
    filter->clock_ms = now_ms;
    filter->has_clock = filter->has_clock || other->has_clock;
    filter->fresh += other->fresh;
    filter->duplicates += other->duplicates;
    filter->refused += other->refused;
    return LETHE_OK;
}

/* engine/values/values.c - the steps that both kinds of values share. */
#include "engine/values/values.h"

#include "core/detail.h"
#include "engine/claims/record.h"

/* Whether something may have been counted: by an operation, or by a hold that was settled. */
static lethe_status find_counted(const lethe_values *values, const lethe_state *state, bool *out,
                                 lethe_detail *detail) {
    *out = state->totals.applied > 0;
    if (*out || !lethe_disk_has(values->disk, LETHE_FAMILY_CLAIMS)) return LETHE_OK;
    lethe_claims_record record;
    lethe_status status = lethe_claims_load(values->disk, &record, detail);
    if (status == LETHE_ENOTFOUND) return LETHE_OK;
    *out = status == LETHE_OK && record.holds.placed > 0;
    return status;
}

/* Loads meters, and makes them what a writer asks for. Their family is made before a commit can
 * say that there are any. */
static lethe_status open_meters(lethe_values *values, const lethe_state *state,
                                const lethe_store_options *options, lethe_detail *detail) {
    lethe_status status = lethe_meters_load(values->disk, &values->meters, detail);
    if (status != LETHE_OK || options->read_only) return status;
    bool has_counted;
    status = find_counted(values, state, &has_counted, detail);
    if (status != LETHE_OK) return status;
    status = lethe_meters_resolve(&values->meters, options, state, has_counted, detail);
    if (status != LETHE_OK || values->meters.count == 0) return status;
    return lethe_disk_has(values->disk, LETHE_FAMILY_BUCKETS)
               ? LETHE_OK
               : lethe_disk_add(values->disk, LETHE_FAMILY_BUCKETS, detail);
}

lethe_status lethe_values_open(lethe_values *values, lethe_disk *disk, const lethe_state *state,
                               const lethe_store_options *options, lethe_detail *detail) {
    *values = (lethe_values){.kind = lethe_values_kind_of(state),
                             .allocator = options->allocator,
                             .disk = disk,
                             .seed = state->seed,
                             .counters = {.memory_limit_bytes = options->counters_memory_bytes,
                                          .is_alone = options->threads == 1,
                                          .undo = {.allocator = options->allocator}},
                             .buckets = {.by_events = options->event_time == LETHE_SWITCH_ON},
                             .sketched = {.deltas = {.allocator = options->allocator},
                                          .bytes = state->sketch_bytes,
                                          .top = state->sketch_top}};
    lethe_status status = open_meters(values, state, options, detail);
    if (status != LETHE_OK) return status;
    status = values->kind->open(values);
    if (status == LETHE_OK) status = lethe_buckets_open(values);
    return status == LETHE_OK ? LETHE_OK : lethe_detail_fill(detail, status, "not enough memory");
}

void lethe_values_close(lethe_values *values) {
    if (values->kind == NULL) return;
    values->kind->close(values);
    lethe_buffer_free(&values->counters.undo); /* payloads are sorted in it, with a sketch too */
    lethe_buckets_close(values);
    lethe_held_close(&values->held);
    values->kind = NULL;
}

lethe_status lethe_values_prepare_writes(lethe_values *values, uint64_t next_commit) {
    return values->kind->prepare_writes(values, next_commit);
}

lethe_status lethe_values_replay(lethe_values *values, const lethe_state *state, lethe_fold *fold,
                                 lethe_detail *detail) {
    return values->kind->replay(values, state, fold, detail);
}

lethe_status lethe_values_load(lethe_values *values, const lethe_state *state,
                               lethe_detail *detail) {
    lethe_status status = values->kind->load(values, detail);
    return status == LETHE_OK ? lethe_buckets_load(values, state->clock_ms, detail) : status;
}

lethe_status lethe_values_overwrite(lethe_values *values, lethe_group *group, lethe_bytes key,
                                    const int64_t *value, bool *existed, lethe_detail *detail) {
    if (values->kind->overwrite == NULL) return LETHE_EINVAL;
    return values->kind->overwrite(values, group, key, value, existed, detail);
}

lethe_status lethe_values_read(lethe_values *values, lethe_bytes key, int64_t *value, bool *found,
                               lethe_detail *detail) {
    *value = 0;
    *found = false;
    return lethe_is_key(key) ? values->kind->read(values, key, value, found, detail) : LETHE_OK;
}

void lethe_values_number_commits(lethe_values *values, uint64_t next_commit, bool is_folding) {
    values->kind->number_commits(values, next_commit, is_folding);
}

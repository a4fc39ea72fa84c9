/* engine/values/values.c - the steps that both kinds of values share. */
#include "engine/values/values.h"

lethe_status lethe_values_open(lethe_values *values, lethe_disk *disk, const lethe_state *state,
                               const lethe_store_options *options) {
    *values = (lethe_values){.kind = lethe_values_kind_of(state),
                             .allocator = options->allocator,
                             .disk = disk,
                             .seed = state->seed,
                             .counters = {.memory_limit_bytes = options->counters_memory_bytes},
                             .sketched = {.deltas = {.allocator = options->allocator},
                                          .bytes = state->sketch_bytes,
                                          .top = state->sketch_top}};
    return values->kind->open(values);
}

void lethe_values_close(lethe_values *values) {
    if (values->kind != NULL) values->kind->close(values);
    values->kind = NULL;
}

lethe_status lethe_values_prepare_writes(lethe_values *values, uint64_t next_commit) {
    return values->kind->prepare_writes(values, next_commit);
}

lethe_status lethe_values_replay(lethe_values *values, const lethe_state *state, lethe_fold *fold,
                                 lethe_detail *detail) {
    return values->kind->replay(values, state, fold, detail);
}

lethe_status lethe_values_load(lethe_values *values, lethe_detail *detail) {
    return values->kind->load(values, detail);
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

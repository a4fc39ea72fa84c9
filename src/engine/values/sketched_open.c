/* engine/values/sketched_open.c - a sketch in place of counters: opening, saving, checking.
 *
 * I1      A sketch is saved as a whole, as it is after some commit, with that commit's number (its
 *         cut). The log up to the cut is not replayed over it: deltas are not absolute.
 * WHY     It is saved when the log has grown by the sketch's own size, and by 96 MiB at least, so
 *         that saving costs no more than logging. */
#include "core/allocator.h"
#include "core/detail.h"
#include "core/tunables.h"
#include "engine/log/log.h"
#include "engine/values/fold.h"
#include "engine/values/sketched.h"

/* The ceiling is computed again after a share of the sketch's counters in operations. */
enum { SCAN_SHARE = 8 };

lethe_status lethe_sketched_open(lethe_values *values) {
    (void)values; /* replay makes the sketch */
    return LETHE_OK;
}

void lethe_sketched_close(lethe_values *values) {
    lethe_sketch_free(values->sketched.sketch);
    lethe_buffer_free(&values->sketched.deltas);
}

lethe_status lethe_sketched_prepare_writes(lethe_values *values, uint64_t next_commit) {
    (void)values, (void)next_commit;
    return LETHE_OK;
}

/* Makes the changes again that the log has after the saved sketch. */
static lethe_status replay_log(const lethe_values *values, lethe_sketch *sketch, uint64_t cut,
                               const lethe_state *state, lethe_fold *fold, lethe_detail *detail) {
    lethe_walk *walk;
    lethe_status status = lethe_changes_walk_begin(values->disk, state, &walk, detail);
    if (status != LETHE_OK) return status;
    lethe_bytes key, value;
    uint64_t commit;
    fold->segments = fold->folded_segments = 0;
    fold->unfolded_bytes = fold->unfolded_changes = 0;
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value)) {
        if (!lethe_commit_of_key(key, &commit)) status = LETHE_ECORRUPT;
        fold->segments++;
        if (status != LETHE_OK) break;
        if (commit <= cut) {
            fold->folded_segments++;
            continue;
        }
        status = lethe_sketch_disk_replay(sketch, value, &fold->unfolded_changes);
        fold->unfolded_bytes += value.size;
    }
    lethe_status ended = lethe_walk_end(walk, detail);
    if (status != LETHE_OK) return lethe_explain_damage("a segment of changes", status, detail);
    return ended;
}

static lethe_status load_saved(const lethe_values *values, const lethe_state *state,
                               lethe_sketch **out, lethe_sketch_saved *saved,
                               lethe_detail *detail) {
    lethe_status status =
        lethe_sketch_disk_load(values->disk, state, values->allocator, out, saved, detail);
    if (status != LETHE_OK) return status;
    if (saved->cut >= state->folded && saved->cut <= state->commit) return LETHE_OK;
    lethe_sketch_free(*out);
    *out = NULL;
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "the sketch is not of a commit that the store's state knows; "
                             "restore a backup");
}

lethe_status lethe_sketched_replay(lethe_values *values, const lethe_state *state, lethe_fold *fold,
                                   lethe_detail *detail) {
    lethe_sketched *sketched = &values->sketched;
    lethe_sketch *sketch;
    lethe_sketch_saved saved;
    lethe_status status = load_saved(values, state, &sketch, &saved, detail);
    if (status == LETHE_OK) status = replay_log(values, sketch, saved.cut, state, fold, detail);
    if (status != LETHE_OK) {
        lethe_sketch_free(sketch);
        return status;
    }
    sketched->sketch = sketch;
    sketched->saved = saved;
    /* A crash may have come before a commit recorded it. The next commit does. */
    fold->done = saved.cut;
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    (void)lethe_sketch_get_shape(sketch, &shape);
    sketched->scan_after = shape.width * shape.depth / SCAN_SHARE;
    lethe_sketched_renew_ceiling(sketched);
    return LETHE_OK;
}

lethe_status lethe_sketched_load(lethe_values *values, lethe_detail *detail) {
    (void)values, (void)detail; /* it is all in memory */
    return LETHE_OK;
}

uint64_t lethe_sketched_fold_after_bytes(const lethe_values *values) {
    uint64_t bytes = values->sketched.bytes, least = lethe_tune.fold_after_bytes;
    return bytes > least ? bytes : least;
}

bool lethe_sketched_is_too_large(const lethe_values *values) {
    (void)values; /* its size never changes */
    return false;
}

lethe_status lethe_sketched_take_fold(lethe_values *values, const lethe_fold *fold,
                                      lethe_fold_load *load) {
    if (fold->unfolded_changes == 0) return LETHE_OK;
    return lethe_sketch_copy(values->sketched.sketch, &load->sketch);
}

/* Without the lock: the sketch is a copy, and only the folding thread looks at `saved`. */
lethe_status lethe_sketched_write_fold(lethe_values *values, lethe_fold_load *load, uint64_t cut,
                                       lethe_detail *detail) {
    if (load->sketch == NULL) return LETHE_OK;
    return lethe_sketch_disk_save(values->disk, load->sketch, cut, values->allocator,
                                  &values->sketched.saved, detail);
}

void lethe_sketched_end_fold(lethe_values *values, uint64_t cut) {
    (void)values, (void)cut;
}

lethe_status lethe_sketched_evict(lethe_values *values) {
    (void)values; /* it is never too large */
    return LETHE_OK;
}

lethe_status lethe_sketched_check_begin(lethe_disk *disk, lethe_values_check *check,
                                        lethe_detail *detail) {
    lethe_sketch_saved saved;
    lethe_status status =
        lethe_sketch_disk_load(disk, check->state, NULL, &check->sketch, &saved, detail);
    check->folded = saved.cut;
    check->health->sketch_bytes = check->state->sketch_bytes;
    if (status == LETHE_OK && saved.cut > check->state->commit) {
        return lethe_detail_fill(
            detail, LETHE_ECORRUPT, "the sketch is of commit %llu, and the log ends at %llu",
            (unsigned long long)saved.cut, (unsigned long long)check->state->commit);
    }
    return status;
}

/* What the sketch does not have yet must fit it. */
lethe_status lethe_sketched_check_segment(lethe_values_check *check, uint64_t commit,
                                          lethe_bytes segment) {
    if (commit > check->folded)
        return lethe_sketch_disk_replay(check->sketch, segment, &check->health->changes);
    lethe_changes deltas;
    lethe_status status = lethe_deltas_open(segment, &deltas);
    if (status != LETHE_OK) return status;
    check->health->changes += deltas.left;
    while (status == LETHE_OK && deltas.left > 0) {
        lethe_change change;
        status = lethe_deltas_next(&deltas, &change);
    }
    return status;
}

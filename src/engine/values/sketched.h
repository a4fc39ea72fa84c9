/* engine/values/sketched.h - a sketch in place of counters: what its files share.
 *
 *   sketched.c        changing and reading it
 *   sketched_open.c   opening, saving and checking it
 *   sketch_disk.c     the records that it takes on disk */
#ifndef LETHE_ENGINE_VALUES_SKETCHED_H
#define LETHE_ENGINE_VALUES_SKETCHED_H

#include "engine/values/values.h"

/* Sets the ceiling to the highest counter there is. Cost: O(bytes of the sketch). */
void lethe_sketched_renew_ceiling(lethe_sketched *sketched);

lethe_status lethe_sketched_open(lethe_values *values);
void lethe_sketched_close(lethe_values *values);
lethe_status lethe_sketched_prepare_writes(lethe_values *values, uint64_t next_commit);
lethe_status lethe_sketched_replay(lethe_values *values, const lethe_state *state, lethe_fold *fold,
                                   lethe_detail *detail);
lethe_status lethe_sketched_load(lethe_values *values, lethe_detail *detail);
lethe_status lethe_sketched_check_begin(lethe_disk *disk, lethe_values_check *check,
                                        lethe_detail *detail);
lethe_status lethe_sketched_check_segment(lethe_values_check *check, uint64_t commit,
                                          lethe_bytes segment);

uint64_t lethe_sketched_fold_after_bytes(const lethe_values *values);
bool lethe_sketched_is_too_large(const lethe_values *values);
lethe_status lethe_sketched_take_fold(lethe_values *values, const lethe_fold *fold,
                                      lethe_fold_load *load);
lethe_status lethe_sketched_write_fold(lethe_values *values, lethe_fold_load *load, uint64_t cut,
                                       lethe_detail *detail);
void lethe_sketched_end_fold(lethe_values *values, uint64_t cut);
lethe_status lethe_sketched_evict(lethe_values *values);

#endif

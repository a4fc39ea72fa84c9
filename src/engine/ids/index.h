/* engine/ids/index.h - INDEX: every id that the log has, with its time and digest.
 *
 * Only a store in exact mode has one. */
#ifndef LETHE_ENGINE_IDS_INDEX_H
#define LETHE_ENGINE_IDS_INDEX_H

#include "engine/disk/disk.h"
#include "engine/ids/pending.h"

/* Adds a group's ids to its batch. Errors: LETHE_ENOMEM. Cost: O(n log n). */
LETHE_MUST_CHECK lethe_status lethe_index_put(const lethe_pending_ids *pending, lethe_batch *batch,
                                              lethe_disk *disk);

/* Commits the ids of a run, without digests: for a store that had no index so far. */
LETHE_MUST_CHECK lethe_status lethe_index_put_run(const unsigned char *ids, lethe_id_run run,
                                                  lethe_batch *batch, lethe_disk *disk);

/* Looks an id up. *found becomes whether there is an entry. Errors: those of the disk. */
LETHE_MUST_CHECK lethe_status lethe_index_get(lethe_disk *disk, lethe_log_id id,
                                              lethe_index_entry *out, bool *found,
                                              lethe_detail *detail);

/* Deletes all entries, in several commits. The state on disk must not claim the index any more:
 * what a crash leaves of it then does no harm. */
LETHE_MUST_CHECK lethe_status lethe_index_empty(lethe_disk *disk, lethe_batch *batch);

#endif

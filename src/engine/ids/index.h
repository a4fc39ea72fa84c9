/* engine/ids/index.h - INDEX: every id that the window knows, with its time and digest.
 *
 * Guarantee  An id that was added is found until kept_ms after its clock, with the entry that was
 *            added last. No other id is found: all 80 bits that the log keeps are compared.
 * Memory     24 bytes for an id, and 8 MiB at least, up to 253 MiB for eleven million ids; what is
 *            more is in files without a name, and takes half a byte of memory. The last 1.4 million
 *            ids stay, however old they are.
 * Threads    Whoever uses it needs it alone. From 4 MiB of ids on it has a thread, which has memory
 *            backed before it is needed, and sorts and merges when that memory is full; unless it
 *            is to start none. It reads no clock.
 * Caveats    It is made from the log when a store in exact mode is opened, and is gone when the
 *            store is closed. */
#ifndef LETHE_ENGINE_IDS_INDEX_H
#define LETHE_ENGINE_IDS_INDEX_H

#include "engine/disk/disk.h"
#include "engine/log/segment.h"

typedef struct lethe_index lethe_index;

typedef struct lethe_index_options {
    /* W, and how long an entry must be found. */
    uint64_t window_ms, kept_ms;
    /* Where files without a name are made. It must outlive the index. */
    const char *folder;
    const lethe_allocator *allocator;
    /* It starts no thread. */
    bool is_alone;
} lethe_index_options;

/* On error *out is NULL. Errors: LETHE_ENOMEM; LETHE_EINVAL (the folder's name is too long). */
LETHE_MUST_CHECK lethe_status lethe_index_new(const lethe_index_options *options,
                                              lethe_index **out);
/* Takes NULL. */
void lethe_index_free(lethe_index *index);

/* Adds an id that was applied. Cost: a cache miss; it waits if the thread is far behind. Without a
 * thread it sorts a few ids now and then, or reads and writes a piece of a file. Errors, which may
 * be those of earlier ids: LETHE_ENOMEM, LETHE_ENOSPACE, LETHE_EIO,
 * LETHE_ECORRUPT (a file is damaged); the index can't be used any more then. */
LETHE_MUST_CHECK lethe_status lethe_index_add(lethe_index *index, lethe_log_id id,
                                              lethe_index_entry entry);

/* Looks an id up. *found becomes whether there is an entry. Cost: a cache miss or two for each tail
 * and each run in memory, a read for each in a file. Errors: LETHE_ENOMEM, LETHE_EIO,
 * LETHE_ECORRUPT. */
LETHE_MUST_CHECK lethe_status lethe_index_find(lethe_index *index, lethe_log_id id,
                                               lethe_index_entry *out, bool *found);
/* Has the processor fetch what adding this id will need. */
void lethe_index_prefetch_add(const lethe_index *index, lethe_log_id id);
/* Has the processor fetch what looking up these ids will need. */
void lethe_index_prefetch(const lethe_index *index, const lethe_log_id *ids, size_t count);

/* Forgets what is older than kept_ms at this time, as far as it lies together. */
void lethe_index_expire(lethe_index *index, uint64_t clock_ms);

/* Of so many ids: what the tails may take, and how many are in runs. */
uint64_t lethe_index_planned_tail_bytes(uint64_t ids);
uint64_t lethe_index_planned_in_runs(uint64_t ids);
/* What it takes of memory; and of memory and of the disk together. */
uint64_t lethe_index_memory_bytes(const lethe_index *index);
uint64_t lethe_index_bytes(const lethe_index *index);

/* --- index_earlier.c: the records of INDEX, which earlier versions wrote for each id --- */

/* Adds those that are not older than kept_ms at this time, before anything else is added. Errors:
 * those of lethe_index_add and of the disk. */
LETHE_MUST_CHECK lethe_status lethe_index_add_earlier(lethe_index *index, lethe_disk *disk,
                                                      uint64_t clock_ms, lethe_detail *detail);
/* Deletes all records, in several commits. The state on disk must not claim them any more: what a
 * crash leaves of them then does no harm. */
LETHE_MUST_CHECK lethe_status lethe_index_empty(lethe_disk *disk, lethe_batch *batch);

#endif

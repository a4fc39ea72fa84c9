/* engine/ids/pending.h - ids that were decided and are not durable yet.
 *
 * The ledger learns of an id when its commit is on disk. Until then its group has it, in its
 * segment of ids. This is a table to look ids up there. */
#ifndef LETHE_ENGINE_IDS_PENDING_H
#define LETHE_ENGINE_IDS_PENDING_H

#include "engine/log/segment.h"
#include "lethe/allocator.h"

typedef struct lethe_pending_ids {
    const lethe_allocator *allocator;
    /* Places among the ids of the segment, plus 1, by hash. NULL where no ids are kept. */
    uint32_t *slots;
    /* How many ids, from the first one on, are in the slots. */
    uint32_t known;
} lethe_pending_ids;

/* Slots for the ids of a full group: twice as many. */
enum { LETHE_PENDING_SLOTS = 2 * 65536 };

LETHE_MUST_CHECK lethe_status lethe_pending_prepare(lethe_pending_ids *pending,
                                                    const lethe_allocator *allocator);
void lethe_pending_drop(lethe_pending_ids *pending);
/* Forgets all ids. log_ids: those that it was last asked about. Cost: O(ids) that are known, or of
 * the table if they are many. */
void lethe_pending_clear(lethe_pending_ids *pending, const unsigned char *log_ids);

/* Whether an id is among the first `count` of a segment, not more than a full group has, which only
 * grows until the table is cleared. Cost: a cache miss or two, and as much once for each id that
 * was appended since it was last asked. */
bool lethe_pending_has(lethe_pending_ids *pending, const unsigned char *log_ids, uint32_t count,
                       lethe_log_id id);

#endif

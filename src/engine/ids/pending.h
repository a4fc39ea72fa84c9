/* engine/ids/pending.h - ids that were decided and are not durable yet.
 *
 * The ledger learns of an id when its commit is on disk. Until then its group knows it. */
#ifndef LETHE_ENGINE_IDS_PENDING_H
#define LETHE_ENGINE_IDS_PENDING_H

#include "engine/buffer.h"
#include "engine/log/segment.h"

/* An id and what is known of it. */
typedef struct lethe_pending {
    lethe_log_id id;
    lethe_index_entry entry;
} lethe_pending;

typedef struct lethe_pending_ids {
    /* lethe_pending each, in the order in which they were decided. */
    lethe_buffer all;
    /* Places in `all`, plus 1, by hash. NULL where no ids are kept. */
    uint32_t *slots;
} lethe_pending_ids;

/* Slots for the ids of a full group: twice as many. */
enum { LETHE_PENDING_SLOTS = 2 * 65536 };

LETHE_MUST_CHECK lethe_status lethe_pending_prepare(lethe_pending_ids *pending,
                                                    const lethe_allocator *allocator);
void lethe_pending_drop(lethe_pending_ids *pending);
/* Forgets all ids. Cost: O(ids), or of the table if there are many. */
void lethe_pending_clear(lethe_pending_ids *pending);

/* Errors: LETHE_ENOMEM. Cost: a cache miss or two. */
LETHE_MUST_CHECK lethe_status lethe_pending_add(lethe_pending_ids *pending, lethe_pending entry);
/* The latest entry of an id; NULL if there is none. */
const lethe_pending *lethe_pending_find(const lethe_pending_ids *pending, lethe_log_id id);

#endif

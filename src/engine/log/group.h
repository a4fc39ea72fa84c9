/* engine/log/group.h - the operations of one commit, while it fills up and until it is durable. */
#ifndef LETHE_ENGINE_LOG_GROUP_H
#define LETHE_ENGINE_LOG_GROUP_H

#include "core/bytes.h"
#include "engine/buffer.h"
#include "engine/claims/record.h"
#include "engine/disk/disk.h"
#include "engine/ids/pending.h"
#include "engine/log/state.h"
#include "engine/meters/meters.h"

enum {
    LETHE_GROUPS = 3,          /* one fills up; the others are being written, or wait for that */
    LETHE_GROUP_LIMIT = 65536, /* operations */
    LETHE_NOTE_BYTES = 4       /* of a digest, and of a lag */
};

typedef struct lethe_group {
    /* The number of its commit. */
    uint64_t number;
    /* When its first operation came, by the machine's clock. */
    uint64_t opened_ms;
    /* Decided in it, whatever the outcome. A set, a delete and marks count too. */
    uint32_t operations;

    /* Marks. */
    lethe_batch *batch;
    /* The segment of ids, and its runs (lethe_id_run each). In exact mode also the digest of each,
     * and how much earlier than recorded it was applied; these are written only if some was
     * (has_lags). */
    lethe_buffer ids, runs, digests, lags;
    /* The segment of changes, how many it will have, and whatever the values need to write it. */
    lethe_buffer changes, touched, touched_buckets;
    uint32_t change_count;
    /* Some of them are of buckets. */
    bool has_buckets;
    /* What it does to the store's meters. */
    lethe_meters_step meters;
    /* What it writes about claims (claims/step.c), and the record about them after it. */
    lethe_buffer claims;
    bool has_claims, has_lags;
    lethe_claims_record claims_after;
    /* How many ids it has, once their segment is ended. */
    uint32_t id_count;
    bool ids_ended;
    /* To look them up, where the ledger decides. */
    lethe_pending_ids pending;

    /* The store's state after this commit. */
    lethe_state state;
    /* The commit deletes the segments of IDS before drop_to. Records of INDEX before
     * expire_before_ms then matter no more. */
    bool drops_ids;
    uint64_t drop_to;
    uint64_t expire_before_ms;
    /* It deletes the segments of CHANGES up to state.folded. */
    bool drops_changes;
    /* The log could be shorter if the ledger covered more commits. */
    bool wants_cover;
} lethe_group;

/* Takes a zeroed group. Errors: LETHE_ENOMEM; drop frees what there is. */
LETHE_MUST_CHECK lethe_status lethe_group_prepare(lethe_group *group,
                                                  const lethe_allocator *allocator,
                                                  bool keeps_pending);
void lethe_group_drop(lethe_group *group);
/* Of its buffers, without what RocksDB makes of them. */
uint64_t lethe_group_memory_bytes(const lethe_group *group);

/* Empties the group for another commit, except its segment of changes, which belongs to the values
 * (lethe_values_begin_segment). */
LETHE_MUST_CHECK lethe_status lethe_group_begin(lethe_group *group, uint64_t number);

/* Adds an id that is recorded under clock_ms. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_group_add_id(lethe_group *group, lethe_log_id id,
                                                 uint64_t clock_ms);
/* Counts ids that were appended to the segment of ids by hand, and are recorded under clock_ms.
 * Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_group_count_ids(lethe_group *group, uint64_t count,
                                                    uint64_t clock_ms);
/* Notes of the id that was added last what exact mode must know of it: its digest, and when it was
 * applied, not after the time that it is recorded under. To be called for each id of a group, or
 * for none. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_group_note_id(lethe_group *group, lethe_index_entry entry,
                                                  uint64_t recorded_ms);
/* The same where digests and lags have room for it. */
static inline void lethe_group_append_note(lethe_group *group, lethe_index_entry entry,
                                           uint64_t recorded_ms) {
    uint64_t lag_ms = recorded_ms - entry.clock_ms;
    lethe_put_u32(group->digests.data + group->digests.size, entry.digest);
    lethe_put_u32(group->lags.data + group->lags.size, (uint32_t)lag_ms);
    group->digests.size += LETHE_NOTE_BYTES;
    group->lags.size += LETHE_NOTE_BYTES;
    group->has_lags = group->has_lags || lag_ms > 0;
}
/* Makes room for the notes of more ids; false when there is no memory. */
static inline bool lethe_group_reserve_notes(lethe_group *group, size_t more) {
    return lethe_buffer_reserve(&group->digests, more * LETHE_NOTE_BYTES) &&
           lethe_buffer_reserve(&group->lags, more * LETHE_NOTE_BYTES);
}
/* Whether it has an id, where groups keep them. */
bool lethe_group_has_id(lethe_group *group, lethe_log_id id);
/* Ends the segment of ids. */
LETHE_MUST_CHECK lethe_status lethe_group_end_ids(lethe_group *group);

static inline bool lethe_group_is_empty(const lethe_group *group) {
    return group->operations == 0;
}

/* Whether its commit has a segment of each kind: an empty one too where older ones are dropped
 * (commit.c, I4). */
static inline bool lethe_group_writes_ids(const lethe_group *group) {
    return group->runs.size > 0 || group->drops_ids;
}
static inline bool lethe_group_writes_changes(const lethe_group *group) {
    return group->change_count > 0 || group->drops_changes;
}

#endif

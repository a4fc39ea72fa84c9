/* lethe/operation.h - what a store is given and what it answers: operations, their changes and
 * bounds, outcomes, and marks. lethe/store.h includes it, and has the functions.
 *
 * An operation is an event after parsing. Structs in this header are passed in arrays: they carry
 * no size, and do not grow within a version of the ABI. */
#ifndef LETHE_OPERATION_H
#define LETHE_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LETHE_ID_LIMIT_BYTES = 1024,
    LETHE_KEY_LIMIT_BYTES = 1024,
    /* Of one operation. */
    LETHE_CHANGES_LIMIT = 65536
};

/* What an operation does to one counter, and how far that may go.
 *
 * A change may carry bounds: a highest and a lowest value, on the counter or on its bucket of one
 * resolution. They are judged by what the operation as a whole does: if it raises that value, all
 * changes of the key taken together, the value after it, and what is held of it (lethe/holds.h),
 * must not be above max; if it lowers the value, not below min. Otherwise the operation is
 * LETHE_OUTCOME_LIMITED, and changes nothing. More bounds on the same key go with further changes,
 * whose deltas may be 0.
 *
 * A bucket is that of the wall clock when the operation is decided. So with event_time, where the
 * caller chooses the bucket, a bound on a bucket makes the operation invalid. If the wall clock has
 * been set back so far that retention dropped the bucket, such an operation is limited, since
 * nobody knows what the bucket held. With a sketch, every bound makes the operation invalid. */
typedef struct lethe_change {
    /* 1 to 1024 bytes. */
    lethe_bytes key;
    int64_t delta;
    /* Of LETHE_CHANGE_..., or 0. Any other value makes the operation invalid. While flags is 0 the
     * fields after it are not looked at. */
    uint32_t flags;
    /* With LETHE_CHANGE_BUCKET: lethe_store_resolution. Otherwise 0. */
    uint32_t resolution;
    int64_t min;
    int64_t max;
} lethe_change;

enum {
    /* max and min are bounds. */
    LETHE_CHANGE_MAX = 1,
    LETHE_CHANGE_MIN = 2,
    /* With one of them or both: they are bounds on the bucket, and not on the counter. */
    LETHE_CHANGE_BUCKET = 4
};

typedef struct lethe_operation {
    /* 1 to 1024 bytes. */
    lethe_bytes id;
    /* 1 to 65,536 changes, made all together or not at all. A key may occur more than once. None
     * with LETHE_OPERATION_GIVE_UP. */
    const lethe_change *changes;
    size_t change_count;
    /* Since 1970; used only with event_time. Otherwise it is not looked at, even where the store
     * counts per period: the operation is then in the period of the wall clock, whatever time it
     * carries. A caller who has times that must decide the period opens the store with event_time;
     * lethe_store_stats says whether it has it. */
    uint64_t time_ms;
    /* Of LETHE_OPERATION_..., or 0. Any other value makes the operation invalid, and so does a
     * reserved that is not 0. */
    uint32_t flags;
    uint32_t reserved;
} lethe_operation;

enum {
    /* With event_time: if the operation is late, it is applied all the same, unless something still
     * knows its id: LETHE_OUTCOME_APPLIED_LATE. For a caller who knows that it was not applied
     * before, such as one who counts a log that was forgotten.
     *
     * It is a duplicate if its id is in the window, the index (exact) or the ledger (forever): for
     * certain if it was applied within the last W by the store's clock, whatever its own time is;
     * perhaps if it was applied before that, in exact mode at any age. Otherwise its id is
     * remembered for W from now on, as every id is. So of two late operations with the same id,
     * the second is a duplicate as long as it has this flag too; without the flag it is late. If
     * its id was applied and forgotten before, it is counted twice.
     *
     * The store's clock does not move. An operation that is not late is decided as without the
     * flag. */
    LETHE_OPERATION_COUNT_LATE = 1,
    /* The operation has no changes: its id is remembered as if it had been applied. For a caller
     * who was refused and gives up, since what is refused is not remembered, and a delayed attempt
     * may be applied later. The outcome says which came first: LETHE_OUTCOME_APPLIED if the
     * operation was not applied, and can't be any more within W; LETHE_OUTCOME_DUPLICATE if its id
     * was applied, or given up before. check_payload distinguishes the two: an operation that was
     * applied is LETHE_OUTCOME_MISMATCH then. lethe_store_stats counts what was given up as
     * applied. */
    LETHE_OPERATION_GIVE_UP = 2
};

/* What became of an operation. */
typedef enum lethe_outcome {
    LETHE_OUTCOME_APPLIED = 0,
    /* Its id was applied before: nothing changed. */
    LETHE_OUTCOME_DUPLICATE = 1,
    /* With event_time: older than W, or older than what was forgotten while W was shorter. Nobody
     * knows whether it was applied, unless the caller does: LETHE_OPERATION_COUNT_LATE. */
    LETHE_OUTCOME_LATE = 2,
    /* With event_time: too far in the future; the store's clock did not move. The time is more than
     * max_future_ms ahead of the wall clock; or it is more than W ahead of the store's clock, and
     * accepting it would make more of the next 64 operations (of this call, or announced) late than
     * agree with it. So one wrong time does not make all others late. If nothing follows, and with
     * forever, the time is believed, so that a log can continue after a long pause. */
    LETHE_OUTCOME_FUTURE = 3,
    /* A counter, or a bucket, would end up out of the range of int64. With a sketch: more would be
     * taken from a key than its estimate, or the estimate would exceed 2^32 - 2. */
    LETHE_OUTCOME_OVERFLOW = 4,
    /* An id or key is empty, too long or NULL, there are too few or too many changes, flags are not
     * known, or a bound is on something that the store does not have. */
    LETHE_OUTCOME_INVALID = 5,
    /* The window has reached its memory cap. */
    LETHE_OUTCOME_REFUSED = 6,
    /* With check_payload: a duplicate by its id, but with other changes. Their order does not
     * matter. Bounds do not matter either, nor does a change of 0 with bounds beside another
     * change of its key: an operation that is sent again with other bounds is the same one. */
    LETHE_OUTCOME_MISMATCH = 7,
    /* A bound would be crossed. The id is not remembered: the operation may be sent again, and is
     * judged anew. An operation that would overflow as well is limited. With event_time, the time
     * of an operation that is limited or would overflow counts as that of a duplicate does: the
     * store's clock has moved to it, if it is later. */
    LETHE_OUTCOME_LIMITED = 8,
    /* As LETHE_OUTCOME_APPLIED, of an operation that was late: only with
     * LETHE_OPERATION_COUNT_LATE. lethe_store_stats counts it as applied. */
    LETHE_OUTCOME_APPLIED_LATE = 9
} lethe_outcome;

/* How far a source has been read. A store keeps the latest value of each name. */
typedef struct lethe_mark {
    /* 1 to 1024 bytes. */
    lethe_bytes name;
    /* Up to 1024 bytes; empty removes the mark. */
    lethe_bytes value;
} lethe_mark;

/* How a counter, or its bucket, stands under the bounds of a change. */
typedef struct lethe_limit {
    /* What the bounds are on: after the operation, or now if it was not applied. Without bounds, of
     * the counter. */
    int64_t value;
    /* How much more can be added until max, beside what is held (lethe/holds.h); if there is only
     * min, or there are both and delta is negative, how much can be taken away until min. At least
     * 0. Without bounds, INT64_MAX. */
    int64_t left;
    /* Milliseconds until the bucket ends, by the wall clock; LETHE_NEVER_RESETS for a counter. */
    int64_t resets_ms;
    /* The operation is limited, and by this change. */
    bool is_crossed;
} lethe_limit;

enum { LETHE_NEVER_RESETS = -1 };

#ifdef __cplusplus
}
#endif

#endif

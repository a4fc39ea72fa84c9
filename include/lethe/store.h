/* lethe/store.h - counters that apply every operation exactly once.
 *
 * A store is a folder of counters: signed 64-bit numbers, under keys of any bytes. They are whole
 * numbers of a unit, which is 1 or, with a scale, a fraction such as a hundredth. Operations change
 * them. Each operation has an id, which its sender makes up and repeats when it sends the
 * operation again. A duplicate that arrives within the retry window W of the original is recognised
 * and changes nothing.
 *
 * Where the keys are too many to store, a store keeps a sketch in place of its counters
 * (sketch_bytes): an estimate for every key, which is never too low provided that nothing is taken
 * from a key that had not been added to it, and the most frequent keys.
 *
 * Guarantee  P1-P4 of lethe/window.h, and:
 *            P5  What an operation changes and the memory of its id are durable together or not at
 *                all, however many counters it changes.
 *            P6  When apply or wait returns LETHE_OK, the outcomes are durable. This includes
 *                duplicates: none is reported before its original is on disk. Marks, which say how
 *                far a source has been read, are durable in the same step.
 *            P7  No byte of an operation or of a damaged store crashes, hangs or over-allocates.
 * Memory     The window (lethe/window.h). About 60 bytes and the key for each counter in use, up to
 *            counters_memory_bytes; or the sketch, twice while it is being saved. About 64 MiB for
 *            RocksDB and for what is on its way to disk.
 * Disk       10 bytes for each id in the window, about 30 more with exact or check_payload, and the
 *            counters.
 * Threads    Any thread may call any function except close. One process writes. Others may open the
 *            store to read at the same time.
 * Arguments  As lethe/status.h says: NULL where something is needed is LETHE_EINVAL.
 * Caveats    After a failed commit (a full disk, for example) the store accepts nothing more. What
 *            was acknowledged is on disk. Open the store again to see how much of the rest is on
 *            disk. */
#ifndef LETHE_STORE_H
#define LETHE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/backup.h"
#include "lethe/hash.h"
#include "lethe/policy.h"
#include "lethe/status.h"
#include "lethe/window.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lethe_store lethe_store;

enum {
    LETHE_ID_LIMIT_BYTES = 1024,
    LETHE_KEY_LIMIT_BYTES = 1024,
    /* Of one operation. */
    LETHE_CHANGES_LIMIT = 65536,
    /* Digits after the point. */
    LETHE_SCALE_LIMIT = 18,
    /* In options: no digits after the point. */
    LETHE_SCALE_WHOLE = -1
};

/* --- Opening and closing --- */

/* A mode of a store. Modes belong to the store: one that is not asked for stays as it is. */
typedef enum lethe_switch {
    /* As the store has it; off in a new store. */
    LETHE_SWITCH_KEEP = 0,
    /* `true` means the same. */
    LETHE_SWITCH_ON = 1,
    LETHE_SWITCH_OFF = 2
} lethe_switch;

/* Zero in a field selects its default or, for W, the errors and the modes, what the store has. NULL
 * options are all zeros.
 *
 * A change that would lose something is refused with LETHE_EINVAL, and the detail says what to do:
 *   event_time    on or off, once an operation was applied: the remembered ids go by one clock
 *   forever       off; or on, while exact is not switched off
 *   exact         off, while check_payload is not switched off; or on, with forever
 *   sketch_bytes, sketch_top, forgetful, scale   any value other than that of the existing store
 *   per           without a resolution that the store has; or at all, with a sketch
 *   zone          any other than that of the store, once it has resolutions
 * Everything else may change whenever the store is opened: W and the error; exact, on (its index is
 * made from the log) and off; check_payload, on (it compares what was applied since the store
 * became exact) and off; forever, on (it takes over what the window and the log remember).
 *
 * A reader ignores the modes, W and the errors. What it is given must be valid all the same. */
typedef struct lethe_store_options {
    /* sizeof(lethe_store_options): see LETHE_OPTIONS. */
    size_t size;

    /* W, 1 second to 30 days; 0 -> as the store has it, 3 days in a new one. When W becomes longer,
     * what was applied within the old W is recognised for the new one. What is older may be
     * forgotten: with event time it stays LETHE_OUTCOME_LATE; with the wall clock, a duplicate of
     * it is counted. */
    uint64_t window_ms;
    /* e, [1e-12, 0.1]; 0 -> as the store has it, 1e-12 in a new one. */
    double error;
    /* Ids expected within W; 0 -> as many as the log has. */
    uint64_t capacity;
    /* Memory cap of the window; 0 -> none. */
    uint64_t max_memory_bytes;
    /* Memory for counters; the others are read from disk when they are needed; 0 -> 1 GiB. */
    uint64_t counters_memory_bytes;
    /* 0: commit whenever the disk is idle. Otherwise an operation waits this long for others, to be
     * committed together with them; it is acknowledged after that; at most 10,000. */
    uint64_t commit_interval_ms;
    /* How far the time of an event may be ahead of the wall clock; 0 -> 60,000. */
    uint64_t max_future_ms;
    /* Commit when this many operations are waiting, or a quarter as many if the disk is idle; 0 ->
     * 32,768; at most 65,536. */
    uint32_t commit_operations;
    /* What happens at the window's memory cap. */
    lethe_policy policy;

    /* Look up in an index what the window takes for a duplicate, so that no fresh id is taken for
     * one unless 80 bits of their hashes are the same: among a billion ids, with a probability
     * below 1e-15. The index takes 18 bytes for each id in the window: of memory, and beyond 256
     * MiB of files in the store's folder that have no name. It is made when the store is opened. */
    lethe_switch exact;
    /* Recognise an id that comes again with other changes: LETHE_OUTCOME_MISMATCH. Implies
     * exact. */
    lethe_switch check_payload;
    /* Operations carry their time. Otherwise the wall clock counts. */
    lethe_switch event_time;
    /* Remember ids on disk for ever when they leave the window: a duplicate is recognised however
     * late it comes, and no event is LETHE_OUTCOME_LATE, except one that was late when this was
     * switched on. It can't be switched off. Not with exact. */
    lethe_switch forever;

    /* Open the store to read it. Another process may be writing to it. */
    bool read_only;
    /* Make the store if the folder is missing or empty. */
    bool create;
    /* Of a new store: most frequent keys to list beside the sketch, up to 2^20; 0 -> 1000. */
    uint32_t sketch_top;
    /* Of a new store: memory of a FID sketch (lethe/sketch.h) to keep in place of counters, 4 KiB
     * to 4 GiB; 0: exact counters. */
    uint64_t sketch_bytes;

    /* With forever: how many ids to plan for in total; 0 -> 2^30. Beyond that the error rises. */
    uint64_t ledger_capacity;
    /* With forever; 0 -> 256 MiB. */
    uint64_t ledger_memory_bytes;
    /* With forever: the error at ledger_capacity, [1e-15, 0.1], which adds to the window's; 0 -> as
     * the store has it, in a new one 1e-9 or, if that is more, ledger_capacity / 2^62. */
    double ledger_error;

    /* Of a new store: keys all hashes; 0 -> random and secret. */
    uint64_t seed;
    /* NULL -> the default. RocksDB has its own. */
    const lethe_allocator *allocator;

    /* Of a new store: the window is the forgetful Bloom filter of the paper,
     * LETHE_WINDOW_FORGETFUL, and not the quotient kind. It is slower and larger, and keeps every
     * promise except the cap: max_memory_bytes must be 0 then, since the window is made again from
     * the log and may need more memory than before. */
    lethe_switch forgetful;
    uint32_t reserved;

    /* Of a new store: how many digits after the point its values have, 1 to LETHE_SCALE_LIMIT. All
     * values and deltas are then whole numbers of 10^-scale: with a scale of 2, 350 stands for
     * 3.50. The store remembers the scale for its users (lethe_store_scale), and does not calculate
     * with it. 0 -> as the store has it, none in a new one; LETHE_SCALE_WHOLE asks for none. */
    int32_t scale;
    uint32_t reserved_2;

    /* Meters: what each counter gets in each period, in its buckets. Resolutions, as "1h,1d,1mo",
     * at most 8: 1d, 1w (ISO weeks), 1mo and 1y, by the calendar in the zone; and what divides an
     * hour, from 1s to 1h, in multiples since 1970. NULL -> as the store has it, none in a new one.
     * Resolutions may be added, and stay. What was counted before is in no bucket of theirs. */
    const char *per;
    /* The zone of the calendar, "Europe/Berlin" or "+01:00"; NULL -> as the store has it, UTC in a
     * new one. */
    const char *zone;
    /* How long buckets are kept after their period, by the store's clock, as "1h=90d,1d=2y", in
     * units from s to y; "1h=ever" keeps them. Resolutions that are not named keep theirs as they
     * did, new ones for ever. */
    const char *keep;
} lethe_store_options;

/* Opens a store: replays the part of the log that the counters on disk don't have yet, and fills
 * the window from it. The caller owns *out (lethe_store_close). On error *out is NULL and detail
 * says why. Otherwise its text is empty, or says what was wrong with the store and has been mended.
 * Cost: 0.1 microseconds for each id in the window, 0.7 with forgetful; for a reader nothing for
 * ids.
 * Errors: LETHE_EINVAL, LETHE_ENOTFOUND (no store there, and create is not set), LETHE_EBUSY
 * (another process has it open for writing; for a reader: a writer changes it so fast that no
 * consistent view can be read), LETHE_EVERSION, LETHE_ECORRUPT, LETHE_EIO, LETHE_ENOSPACE,
 * LETHE_ENOMEM, LETHE_EFULL (the window's memory cap is too small for the ids that it must
 * remember). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_open(const char *folder,
                                                         const lethe_store_options *options,
                                                         lethe_store **out, lethe_detail *detail);

/* Commits what is under way, folds the log into the counters and frees the store. Takes NULL.
 * Errors: as wait. The store is freed all the same, and what was acknowledged is on disk. */
LETHE_API lethe_status lethe_store_close(lethe_store *store, lethe_detail *detail);

/* --- Applying operations --- */

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
    /* Since 1970; used only with event_time. */
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

/* With a sketch, in everything below, the value of a counter is its estimate, and a counter whose
 * estimate is 0 does not exist.
 *
 * Applies operations in their order, and returns when they are durable. outcomes[i] becomes a
 * lethe_outcome. values, unless NULL, gets a value for each change of each operation in turn: what
 * the counter holds after the operation, or now if the operation was not applied.
 * Cost: about 0.3 microseconds per operation, and a wait for the disk.
 * Errors: LETHE_EIO, LETHE_ENOSPACE, LETHE_ECORRUPT, LETHE_ENOMEM (of a commit, this one or an
 * earlier one; none of the outcomes counts), LETHE_EINVAL (read_only). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_apply(lethe_store *store,
                                                          const lethe_operation *operations,
                                                          size_t count, uint8_t *outcomes,
                                                          int64_t *values);

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

/* As apply, with a limit for each change of each operation in turn, in place of its value. Those of
 * an invalid operation are zeros.
 * Cost: as apply, and a lookup for each change. An operation of many changes with bounds is sorted.
 * Errors: as apply. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_apply_bounded(lethe_store *store,
                                                                  const lethe_operation *operations,
                                                                  size_t count, uint8_t *outcomes,
                                                                  lethe_limit *limits);

/* The place of a resolution of the store, such as "1h", as lethe_change has it. It stays the same.
 * Errors: LETHE_EINVAL, LETHE_ENOTFOUND (the store does not count per that period). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_resolution(const lethe_store *store,
                                                               const char *by, uint32_t *out);

/* apply in two halves, so that a caller can prepare the next operations while these are written.
 * submit decides and returns without waiting for the disk, unless two commits are under way
 * already and a third is full. The outcomes count once wait has returned LETHE_OK for the ticket.
 * The operations' bytes are not needed after submit.
 * marks become durable in one step with the operations, of which there may then be at most
 * commit_operations (LETHE_EINVAL).
 * Cost: as apply, without the wait. Errors: as apply; LETHE_EINVAL (a mark is not valid). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_submit(lethe_store *store,
                                                           const lethe_operation *operations,
                                                           size_t count, const lethe_mark *marks,
                                                           size_t mark_count, uint8_t *outcomes,
                                                           int64_t *values, uint64_t *ticket);

/* The same with a step in between, for what must not be missing once the operations are durable,
 * such as a list of those that were late. `decided` is called when the outcomes are known, and none
 * of these operations becomes durable before it returns. It may change the values of the marks, of
 * which there must be at least one. It must not call the store, and other threads wait for it. If
 * it returns anything but LETHE_OK, that is a failed commit: none of these operations will be
 * durable. */
typedef lethe_status (*lethe_store_decided)(void *context, const uint8_t *outcomes,
                                            lethe_mark *marks);
LETHE_API LETHE_MUST_CHECK lethe_status
lethe_store_submit_with(lethe_store *store, const lethe_operation *operations, size_t count,
                        lethe_mark *marks, size_t mark_count, uint8_t *outcomes, int64_t *values,
                        lethe_store_decided decided, void *context, uint64_t *ticket);

/* Waits until what was submitted with the ticket is durable. Errors: as apply. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_wait(lethe_store *store, uint64_t ticket);
/* Whether wait would return at once; true for NULL. */
LETHE_API bool lethe_store_is_done(const lethe_store *store, uint64_t ticket);

/* With event_time: announces operations that will be submitted after the next submit or apply. If
 * the last operation of that call jumps ahead, they show whether its time is wrong or a pause has
 * ended (LETHE_OUTCOME_FUTURE). The announced operations must still be submitted; their bytes are
 * not needed after this call. Only the first 64 count, in one call or several; returns whether more
 * would be used. For one thread that submits. False where an argument is NULL. */
LETHE_API bool lethe_store_announce(lethe_store *store, const lethe_operation *operations,
                                    size_t count);

/* Stores why the last call failed; an empty text if none did. Does nothing where detail is NULL. */
LETHE_API void lethe_store_explain(const lethe_store *store, lethe_detail *detail);

/* Sets counters to values, or deletes them, whatever they hold; durable on return. A call that is
 * repeated later undoes what came in between: unlike operations these calls have no ids. set
 * leaves buckets as they are, and delete drops the counter's.
 * delete stores, unless existed is NULL, whether each counter was there.
 * Cost: with meters, delete looks at all buckets in memory and at each period on disk.
 * Errors: as apply; LETHE_EINVAL (a key; a store that keeps a sketch has nothing to set). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_set(lethe_store *store, const lethe_bytes *keys,
                                                        const int64_t *values, size_t count);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_delete(lethe_store *store,
                                                           const lethe_bytes *keys, size_t count,
                                                           bool *existed);

/* --- Reading --- */

/* Reads counters: values[i] and found[i]. One that does not exist is 0. A writer sees what it has
 * submitted. A reader sees what was committed when it opened the store or last called refresh.
 * Cost: a hash lookup, or a read from disk. Errors: LETHE_ECORRUPT, LETHE_EIO, LETHE_ENOMEM: every
 * key is tried, and those that failed are not found. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_get(lethe_store *store, const lethe_bytes *keys,
                                                        size_t count, int64_t *values, bool *found);

/* How many digits after the point the values have: see lethe_store_options. 0 for NULL.
 * Cost: O(1), also in a reader. */
LETHE_API unsigned lethe_store_scale(const lethe_store *store);

/* What a sketch knows of a key. The true value is at most `value`, provided that nothing was taken
 * from a key that had not been added to it. It is at least `least`, except with the probability
 * sketch_delta of lethe_store_info. */
typedef struct lethe_estimate {
    uint64_t value;
    uint64_t least;
} lethe_estimate;

/* Cost: depth cache misses per key. Errors: LETHE_EINVAL (the store keeps exact counters). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_estimate(lethe_store *store,
                                                             const lethe_bytes *keys, size_t count,
                                                             lethe_estimate *out);

/* Lets a reader see what was acknowledged up to now. What it sees is never older than before. On
 * error it sees what it saw before. A writer always sees all: LETHE_OK.
 * Cost: a look at the names of files, if nothing was written; otherwise that of opening. Errors: as
 * open. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_refresh(lethe_store *store,
                                                            lethe_detail *detail);

/* Calls visit for each counter from `from` on (empty: the first), in the order of their bytes,
 * until it returns false. visit must not call the store.
 * Cost: 1 microsecond per counter. Errors: as get; LETHE_EINVAL (a store that keeps a sketch has no
 * list of its keys). */
typedef bool (*lethe_store_visit)(void *context, lethe_bytes key, int64_t value);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_each(lethe_store *store, lethe_bytes from,
                                                         lethe_store_visit visit, void *context);

/* Calls visit for the n largest counters, the largest first; among equals the first in the order of
 * their bytes first. With a sketch: for the most frequent keys, as lethe_sketch_top lists them, at
 * most sketch_top. Memory: n entries. Cost: as each. Errors: LETHE_ECORRUPT, LETHE_EIO,
 * LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_top(lethe_store *store, size_t n,
                                                        lethe_store_visit visit, void *context);

/* --- Meters: counts per period ---
 *
 * An operation adds to the bucket of its period, of each resolution, what it adds to the counter,
 * in the same commit. Its period is that of its time, with event_time, or else of the wall clock
 * when it was decided, which may step back. So at any moment, for each resolution,
 *
 *     counter = rest + the sum of its buckets
 *
 * where the rest is what retention dropped, what set changed, and what was counted before the
 * store had the resolution or in periods that retention had dropped. */

/* Which buckets to visit. Zero in a field selects its default. */
typedef struct lethe_usage_query {
    /* sizeof(lethe_usage_query): see LETHE_INIT. */
    size_t size;
    /* A resolution of the store; NULL -> its first. */
    const char *by;
    /* Periods that end after from_ms and begin before to_ms, since 1970; 0 -> from the first bucket
     * of any of the keys; up to the last one. */
    uint64_t from_ms;
    uint64_t to_ms;
    /* These counters, or, if there are none, all whose keys begin with prefix. */
    const lethe_bytes *keys;
    size_t key_count;
    lethe_bytes prefix;
} lethe_usage_query;

typedef struct lethe_usage_row {
    lethe_bytes key;
    /* The period begins here, since 1970, and ends before to_ms. */
    uint64_t from_ms;
    uint64_t to_ms;
    /* How far local time is ahead of UTC when it begins. */
    int32_t offset_s;
    /* This row is the rest, of no period: value_high * 2^64 + value. */
    bool is_rest;
    int64_t value_high;
    /* Of a bucket: a number of 64 bits with a sign. */
    uint64_t value;
} lethe_usage_row;

/* Calls visit for each period in turn, and in it for each key in the order of their bytes, with 0
 * where there is no bucket; then for the rest of each key, where from_ms is 0, or some of the
 * periods were dropped, or some had begun when the store got the resolution
 * (lethe_store_usage_reach). Periods that were dropped have no rows. All is of one moment. Stops
 * when visit returns false. visit must not call the store. keys are taken in their order, each
 * once; those without a counter have rows of zeros.
 * Memory: the keys. Cost: about 1 microsecond for each row and each bucket that is read. Errors: as
 * get; LETHE_EINVAL (no such resolution, or a zone that this machine does not know: explain says
 * which). */
typedef bool (*lethe_usage_visit)(void *context, const lethe_usage_row *row);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_usage(lethe_store *store,
                                                          const lethe_usage_query *query,
                                                          lethe_usage_visit visit, void *context);

/* As top, of the buckets of the period that at_ms is in. Errors: as usage. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_top_at(lethe_store *store, const char *by,
                                                           uint64_t at_ms, size_t n,
                                                           lethe_store_visit visit, void *context);

/* From when on a resolution's buckets say all; by NULL is the first. Buckets of periods that began
 * before *kept_from_ms were dropped. Periods that began before *whole_from_ms may lack what was
 * counted before the store had the resolution. 0: there are none such. Cost: that of loading a
 * zone. Errors: LETHE_EINVAL as usage, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_usage_reach(lethe_store *store, const char *by,
                                                                uint64_t *kept_from_ms,
                                                                uint64_t *whole_from_ms);

/* Calls visit for each mark, in the order of their names, until it returns false. */
typedef bool (*lethe_mark_visit)(void *context, const lethe_mark *mark);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_marks(lethe_store *store,
                                                          lethe_mark_visit visit, void *context);

/* --- A store in numbers --- */

/* A period of the log: what a picture of the window shows. */
typedef struct lethe_store_period {
    /* Of the store's clock. */
    uint64_t first_ms;
    uint64_t last_ms;
    uint64_t ids;
} lethe_store_period;

enum { LETHE_PERIODS_SHOWN = 64, LETHE_METERS_TEXT_BYTES = 256 };

/* The ids of the last W. In a reader as the writer last recorded it, about a second ago. */
typedef struct lethe_store_window {
    uint64_t window_ms;
    double error_target;
    /* The probability that a fresh id is taken for a duplicate, now. */
    double error_estimate;
    uint64_t ids;
    uint64_t memory_bytes;
    /* LETHE_STRAIN_...; 0 in a reader. */
    uint32_t strain;
    lethe_window_kind kind;
} lethe_store_window;

/* The ids of all time, with forever; zero without it. In a reader as of the last checkpoint,
 * without memory_bytes. */
typedef struct lethe_store_ledger {
    uint64_t ids;
    uint64_t capacity;
    /* Beside the window's: they add up. */
    double error_target;
    double error_estimate;
    uint64_t memory_bytes;
    uint64_t disk_bytes;
    /* The last commit whose ids it has for certain. The log has the others. */
    uint64_t covers;
} lethe_store_ledger;

typedef struct lethe_store_stats {
    /* sizeof(lethe_store_stats): see LETHE_INIT. */
    size_t size;

    lethe_store_window window;
    lethe_store_ledger ledger;
    /* The store's time now, by which ids have their age: with event_time that of the latest event;
     * otherwise it goes on while nothing is written, for readers too. */
    uint64_t clock_ms;
    /* The number of the last commit, and of the last one that the counters on disk include. */
    uint64_t commits;
    uint64_t folded;

    /* Outcomes over the store's life; overflow, invalid and limited are at the end. */
    uint64_t applied;
    uint64_t duplicates;
    uint64_t late;
    uint64_t future;
    uint64_t refused;
    uint64_t mismatched;
    /* Exact mode: ids that the window took for duplicates although they were fresh. */
    uint64_t confirmed_false;

    /* Keys; an estimate unless all are in memory. 0 with a sketch. */
    uint64_t counters;
    uint64_t counters_in_memory;
    /* Of the counters, or of the sketch. */
    uint64_t counters_memory_bytes;
    /* Ids in the log, which are dropped when they are older than W. */
    uint64_t log_ids;
    /* On disk, roughly. */
    uint64_t log_bytes;
    uint64_t changes_bytes;
    /* Of a writer: in memory, and on disk beyond that. */
    uint64_t index_bytes;
    uint64_t counters_bytes;

    /* With a sketch; 0 otherwise: its size as asked for; what all keys add up to; an estimate is
     * too high by more than sketch_error with the probability sketch_delta. */
    uint64_t sketch_bytes;
    uint64_t sketch_total;
    double sketch_error;
    double sketch_delta;
    uint32_t sketch_top;

    bool exact;
    bool check_payload;
    bool event_time;
    bool forever;

    /* The oldest first. */
    uint64_t period_count;
    lethe_store_period periods[LETHE_PERIODS_SHOWN];

    /* More outcomes. What versions before these fields counted of them is in `refused`. */
    uint64_t overflow;
    uint64_t invalid;

    /* Digits after the point of all values. */
    uint32_t scale;
    uint32_t reserved;

    /* Meters: as the options have them, empty without. */
    char per[LETHE_METERS_TEXT_BYTES];
    char zone[LETHE_METERS_TEXT_BYTES];
    char keep[LETHE_METERS_TEXT_BYTES];
    uint64_t buckets_in_memory;
    uint64_t buckets_memory_bytes;
    /* On disk, roughly. */
    uint64_t buckets_bytes;

    /* One more outcome. */
    uint64_t limited;
} lethe_store_stats;

/* On an error, the fields that are known are filled in all the same.
 * Cost: O(1), and a few questions to RocksDB; in a reader the log's ids are read when it is first
 * asked. Errors: LETHE_EINVAL; in a reader, as get. */
LETHE_API lethe_status lethe_store_info(const lethe_store *store, lethe_store_stats *out);

/* --- Checking and backing up --- */

/* What lethe_store_check read. */
typedef struct lethe_store_health {
    /* sizeof(lethe_store_health): see LETHE_INIT. */
    size_t size;

    /* Those on disk; the log may have changes of others. */
    uint64_t counters;
    uint64_t log_segments;
    uint64_t log_ids;
    uint64_t change_segments;
    uint64_t changes;
    /* Ids of which the log knows what they did, and records of an earlier version's index. */
    uint64_t index_entries;
    uint64_t marks;
    /* The sketch in place of counters; 0 if there is none. */
    uint64_t sketch_bytes;
    uint64_t ledger_ids;
    /* Those on disk; the log's are changes. */
    uint64_t buckets;
    /* lethe/claims.h: open and done. */
    uint64_t claims;
    /* lethe/holds.h: open and ended. */
    uint64_t holds;
} lethe_store_health;

/* These take the folder of a store, which this or another process may have open and may be writing
 * to, and change nothing in it. They see its files as of one moment: everything that was
 * acknowledged before the call, and of what was submitted after that perhaps a beginning, with the
 * marks that belong to it.
 *
 * Reads every byte: checksums, the formats of all records, and that these agree with each other.
 * Cost: O(bytes on disk). Errors: as open for a reader; LETHE_ENOSPACE (for temporary files);
 * detail names the first fault. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_check(const char *folder,
                                                          lethe_store_health *out,
                                                          lethe_detail *detail);

/* Adds a backup of the store to a folder of backups (lethe/backup.h), which is made if it is
 * missing. What an earlier backup has is not written again. Every byte of the store is read first,
 * as by check, and every byte of the backup afterwards: if either is not sound, that is
 * LETHE_ECORRUPT, and the backups are as they were. A kill at any moment, of this process or of the
 * writer, leaves backups that can be restored. out, unless NULL, is filled in.
 * Cost: four times O(bytes on disk), of which what no earlier backup has is written. Errors: as
 * check; LETHE_EINVAL (the backups would be in a store, or are of another store), LETHE_EBUSY
 * (another process changes the backups), LETHE_ENOSPACE. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_backup(const char *folder, const char *backups,
                                                           lethe_backup *out, lethe_detail *detail);

/* Writes a backup to folder, which must be missing or empty, and reads every byte of it. number: 0
 * -> the latest. It leaves a whole store there or none. A kill at any moment leaves a store, or
 * what another restore takes for an empty folder. If the backup is damaged, detail names another
 * one that is sound. out, unless NULL, is filled in.
 * Cost: O(bytes on disk); where it is damaged, O(bytes of all backups). Errors: as open;
 * LETHE_EINVAL (also: they are backups of a cascade), LETHE_ENOTFOUND (no such backup). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_restore(const char *backups, uint64_t number,
                                                            const char *folder, lethe_backup *out,
                                                            lethe_detail *detail);

#ifdef __cplusplus
}
#endif

#endif

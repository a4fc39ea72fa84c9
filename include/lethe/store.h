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
 * from a key that had not been added to it, and the most frequent keys. The value of a counter is
 * then its estimate, and a counter whose estimate is 0 does not exist.
 *
 * This header changes counters. It includes the others of a store:
 *     lethe/store_open.h     opening, closing, options and modes
 *     lethe/operation.h      operations, changes, bounds, outcomes, marks
 *     lethe/store_read.h     values, lists, estimates
 *     lethe/store_usage.h    counts per period
 *     lethe/store_stats.h    a store in numbers
 *     lethe/store_plan.h     what a store will take
 *     lethe/store_backup.h   checking, backing up, restoring
 * lethe/claims.h and lethe/holds.h are included by those who need them.
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
 *            disk.
 *            Fork before the first store is opened, or start a new program: a child that is forked
 *            later must use no store, not even open another. RocksDB has threads of its own, which
 *            a fork does not copy, and lethe_store_open may wait for them for ever. So does exit,
 *            which calls what RocksDB has registered: such a child ends by _exit or exec. */
#ifndef LETHE_STORE_H
#define LETHE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"
#include "lethe/operation.h"
#include "lethe/status.h"
#include "lethe/store_backup.h"
#include "lethe/store_open.h"
#include "lethe/store_plan.h"
#include "lethe/store_read.h"
#include "lethe/store_stats.h"
#include "lethe/store_usage.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Applies operations in their order, and returns when they are durable. outcomes[i] becomes a
 * lethe_outcome. values, unless NULL, gets a value for each change of each operation in turn: what
 * the counter holds after the operation, or now if the operation was not applied.
 * Cost: about 0.3 microseconds per operation, and a wait for the disk.
 * Errors: LETHE_EIO, LETHE_ENOSPACE, LETHE_ECORRUPT, LETHE_ENOMEM, LETHE_EFULL (more than 4 GiB of
 * keys in one commit): of a commit, this one or an earlier one, and none of the outcomes counts;
 * LETHE_EINVAL (read_only). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_apply(lethe_store *store,
                                                          const lethe_operation *operations,
                                                          size_t count, uint8_t *outcomes,
                                                          int64_t *values);

/* As apply, with a limit for each change of each operation in turn, in place of its value. Those of
 * an invalid operation are zeros.
 * Cost: as apply, and a lookup for each change. An operation of many changes with bounds is sorted.
 * Errors: as apply. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_apply_bounded(lethe_store *store,
                                                                  const lethe_operation *operations,
                                                                  size_t count, uint8_t *outcomes,
                                                                  lethe_limit *limits);

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

/* Operations that were looked at ahead. To decide one, its id and key are hashed. A thread that
 * reads operations can do that, while another one submits those before them. */
typedef struct lethe_prepared lethe_prepared;

/* Makes room for so many operations, 44 bytes each. The caller owns *out (lethe_prepared_free),
 * which is NULL on error. Errors: LETHE_EINVAL (0, or the allocator), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_prepared_new(size_t capacity,
                                                           const lethe_allocator *allocator,
                                                           lethe_prepared **out);
LETHE_API void lethe_prepared_free(lethe_prepared *prepared); /* takes NULL */

/* Prepares operations, in place of what was prepared before. They and their bytes must stay as they
 * are until they are submitted, or something else is prepared. Takes no lock and changes nothing in
 * the store, so any number of threads may do it at any time while the store is open, each with a
 * prepared of its own. Cost: two hashes for each, three in exact mode. Errors: LETHE_EINVAL (more
 * than there is room for; read_only). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_prepare(const lethe_store *store,
                                                            const lethe_operation *operations,
                                                            size_t count, lethe_prepared *prepared);

/* As submit, or, unless decided is NULL, as submit_with, without values: for the operations that
 * were prepared last, for this store. The outcomes are those that submit would give. With event
 * time there is one exception, as between any two ways to divide operations into calls: a retry
 * that comes after W, but within its slack, may be a duplicate in one and be applied in the other.
 * Errors: as submit; LETHE_EINVAL (nothing is prepared for this store). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_submit_prepared(
    lethe_store *store, const lethe_prepared *prepared, lethe_mark *marks, size_t mark_count,
    uint8_t *outcomes, lethe_store_decided decided, void *context, uint64_t *ticket);

/* Has what was submitted so far committed now, and not only when commit_interval_ms is over, since
 * nothing more is to come for a while. Does not wait until it is durable, but may wait for the
 * commits before it. Does nothing if there is nothing to commit. Errors: as apply. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_commit(lethe_store *store);
/* Waits until what was submitted with the ticket is durable. Errors: as apply; LETHE_EINVAL (the
 * store has issued no such ticket yet). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_wait(lethe_store *store, uint64_t ticket);
/* Whether wait would return at once; true for NULL. Cost: O(1). */
LETHE_API bool lethe_store_is_done(const lethe_store *store, uint64_t ticket);

/* With event_time: announces operations that will be submitted after the next submit or apply. If
 * the last operation of that call jumps ahead, they show whether its time is wrong or a pause has
 * ended (LETHE_OUTCOME_FUTURE). The announced operations must still be submitted; their bytes are
 * not needed after this call. Only the first 64 count, in one call or several; returns whether more
 * would be used. For one thread that submits. False where an argument is NULL. */
LETHE_API bool lethe_store_announce(lethe_store *store, const lethe_operation *operations,
                                    size_t count);

/* Stores why the last call failed: the last one of this thread, if one of its calls did; an empty
 * text if none did. Does nothing where detail is NULL. */
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

#ifdef __cplusplus
}
#endif

#endif

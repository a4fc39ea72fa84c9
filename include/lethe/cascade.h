/* lethe/cascade.h - cascade filter: an approximate set or multiset on disk, far larger than memory.
 *
 * Fingerprints are gathered in memory, written out in order, and merged into ever longer runs; the
 * disk is only ever written sequentially. A lookup reads at most one page of each run, of all runs
 * at once. So insertions go at the speed of merging, millions a second, and lookups at the speed
 * of the device's random reads, or of memory where level filters or large batches save the reads.
 *
 * Guarantee  No false negative, provided only keys that were inserted are removed. A key that is not
 *            there is reported present with a probability of at most `error` while there are no more
 *            than `capacity` entries; info tells the probability as it is now. Counts err upwards only.
 *            With window_ms, the promises of lethe/window.h: P1 a key inserted at x is recognised up to
 *            x + W; P2 the error as above; P3 it is not recognised after x + W (1 + slack); P4 memory is
 *            bounded always, and the disk by what lives: expired entries go when their run is merged, or
 *            with their whole run. With refuse_over_capacity new keys are refused (LETHE_EFULL)
 *            rather than the error let rise.
 * Crash      A folder opens to a state that the durability option describes, after a kill at any
 *            moment, a power cut, or a full disk; never to a mixture. Every page, the manifest and the log
 *            are checksummed, and tied to their place and store: what is damaged, missing, swapped or
 *            another store's is LETHE_ECORRUPT, never a wrong answer. A page of a run that can't be read costs
 *            the lookups that need it, and no more: its run is set aside, merging and inserting go on, and
 *            info counts it (damaged_runs).
 * Memory     memory_bytes for insertion, merging and lookup, and level_filter_bytes beside it, and 0.2% of
 *            what is on disk.
 * Disk       log2(capacity / entries / error) + 2 bits an entry, a little more in small runs; up to 1/8
 *            more while merging (2x with LETHE_CASCADE_CHECKPOINTED, until the next checkpoint); the log.
 * Threads    Any thread may call anything but close at any time. insert, remove and add_and_test take
 *            turns, a call at a time. test and count run beside them and beside each other; so does work,
 *            on as many threads as call it: merges of different ranges of fingerprints are independent.
 *            Locks are held for a batch or a step, not for an operation. Nothing here starts a thread,
 *            except that where io_uring is refused a pool of readers stands in for it.
 * Time       Is an argument (now_ms), as in lethe/window.h, and matters only with window_ms: others
 *            pass 0. A time that goes back leaves the clock standing.
 * Caveats    Keys are hashed by the caller with the cascade's own seed (lethe_cascade_seed). A fingerprint is
 *            at most 62 bits, 55 with window_ms: smaller errors than that allows are LETHE_EINVAL. Removing
 *            a key that was never inserted cancels another's fingerprint with probability `error`, else
 *            it has no effect; info counts those it detected. One process at a time has a folder open. */
#ifndef LETHE_CASCADE_H
#define LETHE_CASCADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/hash.h"
#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lethe_cascade lethe_cascade;

/* What is there when the folder is opened again. close leaves what a kill would leave, synced. */
typedef enum lethe_cascade_durability {
    /* All calls that returned, and of the call under way some of its first keys; after a power cut at
     * least those before the last sync or checkpoint, in order. */
    LETHE_CASCADE_LOGGED = 0,
    /* As LOGGED, after a power cut too: each call ends with a sync. */
    LETHE_CASCADE_SYNCED = 1,
    /* Exactly the last checkpoint: for callers that can replay what came after it, from a log of their
     * own or from an offset in their input. */
    LETHE_CASCADE_CHECKPOINTED = 2
} lethe_cascade_durability;

/* How pages are read for lookups. */
typedef enum lethe_cascade_reading {
    LETHE_CASCADE_READ_BEST = 0,  /* io_uring, or threads where the system refuses it */
    LETHE_CASCADE_READ_URING = 1, /* io_uring, or LETHE_EINVAL */
    LETHE_CASCADE_READ_THREADS = 2
} lethe_cascade_reading;

#define LETHE_CASCADE_MAX_NOTE_BYTES 4096
#define LETHE_CASCADE_MIN_MEMORY_BYTES ((uint64_t)1 << 20)

/* Zero in a field selects its default; NULL means all defaults. What is marked (made) is fixed when the
 * folder is made: opened again, zero is what it was made with, and another value LETHE_EMISMATCH. */
typedef struct lethe_cascade_options {
    uint64_t capacity; /* (made) entries expected; 0 -> 2^30; 1..2^44; more raise the error */
    double error;  /* (made) at capacity; 0 -> 1e-3; [1e-15, 0.1]; halving costs one bit an entry */
    uint64_t seed; /* (made) keys the hash; 0 -> LETHE_DEFAULT_SEED; stores draw a random one */
    uint64_t window_ms; /* (made) W; 0 -> for ever; 1,000..2^42 */
    double slack;       /* (made) 0 -> 0.25; [0.02, 1] */

    uint64_t
        memory_bytes; /* 0 -> 64 MiB; 1 MiB..2^40; twice as much is half a merge less an entry */
    uint32_t
        growth; /* of a level over the one above; 0 -> 4; 2..16; more: fewer runs to read, more merging */
    uint64_t
        level_filter_bytes; /* 0 -> none; filters in memory that save most reads of runs, from about
                                  * 6 bits an entry on */
    lethe_cascade_durability durability;
    lethe_cascade_reading reading;
    uint32_t read_depth;              /* reads in flight for a lookup; 0 -> 64; 1..1024 */
    bool direct;                      /* past the page cache, where the file system can */
    bool refuse_over_capacity;        /* LETHE_EFULL instead of a rising error */
    bool must_exist;                  /* LETHE_ENOTFOUND instead of making the folder */
    const lethe_allocator *allocator; /* NULL -> the default; must outlive the cascade */
} lethe_cascade_options;

enum { LETHE_CASCADE_LEVELS = 24 };

typedef struct lethe_cascade_level {
    uint64_t runs; /* over all ranges of fingerprints; a lookup reads runs / ranges pages */
    uint64_t entries;
    uint64_t bytes;
    uint64_t merging; /* runs of this level that a merge under way reads */
} lethe_cascade_level;

typedef struct lethe_cascade_stats {
    uint64_t capacity;
    double error_target;
    double error_estimate; /* that a key not there is reported present, now */
    uint64_t seed;
    uint64_t window_ms;
    uint64_t period_ms; /* granularity of forgetting; 0: none */
    uint64_t clock_ms;  /* the latest time it was told */
    uint32_t fingerprint_bits;
    uint32_t growth;
    uint32_t ranges; /* of fingerprints, merged independently */
    uint64_t
        entries; /* different fingerprints, those in several runs counted in each; expired ones that
                       * are still there included */
    uint64_t memory_entries; /* of them in memory */
    uint64_t memory_bytes;   /* allocated now, level filters included */
    uint64_t level_filter_bytes;
    uint64_t disk_bytes;     /* runs that live; the log is apart */
    uint64_t obsolete_bytes; /* runs that only an older manifest needs, until it is replaced */
    uint64_t log_bytes;
    double runs_per_lookup;  /* pages that a lookup of one absent key reads without level filters */
    double reads_per_lookup; /* expected, with them */
    uint32_t merges_under_way; /* flushes included */
    uint64_t
        damaged_runs; /* that a merge or a lookup could not read, since open; no merge touches them */
    double
        write_amplification; /* bytes written in runs over bytes first written from memory, since open */
    uint64_t pages_read; /* by lookups, since open */
    uint64_t filtered;   /* reads saved by level filters, since open */
    uint64_t inserted;   /* by calls since open */
    uint64_t removed;
    uint64_t removals_unmatched; /* tombstones that met nothing to cancel, since open */
    uint64_t sequence;           /* of the last checkpoint */
    bool uses_uring;
    uint32_t level_count;
    lethe_cascade_level levels[LETHE_CASCADE_LEVELS]; /* [0] is memory */
} lethe_cascade_stats;

/* Opens the cascade in the folder, or makes both (the folder's parent must be there). The caller owns
 * *out (lethe_cascade_close). On error *out is NULL and what was there is as it was.
 * Cost: O(0.2% of what is on disk + the log, at most what memory holds).
 * Errors: LETHE_EINVAL, LETHE_ENOMEM, LETHE_EMISMATCH, LETHE_ECORRUPT, LETHE_ETYPE, LETHE_EVERSION,
 * LETHE_EBUSY (another process has it), LETHE_ENOTFOUND, LETHE_ENOSPACE, LETHE_EIO. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_open(const char *folder,
                                                           const lethe_cascade_options *options,
                                                           lethe_cascade **out);
/* Ends it: merges under way are dropped and begin again after the next open; with LOGGED and SYNCED all is
 * synced; with CHECKPOINTED what came after the last checkpoint is dropped. Takes NULL. Frees in any
 * case; the status says whether the sync succeeded. No other call may be under way. */
LETHE_API lethe_status lethe_cascade_close(lethe_cascade *cascade);

/* The seed to hash keys with. */
LETHE_API uint64_t lethe_cascade_seed(const lethe_cascade *cascade);

/* Adds each hash once more. Best from about 64 hashes up; the length has no upper bound.
 * Cost: a cache miss a hash, overlapped, and 6 to 8 bytes of log. When merging is behind, because work is
 * called too rarely or never, the call does a part of it, in proportion to count: never a whole merge.
 * Errors: LETHE_EFULL (refuse_over_capacity), LETHE_ENOSPACE, LETHE_EIO, LETHE_ENOMEM, LETHE_ECORRUPT (so
 * many runs are damaged that what is in memory can't be written). On an error the first *done hashes are in and the others are not; done may be NULL. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_insert_batch(lethe_cascade *cascade,
                                                                   const lethe_hash *hashes,
                                                                   size_t count, uint64_t now_ms,
                                                                   size_t *done);

/* Takes each hash away once: one insertion that came before is cancelled, whether in memory or on disk.
 * Cost and errors: as insert; LETHE_EINVAL with window_ms, where entries only expire. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_remove_batch(lethe_cascade *cascade,
                                                                   const lethe_hash *hashes,
                                                                   size_t count, uint64_t now_ms,
                                                                   size_t *done);

/* present[i] becomes 1 when hashes[i] is there, else 0.
 * Cost: a page read for each run and hash that memory and level filters don't settle, all in flight
 * together, each page once: in a large batch (from about 1/8 of the runs' pages up: one hash in 20,000
 * entries) reading becomes sequential.
 * Errors: LETHE_ECORRUPT, LETHE_EIO, LETHE_ENOMEM; then present holds nothing of use. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_test_batch(lethe_cascade *cascade,
                                                                 const lethe_hash *hashes,
                                                                 size_t count, uint64_t now_ms,
                                                                 uint8_t *present);

/* Inserts what is not there, and tells what was: the same answers as count single calls in order, repeats
 * within the batch included. What is there already stays as it is (its count, its age).
 * Cost: as test and insert. Errors: as both; the answers of the first *done hashes hold. */
LETHE_API LETHE_MUST_CHECK lethe_status
lethe_cascade_add_and_test_batch(lethe_cascade *cascade, const lethe_hash *hashes, size_t count,
                                 uint64_t now_ms, uint8_t *present, size_t *done);

/* counts[i] becomes how often hashes[i] is there: insertions less removals, each removal cancelling only
 * what came before it. With window_ms it is 1 or 0. Cost and errors: as test. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_count_batch(lethe_cascade *cascade,
                                                                  const lethe_hash *hashes,
                                                                  size_t count, uint64_t now_ms,
                                                                  uint64_t *counts);

/* Does a part of the merging that is due: about budget entries are read (0 -> 65,536);
 * a step may end with a sync of a run, or of the manifest. *more becomes whether
 * there is more to do now, that no other thread is at. Call it from one or more threads until it is
 * false, and again when something was inserted.
 * Errors: LETHE_ENOSPACE, LETHE_EIO, LETHE_ENOMEM: the merge is dropped, its runs stay as they were, nothing
 * is lost, and the next call begins it again. LETHE_ECORRUPT, or LETHE_EIO of a read: a run can't be read. That
 * is reported once for each; the run is set aside until the next open, and the next call goes on with others. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_work(lethe_cascade *cascade, uint64_t budget,
                                                           uint64_t now_ms, bool *more);

/* Makes all calls that returned survive a power cut. Cost: a sync of the log.
 * With LETHE_CASCADE_CHECKPOINTED it does nothing: checkpoint is what counts there.
 * Errors: LETHE_ENOSPACE, LETHE_EIO; after a sync that failed only reopening shows what the disk really holds,
 * and calls that write return LETHE_EIO until then. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_sync(lethe_cascade *cascade);

/* Syncs as above, and stores with it, atomically, a number and up to LETHE_CASCADE_MAX_NOTE_BYTES of the
 * caller's: what the state covers. With LETHE_CASCADE_CHECKPOINTED an open after any crash finds
 * exactly this state, and with the others at least it. Waits for a call that inserts, and for no merge.
 * Cost: some syncs. Errors: as sync, LETHE_EINVAL (the note is too long); then the last checkpoint holds. Only
 * where the last of the syncs failed may the next open find this one instead, whole: its number says so. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_checkpoint(lethe_cascade *cascade,
                                                                 uint64_t sequence,
                                                                 const void *note,
                                                                 size_t note_bytes);

/* The last checkpoint's number and note, of this or an earlier process; 0 and nothing when there was none.
 * note has room for LETHE_CASCADE_MAX_NOTE_BYTES, or is NULL. Cost: O(note). */
LETHE_API void lethe_cascade_last_checkpoint(lethe_cascade *cascade, uint64_t *sequence, void *note,
                                             size_t *note_bytes);

/* Shows every fingerprint that is there, in ascending order, with its count (1 with window_ms), until visit
 * returns false. A fingerprint is shown in the upper bits of a word: it is hash.high with its lower bits
 * zero. Reads and checks every page; inserting calls wait meanwhile. visit must not call the cascade.
 * Cost: O(entries), sequential. Errors: LETHE_ECORRUPT, LETHE_EIO, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_each(
    lethe_cascade *cascade, uint64_t now_ms,
    bool (*visit)(void *context, uint64_t fingerprint, uint64_t count), void *context);

/* Cost: O(runs). */
LETHE_API lethe_cascade_stats lethe_cascade_info(lethe_cascade *cascade, uint64_t now_ms);

#ifdef __cplusplus
}
#endif

#endif

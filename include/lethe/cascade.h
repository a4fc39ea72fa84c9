/* lethe/cascade.h - the cascade filter: an approximate set or multiset on disk, much larger than
 * memory.
 *
 * Fingerprints are gathered in memory, written out in order, and merged into ever longer runs, so
 * the disk is only written sequentially. A lookup reads at most one page of each run, and reads
 * them all at once. Adding is as fast as merging, millions of keys per second. Lookups are as fast
 * as the device's random reads, or as memory where level filters or large batches save the reads.
 *
 * Guarantee  No false negative, provided that only keys which were added are removed. A key that is
 *            not there is reported present with a probability of at most `error` while there are at
 *            most `capacity` entries; info reports the probability as it is now. Counts are never
 *            too low. With window_ms the promises are those of lethe/window.h: P1, a key added at x
 *            is recognised up to x + W; P2, the error as above; P3, it is not recognised after x +
 *            W (1 + slack); P4, memory is always bounded, and so is the disk by what is alive:
 *            expired entries go when their run is merged, or together with their whole run. With
 *            refuse_over_capacity, new keys are refused (LETHE_EFULL) before the error rises.
 * Crash      After a kill at any moment, a power cut or a full disk, a folder opens to a state that
 *            the durability option describes, and never to a mixture of two. Every page, the
 *            manifest and the log have checksums that tie them to their place and cascade. Data
 *            that is damaged, missing, swapped or another cascade's is LETHE_ECORRUPT and never a
 *            wrong answer. A page of a run that cannot be read affects only the lookups that need
 *            it: its run is set aside, merging and adding go on, and info counts it (damaged_runs).
 * Memory     memory_bytes for adding, merging and lookup, level_filter_bytes in addition, and 0.2%
 *            of what is on disk.
 * Disk       log2(capacity / entries / error) + 2 bits per entry, and a little more in small runs.
 *            While merging, up to 1/8 more; with LETHE_CASCADE_CHECKPOINTED up to twice as much
 *            until the next checkpoint. The log comes on top.
 * Threads    Any thread may call any function except close at any time. add, remove and
 *            add_and_test run one call at a time. test and count run concurrently with them and
 *            with each other. So does work, on as many threads as call it, because merges of
 *            different ranges of fingerprints are independent. Locks are held for a batch or a
 *            step, not for an operation. Nothing here starts a thread, with one exception: where
 *            io_uring is refused, a pool of readers takes its place.
 * Time       An argument (now_ms), as in lethe/window.h. It matters only with window_ms; without
 *            it, pass 0. When time goes back, the clock stands still.
 * Caveats    The caller hashes keys with the cascade's own seed (lethe_cascade_seed). A fingerprint
 *            has at most 62 bits, 55 with window_ms; an error that would need more is LETHE_EINVAL.
 *            Removing a key that was never added cancels another key's fingerprint with probability
 *            `error` and otherwise has no effect; info counts the cases that were detected. Only
 *            one process at a time can have a folder open. */
#ifndef LETHE_CASCADE_H
#define LETHE_CASCADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/backup.h"
#include "lethe/hash.h"
#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lethe_cascade lethe_cascade;

/* What is there when the folder is opened again. After close, the folder is as after a kill, and
 * synced. */
typedef enum lethe_cascade_durability {
    /* All calls that returned, and of a call that did not return perhaps its first keys. After a
     * power cut at least the calls before the last sync or checkpoint, in order. */
    LETHE_CASCADE_LOGGED = 0,
    /* The same, and after a power cut too: each call ends with a sync. */
    LETHE_CASCADE_SYNCED = 1,
    /* Exactly the last checkpoint. This is for callers that can replay what came after it, from a
     * log of their own or from an offset in their input. */
    LETHE_CASCADE_CHECKPOINTED = 2
} lethe_cascade_durability;

/* How lookups read pages. */
typedef enum lethe_cascade_reading {
    /* io_uring, or threads where the system refuses it. */
    LETHE_CASCADE_READ_BEST = 0,
    /* io_uring, or LETHE_EINVAL. */
    LETHE_CASCADE_READ_URING = 1,
    LETHE_CASCADE_READ_THREADS = 2
} lethe_cascade_reading;

#define LETHE_CASCADE_MAX_NOTE_BYTES 4096
#define LETHE_CASCADE_MIN_MEMORY_BYTES ((uint64_t)1 << 20)

/* Zero in a field selects its default; NULL options are all defaults. The fields of the first group
 * are fixed when the folder is made. When it is opened again, zero in them means the value that it
 * was made with, and another value is LETHE_EMISMATCH. */
typedef struct lethe_cascade_options {
    size_t size;

    /* Entries expected; 0 -> 2^30; 1..2^44. More entries raise the error. */
    uint64_t capacity;
    /* At capacity; 0 -> 1e-3; [1e-15, 0.1]. Halving it costs one bit per entry. */
    double error;
    /* Keys the hash; 0 -> LETHE_DEFAULT_SEED; lethe_store draws a random one. */
    uint64_t seed;
    /* W; 0 -> for ever; 1,000..2^42. */
    uint64_t window_ms;
    /* 0 -> 0.25; [0.02, 1]. */
    double slack;

    /* 0 -> 64 MiB; 1 MiB..2^40. Doubling it saves about half a merge per entry. */
    uint64_t memory_bytes;
    /* Filters in memory that save most reads of runs, from about 6 bits per entry on; 0 -> none. */
    uint64_t level_filter_bytes;
    /* How much larger each level is than the one above it; 0 -> 4; 2..16. A larger growth means
     * fewer runs to read and more merging. */
    uint32_t growth;
    /* Reads in flight for a lookup; 0 -> 64; 1..1024. */
    uint32_t read_depth;

    lethe_cascade_durability durability;
    lethe_cascade_reading reading;
    /* Bypass the page cache, where the file system can. */
    bool direct;
    /* LETHE_EFULL instead of a rising error. */
    bool refuse_over_capacity;
    /* LETHE_ENOTFOUND instead of making the folder. */
    bool must_exist;

    /* NULL -> the default one. It must outlive the cascade. */
    const lethe_allocator *allocator;
} lethe_cascade_options;

enum { LETHE_CASCADE_LEVELS = 24 };

typedef struct lethe_cascade_level {
    /* Of all ranges of fingerprints; a lookup reads runs / ranges pages. */
    uint64_t runs;
    uint64_t entries;
    uint64_t bytes;
    /* Runs of this level that a merge is reading. */
    uint64_t merging;
} lethe_cascade_level;

typedef struct lethe_cascade_stats {
    size_t size;

    uint64_t capacity;
    double error_target;
    /* The probability that a key that is not there is reported present, now. */
    double error_estimate;
    uint64_t seed;
    uint64_t window_ms;
    /* The granularity of forgetting; 0: none. */
    uint64_t period_ms;
    /* The latest time that a call passed. */
    uint64_t clock_ms;

    uint32_t fingerprint_bits;
    uint32_t growth;
    /* Of fingerprints; they are merged independently. */
    uint32_t ranges;
    /* Merges that are running, flushes included. */
    uint32_t merges_under_way;

    /* Different fingerprints. One that is in several runs counts in each, and expired ones that are
     * still there count too. */
    uint64_t entries;
    /* Of these, in memory. */
    uint64_t memory_entries;
    /* Allocated now, level filters included. */
    uint64_t memory_bytes;
    uint64_t level_filter_bytes;
    /* Of runs that are alive, without the log. */
    uint64_t disk_bytes;
    /* Of runs that only an older manifest needs, until it is replaced. */
    uint64_t obsolete_bytes;
    uint64_t log_bytes;

    /* Pages that a lookup of one absent key reads without level filters. */
    double runs_per_lookup;
    /* The same with level filters, expected. */
    double reads_per_lookup;

    /* The following are counted since the cascade was opened.
     * Runs that a merge or a lookup could not read; no merge touches them. */
    uint64_t damaged_runs;
    /* Bytes written in runs, divided by the bytes first written from memory. */
    double write_amplification;
    /* By lookups. */
    uint64_t pages_read;
    /* Reads that level filters saved. */
    uint64_t filtered;
    uint64_t inserted;
    uint64_t removed;
    /* Removals that met nothing to cancel. */
    uint64_t removals_unmatched;

    /* Of the last checkpoint. */
    uint64_t sequence;
    bool uses_uring;
    uint32_t level_count;
    /* [0] is memory. */
    lethe_cascade_level levels[LETHE_CASCADE_LEVELS];
} lethe_cascade_stats;

/* What a cascade takes: lethe_cascade_plan. */
typedef struct lethe_cascade_needs {
    size_t size;

    uint64_t entries;
    /* Of runs, without the log and what merging takes for a while. */
    uint64_t disk_bytes;
    uint64_t memory_bytes;
    /* The probability that a key that is not there is reported present. */
    double error;
    uint32_t fingerprint_bits;
    /* That a lookup reads, without level filters. */
    uint32_t runs;
    uint64_t reserved;
} lethe_cascade_needs;

/* Plans: what a cascade with these options takes when it has so many entries, each added once.
 * Makes nothing. Cost: some milliseconds at most. Errors: LETHE_EINVAL (as lethe_cascade_open; with
 * window_ms; more than 2^50 entries). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_plan(const lethe_cascade_options *options,
                                                           uint64_t entries,
                                                           lethe_cascade_needs *out);

/* Opens the cascade in a folder, or makes both (the folder's parent must exist). The caller owns
 * *out (lethe_cascade_close). On error *out is NULL, what was there is unchanged, and detail, which
 * may be NULL, says what is wrong. Cost: O(0.2% of what is on disk + the log, which is at most what
 * memory holds). Errors: LETHE_EINVAL, LETHE_ENOMEM, LETHE_EMISMATCH, LETHE_ECORRUPT, LETHE_ETYPE,
 * LETHE_EVERSION, LETHE_EBUSY (another process has it open), LETHE_ENOTFOUND, LETHE_ENOSPACE,
 * LETHE_EIO. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_open(const char *folder,
                                                           const lethe_cascade_options *options,
                                                           lethe_cascade **out,
                                                           lethe_detail *detail);

/* Closes the cascade. Merges that are running are dropped and begin again after the next open. With
 * LOGGED and SYNCED everything is synced; with CHECKPOINTED all that came after the last checkpoint
 * is dropped. Takes NULL. The cascade is freed in any case; the status says whether the sync
 * succeeded. No other call may be running. Errors: LETHE_ENOSPACE, LETHE_EIO, LETHE_ENOMEM. */
LETHE_API lethe_status lethe_cascade_close(lethe_cascade *cascade, lethe_detail *detail);

/* The seed to hash keys with; 0 for NULL. */
LETHE_API uint64_t lethe_cascade_seed(const lethe_cascade *cascade);

/* Batches. An error concerns the whole cascade, and every later hash would meet it too. So a batch
 * stops at the first error: the first *done hashes are settled and the others are not. done may be
 * NULL. */

/* Adds each hash once more. Best from about 64 hashes up; the length has no upper bound. Cost: one
 * cache miss per hash, overlapped, and 6 to 8 bytes of log. When merging falls behind because work
 * is called too rarely or never, the call does a part of it in proportion to count, never a whole
 * merge. Errors: LETHE_EINVAL, LETHE_EFULL (refuse_over_capacity), LETHE_ENOSPACE, LETHE_EIO,
 * LETHE_ENOMEM, LETHE_ECORRUPT (so many runs are damaged that what is in memory cannot be
 * written). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_add_batch(lethe_cascade *cascade,
                                                                const lethe_hash *hashes,
                                                                size_t count, uint64_t now_ms,
                                                                size_t *done);

/* Removes each hash once: one earlier addition is cancelled, in memory or on disk.
 * Cost and errors: as add; LETHE_EINVAL also with window_ms, where entries only expire. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_remove_batch(lethe_cascade *cascade,
                                                                   const lethe_hash *hashes,
                                                                   size_t count, uint64_t now_ms,
                                                                   size_t *done);

/* present[i] becomes 1 if hashes[i] is there and 0 if not.
 * Cost: one page read for each run and hash that memory and level filters do not settle. All reads
 * are in flight together, and each page is read once. In a large batch (from about 1/8 of the runs'
 * pages, which is one hash per 20,000 entries) reading becomes sequential.
 * Errors: LETHE_EINVAL, LETHE_ECORRUPT, LETHE_EIO, LETHE_ENOMEM; then present holds nothing of
 * use. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_test_batch(lethe_cascade *cascade,
                                                                 const lethe_hash *hashes,
                                                                 size_t count, uint64_t now_ms,
                                                                 uint8_t *present);

/* Adds what is not there and reports what was: the same answers as count single calls in order,
 * repeats within the batch included. What is there already keeps its count and its age.
 * Cost: as test and add. Errors: as both; the answers of the first *done hashes are valid. */
LETHE_API LETHE_MUST_CHECK lethe_status
lethe_cascade_add_and_test_batch(lethe_cascade *cascade, const lethe_hash *hashes, size_t count,
                                 uint64_t now_ms, uint8_t *present, size_t *done);

/* counts[i] becomes how often hashes[i] is there: additions less removals, where a removal cancels
 * only what came before it. With window_ms it is 1 or 0. Cost and errors: as test. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_count_batch(lethe_cascade *cascade,
                                                                  const lethe_hash *hashes,
                                                                  size_t count, uint64_t now_ms,
                                                                  uint64_t *counts);

/* Does a part of the merging that is due: it reads about budget entries (0 -> 65,536). A step may
 * end with a sync of a run or of the manifest. *more becomes whether there is work left that no
 * other thread is doing. Call it from one or more threads until *more is false, and again after
 * keys were added. Errors: LETHE_EINVAL. LETHE_ENOSPACE, LETHE_EIO, LETHE_ENOMEM: the merge is
 * dropped, its runs stay as they were, nothing is lost, and the next call begins it again.
 * LETHE_ECORRUPT, or LETHE_EIO of a read: a run cannot be read. That is reported once for each run;
 * the run is set aside until the next open, and the next call goes on with others. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_work(lethe_cascade *cascade, uint64_t now_ms,
                                                           uint64_t budget, bool *more);

/* Makes all calls that returned survive a power cut. With LETHE_CASCADE_CHECKPOINTED it does
 * nothing; call checkpoint instead. Cost: a sync of the log. Errors: LETHE_EINVAL, LETHE_ENOSPACE,
 * LETHE_EIO. After a sync that failed, only reopening shows what the disk really holds, and until
 * then calls that write return LETHE_EIO. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_sync(lethe_cascade *cascade);

/* Syncs as above and atomically stores a number and up to LETHE_CASCADE_MAX_NOTE_BYTES of the
 * caller's with it, to say what the state covers. With LETHE_CASCADE_CHECKPOINTED an open after any
 * crash finds exactly this state; otherwise it finds at least this state. The call waits for one
 * that adds, and not for merges. Cost: some syncs. Errors: as sync, and LETHE_EINVAL also for a
 * note that is too long; then the last checkpoint is still valid. Where only the last of the syncs
 * failed, the next open may find this checkpoint instead, complete: its number shows which one it
 * is. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_checkpoint(lethe_cascade *cascade,
                                                                 uint64_t sequence,
                                                                 const void *note,
                                                                 size_t note_bytes);

/* Reports the last checkpoint's number and note, of this or an earlier process; 0 and nothing when
 * there was none. note has room for LETHE_CASCADE_MAX_NOTE_BYTES, or is NULL.
 * Cost: O(note). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_cascade_last_checkpoint(lethe_cascade *cascade, uint64_t *sequence,
                                                     void *note, size_t *note_bytes);

/* Calls visit for every fingerprint that is there, in ascending order, with its count (1 with
 * window_ms), until visit returns false. A fingerprint is in the upper bits of its word: it is
 * hash.high with its lower bits zero. Reads and checks every page. Calls that add wait meanwhile,
 * and visit must not call the cascade. Cost: O(entries), sequential. Errors: LETHE_EINVAL,
 * LETHE_ECORRUPT, LETHE_EIO, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_each(
    lethe_cascade *cascade, uint64_t now_ms,
    bool (*visit)(void *context, uint64_t fingerprint, uint64_t count), void *context);

/* Reports the state of the cascade at now_ms. Cost: O(runs). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_cascade_info(lethe_cascade *cascade, uint64_t now_ms,
                                          lethe_cascade_stats *out);

/* --- From outside: looking, checking, backing up ---
 *
 * These take the folder of a cascade, which this or another process may have open and may be adding
 * to, and change nothing in it. They see its files as of one moment: with LETHE_CASCADE_LOGGED and
 * SYNCED at least what every call added that returned before, with CHECKPOINTED the last
 * checkpoint. */

/* Reports what is on disk, and the number and note of the last checkpoint as by
 * lethe_cascade_last_checkpoint. memory_entries is what the log has and no run; what only an open
 * cascade knows is 0. Cost: O(the log). Errors: LETHE_EINVAL, LETHE_ENOTFOUND (no cascade there),
 * LETHE_ECORRUPT, LETHE_EVERSION, LETHE_EBUSY (the folder changes faster than it can be read),
 * LETHE_ENOSPACE (for temporary files), LETHE_EIO, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_look(const char *folder,
                                                           lethe_cascade_stats *out, void *note,
                                                           size_t *note_bytes,
                                                           lethe_detail *detail);

/* What lethe_cascade_check read. */
typedef struct lethe_cascade_health {
    /* sizeof(lethe_cascade_health): see LETHE_INIT. */
    size_t size;

    /* Additions; removals are not taken off. */
    uint64_t keys;
    /* Of these, in the log alone. */
    uint64_t log_keys;
    uint64_t runs;
    /* Of the last checkpoint. */
    uint64_t sequence;
} lethe_cascade_health;

/* Reads every byte: checksums, and that the files agree with each other. Cost: O(bytes on disk).
 * Errors: as lethe_cascade_look. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_check(const char *folder,
                                                            lethe_cascade_health *out,
                                                            lethe_detail *detail);

/* Adds a backup to a folder of backups (lethe/backup.h), which is made if it is missing. label: how
 * lethe_backup_list calls the kind, at most 15 bytes; NULL -> "cascade". Every byte of the cascade
 * is read first, and every byte of the backup afterwards: if either is not sound, that is
 * LETHE_ECORRUPT, and the backups are as they were. out, unless NULL, is filled in.
 * Cost: four times O(bytes on disk), of which what no earlier backup has is written. Errors: as
 * lethe_cascade_look; LETHE_EINVAL (the backups would be in the cascade or in a store, or are of
 * another one), LETHE_EBUSY (another process changes the backups), LETHE_ENOSPACE. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_backup(const char *folder,
                                                             const char *backups, const char *label,
                                                             lethe_backup *out,
                                                             lethe_detail *detail);

/* Writes a backup to folder, which must be missing or empty and not among the backups, and reads
 * every byte of it. number: 0 -> the latest. It leaves a whole cascade there or none. A kill at any
 * moment leaves a cascade, or what another restore takes for an empty folder. If the backup is
 * damaged, detail names another one that is sound. out, unless NULL, is filled in. Cost: O(bytes).
 * Errors: LETHE_EINVAL (also: they are backups of a store), LETHE_ENOTFOUND (no such backup),
 * LETHE_ECORRUPT, LETHE_EVERSION, LETHE_ENOSPACE, LETHE_EIO, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_cascade_restore(const char *backups, uint64_t number,
                                                              const char *folder, lethe_backup *out,
                                                              lethe_detail *detail);

#ifdef __cplusplus
}
#endif

#endif

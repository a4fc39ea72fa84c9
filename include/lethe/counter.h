/* lethe/counter.h - counters that take every operation exactly once.
 *
 * A store is a folder of counters: signed 64-bit numbers with keys of any bytes. It changes by
 * operations, each with an id that its sender made up and repeats when it sends the operation again.
 * A copy that arrives within the retry window W of the first is recognised and changes nothing.
 *
 * Where the keys are too many to store, a store keeps a sketch in place of its counters (sketch_bytes): an estimate
 * for every key, never too low while only what was added is taken away again, and the most frequent keys.
 *
 * Guarantee  P1-P4 of lethe/window.h, and:
 *            P5  What an operation changes and the memory of its id are durable together or not at
 *                all, however many counters it touches.
 *            P6  When apply or wait returns LETHE_OK, the outcomes are durable, of duplicates too: a copy
 *                is not called a duplicate before the operation it is a copy of is on disk. Marks, which
 *                say how far a source has been read, are durable in the same step.
 *            P7  No byte of an operation or of a damaged store crashes, hangs or over-allocates.
 * Memory     The window (lethe/window.h), about 60 bytes and the key for each counter in use up to
 *            counters_memory_bytes, or the sketch, twice while it is being saved; and about 64 MiB for RocksDB and what is on its way to disk.
 * Disk       10 bytes for each id in the window, some 30 more with exact or check_payload, and the
 *            counters.
 * Threads    Any thread may call anything but close. One process writes; others may open the store to read.
 * Caveats    After a failed commit (a full disk) the store accepts nothing more: what has been
 *            acknowledged is on disk, whether the rest is shows when the store is opened again. */
#ifndef LETHE_COUNTER_H
#define LETHE_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"
#include "lethe/status.h"
#include "lethe/window.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lethe_counter lethe_counter;

enum {
    LETHE_ID_LIMIT_BYTES = 1024,
    LETHE_KEY_LIMIT_BYTES = 1024,
    LETHE_CHANGES_LIMIT = 65536 /* of one operation */
};

/* A mode of a store. Modes belong to the store: what is not asked for stays as it is. */
typedef enum lethe_switch {
    LETHE_KEEP = 0, /* as the store has it; off in a new one */
    LETHE_ON = 1,   /* `true` says the same */
    LETHE_OFF = 2
} lethe_switch;

/* Zero in a field selects its default, or, for W, error and the modes, what the store has; NULL means all defaults.
 * A change by which something would be lost is refused (LETHE_EINVAL, the detail says what to do):
 *   event_time     either way, once an operation was applied: the ids that are remembered go by one clock
 *   forever        off; on, while exact is not switched off
 *   exact          off, while check_payload is not switched off; on, with forever
 *   sketch_bytes, sketch_top   anything else than the store was made with
 * All others may be changed whenever the store is opened: exact on (its index is made of the log) and off, check_payload on (it
 * compares what was applied since the store has been exact) and off, forever on (what the window and the log remember is
 * taken over), another W or error. A reader ignores them. */
typedef struct lethe_counter_options {
    uint64_t
        window_ms; /* W; 0 -> as before, at first 3 days; see lethe/window.h. When it becomes longer: what was applied
                         * within the old W before is recognised for the new one; what is older may be forgotten, and by event
                         * time it stays LETHE_LATE, while by the wall clock a copy of it is counted */
    double error;               /* e; 0 -> as before, at first 1e-12 */
    uint64_t capacity;          /* ids expected in W; 0 -> what the log holds */
    uint64_t max_memory_bytes;  /* of the window; 0 -> no cap */
    lethe_window_policy policy; /* at that cap */
    uint64_t
        counters_memory_bytes; /* 0 -> 1 GiB; counters beyond it are read from disk when needed */
    uint64_t
        commit_interval_ms; /* 0: commit as soon as the disk is free; otherwise group operations for
                                     * this long, 10,000 at most. They are acknowledged after that */
    uint32_t
        commit_operations; /* commit when so many are waiting, or a quarter of it and the disk is free; 0 -> 32,768; 65,536 at most */
    lethe_switch
        exact; /* confirm each hit of the window by the log, so that no fresh id is ever refused */
    lethe_switch
        check_payload; /* tell an id that comes back with other changes: LETHE_DIFFERS. Implies exact */
    lethe_switch event_time; /* operations carry their time; otherwise it is the wall clock */
    uint64_t
        max_ahead_ms; /* how far the events' time may be ahead of the wall clock; 0 -> 60,000 */
    bool read_only;   /* see what another process has written; may be used while it writes */
    bool create;      /* make the store if the folder is missing or empty */
    uint64_t seed;    /* of a new store; 0 -> random and secret */
    const lethe_allocator *allocator; /* NULL -> the default; RocksDB has its own */
    /* Of a new store: the memory of a FID sketch (lethe/sketch.h) to keep in place of counters, 4 KiB to 4 GiB;
     * 0: exact counters. A store stays of one kind and size for ever: opening it with another is LETHE_EINVAL, with 0
     * it is what it is. */
    uint64_t sketch_bytes;
    uint32_t
        sketch_top; /* most frequent keys to list beside the sketch; 0 -> as before, at first 1000; ..2^20 */
    lethe_switch
        forever; /* remember ids on disk when they leave the window, for ever: a copy is recognised
                     * however late it comes, and no event is LETHE_LATE, except one that was so when
                     * this was switched on and may be of those that were forgotten by then. Once so, a store
                     * stays so. Not with exact */
    uint64_t ledger_capacity;     /* with it: ids of all time; 0 -> 2^30; more raise the error */
    uint64_t ledger_memory_bytes; /* with it: 0 -> 256 MiB */
    double
        ledger_error; /* with it: at ledger_capacity, beside the window's, to which it adds; 0 -> as before, at first
                            * 1e-9, or 2^-62 of the capacity if that is more; [1e-15, 0.1] */
} lethe_counter_options;

/* What went wrong, for people: it names the file, the process, the field. */
typedef struct lethe_detail {
    char text[512];
} lethe_detail;

/* Opens a store: replays the part of the log that the counters don't have yet, and fills the window from it.
 * The caller owns *out (lethe_counter_close). On error *out is NULL and detail, which may be NULL, tells more;
 * otherwise its text is empty, or says what was wrong with the store and is mended.
 * Cost: 0.1 microseconds an id in the window; read_only: none for ids.
 * Errors: LETHE_EINVAL, LETHE_ENOTFOUND (no store there, and create is not set), LETHE_EBUSY (another
 * process writes; read_only: so fast that it can't be read), LETHE_EVERSION, LETHE_ECORRUPT, LETHE_EIO, LETHE_ENOSPACE, LETHE_ENOMEM, LETHE_EFULL (the
 * window's cap is too small for what it must remember). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_open(const char *folder,
                                                           const lethe_counter_options *options,
                                                           lethe_counter **out,
                                                           lethe_detail *detail);

/* Commits what is under way, folds the log into the counters and frees the store. Takes NULL.
 * Errors: as wait; then the store is freed all the same, and what was acknowledged is on disk. */
LETHE_API lethe_status lethe_counter_close(lethe_counter *counter, lethe_detail *detail);

typedef struct lethe_change {
    lethe_bytes key; /* 1..1024 bytes */
    int64_t delta;
} lethe_change;

typedef struct lethe_operation {
    lethe_bytes id;              /* 1..1024 bytes */
    const lethe_change *changes; /* made all together or not at all; one key may occur twice */
    size_t change_count;         /* 1..65536 */
    uint64_t time_ms;            /* since 1970; used only with event_time */
} lethe_operation;

typedef enum lethe_outcome {
    LETHE_APPLIED = 0,
    LETHE_COPY = 1, /* a duplicate: applied before, within the window */
    /* Older than the window, or than what was forgotten when that was shorter: nobody can tell whether it was applied. */
    LETHE_LATE = 2,
    /* Too far in the future; the clock did not move. That is: by more than max_ahead_ms ahead of the wall clock. Or by more than W
     * ahead of the store's clock, while of the next 64 operations of the same call, or announced, fewer go with it than would become
     * LETHE_LATE by it: one wrong time among many must not make the others late. Where nothing follows that would, or with
     * forever, it is believed: so a log that goes on after a long pause is counted. */
    LETHE_AHEAD = 3,
    /* A counter would leave the range of int64. With a sketch: more would be taken from a key than its estimate, or
     * the estimate would exceed 2^32 - 2. */
    LETHE_OVERFLOW = 4,
    LETHE_INVALID = 5, /* an id or key is empty or too long, or there are too few or many changes */
    LETHE_NO_ROOM = 6, /* the window met its memory cap */
    LETHE_DIFFERS = 7  /* a duplicate by its id, but with other changes: see check_payload */
} lethe_outcome;

/* How far a source has been read. A store keeps the latest value of each name. */
typedef struct lethe_mark {
    lethe_bytes name;  /* 1..1024 bytes */
    lethe_bytes value; /* up to 1024 bytes; empty removes the mark */
} lethe_mark;

/* With a sketch, in all of what follows: the value of a counter is its estimate; one whose estimate is 0 is not there.
 *
 * Applies operations in their order, and returns when they are durable. outcomes[i] becomes a lethe_outcome;
 * values, unless NULL, gets a value for each change of each operation in turn: what the counter holds after the
 * operation, or now if it was not applied.
 * Cost: about 0.3 microseconds an operation, and a wait for the disk.
 * Errors: LETHE_EIO, LETHE_ENOSPACE, LETHE_ECORRUPT, LETHE_ENOMEM: of a commit, now or before; then
 * none of the outcomes counts. LETHE_EINVAL: opened read_only. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_apply(lethe_counter *counter,
                                                            const lethe_operation *operations,
                                                            size_t count, uint8_t *outcomes,
                                                            int64_t *values);

/* The same in two halves, so that a caller can prepare the next operations while these are written. submit decides
 * and returns without waiting for the disk (unless more than three commits are under way); the outcomes count
 * once wait has returned LETHE_OK for the ticket. The operations' bytes are not needed after submit.
 * marks become durable in one step with the operations, of which there may then be commit_operations at
 * most (LETHE_EINVAL). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_submit(lethe_counter *counter,
                                                             const lethe_operation *operations,
                                                             size_t count, const lethe_mark *marks,
                                                             size_t mark_count, uint8_t *outcomes,
                                                             int64_t *values, uint64_t *ticket);
/* The same with a step between the two halves, for what must not be missing once the operations are durable, such as a list of those
 * that were late: `decided` is called when the outcomes are known, and nothing of these operations becomes durable before it returns. It may
 * change the values of the marks, of which there must be one. It must not call the store, and others wait for it. If it does not return
 * LETHE_OK, that is a failed commit: of these operations none will be durable. */
typedef lethe_status (*lethe_counter_decided)(void *context, const uint8_t *outcomes,
                                              lethe_mark *marks);
LETHE_API LETHE_MUST_CHECK lethe_status
lethe_counter_submit_with(lethe_counter *counter, const lethe_operation *operations, size_t count,
                          lethe_mark *marks, size_t mark_count, uint8_t *outcomes, int64_t *values,
                          lethe_counter_decided decided, void *context, uint64_t *ticket);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_wait(lethe_counter *counter, uint64_t ticket);
/* Says which operations will be submitted behind the next call of submit or apply, by event time: they tell one wrong
 * time from the end of a pause (LETHE_AHEAD), where it comes last in a call. They must still be submitted. The bytes are not
 * needed afterwards. Returns whether more would be heard: 64 are, of as many calls as it takes. For one thread that submits. */
LETHE_API bool lethe_counter_announce(lethe_counter *counter, const lethe_operation *operations,
                                      size_t count);

/* Whether wait would return at once. */
LETHE_API bool lethe_counter_is_done(const lethe_counter *counter, uint64_t ticket);

/* Why the last commit failed. */
LETHE_API void lethe_counter_explain(const lethe_counter *counter, lethe_detail *detail);

/* Sets counters to values, or deletes them, whatever they are; durable on return. Not idempotent in the face of
 * other operations: a copy of such a call that arrives later undoes what came in between.
 * delete stores, unless existed is NULL, whether each was there. Errors: as apply; LETHE_EINVAL (a key, or a store that
 * keeps a sketch: it has nothing to set). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_set(lethe_counter *counter,
                                                          const lethe_bytes *keys,
                                                          const int64_t *values, size_t count);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_delete(lethe_counter *counter,
                                                             const lethe_bytes *keys, size_t count,
                                                             bool *existed);

/* Reads counters: values[i], and found[i]; one that is not there is 0. A writer sees what it has submitted; a reader
 * what was committed when it opened the store or last called refresh.
 * Errors: LETHE_ECORRUPT, LETHE_EIO, LETHE_ENOMEM. Cost: a hash lookup, or a read of the disk's cache. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_get(lethe_counter *counter,
                                                          const lethe_bytes *keys, size_t count,
                                                          int64_t *values, bool *found);
/* What a sketch knows of a key. The truth is at most value, provided that only what was added to keys was taken away
 * again; and at least `least`, but for the probability sketch_delta of lethe_counter_info. */
typedef struct lethe_estimate {
    uint64_t value, least;
} lethe_estimate;
/* Cost: depth cache misses a key. Errors: LETHE_EINVAL (the store keeps exact counters). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_estimate(lethe_counter *counter,
                                                               const lethe_bytes *keys,
                                                               size_t count, lethe_estimate *out);
/* Read-only stores: see what was acknowledged up to now. Values of a refreshed store are never older than they were.
 * On error the reader sees what it saw before. Cost: looking at the names of files, if nothing was written; else that
 * of opening.
 * Errors: as open. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_refresh(lethe_counter *counter,
                                                              lethe_detail *detail);

/* Calls visit for each counter from `from` on (empty: the first), in the order of their bytes, as long as it returns
 * true. visit must not call the store. Errors: as get; LETHE_EINVAL (a store that keeps a sketch has no list of its
 * keys). Cost: 1 microsecond a counter. */
typedef bool (*lethe_counter_visit)(void *context, lethe_bytes key, int64_t value);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_each(lethe_counter *counter, lethe_bytes from,
                                                           lethe_counter_visit visit,
                                                           void *context);
/* Calls visit for the n largest, the largest first; of equals, the first in byte order.
 * Memory: n entries. Errors, cost: as each. With a sketch: the most frequent keys, sketch_top at most, as
 * lethe_sketch_top tells. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_top(lethe_counter *counter, size_t n,
                                                          lethe_counter_visit visit, void *context);

/* Calls visit for each mark, as long as it returns true. */
typedef bool (*lethe_mark_visit)(void *context, const lethe_mark *mark);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_marks(lethe_counter *counter,
                                                            lethe_mark_visit visit, void *context);

/* A period of the log: what a picture of the window shows. */
typedef struct lethe_counter_period {
    uint64_t first_ms, last_ms; /* of the store's clock */
    uint64_t ids;
} lethe_counter_period;

enum { LETHE_PERIODS_SHOWN = 64 };

/* The ids of all time, with `forever`; zero without it. In a read-only store as of the last checkpoint, without
 * memory_bytes. */
typedef struct lethe_counter_ledger {
    uint64_t ids, capacity;
    double error_target, error_estimate; /* beside the window's: they add up */
    uint64_t memory_bytes, disk_bytes;
    uint64_t covers; /* the last commit whose ids it has for certain; the log has the others */
} lethe_counter_ledger;

typedef struct lethe_counter_stats {
    lethe_window_stats window; /* zero in a read-only store, but for W, target and clock */
    uint64_t clock_ms;         /* the store's time */
    uint64_t commits;          /* number of the last one */
    uint64_t folded;           /* the last one that the counters on disk include */
    uint64_t applied, duplicates, late, ahead, refused, differing; /* over the store's life */
    uint64_t confirmed_false; /* hits of the window that exact mode found to be fresh */
    uint64_t counters;        /* keys; estimated when they are not all in memory */
    uint64_t counters_in_memory, counters_memory_bytes;
    uint64_t log_ids; /* in the log, dropped when they age */
    uint64_t log_bytes, changes_bytes, index_bytes, counters_bytes; /* on disk, roughly */
    uint32_t period_count;
    lethe_counter_period periods[LETHE_PERIODS_SHOWN]; /* the oldest first */
    /* With a sketch; 0 otherwise. counters is then 0, counters_memory_bytes the sketch's. */
    uint64_t sketch_bytes, sketch_total; /* as asked for; what all keys were counted together */
    uint32_t sketch_top;
    double sketch_error,
        sketch_delta; /* an estimate is too high by more than this with that probability */
    bool exact, check_payload, event_time, forever;
    lethe_counter_ledger ledger;
} lethe_counter_stats;

/* Cost: O(1), and a few questions to RocksDB; of a reader the log's ids are read too. What can be known is filled in on an
 * error as well. Errors: of a reader, as get; others have none. */
LETHE_API lethe_status lethe_counter_info(lethe_counter *counter, lethe_counter_stats *out);

/* Reads every byte of a store that nobody writes to, and changes none: checksums, the formats of all records, and that they agree with
 * each other. Errors: as open; detail names the first fault. Cost: O(bytes on disk). */
typedef struct lethe_counter_health {
    uint64_t counters, log_segments, log_ids, change_segments, changes, index_entries, marks;
    uint64_t
        sketch_bytes; /* of the sketch in place of counters, which was read whole; 0 if there is none */
    uint64_t ledger_ids;
} lethe_counter_health;
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_check(const char *folder,
                                                            lethe_counter_health *out,
                                                            lethe_detail *detail);

/* Adds a backup of the store to a folder of backups (made if missing); tables that an earlier one holds are not
 * copied again. Every byte of the store is read before, as by check, and of the backup afterwards: where either is not
 * sound it is LETHE_ECORRUPT, and the backups are as they were. The store must not be open for writing elsewhere.
 * LETHE_EINVAL: the backups would be in a store, or are those of another. restore writes the latest backup to folder, which must be missing or
 * empty, reads every byte of it, and leaves a whole store there or none. A kill at any moment leaves a backup that can be
 * restored, and of a restore either a store or what another restore takes for an empty folder. Errors: as open.
 * Cost: of backup, twice O(bytes on disk). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_backup(const char *folder,
                                                             const char *backups,
                                                             lethe_detail *detail);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_counter_restore(const char *backups,
                                                              const char *folder,
                                                              lethe_detail *detail);

#ifdef __cplusplus
}
#endif

#endif

/* lethe/store_open.h - opening and closing a store, and its options. lethe/store.h includes it.
 *
 * Arguments  As lethe/status.h says: NULL where something is needed is LETHE_EINVAL. */
#ifndef LETHE_STORE_OPEN_H
#define LETHE_STORE_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/policy.h"
#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A folder of counters, as lethe/store.h describes it. */
typedef struct lethe_store lethe_store;

enum {
    /* Digits after the point. */
    LETHE_SCALE_LIMIT = 18,
    /* In options: no digits after the point. */
    LETHE_SCALE_WHOLE = -1
};

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
    /* Memory cap of the window; 0 -> none. A store opens again under the cap that it was filled
     * under. If the ids in its log do not fit, which takes an error or a cap that was lowered, the
     * window goes beyond the cap by up to half of it, says so (detail, and the strain), and refuses
     * new ids until enough have expired. */
    uint64_t max_memory_bytes;
    /* Memory for counters; the others are read from disk when they are needed; 0 -> 1 GiB. */
    uint64_t counters_memory_bytes;
    /* 0: commit whenever the disk is idle. Otherwise an operation waits this long for others, to be
     * committed together with them; it is acknowledged after that; at most 10,000. */
    uint64_t commit_interval_ms;
    /* How far the time of an event may be ahead of the wall clock; 0 -> 60,000. Whatever it is, a
     * time after the year 9999 is too far ahead. */
    uint64_t max_future_ms;
    /* Commit when this many operations are waiting, or a quarter as many if the disk is idle; 0 ->
     * 32,768; at most 65,536. */
    uint32_t commit_operations;
    /* What happens at the window's memory cap. */
    lethe_policy policy;

    /* Look up in an index what the window takes for a duplicate, so that no fresh id is taken for
     * one unless 80 bits of their hashes are the same: among a billion ids, with a probability
     * below 1e-15. The index takes 24 bytes of memory for each id in the window, and beyond 256 MiB
     * 18 bytes of files in the store's folder that have no name. It is made when the store is
     * opened. */
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
    /* How many threads may share work that one could do: filling the window when the store is
     * opened, at most eight; writing many counters, at most two; with exact, sorting ids by a
     * thread of its own; and, without a cap of memory, making a window again that has grown by many
     * parts, likewise. A store has two others, which mostly wait for the disk. Whatever the number,
     * the same is counted, except ids that the error takes for duplicates. 0 -> as many as there
     * are CPUs; 1: none. With an allocator that is not the default one, it is 1. */
    uint32_t threads;

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
 * says why. Otherwise its text is empty, or says what was wrong with the store and has been mended,
 * or that the window needs more than its memory cap, or that the system hides the boot id, without
 * which the wall clock decides how old ids are.
 * Cost: 0.1 microseconds for each id in the window, 0.7 with forgetful; for a reader nothing for
 * ids.
 * Errors: LETHE_EINVAL, LETHE_ENOTFOUND (no store there, and create is not set), LETHE_EBUSY
 * (another process has it open for writing; for a reader: a writer changes it so fast that no
 * consistent view can be read), LETHE_EVERSION, LETHE_ECORRUPT, LETHE_EIO, LETHE_ENOSPACE,
 * LETHE_ENOMEM, LETHE_EFULL (the window's memory cap is far too small for the ids that it must
 * remember: it was lowered; or too small for the capacity). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_open(const char *folder,
                                                         const lethe_store_options *options,
                                                         lethe_store **out, lethe_detail *detail);

/* Commits what is under way, folds the log into the counters and frees the store. Takes NULL.
 * Errors: as wait. The store is freed all the same, and what was acknowledged is on disk. */
LETHE_API lethe_status lethe_store_close(lethe_store *store, lethe_detail *detail);

#ifdef __cplusplus
}
#endif

#endif

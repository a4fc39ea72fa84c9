/* lethe/store_plan.h - what a store will take of memory and disk, before it is made.
 * lethe/store.h includes it. */
#ifndef LETHE_STORE_PLAN_H
#define LETHE_STORE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "lethe/status.h"
#include "lethe/store_open.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a store will be asked to do. */
typedef struct lethe_store_load {
    /* sizeof(lethe_store_load): see LETHE_INIT. */
    size_t size;
    /* Fresh operations, at a steady rate; duplicates take nothing. Above 0, at most 1e12. */
    double events_per_s;
    /* Keys that are in use, equally often; and the bytes of a key: 0 -> 16. */
    uint64_t counters;
    uint64_t key_bytes;
    /* How long it has been counting, for what grows without end: the ledger, and buckets that are
     * kept. 0 -> 365 days; at most 100 years. */
    uint64_t after_ms;
} lethe_store_load;

/* What that takes, as lethe_store_info would report it. */
typedef struct lethe_store_needs {
    /* sizeof(lethe_store_needs): see LETHE_INIT. */
    size_t size;

    /* Ids of the last W, and in the log, the most. */
    uint64_t ids;
    uint64_t log_ids;
    uint64_t buckets;
    uint64_t ledger_ids;
    double ledger_error;

    /* Memory. The window: in the long run; the most, while it grows from nothing to that, with
     * another that is made to take its place; and when the store is opened again, which makes it of
     * the right size at once. */
    uint64_t window_bytes;
    uint64_t window_peak_bytes;
    uint64_t window_reopened_bytes;
    uint64_t counters_memory_bytes;
    uint64_t buckets_memory_bytes;
    uint64_t index_memory_bytes;
    uint64_t ledger_memory_bytes;
    /* RocksDB, and what is on its way to disk, roughly. */
    uint64_t fixed_memory_bytes;
    /* All of these, with window_bytes. */
    uint64_t memory_bytes;

    /* Disk. Ids that are too old go in whole files, so there may be 64 MiB more. */
    uint64_t log_bytes;
    /* The most that the log has of changes, before a fold; and of what folds wrote, before RocksDB
     * has merged it. */
    uint64_t changes_bytes;
    uint64_t unmerged_bytes;
    uint64_t counters_bytes;
    uint64_t buckets_bytes;
    uint64_t index_bytes;
    uint64_t ledger_bytes;
    uint64_t disk_bytes;
} lethe_store_needs;

/* Plans: what a new store with these options takes under this load. Makes nothing, and needs no
 * folder. Counters and buckets on disk are those of keys of random letters; others may be
 * compressed. create and read_only are ignored, and a cap of the window is not looked at: compare.
 * detail, which may be NULL, says what is wrong.
 * Cost: some milliseconds. Errors: LETHE_EINVAL (options, load, a sketch, or a window of the
 * forgetful kind), LETHE_EFULL (more ids than one window can hold). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_plan(const lethe_store_options *options,
                                                         const lethe_store_load *load,
                                                         lethe_store_needs *out,
                                                         lethe_detail *detail);

#ifdef __cplusplus
}
#endif

#endif

/* core/tunables.h - the sizes at which rare things happen.
 *
 * A fold after 96 MiB, a checkpoint after eight million ids: tests that had to wait for them would
 * meet each once. So they are numbers that a test may set before it opens anything, to have them
 * happen all the time. Nothing else changes them, and no option of a store does. */
#ifndef LETHE_CORE_TUNABLES_H
#define LETHE_CORE_TUNABLES_H

#include <stdint.h>

typedef struct lethe_tunables {
    uint64_t fold_after_bytes;   /* of changes that the counters on disk don't have */
    uint64_t fold_split_keys;    /* of a fold, from which on two threads sort and write it */
    uint64_t first_commit;       /* the number of a new store's first */
    uint64_t first_stamp;        /* of a store's first commit since it was opened: see counters.h */
    uint64_t stamp_limit;        /* from which on stamps begin again */
    uint64_t segment_most_bytes; /* of one commit; larger records are none that RocksDB takes */
    uint64_t store_log_bytes;    /* of RocksDB's own log, after which it writes tables */
    uint64_t store_buffer_bytes; /* of a family's records in memory, likewise: see disk/options.c */
    uint64_t fill_thread_ids;    /* of a log whose window threads fill: see ids/fill.h */
    uint64_t fill_round_ids;     /* that threads share at a time; 0: as many as there is room for */
    uint64_t renew_ids;          /* of a window, from which on it may be made again: ids/renew.h */
    uint64_t renew_parts;        /* of which it has grown by then */
    uint64_t renew_most_bytes;   /* larger ones stay as they are */
    uint64_t renew_percent;      /* of its ids, to be applied before it is made again once more */
    uint64_t index_tail_ids;     /* of one tail of an index: see ids/tail.h */
    uint64_t index_threads;      /* 0: whoever adds to an index sorts and merges */
    uint64_t index_ahead_bytes;  /* how far ahead of what is added memory is backed */
    uint64_t index_memory_bytes; /* of an index, after which its ids go to files, about */
    uint64_t shared_allocator;   /* 1: a store's own allocator is for any thread: see open.c */
    uint64_t simple_operations;  /* in a row, to be decided as such: see operations/submit.c */
    uint64_t ledger_checkpoint_ids;  /* inserted since the last checkpoint */
    uint64_t cascade_table_homes;    /* of one table in memory; 0: as the memory allows */
    uint64_t cascade_log_file_bytes; /* after which a new file begins; 0: as the memory allows */
    uint64_t cascade_obsolete_bytes; /* of runs that only an old manifest names */
} lethe_tunables;

extern lethe_tunables lethe_tune;

#endif

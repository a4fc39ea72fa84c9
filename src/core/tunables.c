/* core/tunables.c - the sizes as they are outside of tests. */
#include "core/tunables.h"

lethe_tunables lethe_tune = {
    .fold_after_bytes = (uint64_t)96 << 20,
    .fold_split_keys = (uint64_t)1 << 15,
    .first_commit = 1,
    .first_stamp = 2,
    .stamp_limit = (uint64_t)1 << 31,
    .segment_most_bytes = UINT32_MAX,
    .store_log_bytes = (uint64_t)8 << 20,
    .store_buffer_bytes = (uint64_t)64 << 20,
    .simple_operations = 64,
    .ledger_checkpoint_ids = (uint64_t)8 << 20,
    .renew_ids = (uint64_t)1 << 18,
    .renew_parts = 5,
    .renew_most_bytes = (uint64_t)1 << 30,
    .renew_percent = 50,
    .index_tail_ids = (uint64_t)21 << 16,
    .index_threads = 1,
    .index_ahead_bytes = (uint64_t)4 << 20,
    .index_memory_bytes = (uint64_t)256 << 20,
    .fill_thread_ids = (uint64_t)1 << 16,
    .cascade_obsolete_bytes = (uint64_t)32 << 20,
};

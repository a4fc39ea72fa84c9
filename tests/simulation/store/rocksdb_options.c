/* simulation/store/rocksdb_options.c - the functions of rocksdb/c.h that change nothing that can
 * be seen here. */
#include <rocksdb/c.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulation/store/machine.h"

/* Things that only have to be made and destroyed. */
static void *new_thing(size_t size) {
    return machine_allocate(size);
}

#define THING(name)                         \
    struct name##_t {                       \
        int nothing;                        \
    };                                      \
    name##_t *name##_create(void) {         \
        return new_thing(sizeof(name##_t)); \
    }                                       \
    void name##_destroy(name##_t *thing) {  \
        machine_release(thing);             \
    }
THING(rocksdb_readoptions)
THING(rocksdb_writeoptions)
THING(rocksdb_envoptions)
THING(rocksdb_ingestexternalfileoptions)

struct rocksdb_block_based_table_options_t {
    int nothing;
};
struct rocksdb_cache_t {
    int nothing;
};
struct rocksdb_filterpolicy_t {
    int nothing;
};

rocksdb_block_based_table_options_t *rocksdb_block_based_options_create(void) {
    return new_thing(sizeof(rocksdb_block_based_table_options_t));
}
void rocksdb_block_based_options_destroy(rocksdb_block_based_table_options_t *options) {
    machine_release(options);
}
rocksdb_cache_t *rocksdb_cache_create_lru(size_t capacity) {
    (void)capacity;
    return new_thing(sizeof(rocksdb_cache_t));
}
void rocksdb_cache_destroy(rocksdb_cache_t *cache) {
    machine_release(cache);
}
rocksdb_filterpolicy_t *rocksdb_filterpolicy_create_bloom_full(double bits) {
    (void)bits;
    return NULL;
}

/* Options that change nothing that can be seen here. */
#define IGNORED(name, type, value_type)          \
    void name(type *options, value_type value) { \
        (void)options;                           \
        (void)value;                             \
    }
IGNORED(rocksdb_options_set_wal_recovery_mode, rocksdb_options_t, int)
IGNORED(rocksdb_options_set_atomic_flush, rocksdb_options_t, unsigned char)
IGNORED(rocksdb_options_set_max_background_jobs, rocksdb_options_t, int)
IGNORED(rocksdb_options_set_db_log_dir, rocksdb_options_t, const char *)
IGNORED(rocksdb_options_set_info_log_level, rocksdb_options_t, int)
IGNORED(rocksdb_options_set_stats_dump_period_sec, rocksdb_options_t, unsigned int)
IGNORED(rocksdb_options_set_max_total_wal_size, rocksdb_options_t, uint64_t)
IGNORED(rocksdb_options_set_max_open_files, rocksdb_options_t, int)
IGNORED(rocksdb_options_set_max_file_opening_threads, rocksdb_options_t, int)
IGNORED(rocksdb_options_set_manifest_preallocation_size, rocksdb_options_t, size_t)
IGNORED(rocksdb_options_set_write_buffer_size, rocksdb_options_t, size_t)
IGNORED(rocksdb_options_set_max_write_buffer_number, rocksdb_options_t, int)
IGNORED(rocksdb_options_set_arena_block_size, rocksdb_options_t, size_t)
IGNORED(rocksdb_options_set_compression, rocksdb_options_t, int)
IGNORED(rocksdb_options_set_create_missing_column_families, rocksdb_options_t, unsigned char)
IGNORED(rocksdb_options_set_paranoid_checks, rocksdb_options_t, unsigned char)
IGNORED(rocksdb_options_set_manual_wal_flush, rocksdb_options_t, unsigned char)
IGNORED(rocksdb_options_set_skip_stats_update_on_db_open, rocksdb_options_t, unsigned char)
IGNORED(rocksdb_options_set_block_based_table_factory, rocksdb_options_t,
        rocksdb_block_based_table_options_t *)
IGNORED(rocksdb_block_based_options_set_block_cache, rocksdb_block_based_table_options_t,
        rocksdb_cache_t *)
IGNORED(rocksdb_block_based_options_set_filter_policy, rocksdb_block_based_table_options_t,
        rocksdb_filterpolicy_t *)
IGNORED(rocksdb_block_based_options_set_format_version, rocksdb_block_based_table_options_t, int)
IGNORED(rocksdb_block_based_options_set_block_size, rocksdb_block_based_table_options_t, size_t)
IGNORED(rocksdb_readoptions_set_fill_cache, rocksdb_readoptions_t, unsigned char)
IGNORED(rocksdb_readoptions_set_readahead_size, rocksdb_readoptions_t, size_t)
IGNORED(rocksdb_readoptions_set_verify_checksums, rocksdb_readoptions_t, unsigned char)
IGNORED(rocksdb_writeoptions_set_sync, rocksdb_writeoptions_t, unsigned char)
IGNORED(rocksdb_ingestexternalfileoptions_set_move_files, rocksdb_ingestexternalfileoptions_t,
        unsigned char)

void rocksdb_set_perf_level(int level) {
    (void)level;
}

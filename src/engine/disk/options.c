/* engine/disk/options.c - how RocksDB is to work.
 *
 * WHY     RocksDB writes tables when its log has grown, not when one family has much in memory, and
 *         then begins a new log. If it writes because of one family's memory and that fails,
 *         RocksDB 7 loses count of the users of the other families; built with assertions, as in
 *         Debian, it ends the process on close. The memory limit is only for a disk that writes
 *         tables much more slowly than the log.
 *
 *         Most runs of the program open a store, do little and close it again. RocksDB would start
 *         15 threads for each family to open tables, of which a writer opens the first 16 only,
 *         and reserve 4 MiB for a manifest of a few kilobytes. */
#include "core/bytes.h"
#include "core/tunables.h"
#include "engine/disk/internal.h"

const char *const lethe_disk_family_names[LETHE_FAMILY_COUNT] = {
    "default", "ids", "changes", "counters", "index", "buckets", "claims"};

/* Entries of the index are dropped when they are too old to matter. RocksDB's own threads ask, and
 * RocksDB declares the parameters. */
/* NOLINTBEGIN(readability-non-const-parameter) */
static unsigned char index_filter(void *state, int level, const char *key, size_t key_size,
                                  const char *value, size_t value_size, char **new_value,
                                  size_t *new_value_size, unsigned char *value_changed) {
    (void)level, (void)key, (void)key_size, (void)new_value, (void)new_value_size,
        (void)value_changed;
    const lethe_disk *disk = state;
    if (value_size < 8) return 0;
    uint64_t time_ms = lethe_get_u64(value);
    return time_ms < atomic_load_explicit(&disk->expire_before_ms, memory_order_relaxed);
}

/* NOLINTEND(readability-non-const-parameter) */

static void no_destructor(void *state) {
    (void)state;
}

static const char *index_filter_name(void *state) {
    (void)state;
    return "lethe.index";
}

/* The options of the database, and of a family where it differs. */
static rocksdb_options_t *options_for(lethe_disk *disk, enum lethe_family family) {
    rocksdb_options_t *base = rocksdb_options_create(), *options = rocksdb_options_create();
    char *message = NULL;
    rocksdb_get_options_from_string(base, "track_and_verify_wals_in_manifest=true", options,
                                    &message);
    rocksdb_options_destroy(base);
    if (message != NULL) rocksdb_free(message); /* an older RocksDB without it: we go on without */
    rocksdb_options_set_wal_recovery_mode(options, rocksdb_point_in_time_recovery);
    rocksdb_options_set_atomic_flush(options, 1);
    rocksdb_options_set_max_background_jobs(options, 2);
    rocksdb_options_set_db_log_dir(options, disk->temporary.path);
    rocksdb_options_set_info_log_level(options, 4); /* what is fatal */
    rocksdb_options_set_stats_dump_period_sec(options, 0);
    rocksdb_options_set_max_total_wal_size(options, lethe_tune.store_log_bytes);
    rocksdb_options_set_max_open_files(options, disk->mode == LETHE_DISK_WRITE ? 512 : -1);
    rocksdb_options_set_max_file_opening_threads(options, disk->mode == LETHE_DISK_WRITE ? 1 : 4);
    rocksdb_options_set_manifest_preallocation_size(options, (size_t)64 << 10);
    rocksdb_options_set_write_buffer_size(options, (size_t)lethe_tune.store_buffer_bytes);
    rocksdb_options_set_max_write_buffer_number(options, 3);
    rocksdb_options_set_arena_block_size(options, (size_t)1 << 20);
    rocksdb_options_set_compression(options, rocksdb_no_compression);

    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_cache(table, disk->cache);
    rocksdb_block_based_options_set_format_version(table, 5);
    bool has_values = family == LETHE_FAMILY_COUNTERS || family == LETHE_FAMILY_BUCKETS;
    if (has_values || family == LETHE_FAMILY_INDEX || family == LETHE_FAMILY_CLAIMS) {
        rocksdb_block_based_options_set_filter_policy(table,
                                                      rocksdb_filterpolicy_create_bloom_full(10));
    }
    if (has_values) {
        rocksdb_options_set_compression(options, rocksdb_lz4_compression);
        rocksdb_block_based_options_set_block_size(table, 16 << 10);
    }
    if (family == LETHE_FAMILY_INDEX) rocksdb_options_set_compaction_filter(options, disk->filter);
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_block_based_options_destroy(table);
    return options;
}

void lethe_disk_make_options(lethe_disk *disk) {
    disk->cache = rocksdb_cache_create_lru((size_t)8 << 20);
    disk->filter =
        rocksdb_compactionfilter_create(disk, no_destructor, index_filter, index_filter_name);
    disk->read = rocksdb_readoptions_create();
    disk->scan = rocksdb_readoptions_create();
    rocksdb_readoptions_set_fill_cache(disk->scan, 0);
    rocksdb_readoptions_set_readahead_size(disk->scan, (size_t)2 << 20);
    disk->write = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(disk->write, 1);
    for (unsigned i = 0; i < LETHE_FAMILY_COUNT; i++) {
        disk->options[i] = options_for(disk, (enum lethe_family)i);
    }
}

void lethe_disk_free_options(lethe_disk *disk) {
    for (unsigned i = 0; i < LETHE_FAMILY_COUNT; i++) {
        if (disk->options[i] != NULL) rocksdb_options_destroy(disk->options[i]);
    }
    if (disk->write != NULL) rocksdb_writeoptions_destroy(disk->write);
    if (disk->read != NULL) rocksdb_readoptions_destroy(disk->read);
    if (disk->scan != NULL) rocksdb_readoptions_destroy(disk->scan);
    if (disk->filter != NULL) rocksdb_compactionfilter_destroy(disk->filter);
    if (disk->cache != NULL) rocksdb_cache_destroy(disk->cache);
}

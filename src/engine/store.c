/* engine/store.c - opening RocksDB, and translating what it says.
 *
 * LAYOUT  FOLDER/lethe.lock   claimed by the writer; says who that is
 *         FOLDER/data/        RocksDB
 *         FOLDER/acknowledged the number of the last commit that somebody was told of
 *         FOLDER/data.new/    the same while it is being made
 *         FOLDER/fold.sst     a table being made (fold_table.c), or one that could not be taken in (store_mend.c)
 * I1      A commit is one write batch, synced before it returns: RocksDB's log is our log's log.
 * I2      Families are flushed together (atomic_flush), so that a reader in another process never sees
 *         one family ahead of another.
 * I3      The log is read up to the first record that is damaged. What a crash cuts off or mangles there was never
 *         acknowledged, as a rule; that it was not is known by the note in `acknowledged`, which is written
 *         behind each commit and never waited for. A log that ends before it is damaged, and the store is refused.
 * I4      What RocksDB reads from a log when it opens, it writes to tables and syncs before it is open: so it does unless
 *         avoid_flush_during_recovery is set. A sync of that log may have failed, and then it can be read until the
 *         machine is started again and is not on disk.
 * WHY     Refusing every damaged end would refuse a store after any power cut; accepting it, as RocksDB does by
 *         itself, would lose acknowledged commits without a word when a disk goes bad.
 * LIMIT   A power cut can take the last moments of the note as well; damage to just those commits is then not
 *         noticed. */
#include "engine/store.h"

#include <errno.h>
#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tunables.h"
#include "engine/detail.h"
#include "engine/store_internal.h"
#include "os/block_file.h"
#include "os/folder.h"

static const char *const FAMILY_NAMES[LETHE_FAMILY_COUNT] = {"default", "ids", "changes",
                                                             "counters", "index"};

lethe_status lethe_store_translate(char *message, const char *what, lethe_detail *detail) {
    if (message == NULL) return LETHE_OK;
    lethe_status status = LETHE_EIO;
    if (strncmp(message, "Corruption", 10) == 0) status = LETHE_ECORRUPT;
    if (strstr(message, "No such file") != NULL) status = LETHE_ECORRUPT;
    if (strncmp(message, "Invalid argument", 16) == 0) status = LETHE_ECORRUPT;
    if (strstr(message, "No space left") != NULL || strstr(message, "Disk quota") != NULL ||
        strstr(message, "NoSpace") != NULL || strstr(message, "File too large") != NULL) {
        status = LETHE_ENOSPACE;
    }
    (void)lethe_detail_fill(detail, status, "%s: %s", what, message);
    rocksdb_free(message);
    return status;
}

/* The index's entries go when they are too old to matter; asked by RocksDB's own threads, which set the form. */
/* NOLINTBEGIN(readability-non-const-parameter) */
static unsigned char index_filter(void *state, int level, const char *key, size_t key_size,
                                  const char *value, size_t value_size, char **new_value,
                                  size_t *new_value_size, unsigned char *value_changed) {
    (void)level, (void)key, (void)key_size, (void)new_value, (void)new_value_size,
        (void)value_changed;
    const lethe_store *store = state;
    if (value_size < 8) return 0;
    uint64_t time_ms = 0;
    for (unsigned i = 0; i < 8; i++) {
        time_ms |= (uint64_t)(unsigned char)value[i] << 8 * i;
    }
    return time_ms < atomic_load_explicit(&store->expire_before_ms, memory_order_relaxed);
}

/* NOLINTEND(readability-non-const-parameter) */

static void no_destructor(void *state) {
    (void)state;
}

static const char *index_filter_name(void *state) {
    (void)state;
    return "lethe.index";
}

/* The options of the whole, and of a family where they differ.
 * RocksDB writes tables when its log has grown, and not when a family has much in memory. It begins a new log then; where that fails
 * because a family has much in memory, RocksDB 7 loses count of who uses the other families, and with assertions on, as Debian builds it, it
 * ends the process when the database is closed. The bound of memory is for a disk that writes tables much slower than the log. */
static rocksdb_options_t *options_for(lethe_store *store, enum lethe_family family) {
    rocksdb_options_t *base = rocksdb_options_create(), *options = rocksdb_options_create();
    char *message = NULL;
    rocksdb_get_options_from_string(base, "track_and_verify_wals_in_manifest=true", options,
                                    &message);
    rocksdb_options_destroy(base);
    if (message != NULL) rocksdb_free(message); /* an older RocksDB without it: we go on without */
    rocksdb_options_set_wal_recovery_mode(options, rocksdb_point_in_time_recovery);
    rocksdb_options_set_atomic_flush(options, 1);
    rocksdb_options_set_max_background_jobs(options, 2);
    rocksdb_options_set_db_log_dir(options, store->temporary);
    rocksdb_options_set_info_log_level(options, 4); /* what is fatal */
    rocksdb_options_set_stats_dump_period_sec(options, 0);
    rocksdb_options_set_max_total_wal_size(options, lethe_tune.store_log_bytes);
    rocksdb_options_set_max_open_files(options, store->mode == LETHE_STORE_WRITE ? 512 : -1);
    rocksdb_options_set_write_buffer_size(options, (size_t)lethe_tune.store_buffer_bytes);
    rocksdb_options_set_max_write_buffer_number(options, 3);
    rocksdb_options_set_arena_block_size(options, (size_t)1 << 20);
    rocksdb_options_set_compression(options, rocksdb_no_compression);

    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_cache(table, store->cache);
    rocksdb_block_based_options_set_format_version(table, 5);
    if (family == LETHE_FAMILY_COUNTERS || family == LETHE_FAMILY_INDEX) {
        rocksdb_block_based_options_set_filter_policy(table,
                                                      rocksdb_filterpolicy_create_bloom_full(10));
    }
    if (family == LETHE_FAMILY_COUNTERS) {
        rocksdb_options_set_compression(options, rocksdb_lz4_compression);
        rocksdb_block_based_options_set_block_size(table, 16 << 10);
    }
    if (family == LETHE_FAMILY_INDEX) rocksdb_options_set_compaction_filter(options, store->filter);
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_block_based_options_destroy(table);
    return options;
}

/* A family that this version does not know of was made by a newer one. */
static lethe_status refuse_unknown_families(const lethe_store *store, const char *data,
                                            lethe_detail *detail) {
    char *message = NULL;
    size_t count = 0;
    char **names = rocksdb_list_column_families(store->options[0], data, &count, &message);
    if (message != NULL) {
        rocksdb_list_column_families_destroy(names, count); /* an empty list is one all the same */
        return lethe_store_translate(message, data, detail);
    }
    lethe_status status = LETHE_OK;
    for (size_t i = 0; i < count && status == LETHE_OK; i++) {
        bool known = false;
        for (size_t j = 0; j < LETHE_FAMILY_COUNT; j++) {
            known = known || strcmp(names[i], FAMILY_NAMES[j]) == 0;
        }
        if (!known) {
            status = lethe_detail_fill(detail, LETHE_EVERSION,
                                       "%s has records of a kind \"%.60s\" that this version does "
                                       "not know; use the version that wrote it",
                                       data, names[i]);
        }
    }
    if (status == LETHE_OK && count < LETHE_FAMILY_COUNT) {
        status =
            lethe_detail_fill(detail, LETHE_ECORRUPT,
                              "%s lacks some kinds of records: it was not made by lethe, or is "
                              "damaged",
                              data);
    }
    rocksdb_list_column_families_destroy(names, count);
    return status;
}

static void close_database(lethe_store *store) {
    if (store->database == NULL) return;
    for (unsigned i = 0; i < LETHE_FAMILY_COUNT; i++) {
        rocksdb_column_family_handle_destroy(store->families[i]);
    }
    rocksdb_close(store->database);
    store->database = NULL;
}

/* Makes the empty database under another name first: what a kill or a full disk leaves is then no store. */
static lethe_status make_database(lethe_store *store, lethe_detail *detail) {
    char *message = NULL;
    /* The lock says that the folder is ours: without it what a power cut leaves here would be taken for somebody else's. */
    lethe_status named = lethe_os_block_sync_folder(store->folder);
    if (named != LETHE_OK) {
        return lethe_detail_fill(detail, named, "cannot make the store in %s: %s", store->folder,
                                 strerror(errno));
    }
    lethe_os_folder_remove(store->begun);
    rocksdb_options_set_create_if_missing(store->options[0], 1);
    rocksdb_options_set_create_missing_column_families(store->options[0], 1);
    store->database = rocksdb_open_column_families(
        store->options[0], store->begun, LETHE_FAMILY_COUNT, FAMILY_NAMES,
        (const rocksdb_options_t *const *)store->options, store->families, &message);
    rocksdb_options_set_create_if_missing(store->options[0], 0);
    rocksdb_options_set_create_missing_column_families(store->options[0], 0);
    if (message != NULL) return lethe_store_translate(message, "cannot make the store", detail);
    close_database(store);
    lethe_status status = lethe_os_folder_rename(store->begun, store->data);
    return status == LETHE_OK ? LETHE_OK
                              : lethe_detail_fill(detail, status, "cannot make %s: %s", store->data,
                                                  strerror(errno));
}

/* data: its folder, or one that shows the same. */
static lethe_status open_database(lethe_store *store, const char *data, lethe_store_mode mode,
                                  lethe_detail *detail) {
    char *message = NULL;
    const rocksdb_options_t *const *family_options =
        (const rocksdb_options_t *const *)store->options;
    lethe_status status = refuse_unknown_families(store, data, detail);
    if (status != LETHE_OK) return status;
    switch (mode) {
    case LETHE_STORE_WRITE:
        store->database =
            rocksdb_open_column_families(store->options[0], data, LETHE_FAMILY_COUNT, FAMILY_NAMES,
                                         family_options, store->families, &message);
        break;
    case LETHE_STORE_READ:
    case LETHE_STORE_EXAMINE:
        store->database = rocksdb_open_for_read_only_column_families(
            store->options[0], data, LETHE_FAMILY_COUNT, FAMILY_NAMES, family_options,
            store->families, 0, &message);
        break;
    }
    lethe_store_note_missing(store, message);
    return lethe_store_translate(message, "cannot open the store", detail);
}

/* Opens it to read, with links to its files, and one to the table that a failed fold left. All files are open then, so that
 * nobody needs the links any longer. status is that of opening it as it is. */
static lethe_status open_shown(lethe_store *store, lethe_store_mode mode, lethe_status status,
                               lethe_detail *detail) {
    char shown[256];
    if (lethe_store_show_mended(store, shown, sizeof shown) != LETHE_OK) {
        return lethe_detail_fill(detail, status,
                                 "the disk failed while a table was taken into %s; open it to "
                                 "write once, which puts the table in its place",
                                 store->folder);
    }
    lethe_status again = open_database(store, shown, mode, NULL);
    lethe_os_folder_remove(shown);
    return again == LETHE_OK ? LETHE_OK : status;
}

/* Opens it, with a table put in its place that a failed fold left, where that is what is missing. */
static lethe_status open_mended(lethe_store *store, lethe_store_mode mode, lethe_detail *detail) {
    lethe_status status = open_database(store, store->data, mode, detail);
    if (status == LETHE_OK || !lethe_store_can_mend(store)) return status;
    if (store->mode != LETHE_STORE_WRITE) return open_shown(store, mode, status, detail);
    if (lethe_store_mend(store) != LETHE_OK) return status;
    lethe_status again = open_database(store, store->data, mode, NULL);
    if (again == LETHE_OK) return LETHE_OK;
    lethe_store_take_back(store);
    return status;
}

/* Says why a folder is no store, or takes it for one. */
static lethe_status look(lethe_store *store, const char *folder, bool create, bool *is_new,
                         lethe_detail *detail) {
    *is_new = false;
    lethe_os_folder_state state;
    lethe_status status = lethe_os_folder_look(folder, &state);
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, status, "cannot look into %s: %s", folder,
                                 strerror(errno));
    }
    if (state == LETHE_OS_NO_FOLDER) {
        return lethe_detail_fill(detail, LETHE_EINVAL, "%s is a file; name a folder", folder);
    }
    if (state == LETHE_OS_FILLED && lethe_os_exists(store->data)) return LETHE_OK;
    /* A lock file alone is what a first run leaves that was killed before it began. */
    bool begun = state == LETHE_OS_FILLED && lethe_os_exists(store->lock);
    if (state == LETHE_OS_FILLED && !begun) {
        return lethe_detail_fill(
            detail, LETHE_EINVAL,
            "%s has other files in it; name an empty folder, or one that lethe "
            "made",
            folder);
    }
    if (!create) {
        return lethe_detail_fill(detail, LETHE_ENOTFOUND, "there is no store in %s", folder);
    }
    *is_new = true;
    status = lethe_os_folder_make(folder);
    return status == LETHE_OK
               ? LETHE_OK
               : lethe_detail_fill(detail, status, "cannot make %s: %s%s", folder, strerror(errno),
                                   errno == ENOENT ? "; make the folder that it is to be in" : "");
}

static lethe_status claim(lethe_store *store, lethe_detail *detail) {
    char holder[200] = "";
    lethe_status status =
        store->mode == LETHE_STORE_WRITE
            ? lethe_os_claim_take(store->lock, &store->claim, holder, sizeof holder)
            : lethe_os_claim_share(store->lock, &store->claim, holder, sizeof holder);
    if (status == LETHE_EBUSY) {
        return lethe_detail_fill(detail, status, "%s is being written by %s", store->folder,
                                 holder);
    }
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, status, "cannot open %s: %s", store->lock,
                                 strerror(errno));
    }
    return LETHE_OK;
}

static bool join(char **out, const char *folder, const char *name) {
    size_t size = strlen(folder) + strlen(name) + 2;
    *out = malloc(size);
    if (*out == NULL) return false;
    (void)snprintf(*out, size, "%s/%s", folder, name);
    return true;
}

static lethe_status prepare(lethe_store *store, const char *folder, lethe_detail *detail) {
    if (!join(&store->folder, folder, "") || !join(&store->data, folder, "data") ||
        !join(&store->lock, folder, "lethe.lock") || !join(&store->noted, folder, "acknowledged") ||
        !join(&store->fold, folder, "fold.sst") || !join(&store->begun, folder, "data.new")) {
        return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory to open %s", folder);
    }
    store->folder[strlen(folder)] = '\0';
    store->cache = rocksdb_cache_create_lru((size_t)8 << 20);
    store->filter =
        rocksdb_compactionfilter_create(store, no_destructor, index_filter, index_filter_name);
    store->read = rocksdb_readoptions_create();
    store->scan = rocksdb_readoptions_create();
    rocksdb_readoptions_set_fill_cache(store->scan, 0);
    rocksdb_readoptions_set_readahead_size(store->scan, (size_t)2 << 20);
    store->write = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(store->write, 1);
    lethe_status status = lethe_os_folder_make_temporary(store->temporary, sizeof store->temporary);
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, status, "cannot make a temporary folder: %s",
                                 strerror(errno));
    }
    for (unsigned i = 0; i < LETHE_FAMILY_COUNT; i++) {
        store->options[i] = options_for(store, (enum lethe_family)i);
    }
    return LETHE_OK;
}

/* Reads what was acknowledged, and makes ready to go on with it. */
static lethe_status open_note(lethe_store *store, lethe_detail *detail) {
    lethe_status status = lethe_os_note_read(store->noted, &store->acknowledged);
    if (status == LETHE_ECORRUPT) {
        return lethe_detail_fill(
            detail, status,
            "%s is damaged; it says how far the log must reach: remove it to open "
            "the store without that check",
            store->noted);
    }
    if (status == LETHE_OK && store->mode == LETHE_STORE_WRITE) {
        status = lethe_os_note_open(store->noted, &store->note);
    }
    return status == LETHE_OK ? LETHE_OK
                              : lethe_detail_fill(detail, status, "cannot open %s: %s",
                                                  store->noted, strerror(errno));
}

lethe_status lethe_store_expect(const lethe_store *store, uint64_t commit, lethe_detail *detail) {
    if (commit >= store->acknowledged) return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "the log ends at commit %llu, and %llu was acknowledged: its end is "
                             "damaged or missing; restore a backup",
                             (unsigned long long)commit, (unsigned long long)store->acknowledged);
}

uint64_t lethe_store_fingerprint(const char *folder) {
    char *data;
    if (!join(&data, folder, "data")) return 0;
    uint64_t fingerprint =
        lethe_os_folder_fingerprint(folder) + 3 * lethe_os_folder_fingerprint(data);
    free(data);
    return fingerprint;
}

void lethe_store_acknowledge(lethe_store *store, uint64_t commit) {
    lethe_os_note_write(&store->note, commit);
}

/* RocksDB keeps a diary beside its data, and where it was built with assertions, as by Debian, it ends the process when
 * that can't be written: on a full disk, of all times. So the diary goes to memory, and is removed as
 * soon as it is open, so that a killed process leaves nothing of it behind. */
static void remove_diary(lethe_store *store) {
    if (store->temporary[0] != '\0') lethe_os_folder_remove(store->temporary);
    store->temporary[0] = '\0';
}

/* Looks at what is there, without touching it. */
static lethe_status inspect_first(lethe_store *store, lethe_store_inspector inspect,
                                  lethe_detail *detail) {
    if (inspect == NULL) return LETHE_OK;
    lethe_status status = open_mended(store, LETHE_STORE_EXAMINE, detail);
    if (status == LETHE_OK) status = inspect(store, detail);
    close_database(store);
    return status;
}

static lethe_status open_prepared(lethe_store *store, bool create, lethe_store_inspector inspect,
                                  lethe_detail *detail) {
    bool is_new = false;
    lethe_status status = look(store, store->folder, create, &is_new, detail);
    if (status != LETHE_OK) return status;
    if (store->mode != LETHE_STORE_READ) status = claim(store, detail);
    if (status != LETHE_OK) return status;
    /* Before the database: what was acknowledged by now must be in it. */
    status = open_note(store, detail);
    if (status != LETHE_OK) return status;
    if (store->mode == LETHE_STORE_WRITE && !is_new) {
        status = inspect_first(store, inspect, detail);
        if (status != LETHE_OK) return status;
    }
    if (is_new) status = make_database(store, detail);
    if (status == LETHE_OK) status = open_mended(store, store->mode, detail);
    if (status == LETHE_OK && store->mode == LETHE_STORE_WRITE) lethe_os_remove(store->fold);
    remove_diary(store);
    return status;
}

lethe_status lethe_store_open(const char *folder, lethe_store_mode mode, bool create,
                              lethe_store_inspector inspect, lethe_store **out,
                              lethe_detail *detail) {
    *out = NULL;
    lethe_store *store = calloc(1, sizeof *store);
    if (store == NULL) return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory");
    store->mode = mode;
    store->references = 1;
    store->claim.descriptor = store->note.descriptor = -1;
    lethe_status status = prepare(store, folder, detail);
    if (status == LETHE_OK) status = open_prepared(store, create, inspect, detail);
    if (status != LETHE_OK) {
        lethe_store_close(store);
        return status;
    }
    *out = store;
    return LETHE_OK;
}

lethe_store *lethe_store_share(lethe_store *store) {
    atomic_fetch_add(&store->references, 1);
    return store;
}

const char *lethe_store_folder(const lethe_store *store) {
    return store->folder;
}

void lethe_store_close(lethe_store *store) {
    if (store == NULL || atomic_fetch_sub(&store->references, 1) > 1) return;
    close_database(store);
    for (unsigned i = 0; i < LETHE_FAMILY_COUNT; i++) {
        if (store->options[i] != NULL) rocksdb_options_destroy(store->options[i]);
    }
    if (store->write != NULL) rocksdb_writeoptions_destroy(store->write);
    if (store->read != NULL) rocksdb_readoptions_destroy(store->read);
    if (store->scan != NULL) rocksdb_readoptions_destroy(store->scan);
    if (store->filter != NULL) rocksdb_compactionfilter_destroy(store->filter);
    if (store->cache != NULL) rocksdb_cache_destroy(store->cache);
    remove_diary(store);
    lethe_os_note_close(&store->note);
    lethe_os_claim_give(&store->claim);
    free(store->folder);
    free(store->data);
    free(store->lock);
    free(store->fold);
    free(store->noted);
    free(store->begun);
    free(store);
}

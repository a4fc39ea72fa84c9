/* filter/cascade/open.c - opening a cascade, or making one, and closing it.
 *
 * IDEA    What is in the folder is the manifest and what it names: runs, and the log from where the
 *         runs end. Opening brings back the tables that were in memory by replaying that log.
 * I1      Nothing is written to a folder that is not a cascade's, or that another process has.
 * I2      Files that the manifest does not name are removed only when no power cut can bring back
 *         the previous manifest. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/allocator.h"
#include "core/detail.h"
#include "core/sized.h"
#include "filter/cascade/state.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/folder.h"
#include "os/sync.h"

/* Makes the tables. The first ones of the ranges are full one after the other, and so are those
 * that come after them: there is always a little to write, and never all at once. */
static lethe_status make_tables(lethe_cascade *cascade) {
    uint64_t homes = cascade->setting.table_homes, slots = lethe_cascade_table_slots(homes);
    if (!lethe_size_multiply(slots, cascade->setting.table_count * sizeof *cascade->slots,
                             &cascade->slot_bytes)) {
        return LETHE_ENOMEM;
    }
    cascade->slots = lethe_alloc_zeroed(cascade->allocator, cascade->slot_bytes);
    if (cascade->slots == NULL) return LETHE_ENOMEM;
    for (unsigned i = 0; i < cascade->setting.table_count; i++)
        lethe_cascade_table_init(&cascade->tables[i], cascade->words, homes,
                                 cascade->slots + i * slots, cascade->allocator);
    for (unsigned i = 0; i < cascade->range_count; i++) {
        struct lethe_cascade_table *table = &cascade->tables[i];
        table->limit = table->limit * (i + 1) / cascade->range_count;
        cascade->ranges[i].active = table;
    }
    for (unsigned i = cascade->range_count; i < cascade->setting.table_count; i++)
        cascade->free_tables[cascade->free_count++] = &cascade->tables[i];
    return LETHE_OK;
}

/* A new cascade's manifest, without runs. */
static lethe_status make_manifest(const lethe_cascade_options *options,
                                  struct lethe_cascade_manifest *manifest) {
    lethe_status status = lethe_cascade_plan_shape(options, &manifest->shape);
    if (status != LETHE_OK) return status;
    manifest->next_run_id = 1;
    manifest->is_exact = options->durability == LETHE_CASCADE_CHECKPOINTED;
    return lethe_os_random(&manifest->shape.identity, sizeof manifest->shape.identity);
}

/* Reads the manifest, or makes one for a cascade that does not exist yet. */
static lethe_status find_manifest(const char *folder, const lethe_cascade_options *options,
                                  struct lethe_cascade_manifest *manifest, bool *is_new) {
    lethe_status status = lethe_cascade_manifest_read(folder, manifest);
    *is_new = status == LETHE_ENOTFOUND;
    if (status == LETHE_OK) return lethe_cascade_compare_shape(options, &manifest->shape);
    if (!*is_new) return status == LETHE_EINVAL ? LETHE_ECORRUPT : status;
    return options->must_exist ? LETHE_ENOTFOUND : make_manifest(options, manifest);
}

/* Whether a folder without a manifest may become a cascade: nothing but our claim and what a crash
 * in making one left is in it. */
static void judge_name(void *context, const char *name) {
    bool *is_foreign = context;
    if (strcmp(name, "claim") != 0 && strncmp(name, "manifest.", 9) != 0) *is_foreign = true;
}

struct sweep {
    const lethe_cascade *cascade;
    const struct lethe_cascade_manifest *manifest;
};

/* Whether it is a file that was never completed: os/file.c names them so. */
static bool is_temporary(const char *name) {
    return strncmp(name, "manifest.", 9) == 0 ||
           (strncmp(name, "log-", 4) == 0 && strlen(name) > 20);
}

/* Removes runs that the manifest does not name, and manifests and logs that were never
 * completed. */
static void sweep_name(void *context, const char *name) {
    const struct sweep *sweep = context;
    bool is_named = true;
    if (strncmp(name, "run-", 4) == 0 && strlen(name) == 20) {
        uint64_t id = strtoull(name + 4, NULL, 16);
        is_named = false;
        for (unsigned i = 0; i < sweep->cascade->range_count; i++) {
            const struct lethe_cascade_manifest_range *range = &sweep->manifest->ranges[i];
            for (uint32_t j = 0; j < range->run_count; j++)
                is_named |= range->runs[j].id == id;
        }
    } else if (is_temporary(name)) {
        is_named = false;
    }
    char path[LETHE_OS_PATH_BYTES];
    if (is_named || !lethe_os_path(path, "%s/%s", sweep->cascade->folder, name)) return;
    lethe_os_remove(path);
}

static lethe_status open_runs(lethe_cascade *cascade,
                              const struct lethe_cascade_manifest *manifest) {
    for (unsigned i = 0; i < cascade->range_count; i++) {
        struct lethe_cascade_range *range = &cascade->ranges[i];
        for (uint32_t j = 0; j < manifest->ranges[i].run_count; j++) {
            lethe_status status = lethe_cascade_run_open(
                cascade->folder, cascade->shape.identity, manifest->ranges[i].runs[j],
                cascade->setting.direct, cascade->allocator, &range->runs[j]);
            if (status != LETHE_OK) return status;
            range->run_count++;
        }
    }
    return LETHE_OK;
}

struct recovery {
    lethe_cascade *cascade;
    uint64_t covered_keys[LETHE_CASCADE_MAX_RANGES];
};

static lethe_status reapply(void *context, struct lethe_cascade_record *record) {
    struct recovery *recovery = context;
    return lethe_cascade_reapply(recovery->cascade, record, recovery->covered_keys);
}

/* Brings back what was in memory. */
static lethe_status replay_log(lethe_cascade *cascade,
                               const struct lethe_cascade_manifest *manifest) {
    struct recovery recovery = {.cascade = cascade};
    uint64_t first_key = manifest->end_key;
    for (unsigned i = 0; i < cascade->range_count; i++) {
        uint64_t covered = manifest->ranges[i].covered_key;
        recovery.covered_keys[i] = covered;
        cascade->ranges[i].active->first_key = covered;
        if (covered < first_key) first_key = covered;
    }
    lethe_status status = lethe_cascade_log_replay(&cascade->log, first_key, manifest->end_key,
                                                   manifest->is_exact, reapply, &recovery);
    if (status == LETHE_OK) cascade->next_key = cascade->log.next_key;
    return status;
}

static void take_manifest(lethe_cascade *cascade, const struct lethe_cascade_manifest *manifest) {
    cascade->next_run_id = manifest->next_run_id;
    cascade->clock_ms = manifest->clock_ms;
    cascade->sequence = manifest->sequence;
    cascade->note_bytes = manifest->note_bytes;
    memcpy(cascade->note, manifest->note, manifest->note_bytes);
    cascade->generation = 1;
}

/* Everything that can fail in opening; what was made is freed by close. */
static lethe_status fill(lethe_cascade *cascade, const lethe_cascade_options *options,
                         struct lethe_cascade_manifest *manifest) {
    bool is_new, is_foreign = false, is_in_place;
    lethe_status status = find_manifest(cascade->folder, options, manifest, &is_new);
    if (status == LETHE_OK && is_new) {
        status = lethe_os_folder_each(cascade->folder, judge_name, &is_foreign);
        if (is_foreign) status = LETHE_ECORRUPT;
    }
    if (status != LETHE_OK) return status;
    cascade->shape = manifest->shape;
    cascade->words = lethe_cascade_words_of(&manifest->shape);
    cascade->range_count = 1u << manifest->shape.range_bits;
    status = lethe_cascade_plan_setting(options, &manifest->shape, &cascade->setting);
    if (status == LETHE_OK) {
        status = lethe_cascade_log_init(&cascade->log, cascade->folder, manifest->shape.identity,
                                        manifest->shape.fingerprint_bits,
                                        cascade->setting.log_file_bytes, cascade->allocator);
    }
    cascade->record = lethe_alloc_zeroed(cascade->allocator, sizeof *cascade->record);
    if (status == LETHE_OK && cascade->record == NULL) status = LETHE_ENOMEM;
    if (status == LETHE_OK) status = make_tables(cascade);
    if (status == LETHE_OK) status = lethe_cascade_prepare_lookup(cascade);
    if (status != LETHE_OK) return status;
    take_manifest(cascade, manifest);
    if (is_new) return lethe_cascade_manifest_write(cascade->folder, manifest, &is_in_place);

    status = open_runs(cascade, manifest);
    if (status != LETHE_OK) return status;
    /* Everything that the manifest names is there. Files that it does not name may be removed as
     * soon as no power cut can bring back the previous manifest: the process that wrote this one
     * may have ended before the folder was synced. */
    struct sweep sweep = {.cascade = cascade, .manifest = manifest};
    status = lethe_os_sync_folder(cascade->folder);
    if (status == LETHE_OK) status = lethe_os_folder_each(cascade->folder, sweep_name, &sweep);
    if (status == LETHE_OK) status = replay_log(cascade, manifest);
    if (status != LETHE_OK) return status;
    bool is_exact = cascade->setting.durability == LETHE_CASCADE_CHECKPOINTED;
    return is_exact == manifest->is_exact ? LETHE_OK : lethe_cascade_commit(cascade, NULL, false);
}

static void drop(lethe_cascade *cascade) {
    const lethe_allocator *allocator = cascade->allocator;
    lethe_cascade_drop_jobs(cascade);
    lethe_cascade_free_lookups(cascade);
    for (unsigned i = 0; i < cascade->range_count; i++) {
        for (unsigned j = 0; j < cascade->ranges[i].run_count; j++)
            lethe_cascade_release_run(cascade, cascade->ranges[i].runs[j]);
    }
    for (unsigned i = 0; i < cascade->obsolete_count; i++)
        lethe_cascade_release_run(cascade, cascade->obsolete[i]);
    lethe_cascade_free_unused(cascade);
    for (unsigned i = 0; i < cascade->setting.table_count; i++)
        lethe_cascade_table_drop(&cascade->tables[i]);
    lethe_release(allocator, cascade->slots, cascade->slot_bytes);
    lethe_release(allocator, cascade->record, sizeof *cascade->record);
    lethe_cascade_log_drop(&cascade->log);
    lethe_os_claim_give(&cascade->claim);
    lethe_os_lock_drop(&cascade->writing);
    lethe_os_lock_drop(&cascade->committing);
    lethe_os_lock_drop(&cascade->state);
    lethe_os_condition_drop(&cascade->changed);
    lethe_release(allocator, cascade, sizeof *cascade);
}

/* Claims the folder for this process. */
static lethe_status claim(lethe_cascade *cascade, bool must_exist) {
    char path[LETHE_OS_PATH_BYTES], holder[256];
    lethe_os_folder_state state;
    lethe_status status = lethe_os_folder_look(cascade->folder, &state);
    if (status != LETHE_OK) return status;
    if (state == LETHE_OS_NO_FOLDER) return LETHE_EINVAL;
    if (state == LETHE_OS_MISSING || state == LETHE_OS_EMPTY) {
        if (must_exist) return LETHE_ENOTFOUND;
        status = lethe_os_folder_make(cascade->folder);
        if (status != LETHE_OK) return status;
    }
    if (!lethe_os_path(path, "%s/claim", cascade->folder)) return LETHE_EINVAL;
    if (!lethe_os_path_from_root(cascade->claimed, path)) return LETHE_EINVAL;
    return lethe_os_claim_take(path, &cascade->claim, holder, sizeof holder);
}

static lethe_status open_folder(const char *folder, const lethe_cascade_options *options,
                                lethe_cascade **out) {
    if (folder == NULL) return LETHE_EINVAL;
    /* Options that cannot be right are refused before anything is touched. */
    lethe_cascade_options taken;
    struct lethe_cascade_shape shape;
    struct lethe_cascade_setting setting;
    lethe_status status = LETHE_TAKE(options, &taken, allocator);
    if (status == LETHE_OK && !lethe_allocator_is_usable(taken.allocator)) status = LETHE_EINVAL;
    if (status == LETHE_OK) status = lethe_cascade_plan_shape(&taken, &shape);
    if (status == LETHE_OK) status = lethe_cascade_plan_setting(&taken, &shape, &setting);
    if (status != LETHE_OK) return status;
    const lethe_allocator *allocator =
        taken.allocator != NULL ? taken.allocator : lethe_default_allocator();
    lethe_cascade *cascade = lethe_alloc_zeroed(allocator, sizeof *cascade);
    if (cascade == NULL) return LETHE_ENOMEM;
    cascade->allocator = allocator;
    cascade->claim.descriptor = -1;
    cascade->log.allocator = allocator;
    lethe_os_lock_init(&cascade->writing);
    lethe_os_lock_init(&cascade->committing);
    lethe_os_lock_init(&cascade->state);
    lethe_os_condition_init(&cascade->changed);
    size_t size = strlen(folder);
    status = size == 0 || size >= sizeof cascade->folder ? LETHE_EINVAL : LETHE_OK;
    if (status == LETHE_OK) {
        memcpy(cascade->folder, folder, size + 1);
        status = claim(cascade, taken.must_exist);
    }
    struct lethe_cascade_manifest *manifest = lethe_alloc_zeroed(allocator, sizeof *manifest);
    if (status == LETHE_OK) {
        status = manifest == NULL ? LETHE_ENOMEM : fill(cascade, &taken, manifest);
    }
    lethe_release(allocator, manifest, sizeof *manifest);
    if (status != LETHE_OK) {
        int number = errno;
        drop(cascade);
        errno = number;
        return status;
    }
    *out = cascade;
    return LETHE_OK;
}

lethe_status lethe_cascade_open(const char *folder, const lethe_cascade_options *options,
                                lethe_cascade **out, lethe_detail *detail) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_status status = open_folder(folder, options, out);
    return lethe_detail_of_file(detail, status, "open", folder);
}

lethe_status lethe_cascade_close(lethe_cascade *cascade, lethe_detail *detail) {
    lethe_status status = LETHE_OK;
    if (cascade == NULL) return lethe_detail_of_file(detail, status, "close", "");
    if (cascade->setting.durability != LETHE_CASCADE_CHECKPOINTED) {
        status = lethe_cascade_commit(cascade, NULL, false);
    }
    (void)lethe_detail_of_file(detail, status, "sync", cascade->folder);
    drop(cascade);
    return status;
}

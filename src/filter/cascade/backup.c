/* filter/cascade/backup.c - a cascade as of one moment, beside a process that may have it open:
 * looking at it, checking it, backups.
 *
 * IDEA    The manifest is replaced as a whole, and what it names stays until another one is in its
 *         place: runs, and the log from where the runs end. So the manifest is the pivot of the set
 *         (backup/set.c).
 * I1      Log files are complete when the next one begins, and are opened from the last to the
 *         first. What is found in them after the end that the manifest records belongs to the
 *         state, unless the manifest says that it is exact. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backup/backup.h"
#include "core/allocator.h"
#include "core/detail.h"
#include "core/sized.h"
#include "filter/cascade/check.h"
#include "filter/cascade/plan.h"
#include "lethe/cascade.h"
#include "os/file.h"

/* Opens the runs that a manifest names. One that can't be read names none: that is found later. */
static lethe_status gather_runs(lethe_set *set, const char *inner) {
    char folder[LETHE_OS_PATH_BYTES], name[LETHE_SET_NAME_BYTES];
    struct lethe_cascade_manifest *manifest = calloc(1, sizeof *manifest);
    if (manifest == NULL) return LETHE_ENOMEM;
    if (!lethe_os_path(folder, "%s/%s", set->folder, inner)) {
        free(manifest);
        return LETHE_EIO;
    }
    lethe_status status = LETHE_OK;
    if (lethe_cascade_manifest_read(folder, manifest) != LETHE_OK) manifest->shape.range_bits = 0;
    for (unsigned i = 0; i < 1u << manifest->shape.range_bits; i++) {
        const struct lethe_cascade_manifest_range *range = &manifest->ranges[i];
        for (uint32_t j = 0; j < range->run_count && status == LETHE_OK; j++) {
            (void)snprintf(name, sizeof name, "%srun-%016llx", inner,
                           (unsigned long long)range->runs[j].id);
            status = lethe_set_add_named(set, name);
        }
    }
    free(manifest);
    return status;
}

lethe_status lethe_cascade_gather(lethe_set *set, const char *inner) {
    char name[LETHE_SET_NAME_BYTES];
    (void)snprintf(name, sizeof name, "%smanifest", inner);
    lethe_status status = lethe_set_add(set, name, LETHE_SET_PIVOT);
    if (status == LETHE_OK && !set->is_torn)
        status = lethe_set_add_all(set, inner, "log-", "", LETHE_SET_PLAIN);
    if (status == LETHE_OK && !set->is_torn) status = gather_runs(set, inner);
    return status;
}

/* A lethe_set_gather. */
static lethe_status gather(lethe_set *set, lethe_detail *detail) {
    char path[LETHE_OS_PATH_BYTES];
    if (!lethe_os_path(path, "%s/manifest", set->folder))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    if (!lethe_os_exists(path)) {
        return lethe_detail_fill(detail, LETHE_ENOTFOUND, "there is no cascade filter in %s",
                                 set->folder);
    }
    return lethe_detail_of_file(detail, lethe_cascade_gather(set, ""), "read", set->folder);
}

static lethe_status explain(lethe_status status, const char *folder, lethe_detail *detail) {
    if (status == LETHE_ECORRUPT) {
        return lethe_detail_fill(detail, status,
                                 "a file of the cascade filter %s is damaged or missing; restore a "
                                 "backup",
                                 folder);
    }
    return lethe_detail_of_file(detail, status, "read", folder);
}

/* Reads all of a folder; *out is the caller's. */
static lethe_status examine_all(const char *folder, bool reads_runs,
                                struct lethe_cascade_found **out, lethe_detail *detail) {
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory");
    return explain(lethe_cascade_examine(folder, reads_runs, NULL, *out), folder, detail);
}

static lethe_status examine(const char *folder, lethe_set *set, struct lethe_backup_facts *out,
                            lethe_detail *detail) {
    struct lethe_cascade_found *found;
    (void)set;
    lethe_status status = examine_all(folder, true, &found, detail);
    if (status == LETHE_OK) {
        *out = (struct lethe_backup_facts){.owner = found->manifest.shape.identity,
                                           .records = found->insertions,
                                           .moment = found->next_key};
    }
    free(found);
    return status;
}

static const lethe_backup_kind kind_of_cascade = {
    .type = LETHE_BACKUP_OF_CASCADE,
    .name = "cascade",
    .subject = "the cascade filter",
    .root = "manifest",
    .gather = gather,
    .examine = examine,
};

lethe_status lethe_cascade_backup(const char *folder, const char *backups, const char *label,
                                  lethe_backup *out, lethe_detail *detail) {
    return lethe_backup_add(&kind_of_cascade, label, folder, backups, out, detail);
}

lethe_status lethe_cascade_restore(const char *backups, uint64_t number, const char *folder,
                                   lethe_backup *out, lethe_detail *detail) {
    return lethe_backup_restore(&kind_of_cascade, backups, number, folder, out, detail);
}

/* A lethe_backup_look. */
static lethe_status check(lethe_set *set, void *context, lethe_detail *detail) {
    lethe_cascade_health *out = context;
    struct lethe_cascade_found *found;
    lethe_status status = examine_all(set->shown.path, true, &found, detail);
    if (found != NULL) {
        *out = (lethe_cascade_health){.size = sizeof *out,
                                      .keys = found->insertions,
                                      .log_keys = found->log_insertions,
                                      .runs = found->runs,
                                      .sequence = found->manifest.sequence};
    }
    free(found);
    return status;
}

lethe_status lethe_cascade_check(const char *folder, lethe_cascade_health *out,
                                 lethe_detail *detail) {
    lethe_cascade_health health = LETHE_INIT(lethe_cascade_health);
    lethe_detail_clear(detail);
    if (folder == NULL || lethe_sized_check(out, LETHE_SIZE_WITH(out, sequence)) != LETHE_OK)
        return lethe_detail_fill(detail, LETHE_EINVAL, "the folder is NULL, or what to fill in");
    lethe_status status = lethe_backup_with(&kind_of_cascade, folder, check, &health, detail);
    lethe_status given = LETHE_GIVE(&health, out, sequence);
    return status != LETHE_OK ? status : given;
}

struct looking {
    lethe_cascade_stats stats;
    unsigned char *note;
    size_t note_bytes;
};

static void add_runs(const struct lethe_cascade_manifest *manifest, lethe_cascade_stats *out) {
    for (uint32_t i = 0; i < out->ranges; i++) {
        for (uint32_t j = 0; j < manifest->ranges[i].run_count; j++) {
            const struct lethe_cascade_run_facts *run = &manifest->ranges[i].runs[j];
            out->levels[run->level].runs++;
            out->levels[run->level].entries += run->entries;
            if (run->level >= out->level_count) out->level_count = run->level + 1;
            out->entries += run->entries;
            out->runs_per_lookup += 1.0 / out->ranges;
        }
    }
}

static void add_files(const lethe_set *set, lethe_cascade_stats *out) {
    for (size_t i = 0; i < set->count; i++) {
        const lethe_set_file *file = &set->files[i];
        if (strncmp(file->name, "run-", 4) == 0) out->disk_bytes += file->size_bytes;
        if (strncmp(file->name, "log-", 4) == 0) out->log_bytes += file->size_bytes;
    }
}

/* A lethe_backup_look. */
static lethe_status look(lethe_set *set, void *context, lethe_detail *detail) {
    struct looking *looking = context;
    struct lethe_cascade_found *found;
    lethe_status status = examine_all(set->shown.path, false, &found, detail);
    if (status == LETHE_OK) {
        const struct lethe_cascade_manifest *manifest = &found->manifest;
        const struct lethe_cascade_shape *shape = &manifest->shape;
        lethe_cascade_stats *out = &looking->stats;
        *out = (lethe_cascade_stats){.size = sizeof *out,
                                     .capacity = shape->capacity,
                                     .error_target = shape->error,
                                     .seed = shape->seed,
                                     .window_ms = shape->window_ms,
                                     .period_ms = lethe_cascade_period_ms(shape),
                                     .clock_ms = manifest->clock_ms,
                                     .fingerprint_bits = shape->fingerprint_bits,
                                     .ranges = 1u << shape->range_bits,
                                     .memory_entries = found->log_insertions,
                                     .entries = found->log_insertions,
                                     .sequence = manifest->sequence,
                                     .level_count = 1};
        out->levels[0].entries = found->log_insertions;
        add_runs(manifest, out);
        add_files(set, out);
        out->error_estimate =
            -expm1(-(double)out->entries * exp2(-(double)shape->fingerprint_bits));
        looking->note_bytes = manifest->note_bytes;
        if (looking->note != NULL) memcpy(looking->note, manifest->note, manifest->note_bytes);
    }
    free(found);
    return status;
}

lethe_status lethe_cascade_look(const char *folder, lethe_cascade_stats *out, void *note,
                                size_t *note_bytes, lethe_detail *detail) {
    struct looking looking = {.note = note};
    lethe_detail_clear(detail);
    if (folder == NULL || note_bytes == NULL ||
        lethe_sized_check(out, LETHE_SIZE_WITH(out, levels)) != LETHE_OK)
        return lethe_detail_fill(detail, LETHE_EINVAL, "the folder is NULL, or what to fill in");
    *note_bytes = 0;
    lethe_status status = lethe_backup_with(&kind_of_cascade, folder, look, &looking, detail);
    if (status != LETHE_OK) return status;
    *note_bytes = looking.note_bytes;
    return LETHE_GIVE(&looking.stats, out, levels);
}

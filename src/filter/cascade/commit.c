/* filter/cascade/commit.c - what survives: syncing the log, and replacing the manifest.
 *
 * IDEA    A manifest is a snapshot: it says which runs there are, and from which key on each
 *         range's memory must be read from the log. Merges go on between two of them; the files
 *         that the last one names stay until the next one is safe.
 * I1      Everything that a manifest names is synced before it is written, the log included.
 * I2      A run that a manifest under way may name is marked before the lock is given up, so that
 *         nobody removes its file.
 * I3      A manifest is never written in the middle of a record: the keys that runs cover end
 *         before the end key.
 * I4      After a failed sync nothing more is written. The system may have dropped what it could
 *         not write, and the next sync does not report it. The last manifest and the log are
 *         intact, and everything else follows from them.
 * I5      All runs are on their way to the disk before the first file is waited for, and then all
 *         files of the log; most of the log is so while it grows (log.h). A write that could not
 *         begin counts as a failed sync: the next sync may not report it.
 * WHY     Writing a manifest after each merge would cost more syncs than the merges cost writes.
 *         With LOGGED it is written when it would free enough. */
#include <string.h>

#include "core/allocator.h"
#include "core/tunables.h"
#include "filter/cascade/state.h"
#include "os/file.h"
#include "os/sync.h"

/* What a commit works on. */
struct commit {
    struct lethe_cascade_manifest manifest;
    struct lethe_cascade_run *runs[LETHE_CASCADE_MAX_RANGES * LETHE_CASCADE_MAX_RUNS];
    unsigned run_count;
};

/* The number of the first key of a range that is in no run. State is held. */
static uint64_t covered_key(const lethe_cascade *cascade, const struct lethe_cascade_range *range) {
    if (range->frozen_count > 0) return range->frozen[range->frozen_count - 1]->first_key;
    return range->active->count > 0 ? range->active->first_key : cascade->next_key;
}

bool lethe_cascade_commit_is_due(const lethe_cascade *cascade) {
    if (cascade->setting.durability == LETHE_CASCADE_CHECKPOINTED) return false;
    if (cascade->is_committing || cascade->is_broken) return false;
    uint64_t obsolete = 0, live = 0, covered = UINT64_MAX;
    for (unsigned i = 0; i < cascade->obsolete_count; i++)
        obsolete += lethe_cascade_run_bytes(cascade->obsolete[i]);
    for (unsigned i = 0; i < cascade->range_count; i++) {
        const struct lethe_cascade_range *range = &cascade->ranges[i];
        for (unsigned j = 0; j < range->run_count; j++)
            live += lethe_cascade_run_bytes(range->runs[j]);
        uint64_t key = covered_key(cascade, range);
        if (key < covered) covered = key;
    }
    if (cascade->obsolete_count > LETHE_CASCADE_MAX_OBSOLETE / 2) return true;
    if (obsolete > lethe_tune.cascade_obsolete_bytes && obsolete > live / 8) return true;
    /* Log files that runs cover by now. */
    unsigned superfluous = 0;
    for (unsigned i = 0; i + 1 < cascade->log.file_count; i++)
        superfluous += cascade->log.files[i + 1].first_key <= covered;
    return superfluous >= 8;
}

/* Records the state, and takes a reference to every run. State is held. */
static void photograph(lethe_cascade *cascade, struct commit *commit,
                       const struct lethe_cascade_note *note) {
    struct lethe_cascade_manifest *manifest = &commit->manifest;
    manifest->shape = cascade->shape;
    manifest->is_exact = cascade->setting.durability == LETHE_CASCADE_CHECKPOINTED;
    manifest->next_run_id = cascade->next_run_id;
    manifest->end_key = cascade->next_key;
    manifest->clock_ms = cascade->clock_ms;
    manifest->sequence = note == NULL ? cascade->sequence : note->sequence;
    manifest->note_bytes = note == NULL ? cascade->note_bytes : (uint32_t)note->size;
    const void *data = note == NULL ? cascade->note : note->data;
    if (manifest->note_bytes > 0) memcpy(manifest->note, data, manifest->note_bytes);
    cascade->generation++;
    for (unsigned i = 0; i < cascade->range_count; i++) {
        const struct lethe_cascade_range *range = &cascade->ranges[i];
        manifest->ranges[i].covered_key = covered_key(cascade, range);
        manifest->ranges[i].run_count = range->run_count;
        for (unsigned j = 0; j < range->run_count; j++) {
            manifest->ranges[i].runs[j] = range->runs[j]->facts;
            range->runs[j]->references++;
            range->runs[j]->generation = cascade->generation;
            commit->runs[commit->run_count++] = range->runs[j];
        }
    }
}

/* Writes nothing more: see I4. */
static void give_up(lethe_cascade *cascade) {
    lethe_os_lock_take(&cascade->state);
    cascade->is_broken = true;
    lethe_os_lock_give(&cascade->state);
}

lethe_status lethe_cascade_sync_log(lethe_cascade *cascade) {
    lethe_os_block_file files[LETHE_CASCADE_LOG_FILES];
    unsigned count = 0;
    lethe_os_lock_take(&cascade->state);
    bool syncs_folder = !cascade->log.folder_is_synced;
    cascade->log.folder_is_synced = true;
    for (unsigned i = 0; i < cascade->log.file_count; i++) {
        struct lethe_cascade_log_file *file = &cascade->log.files[i];
        if (!file->is_synced || i + 1 == cascade->log.file_count) files[count++] = file->file;
        file->is_synced = true; /* files that are written to again are synced in any case */
    }
    lethe_os_lock_give(&cascade->state);
    lethe_status status = LETHE_OK;
    for (unsigned i = 0; i < count && status == LETHE_OK; i++)
        status = lethe_os_block_send(&files[i], 0, 0);
    for (unsigned i = 0; i < count && status == LETHE_OK; i++)
        status = lethe_os_block_sync(&files[i]);
    if (status == LETHE_OK && syncs_folder) status = lethe_os_sync_folder(cascade->folder);
    if (status != LETHE_OK) give_up(cascade);
    return status;
}

/* I5. */
static lethe_status send_runs(lethe_cascade *cascade, const struct commit *commit) {
    lethe_status status = LETHE_OK;
    for (unsigned i = 0; i < commit->run_count && status == LETHE_OK; i++) {
        if (!commit->runs[i]->is_synced) status = lethe_os_block_send(&commit->runs[i]->file, 0, 0);
    }
    if (status != LETHE_OK) give_up(cascade);
    return status;
}

static lethe_status sync_runs(lethe_cascade *cascade, const struct commit *commit) {
    bool any = false;
    lethe_status status = LETHE_OK;
    for (unsigned i = 0; i < commit->run_count && status == LETHE_OK; i++) {
        if (commit->runs[i]->is_synced) continue; /* only commits write it, one at a time */
        status = lethe_os_block_sync(&commit->runs[i]->file);
        commit->runs[i]->is_synced = any = status == LETHE_OK;
    }
    if (status == LETHE_OK && any) status = lethe_os_sync_folder(cascade->folder);
    if (status != LETHE_OK) give_up(cascade);
    return status;
}

/* Releases what only older manifests named. State is held. */
static void forget_obsolete(lethe_cascade *cascade) {
    unsigned kept = 0;
    for (unsigned i = 0; i < cascade->obsolete_count; i++) {
        struct lethe_cascade_run *run = cascade->obsolete[i];
        if (run->generation < cascade->generation) {
            run->generation = 0;
            lethe_cascade_release_run(cascade, run);
        } else {
            cascade->obsolete[kept++] = run;
        }
    }
    cascade->obsolete_count = kept;
}

/* Takes log files off the list that the manifest's runs cover; returns how many, in files. State is
 * held. */
static unsigned forget_log(lethe_cascade *cascade, const struct lethe_cascade_manifest *manifest,
                           struct lethe_cascade_log_file *files) {
    struct lethe_cascade_log *log = &cascade->log;
    uint64_t covered = UINT64_MAX;
    for (unsigned i = 0; i < cascade->range_count; i++) {
        if (manifest->ranges[i].covered_key < covered) covered = manifest->ranges[i].covered_key;
    }
    unsigned count = 0;
    while (count + 1 < log->file_count && log->files[count + 1].first_key <= covered) {
        files[count] = log->files[count];
        count++;
    }
    log->file_count -= count;
    memmove(log->files, log->files + count, log->file_count * sizeof *files);
    return count;
}

static lethe_status write_manifest(lethe_cascade *cascade, struct commit *commit,
                                   const struct lethe_cascade_note *note) {
    lethe_status status = send_runs(cascade, commit);
    if (status == LETHE_OK) status = lethe_cascade_sync_log(cascade);
    if (status == LETHE_OK) status = sync_runs(cascade, commit);
    if (status == LETHE_OK && !lethe_cascade_is_in_place(cascade)) {
        give_up(cascade);
        status = LETHE_EIO;
    }
    if (status == LETHE_OK) {
        bool is_in_place;
        status = lethe_cascade_manifest_write(cascade->folder, &commit->manifest, &is_in_place);
        /* Either manifest may be there after a power cut; what both name is kept. */
        if (status != LETHE_OK && is_in_place) give_up(cascade);
    }
    struct lethe_cascade_log_file *files = cascade->log.superfluous;
    unsigned file_count = 0;
    lethe_os_lock_take(&cascade->state);
    for (unsigned i = 0; i < commit->run_count; i++)
        lethe_cascade_release_run(cascade, commit->runs[i]);
    if (status == LETHE_OK) {
        forget_obsolete(cascade);
        file_count = forget_log(cascade, &commit->manifest, files);
        if (note != NULL) {
            cascade->sequence = commit->manifest.sequence;
            cascade->note_bytes = commit->manifest.note_bytes;
            memcpy(cascade->note, commit->manifest.note, commit->manifest.note_bytes);
        }
    }
    cascade->is_committing = false;
    lethe_os_lock_give(&cascade->state);
    lethe_cascade_free_unused(cascade);
    for (unsigned i = 0; i < file_count; i++) {
        char path[LETHE_OS_PATH_BYTES];
        lethe_cascade_log_path(cascade->folder, files[i].first_key, path);
        lethe_os_block_close(&files[i].file);
        lethe_os_remove(path);
    }
    return status;
}

lethe_status lethe_cascade_commit(lethe_cascade *cascade, const struct lethe_cascade_note *note,
                                  bool holds_writing) {
    struct commit *commit = lethe_alloc_zeroed(cascade->allocator, sizeof *commit);
    if (commit == NULL) {
        if (holds_writing) lethe_os_lock_give(&cascade->writing);
        return LETHE_ENOMEM;
    }
    lethe_os_lock_take(&cascade->committing);
    lethe_os_lock_take(&cascade->state);
    cascade->waiting_commits++;
    while (cascade->is_applying)
        lethe_os_condition_wait(&cascade->changed, &cascade->state);
    lethe_status status = cascade->is_broken ? LETHE_EIO : LETHE_OK;
    if (status == LETHE_OK) photograph(cascade, commit, note);
    cascade->is_committing = status == LETHE_OK;
    if (--cascade->waiting_commits == 0) lethe_os_condition_wake_all(&cascade->changed);
    lethe_os_lock_give(&cascade->state);
    if (holds_writing) lethe_os_lock_give(&cascade->writing);
    if (status == LETHE_OK) status = write_manifest(cascade, commit, note);
    lethe_os_lock_give(&cascade->committing);
    lethe_release(cascade->allocator, commit, sizeof *commit);
    return status;
}

lethe_status lethe_cascade_sync(lethe_cascade *cascade) {
    if (cascade == NULL) return LETHE_EINVAL;
    if (cascade->setting.durability == LETHE_CASCADE_CHECKPOINTED) return LETHE_OK;
    lethe_os_lock_take(&cascade->committing);
    lethe_os_lock_take(&cascade->state);
    bool is_broken = cascade->is_broken;
    lethe_os_lock_give(&cascade->state);
    lethe_status status = is_broken ? LETHE_EIO : lethe_cascade_sync_log(cascade);
    lethe_os_lock_give(&cascade->committing);
    return status;
}

lethe_status lethe_cascade_checkpoint(lethe_cascade *cascade, uint64_t sequence, const void *note,
                                      size_t note_bytes) {
    if (cascade == NULL || (note == NULL && note_bytes > 0) ||
        note_bytes > LETHE_CASCADE_MAX_NOTE_BYTES)
        return LETHE_EINVAL;
    struct lethe_cascade_note kept = {.sequence = sequence, .data = note, .size = note_bytes};
    lethe_os_lock_take(&cascade->writing);
    return lethe_cascade_commit(cascade, &kept, true);
}

lethe_status lethe_cascade_last_checkpoint(lethe_cascade *cascade, uint64_t *sequence, void *note,
                                           size_t *note_bytes) {
    if (cascade == NULL || sequence == NULL || note_bytes == NULL) return LETHE_EINVAL;
    lethe_os_lock_take(&cascade->state);
    *sequence = cascade->sequence;
    *note_bytes = cascade->note_bytes;
    if (note != NULL) memcpy(note, cascade->note, cascade->note_bytes);
    lethe_os_lock_give(&cascade->state);
    return LETHE_OK;
}

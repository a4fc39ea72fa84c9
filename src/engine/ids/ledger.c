/* engine/ids/ledger.c - the ledger: a cascade filter, its merging thread, and its checkpoints.
 *
 * I1      The ids of durable commits are inserted, in their order, and no others. An id that was
 *         decided but not committed must not be remembered: its event will be sent again, and must
 *         then be counted.
 * I2      Until an id is inserted its group has it (operations/decide.c, I5). The window may have
 *         forgotten it by then, with event time or on a slow disk.
 * WHY     A checkpoint writes what is in memory. So one is made when enough ids have come together,
 *         when the log is to be dropped, and at the end. After a crash the log after it is read. */
#include "engine/ids/ledger.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "core/allocator.h"
#include "core/detail.h"
#include "core/tunables.h"
#include "engine/log/segment.h"
#include "filter/cascade/check.h"
#include "filter/cascade/manifest.h"
#include "lethe/cascade.h"
#include "os/clock.h"
#include "os/folder.h"
#include "os/thread.h"

enum { BATCH = 1024, IDLE_MS = 5 };

static const uint64_t DEFAULT_MEMORY_BYTES = (uint64_t)256 << 20;
static const uint64_t DEFAULT_CAPACITY = (uint64_t)1 << 30;
static const double DEFAULT_ERROR = 1e-9;
enum { LONGEST_FINGERPRINT_BITS = 62 };

struct lethe_ledger {
    const lethe_allocator *allocator;
    lethe_cascade *cascade;
    /* The last commit of the last checkpoint. */
    _Atomic uint64_t covered;
    /* The last commit whose ids were inserted, and how many ids since the last checkpoint. */
    uint64_t inserted;
    uint64_t ids_since;

    lethe_os_thread merger;
    bool merger_runs;
    /* Guards stopping. */
    lethe_os_lock lock;
    lethe_os_condition stop;
    bool stopping;
};

bool lethe_ledger_path(const char *folder, char out[LETHE_OS_PATH_BYTES]) {
    return lethe_os_path(out, "%s/ledger", folder);
}

/* Merges while there is something to merge. A failure is met again, and reported, when ids are
 * inserted; a page that can't be read, when a lookup needs it or the ledger is checked. */
static void *merge(void *context) {
    lethe_ledger *ledger = context;
    lethe_os_lock_take(&ledger->lock);
    while (!ledger->stopping) {
        lethe_os_lock_give(&ledger->lock);
        bool more = false;
        lethe_status status = lethe_cascade_work(ledger->cascade, 0, 0, &more);
        lethe_os_lock_take(&ledger->lock);
        if ((status != LETHE_OK || !more) && !ledger->stopping)
            lethe_os_condition_wait_for(&ledger->stop, &ledger->lock, IDLE_MS);
    }
    lethe_os_lock_give(&ledger->lock);
    return NULL;
}

/* The error that a new ledger is made for. With very many ids it is as small as fingerprints
 * allow. */
static double plan_error(const lethe_ledger_options *options) {
    double capacity = (double)(options->capacity > 0 ? options->capacity : DEFAULT_CAPACITY);
    if (options->error > 0) return options->error;
    return fmax(DEFAULT_ERROR, ldexp(capacity, -LONGEST_FINGERPRINT_BITS));
}

static lethe_cascade_options cascade_options(const lethe_ledger_options *options, bool create) {
    uint64_t memory = options->memory_bytes > 0 ? options->memory_bytes : DEFAULT_MEMORY_BYTES;
    return LETHE_OPTIONS(lethe_cascade_options, .capacity = options->capacity,
                         .error = create ? plan_error(options) : options->error,
                         .seed = create ? options->seed : 0, .memory_bytes = memory / 2,
                         .level_filter_bytes = memory / 2, .durability = LETHE_CASCADE_CHECKPOINTED,
                         .must_exist = !create, .allocator = options->allocator);
}

lethe_status lethe_ledger_plan(const lethe_ledger_options *options, uint64_t ids,
                               lethe_cascade_needs *out) {
    lethe_cascade_options cascade = cascade_options(options, true);
    return lethe_cascade_plan(&cascade, ids, out);
}

static lethe_status explain_open(lethe_status status, const char *path, lethe_detail *detail) {
    switch (status) {
    case LETHE_OK:
        return LETHE_OK;
    case LETHE_ENOTFOUND:
        return lethe_detail_fill(detail, LETHE_ECORRUPT,
                                 "the ledger of the store, %s, is missing; restore a backup", path);
    case LETHE_EMISMATCH:
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "the ledger %s was made for another error or number of ids; "
                                 "leave them out to keep what it has",
                                 path);
    case LETHE_EINVAL:
        return lethe_detail_fill(
            detail, LETHE_EINVAL,
            "so small a ledger error for so many ids needs longer fingerprints "
            "than there are; allow a larger error, or plan for fewer ids");
    default:
        return lethe_detail_fill(detail, status, "cannot open the ledger %s: %s", path,
                                 lethe_strerror(status));
    }
}

static lethe_status start(lethe_ledger *ledger, const char *folder,
                          const lethe_ledger_options *options, bool create, lethe_detail *detail) {
    char path[LETHE_OS_PATH_BYTES];
    if (!lethe_ledger_path(folder, path))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    if (create) lethe_os_folder_remove(path);
    lethe_cascade_options cascade = cascade_options(options, create);
    lethe_status status = lethe_cascade_open(path, &cascade, &ledger->cascade, NULL);
    if (status != LETHE_OK) return explain_open(status, path, detail);
    uint64_t covered = 0;
    size_t note_bytes;
    lethe_cascade_last_checkpoint(ledger->cascade, &covered, NULL, &note_bytes);
    atomic_store(&ledger->covered, covered);
    ledger->inserted = covered;
    status = lethe_os_thread_start(&ledger->merger, merge, ledger);
    ledger->merger_runs = status == LETHE_OK;
    if (status == LETHE_OK) return LETHE_OK;
    return lethe_detail_fill(detail, status, "cannot start a thread");
}

lethe_status lethe_ledger_open(const char *folder, const lethe_ledger_options *options, bool create,
                               lethe_ledger **out, lethe_detail *detail) {
    *out = NULL;
    lethe_ledger *ledger = lethe_alloc_zeroed(options->allocator, sizeof *ledger);
    if (ledger == NULL) return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory");
    ledger->allocator = options->allocator;
    lethe_os_lock_init(&ledger->lock);
    lethe_os_condition_init(&ledger->stop);
    lethe_status status = start(ledger, folder, options, create, detail);
    if (status != LETHE_OK) {
        lethe_ledger_close(ledger);
        return status;
    }
    *out = ledger;
    return LETHE_OK;
}

void lethe_ledger_close(lethe_ledger *ledger) {
    if (ledger == NULL) return;
    lethe_os_lock_take(&ledger->lock);
    ledger->stopping = true;
    lethe_os_condition_wake_all(&ledger->stop);
    lethe_os_lock_give(&ledger->lock);
    if (ledger->merger_runs) lethe_os_thread_join(&ledger->merger);
    (void)lethe_cascade_close(ledger->cascade, NULL); /* what matters is in the last checkpoint */
    lethe_os_condition_drop(&ledger->stop);
    lethe_os_lock_drop(&ledger->lock);
    lethe_release(ledger->allocator, ledger, sizeof *ledger);
}

uint64_t lethe_ledger_covers(const lethe_ledger *ledger) {
    return atomic_load(&ledger->covered);
}

static lethe_status match(uint64_t seed, uint64_t covers, const lethe_state *state,
                          lethe_detail *detail) {
    if (seed != state->seed) {
        return lethe_detail_fill(detail, LETHE_ECORRUPT,
                                 "the ledger is that of another store; restore a backup");
    }
    if (covers <= state->commit && (covers >= state->dropped || covers == 0)) return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "the ledger is not of this state of the store; restore a backup");
}

lethe_status lethe_ledger_match(const lethe_ledger *ledger, const lethe_state *state,
                                lethe_detail *detail) {
    return match(lethe_cascade_seed(ledger->cascade), lethe_ledger_covers(ledger), state, detail);
}

static lethe_status explain(lethe_status status, const char *what, lethe_detail *detail) {
    if (status == LETHE_OK) return LETHE_OK;
    return lethe_detail_fill(detail, status, "cannot %s the ledger: %s", what,
                             lethe_strerror(status));
}

lethe_status lethe_ledger_test(lethe_ledger *ledger, const lethe_hash *hashes, size_t count,
                               uint8_t *present, lethe_detail *detail) {
    return explain(lethe_cascade_test_batch(ledger->cascade, hashes, count, 0, present), "read",
                   detail);
}

lethe_status lethe_ledger_insert(lethe_ledger *ledger, uint64_t commit, lethe_bytes segment,
                                 lethe_detail *detail) {
    if (commit <= ledger->inserted) return LETHE_OK;
    lethe_id_segment ids = {0};
    lethe_status status = segment.size > 0 ? lethe_id_segment_open(segment, &ids) : LETHE_OK;
    lethe_hash hashes[BATCH];
    for (uint32_t done = 0, size; done < ids.count && status == LETHE_OK; done += size) {
        size = ids.count - done < BATCH ? ids.count - done : BATCH;
        lethe_log_ids_expand(ids.ids + (size_t)done * LETHE_LOG_ID_BYTES, size, hashes);
        status = lethe_cascade_add_batch(ledger->cascade, hashes, size, 0, NULL);
    }
    if (status != LETHE_OK) return explain(status, "write", detail);
    ledger->inserted = commit;
    ledger->ids_since += ids.count;
    return LETHE_OK;
}

lethe_status lethe_ledger_checkpoint(lethe_ledger *ledger, bool must, lethe_detail *detail) {
    if (ledger->inserted == atomic_load(&ledger->covered)) return LETHE_OK;
    if (!must && ledger->ids_since < lethe_tune.ledger_checkpoint_ids) return LETHE_OK;
    lethe_status status = lethe_cascade_checkpoint(ledger->cascade, ledger->inserted, NULL, 0);
    if (status != LETHE_OK) return explain(status, "write", detail);
    atomic_store(&ledger->covered, ledger->inserted);
    ledger->ids_since = 0;
    return LETHE_OK;
}

void lethe_ledger_info(lethe_ledger *ledger, lethe_store_ledger *out) {
    lethe_cascade_stats stats = LETHE_INIT(lethe_cascade_stats);
    (void)lethe_cascade_info(ledger->cascade, 0, &stats);
    *out = (lethe_store_ledger){.ids = stats.entries,
                                .capacity = stats.capacity,
                                .error_target = stats.error_target,
                                .error_estimate = stats.error_estimate,
                                .memory_bytes = stats.memory_bytes,
                                .disk_bytes = stats.disk_bytes + stats.obsolete_bytes,
                                .covers = lethe_ledger_covers(ledger)};
}

lethe_status lethe_ledger_look(const char *folder, const lethe_allocator *allocator,
                               lethe_store_ledger *out, lethe_detail *detail) {
    char path[LETHE_OS_PATH_BYTES];
    *out = (lethe_store_ledger){0};
    if (!lethe_ledger_path(folder, path))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    out->disk_bytes = lethe_os_folder_bytes(path);
    struct lethe_cascade_manifest *manifest = lethe_alloc_zeroed(allocator, sizeof *manifest);
    lethe_status status =
        manifest == NULL ? LETHE_ENOMEM : lethe_cascade_manifest_read(path, manifest);
    if (status == LETHE_OK) {
        const struct lethe_cascade_shape *shape = &manifest->shape;
        for (size_t range = 0; range < LETHE_CASCADE_MAX_RANGES; range++) {
            for (uint32_t run = 0; run < manifest->ranges[range].run_count; run++)
                out->ids += manifest->ranges[range].runs[run].entries;
        }
        out->capacity = shape->capacity;
        out->error_target = shape->error;
        out->error_estimate = -expm1(-ldexp((double)out->ids, -(int)shape->fingerprint_bits));
        out->covers = manifest->sequence;
    }
    lethe_release(allocator, manifest, sizeof *manifest);
    return explain_open(status, path, detail);
}

lethe_status lethe_ledger_check(const char *folder, const lethe_state *state, uint64_t *ids,
                                lethe_detail *detail) {
    char path[LETHE_OS_PATH_BYTES];
    *ids = 0;
    if (!lethe_ledger_path(folder, path))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    struct lethe_cascade_found *found = lethe_alloc_zeroed(NULL, sizeof *found);
    if (found == NULL) return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory");
    lethe_status status = lethe_cascade_examine(path, true, NULL, found);
    uint64_t seed = found->manifest.shape.seed, sequence = found->manifest.sequence;
    *ids = found->insertions;
    lethe_release(NULL, found, sizeof *found);
    if (status == LETHE_ECORRUPT) {
        return lethe_detail_fill(detail, status, "the ledger %s is damaged; restore a backup",
                                 path);
    }
    if (status != LETHE_OK) return explain_open(status, path, detail);
    return match(seed, sequence, state, detail);
}

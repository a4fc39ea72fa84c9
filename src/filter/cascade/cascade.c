/* filter/cascade/cascade.c - the cascade filter's calls. docs/design/cascade.md explains the
 * design.
 *
 * IDEA    A filter much larger than memory cannot be written at random places. So fingerprints are
 *         gathered in memory, in order. Full tables are written to disk as sorted runs, and runs
 *         are merged into longer ones, all sequentially. That is a cache-oblivious lookahead array
 *         of filters.
 * LAYOUT  The uppermost bits of fingerprints divide them into ranges. Each range is a cascade of
 *         its own: a table in memory that is being filled, full tables that are being written, and
 *         runs on disk by level.
 *           insert.c       keys into tables        table.c     the tables
 *           log.c          keys until a run has them
 *           work.c         what to merge           job.c       one merge
 *           stream.c       words in order          run.c       a run's file
 *           page.c         4 KiB of a run          manifest.c  which runs there are
 *           lookup.c       batches of lookups      lookup_read.c  the pages that they need
 *           commit.c       what survives           plan.c      sizes
 *           open.c         opening, closing        check.c     reading every byte
 * I1      Newer parts come before older ones: the active table, frozen tables, runs.
 * I2      Every key is in exactly one table or run, except where it was added again.
 * I3      A complete file is never changed, and it is removed only when no manifest names it.
 * WHY     Merging one range at a time lets several threads merge, keeps each merge small, and gives
 *         its room back soon.
 * LIMIT   A lookup that memory and filters do not settle costs one read for each run of its range.
 * PAPER   docs/papers.md#the-cascade-filter */
#include "lethe/cascade.h"

#include <errno.h>

#include "filter/cascade/state.h"
#include "os/file.h"

void lethe_cascade_tell_time(lethe_cascade *cascade, uint64_t now_ms) {
    if (now_ms > cascade->clock_ms) cascade->clock_ms = now_ms;
}

uint64_t lethe_cascade_memory_entries(const lethe_cascade *cascade) {
    uint64_t entries = 0;
    for (unsigned i = 0; i < cascade->range_count; i++) {
        const struct lethe_cascade_range *range = &cascade->ranges[i];
        entries += range->active->count;
        for (unsigned j = 0; j < range->frozen_count; j++)
            entries += range->frozen[j]->count;
    }
    return entries;
}

uint64_t lethe_cascade_run_entries(const lethe_cascade *cascade) {
    uint64_t entries = 0;
    for (unsigned i = 0; i < cascade->range_count; i++) {
        for (unsigned j = 0; j < cascade->ranges[i].run_count; j++)
            entries += cascade->ranges[i].runs[j]->facts.entries;
    }
    return entries;
}

void lethe_cascade_release_run(lethe_cascade *cascade, struct lethe_cascade_run *run) {
    if (--run->references > 0) return;
    run->next_unused = cascade->unused;
    cascade->unused = run;
}

bool lethe_cascade_is_in_place(const lethe_cascade *cascade) {
    bool is = lethe_os_claim_is_at(&cascade->claim, cascade->claimed);
    if (!is) errno = ESTALE;
    return is;
}

void lethe_cascade_free_unused(lethe_cascade *cascade) {
    lethe_os_lock_take(&cascade->state);
    struct lethe_cascade_run *run = cascade->unused;
    cascade->unused = NULL;
    lethe_os_lock_give(&cascade->state);
    while (run != NULL) {
        struct lethe_cascade_run *next = run->next_unused;
        char path[LETHE_OS_PATH_BYTES];
        lethe_cascade_run_path(cascade->folder, run->facts.id, path);
        if (run->generation == 0 && lethe_cascade_is_in_place(cascade)) lethe_os_remove(path);
        lethe_cascade_run_free(run);
        run = next;
    }
}

uint64_t lethe_cascade_seed(const lethe_cascade *cascade) {
    return cascade != NULL ? cascade->shape.seed : 0;
}

/* Whether a batch of hashes can be read. */
static bool is_batch(const lethe_cascade *cascade, const lethe_hash *hashes, size_t count) {
    return cascade != NULL && (hashes != NULL || count == 0);
}

/* Adds or removes; the keys become fingerprints a piece at a time. */
static lethe_status change(lethe_cascade *cascade, const lethe_hash *hashes, size_t count,
                           bool removes, uint64_t now_ms, size_t *done) {
    uint64_t fingerprints[LETHE_CASCADE_RECORD_KEYS];
    lethe_status status = LETHE_OK;
    size_t ready = 0;
    lethe_os_lock_take(&cascade->writing);
    while (ready < count && status == LETHE_OK) {
        size_t some =
            count - ready < LETHE_CASCADE_RECORD_KEYS ? count - ready : LETHE_CASCADE_RECORD_KEYS;
        for (size_t i = 0; i < some; i++)
            fingerprints[i] = lethe_cascade_fingerprint(cascade, hashes[ready + i]);
        size_t applied;
        status = lethe_cascade_apply(cascade, fingerprints, some, removes, now_ms, &applied);
        ready += applied;
    }
    lethe_os_lock_give(&cascade->writing);
    if (done != NULL) *done = ready;
    return status;
}

lethe_status lethe_cascade_add_batch(lethe_cascade *cascade, const lethe_hash *hashes, size_t count,
                                     uint64_t now_ms, size_t *done) {
    if (done != NULL) *done = 0;
    if (!is_batch(cascade, hashes, count)) return LETHE_EINVAL;
    return change(cascade, hashes, count, false, now_ms, done);
}

lethe_status lethe_cascade_remove_batch(lethe_cascade *cascade, const lethe_hash *hashes,
                                        size_t count, uint64_t now_ms, size_t *done) {
    if (done != NULL) *done = 0;
    if (!is_batch(cascade, hashes, count) || cascade->shape.window_ms != 0) return LETHE_EINVAL;
    return change(cascade, hashes, count, true, now_ms, done);
}

lethe_status lethe_cascade_test_batch(lethe_cascade *cascade, const lethe_hash *hashes,
                                      size_t count, uint64_t now_ms, uint8_t *present) {
    if (!is_batch(cascade, hashes, count) || (present == NULL && count > 0)) return LETHE_EINVAL;
    return lethe_cascade_look_up(cascade, hashes, count, now_ms, false, present, NULL);
}

lethe_status lethe_cascade_count_batch(lethe_cascade *cascade, const lethe_hash *hashes,
                                       size_t count, uint64_t now_ms, uint64_t *counts) {
    if (!is_batch(cascade, hashes, count) || (counts == NULL && count > 0)) return LETHE_EINVAL;
    return lethe_cascade_look_up(cascade, hashes, count, now_ms, false, NULL, counts);
}

/* Inserts the keys that are not present; *done becomes how many of all are settled. */
static lethe_status insert_absent(lethe_cascade *cascade, const lethe_hash *hashes, size_t count,
                                  uint64_t now_ms, const uint8_t *present, size_t *done) {
    uint64_t fingerprints[LETHE_CASCADE_RECORD_KEYS];
    uint32_t places[LETHE_CASCADE_RECORD_KEYS];
    size_t gathered = 0;
    for (size_t i = 0; i < count; i++) {
        if (!present[i]) {
            places[gathered] = (uint32_t)i;
            fingerprints[gathered++] = lethe_cascade_fingerprint(cascade, hashes[i]);
        }
        if (gathered < LETHE_CASCADE_RECORD_KEYS && i + 1 < count) continue;
        size_t applied;
        lethe_status status =
            lethe_cascade_apply(cascade, fingerprints, gathered, false, now_ms, &applied);
        if (status != LETHE_OK) {
            *done = applied < gathered ? places[applied] : i + 1;
            return status;
        }
        gathered = 0;
    }
    *done = count;
    return LETHE_OK;
}

lethe_status lethe_cascade_add_and_test_batch(lethe_cascade *cascade, const lethe_hash *hashes,
                                              size_t count, uint64_t now_ms, uint8_t *present,
                                              size_t *done) {
    if (done != NULL) *done = 0;
    if (!is_batch(cascade, hashes, count) || (present == NULL && count > 0)) return LETHE_EINVAL;
    lethe_status status = LETHE_OK;
    size_t settled = 0;
    lethe_os_lock_take(&cascade->writing);
    while (settled < count && status == LETHE_OK) {
        size_t left = count - settled, room = cascade->setting.lookup_keys;
        size_t some = left < room ? left : room, ready = 0;
        status = lethe_cascade_look_up(cascade, hashes + settled, some, now_ms, true,
                                       present + settled, NULL);
        if (status == LETHE_OK) {
            status =
                insert_absent(cascade, hashes + settled, some, now_ms, present + settled, &ready);
        }
        settled += ready;
    }
    lethe_os_lock_give(&cascade->writing);
    if (done != NULL) *done = settled;
    return status;
}

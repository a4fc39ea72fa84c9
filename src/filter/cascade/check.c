/* filter/cascade/check.c - reading every byte of a cascade, and changing none.
 *
 * WHY     Opening a cascade tidies it: files that a crash has left are removed, and the log is cut.
 *         Somebody who only wants to know whether a cascade is sound may not be allowed to change
 *         it, or may be looking at the last good copy. */
#include "filter/cascade/check.h"

#include <string.h>

#include "core/allocator.h"
#include "filter/cascade/state.h"

enum { BUFFER_BYTES = 1 << 20 };

struct checking {
    const char *folder;
    const lethe_allocator *allocator;
    struct lethe_cascade_words words;
    struct lethe_cascade_log log;
    struct lethe_cascade_found *found;
};

/* Reads all pages of a run; their number of entries must be what the manifest says, unless some
 * have expired. */
static lethe_status read_pages(const struct checking *checking, struct lethe_cascade_run *run) {
    struct lethe_cascade_frame frame = {.words = checking->words,
                                        .allocator = checking->allocator,
                                        .identity = checking->found->manifest.shape.identity,
                                        .first_period = run->facts.first_period,
                                        .oldest_period = run->facts.first_period,
                                        .buffer_bytes = BUFFER_BYTES};
    struct lethe_cascade_stream *stream;
    lethe_status status = lethe_cascade_stream_of_run(&frame, run, &stream);
    if (status != LETHE_OK) return status;
    uint64_t entries = 0;
    for (status = lethe_cascade_stream_fill(stream); status == LETHE_OK && stream->count > 0;
         status = lethe_cascade_stream_fill(stream)) {
        entries += stream->count;
        checking->found->insertions += stream->count - stream->value_count;
        for (size_t i = 0; i < stream->value_count; i++)
            checking->found->insertions += stream->values[i].added;
    }
    lethe_cascade_stream_free(stream);
    if (status == LETHE_OK && entries != run->facts.entries) status = LETHE_ECORRUPT;
    return status;
}

static lethe_status check_runs(const struct checking *checking) {
    const struct lethe_cascade_manifest *manifest = &checking->found->manifest;
    for (unsigned i = 0; i < 1u << manifest->shape.range_bits; i++) {
        for (uint32_t j = 0; j < manifest->ranges[i].run_count; j++) {
            struct lethe_cascade_run *run;
            lethe_status status = lethe_cascade_run_open(checking->folder, manifest->shape.identity,
                                                         manifest->ranges[i].runs[j], false,
                                                         checking->allocator, &run);
            if (status != LETHE_OK) return status;
            status = read_pages(checking, run);
            lethe_cascade_run_free(run);
            if (status != LETHE_OK) return status;
            checking->found->runs++;
        }
    }
    return LETHE_OK;
}

/* A record of the log: counts what runs do not cover. */
static lethe_status count_record(void *context, struct lethe_cascade_record *record) {
    const struct checking *checking = context;
    const struct lethe_cascade_shape *shape = &checking->found->manifest.shape;
    if (record->removes && shape->window_ms != 0) return LETHE_ECORRUPT;
    for (uint32_t i = 0; i < record->count; i++) {
        uint64_t fingerprint = record->fingerprints[i];
        if (fingerprint >> shape->fingerprint_bits != 0) return LETHE_ECORRUPT;
        uint64_t range = fingerprint >> (shape->fingerprint_bits - shape->range_bits);
        bool is_covered =
            record->first_key + i < checking->found->manifest.ranges[range].covered_key;
        checking->found->log_insertions += !is_covered && !record->removes;
    }
    return LETHE_OK;
}

static lethe_status check_log(struct checking *checking) {
    const struct lethe_cascade_manifest *manifest = &checking->found->manifest;
    uint64_t first_key = manifest->end_key;
    for (unsigned i = 0; i < 1u << manifest->shape.range_bits; i++) {
        uint64_t covered = manifest->ranges[i].covered_key;
        if (covered < first_key) first_key = covered;
    }
    lethe_status status =
        lethe_cascade_log_init(&checking->log, checking->folder, manifest->shape.identity,
                               manifest->shape.fingerprint_bits, 0, checking->allocator);
    checking->log.changes_nothing = true;
    if (status == LETHE_OK) {
        status = lethe_cascade_log_replay(&checking->log, first_key, manifest->end_key,
                                          manifest->is_exact, count_record, checking);
    }
    checking->found->next_key = checking->log.next_key;
    lethe_cascade_log_drop(&checking->log);
    checking->found->insertions += checking->found->log_insertions;
    return status;
}

lethe_status lethe_cascade_examine(const char *folder, bool reads_runs,
                                   const lethe_allocator *allocator,
                                   struct lethe_cascade_found *out) {
    *out = (struct lethe_cascade_found){0};
    if (strlen(folder) >= LETHE_CASCADE_FOLDER_BYTES) return LETHE_EINVAL;
    if (allocator == NULL) allocator = lethe_default_allocator();
    struct checking *checking = lethe_alloc_zeroed(allocator, sizeof *checking);
    if (checking == NULL) return LETHE_ENOMEM;
    checking->folder = folder;
    checking->allocator = allocator;
    checking->found = out;
    lethe_status status = lethe_cascade_manifest_read(folder, &out->manifest);
    if (status == LETHE_EINVAL || status == LETHE_ETYPE) status = LETHE_ECORRUPT;
    if (status == LETHE_OK) {
        checking->words = lethe_cascade_words_of(&out->manifest.shape);
        if (reads_runs) status = check_runs(checking);
    }
    if (status == LETHE_OK) status = check_log(checking);
    lethe_release(allocator, checking, sizeof *checking);
    return status;
}

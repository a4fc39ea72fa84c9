/* filter/cascade/info.c - what a cascade reports about itself, and a walk over its fingerprints. */
#include <math.h>

#include "core/allocator.h"
#include "core/sized.h"
#include "filter/cascade/state.h"

/* How often a level filter lets a key pass that its run does not have. */
static double pass_rate(const struct lethe_cascade_run *run) {
    if (run->filter == NULL) return 1;
    return lethe_cascade_sieve_rate(run->filter, run->facts.entries);
}

/* Adds up the runs on disk. State is held. */
static void sum_runs(const lethe_cascade *cascade, lethe_cascade_stats *out) {
    for (unsigned i = 0; i < cascade->range_count; i++) {
        const struct lethe_cascade_range *range = &cascade->ranges[i];
        for (unsigned j = 0; j < range->run_count; j++) {
            const struct lethe_cascade_run *run = range->runs[j];
            lethe_cascade_level *level = &out->levels[run->facts.level];
            level->runs++;
            level->entries += run->facts.entries;
            level->bytes += lethe_cascade_run_bytes(run);
            level->merging += run->is_merging;
            out->damaged_runs += run->is_damaged;
            if (run->facts.level >= out->level_count) out->level_count = run->facts.level + 1;
            out->entries += run->facts.entries;
            out->disk_bytes += lethe_cascade_run_bytes(run);
            out->memory_bytes += run->fence_room * sizeof *run->fences;
            out->runs_per_lookup += 1.0 / cascade->range_count;
            out->reads_per_lookup += pass_rate(run) / cascade->range_count;
        }
    }
    for (unsigned i = 0; i < cascade->obsolete_count; i++)
        out->obsolete_bytes += lethe_cascade_run_bytes(cascade->obsolete[i]);
}

static void sum_memory(const lethe_cascade *cascade, lethe_cascade_stats *out) {
    out->memory_entries = lethe_cascade_memory_entries(cascade);
    out->entries += out->memory_entries;
    out->levels[0].entries = out->memory_entries;
    out->levels[0].bytes = cascade->slot_bytes;
    for (unsigned i = 0; i < cascade->range_count; i++) {
        const struct lethe_cascade_range *range = &cascade->ranges[i];
        out->levels[0].runs += 1 + range->frozen_count;
        out->levels[0].bytes += lethe_cascade_table_extra_bytes(range->active);
        for (unsigned j = 0; j < range->frozen_count; j++)
            out->levels[0].bytes += lethe_cascade_table_extra_bytes(range->frozen[j]);
    }
    out->memory_bytes += out->levels[0].bytes;
    out->level_filter_bytes = cascade->filter_bytes;
    out->memory_bytes += cascade->filter_bytes + sizeof *cascade;
    for (unsigned i = 0; i < LETHE_CASCADE_MAX_JOBS; i++) {
        const struct lethe_cascade_job *job = &cascade->jobs[i];
        out->merges_under_way += job->is_used && !job->is_scan;
        out->levels[0].merging += job->is_used && job->table != NULL;
    }
}

lethe_status lethe_cascade_info(lethe_cascade *cascade, uint64_t now_ms, lethe_cascade_stats *out) {
    if (cascade == NULL) return LETHE_EINVAL;
    lethe_status status = lethe_sized_check(out, LETHE_SIZE_WITH(out, levels));
    if (status != LETHE_OK) return status;
    lethe_os_lock_take(&cascade->state);
    lethe_cascade_tell_time(cascade, now_ms);
    lethe_cascade_stats stats = {
        .size = sizeof stats,
        .capacity = cascade->shape.capacity,
        .error_target = cascade->shape.error,
        .seed = cascade->shape.seed,
        .window_ms = cascade->shape.window_ms,
        .period_ms = lethe_cascade_period_ms(&cascade->shape),
        .clock_ms = cascade->clock_ms,
        .fingerprint_bits = cascade->shape.fingerprint_bits,
        .growth = cascade->setting.growth,
        .ranges = cascade->range_count,
        .log_bytes = lethe_cascade_log_bytes(&cascade->log),
        .pages_read = cascade->pages_read,
        .filtered = cascade->filtered,
        .inserted = cascade->inserted,
        .removed = cascade->removed,
        .removals_unmatched = cascade->unmatched,
        .sequence = cascade->sequence,
        .uses_uring = cascade->uses_uring,
        .level_count = 1,
    };
    sum_runs(cascade, &stats);
    sum_memory(cascade, &stats);
    if (cascade->flushed_bytes > 0) {
        stats.write_amplification = (double)cascade->written_bytes / (double)cascade->flushed_bytes;
    }
    lethe_os_lock_give(&cascade->state);
    /* An absent key equals each fingerprint with the same probability. */
    stats.error_estimate = -expm1(-(double)stats.entries * exp2(-(double)stats.fingerprint_bits));
    return LETHE_GIVE(&stats, out, levels);
}

/* Gives back what open_range kept. */
static void close_range(lethe_cascade *cascade, const struct lethe_cascade_range *kept) {
    struct lethe_cascade_table *written[LETHE_CASCADE_MAX_TABLES];
    unsigned count = 0;
    lethe_os_lock_take(&cascade->state);
    for (unsigned i = 0; i < kept->run_count; i++)
        lethe_cascade_release_run(cascade, kept->runs[i]);
    for (unsigned i = 0; i < kept->frozen_count; i++) {
        if (--kept->frozen[i]->readers == 0 && kept->frozen[i]->is_written) {
            written[count++] = kept->frozen[i];
        }
    }
    lethe_os_lock_give(&cascade->state);
    for (unsigned i = 0; i < count; i++)
        lethe_cascade_free_table(cascade, written[i]);
    lethe_cascade_free_unused(cascade);
}

/* All that a range has, newest first, as one stream. Writing is held; *kept says which tables and
 * runs are kept for it until close_range. */
static lethe_status open_range(lethe_cascade *cascade, const struct lethe_cascade_frame *frame,
                               struct lethe_cascade_range *range, struct lethe_cascade_range *kept,
                               struct lethe_cascade_stream **out) {
    lethe_os_lock_take(&cascade->state);
    *kept = *range;
    for (unsigned i = 0; i < kept->run_count; i++)
        kept->runs[i]->references++;
    for (unsigned i = 0; i < kept->frozen_count; i++)
        kept->frozen[i]->readers++;
    lethe_os_lock_give(&cascade->state);
    *out = NULL;
    lethe_status status = LETHE_OK;
    unsigned parts = 1 + kept->frozen_count + kept->run_count;
    for (unsigned i = 0; i < parts && status == LETHE_OK; i++) {
        unsigned from_end =
            parts - 1 - i; /* the oldest first, so that each is newer than what is there */
        struct lethe_cascade_stream *part, *older = *out;
        if (from_end > kept->frozen_count) {
            status = lethe_cascade_stream_of_run(
                frame, kept->runs[from_end - 1 - kept->frozen_count], &part);
        } else {
            status = lethe_cascade_stream_of_table(
                frame, from_end == 0 ? kept->active : kept->frozen[from_end - 1], &part);
        }
        if (status != LETHE_OK) break;
        *out = part;
        if (older != NULL) status = lethe_cascade_stream_merge(frame, part, older, out);
    }
    return status;
}

static lethe_status show_range(const lethe_cascade *cascade, struct lethe_cascade_stream *stream,
                               bool (*visit)(void *context, uint64_t fingerprint, uint64_t count),
                               void *context, bool *goes_on) {
    unsigned shift = 64 - cascade->shape.fingerprint_bits;
    bool has_ages = lethe_cascade_has_ages(&cascade->words);
    for (;;) {
        lethe_status status = lethe_cascade_stream_fill(stream);
        if (status != LETHE_OK || stream->count == 0) return status;
        size_t next_value = 0;
        for (size_t i = 0; i < stream->count && *goes_on; i++) {
            uint64_t word = stream->words[i], count = 1;
            if (!has_ages && (word & 1) != 0) count = stream->values[next_value++].added;
            if (count == 0) continue;
            *goes_on = visit(context, word >> cascade->words.tag_bits << shift, count);
        }
        if (!*goes_on) return LETHE_OK;
    }
}

lethe_status lethe_cascade_each(lethe_cascade *cascade, uint64_t now_ms,
                                bool (*visit)(void *context, uint64_t fingerprint, uint64_t count),
                                void *context) {
    if (cascade == NULL || visit == NULL) return LETHE_EINVAL;
    struct lethe_cascade_range *kept = lethe_alloc_zeroed(cascade->allocator, sizeof *kept);
    if (kept == NULL) return LETHE_ENOMEM;
    lethe_status status = LETHE_OK;
    bool goes_on = true;
    lethe_os_lock_take(&cascade->writing);
    lethe_os_lock_take(&cascade->state);
    lethe_cascade_tell_time(cascade, now_ms);
    uint64_t oldest = lethe_cascade_oldest_period(&cascade->shape, cascade->clock_ms);
    lethe_os_lock_give(&cascade->state);
    struct lethe_cascade_frame frame = {.words = cascade->words,
                                        .allocator = cascade->allocator,
                                        .identity = cascade->shape.identity,
                                        .first_period = oldest,
                                        .oldest_period = oldest,
                                        .buffer_bytes = cascade->setting.buffer_bytes};
    for (unsigned i = 0; i < cascade->range_count && goes_on && status == LETHE_OK; i++) {
        struct lethe_cascade_stream *stream;
        status = open_range(cascade, &frame, &cascade->ranges[i], kept, &stream);
        if (status == LETHE_OK) status = show_range(cascade, stream, visit, context, &goes_on);
        lethe_cascade_stream_free(stream);
        close_range(cascade, kept);
    }
    lethe_os_lock_give(&cascade->writing);
    lethe_release(cascade->allocator, kept, sizeof *kept);
    return status;
}

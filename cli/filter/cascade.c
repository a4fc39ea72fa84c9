/* cascade.c - the kind `cascade`: lethe_cascade, a folder on disk that may be far larger than
 * memory.
 *
 * A filter that is being built lies in a folder beside the one it will be, and is renamed when it
 * is complete. One that is loaded is changed in place, but only a save makes that last: until then
 * it is as its last checkpoint says. Saved under another name, as a merge is, it is written anew,
 * entry by entry. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/cascade_worker.h"
#include "filter/kind.h"
#include "frame/exit_code.h"
#include "lethe/cascade.h"
#include "output/temporary.h"

enum { BATCH = 1024 };

struct cascade_filter {
    lethe_cascade *cascade;
    struct cascade_worker *worker;
    char folder[TEMPORARY_BYTES];
    bool is_temporary;
};

static const char *const build_options[] = {NULL};

static int read_options(const struct arguments *arguments, struct filter_settings *settings) {
    if (settings->error <= 0.1) return EXIT_DONE;
    return arguments_fail(arguments, "the --error of a cascade filter is 0.1 at most");
}

static lethe_status plan(const struct filter_settings *settings, uint64_t *memory_bytes) {
    *memory_bytes = (uint64_t)64 << 20;
    double error = settings->error > 0 ? settings->error : 0.01;
    return log2((double)settings->capacity / error) <= 63 ? LETHE_OK : LETHE_EINVAL;
}

static lethe_cascade_options options_of(uint64_t capacity, double error, uint64_t seed) {
    return LETHE_OPTIONS(lethe_cascade_options, .capacity = capacity,
                         .error = error > 0 ? error : 0.01, .seed = seed,
                         .durability = LETHE_CASCADE_CHECKPOINTED);
}

static void free_filter(void *object) {
    struct cascade_filter *filter = object;
    if (filter == NULL) return;
    int error = errno;
    cascade_worker_stop(filter->worker);
    (void)lethe_cascade_close(filter->cascade, NULL); /* what lasts is checkpointed */
    if (filter->is_temporary) temporary_remove(filter->folder);
    free(filter);
    errno = error;
}

static lethe_status open_in(const char *folder, const lethe_cascade_options *options,
                            bool temporary, void **out) {
    *out = NULL;
    struct cascade_filter *filter = calloc(1, sizeof *filter);
    if (filter == NULL) return LETHE_ENOMEM;
    filter->is_temporary = temporary;
    size_t size = strlen(folder);
    if (size >= sizeof filter->folder) {
        errno = ENAMETOOLONG;
        free(filter);
        return LETHE_EIO;
    }
    memcpy(filter->folder, folder, size + 1);
    lethe_status status = lethe_cascade_open(folder, options, &filter->cascade, NULL);
    if (status != LETHE_OK) {
        free_filter(filter);
        return status;
    }
    filter->worker = cascade_worker_start(filter->cascade);
    *out = filter;
    return LETHE_OK;
}

/* A new one, beside where it will be. */
static lethe_status make_beside(const char *path, const lethe_cascade_options *options,
                                void **out) {
    char folder[TEMPORARY_BYTES];
    int size = snprintf(folder, sizeof folder, "%s.XXXXXX", path);
    *out = NULL;
    errno = ENAMETOOLONG;
    if (size >= (int)sizeof folder || mkdtemp(folder) == NULL) return LETHE_EIO;
    return open_in(folder, options, true, out);
}

static lethe_status make(const struct filter_settings *settings, void **out) {
    lethe_cascade_options options = options_of(settings->capacity, settings->error, settings->seed);
    return make_beside(settings->out, &options, out);
}

static lethe_status load(const char *path, const lethe_allocator *allocator, void **out,
                         lethe_detail *detail) {
    (void)allocator;
    (void)detail;
    lethe_cascade_options options = LETHE_OPTIONS(
        lethe_cascade_options, .durability = LETHE_CASCADE_CHECKPOINTED, .must_exist = true);
    return open_in(path, &options, false, out);
}

static lethe_status checkpoint(const struct cascade_filter *filter) {
    uint64_t sequence;
    size_t note_bytes;
    lethe_cascade_last_checkpoint(filter->cascade, &sequence, NULL, &note_bytes);
    return lethe_cascade_checkpoint(filter->cascade, sequence + 1, NULL, 0);
}

/* Entries on their way from one cascade to another. */
struct transfer {
    lethe_cascade *to;
    lethe_hash hashes[BATCH];
    size_t count;
    lethe_status status;
};

static void hand_over(struct transfer *transfer) {
    if (transfer->count > 0 && transfer->status == LETHE_OK) {
        transfer->status =
            lethe_cascade_add_batch(transfer->to, transfer->hashes, transfer->count, 0, NULL);
    }
    transfer->count = 0;
}

static bool take_entry(void *context, uint64_t fingerprint, uint64_t count) {
    struct transfer *transfer = context;
    for (uint64_t i = 0; i < count && transfer->status == LETHE_OK; i++) {
        transfer->hashes[transfer->count++] = (lethe_hash){.high = fingerprint};
        if (transfer->count == BATCH) hand_over(transfer);
    }
    return transfer->status == LETHE_OK;
}

static lethe_status transfer_all(lethe_cascade *from, lethe_cascade *to) {
    struct transfer transfer = {.to = to};
    lethe_status status = lethe_cascade_each(from, 0, take_entry, &transfer);
    hand_over(&transfer);
    return status != LETHE_OK ? status : transfer.status;
}

/* Makes the folder of a filter that is complete the one at path. */
static lethe_status settle(struct cascade_filter *filter, const char *path) {
    lethe_status status = checkpoint(filter);
    if (status != LETHE_OK) return status;
    if (rename(filter->folder, path) != 0) return LETHE_EIO;
    filter->is_temporary = false;
    return LETHE_OK;
}

static lethe_cascade_stats stats_of(const struct cascade_filter *filter) {
    lethe_cascade_stats stats = LETHE_INIT(lethe_cascade_stats);
    (void)lethe_cascade_info(filter->cascade, 0, &stats);
    return stats;
}

static lethe_status save(const void *object, const char *path, lethe_detail *detail) {
    (void)detail;
    /* Only what is in the folder changes, not what the filter holds. */
    struct cascade_filter *filter = (struct cascade_filter *)(uintptr_t)object;
    if (filter->is_temporary) return settle(filter, path);
    if (strcmp(filter->folder, path) == 0) return checkpoint(filter);
    lethe_cascade_stats stats = stats_of(filter);
    lethe_cascade_options options = options_of(stats.capacity, stats.error_target, stats.seed);
    void *copy;
    lethe_status status = make_beside(path, &options, &copy);
    if (status != LETHE_OK) return status;
    status = transfer_all(filter->cascade, ((struct cascade_filter *)copy)->cascade);
    if (status == LETHE_OK) status = settle(copy, path);
    free_filter(copy);
    return status;
}

static uint64_t seed(const void *object) {
    return lethe_cascade_seed(((const struct cascade_filter *)object)->cascade);
}

/* How many lines have made so many different fingerprints: some of them share one. */
static double estimate_lines(const lethe_cascade_stats *stats) {
    double places = ldexp(1, (int)stats->fingerprint_bits);
    return -places * log1p(-(double)stats->entries / places);
}

static void describe(const void *object, struct filter_facts *out) {
    const struct cascade_filter *filter = object;
    lethe_cascade_stats stats = stats_of(filter);
    out->capacity = stats.capacity;
    out->planned_error = stats.error_target;
    out->knows_additions = false; /* only of different fingerprints */
    out->distinct_estimate = estimate_lines(&stats);
    out->fill = (double)stats.entries / (double)stats.capacity;
    out->error_now = stats.error_estimate;
    out->memory_bytes = stats.memory_bytes;
    filter_fact_number(out, "fingerprint_bits", stats.fingerprint_bits);
    if (stats.damaged_runs > 0) filter_fact_number(out, "damaged_runs", stats.damaged_runs);
}

static lethe_status add(void *object, const lethe_hash *hashes, size_t count, uint64_t now_ms) {
    struct cascade_filter *filter = object;
    return lethe_cascade_add_batch(filter->cascade, hashes, count, now_ms, NULL);
}

static lethe_status test(const void *object, const lethe_hash *hashes, size_t count,
                         uint64_t now_ms, uint8_t *present) {
    const struct cascade_filter *filter = object;
    return lethe_cascade_test_batch(filter->cascade, hashes, count, now_ms, present);
}

/* One at a time: of two equal lines only one may be there. */
static lethe_status remove_all(void *object, const lethe_hash *hashes, size_t count,
                               uint64_t now_ms, uint8_t *removed) {
    struct cascade_filter *filter = object;
    lethe_status status = lethe_cascade_test_batch(filter->cascade, hashes, count, now_ms, removed);
    for (size_t i = 0; i < count && status == LETHE_OK; i++) {
        if (!removed[i]) continue;
        status = lethe_cascade_test_batch(filter->cascade, &hashes[i], 1, now_ms, &removed[i]);
        if (status == LETHE_OK && removed[i])
            status = lethe_cascade_remove_batch(filter->cascade, &hashes[i], 1, now_ms, NULL);
    }
    return status;
}

static lethe_status merge(void *object, void *other) {
    struct cascade_filter *filter = object;
    const struct cascade_filter *more = other;
    lethe_cascade_stats a = stats_of(filter), b = stats_of(more);
    if (a.seed != b.seed || a.fingerprint_bits != b.fingerprint_bits) return LETHE_EMISMATCH;
    return transfer_all(more->cascade, filter->cascade);
}

/* A cascade with its folder and its worker. It is made beside the place where it will be. */
static const struct structure structure_of_folder = {
    .name = "cascade",
    .lives_in_folder = true,
    .free = free_filter,
    .seed = seed,
    .add = add,
    .test = test,
    .remove = remove_all,
    .merge = merge,
    .save_file = save,
    .load_file = load,
};

static const char *const shape[] = {NULL};

const struct filter_kind filter_kind_cascade = {
    .name = "cascade",
    .structure = &structure_of_folder,
    .build_options = build_options,
    .shape = shape,
    .read_options = read_options,
    .plan = plan,
    .make = make,
    .describe = describe,
};

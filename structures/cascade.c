/* structures/cascade.c - the row of lethe_cascade, which lives in a folder instead of being
 * saved. */
#include "lethe/cascade.h"

#include "structures/structure.h"

static void plan_options(const struct structure *row, const struct structure_plan *plan,
                         void *options) {
    (void)row;
    lethe_cascade_options *own = options;
    own->capacity = plan->capacity;
    own->error = plan->error;
    own->memory_bytes = plan->memory_bytes;
    own->window_ms = plan->window_ms;
    own->seed = plan->seed;
    own->allocator = plan->allocator;
}

static lethe_status open_folder(const char *folder, const void *options, void **out,
                                lethe_detail *detail) {
    lethe_cascade *opened = NULL;
    lethe_status status = lethe_cascade_open(folder, options, out != NULL ? &opened : NULL, detail);
    if (out != NULL) *out = opened;
    return status;
}

static void close_folder(void *object) {
    (void)lethe_cascade_close(object, NULL);
}

/* Asking a cascade may read its files and change what it remembers of them. */
static lethe_cascade *asked(const void *object) {
    return (lethe_cascade *)(uintptr_t)object;
}

static uint64_t seed(const void *object) {
    return lethe_cascade_seed(object);
}

static lethe_status info(const void *object, uint64_t now_ms, void *stats) {
    return lethe_cascade_info(asked(object), now_ms, stats);
}

static lethe_status add(void *object, const lethe_hash *hashes, size_t count, uint64_t now_ms) {
    return lethe_cascade_add_batch(object, hashes, count, now_ms, NULL);
}

static lethe_status test(const void *object, const lethe_hash *hashes, size_t count,
                         uint64_t now_ms, uint8_t *present) {
    return lethe_cascade_test_batch(asked(object), hashes, count, now_ms, present);
}

static lethe_status count_all(const void *object, const lethe_hash *hashes, size_t count,
                              uint64_t now_ms, uint64_t *counts) {
    return lethe_cascade_count_batch(asked(object), hashes, count, now_ms, counts);
}

#define OF_STATS(field_, type_) \
    { .name = #field_, .type = type_, .offset = offsetof(lethe_cascade_stats, field_) }

static const struct structure_field fields[] = {
    OF_STATS(capacity, FIELD_U64),
    OF_STATS(error_target, FIELD_F64),
    OF_STATS(error_estimate, FIELD_F64),
    OF_STATS(seed, FIELD_U64),
    OF_STATS(window_ms, FIELD_U64),
    OF_STATS(clock_ms, FIELD_U64),
    OF_STATS(fingerprint_bits, FIELD_U32),
    OF_STATS(growth, FIELD_U32),
    OF_STATS(ranges, FIELD_U32),
    OF_STATS(entries, FIELD_U64),
    OF_STATS(memory_entries, FIELD_U64),
    OF_STATS(memory_bytes, FIELD_U64),
    OF_STATS(disk_bytes, FIELD_U64),
    OF_STATS(log_bytes, FIELD_U64),
    {.name = NULL},
};

const struct structure structure_cascade = {
    .name = "cascade",
    .lives_in_folder = true,
    .options_bytes = sizeof(lethe_cascade_options),
    .stats_bytes = sizeof(lethe_cascade_stats),
    .plan_options = plan_options,
    .open = open_folder,
    .free = close_folder,
    .seed = seed,
    .info = info,
    .add = add,
    .test = test,
    .count = count_all,
    .fields = fields,
};

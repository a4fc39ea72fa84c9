/* filter/cascade/plan.c - from options to bits, ranges and tables.
 *
 * IDEA    An absent key equals each of n fingerprints of p bits with probability 2^-p. So
 *         p = log2(capacity / error).
 * WHY     Ranges of fingerprints are cascades of their own: they are merged independently, by
 *         several threads, in pieces so small that neither time nor room for a whole merge is ever
 *         needed at once. Their tables fill up one after the other; a few spare ones are filled
 *         while full ones are written out. */
#include "filter/cascade/plan.h"

#include <math.h>

#include "core/tunables.h"

#define MIB ((uint64_t)1 << 20)

enum { SPILL_SLOTS = 512, LEAST_HOMES = 1024, LOOKUP_KEY_BYTES = 72 };

static bool is_number(double value, double least, double most) {
    return value >= least && value <= most; /* false for NaN */
}

lethe_status lethe_cascade_plan_shape(const lethe_cascade_options *options,
                                      struct lethe_cascade_shape *out) {
    *out = (struct lethe_cascade_shape){
        .capacity = options->capacity == 0 ? UINT64_C(1) << 30 : options->capacity,
        .error = options->error == 0 ? 1e-3 : options->error,
        .seed = options->seed == 0 ? LETHE_DEFAULT_SEED : options->seed,
        .window_ms = options->window_ms,
        .slack = options->window_ms == 0 ? 0
                 : options->slack == 0   ? 0.25
                                         : options->slack,
        .range_bits = options->memory_bytes != 0 && options->memory_bytes < 32 * MIB ? 2 : 4,
    };
    if (out->capacity > UINT64_C(1) << 44) return LETHE_EINVAL;
    if (!is_number(out->error, 1e-15, 0.1)) return LETHE_EINVAL;
    double bits = ceil(log2((double)out->capacity / out->error) - 1e-9);
    if (bits < 16) bits = 16;
    if (bits > 62) return LETHE_EINVAL;
    out->fingerprint_bits = (uint32_t)bits;
    return lethe_cascade_check_shape(out) == LETHE_OK ? LETHE_OK : LETHE_EINVAL;
}

lethe_status lethe_cascade_check_shape(const struct lethe_cascade_shape *shape) {
    if (shape->capacity == 0 || shape->capacity > UINT64_C(1) << 44) return LETHE_ECORRUPT;
    if (!is_number(shape->error, 1e-15, 0.1)) return LETHE_ECORRUPT;
    if (shape->range_bits != 2 && shape->range_bits != 4) return LETHE_ECORRUPT;
    if (shape->fingerprint_bits < 16) return LETHE_ECORRUPT;
    if (shape->window_ms == 0) {
        return shape->fingerprint_bits <= 62 && shape->slack == 0 ? LETHE_OK : LETHE_ECORRUPT;
    }
    if (shape->window_ms < 1000 || shape->window_ms > UINT64_C(1) << 42) return LETHE_ECORRUPT;
    if (!is_number(shape->slack, 0.02, 1) || shape->fingerprint_bits > 55) return LETHE_ECORRUPT;
    return LETHE_OK;
}

lethe_status lethe_cascade_compare_shape(const lethe_cascade_options *options,
                                         const struct lethe_cascade_shape *shape) {
    if ((options->capacity != 0 && options->capacity != shape->capacity) ||
        (options->error != 0 && options->error != shape->error) ||
        (options->seed != 0 && options->seed != shape->seed) ||
        (options->window_ms != 0 && options->window_ms != shape->window_ms) ||
        (options->slack != 0 && options->slack != shape->slack)) {
        return LETHE_EMISMATCH;
    }
    return LETHE_OK;
}

lethe_status lethe_cascade_plan_setting(const lethe_cascade_options *options,
                                        const struct lethe_cascade_shape *shape,
                                        struct lethe_cascade_setting *out) {
    *out = (struct lethe_cascade_setting){
        .memory_bytes = options->memory_bytes == 0 ? 64 * MIB : options->memory_bytes,
        .level_filter_bytes = options->level_filter_bytes,
        .growth = options->growth == 0 ? 4 : options->growth,
        .read_depth = options->read_depth == 0 ? 64 : options->read_depth,
        .durability = options->durability,
        .reading = options->reading,
        .direct = options->direct,
        .refuse_over_capacity = options->refuse_over_capacity,
    };
    uint64_t memory = out->memory_bytes;
    if (memory < LETHE_CASCADE_MIN_MEMORY_BYTES || memory > UINT64_C(1) << 40) return LETHE_EINVAL;
    if (out->level_filter_bytes > UINT64_C(1) << 42) return LETHE_EINVAL;
    if (out->growth < 2 || out->growth > 16) return LETHE_EINVAL;
    if (out->read_depth > 1024) return LETHE_EINVAL;
    if ((unsigned)out->durability > LETHE_CASCADE_CHECKPOINTED) return LETHE_EINVAL;
    if ((unsigned)out->reading > LETHE_CASCADE_READ_THREADS) return LETHE_EINVAL;

    unsigned ranges = 1u << shape->range_bits;
    out->table_count = ranges + (ranges == 4 ? 2 : 4);
    uint64_t slots = memory / 4 * 3 / 8 / out->table_count;
    out->table_homes = slots > LEAST_HOMES + SPILL_SLOTS ? slots - SPILL_SLOTS : LEAST_HOMES;
    if (lethe_tune.cascade_table_homes > 0) out->table_homes = lethe_tune.cascade_table_homes;
    out->buffer_bytes = (size_t)(memory < 32 * MIB ? MIB / 32 : MIB / 4);
    uint64_t keys = memory / 6 / LOOKUP_KEY_BYTES;
    out->lookup_keys = keys > MIB ? MIB : keys < 4096 ? 4096 : (size_t)keys;
    out->log_file_bytes = memory / 8 < MIB / 4 ? MIB / 4 : memory / 8;
    if (lethe_tune.cascade_log_file_bytes > 0)
        out->log_file_bytes = lethe_tune.cascade_log_file_bytes;
    return LETHE_OK;
}

struct lethe_cascade_words lethe_cascade_words_of(const struct lethe_cascade_shape *shape) {
    unsigned tag_bits =
        shape->window_ms == 0 ? LETHE_CASCADE_VALUE_TAG_BITS : LETHE_CASCADE_AGE_TAG_BITS;
    return (struct lethe_cascade_words){.bits = shape->fingerprint_bits + tag_bits,
                                        .tag_bits = tag_bits,
                                        .range_bits = shape->range_bits};
}

uint64_t lethe_cascade_period_ms(const struct lethe_cascade_shape *shape) {
    if (shape->window_ms == 0) return 0;
    uint64_t period = (uint64_t)((double)shape->window_ms * shape->slack);
    return period > 0 ? period : 1;
}

uint64_t lethe_cascade_oldest_period(const struct lethe_cascade_shape *shape, uint64_t now_ms) {
    if (shape->window_ms == 0 || now_ms < shape->window_ms) return 0;
    return (now_ms - shape->window_ms) / lethe_cascade_period_ms(shape);
}

uint64_t lethe_cascade_period_of(const struct lethe_cascade_shape *shape, uint64_t now_ms) {
    return shape->window_ms == 0 ? 0 : now_ms / lethe_cascade_period_ms(shape);
}

/* structures/gaussian.c - the row of lethe_gaussian. */
#include "lethe/gaussian.h"

#define STRUCTURE gaussian
#include "structures/row.inc.h"

ROW_COPY
ROW_CLEAR
ROW_SHAPE
ROW_TEST

static void plan_options(const struct structure *row, const struct structure_plan *plan,
                         void *options) {
    (void)row;
    lethe_gaussian_options *own = options;
    TAKE_PLAN(own, plan);
}

static lethe_status add(void *object, const lethe_hash *hashes, size_t count, uint64_t now_ms) {
    (void)now_ms;
    return lethe_gaussian_add_batch(object, hashes, count);
}

static const char *const spacings[] = {"even", "published"};

static const struct structure_field fields[] = {
    OF_SHAPE(slots, FIELD_U64),
    OF_SHAPE(hashes, FIELD_U32),
    OF_SHAPE(slot_bits, FIELD_U32),
    WORD_OF_SHAPE(spacing, spacings),
    OF_SHAPE(radius, FIELD_U32),
    OF_SHAPE(capacity, FIELD_U64),
    OF_SHAPE(error, FIELD_F64),
    OF_SHAPE(seed, FIELD_U64),
    OF_STATS(additions, FIELD_U64),
    OF_STATS(slots_full, FIELD_U64),
    OF_STATS(distinct_estimate, FIELD_F64),
    OF_STATS(fill, FIELD_F64),
    OF_STATS(error_estimate, FIELD_F64),
    OF_STATS(bloom_error, FIELD_F64),
    OF_SHAPE(memory_bytes, FIELD_U64),
    END_OF_FIELDS,
};

const struct structure structure_gaussian = {
    .name = "gaussian",
    .type = "GAUS",
    .version = 1,
    .oldest_version = 1,
    ROW_FUNCTIONS,
    ROW_FILES,
    ROW_OF_SHAPE,
    .plan_options = plan_options,
    .add = add,
    .test = row_test,
    .merge = row_merge,
    .copy = row_copy,
    .clear = row_clear,
    .fields = fields,
};

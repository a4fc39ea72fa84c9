/* structures/quotient.c - the row of lethe_quotient. */
#include "lethe/quotient.h"

#define STRUCTURE quotient
#include "structures/row.inc.h"

ROW_COPY
ROW_SHAPE
ROW_TEST

static void plan_options(const struct structure *row, const struct structure_plan *plan,
                         void *options) {
    (void)row;
    lethe_quotient_options *own = options;
    TAKE_PLAN(own, plan);
}

static lethe_status add(void *object, const lethe_hash *hashes, size_t count, uint64_t now_ms) {
    (void)now_ms;
    return lethe_quotient_add_batch(object, hashes, count, NULL);
}

static lethe_status remove_all(void *object, const lethe_hash *hashes, size_t count,
                               uint64_t now_ms, uint8_t *removed) {
    (void)now_ms;
    lethe_status status = lethe_quotient_remove_batch(object, hashes, count, removed);
    return status == LETHE_ENOTFOUND ? LETHE_OK : status;
}

static lethe_status count_all(const void *object, const lethe_hash *hashes, size_t count,
                              uint64_t now_ms, uint64_t *counts) {
    (void)now_ms;
    return lethe_quotient_count_batch(object, hashes, count, counts);
}

static lethe_status clear(void *object) {
    return lethe_quotient_clear(object);
}

static const struct structure_field fields[] = {
    OF_SHAPE(slots, FIELD_U64),
    OF_SHAPE(remainder_bits, FIELD_U32),
    OF_SHAPE(max_fingerprint, FIELD_U64),
    OF_SHAPE(capacity, FIELD_U64),
    OF_SHAPE(grow_to, FIELD_U64),
    OF_SHAPE(error, FIELD_F64),
    OF_SHAPE(seed, FIELD_U64),
    OF_STATS(distinct, FIELD_U64),
    OF_STATS(total, FIELD_U64),
    OF_STATS(slots_used, FIELD_U64),
    OF_STATS(load, FIELD_F64),
    OF_STATS(error_estimate, FIELD_F64),
    OF_STATS(counted, FIELD_U64),
    OF_STATS(missed_removals, FIELD_U64),
    OF_STATS(doublings, FIELD_U32),
    OF_STATS(read_only, FIELD_BOOL),
    OF_STATS(memory_bytes, FIELD_U64),
    END_OF_FIELDS,
};

const struct structure structure_quotient = {
    .name = "quotient",
    .type = "QUOT",
    .version = 1,
    .oldest_version = 1,
    ROW_FUNCTIONS,
    ROW_FILES,
    ROW_OF_SHAPE,
    .plan_options = plan_options,
    .add = add,
    .test = row_test,
    .merge = row_merge,
    .remove = remove_all,
    .count = count_all,
    .copy = row_copy,
    .clear = clear,
    .fields = fields,
};

/* structures/bloom.c - rows of lethe_bloom: the classical layout and the blocked one. */
#include "lethe/bloom.h"

#define STRUCTURE bloom
#include "structures/row.inc.h"

ROW_COPY
ROW_CLEAR
ROW_SHAPE
ROW_TEST

static void plan_options(const struct structure *row, const struct structure_plan *plan,
                         void *options) {
    lethe_bloom_options *own = options;
    own->layout = (lethe_bloom_layout)row->kind;
    TAKE_PLAN(own, plan);
}

static bool is(const struct structure *row, const void *object) {
    lethe_bloom_shape shape = LETHE_INIT(lethe_bloom_shape);
    return lethe_bloom_get_shape(object, &shape) == LETHE_OK && (int)shape.layout == row->kind;
}

static lethe_status add(void *object, const lethe_hash *hashes, size_t count, uint64_t now_ms) {
    (void)now_ms;
    return lethe_bloom_add_batch(object, hashes, count);
}

static const char *const layouts[] = {"classic", "blocked"};

static const struct structure_field fields[] = {
    WORD_OF_SHAPE(layout, layouts),
    OF_SHAPE(bits, FIELD_U64),
    OF_SHAPE(hashes, FIELD_U32),
    OF_SHAPE(capacity, FIELD_U64),
    OF_SHAPE(error, FIELD_F64),
    OF_SHAPE(seed, FIELD_U64),
    OF_STATS(additions, FIELD_U64),
    OF_STATS(bits_set, FIELD_U64),
    OF_STATS(distinct_estimate, FIELD_F64),
    OF_STATS(fill, FIELD_F64),
    OF_STATS(error_estimate, FIELD_F64),
    OF_SHAPE(memory_bytes, FIELD_U64),
    END_OF_FIELDS,
};

#define COMMON                                                                                 \
    .type = "BLOM", .version = 1, .oldest_version = 1, ROW_FUNCTIONS, ROW_FILES, ROW_OF_SHAPE, \
    .plan_options = plan_options, .is = is, .add = add, .test = row_test, .merge = row_merge,  \
    .copy = row_copy, .clear = row_clear, .fields = fields

const struct structure structure_bloom = {.name = "bloom", .kind = LETHE_BLOOM_CLASSIC, COMMON};
const struct structure structure_blocked = {.name = "blocked", .kind = LETHE_BLOOM_BLOCKED, COMMON};

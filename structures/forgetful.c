/* structures/forgetful.c - rows of lethe_forgetful: the elastic setting, and the paper's, corrected
 * and as printed. */
#include "lethe/forgetful.h"

#define STRUCTURE forgetful
#define ROW_WITHOUT_FILES
#include "structures/row.inc.h"

ROW_COPY
ROW_CLEAR

static void plan_options(const struct structure *row, const struct structure_plan *plan,
                         void *options) {
    lethe_forgetful_options *own = options;
    own->setting = (lethe_forgetful_setting)row->kind;
    own->window_ms = plan->window_ms;
    own->seed = plan->seed;
    own->allocator = plan->allocator;
    own->error = plan->error;
    if (own->setting == LETHE_FORGETFUL_ELASTIC) {
        own->capacity = plan->capacity;
        return;
    }
    /* Four filters at most, and about 1% error with the default number of hashes. */
    own->bits = 16 * plan->capacity;
    own->past = 2;
    own->period_ms = plan->window_ms / 3 + 1;
    if (own->setting == LETHE_FORGETFUL_PRINTED) {
        /* A basic filter that does not adapt loses nothing. */
        own->window_ms = 0;
        own->past = 1;
        own->period_ms = plan->window_ms / 2 + 1;
    }
}

static lethe_status info(const void *object, uint64_t now_ms, void *stats) {
    return lethe_forgetful_info(object, now_ms, stats);
}

static bool is(const struct structure *row, const void *object) {
    lethe_forgetful_stats stats = LETHE_INIT(lethe_forgetful_stats);
    return lethe_forgetful_info(object, 0, &stats) == LETHE_OK && (int)stats.setting == row->kind;
}

static lethe_status add(void *object, const lethe_hash *hashes, size_t count, uint64_t now_ms) {
    if (object == NULL || (hashes == NULL && count > 0)) return LETHE_EINVAL;
    lethe_status first = LETHE_OK;
    for (size_t i = 0; i < count; i++) {
        lethe_status status = lethe_forgetful_add(object, hashes[i], now_ms);
        if (first == LETHE_OK) first = status;
    }
    return first;
}

static lethe_status test(const void *object, const lethe_hash *hashes, size_t count,
                         uint64_t now_ms, uint8_t *present) {
    return lethe_forgetful_test_batch(object, hashes, count, now_ms, present);
}

static lethe_status work(void *object, uint64_t now_ms, unsigned budget, bool *more) {
    return lethe_forgetful_work(object, now_ms, budget, more);
}

static const char *const settings[] = {"elastic", "paper", "printed"};

static const struct structure_field fields[] = {
    WORD_OF_STATS(setting, settings),    OF_STATS(window_ms, FIELD_U64),
    OF_STATS(slack, FIELD_F64),          OF_STATS(error_target, FIELD_F64),
    OF_STATS(error_estimate, FIELD_F64), OF_STATS(period_ms, FIELD_U64),
    OF_STATS(clock_ms, FIELD_U64),       OF_STATS(oldest_age_ms, FIELD_U64),
    OF_STATS(ids_held, FIELD_U64),       OF_STATS(fresh, FIELD_U64),
    OF_STATS(duplicates, FIELD_U64),     OF_STATS(refused, FIELD_U64),
    OF_STATS(filters, FIELD_U32),        OF_STATS(past, FIELD_U32),
    OF_STATS(strain, FIELD_U32),         OF_STATS(seed, FIELD_U64),
    OF_STATS(memory_bytes, FIELD_U64),   END_OF_FIELDS,
};

#define COMMON                                                                                 \
    .type = "FGBF", .version = 1, .oldest_version = 1,                                         \
    .options_bytes = sizeof(lethe_forgetful_options),                                          \
    .stats_bytes = sizeof(lethe_forgetful_stats), ROW_FUNCTIONS, .plan_options = plan_options, \
    .info = info, .is = is, .add = add, .test = test, .work = work, .copy = row_copy,          \
    .clear = row_clear, .fields = fields

const struct structure structure_forgetful = {
    .name = "forgetful", .kind = LETHE_FORGETFUL_ELASTIC, .merge = row_merge, COMMON};
const struct structure structure_forgetful_paper = {
    .name = "forgetful-paper", .kind = LETHE_FORGETFUL_PAPER, COMMON};
const struct structure structure_forgetful_printed = {
    .name = "forgetful-printed", .kind = LETHE_FORGETFUL_PRINTED, COMMON};

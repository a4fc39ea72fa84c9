/* structures/window.c - rows of lethe_window: the forgetful quotient filter and the paper's
 * filter. */
#include "lethe/window.h"

#define STRUCTURE window
#include "structures/row.inc.h"

static void plan_options(const struct structure *row, const struct structure_plan *plan,
                         void *options) {
    lethe_window_options *own = options;
    own->kind = (lethe_window_kind)row->kind;
    own->capacity = plan->capacity;
    own->error = plan->error;
    own->window_ms = plan->window_ms;
    own->seed = plan->seed;
    own->allocator = plan->allocator;
}

static lethe_status info(const void *object, uint64_t now_ms, void *stats) {
    return lethe_window_info(object, now_ms, stats);
}

static bool is(const struct structure *row, const void *object) {
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    return lethe_window_info(object, 0, &stats) == LETHE_OK && (int)stats.kind == row->kind;
}

static lethe_status add(void *object, const lethe_hash *hashes, size_t count, uint64_t now_ms) {
    return lethe_window_add_batch(object, hashes, count, now_ms, NULL);
}

static lethe_status test(const void *object, const lethe_hash *hashes, size_t count,
                         uint64_t now_ms, uint8_t *present) {
    lethe_status status = lethe_window_test_batch(object, hashes, count, now_ms, present);
    for (size_t i = 0; i < count && status == LETHE_OK; i++)
        present[i] = present[i] == LETHE_ANSWER_DUPLICATE;
    return status;
}

static lethe_status remove_all(void *object, const lethe_hash *hashes, size_t count,
                               uint64_t now_ms, uint8_t *removed) {
    for (size_t i = 0; i < count; i++) {
        lethe_status status = lethe_window_remove(object, hashes[i], now_ms);
        if (status != LETHE_OK && status != LETHE_ENOTFOUND) return status;
        removed[i] = status == LETHE_OK;
    }
    return LETHE_OK;
}

static lethe_status work(void *object, uint64_t now_ms, unsigned budget, bool *more) {
    return lethe_window_work(object, now_ms, budget, more);
}

static const char *const kinds[] = {"quotient", "forgetful"};

static const struct structure_field fields[] = {
    WORD_OF_STATS(kind, kinds),
    OF_STATS(window_ms, FIELD_U64),
    OF_STATS(clock_ms, FIELD_U64),
    OF_STATS(oldest_age_ms, FIELD_U64),
    OF_STATS(error_target, FIELD_F64),
    OF_STATS(error_estimate, FIELD_F64),
    OF_STATS(slack, FIELD_F64),
    OF_STATS(period_ms, FIELD_U64),
    OF_STATS(parts, FIELD_U32),
    OF_STATS(generations, FIELD_U32),
    OF_STATS(ids, FIELD_U64),
    OF_STATS(capacity, FIELD_U64),
    OF_STATS(fresh, FIELD_U64),
    OF_STATS(duplicates, FIELD_U64),
    OF_STATS(refused, FIELD_U64),
    OF_STATS(strain, FIELD_U32),
    OF_STATS(seed, FIELD_U64),
    OF_STATS(memory_bytes, FIELD_U64),
    OF_STATS(peak_memory_bytes, FIELD_U64),
    OF_STATS(max_memory_bytes, FIELD_U64),
    END_OF_FIELDS,
};

#define COMMON                                                                                    \
    .type = "WIND", .version = 2, .oldest_version = 1,                                            \
    .options_bytes = sizeof(lethe_window_options),                                                \
    .first_options_bytes = offsetof(lethe_window_options, one_line),                              \
    .stats_bytes = sizeof(lethe_window_stats), ROW_FUNCTIONS, ROW_FILES,                          \
    .plan_options = plan_options, .info = info, .is = is, .add = add, .test = test, .work = work, \
    .merge = row_merge, .fields = fields

const struct structure structure_window = {
    .name = "window", .kind = LETHE_WINDOW_QUOTIENT, .remove = remove_all, COMMON};
const struct structure structure_window_forgetful = {
    .name = "window-forgetful", .kind = LETHE_WINDOW_FORGETFUL, COMMON};

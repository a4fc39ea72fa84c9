/* module/types/fbf.c - FBF.*: the forgetful Bloom filter of the paper, elastic setting, as a
 * data type.
 *
 * A key holds one filter: items are added, tested, and forgotten after the window. A single item
 * can't be removed. */
#include "change/effect.h"
#include "command/info.h"
#include "command/options.h"
#include "server/reply.h"
#include "types.h"
#include "types/filter.h"

static redis_type *handle;
VALUE_TYPE_LOADER(fbf_type)

/* --- The structure */

static lethe_status make_structure(const void *wanted, void **out) {
    const lethe_window_options *window = wanted;
    lethe_forgetful_options options =
        LETHE_OPTIONS(lethe_forgetful_options, .window_ms = window->window_ms,
                      .error = window->error, .slack = window->slack, .capacity = window->capacity,
                      .max_memory_bytes = window->max_memory_bytes, .policy = window->policy,
                      .seed = window->seed, .allocator = &module_allocator);
    lethe_forgetful *made = NULL;
    lethe_status status = lethe_forgetful_new(&options, &made);
    *out = made;
    return status;
}

static const char *contradiction(const void *wanted) {
    const uint64_t least_bytes = 65536; /* lethe/forgetful.h */
    uint64_t cap = ((const lethe_window_options *)wanted)->max_memory_bytes;
    return cap > 0 && cap < least_bytes
               ? "MAXMEMORY is below 65536 bytes, the least for the Bloom filters of a window"
               : NULL;
}

static size_t memory_of(const void *structure) {
    lethe_forgetful_stats stats = LETHE_INIT(lethe_forgetful_stats);
    (void)lethe_forgetful_info(structure, 0, &stats);
    return stats.memory_bytes;
}

static bool is_acceptable(const void *structure, uint64_t clock_ms) {
    lethe_forgetful_stats stats = LETHE_INIT(lethe_forgetful_stats);
    (void)lethe_forgetful_info(structure, 0, &stats);
    return stats.clock_ms <= clock_ms;
}

static const struct holding holding = {.row = &structure_forgetful,
                                       .make = make_structure,
                                       .memory = memory_of,
                                       .is_acceptable = is_acceptable};

/* --- Items */

static lethe_status add(struct held *value, const lethe_hash *hashes, size_t count,
                        uint8_t *answers) {
    return lethe_forgetful_add_and_test_batch(value->structure, hashes, count, value->head.clock_ms,
                                              answers);
}

static void test(const struct held *value, const lethe_hash *hashes, size_t count,
                 uint8_t *is_there) {
    (void)lethe_forgetful_test_batch(value->structure, hashes, count, value_time(&value->head),
                                     is_there);
}

static const struct filter_operations operations = {.add = add, .test = test};

/* --- INFO */

struct facts {
    lethe_forgetful_stats stats;
    uint64_t clock_ms, memory_bytes;
};
INFO_FACTS_FIT(struct facts);

static void gather_facts(redis_context *context, const void *value, void *facts) {
    const struct held *held = value;
    struct facts *out = facts;
    (void)context;
    *out = (struct facts){.stats = LETHE_INIT(lethe_forgetful_stats),
                          .clock_ms = value_time(&held->head),
                          .memory_bytes = held_bytes(value)};
    (void)lethe_forgetful_info(held->structure, value_time(&held->head), &out->stats);
}

static const struct info_field info_fields[] = {
    INFO_ROW("window_ms", stats.window_ms, "The window W, in milliseconds"),
    INFO_ROW("clock_ms", clock_ms, "The filter's own time"),
    INFO_ROW("oldest_age_ms", stats.oldest_age_ms,
             "The age of the oldest item, at most; 0 if there is none"),
    INFO_ROW("period_ms", stats.period_ms,
             "The length of a period: items are forgotten once per period"),
    INFO_ROW("slack", stats.slack,
             "How much longer than W an item may be remembered, as a share of W"),
    INFO_ROW("error_target", stats.error_target, "The error that was asked for"),
    INFO_ROW("error_estimate", stats.error_estimate, "The current error"),
    INFO_ROW("items", stats.ids_held, "The number of items"),
    INFO_ROW("fresh", stats.fresh, "The number of additions so far of items that were not there"),
    INFO_ROW("duplicates", stats.duplicates,
             "The number of additions so far of items that were there"),
    INFO_ROW("refused", stats.refused,
             "The number of additions so far for which there was no room"),
    INFO_ROW("memory_bytes", memory_bytes, "Its memory"),
    INFO_ROW("filters", stats.filters, "The number of Bloom filters that it consists of"),
    {.name = NULL},
};

/* --- Time */

/* How many expired Bloom filters are freed at once. */
enum { WORK_FILTERS = 4 };

/* What is dropped shows in what is saved, so this happens in effects only. */
static void let_time_pass(void *value) {
    struct held *held = value;
    (void)lethe_forgetful_work(held->structure, held->head.clock_ms, WORK_FILTERS, &held->has_more);
}

static bool is_due(const void *value, uint64_t now_ms) {
    const struct held *held = value;
    uint64_t clock_ms = held->head.clock_ms;
    lethe_forgetful_stats stats = LETHE_INIT(lethe_forgetful_stats);
    (void)lethe_forgetful_info(held->structure, clock_ms, &stats);
    return stats.filters > 0 && (now_ms - clock_ms >= stats.period_ms || held->has_more);
}

const struct value_type fbf_type = {
    .name = "lethe-fbf",
    VALUE_TYPE_PREFIX("FBF"),
    .noun = "filter",
    .item = "item",
    VALUE_TYPE_HELD,
    .grows_in_pieces = true,
    .commands = {filter_commands},
    .filter = &operations,
    .create_word = "RESERVE",
    .options = window_options,
    .default_options = window_options_default,
    .contradiction = contradiction,
    .planned_bytes = window_planned_bytes,
    .repeat = filter_repeat,
    .info_fields = info_fields,
    .gather_facts = gather_facts,
    .let_time_pass = let_time_pass,
    .is_due = is_due,
};

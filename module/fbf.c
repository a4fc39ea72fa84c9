/* module/fbf.c - FBF.*: the forgetful Bloom filter of the paper, elastic setting, as a data type.
 *
 * A key holds one filter: items are added, tested, and forgotten after the window. It can't remove a single
 * item. */
#include "filter.h"

struct fbf {
    struct filter filter;
    lethe_forgetful *forgetful;
    bool has_more; /* to give back, of what has expired */
};

static redis_type *handle;

static lethe_forgetful_stats stats_of(const struct fbf *fbf, uint64_t now_ms) {
    return lethe_forgetful_info(fbf->forgetful, now_ms);
}

static lethe_status make(void *value, const void *wanted) {
    struct fbf *fbf = value;
    const lethe_window_options *window = wanted;
    lethe_forgetful_options options = {
        .window_ms = window->window_ms,
        .error = window->error,
        .slack = window->slack,
        .capacity = window->capacity,
        .max_memory_bytes = window->max_memory_bytes,
        .policy = window->policy == LETHE_WINDOW_DEGRADE ? LETHE_FORGETFUL_DEGRADE
                                                         : LETHE_FORGETFUL_REFUSE,
        .seed = window->seed,
        .allocator = &module_allocator,
    };
    lethe_status status = lethe_forgetful_new(&options, &fbf->forgetful);
    if (status == LETHE_OK) fbf->filter.seed = stats_of(fbf, 0).seed;
    return status;
}

/* --- Items */

static lethe_status add(void *value, const lethe_hash *hashes, size_t count, uint8_t *was_there,
                        size_t *done) {
    struct fbf *fbf = value;
    return lethe_forgetful_check_and_record_batch(fbf->forgetful, hashes, count,
                                                  fbf->filter.head.clock_ms, was_there, done);
}

static void test(const void *value, const lethe_hash *hashes, size_t count, uint8_t *is_there) {
    const struct fbf *fbf = value;
    lethe_forgetful_check_batch(fbf->forgetful, hashes, count, value_time(&fbf->filter.head),
                                is_there);
}

static const struct filter_operations operations = {.add = add, .test = test};

static lethe_status merge(void *value, const void *other) {
    return lethe_forgetful_merge(((struct fbf *)value)->forgetful,
                                 ((const struct fbf *)other)->forgetful);
}

static void tell(struct info *info, const void *value) {
    const struct fbf *fbf = value;
    const struct value *head = &fbf->filter.head;
    lethe_forgetful_stats stats = stats_of(fbf, value_time(head));
    info_number(info, "window_ms", stats.window_ms);
    info_number(info, "clock_ms", head->clock_ms);
    info_number(info, "oldest_age_ms", stats.oldest_age_ms);
    info_number(info, "period_ms", stats.period_ms);
    info_fraction(info, "slack", stats.slack);
    info_fraction(info, "error_target", stats.error_target);
    info_fraction(info, "error_estimate", stats.error_estimate);
    info_number(info, "items", stats.ids_held);
    info_number(info, "fresh", stats.fresh);
    info_number(info, "duplicates", stats.duplicates);
    info_number(info, "refused", stats.refused);
    info_number(info, "memory_bytes", stats.memory_bytes + sizeof *fbf);
    info_number(info, "filters", stats.filters);
}

/* --- Time */

/* What it drops shows in what is saved: so this happens in effects only. */
static void let_time_pass(void *value) {
    struct fbf *fbf = value;
    fbf->has_more = lethe_forgetful_advance(fbf->forgetful, fbf->filter.head.clock_ms);
}

static bool is_due(const void *value, uint64_t now_ms) {
    const struct fbf *fbf = value;
    uint64_t clock_ms = fbf->filter.head.clock_ms;
    lethe_forgetful_stats stats = stats_of(fbf, clock_ms);
    return stats.filters > 0 && (now_ms - clock_ms >= stats.period_ms || fbf->has_more);
}

/* --- Saving and the rest */

static lethe_status save(const void *value, lethe_sink sink) {
    return lethe_forgetful_save(((const struct fbf *)value)->forgetful, sink);
}

static lethe_status load(void *value, lethe_source source) {
    struct fbf *fbf = value;
    lethe_status status = lethe_forgetful_load(source, &module_allocator, &fbf->forgetful);
    if (status != LETHE_OK) return status;
    lethe_forgetful_stats stats = stats_of(fbf, 0);
    fbf->filter.seed = stats.seed;
    bool is_ours =
        stats.setting == LETHE_FORGETFUL_ELASTIC && stats.clock_ms <= fbf->filter.head.clock_ms;
    return is_ours ? LETHE_OK : LETHE_ECORRUPT;
}

static void *load_from_snapshot(redis_io *io, int version) {
    return value_from_snapshot(&fbf_type, io, version);
}

static void drop(void *value) {
    lethe_forgetful_free(((struct fbf *)value)->forgetful);
}

static size_t memory(const void *value) {
    const struct fbf *fbf = value;
    return stats_of(fbf, fbf->filter.head.clock_ms).memory_bytes;
}

const struct value_type fbf_type = {
    .name = "lethe-fbf",
    VALUE_TYPE_PREFIX("FBF"),
    .noun = "filter",
    .value_bytes = sizeof(struct fbf),
    .grows_in_pieces = true,
    .handle = &handle,
    .commands = {filter_commands},
    .filter = &operations,
    VALUE_TYPE_WINDOW_OPTIONS("RESERVE"),
    .make = make,
    .repeat = filter_repeat,
    .merge = merge,
    .info = tell,
    .load_from_snapshot = load_from_snapshot,
    .save = save,
    .load = load,
    .drop = drop,
    .memory = memory,
    .let_time_pass = let_time_pass,
    .is_due = is_due,
};

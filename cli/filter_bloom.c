/* filter_bloom.c - the kinds `bloom` and `blocked`: lethe_bloom in its two layouts. */
#include <inttypes.h>

#include "exit_code.h"
#include "filter_kind.h"

static const char *const build_options[] = {"bits", "hashes", NULL};

static int read_size(const struct arguments *arguments, struct filter_settings *settings) {
    uint64_t hashes = 0;
    int code = arguments_count(arguments, "bits", 1, LETHE_BLOOM_MAX_BITS, &settings->bits);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "hashes", 1, LETHE_BLOOM_MAX_HASHES, &hashes);
    if (code != EXIT_DONE) return code;
    settings->hashes = (uint32_t)hashes;
    if (settings->bits == 0 && settings->hashes != 0) {
        return arguments_fail(arguments, "--hashes needs --bits beside it");
    }
    if (settings->bits != 0 && (settings->capacity != 0 || settings->error != 0)) {
        return arguments_fail(arguments,
                              "the size is given twice, by --bits and by --%s; give --capacity "
                              "and --error, or --bits and --hashes",
                              settings->capacity != 0 ? "capacity" : "error");
    }
    return EXIT_DONE;
}

static int read_blocked_size(const struct arguments *arguments, struct filter_settings *settings) {
    int code = read_size(arguments, settings);
    if (code != EXIT_DONE) return code;
    if (settings->hashes % 8 == 0 && settings->hashes <= 32) return EXIT_DONE;
    return arguments_fail(arguments, "a blocked filter has 8, 16, 24 or 32 hashes, not %" PRIu32,
                          settings->hashes);
}

static lethe_bloom_options options_of(const struct filter_settings *settings,
                                      lethe_bloom_layout layout) {
    return (lethe_bloom_options){
        .layout = layout,
        .capacity = settings->capacity,
        .error = settings->error,
        .bits = settings->bits,
        .hashes = settings->hashes,
        .seed = settings->seed,
    };
}

static lethe_status plan(const struct filter_settings *settings, lethe_bloom_layout layout,
                         uint64_t *memory_bytes) {
    lethe_bloom_options options = options_of(settings, layout);
    lethe_bloom_shape shape;
    lethe_status status = lethe_bloom_plan(&options, &shape);
    *memory_bytes = shape.memory_bytes;
    return status;
}

static lethe_status make(const struct filter_settings *settings, lethe_bloom_layout layout,
                         void **out) {
    lethe_bloom_options options = options_of(settings, layout);
    lethe_bloom *filter;
    lethe_status status = lethe_bloom_new(&options, &filter);
    *out = filter;
    return status;
}

static lethe_status plan_classic(const struct filter_settings *settings, uint64_t *memory_bytes) {
    return plan(settings, LETHE_BLOOM_CLASSIC, memory_bytes);
}

static lethe_status plan_blocked(const struct filter_settings *settings, uint64_t *memory_bytes) {
    return plan(settings, LETHE_BLOOM_BLOCKED, memory_bytes);
}

static lethe_status make_classic(const struct filter_settings *settings, void **out) {
    return make(settings, LETHE_BLOOM_CLASSIC, out);
}

static lethe_status make_blocked(const struct filter_settings *settings, void **out) {
    return make(settings, LETHE_BLOOM_BLOCKED, out);
}

static lethe_status load(const char *path, void **out) {
    lethe_bloom *filter;
    lethe_status status = lethe_bloom_load_file(path, NULL, &filter);
    *out = filter;
    return status;
}

static lethe_status save(const void *filter, const char *path) {
    return lethe_bloom_save_file(filter, path);
}

static void free_filter(void *filter) {
    lethe_bloom_free(filter);
}

static bool is_classic(const void *filter) {
    return lethe_bloom_get_shape(filter).layout == LETHE_BLOOM_CLASSIC;
}

static bool is_blocked(const void *filter) {
    return lethe_bloom_get_shape(filter).layout == LETHE_BLOOM_BLOCKED;
}

static uint64_t seed(const void *filter) {
    return lethe_bloom_get_shape(filter).seed;
}

static void describe(const void *filter, struct filter_facts *out) {
    lethe_bloom_stats stats = lethe_bloom_info(filter);
    bool blocked = stats.shape.layout == LETHE_BLOOM_BLOCKED;
    *out = (struct filter_facts){
        .kind = blocked ? filter_kind_blocked.name : filter_kind_bloom.name,
        .seed = stats.shape.seed,
        .capacity = stats.shape.capacity,
        .planned_error = stats.shape.error,
        .additions = stats.additions,
        .distinct_estimate = stats.distinct_estimate,
        .fill = stats.fill,
        .error_now = stats.error_estimate,
        .memory_bytes = stats.shape.memory_bytes,
    };
    filter_fact_number(out, "bits", stats.shape.bits);
    filter_fact_number(out, "hashes", stats.shape.hashes);
}

static lethe_status add_batch(void *filter, const lethe_hash *hashes, size_t count) {
    lethe_bloom_add_batch(filter, hashes, count);
    return LETHE_OK;
}

static lethe_status test_batch(const void *filter, const lethe_hash *hashes, size_t count,
                               uint8_t *present) {
    lethe_bloom_test_batch(filter, hashes, count, present);
    return LETHE_OK;
}

static lethe_status merge(void *filter, const void *other) {
    return lethe_bloom_union(filter, other);
}

/* clang-format off: the two differ only in their first rows */
#define COMMON                                                                       \
    .type = "BLOM", .build_options = build_options, .load = load, .save = save,      \
    .free = free_filter, .seed = seed, .describe = describe, .add_batch = add_batch, \
    .test_batch = test_batch, .merge = merge
/* clang-format on */

const struct filter_kind filter_kind_bloom = {
    .name = "bloom",
    .read_options = read_size,
    .plan = plan_classic,
    .make = make_classic,
    .is = is_classic,
    COMMON,
};

const struct filter_kind filter_kind_blocked = {
    .name = "blocked",
    .read_options = read_blocked_size,
    .plan = plan_blocked,
    .make = make_blocked,
    .is = is_blocked,
    COMMON,
};

/* filter_gaussian.c - the kind `gaussian`: lethe_gaussian. */
#include <inttypes.h>

#include "exit_code.h"
#include "filter_kind.h"
#include "lethe/gaussian.h"

static const char *const build_options[] = {"slots", "hashes", "slot-bits", "spacing", NULL};

/* In the order of lethe_gaussian_spacing. */
static const char *const spacing_names[] = {"even", "published"};

static int read_numbers(const struct arguments *arguments, struct filter_settings *settings) {
    uint64_t hashes = 0, slot_bits = 0;
    size_t spacing = LETHE_GAUSSIAN_SPACING_EVEN;
    int code = arguments_count(arguments, "slots", 1, LETHE_GAUSSIAN_MAX_SLOTS, &settings->slots);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "hashes", 1, LETHE_GAUSSIAN_MAX_HASHES, &hashes);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "slot-bits", 1, LETHE_GAUSSIAN_DOUBLE_BITS, &slot_bits);
    if (code == EXIT_DONE) code = arguments_choice(arguments, "spacing", &spacing);
    settings->hashes = (uint32_t)hashes;
    settings->slot_bits = (uint32_t)slot_bits;
    settings->spacing = (uint32_t)spacing;
    return code;
}

static lethe_gaussian_options options_of(const struct filter_settings *settings) {
    return (lethe_gaussian_options){
        .capacity = settings->capacity,
        .error = settings->error,
        .slots = settings->slots,
        .hashes = settings->hashes,
        .slot_bits = settings->slot_bits,
        .spacing = (lethe_gaussian_spacing)settings->spacing,
        .seed = settings->seed,
    };
}

static int read_options(const struct arguments *arguments, struct filter_settings *settings) {
    int code = read_numbers(arguments, settings);
    if (code != EXIT_DONE) return code;
    uint32_t bits = settings->slot_bits;
    if (bits > LETHE_GAUSSIAN_MAX_SLOT_BITS && bits != LETHE_GAUSSIAN_FLOAT_BITS &&
        bits != LETHE_GAUSSIAN_DOUBLE_BITS) {
        return arguments_fail(arguments, "a slot has 1 to 8 bits, 32 or 64, not %" PRIu32, bits);
    }
    if (settings->slots == 0 && settings->hashes != 0) {
        return arguments_fail(arguments, "--hashes needs --slots beside it");
    }
    if (settings->slots == 0) return EXIT_DONE;
    if (settings->capacity != 0 || settings->error != 0) {
        return arguments_fail(arguments,
                              "the size is given twice, by --slots and by --%s; give --capacity "
                              "and --error, or --slots and --hashes",
                              settings->capacity != 0 ? "capacity" : "error");
    }
    lethe_gaussian_options options = options_of(settings);
    lethe_gaussian_shape shape;
    if (lethe_gaussian_plan(&options, &shape) == LETHE_OK) return EXIT_DONE;
    return arguments_fail(arguments,
                          "--slots %" PRIu64 " has no room for what one line writes; give more, or "
                          "fewer --hashes",
                          settings->slots);
}

static lethe_status plan(const struct filter_settings *settings, uint64_t *memory_bytes) {
    lethe_gaussian_options options = options_of(settings);
    lethe_gaussian_shape shape;
    lethe_status status = lethe_gaussian_plan(&options, &shape);
    *memory_bytes = shape.memory_bytes;
    return status;
}

static lethe_status make(const struct filter_settings *settings, void **out) {
    lethe_gaussian_options options = options_of(settings);
    lethe_gaussian *filter;
    lethe_status status = lethe_gaussian_new(&options, &filter);
    *out = filter;
    return status;
}

static lethe_status load(const char *path, void **out) {
    lethe_gaussian *filter;
    lethe_status status = lethe_gaussian_load_file(path, NULL, &filter);
    *out = filter;
    return status;
}

static lethe_status save(const void *filter, const char *path) {
    return lethe_gaussian_save_file(filter, path);
}

static void free_filter(void *filter) {
    lethe_gaussian_free(filter);
}

static uint64_t seed(const void *filter) {
    return lethe_gaussian_get_shape(filter).seed;
}

static void describe(const void *filter, struct filter_facts *out) {
    lethe_gaussian_stats stats = lethe_gaussian_info(filter);
    *out = (struct filter_facts){
        .kind = filter_kind_gaussian.name,
        .seed = stats.shape.seed,
        .capacity = stats.shape.capacity,
        .planned_error = stats.shape.error,
        .additions = stats.additions,
        .distinct_estimate = stats.distinct_estimate,
        .fill = stats.fill,
        .error_now = stats.error_estimate,
        .memory_bytes = stats.shape.memory_bytes,
    };
    filter_fact_number(out, "slots", stats.shape.slots);
    filter_fact_number(out, "hashes", stats.shape.hashes);
    filter_fact_number(out, "slot bits", stats.shape.slot_bits);
    filter_fact_word(out, "spacing", spacing_names[stats.shape.spacing]);
}

static lethe_status add_batch(void *filter, const lethe_hash *hashes, size_t count) {
    lethe_gaussian_add_batch(filter, hashes, count);
    return LETHE_OK;
}

static lethe_status test_batch(const void *filter, const lethe_hash *hashes, size_t count,
                               uint8_t *present) {
    lethe_gaussian_test_batch(filter, hashes, count, present);
    return LETHE_OK;
}

static lethe_status merge(void *filter, const void *other) {
    return lethe_gaussian_union(filter, other);
}

static lethe_status extract(const void *filter, lethe_bloom **out) {
    return lethe_gaussian_extract(filter, out);
}

const struct filter_kind filter_kind_gaussian = {
    .name = "gaussian",
    .type = "GAUS",
    .build_options = build_options,
    .read_options = read_options,
    .plan = plan,
    .make = make,
    .load = load,
    .save = save,
    .free = free_filter,
    .seed = seed,
    .describe = describe,
    .add_batch = add_batch,
    .test_batch = test_batch,
    .merge = merge,
    .extract = extract,
};

/* gaussian.c - the kind `gaussian`: lethe_gaussian. */
#include <inttypes.h>

#include "filter/kind.h"
#include "frame/exit_code.h"
#include "lethe/gaussian.h"

static const char *const build_options[] = {"slots", "hashes", "slot-bits", "spacing", NULL};

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

static void fill_options(const struct filter_settings *settings, void *options) {
    lethe_gaussian_options *own = options;
    own->capacity = settings->capacity;
    own->error = settings->error;
    own->slots = settings->slots;
    own->hashes = settings->hashes;
    own->slot_bits = settings->slot_bits;
    own->spacing = (lethe_gaussian_spacing)settings->spacing;
    own->seed = settings->seed;
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
        return arguments_fail(arguments, "--hashes needs --slots too");
    }
    if (settings->slots == 0) return EXIT_DONE;
    if (settings->capacity != 0 || settings->error != 0) {
        return arguments_fail(arguments,
                              "the size is given twice, by --slots and by --%s; give --capacity "
                              "and --error, or --slots and --hashes",
                              settings->capacity != 0 ? "capacity" : "error");
    }
    uint64_t memory_bytes;
    if (filter_plan(&filter_kind_gaussian, settings, &memory_bytes) == LETHE_OK) return EXIT_DONE;
    return arguments_fail(arguments,
                          "--slots %" PRIu64 " has no room for what one line writes; give more, or "
                          "fewer --hashes",
                          settings->slots);
}

static lethe_status extract(const void *filter, lethe_bloom **out) {
    return lethe_gaussian_extract(filter, out);
}

static const char *const shape[] = {"slots", "hashes", "slot_bits", "spacing", NULL};

const struct filter_kind filter_kind_gaussian = {
    .name = "gaussian",
    .structure = &structure_gaussian,
    .build_options = build_options,
    .shape = shape,
    .read_options = read_options,
    .fill_options = fill_options,
    .extract = extract,
};

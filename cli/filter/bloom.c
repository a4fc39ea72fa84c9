/* bloom.c - the kinds `bloom` and `blocked`: lethe_bloom in its two layouts. */
#include <inttypes.h>

#include "filter/kind.h"
#include "frame/exit_code.h"

static const char *const build_options[] = {"bits", "hashes", NULL};

static int read_size(const struct arguments *arguments, struct filter_settings *settings) {
    uint64_t hashes = 0;
    int code = arguments_count(arguments, "bits", 1, LETHE_BLOOM_MAX_BITS, &settings->bits);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "hashes", 1, LETHE_BLOOM_MAX_HASHES, &hashes);
    if (code != EXIT_DONE) return code;
    settings->hashes = (uint32_t)hashes;
    if (settings->bits == 0 && settings->hashes != 0) {
        return arguments_fail(arguments, "--hashes needs --bits too");
    }
    if (settings->bits != 0 && (settings->capacity != 0 || settings->error != 0)) {
        return arguments_fail(arguments,
                              "the size is given twice, by --bits and by --%s; give --capacity and "
                              "--error, or --bits and --hashes",
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

static void fill_options(const struct filter_settings *settings, lethe_bloom_layout layout,
                         void *options) {
    lethe_bloom_options *own = options;
    own->layout = layout;
    own->capacity = settings->capacity;
    own->error = settings->error;
    own->bits = settings->bits;
    own->hashes = settings->hashes;
    own->seed = settings->seed;
}

static void fill_classic(const struct filter_settings *settings, void *options) {
    fill_options(settings, LETHE_BLOOM_CLASSIC, options);
}

static void fill_blocked(const struct filter_settings *settings, void *options) {
    fill_options(settings, LETHE_BLOOM_BLOCKED, options);
}

static const char *const shape[] = {"bits", "hashes", NULL};

const struct filter_kind filter_kind_bloom = {
    .name = "bloom",
    .structure = &structure_bloom,
    .build_options = build_options,
    .shape = shape,
    .read_options = read_size,
    .fill_options = fill_classic,
};

const struct filter_kind filter_kind_blocked = {
    .name = "blocked",
    .structure = &structure_blocked,
    .build_options = build_options,
    .shape = shape,
    .read_options = read_blocked_size,
    .fill_options = fill_blocked,
};

/* build.c - `lethe freq build`: lines become a sketch. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "frame/operands.h"
#include "freq/feed.h"
#include "freq/file.h"
#include "output/saved.h"
#include "say/human.h"
#include "say/message.h"

#define MOST_MEMORY_BYTES (UINT64_C(1) << 45)
#define LEAST_EPSILON 1.1e-8
#define MOST_EPSILON 0.99
#define LEAST_DELTA 1e-12
#define MOST_DELTA 0.5

/* Reads the options that are numbers; a zero stays where one is not given. */
static int read_numbers(const struct arguments *arguments, lethe_sketch_options *options) {
    uint64_t depth = 0, bits = 0, top = 0;
    int code = arguments_count(arguments, "width", 1, LETHE_SKETCH_MAX_WIDTH, &options->width);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "depth", 1, LETHE_SKETCH_MAX_DEPTH, &depth);
    if (code == EXIT_DONE) {
        code =
            arguments_count(arguments, "is-width", 1, LETHE_SKETCH_MAX_WIDTH, &options->is_width);
    }
    if (code == EXIT_DONE) {
        code =
            arguments_count(arguments, "is-depth", 1, LETHE_SKETCH_MAX_DEPTH, &options->is_depth);
    }
    if (code == EXIT_DONE)
        code = arguments_size(arguments, "memory", 1, MOST_MEMORY_BYTES, &options->memory_bytes);
    if (code == EXIT_DONE) {
        code = arguments_probability(arguments, "epsilon", LEAST_EPSILON, MOST_EPSILON,
                                     &options->epsilon);
    }
    if (code == EXIT_DONE) {
        code = arguments_probability(arguments, "delta", LEAST_DELTA, MOST_DELTA, &options->delta);
    }
    if (code == EXIT_DONE) code = arguments_count(arguments, "bits", 8, 64, &bits);
    if (code == EXIT_DONE) code = arguments_count(arguments, "top", 1, LETHE_SKETCH_MAX_TOP, &top);
    if (code == EXIT_DONE) code = arguments_seed(arguments, "seed", &options->seed);
    options->depth = (uint32_t)depth;
    options->counter_bits = (uint32_t)bits;
    options->top = (uint32_t)top;
    return code;
}

/* The size is given in one of three ways. */
static int check_size(const struct arguments *arguments, const lethe_sketch_options *options) {
    const char *ways[3];
    size_t count = 0;
    if (options->width != 0) ways[count++] = "width";
    if (options->memory_bytes != 0) ways[count++] = "memory";
    if (options->epsilon != 0) ways[count++] = "epsilon";
    if (count > 1) {
        return arguments_fail(arguments,
                              "the size is given twice, by --%s and by --%s; give --width and "
                              "--depth, or --memory, or --epsilon and --delta",
                              ways[0], ways[1]);
    }
    if (options->delta != 0 && options->epsilon == 0) {
        return arguments_fail(arguments, "--delta needs --epsilon too");
    }
    if (options->depth != 0 && options->epsilon != 0) {
        return arguments_fail(arguments, "--depth follows from --delta; give only one of them");
    }
    return EXIT_DONE;
}

/* What a kind does not have. */
static int check_kind(const struct arguments *arguments, const lethe_sketch_options *options) {
    const char *name = freq_kind_name(options->kind);
    uint32_t bits = options->counter_bits;
    bool is_log = options->kind == LETHE_SKETCH_LOG;
    if (bits != 0 && bits != 8 && bits != 16 && bits != 32 && bits != 64) {
        return arguments_fail(arguments, "a counter has 8, 16, 32 or 64 bits, not %" PRIu32, bits);
    }
    if (is_log && bits > 16) {
        return arguments_fail(arguments, "a counter of kind cml has 8 or 16 bits, not %" PRIu32,
                              bits);
    }
    if (options->is_width != 0 && options->kind != LETHE_SKETCH_FID) {
        return arguments_fail(arguments, "--is-width is for --kind fid, not for %s", name);
    }
    if (options->is_depth != 0 && options->kind != LETHE_SKETCH_FID) {
        return arguments_fail(arguments, "--is-depth is for --kind fid, not for %s", name);
    }
    bool needs_none =
        options->kind == LETHE_SKETCH_COUNT_MIN || options->kind == LETHE_SKETCH_COUNT;
    if (options->removal > LETHE_SKETCH_REMOVAL_NONE && needs_none) {
        return arguments_fail(
            arguments, "--removal is for the kinds cu, cml and fid; %s removes without it", name);
    }
    if (options->removal == LETHE_SKETCH_REMOVAL_COUNT_MIN && is_log) {
        return arguments_fail(arguments, "kind cml removes by --removal subtraction, not %s",
                              freq_removal_name(options->removal));
    }
    return EXIT_DONE;
}

static int read_options(const struct arguments *arguments, lethe_sketch_options *options) {
    size_t kind = LETHE_SKETCH_COUNT_MIN, removal = 0;
    int code = arguments_choice(arguments, "kind", &kind);
    if (code == EXIT_DONE) code = arguments_choice(arguments, "removal", &removal);
    if (code == EXIT_DONE) code = read_numbers(arguments, options);
    if (code != EXIT_DONE) return code;
    options->kind = (lethe_sketch_kind)kind;
    if (arguments_has(arguments, "removal"))
        options->removal = (lethe_sketch_removal)(removal + LETHE_SKETCH_REMOVAL_NONE);
    code = check_size(arguments, options);
    if (code == EXIT_DONE) code = check_kind(arguments, options);
    if (code == EXIT_DONE && arguments_text(arguments, "out") == NULL) {
        code = arguments_fail(arguments, "--out S is missing: the file to write");
    }
    return code;
}

static int make_sketch(const lethe_sketch_options *options, lethe_sketch **out) {
    *out = NULL;
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    if (lethe_sketch_plan(options, &shape) != LETHE_OK) {
        if (options->memory_bytes != 0) {
            struct human_text size;
            return message_fail(EXIT_USAGE,
                                "%s is too small for such a sketch; give a larger --memory",
                                human_bytes(options->memory_bytes, &size));
        }
        return message_fail(EXIT_USAGE,
                            "such a sketch would have more than %" PRIu64 " counters or rows wider "
                            "than "
                            "%" PRIu64 "; allow a larger --epsilon or a smaller --width",
                            LETHE_SKETCH_MAX_COUNTERS, LETHE_SKETCH_MAX_WIDTH);
    }
    if (lethe_sketch_new(options, out) == LETHE_OK) return EXIT_DONE;
    struct human_text size;
    return message_fail(EXIT_ENVIRONMENT,
                        "not enough memory for a sketch of %s; ask for a smaller one with --memory",
                        human_bytes(shape.memory_bytes, &size));
}

/* As many threads as there are cores, unless --threads says otherwise. */
static int read_threads(const struct arguments *arguments, unsigned *out) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t threads = cores < 1                   ? 1
                       : cores > FEED_MOST_THREADS ? FEED_MOST_THREADS
                                                   : (uint64_t)cores;
    int code = arguments_count(arguments, "threads", 1, FEED_MOST_THREADS, &threads);
    *out = (unsigned)threads;
    return code;
}

int run_freq_build(const struct arguments *arguments) {
    lethe_sketch_options options = LETHE_INIT(lethe_sketch_options);
    struct key_fields fields;
    unsigned threads;
    int code = read_options(arguments, &options);
    if (code == EXIT_DONE) code = key_fields_read(arguments, &fields);
    if (code == EXIT_DONE) code = read_threads(arguments, &threads);
    if (code != EXIT_DONE) return code;
    struct inputs inputs;
    const char *out;
    code = operands_look_to_save(arguments, "sketch", &inputs, &out);
    if (code != EXIT_DONE) return code;
    bool quiet = arguments_has(arguments, "quiet");
    lethe_sketch *sketch;
    code = make_sketch(&options, &sketch);
    if (code == EXIT_DONE) code = feed_all(&inputs, &fields, !quiet, threads, sketch);
    if (code == EXIT_DONE && interrupt_requested()) code = interrupt_fail(out);
    if (code == EXIT_DONE) code = freq_save(sketch, out);
    if (code == EXIT_DONE) freq_report(out, sketch, arguments_has(arguments, "json"), quiet);
    lethe_sketch_free(sketch);
    return code;
}

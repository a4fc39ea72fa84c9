/* filter_build.c - `lethe filter build`: lines become a filter. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "filter_file.h"
#include "human.h"
#include "inputs.h"
#include "interrupt.h"
#include "line_count.h"
#include "lines.h"
#include "message.h"
#include "progress.h"

/* Reads the options that are numbers; a zero stays where one is not given. */
static int read_numbers(const struct arguments *arguments, lethe_bloom_options *options) {
    size_t kind = LETHE_BLOOM_CLASSIC;
    uint64_t hashes = 0;
    int code = arguments_choice(arguments, "kind", &kind);
    if (code == EXIT_DONE) {
        code =
            arguments_count(arguments, "capacity", 1, LETHE_BLOOM_MAX_CAPACITY, &options->capacity);
    }
    if (code == EXIT_DONE) {
        code = arguments_probability(arguments, "error", LETHE_BLOOM_MIN_ERROR,
                                     LETHE_BLOOM_MAX_ERROR, &options->error);
    }
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "bits", 1, LETHE_BLOOM_MAX_BITS, &options->bits);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "hashes", 1, LETHE_BLOOM_MAX_HASHES, &hashes);
    if (code == EXIT_DONE) code = arguments_seed(arguments, "seed", &options->seed);
    options->layout = (lethe_bloom_layout)kind;
    options->hashes = (uint32_t)hashes;
    return code;
}

static int read_options(const struct arguments *arguments, lethe_bloom_options *options) {
    int code = read_numbers(arguments, options);
    if (code != EXIT_DONE) return code;
    if (options->bits == 0 && options->hashes != 0) {
        return arguments_fail(arguments, "--hashes needs --bits beside it");
    }
    if (options->bits != 0 && (options->capacity != 0 || options->error != 0)) {
        return arguments_fail(arguments,
                              "the size is given twice, by --bits and by --%s; give --capacity "
                              "and --error, or --bits and --hashes",
                              options->capacity != 0 ? "capacity" : "error");
    }
    bool is_blocked = options->layout == LETHE_BLOOM_BLOCKED;
    if (is_blocked && (options->hashes % 8 != 0 || options->hashes > 32)) {
        return arguments_fail(arguments,
                              "a blocked filter has 8, 16, 24 or 32 hashes, not %" PRIu32,
                              options->hashes);
    }
    if (arguments_text(arguments, "out") == NULL) {
        return arguments_fail(arguments, "--out F is missing, the file to write");
    }
    return EXIT_DONE;
}

/* The output replaces what was there, which must not be the lines themselves. */
static int check_not_an_input(const char *out, const struct inputs *inputs) {
    if (!inputs_include(inputs, out)) return EXIT_DONE;
    return message_fail(EXIT_USAGE, "--out %s is one of the files to read; choose another name",
                        out);
}

/* A filter has to be planned before the first line is added. Files can be read twice; a pipe
 * cannot. */
static int plan_capacity(const struct inputs *inputs, const char *out, bool quiet,
                         lethe_bloom_options *options) {
    if (!inputs->all_regular) {
        return message_fail(EXIT_USAGE,
                            "how many lines will come from %s is not known; give --capacity N, "
                            "the most different lines to expect",
                            inputs_name(inputs->stream));
    }
    int code = line_count(inputs, quiet, &options->capacity);
    if (code != EXIT_DONE) return code;
    if (interrupt_requested()) return interrupt_fail(out);
    if (options->capacity == 0) options->capacity = 1;
    if (options->capacity <= LETHE_BLOOM_MAX_CAPACITY) return EXIT_DONE;
    return message_fail(EXIT_BAD_DATA,
                        "the files have %" PRIu64 " lines, more than a filter is planned for; "
                        "give --bits",
                        options->capacity);
}

static int make_filter(const lethe_bloom_options *options, lethe_bloom **out) {
    *out = NULL;
    lethe_bloom_shape shape;
    if (lethe_bloom_plan(options, &shape) != LETHE_OK) {
        return message_fail(EXIT_USAGE,
                            "a %s filter for %" PRIu64 " lines at that error is too large; allow "
                            "a larger --error or a smaller --capacity",
                            filter_kind_name(options->layout), options->capacity);
    }
    if (lethe_bloom_new(options, out) == LETHE_OK) return EXIT_DONE;
    struct human_text size;
    return message_fail(EXIT_ENVIRONMENT,
                        "not enough memory for a filter of %s; ask for a smaller --capacity or a "
                        "larger --error",
                        human_bytes(shape.memory_bytes, &size));
}

/* Adds every line of the inputs. Stops early, without an error, when a signal asks to. */
static int add_lines(const struct inputs *inputs, lethe_bloom *filter, bool quiet) {
    struct line_reader *reader;
    int code = lines_open(inputs, &reader);
    if (code != EXIT_DONE) return code;
    uint64_t seed = lethe_bloom_get_shape(filter).seed;
    struct progress progress;
    progress_begin(&progress, !quiet, "lines", inputs->bytes);
    lethe_hash hashes[LINES_PER_BATCH];
    struct line_batch batch;
    while ((code = lines_next(reader, &batch)) == EXIT_DONE && batch.count > 0) {
        lethe_hash_batch(seed, batch.lines, batch.count, hashes);
        lethe_bloom_add_batch(filter, hashes, batch.count);
        progress_update(&progress, lines_delivered(reader), lines_bytes(reader));
    }
    progress_end(&progress);
    lines_free(reader);
    return code;
}

static int build(const struct inputs *inputs, const lethe_bloom_options *options, const char *out,
                 bool json, bool quiet) {
    lethe_bloom *filter;
    int code = make_filter(options, &filter);
    if (code == EXIT_DONE) code = add_lines(inputs, filter, quiet);
    if (code == EXIT_DONE && interrupt_requested()) code = interrupt_fail(out);
    if (code == EXIT_DONE) code = filter_save(filter, out);
    if (code == EXIT_DONE) filter_report(out, filter, json, quiet);
    lethe_bloom_free(filter);
    return code;
}

static int run(const struct arguments *arguments) {
    lethe_bloom_options options = {0};
    int code = read_options(arguments, &options);
    if (code != EXIT_DONE) return code;
    struct inputs inputs;
    code = inputs_look(arguments->operands, arguments->operand_count, &inputs);
    if (code != EXIT_DONE) return code;
    const char *out = arguments_text(arguments, "out");
    code = filter_check_output(out);
    if (code == EXIT_DONE) code = check_not_an_input(out, &inputs);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    bool quiet = arguments_has(arguments, "quiet");
    if (options.capacity == 0 && options.bits == 0) {
        code = plan_capacity(&inputs, out, quiet, &options);
    }
    if (code != EXIT_DONE) return code;
    return build(&inputs, &options, out, arguments_has(arguments, "json"), quiet);
}

const struct command command_filter_build = {
    .path = "filter build",
    .summary = "make a Bloom filter from lines",
    .synopses =
        (const char *const[]){
            "[--kind bloom|blocked] [--capacity N] [--error E] [--seed S] --out F [FILE...]",
            "[--kind bloom|blocked] --bits M [--hashes K] [--seed S] --out F [FILE...]", NULL},
    .description =
        (const char *const[]){
            "Adds every line of the files, or of standard input, to a new filter and writes it to "
            "`F`. If `F` exists it is replaced as a whole, once all lines are added and the new "
            "filter is safely on disk; if anything fails before, or the command is interrupted, "
            "it stays as it was.",
            "The size of a filter is fixed when it is made. It follows from the number of "
            "different lines to expect and the error to allow. Without `--capacity`, the lines of "
            "the files are counted first; a pipe cannot be read twice, so there `--capacity` is "
            "needed. More lines than planned can be added, but the error rises; a warning then "
            "tells it. Or give the size itself, in bits, with the number of bits that a line sets.",
            "When done, a line on standard error tells how many lines were added, how many of "
            "them were different (an estimate from the bits), and the error as it is now.",
            NULL},
    .options =
        (const struct option[]){
            {.name = "kind",
             .value = "KIND",
             .choices = FILTER_KINDS,
             .help = "`bloom`, the classical filter, which is smallest, or `blocked`, which is "
                     "fastest; default `bloom`"},
            {.name = "capacity",
             .value = "N",
             .help = "how many different lines to plan for; default the number of lines in the "
                     "files"},
            {.name = "error",
             .value = "E",
             .help =
                 "the share of absent lines that may be called present, at capacity, from 1e-15 "
                 "to 0.5; default 0.01"},
            {.name = "bits", .value = "M", .help = "the size in bits, instead of --capacity"},
            {.name = "hashes",
             .value = "K",
             .help =
                 "with `--bits`: how many bits a line sets, 1 to 64, default 7; blocked: 8, 16, "
                 "24 or 32, default 8"},
            {.name = "seed",
             .value = "S",
             .help = "key of the hash, decimal or 0x...; only filters of one seed can be merged; "
                     "default the same for all"},
            {.name = "out",
             .value = "F",
             .help = "the file to write",
             .completion = COMPLETE_FILES},
            OPTION_JSON("print the summary as JSON on standard output"),
            OPTION_QUIET,
            {0}},
    .examples =
        (const struct example[]){
            {"Plan for what is in the file, with the default error of 1%",
             "lethe filter build --out known.lethe known.txt"},
            {"Read a pipe, with one false positive in a million",
             "zcat ids.gz | lethe filter build --kind blocked --capacity 50M --error 1e-6 --out "
             "ids.lethe"},
            {"A filter of a given shape, as a paper has it",
             "lethe filter build --bits 6250 --hashes 5 --out paper.lethe ids.txt"},
            {0}},
    .exit_done = "the filter was written",
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run,
};

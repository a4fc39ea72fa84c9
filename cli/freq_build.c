/* freq_build.c - `lethe freq build`: lines become a sketch. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "freq_file.h"
#include "freq_input.h"
#include "human.h"
#include "interrupt.h"
#include "message.h"
#include "progress.h"

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

/* The size is told in one of three ways. */
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
        return arguments_fail(arguments, "--delta needs --epsilon beside it");
    }
    if (options->depth != 0 && options->epsilon != 0) {
        return arguments_fail(arguments, "--depth follows from --delta; give one of them");
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
    bool can_have_ds =
        options->kind == LETHE_SKETCH_CONSERVATIVE || options->kind == LETHE_SKETCH_FID;
    if (options->removal > LETHE_SKETCH_REMOVAL_NONE && !can_have_ds) {
        return arguments_fail(arguments, "--removal is for the kinds cu and fid; %s %s", name,
                              is_log ? "cannot remove" : "removes without it");
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
        code = arguments_fail(arguments, "--out S is missing, the file to write");
    }
    return code;
}

static int make_sketch(const lethe_sketch_options *options, lethe_sketch **out) {
    *out = NULL;
    lethe_sketch_shape shape;
    if (lethe_sketch_plan(options, &shape) != LETHE_OK) {
        if (options->memory_bytes != 0) {
            struct human_text size;
            return message_fail(EXIT_USAGE,
                                "%s is too little for such a sketch; give a larger --memory",
                                human_bytes(options->memory_bytes, &size));
        }
        return message_fail(EXIT_USAGE,
                            "such a sketch would have more than %" PRIu64 " counters or rows wider "
                            "than %" PRIu64 "; allow a larger --epsilon or a smaller --width",
                            LETHE_SKETCH_MAX_COUNTERS, LETHE_SKETCH_MAX_WIDTH);
    }
    if (lethe_sketch_new(options, out) == LETHE_OK) return EXIT_DONE;
    struct human_text size;
    return message_fail(EXIT_ENVIRONMENT,
                        "not enough memory for a sketch of %s; ask for a smaller one with --memory",
                        human_bytes(shape.memory_bytes, &size));
}

static int fail_add(lethe_status status, const struct inputs *inputs,
                    const struct freq_batch *batch) {
    if (status == LETHE_ENOMEM) {
        return message_fail(
            EXIT_ENVIRONMENT,
            "not enough memory for the most frequent keys; ask for a smaller --top");
    }
    size_t at = 0;
    while (at < batch->count && batch->keys[at].size <= LETHE_SKETCH_MAX_KEY_BYTES)
        at++;
    struct freq_place place;
    return message_fail(EXIT_BAD_DATA,
                        "%s: a key of more than %d bytes cannot be listed; leave out --top or "
                        "choose another --field",
                        freq_line_name(inputs, batch->first_line + at, &place),
                        LETHE_SKETCH_MAX_KEY_BYTES);
}

/* Adds every line of the inputs. Stops early, without an error, when a signal asks to. */
static int add_lines(const struct inputs *inputs, const struct freq_fields *fields,
                     lethe_sketch *sketch, bool quiet) {
    struct line_reader *reader;
    int code = lines_open(inputs, &reader);
    if (code != EXIT_DONE) return code;
    struct progress progress;
    progress_begin(&progress, !quiet, "lines", inputs->bytes);
    struct freq_batch batch;
    while ((code = freq_next(reader, inputs, fields, &batch)) == EXIT_DONE && batch.count > 0) {
        lethe_status status = lethe_sketch_add_keys(
            sketch, batch.keys, batch.weighted ? batch.weights : NULL, batch.count);
        if (status != LETHE_OK) {
            code = fail_add(status, inputs, &batch);
            break;
        }
        progress_update(&progress, lines_delivered(reader), lines_bytes(reader));
    }
    progress_end(&progress);
    lines_free(reader);
    return code;
}

static int run(const struct arguments *arguments) {
    lethe_sketch_options options = {0};
    struct freq_fields fields;
    int code = read_options(arguments, &options);
    if (code == EXIT_DONE) code = freq_read_fields(arguments, &fields);
    if (code != EXIT_DONE) return code;
    struct inputs inputs;
    code = inputs_look(arguments->operands, arguments->operand_count, &inputs);
    if (code != EXIT_DONE) return code;
    const char *out = arguments_text(arguments, "out");
    code = freq_check_output(out);
    if (code == EXIT_DONE && inputs_include(&inputs, out)) {
        code = message_fail(EXIT_USAGE, "--out %s is one of the files to read; choose another name",
                            out);
    }
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    bool quiet = arguments_has(arguments, "quiet");
    lethe_sketch *sketch;
    code = make_sketch(&options, &sketch);
    if (code == EXIT_DONE) code = add_lines(&inputs, &fields, sketch, quiet);
    if (code == EXIT_DONE && interrupt_requested()) code = interrupt_fail(out);
    if (code == EXIT_DONE) code = freq_save(sketch, out);
    if (code == EXIT_DONE) freq_report(out, sketch, arguments_has(arguments, "json"), quiet);
    lethe_sketch_free(sketch);
    return code;
}

const struct command command_freq_build = {
    .path = "freq build",
    .summary = "count lines into a sketch",
    .synopses =
        (const char *const[]){
            "[--kind KIND] [--width W [--is-width W2]] [--depth D] [--top N] --out S [FILE...]",
            "[--kind KIND] --memory SIZE [--depth D] [--top N] --out S [FILE...]",
            "[--kind KIND] --epsilon E [--delta D] [--top N] --out S [FILE...]", NULL},
    .description =
        (const char *const[]){
            "Adds every line of the files, or of standard input, to a new sketch and writes it to "
            "`S`. If `S` exists it is replaced as a whole, once all lines are added and the new "
            "sketch is safely on disk; if anything fails before, or the command is interrupted, it "
            "stays as it was.",
            "The size of a sketch is fixed when it is made: `--depth` rows of `--width` counters; "
            "or "
            "as many counters as fit into `--memory`; or as many as an error needs. An estimate "
            "exceeds the truth by at most `--epsilon` times the total of all weights, except with "
            "probability `--delta`. (Of kind `count` it is off to either side by at most epsilon "
            "times the root of the sum of the squared frequencies.) Without any of them, 4 rows of "
            "65,536 counters: 1 MiB, of kind `fid` 12 MiB.",
            "A counter that is full stays so, and never wraps; a warning tells how many there are.",
            NULL},
    .options =
        (const struct option[]){
            {.name = "kind",
             .value = "KIND",
             .choices = FREQ_KINDS,
             .help = "`cm` Count-Min, `cu` conservative update, `count` Count-sketch, `cml` "
                     "Count-Min-Log, `fid` FID-sketch; default `cm`"},
            {.name = "width", .value = "W", .help = "counters in a row; default 65536"},
            {.name = "depth", .value = "D", .help = "rows, 1 to 32; default 4, of kind `count` 5"},
            {.name = "is-width",
             .value = "W2",
             .help = "counters in a row of the IS part of kind `fid`; default 10 times W"},
            {.name = "memory", .value = "SIZE", .help = "of all counters together, such as 4MiB"},
            {.name = "epsilon",
             .value = "E",
             .help = "the error to allow, as a share of the total, such as 0.001"},
            {.name = "delta",
             .value = "D",
             .help = "the probability of a larger error; default 0.02"},
            {.name = "bits",
             .value = "B",
             .help = "of a counter: 8, 16, 32 or 64; default 32, of kind `cml` 16"},
            {.name = "removal",
             .value = "HOW",
             .choices = FREQ_REMOVALS,
             .help = "how kinds `cu` and `fid` can remove: `subtraction`, the default of `fid`; "
                     "`count-min`, with the same answers; or `none`, the default of `cu`"},
            FREQ_FIELD_OPTIONS,
            {.name = "top",
             .value = "N",
             .help = "keep the N most frequent keys beside, for `lethe freq top`"},
            {.name = "seed",
             .value = "S",
             .help = "key of the hash, decimal or 0x...; only sketches of one seed can be merged; "
                     "default the same for all"},
            {.name = "out",
             .value = "S",
             .help = "the file to write",
             .completion = COMPLETE_FILES},
            OPTION_JSON("print the summary as JSON on standard output"),
            OPTION_QUIET,
            {0}},
    .examples =
        (const struct example[]){
            {"The most frequent words of a text",
             "tr -cs '[:alpha:]' '\\n' < text | lethe freq build --top 100 --out words.lethe"},
            {"Bytes by address, from a log with tabs between its fields",
             "lethe freq build --field 1 --weight-field 5 --memory 4MiB --out bytes.lethe log"},
            {"A sketch of the FID paper",
             "lethe freq build --kind fid --width 30k --is-width 300k --out f.lethe items"},
            {0}},
    .exit_done = "the sketch was written",
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run,
};

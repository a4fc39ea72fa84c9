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

/* The options that only some kinds have, and the one here has not. */
static int check_build_options(const struct arguments *arguments, const struct filter_kind *kind) {
    for (const struct filter_kind *const *other = filter_kinds; *other != NULL; other++) {
        for (const char *const *name = (*other)->build_options; *name != NULL; name++) {
            bool has = false;
            for (const char *const *own = kind->build_options; *own != NULL; own++)
                has |= strcmp(*own, *name) == 0;
            if (!has && arguments_has(arguments, *name)) {
                return arguments_fail(arguments, "--%s is for --kind %s, not for %s", *name,
                                      (*other)->name, kind->name);
            }
        }
    }
    return EXIT_DONE;
}

/* Reads what every kind has, then what this one has; a zero stays where an option is not given. */
static int read_options(const struct arguments *arguments, const struct filter_kind **kind,
                        struct filter_settings *settings) {
    size_t place = 0;
    int code = arguments_choice(arguments, "kind", &place);
    if (code != EXIT_DONE) return code;
    *kind = filter_kinds[place];
    code = arguments_count(arguments, "capacity", 1, LETHE_BLOOM_MAX_CAPACITY, &settings->capacity);
    if (code == EXIT_DONE) {
        code = arguments_probability(arguments, "error", LETHE_BLOOM_MIN_ERROR,
                                     LETHE_BLOOM_MAX_ERROR, &settings->error);
    }
    if (code == EXIT_DONE) code = arguments_seed(arguments, "seed", &settings->seed);
    if (code == EXIT_DONE) code = check_build_options(arguments, *kind);
    if (code == EXIT_DONE) code = (*kind)->read_options(arguments, settings);
    if (code != EXIT_DONE) return code;
    settings->out = arguments_text(arguments, "out");
    if (settings->out == NULL) {
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
                         struct filter_settings *settings) {
    if (!inputs->all_regular) {
        return message_fail(EXIT_USAGE,
                            "how many lines will come from %s is not known; give --capacity N, "
                            "the most different lines to expect",
                            inputs_name(inputs->stream));
    }
    int code = line_count(inputs, quiet, &settings->capacity);
    if (code != EXIT_DONE) return code;
    if (interrupt_requested()) return interrupt_fail(out);
    if (settings->capacity == 0) settings->capacity = 1;
    if (settings->capacity <= LETHE_BLOOM_MAX_CAPACITY) return EXIT_DONE;
    return message_fail(EXIT_BAD_DATA,
                        "the files have %" PRIu64 " lines, more than a filter is planned for; "
                        "give --bits",
                        settings->capacity);
}

static int make_filter(const struct filter_kind *kind, const struct filter_settings *settings,
                       struct filter *out) {
    *out = (struct filter){0};
    uint64_t memory_bytes;
    if (kind->plan(settings, &memory_bytes) != LETHE_OK) {
        return message_fail(EXIT_USAGE,
                            "a %s filter for %" PRIu64 " lines at that error is too large; allow "
                            "a larger --error or a smaller --capacity",
                            kind->name, settings->capacity);
    }
    void *object;
    if (kind->make(settings, &object) == LETHE_OK) {
        *out = (struct filter){.kind = kind, .object = object};
        return EXIT_DONE;
    }
    struct human_text size;
    return message_fail(EXIT_ENVIRONMENT,
                        "not enough memory for a filter of %s; ask for a smaller --capacity or a "
                        "larger --error",
                        human_bytes(memory_bytes, &size));
}

static int add_batch(const struct filter *filter, uint64_t seed, const struct line_batch *batch) {
    lethe_hash hashes[LINES_PER_BATCH];
    lethe_hash_batch(seed, batch->lines, batch->count, hashes);
    lethe_status status = filter->kind->add_batch(filter->object, hashes, batch->count);
    if (status == LETHE_OK) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT,
                        "cannot add to the filter: %s; ask for a larger --capacity",
                        lethe_strerror(status));
}

/* Adds every line of the inputs. Stops early, without an error, when a signal asks to. */
static int add_lines(const struct inputs *inputs, const struct filter *filter, bool quiet) {
    struct line_reader *reader;
    int code = lines_open(inputs, &reader);
    if (code != EXIT_DONE) return code;
    uint64_t seed = filter->kind->seed(filter->object);
    struct progress progress;
    progress_begin(&progress, !quiet, "lines", inputs->bytes);
    struct line_batch batch;
    while ((code = lines_next(reader, &batch)) == EXIT_DONE && batch.count > 0) {
        code = add_batch(filter, seed, &batch);
        if (code != EXIT_DONE) break;
        progress_update(&progress, lines_delivered(reader), lines_bytes(reader));
    }
    progress_end(&progress);
    lines_free(reader);
    return code;
}

static int build(const struct inputs *inputs, const struct filter_kind *kind,
                 const struct filter_settings *settings, const char *out, bool json, bool quiet) {
    struct filter filter;
    int code = make_filter(kind, settings, &filter);
    if (filter.kind == NULL) return code;
    code = add_lines(inputs, &filter, quiet);
    if (code == EXIT_DONE && interrupt_requested()) code = interrupt_fail(out);
    if (code == EXIT_DONE) code = filter_save(&filter, out);
    if (code == EXIT_DONE) filter_report(out, &filter, json, quiet);
    filter_free(&filter);
    return code;
}

static int run(const struct arguments *arguments) {
    const struct filter_kind *kind = NULL;
    struct filter_settings settings = {0};
    int code = read_options(arguments, &kind, &settings);
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
    if (settings.capacity == 0 && settings.bits == 0 && settings.slots == 0) {
        code = plan_capacity(&inputs, out, quiet, &settings);
    }
    if (code != EXIT_DONE) return code;
    return build(&inputs, kind, &settings, out, arguments_has(arguments, "json"), quiet);
}

const struct command command_filter_build = {
    .path = "filter build",
    .summary = "make a filter from lines",
    .synopses =
        (const char *const[]){
            "[--kind bloom|blocked|quotient|gaussian|cascade] [--capacity N] [--error E] [--seed "
            "S] "
            "--out F "
            "[FILE...]",
            "[--kind bloom|blocked] --bits M [--hashes K] [--seed S] --out F [FILE...]",
            "--kind gaussian [--slots M --hashes K] [--slot-bits T] [--seed S] --out F [FILE...]",
            NULL},
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
             .help =
                 "`bloom`, the classical filter, `blocked`, which is fastest, or `quotient`, "
                 "which is smallest at errors below 0.1% and can remove and count; default "
                 "`bloom`. `gaussian` is a Bloom filter whose slots say more; it errs less in the "
                 "same number of slots, though not in the same memory. `cascade` is a folder on "
                 "disk, "
                 "for more lines than memory holds; an F that exists is not replaced"},
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
            {.name = "slots",
             .value = "M",
             .help = "gaussian: the size in slots, instead of --capacity"},
            {.name = "hashes",
             .value = "K",
             .help = "with `--bits` or `--slots`: how many bits or slots a line sets, 1 to 64, "
                     "default 7; "
                     "blocked: 8, 16, 24 or 32, default 8"},
            {.name = "slot-bits",
             .value = "T",
             .help = "gaussian: the bits of a slot, 1 to 8, 32 or 64; default 4"},
            {.name = "spacing",
             .value = "HOW",
             .choices = "even|published",
             .help = "gaussian: how wide the marks of the hashes are, `even`, which errs least, or "
                     "`published`, as in the paper; default `even`"},
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

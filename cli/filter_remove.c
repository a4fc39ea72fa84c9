/* filter_remove.c - `lethe filter remove`: takes lines out of a filter again. */
#include <inttypes.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "filter_file.h"
#include "inputs.h"
#include "interrupt.h"
#include "lines.h"
#include "message.h"
#include "progress.h"

static int remove_batch(const struct filter *filter, uint64_t seed, const struct line_batch *batch,
                        uint64_t *missing) {
    lethe_hash hashes[LINES_PER_BATCH];
    uint8_t removed[LINES_PER_BATCH];
    lethe_hash_batch(seed, batch->lines, batch->count, hashes);
    lethe_status status = filter->kind->remove_batch(filter->object, hashes, batch->count, removed);
    if (status != LETHE_OK) {
        return message_fail(EXIT_ENVIRONMENT, "cannot remove from the filter: %s",
                            lethe_strerror(status));
    }
    for (size_t i = 0; i < batch->count; i++)
        *missing += !removed[i];
    return EXIT_DONE;
}

/* Removes every line of the inputs. Stops early, without an error, when a signal asks to. */
static int remove_lines(const struct inputs *inputs, const struct filter *filter, bool quiet,
                        uint64_t *missing) {
    struct line_reader *reader;
    int code = lines_open(inputs, &reader);
    if (code != EXIT_DONE) return code;
    uint64_t seed = filter->kind->seed(filter->object);
    struct progress progress;
    progress_begin(&progress, !quiet, "lines", inputs->bytes);
    struct line_batch batch;
    while ((code = lines_next(reader, &batch)) == EXIT_DONE && batch.count > 0) {
        code = remove_batch(filter, seed, &batch, missing);
        if (code != EXIT_DONE) break;
        progress_update(&progress, lines_delivered(reader), lines_bytes(reader));
    }
    progress_end(&progress);
    lines_free(reader);
    return code;
}

static int check_removable(const struct filter *filter, const char *path) {
    if (filter->kind->remove_batch != NULL) return EXIT_DONE;
    return message_fail(EXIT_BAD_DATA,
                        "%s is a %s filter, from which nothing can be removed; build it with "
                        "--kind quotient",
                        path, filter->kind->name);
}

static int run(const struct arguments *arguments) {
    struct inputs inputs;
    int code = inputs_look(arguments->operands + 1, arguments->operand_count - 1, &inputs);
    if (code != EXIT_DONE) return code;
    const char *path = arguments->operands[0], *out = arguments_text(arguments, "out");
    if (out == NULL) out = path;
    struct filter filter;
    code = filter_load(path, &filter);
    if (code != EXIT_DONE) return code;
    uint64_t missing = 0;
    bool quiet = arguments_has(arguments, "quiet");
    code = check_removable(&filter, path);
    bool in_place = filter.kind->is_folder && strcmp(out, path) == 0;
    if (code == EXIT_DONE && !in_place) code = filter_check_output(out);
    interrupt_begin();
    if (code == EXIT_DONE) code = remove_lines(&inputs, &filter, quiet, &missing);
    if (code == EXIT_DONE && interrupt_requested()) code = interrupt_fail(out);
    if (code == EXIT_DONE) code = filter_save(&filter, out);
    if (code == EXIT_DONE) filter_report(out, &filter, arguments_has(arguments, "json"), quiet);
    filter_free(&filter);
    if (code != EXIT_DONE || missing == 0) return code;
    message_warn("%" PRIu64 " line%s not in %s, and could not be removed", missing,
                 missing == 1 ? " was" : "s were", path);
    return EXIT_NEGATIVE;
}

const struct command command_filter_remove = {
    .path = "filter remove",
    .summary = "take lines out of a filter again",
    .synopses = (const char *const[]){"[--out F2] F [FILE...]", NULL},
    .description =
        (const char *const[]){
            "Removes every line of the files, or of standard input, from the filter `F`, once for "
            "each time that it comes, and replaces `F` as a whole. Only a filter of kind "
            "`quotient` can do that.",
            "Remove only lines that were added. One that the filter does not know is left out, and "
            "a warning tells how many there were. But one that was never added and is taken for "
            "present, as happens at the rate that `lethe filter info` shows as error now, takes "
            "away another line, which then may be called absent although it was added.",
            NULL},
    .options = (const struct option[]){{.name = "out",
                                        .value = "F2",
                                        .help = "the file to write, instead of `F`",
                                        .completion = COMPLETE_FILES},
                                       OPTION_JSON("print the summary as JSON on standard output"),
                                       OPTION_QUIET,
                                       {0}},
    .examples =
        (const struct example[]){
            {"Forget the users who left", "lethe filter remove users.lethe left.txt"}, {0}},
    .exit_done = "all lines were removed",
    .exit_negative = "some lines were not there; the others were removed",
    .operands_least = 1,
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run,
};

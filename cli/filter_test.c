/* filter_test.c - `lethe filter test`: which lines may be in a filter. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "arguments.h"
#include "commands.h"
#include "filter_file.h"
#include "inputs.h"
#include "lines.h"
#include "message.h"
#include "output.h"
#include "progress.h"

struct selection {
    uint8_t wanted; /* 1: lines that may be present, 0: lines that are absent */
    bool prints;
    uint64_t selected;
};

/* Prints the selected lines of a batch. Lines lie one behind the other, each with its newline,
 * so a run of selected ones is written as one piece. */
static int print_selected(const struct line_batch *batch, const uint8_t *present, uint8_t wanted) {
    size_t i = 0;
    while (i < batch->count) {
        if (present[i] != wanted) {
            i++;
            continue;
        }
        const char *from = batch->lines[i].data;
        while (i + 1 < batch->count && present[i + 1] == wanted) {
            i++;
        }
        const char *to = (const char *)batch->lines[i].data + batch->lines[i].size + 1;
        int code = output_write(from, (size_t)(to - from));
        if (code != EXIT_DONE) return code;
        i++;
    }
    return EXIT_DONE;
}

static int select_batch(const struct filter *filter, uint64_t seed, const struct line_batch *batch,
                        struct selection *selection) {
    lethe_hash hashes[LINES_PER_BATCH];
    uint8_t present[LINES_PER_BATCH];
    lethe_hash_batch(seed, batch->lines, batch->count, hashes);
    lethe_status status = filter->kind->test_batch(filter->object, hashes, batch->count, present);
    if (status != LETHE_OK) {
        return message_fail(EXIT_ENVIRONMENT, "cannot ask the filter: %s", lethe_strerror(status));
    }
    for (size_t i = 0; i < batch->count; i++) {
        selection->selected += present[i] == selection->wanted;
    }
    return selection->prints ? print_selected(batch, present, selection->wanted) : EXIT_DONE;
}

/* Somebody may be watching: before waiting for more input, show what is decided. */
static int flush_before_waiting(const struct line_reader *reader, const struct inputs *inputs) {
    if (inputs->all_regular || !lines_would_wait(reader)) return EXIT_DONE;
    return output_flush();
}

static int select_lines(const struct inputs *inputs, const struct filter *filter, bool quiet,
                        struct selection *selection) {
    struct line_reader *reader;
    int code = lines_open(inputs, &reader);
    if (code != EXIT_DONE) return code;
    struct progress progress;
    /* Lines printed to the same terminal would run into the progress line. */
    bool wanted = !quiet && !(selection->prints && isatty(STDOUT_FILENO));
    progress_begin(&progress, wanted, "lines", inputs->bytes);
    uint64_t seed = filter->kind->seed(filter->object);
    struct line_batch batch;
    while ((code = lines_next(reader, &batch)) == EXIT_DONE && batch.count > 0) {
        code = select_batch(filter, seed, &batch, selection);
        if (code == EXIT_DONE) code = flush_before_waiting(reader, inputs);
        if (code != EXIT_DONE) break;
        progress_update(&progress, lines_delivered(reader), lines_bytes(reader));
    }
    progress_end(&progress);
    lines_free(reader);
    return code;
}

static int run(const struct arguments *arguments) {
    struct inputs inputs;
    int code = inputs_look(arguments->operands + 1, arguments->operand_count - 1, &inputs);
    if (code != EXIT_DONE) return code;
    struct filter filter;
    code = filter_load(arguments->operands[0], &filter);
    if (code != EXIT_DONE) return code;
    bool counts = arguments_has(arguments, "count");
    struct selection selection = {.wanted = !arguments_has(arguments, "invert"), .prints = !counts};
    code = select_lines(&inputs, &filter, arguments_has(arguments, "quiet"), &selection);
    filter_free(&filter);
    if (code != EXIT_DONE) return code;
    if (counts) printf("%" PRIu64 "\n", selection.selected);
    return selection.selected > 0 ? EXIT_DONE : EXIT_NEGATIVE;
}

const struct command command_filter_test = {
    .path = "filter test",
    .summary = "print the lines that may be in a filter",
    .synopses = (const char *const[]){"[--invert] [--count] F [FILE...]", NULL},
    .description =
        (const char *const[]){
            "Prints those lines of the files, or of standard input, that may be in the filter "
            "`F`, in their order. Every line that was added is printed, and of the others about "
            "the share that `lethe filter info` shows as error now. With `--invert`, prints the "
            "other lines: those that surely were never added.",
            "A line that ends its file without a newline is printed with one.", NULL},
    .options =
        (const struct option[]){
            {.name = "invert", .help = "print the lines that are surely absent"},
            {.name = "count", .help = "print only how many lines there are to print"},
            OPTION_QUIET,
            {0}},
    .examples = (const struct example[]){{"Lines of today that were never seen before",
                                          "lethe filter test --invert seen.lethe today.txt"},
                                         {"Is this one known? (The exit status tells.)",
                                          "echo user-42 | lethe filter test --count known.lethe"},
                                         {0}},
    .exit_done = "at least one line was printed or counted",
    .exit_negative = "no line was",
    .operands_least = 1,
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run,
};

/* test.c - `lethe filter test`: which lines may be in a filter. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "filter/file.h"
#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/operands.h"
#include "input/inputs.h"
#include "input/lines.h"
#include "output/output.h"
#include "say/message.h"

struct selection {
    const struct filter *filter;
    /* 1: lines that may be present, 0: lines that are absent. */
    uint8_t wanted;
    bool prints;
    uint64_t selected;
};

/* Prints the selected lines of a batch, each run of them as one piece. */
static int print_selected(const struct line_batch *batch, const uint8_t *present, uint8_t wanted) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < batch->count && code == EXIT_DONE; i++) {
        if (present[i] != wanted) continue;
        size_t first = i;
        while (i < batch->count && present[i] == wanted)
            i++;
        code =
            output_write(batch->lines[first].data, line_text_size(batch->lines + first, i - first));
    }
    return code;
}

/* A line_visit. */
static int select_batch(void *context, struct line_reader *reader, const struct line_batch *batch) {
    struct selection *selection = context;
    const struct filter *filter = selection->filter;
    lethe_hash hashes[LINES_PER_BATCH];
    uint8_t present[LINES_PER_BATCH];
    lethe_hash_batch(filter_seed(filter), batch->lines, batch->count, hashes);
    lethe_status status =
        filter->kind->structure->test(filter->object, hashes, batch->count, 0, present);
    if (status != LETHE_OK) {
        return message_fail(EXIT_ENVIRONMENT, "cannot query the filter: %s",
                            lethe_strerror(status));
    }
    for (size_t i = 0; i < batch->count; i++) {
        selection->selected += present[i] == selection->wanted;
    }
    if (!selection->prints) return EXIT_DONE;
    int code = print_selected(batch, present, selection->wanted);
    /* Somebody may be watching: before waiting for more input, show what is decided. */
    if (code == EXIT_DONE && lines_would_wait(reader)) code = output_flush();
    return code;
}

int run_filter_test(const struct arguments *arguments) {
    struct inputs inputs;
    int code = operands_look(arguments, 1, &inputs);
    if (code != EXIT_DONE) return code;
    struct filter filter;
    code = filter_load(arguments->operands[0], &filter);
    if (code != EXIT_DONE) return code;
    bool counts = arguments_has(arguments, "count");
    struct selection selection = {
        .filter = &filter, .wanted = !arguments_has(arguments, "invert"), .prints = !counts};
    /* Lines printed to the same terminal would run into the progress line. */
    bool shows = !arguments_has(arguments, "quiet") && !(!counts && isatty(STDOUT_FILENO));
    code = lines_each(&inputs, shows, select_batch, &selection);
    filter_free(&filter);
    if (code != EXIT_DONE) return code;
    if (counts) printf("%" PRIu64 "\n", selection.selected);
    return selection.selected > 0 ? EXIT_DONE : EXIT_NEGATIVE;
}

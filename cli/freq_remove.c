/* freq_remove.c - `lethe freq remove`: takes lines out of a sketch again. */
#include <inttypes.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "freq_file.h"
#include "freq_input.h"
#include "interrupt.h"
#include "message.h"
#include "progress.h"

enum { SHOWN_BYTES = 40 };

/* Says why a sketch of this shape removes nothing. */
static int fail_kind(const char *path, const lethe_sketch_shape *shape) {
    if (shape->kind == LETHE_SKETCH_LOG) {
        return message_fail(EXIT_BAD_DATA,
                            "%s is of kind cml, which cannot remove; build it again with another "
                            "--kind",
                            path);
    }
    return message_fail(EXIT_BAD_DATA,
                        "%s was made without a way to remove; build it again with --removal "
                        "subtraction",
                        path);
}

static int fail_refused(const struct inputs *inputs, const struct freq_batch *batch, size_t at,
                        const lethe_sketch *sketch, const char *path) {
    struct freq_place place;
    lethe_bytes key = batch->keys[at];
    return message_fail(EXIT_BAD_DATA,
                        "%s: '%.*s' cannot be removed %" PRIu64
                        " times, it was added at most %" PRIu64 " times; %s is left as it was",
                        freq_line_name(inputs, batch->first_line + at, &place),
                        (int)(key.size < SHOWN_BYTES ? key.size : SHOWN_BYTES),
                        (const char *)key.data, batch->weighted ? batch->weights[at] : 1,
                        lethe_sketch_query(sketch, key.data, key.size).count, path);
}

static int remove_batch(const struct inputs *inputs, const struct freq_batch *batch,
                        lethe_sketch *sketch, const char *path) {
    uint8_t removed[LINES_PER_BATCH];
    lethe_status status = lethe_sketch_remove_keys(
        sketch, batch->keys, batch->weighted ? batch->weights : NULL, batch->count, removed);
    if (status != LETHE_OK) {
        lethe_sketch_shape shape = lethe_sketch_get_shape(sketch);
        bool is_open = shape.kind == LETHE_SKETCH_COUNT_MIN || shape.kind == LETHE_SKETCH_COUNT ||
                       shape.removal > LETHE_SKETCH_REMOVAL_NONE;
        if (!is_open) return fail_kind(path, &shape);
        return message_fail(EXIT_BAD_DATA,
                            "a key of more than %d bytes is in no list of the most frequent ones; "
                            "%s is left as it was",
                            LETHE_SKETCH_MAX_KEY_BYTES, path);
    }
    const uint8_t *refused = memchr(removed, 0, batch->count);
    if (refused == NULL) return EXIT_DONE;
    return fail_refused(inputs, batch, (size_t)(refused - removed), sketch, path);
}

static int remove_lines(const struct inputs *inputs, const struct freq_fields *fields,
                        lethe_sketch *sketch, const char *path, bool quiet) {
    struct line_reader *reader;
    int code = lines_open(inputs, &reader);
    if (code != EXIT_DONE) return code;
    struct progress progress;
    progress_begin(&progress, !quiet, "lines", inputs->bytes);
    struct freq_batch batch;
    while ((code = freq_next(reader, inputs, fields, &batch)) == EXIT_DONE && batch.count > 0) {
        code = remove_batch(inputs, &batch, sketch, path);
        if (code != EXIT_DONE) break;
        progress_update(&progress, lines_delivered(reader), lines_bytes(reader));
    }
    progress_end(&progress);
    lines_free(reader);
    return code;
}

static int run(const struct arguments *arguments) {
    struct freq_fields fields;
    int code = freq_read_fields(arguments, &fields);
    if (code != EXIT_DONE) return code;
    struct inputs inputs;
    code = inputs_look(arguments->operands + 1, arguments->operand_count - 1, &inputs);
    if (code != EXIT_DONE) return code;
    const char *path = arguments->operands[0];
    const char *out = arguments_text(arguments, "out");
    if (out == NULL) out = path;
    lethe_sketch *sketch;
    code = freq_load(path, &sketch);
    if (code != EXIT_DONE) return code;
    code = freq_check_output(out);
    interrupt_begin();
    bool quiet = arguments_has(arguments, "quiet");
    if (code == EXIT_DONE) code = remove_lines(&inputs, &fields, sketch, path, quiet);
    if (code == EXIT_DONE && interrupt_requested()) code = interrupt_fail(out);
    if (code == EXIT_DONE) code = freq_save(sketch, out);
    if (code == EXIT_DONE) freq_report(out, sketch, arguments_has(arguments, "json"), quiet);
    lethe_sketch_free(sketch);
    return code;
}

const struct command command_freq_remove = {
    .path = "freq remove",
    .summary = "take lines out of a sketch again",
    .synopses =
        (const char *const[]){"[--field N] [--weight-field M] [--out S2] S [FILE...]", NULL},
    .description =
        (const char *const[]){
            "Removes every line of the files, or of standard input, from the sketch `S`, and "
            "replaces it, all lines or none. They must be lines that were added. One that the "
            "sketch "
            "knows cannot have been added so often ends the command, and `S` stays as it was; but "
            "a "
            "sketch does not notice every such line, and then estimates of other lines may become "
            "too low.",
            "The kinds `cm` and `count` can always remove, `fid` unless made with `--removal "
            "none`, "
            "`cu` if made with `--removal`, and `cml` cannot.",
            NULL},
    .options = (const struct option[]){FREQ_FIELD_OPTIONS,
                                       {.name = "out",
                                        .value = "S2",
                                        .help = "write the result here and leave `S` as it is",
                                        .completion = COMPLETE_FILES},
                                       OPTION_JSON("print the summary as JSON on standard output"),
                                       OPTION_QUIET,
                                       {0}},
    .examples = (const struct example[]){{"Let yesterday's lines go, of a window of days",
                                          "lethe freq remove days.lethe yesterday.txt"},
                                         {0}},
    .exit_done = "the sketch was written",
    .operands_least = 1,
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run,
};

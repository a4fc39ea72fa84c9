/* freq_export.c - `lethe freq export`: what answers queries, alone. */
#include <inttypes.h>

#include "arguments.h"
#include "commands.h"
#include "freq_file.h"
#include "human.h"
#include "interrupt.h"
#include "message.h"

static int run(const struct arguments *arguments) {
    const char *out = arguments_text(arguments, "out");
    if (out == NULL) return arguments_fail(arguments, "--out Q is missing, the file to write");
    int code = freq_check_output(out);
    lethe_sketch *sketch = NULL;
    if (code == EXIT_DONE) code = freq_load_to_query(arguments->operands[0], &sketch);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    code = freq_export_to(sketch, out);
    lethe_sketch_stats stats = lethe_sketch_info(sketch);
    lethe_sketch_free(sketch);
    if (code != EXIT_DONE) return code;
    if (arguments_has(arguments, "json")) {
        stats.query_only = true;
        freq_print_json(out, &stats);
    } else if (!arguments_has(arguments, "quiet")) {
        struct human_text part, whole;
        message_note("%s: %s that answer queries, of %s", out,
                     human_bytes(stats.shape.query_memory_bytes, &part),
                     human_bytes(stats.shape.memory_bytes, &whole));
    }
    return EXIT_DONE;
}

const struct command command_freq_export = {
    .path = "freq export",
    .summary = "write only what answers queries",
    .synopses = (const char *const[]){"--out Q S", NULL},
    .description =
        (const char *const[]){
            "Writes to `Q` the part of the sketch `S` that answers queries: of kind `fid` a "
            "twelfth "
            "of the whole, at its default sizes; of kind `cu` with `--removal` half. `lethe freq "
            "query` and `lethe freq info` read it as they read a sketch, with the same answers; it "
            "cannot be added to, merged or removed from. Export again after adding, and replace "
            "`Q`.",
            NULL},
    .options =
        (const struct option[]){{.name = "out",
                                 .value = "Q",
                                 .help = "the file to write",
                                 .completion = COMPLETE_FILES},
                                OPTION_JSON("print a description as JSON on standard output"),
                                OPTION_QUIET,
                                {0}},
    .examples = (const struct example[]){{"Give readers the small part of a large sketch",
                                          "lethe freq export --out answers.lethe sketch.lethe"},
                                         {0}},
    .exit_done = "the export was written",
    .operands_least = 1,
    .operands_most = 1,
    .operands = COMPLETE_FILES,
    .run = run,
};

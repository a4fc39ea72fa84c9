/* freq_info.c - `lethe freq info`: what a sketch is and how far it errs. */
#include "arguments.h"
#include "commands.h"
#include "exit_code.h"
#include "freq_file.h"

static int run(const struct arguments *arguments) {
    const char *path = arguments->operands[0];
    lethe_sketch *sketch;
    int code = freq_load_to_query(path, &sketch);
    if (code != EXIT_DONE) return code;
    lethe_sketch_stats stats = lethe_sketch_info(sketch);
    lethe_sketch_free(sketch);
    if (arguments_has(arguments, "json")) {
        freq_print_json(path, &stats);
    } else {
        freq_print_text(path, &stats);
    }
    return EXIT_DONE;
}

const struct command command_freq_info = {
    .path = "freq info",
    .summary = "describe a sketch and tell how far it errs",
    .synopses = (const char *const[]){"[--json] S", NULL},
    .description =
        (const char *const[]){
            "Reads the sketch or export `S`, checks it, and prints its kind, sizes and seed, the "
            "total of all weights added less those removed, how many counters are used and full, "
            "and by how much an estimate may be off.",
            "The JSON object has the members file, type (sketch or export), kind, width, depth, "
            "is_width, counter_bits, removal, seed (a string), epsilon, delta, total, "
            "counters_used, "
            "counters_full, error_above, error_below, relative_error, top, top_listed, "
            "memory_bytes, "
            "query_memory_bytes and file_bytes. With probability 1 - delta the truth lies between "
            "the estimate less error_above and the estimate plus error_below; in a sketch of kind "
            "`cml`, that and about relative_error of the estimate to both sides.",
            NULL},
    .options = (const struct option[]){OPTION_JSON("print one JSON object instead"), {0}},
    .examples = (const struct example[]){{"The error as it is now, for a script",
                                          "lethe freq info --json words.lethe | jq .error_above"},
                                         {0}},
    .exit_done = "the sketch is sound",
    .operands_least = 1,
    .operands_most = 1,
    .operands = COMPLETE_FILES,
    .run = run,
};

/* filter_info.c - `lethe filter info`: what a filter is and how full. */
#include "arguments.h"
#include "commands.h"
#include "exit_code.h"
#include "filter_file.h"

static int run(const struct arguments *arguments) {
    const char *path = arguments->operands[0];
    struct filter filter;
    int code = filter_load(path, &filter);
    if (code != EXIT_DONE) return code;
    struct filter_facts facts;
    filter.kind->describe(filter.object, &facts);
    filter_free(&filter);
    if (arguments_has(arguments, "json")) {
        filter_print_json(path, &facts);
    } else {
        filter_print_text(path, &facts);
    }
    return EXIT_DONE;
}

const struct command command_filter_info = {
    .path = "filter info",
    .summary = "describe a filter and tell how full it is",
    .synopses = (const char *const[]){"[--json] F", NULL},
    .description =
        (const char *const[]){
            "Reads the filter `F`, checks it, and prints its kind, size and seed, what it "
            "was planned for, and how it stands now: lines added, about how many of them "
            "different, the share of bits set, and the probability that an absent line would be "
            "called present.",
            "The JSON object has the members file, kind, bits, hashes, seed (a string), capacity, "
            "planned_error, additions, distinct_estimate, fill, error_now, memory_bytes and "
            "file_bytes. capacity and planned_error are null in a filter made with `--bits`, and "
            "distinct_estimate in one whose bits are all set. In a file name, bytes that are not "
            "UTF-8 are replaced by U+FFFD.",
            NULL},
    .options = (const struct option[]){OPTION_JSON("print one JSON object instead"), {0}},
    .examples = (const struct example[]){{"The error as it is now, for a script",
                                          "lethe filter info --json known.lethe | jq .error_now"},
                                         {0}},
    .exit_done = "the filter is sound",
    .operands_least = 1,
    .operands_most = 1,
    .operands = COMPLETE_FILES,
    .run = run,
};

/* top.c - `lethe top`: the largest counters. */
#include "commands.h"
#include "counters.h"
#include "message.h"

struct listing {
    bool json;
    int code;
};

static bool print_one(void *context, lethe_bytes key, int64_t value) {
    struct listing *listing = context;
    listing->code = store_print(key, value, listing->json);
    return listing->code == EXIT_DONE;
}

static int run(const struct arguments *arguments) {
    struct listing listing = {.json = arguments_has(arguments, "json")};
    uint64_t number = 20;
    struct counters counters;
    int code = counters_check(arguments);
    if (code == EXIT_DONE) code = arguments_count(arguments, "number", 1, 10000000, &number);
    if (code == EXIT_DONE) code = counters_open(arguments, false, &counters);
    if (code != EXIT_DONE) return code;
    code = counters_top(&counters, (size_t)number, print_one, &listing);
    if (listing.code != EXIT_DONE) code = listing.code;
    return counters_close(&counters, code);
}

const struct command command_top = {
    .path = "top",
    .summary = "print the largest counters",
    .synopses = (const char *const[]){"--db DIR [-n N] [--json]",
                                      "--redis URL --table T [-n N] [--json]", NULL},
    .description =
        (const char *const[]){
            "Prints the counters with the largest values, the largest first, each as its key, a "
            "tab and its value. Of equal ones the first in the order of their bytes is first. "
            "Of a table with several partitions all counters are fetched for that.",
            "Of a store that keeps a sketch, the keys that it lists: as many as `lethe count "
            "--top` "
            "said, with their estimates.",
            NULL},
    .options =
        (const struct option[]){
            OPTION_DB("the folder of the counters"),
            OPTION_REDIS,
            OPTION_TABLE,
            {.name = "number", .value = "N", .letter = 'n', .help = "how many; default 20"},
            OPTION_JSON("print an object with key and value a line"),
            {0}},
    .examples =
        (const struct example[]){
            {"The ten pages with the most clicks", "lethe top --db clicks -n 10"}, {0}},
    .exit_done = "done, also when there is none",
    .run = run,
};

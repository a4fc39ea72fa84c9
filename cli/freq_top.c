/* freq_top.c - `lethe freq top`: the most frequent keys. */
#include <stdlib.h>

#include "arguments.h"
#include "commands.h"
#include "freq_file.h"
#include "message.h"

enum { DEFAULT_COUNT = 20 };

/* What was seen added is certain; from above, the estimate is, or that and the error. */
static struct freq_bounds bounds_of(const lethe_sketch_stats *stats,
                                    const lethe_sketch_top_entry *entry, bool saturated) {
    lethe_sketch_answer answer = {.count = entry->count, .saturated = saturated};
    struct freq_bounds bounds = freq_bounds_of(stats, answer);
    if (entry->at_least > bounds.least) bounds.least = entry->at_least;
    return bounds;
}

static int print_top(const lethe_sketch *sketch, const lethe_sketch_top_entry *entries,
                     size_t count, bool with_bounds, bool json) {
    lethe_sketch_stats stats = lethe_sketch_info(sketch);
    int code = EXIT_DONE;
    for (size_t i = 0; i < count && code == EXIT_DONE; i++) {
        bool saturated = lethe_sketch_query(sketch, entries[i].key, entries[i].size).saturated;
        struct freq_bounds bounds = bounds_of(&stats, &entries[i], saturated);
        lethe_bytes key = {.data = entries[i].key, .size = entries[i].size};
        lethe_sketch_answer answer = {.count = entries[i].count, .saturated = saturated};
        code = freq_print_key(key, answer, with_bounds ? &bounds : NULL, json);
    }
    return code;
}

static int run(const struct arguments *arguments) {
    uint64_t count = DEFAULT_COUNT;
    int code = arguments_count(arguments, "number", 1, LETHE_SKETCH_MAX_TOP, &count);
    lethe_sketch *sketch = NULL;
    if (code == EXIT_DONE) code = freq_load(arguments->operands[0], &sketch);
    if (code != EXIT_DONE) return code;
    lethe_sketch_top_entry *entries = calloc(count, sizeof *entries);
    size_t listed = 0;
    lethe_status status =
        entries != NULL ? lethe_sketch_top(sketch, entries, count, &listed) : LETHE_ENOMEM;
    if (status == LETHE_EINVAL) {
        code = message_fail(EXIT_BAD_DATA,
                            "%s keeps no list of its most frequent keys; build it again with --top",
                            arguments->operands[0]);
    } else if (status != LETHE_OK) {
        code = message_fail(EXIT_ENVIRONMENT, "not enough memory for the list; free some");
    } else {
        code = print_top(sketch, entries, listed, arguments_has(arguments, "bounds"),
                         arguments_has(arguments, "json"));
        if (code == EXIT_DONE && listed == 0) code = EXIT_NEGATIVE;
    }
    free(entries);
    lethe_sketch_free(sketch);
    return code;
}

const struct command command_freq_top = {
    .path = "freq top",
    .summary = "list the most frequent keys of a sketch",
    .synopses = (const char *const[]){"[-n N] [--bounds] [--json] S", NULL},
    .description =
        (const char *const[]){
            "Prints the most frequent keys of the sketch `S`, which was built with `--top`, as "
            "many "
            "as it was asked to keep at most: each with a tab and its estimate, by falling "
            "estimate. "
            "A key whose frequency exceeds that of the others by more than the error is surely "
            "listed, unless keys were removed: then it may be missing until it is added again. In "
            "a "
            "sketch of kind `count` or `cml`, probably.",
            "With `--bounds`, two more fields: between what the truth lies. With `--json`, an "
            "object "
            "a line, as of `lethe freq query`.",
            NULL},
    .options =
        (const struct option[]){
            {.name = "number", .letter = 'n', .value = "N", .help = "list N keys; default 20"},
            {.name = "bounds", .help = "print between what the truth lies"},
            OPTION_JSON("print one JSON object a key instead"),
            {0}},
    .examples =
        (const struct example[]){
            {"The ten most frequent words", "lethe freq top -n 10 words.lethe"}, {0}},
    .exit_done = "at least one key is listed",
    .exit_negative = "the sketch is empty",
    .operands_least = 1,
    .operands_most = 1,
    .operands = COMPLETE_FILES,
    .run = run,
};

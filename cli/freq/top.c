/* top.c - `lethe freq top`: the most frequent keys. */
#include <stdlib.h>

#include "frame/arguments.h"
#include "frame/commands.h"
#include "freq/file.h"
#include "say/message.h"

enum { DEFAULT_COUNT = 20 };

/* What was seen added is certain; from above, the estimate is, or that and the error. */
static struct freq_bounds bounds_of(const lethe_sketch_stats *stats,
                                    const lethe_sketch_top_entry *entry, bool saturated) {
    struct freq_answer answer = {.count = entry->count, .saturated = saturated};
    struct freq_bounds bounds = freq_bounds_of(stats, answer);
    if (entry->at_least > bounds.least) bounds.least = entry->at_least;
    return bounds;
}

static int print_top(const lethe_sketch *sketch, const lethe_sketch_top_entry *entries,
                     size_t count, bool with_bounds, bool json) {
    lethe_sketch_stats stats = freq_facts_of(sketch).stats;
    int code = EXIT_DONE;
    for (size_t i = 0; i < count && code == EXIT_DONE; i++) {
        lethe_bytes key = entries[i].key;
        bool saturated;
        (void)lethe_sketch_count(sketch, key.data, key.size, &saturated);
        struct freq_bounds bounds = bounds_of(&stats, &entries[i], saturated);
        struct freq_answer answer = {.count = entries[i].count, .saturated = saturated};
        code = freq_print_key(key, answer, with_bounds ? &bounds : NULL, json);
    }
    return code;
}

int run_freq_top(const struct arguments *arguments) {
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
        code = message_fail_memory();
    } else {
        code = print_top(sketch, entries, listed, arguments_has(arguments, "bounds"),
                         arguments_has(arguments, "json"));
        if (code == EXIT_DONE && listed == 0) code = EXIT_NEGATIVE;
    }
    free(entries);
    lethe_sketch_free(sketch);
    return code;
}

/* query.c - `lethe freq query`: how often were these keys added? */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frame/arguments.h"
#include "frame/commands.h"
#include "freq/file.h"
#include "input/inputs.h"
#include "input/lines.h"
#include "output/output.h"
#include "say/message.h"

struct asking {
    const lethe_sketch *sketch;
    lethe_sketch_stats stats;
    bool bounds, json;
    uint64_t found, saturated;
};

/* Prints what is known of some keys, at most LINES_PER_BATCH. */
static int answer(struct asking *asking, const lethe_bytes *keys, size_t count) {
    lethe_hash hashes[LINES_PER_BATCH];
    uint64_t counts[LINES_PER_BATCH];
    uint8_t saturated[LINES_PER_BATCH];
    lethe_hash_batch(lethe_sketch_seed(asking->sketch), keys, count, hashes);
    (void)lethe_sketch_count_batch(asking->sketch, hashes, count, counts, saturated);
    int code = EXIT_DONE;
    for (size_t i = 0; i < count && code == EXIT_DONE; i++) {
        struct freq_answer one = {.count = counts[i], .saturated = saturated[i] != 0};
        struct freq_bounds bounds = freq_bounds_of(&asking->stats, one);
        asking->found += one.count > 0;
        asking->saturated += one.saturated;
        code = freq_print_key(keys[i], one, asking->bounds ? &bounds : NULL, asking->json);
    }
    return code;
}

static int answer_operands(struct asking *asking, char *const *words, size_t count) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < count && code == EXIT_DONE; i++) {
        lethe_bytes key = {.data = words[i], .size = strlen(words[i])};
        code = answer(asking, &key, 1);
    }
    return code;
}

/* A line_visit. */
static int answer_lines(void *context, struct line_reader *reader, const struct line_batch *batch) {
    int code = answer(context, batch->lines, batch->count);
    /* Somebody may be watching: before waiting for more input, show what is known. */
    if (code == EXIT_DONE && lines_would_wait(reader)) code = output_flush();
    return code;
}

/* Asks for the operands after the sketch's name, and for the lines of file unless that is NULL. */
static int ask(const struct arguments *arguments, char *file) {
    struct inputs inputs = {0};
    int code = file != NULL ? inputs_look(&file, 1, &inputs) : EXIT_DONE;
    inputs.takes_binary = arguments_has(arguments, "binary");
    lethe_sketch *sketch = NULL;
    if (code == EXIT_DONE) code = freq_load_to_query(arguments->operands[0], &sketch);
    if (code != EXIT_DONE) return code;
    struct asking asking = {.sketch = sketch,
                            .stats = freq_facts_of(sketch).stats,
                            .bounds = arguments_has(arguments, "bounds"),
                            .json = arguments_has(arguments, "json")};
    code = answer_operands(&asking, arguments->operands + 1, arguments->operand_count - 1);
    if (code == EXIT_DONE && file != NULL) code = lines_each(&inputs, false, answer_lines, &asking);
    lethe_sketch_free(sketch);
    if (code != EXIT_DONE) return code;
    if (asking.saturated > 0) {
        message_warn("%" PRIu64 " of the estimates rest on a full counter: they are too low; build "
                     "%s again with a larger --bits",
                     asking.saturated, arguments->operands[0]);
    }
    return asking.found > 0 ? EXIT_DONE : EXIT_NEGATIVE;
}

int run_freq_query(const struct arguments *arguments) {
    const char *file = arguments_text(arguments, "keys");
    if (file == NULL && arguments->operand_count == 1) {
        return arguments_fail(arguments, "no key is given; name keys, or a file with --keys");
    }
    char *copy = file != NULL ? strdup(file) : NULL;
    if (file != NULL && copy == NULL) {
        return message_fail_memory();
    }
    int code = ask(arguments, copy);
    free(copy);
    return code;
}

/* freq_query.c - `lethe freq query`: how often were these keys added? */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "freq_file.h"
#include "inputs.h"
#include "lines.h"
#include "message.h"
#include "output.h"

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
    lethe_hash_batch(asking->stats.shape.seed, keys, count, hashes);
    lethe_sketch_query_batch(asking->sketch, hashes, count, counts, saturated);
    int code = EXIT_DONE;
    for (size_t i = 0; i < count && code == EXIT_DONE; i++) {
        lethe_sketch_answer one = {.count = counts[i], .saturated = saturated[i] != 0};
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

static int answer_lines(struct asking *asking, const struct inputs *inputs) {
    struct line_reader *reader;
    int code = lines_open(inputs, &reader);
    if (code != EXIT_DONE) return code;
    struct line_batch batch;
    while ((code = lines_next(reader, &batch)) == EXIT_DONE && batch.count > 0) {
        code = answer(asking, batch.lines, batch.count);
        /* Somebody may be watching: before waiting for more input, show what is known. */
        bool waits = code == EXIT_DONE && !inputs->all_regular && lines_would_wait(reader);
        if (waits) code = output_flush();
        if (code != EXIT_DONE) break;
    }
    lines_free(reader);
    return code;
}

/* Asks for the operands after the sketch's name, and for the lines of file unless that is NULL. */
static int ask(const struct arguments *arguments, char *file) {
    struct inputs inputs = {0};
    int code = file != NULL ? inputs_look(&file, 1, &inputs) : EXIT_DONE;
    lethe_sketch *sketch = NULL;
    if (code == EXIT_DONE) code = freq_load_to_query(arguments->operands[0], &sketch);
    if (code != EXIT_DONE) return code;
    struct asking asking = {.sketch = sketch,
                            .stats = lethe_sketch_info(sketch),
                            .bounds = arguments_has(arguments, "bounds"),
                            .json = arguments_has(arguments, "json")};
    code = answer_operands(&asking, arguments->operands + 1, arguments->operand_count - 1);
    if (code == EXIT_DONE && file != NULL) code = answer_lines(&asking, &inputs);
    lethe_sketch_free(sketch);
    if (code != EXIT_DONE) return code;
    if (asking.saturated > 0) {
        message_warn("%" PRIu64 " of the estimates rest on a full counter: they are too low; build "
                     "%s again with a larger --bits",
                     asking.saturated, arguments->operands[0]);
    }
    return asking.found > 0 ? EXIT_DONE : EXIT_NEGATIVE;
}

static int run(const struct arguments *arguments) {
    const char *file = arguments_text(arguments, "keys");
    if (file == NULL && arguments->operand_count == 1) {
        return arguments_fail(arguments, "no key is given; name some, or a file with --keys");
    }
    char *copy = file != NULL ? strdup(file) : NULL;
    if (file != NULL && copy == NULL) {
        return message_fail(EXIT_ENVIRONMENT, "out of memory for a name; free some");
    }
    int code = ask(arguments, copy);
    free(copy);
    return code;
}

const struct command command_freq_query = {
    .path = "freq query",
    .summary = "estimate how often keys were added",
    .synopses = (const char *const[]){"[--keys FILE] [--bounds] [--json] S [KEY...]", NULL},
    .description =
        (const char *const[]){
            "Prints each key, a tab, and the estimate of the sketch or export `S`: first of the "
            "keys "
            "on the command line, then of the lines of `FILE`, in their order. With `--bounds`, "
            "two "
            "more fields: between what the truth lies, except with the probability that `lethe "
            "freq info` shows as delta. The second is `-` where a full counter leaves it open.",
            "With `--json`, an object a line: key, estimate, with `--bounds` least and most, and "
            "saturated, 1 where the estimate rests on a full counter. A key that is not UTF-8 has "
            "its "
            "bytes in a second member, key_hex.",
            NULL},
    .options =
        (const struct option[]){{.name = "keys",
                                 .value = "FILE",
                                 .help = "a file with a key a line; `-` is standard input",
                                 .completion = COMPLETE_FILES},
                                {.name = "bounds", .help = "print between what the truth lies"},
                                OPTION_JSON("print one JSON object a key instead"),
                                {0}},
    .examples = (const struct example[]){{"How often does a word occur?",
                                          "lethe freq query words.lethe the of and"},
                                         {"Every key of a list, the most frequent first",
                                          "lethe freq query --keys list words.lethe | sort -t "
                                          "\"$(printf '\\t')\" -k 2 -rn"},
                                         {0}},
    .exit_done = "at least one estimate is not 0",
    .exit_negative = "all estimates are 0",
    .operands_least = 1,
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run,
};

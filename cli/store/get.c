/* get.c - `lethe get`: the values of counters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events/problem.h"
#include "frame/commands.h"
#include "input/inputs.h"
#include "input/lines.h"
#include "say/json.h"
#include "say/message.h"
#include "store/counters.h"

struct getting {
    struct counters counters;
    bool quiet, bounds;
    bool has_missing;
};

static int print_missing(struct getting *getting, lethe_bytes key) {
    getting->has_missing = true;
    if (getting->counters.printing.json) {
        struct json json = json_begin(stdout);
        json_bytes(&json, "key", key);
        json_null(&json, "value");
        json_end(&json);
    } else if (!getting->quiet) {
        struct event_excerpt excerpt;
        message_note("%s has no counter '%s'", getting->counters.name,
                     event_excerpt(key, &excerpt));
    }
    return EXIT_DONE;
}

/* Prints up to LINES_PER_BATCH estimates with their bounds. */
static int estimate_some(struct getting *getting, const lethe_bytes *keys, size_t count) {
    lethe_estimate estimates[LINES_PER_BATCH];
    int code = counters_estimate(&getting->counters, keys, count, estimates);
    for (size_t i = 0; i < count && code == EXIT_DONE; i++) {
        code = estimates[i].value > 0
                   ? store_print_estimate(getting->counters.printing, keys[i], estimates[i])
                   : print_missing(getting, keys[i]);
    }
    return code;
}

/* Prints up to LINES_PER_BATCH counters. */
static int get_some(struct getting *getting, const lethe_bytes *keys, size_t count) {
    if (getting->bounds) return estimate_some(getting, keys, count);
    int64_t values[LINES_PER_BATCH];
    bool found[LINES_PER_BATCH];
    int code = counters_get(&getting->counters, keys, count, values, found);
    for (size_t i = 0; i < count && code == EXIT_DONE; i++) {
        code = found[i] ? store_print(getting->counters.printing, keys[i], values[i])
                        : print_missing(getting, keys[i]);
    }
    return code;
}

static int get_operands(struct getting *getting, char *const *operands, size_t count) {
    lethe_bytes *keys;
    int code = store_read_keys(operands, count, &keys);
    for (size_t from = 0; from < count && code == EXIT_DONE; from += LINES_PER_BATCH) {
        size_t some = count - from < LINES_PER_BATCH ? count - from : LINES_PER_BATCH;
        code = get_some(getting, keys + from, some);
    }
    free(keys);
    return code;
}

/* Gets the keys of a file, one per line, escaped like those that are printed. */
static int get_lines(struct getting *getting, const struct inputs *inputs) {
    struct line_reader *reader;
    int code = lines_open(inputs, &reader);
    if (code != EXIT_DONE) return code;
    struct line_batch batch;
    char *room = NULL;
    while ((code = lines_next(reader, &batch)) == EXIT_DONE && batch.count > 0) {
        lethe_bytes keys[LINES_PER_BATCH];
        size_t size = 0;
        for (size_t i = 0; i < batch.count; i++) {
            size += batch.lines[i].size;
        }
        char *larger = realloc(room, size + 1);
        if (larger == NULL) {
            code = message_fail_memory();
            break;
        }
        room = larger;
        char *to = room;
        for (size_t i = 0; i < batch.count && code == EXIT_DONE; i++) {
            code = store_read_key(batch.lines[i], EXIT_BAD_DATA, to, &keys[i]);
            to += batch.lines[i].size;
        }
        if (code == EXIT_DONE) code = get_some(getting, keys, batch.count);
        if (code != EXIT_DONE) break;
    }
    free(room);
    lines_free(reader);
    return code;
}

int run_get(const struct arguments *arguments) {
    struct getting getting = {.quiet = arguments_has(arguments, "quiet"),
                              .bounds = arguments_has(arguments, "bounds")};
    const char *path = arguments_text(arguments, "keys");
    char *paths[] = {NULL};
    struct inputs inputs;
    int code = counters_check(arguments);
    if (code == EXIT_DONE && path == NULL && arguments->operand_count == 0) {
        code = arguments_fail(arguments, "no key is given; name keys, or a file with --keys");
    }
    if (code == EXIT_DONE && path != NULL) {
        paths[0] = strdup(path);
        if (paths[0] == NULL) return message_fail_memory();
        code = inputs_look(paths, 1, &inputs);
        inputs.takes_binary = arguments_has(arguments, "binary");
    }
    if (code == EXIT_DONE) code = counters_open(arguments, false, &getting.counters);
    if (code == EXIT_DONE) {
        code = get_operands(&getting, arguments->operands, arguments->operand_count);
        if (code == EXIT_DONE && path != NULL) code = get_lines(&getting, &inputs);
        code = counters_close(&getting.counters, code);
    }
    free(paths[0]);
    return code == EXIT_DONE && getting.has_missing ? EXIT_NEGATIVE : code;
}

/* keys.c - takes keys and weights out of lines; see keys.h.
 *
 * IDEA    Fields are found by one search per delimiter, from the start of the line. Keys point into
 *         the lines: nothing is copied. */
#include "input/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/integer.h"
#include "say/message.h"

enum { MOST_FIELDS = 1000000, SHOWN_BYTES = 40 };

int key_fields_read_key(const struct arguments *arguments, struct key_fields *out) {
    *out = (struct key_fields){.delimiter = '\t'};
    int code = arguments_count(arguments, "field", 1, MOST_FIELDS, &out->key);
    if (code != EXIT_DONE) return code;
    const char *delimiter = arguments_text(arguments, "delimiter");
    if (delimiter != NULL && delimiter[1] != '\0') {
        return arguments_fail(arguments, "--delimiter %s is not one character", delimiter);
    }
    if (delimiter != NULL) out->delimiter = delimiter[0];
    return EXIT_DONE;
}

int key_fields_read(const struct arguments *arguments, struct key_fields *out) {
    int code = key_fields_read_key(arguments, out);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "weight-field", 1, MOST_FIELDS, &out->weight);
    if (code != EXIT_DONE) return code;
    if (out->weight != 0 && out->key == 0) {
        return arguments_fail(arguments, "--weight-field works only with --field, "
                                         "the field of the key");
    }
    return EXIT_DONE;
}

const char *key_line_name(const struct inputs *inputs, uint64_t line, struct key_place *out) {
    if (inputs->count == 1) {
        snprintf(out->text, sizeof out->text, "%.4096s, line %" PRIu64,
                 inputs_name(inputs->paths[0]), line);
    } else {
        snprintf(out->text, sizeof out->text, "line %" PRIu64 " of the input", line);
    }
    return out->text;
}

/* Field number wanted of a line, from 1; false when it has fewer, and then how many. */
static bool find_field(lethe_bytes line, uint64_t wanted, char delimiter, lethe_bytes *out,
                       uint64_t *count) {
    const char *at = line.data, *end = at + line.size;
    for (uint64_t number = 1;; number++) {
        const char *stop = at < end ? memchr(at, delimiter, (size_t)(end - at)) : NULL;
        if (stop == NULL) stop = end;
        if (number == wanted) {
            *out = (lethe_bytes){.data = at, .size = (size_t)(stop - at)};
            return true;
        }
        *count = number;
        if (stop == end) return false;
        at = stop + 1;
    }
}

static int fail_field(const struct inputs *inputs, uint64_t line, uint64_t wanted, uint64_t count,
                      bool has_weights) {
    struct key_place place;
    return message_fail(EXIT_BAD_DATA,
                        "%s has %" PRIu64 " field%s, and field %" PRIu64
                        " is wanted; check --field%s and --delimiter",
                        key_line_name(inputs, line, &place), count, count == 1 ? "" : "s", wanted,
                        has_weights ? ", --weight-field" : "");
}

static int fail_weight(const struct inputs *inputs, uint64_t line, lethe_bytes text) {
    struct key_place place;
    return message_fail(EXIT_BAD_DATA,
                        "%s: the weight '%.*s' is not a whole number from 1 to %" PRIu64
                        "; correct it or choose another --weight-field",
                        key_line_name(inputs, line, &place),
                        (int)(text.size < SHOWN_BYTES ? text.size : SHOWN_BYTES),
                        (const char *)text.data, UINT64_MAX);
}

/* Takes key and weight of each line. */
static int take_fields(const struct line_batch *lines, const struct inputs *inputs,
                       const struct key_fields *fields, struct key_batch *out) {
    for (size_t i = 0; i < lines->count; i++) {
        uint64_t count = 0;
        if (!find_field(lines->lines[i], fields->key, fields->delimiter, &out->keys[i], &count))
            return fail_field(inputs, out->first_line + i, fields->key, count, fields->weight != 0);
        if (fields->weight == 0) continue;
        lethe_bytes weight;
        if (!find_field(lines->lines[i], fields->weight, fields->delimiter, &weight, &count))
            return fail_field(inputs, out->first_line + i, fields->weight, count, true);
        if (!integer_parse_natural(weight, &out->weights[i]) || out->weights[i] == 0)
            return fail_weight(inputs, out->first_line + i, weight);
    }
    return EXIT_DONE;
}

/* The keys of lines that were just read. */
static int make(const struct line_reader *reader, const struct inputs *inputs,
                const struct key_fields *fields, const struct line_batch *lines,
                struct key_batch *out) {
    out->lines = lines->lines;
    out->count = lines->count;
    out->weighted = fields->weight != 0;
    out->first_line = lines_delivered(reader) - lines->count + 1;
    if (fields->key != 0) return take_fields(lines, inputs, fields, out);
    if (lines->count > 0) memcpy(out->keys, lines->lines, lines->count * sizeof *out->keys);
    return EXIT_DONE;
}

int keys_next(struct line_reader *reader, const struct inputs *inputs,
              const struct key_fields *fields, struct key_batch *out) {
    struct line_batch lines;
    int code = lines_next(reader, &lines);
    return code == EXIT_DONE ? make(reader, inputs, fields, &lines, out) : code;
}

struct visit {
    const struct inputs *inputs;
    const struct key_fields *fields;
    key_visit *visit;
    void *context;
    struct key_batch batch;
};

/* A line_visit. */
static int visit_lines(void *context, struct line_reader *reader, const struct line_batch *lines) {
    struct visit *visit = context;
    int code = make(reader, visit->inputs, visit->fields, lines, &visit->batch);
    return code == EXIT_DONE ? visit->visit(visit->context, visit->inputs, &visit->batch) : code;
}

int keys_each(const struct inputs *inputs, const struct key_fields *fields, bool shows,
              key_visit *visit, void *context) {
    struct visit all = {.inputs = inputs, .fields = fields, .visit = visit, .context = context};
    return lines_each(inputs, shows, visit_lines, &all);
}

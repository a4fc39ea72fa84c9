/* keys.c - batches of keys and weights, and the options that say where they are; see keys.h. */
#include "input/keys.h"

#include <string.h>

enum { MOST_FIELDS = 1000000 };

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

/* Takes key and weight of each line. */
static int take_fields(const struct line_batch *lines, const struct inputs *inputs,
                       const struct key_fields *fields, struct key_batch *out) {
    for (size_t i = 0; i < lines->count; i++) {
        struct key_problem problem;
        if (!key_of_line(lines->lines[i], fields, &out->keys[i], &out->weights[i], &problem))
            return key_fail(inputs, fields, out->first_line + i, &problem);
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

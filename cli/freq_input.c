/* freq_input.c - keys and weights out of lines; see freq_input.h. */
#include "freq_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "message.h"

enum { MOST_FIELDS = 1000000, SHOWN_BYTES = 40 };

int freq_read_key_field(const struct arguments *arguments, struct freq_fields *out) {
    *out = (struct freq_fields){.delimiter = '\t'};
    int code = arguments_count(arguments, "field", 1, MOST_FIELDS, &out->key);
    if (code != EXIT_DONE) return code;
    const char *delimiter = arguments_text(arguments, "delimiter");
    if (delimiter != NULL && delimiter[1] != '\0') {
        return arguments_fail(arguments, "--delimiter %s is not one character", delimiter);
    }
    if (delimiter != NULL) out->delimiter = delimiter[0];
    return EXIT_DONE;
}

int freq_read_fields(const struct arguments *arguments, struct freq_fields *out) {
    int code = freq_read_key_field(arguments, out);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "weight-field", 1, MOST_FIELDS, &out->weight);
    if (code != EXIT_DONE) return code;
    if (out->weight != 0 && out->key == 0) {
        return arguments_fail(arguments, "--weight-field needs --field beside it, the key's");
    }
    return EXIT_DONE;
}

const char *freq_line_name(const struct inputs *inputs, uint64_t line, struct freq_place *out) {
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

/* A whole number from 1, of digits alone. */
static bool parse_weight(lethe_bytes text, uint64_t *out) {
    const char *digits = text.data;
    uint64_t value = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (digits[i] < '0' || digits[i] > '9') return false;
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(digits[i] - '0'), &value)) {
            return false;
        }
    }
    *out = value;
    return text.size > 0 && value > 0;
}

static int fail_field(const struct inputs *inputs, uint64_t line, uint64_t wanted, uint64_t count,
                      bool has_weights) {
    struct freq_place place;
    return message_fail(EXIT_BAD_DATA,
                        "%s has %" PRIu64 " field%s, and field %" PRIu64
                        " is wanted; check --field%s and --delimiter",
                        freq_line_name(inputs, line, &place), count, count == 1 ? "" : "s", wanted,
                        has_weights ? ", --weight-field" : "");
}

static int fail_weight(const struct inputs *inputs, uint64_t line, lethe_bytes text) {
    struct freq_place place;
    return message_fail(EXIT_BAD_DATA,
                        "%s: the weight '%.*s' is not a whole number from 1 to %" PRIu64
                        "; correct it or choose another --weight-field",
                        freq_line_name(inputs, line, &place),
                        (int)(text.size < SHOWN_BYTES ? text.size : SHOWN_BYTES),
                        (const char *)text.data, UINT64_MAX);
}

/* Takes key and weight of each line. */
static int take_fields(const struct line_batch *lines, const struct inputs *inputs,
                       const struct freq_fields *fields, struct freq_batch *out) {
    for (size_t i = 0; i < lines->count; i++) {
        uint64_t count = 0;
        if (!find_field(lines->lines[i], fields->key, fields->delimiter, &out->keys[i], &count))
            return fail_field(inputs, out->first_line + i, fields->key, count, fields->weight != 0);
        if (fields->weight == 0) continue;
        lethe_bytes weight;
        if (!find_field(lines->lines[i], fields->weight, fields->delimiter, &weight, &count))
            return fail_field(inputs, out->first_line + i, fields->weight, count, true);
        if (!parse_weight(weight, &out->weights[i]))
            return fail_weight(inputs, out->first_line + i, weight);
    }
    return EXIT_DONE;
}

int freq_next(struct line_reader *reader, const struct inputs *inputs,
              const struct freq_fields *fields, struct freq_batch *out) {
    struct line_batch lines;
    int code = lines_next(reader, &lines);
    if (code != EXIT_DONE) return code;
    out->lines = lines.lines;
    out->count = lines.count;
    out->weighted = fields->weight != 0;
    out->first_line = lines_delivered(reader) - lines.count + 1;
    if (fields->key != 0) return take_fields(&lines, inputs, fields, out);
    if (lines.count > 0) memcpy(out->keys, lines.lines, lines.count * sizeof *out->keys);
    return EXIT_DONE;
}

/* key.c - takes the key and the weight out of one line; see keys.h.
 *
 * IDEA    Fields are found by one search per delimiter, from the start of the line. Keys point into
 *         the lines: nothing is copied. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/integer.h"
#include "input/keys.h"
#include "say/message.h"

enum { SHOWN_BYTES = 40 };

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

int key_fail(const struct inputs *inputs, const struct key_fields *fields, uint64_t line,
             const struct key_problem *problem) {
    struct key_place place;
    const char *name = key_line_name(inputs, line, &place);
    lethe_bytes weight = problem->weight;
    if (weight.data != NULL) {
        return message_fail(EXIT_BAD_DATA,
                            "%s: the weight '%.*s' is not a whole number from 1 to %" PRIu64
                            "; correct it or choose another --weight-field",
                            name, (int)(weight.size < SHOWN_BYTES ? weight.size : SHOWN_BYTES),
                            (const char *)weight.data, UINT64_MAX);
    }
    return message_fail(EXIT_BAD_DATA,
                        "%s has %" PRIu64 " field%s, and field %" PRIu64
                        " is wanted; check --field%s and --delimiter",
                        name, problem->count, problem->count == 1 ? "" : "s", problem->wanted,
                        fields->weight != 0 ? ", --weight-field" : "");
}

bool key_of_line(lethe_bytes line, const struct key_fields *fields, lethe_bytes *key,
                 uint64_t *weight, struct key_problem *problem) {
    *weight = 1;
    *key = line;
    *problem = (struct key_problem){.wanted = fields->key};
    if (fields->key == 0) return true;
    if (!find_field(line, fields->key, fields->delimiter, key, &problem->count)) return false;
    if (fields->weight == 0) return true;
    lethe_bytes text;
    problem->wanted = fields->weight;
    if (!find_field(line, fields->weight, fields->delimiter, &text, &problem->count)) return false;
    problem->weight = text;
    return integer_parse_natural(text, weight) && *weight != 0;
}

/* module/command/ranges.h - which values the arguments of commands may have.
 *
 * A range is described once: from it come the reading of an argument, the error for a value that
 * is out of it, COMMAND DOCS and the reference pages. command/options.h has the options with which
 * values are made; their error is the same. */
#ifndef LETHE_MODULE_COMMAND_RANGES_H
#define LETHE_MODULE_COMMAND_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "server/redis_api.h"

enum range_kind {
    RANGE_NUMBERS, /* integers */
    RANGE_BYTES,   /* strings of that many bytes */
    RANGE_TEXT     /* only `more` says it */
};

struct range {
    enum range_kind kind;
    int64_t least;
    uint64_t most;
    /* Numbers except 0. */
    bool is_nonzero;
    /* What follows the numbers, such as " milliseconds"; may be NULL. */
    const char *more;
};

enum { RANGE_TEXT_BYTES = 128, PROBLEM_BYTES = 512 };

/* Writes the range, such as "1 to 255 bytes". */
void range_text(const struct range *range, char text[RANGE_TEXT_BYTES]);

/* Reads a number, or looks at the size of a string. NULL, or the error, which names the argument;
 * it is valid until the next one. */
const char *range_number(const struct range *range, const char *name, const redis_string *value,
                         int64_t *out);
const char *range_size(const struct range *range, const char *name, const redis_string *value);
/* The error for a value that is out of its range. */
const char *range_problem(const struct range *range, const char *name, const redis_string *value);
/* The same with the range as a text. */
const char *value_problem(const char *name, const redis_string *value, const char *range);

/* A word of a command as errors show it: at most 40 bytes of it, the others as \xNN where they are
 * not printable. */
enum { SHOWN_BYTES = 4 * 40 + 4 };
const char *show_word(const redis_string *word, char shown[SHOWN_BYTES]);

#endif

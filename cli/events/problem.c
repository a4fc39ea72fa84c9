/* problem.c - words for what is wrong with a line. Excerpts are escaped and short: a line may hold
 * anything. */
#include "events/problem.h"

#include <stdarg.h>
#include <stdio.h>

#include "say/escape.h"

enum { EXCERPT_BYTES = 32 };

void event_problem_set(struct event_problem *problem, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
}

const char *event_excerpt(lethe_bytes field, struct event_excerpt *out) {
    lethe_bytes shown = field;
    if (shown.size > EXCERPT_BYTES) shown.size = EXCERPT_BYTES;
    size_t length = escape_write(shown, out->text);
    snprintf(out->text + length, sizeof out->text - length, "%s",
             shown.size < field.size ? "..." : "");
    return out->text;
}

/* number.c - words for a delta or a value that does not fit the scale: the same wherever it is
 * given, in a line, in --fields or to `lethe set`. */
#include "events/number.h"

#include <string.h>

#include "frame/exit_code.h"
#include "lethe/store.h"
#include "say/message.h"

void event_problem_number(struct event_problem *problem, const char *what, lethe_bytes text,
                          unsigned scale, enum decimal_problem reason) {
    struct event_excerpt excerpt;
    struct decimal_text least, most;
    const char *shown = event_excerpt(text, &excerpt);
    if (reason == DECIMAL_TOO_LARGE) {
        event_problem_set(problem, "the %s '%s' is beyond 64 bits; write a number from %s to %s",
                          what, shown, decimal_show(INT64_MIN, scale, &least),
                          decimal_show(INT64_MAX, scale, &most));
    } else if (scale == 0) {
        event_problem_set(problem, "the %s '%s' is not a whole number; write one such as 1 or -5%s",
                          what, shown,
                          reason == DECIMAL_TOO_FINE ? ", or make a new store with --scale" : "");
    } else if (reason == DECIMAL_TOO_FINE) {
        event_problem_set(problem,
                          "the %s '%s' has more digits after the point than the store's scale, "
                          "which is %u; write no more%s",
                          what, shown, scale,
                          scale < LETHE_SCALE_LIMIT ? ", or make a new store with a larger --scale"
                                                    : "");
    } else {
        event_problem_set(problem, "the %s '%s' is not a number; write one such as 1 or -0.5", what,
                          shown);
    }
}

int event_read_number(const char *what, const char *text, unsigned scale, int64_t *out) {
    lethe_bytes bytes = {.data = text, .size = strlen(text)};
    struct event_problem problem;
    enum decimal_problem reason = decimal_parse_scaled(bytes, scale, out);
    if (reason == DECIMAL_FINE) return EXIT_DONE;
    event_problem_number(&problem, what, bytes, scale, reason);
    return message_fail(EXIT_USAGE, "%s", problem.text);
}

/* bounds_read.c - limits on the command line: as bounds.c has it, with exit codes. */
#include <string.h>

#include "say/message.h"
#include "take/bounds.h"

int bounds_read(const struct arguments *arguments, const char *option, bool is_max,
                struct bounds *bounds) {
    const char *text = arguments_text(arguments, option);
    struct event_problem problem;
    char name[32] = "--";
    if (text == NULL) return EXIT_DONE;
    strncat(name, option, sizeof name - 3);
    if (bounds_add(bounds, name, (lethe_bytes){text, strlen(text)}, is_max, &problem)) {
        return EXIT_DONE;
    }
    return message_fail(EXIT_USAGE, "%s", problem.text);
}

int bounds_scale(struct bounds *bounds, unsigned scale) {
    struct event_problem problem;
    if (bounds_set_scale(bounds, scale, &problem)) return EXIT_DONE;
    return message_fail(EXIT_USAGE, "%s", problem.text);
}

int bounds_place(struct bounds *bounds, const lethe_store *store, const char *folder) {
    struct event_problem problem;
    if (bounds_find(bounds, store, folder, &problem)) return EXIT_DONE;
    return message_fail(EXIT_USAGE, "%s", problem.text);
}

int bounds_fail_time(const char *folder, const char *period) {
    struct event_problem problem;
    bounds_refuse_time(folder, period, &problem);
    return message_fail(EXIT_USAGE, "%s", problem.text);
}

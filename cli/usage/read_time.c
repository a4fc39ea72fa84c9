/* read_time.c - times on the command line of `lethe usage`, in the zone of the store. */
#include <string.h>

#include "usage/usage.h"

int usage_read_time(const struct arguments *arguments, const char *name, const char *zone,
                    uint64_t *out_ms) {
    const char *text = arguments_text(arguments, name);
    if (text == NULL) return EXIT_DONE;
    struct event_time_rule rule = {.unit = UNIT_BY_SIZE};
    struct event_problem problem;
    if (event_zone_set(zone[0] != '\0' ? zone : "+00:00", &rule.zone, &problem) &&
        usage_parse_time(text, &rule, out_ms, &problem)) {
        return EXIT_DONE;
    }
    /* What is wrong, without the advice to whoever writes events. */
    return arguments_fail(arguments,
                          "--%s: %.*s; give one such as 2024-03-31, 2024-03-31T14:00:00 or "
                          "2024-03-31T12:00:00Z",
                          name, (int)strcspn(problem.text, ";"), problem.text);
}

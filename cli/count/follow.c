/* follow.c - what `lethe count --follow` does beside counting: reads its options, and shows how
 * things are while there is nothing to count. See events/follow.h for how files are followed. */
#include <stdio.h>
#include <string.h>

#include "count/count.h"
#include "frame/clock.h"
#include "say/message.h"

enum { LONGEST_WAIT_MS = 1000 };

int count_read_follow(const struct arguments *arguments, struct counting *counting,
                      struct event_options *options) {
    counting->follows = options->follows = arguments_has(arguments, "follow");
    if (!counting->follows && arguments_has(arguments, "report")) {
        return arguments_fail(arguments, "--report needs --follow");
    }
    if (counting->follows && options->last_line) {
        return arguments_fail(arguments, "--last-line cannot be used with --follow: a file that is "
                                         "followed is not complete");
    }
    counting->reported_ms = clock_ms();
    return arguments_duration(arguments, "report", 1000, UINT64_C(86400000), &counting->report_ms);
}

int count_look_followed(const struct arguments *arguments, struct inputs *inputs) {
    char *const *paths = arguments->operands;
    size_t count = arguments->operand_count;
    if (count > EVENT_FOLLOWED_LIMIT) {
        return arguments_fail(arguments,
                              "--follow takes at most %d files; follow the others with "
                              "another store, or through a pipe",
                              EVENT_FOLLOWED_LIMIT);
    }
    /* Files that are not there yet are known by their names only. */
    for (size_t i = 1; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(paths[i], paths[j]) != 0) continue;
            return message_fail(EXIT_USAGE, "%s is named twice; name it once", paths[i]);
        }
    }
    return inputs_look_followed(paths, count, inputs);
}

void count_follow_report(struct counting *counting) {
    if (counting->report_ms == 0 || clock_ms() - counting->reported_ms < counting->report_ms) {
        return;
    }
    counting->reported_ms = clock_ms();
    count_report(counting);
    (void)fflush(stdout); /* whoever reads it is to have it now */
}

void count_follow_wait(struct counting *counting) {
    if (!counting->follows) return;
    count_follow_report(counting);
    bool has_caught_up = events_caught_up(counting->reader);
    if (events_await(counting->reader, 0)) return;
    if (has_caught_up) count_tell_resumed(counting, true);
    while ((counting->progress.shown || counting->report_ms > 0) &&
           !events_await(counting->reader, LONGEST_WAIT_MS)) {
        count_show_progress(counting);
        count_follow_report(counting);
    }
}

/* limit.c - `lethe count --limit`: a limit that every event must keep.
 *
 * An event that would pass it is limited: skipped, reported like others that are, and not
 * remembered. So it can be counted when there is room again. */
#include "count/count.h"
#include "say/message.h"

int count_read_limit(const struct arguments *arguments, struct bounds *out) {
    int code = bounds_read(arguments, "limit", true, out);
    if (code != EXIT_DONE || out->count <= 1) return code;
    return arguments_fail(arguments, "an event keeps one --limit; give one");
}

int count_check_limit(const struct counting *counting, const lethe_store_options *options) {
    if (counting->bounds.count == 0) return EXIT_DONE;
    const char *period = counting->bounds.each[0].period;
    if (options->sketch_bytes > 0) {
        return message_fail(EXIT_USAGE, "--limit cannot be used with --sketch: its values are "
                                        "estimates, and no limit can be kept by them; leave one "
                                        "of them out");
    }
    if (period[0] != '\0' && options->event_time == LETHE_SWITCH_ON)
        return bounds_fail_time(counting->folder, period);
    if (period[0] == '\0' || options->per != NULL) return EXIT_DONE;
    return message_fail(EXIT_USAGE, "%s is new, and will not count per %s; add --per %s",
                        counting->folder, period, period);
}

void count_put_limit(const struct bounds *bounds, const struct event_batch *batch) {
    for (size_t i = 0; i < batch->change_count && bounds->count > 0; i++)
        bound_put(&bounds->each[0], &batch->changes[i]);
}

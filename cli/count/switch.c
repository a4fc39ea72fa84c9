/* switch.c - before a run changes how a store works, looks whether the run can go on at all.
 *
 * IDEA    Opening a store to write switches its modes, window and error to what is asked for. The
 *         files are opened later, by the thread that reads them, and may be refused then. So where
 *         something would be switched, the store is read first, and each file is opened at its
 *         mark. Where a delta is a literal, the store is read for its scale. A limit
 *         must be one that the store can keep.
 * LIMIT   What comes through a pipe is only known when it is read. */
#include <string.h>

#include "count/count.h"
#include "frame/interrupt.h"
#include "store/store.h"

static bool switches(lethe_switch asked, bool now) {
    return asked != LETHE_SWITCH_KEEP && (asked == LETHE_SWITCH_ON) != now;
}

static bool asks(const lethe_store_options *options) {
    return options->window_ms != 0 || options->error != 0 || options->exact != LETHE_SWITCH_KEEP ||
           options->check_payload != LETHE_SWITCH_KEEP || options->forever != LETHE_SWITCH_KEEP ||
           options->event_time != LETHE_SWITCH_KEEP || options->per != NULL ||
           options->keep != NULL;
}

static bool changes(const lethe_store_options *options, const lethe_store_stats *stats) {
    const lethe_store_window *window = &stats->window;
    return (options->window_ms != 0 && options->window_ms != window->window_ms) ||
           (options->error != 0 && options->error != window->error_target) ||
           switches(options->exact, stats->exact) ||
           switches(options->check_payload, stats->check_payload) ||
           switches(options->forever, stats->forever) ||
           switches(options->event_time, stats->event_time) ||
           (options->per != NULL && strcmp(options->per, stats->per) != 0) ||
           (options->keep != NULL && strcmp(options->keep, stats->keep) != 0);
}

/* With a reader of the store. */
static int check_files(struct counting *counting, const struct event_options *options,
                       const lethe_store_stats *stats) {
    struct count_marks marks = {.late = NULL};
    bool is_unread = false;
    int code = count_load_marks(counting, &marks);
    if (code == EXIT_DONE) {
        code = events_check(counting->inputs, options, &marks.table, &is_unread);
    }
    if (code == EXIT_DONE && is_unread && stats->event_time &&
        !event_format_has_time(&options->format)) {
        code = count_fail_time(counting);
    }
    resume_free(&marks.table);
    return code;
}

int count_check_switch(struct counting *counting, const lethe_store_options *store_options,
                       struct event_options *event_options) {
    static lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    struct bounds *bounds = &counting->bounds;
    if (!asks(store_options) && !event_format_has_literal_delta(&event_options->format) &&
        bounds->count == 0) {
        return EXIT_DONE;
    }
    interrupt_hold();
    lethe_status status =
        lethe_store_open(counting->folder, &LETHE_OPTIONS(lethe_store_options, .read_only = true),
                         &counting->store, NULL);
    interrupt_release();
    if (status == LETHE_ENOTFOUND) { /* it is new */
        int32_t scale = store_options->scale;
        int code = count_set_scale(event_options, scale > 0 ? (unsigned)scale : 0);
        if (code == EXIT_DONE) code = bounds_scale(bounds, scale > 0 ? (unsigned)scale : 0);
        return code == EXIT_DONE ? count_check_limit(counting, store_options) : code;
    }
    if (status != LETHE_OK) return EXIT_DONE; /* opening it to write says why */
    int code = count_set_scale(event_options, lethe_store_scale(counting->store));
    if (code == EXIT_DONE && lethe_store_info(counting->store, &stats) == LETHE_OK &&
        changes(store_options, &stats)) {
        code = check_files(counting, event_options, &stats);
    }
    if (code == EXIT_DONE) code = bounds_scale(bounds, lethe_store_scale(counting->store));
    /* Periods that are asked for are known when the store is open to write. */
    if (code == EXIT_DONE && store_options->per == NULL)
        code = bounds_place(bounds, counting->store, counting->folder);
    code = store_close(counting->folder, counting->store, code);
    counting->store = NULL;
    return code;
}

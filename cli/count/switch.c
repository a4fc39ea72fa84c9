/* switch.c - before a run changes how a store works, looks whether the run can go on at all.
 *
 * IDEA    Opening a store to write switches its modes, window and error to what is asked for. The
 *         files are opened later, by the thread that reads them, and may be refused then. So where
 *         something would be switched, the store is read first, and each file is opened at its
 *         mark.
 * LIMIT   What comes through a pipe is only known when it is read. */
#include "count/count.h"
#include "frame/interrupt.h"
#include "store/store.h"

static bool switches(lethe_switch asked, bool now) {
    return asked != LETHE_SWITCH_KEEP && (asked == LETHE_SWITCH_ON) != now;
}

static bool asks(const lethe_store_options *options) {
    return options->window_ms != 0 || options->error != 0 || options->exact != LETHE_SWITCH_KEEP ||
           options->check_payload != LETHE_SWITCH_KEEP || options->forever != LETHE_SWITCH_KEEP ||
           options->event_time != LETHE_SWITCH_KEEP;
}

static bool changes(const lethe_store_options *options, const lethe_store_stats *stats) {
    const lethe_store_window *window = &stats->window;
    return (options->window_ms != 0 && options->window_ms != window->window_ms) ||
           (options->error != 0 && options->error != window->error_target) ||
           switches(options->exact, stats->exact) ||
           switches(options->check_payload, stats->check_payload) ||
           switches(options->forever, stats->forever) ||
           switches(options->event_time, stats->event_time);
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
                       const struct event_options *event_options) {
    static lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    if (!asks(store_options)) return EXIT_DONE;
    interrupt_hold();
    lethe_status status =
        lethe_store_open(counting->folder, &LETHE_OPTIONS(lethe_store_options, .read_only = true),
                         &counting->store, NULL);
    interrupt_release();
    if (status != LETHE_OK) return EXIT_DONE; /* it is new, or opening it to write says why */
    int code = EXIT_DONE;
    if (lethe_store_info(counting->store, &stats) == LETHE_OK && changes(store_options, &stats)) {
        code = check_files(counting, event_options, &stats);
    }
    code = store_close(counting->folder, counting->store, code);
    counting->store = NULL;
    return code;
}

/* report.c - what `lethe count` reports while it works, when it is done, and by its exit status. */
#include <inttypes.h>

#include "count/count.h"
#include "frame/clock.h"
#include "frame/interrupt.h"
#include "say/human.h"
#include "say/json.h"
#include "say/message.h"
#include "store/store.h"

enum {
    COMPLAINTS_MS = 3600000,
    /* So many times more steps back than forth are no accident. */
    BACKWARDS_SHARE = 3
};

int count_begin(struct counting *counting, struct resume_table *marks) {
    int code = events_survey(counting->reader, marks, counting->scale);
    if (code != EXIT_DONE) return code;
    interrupt_hold();
    code = events_start(counting->reader);
    interrupt_release();
    if (code != EXIT_DONE) return code;
    count_unreported_tell(counting);
    counting->started_s = clock_seconds();
    progress_begin(&counting->progress, !counting->quiet, "events", counting->inputs->bytes);
    counting->progress.is_endless = counting->follows;
    return EXIT_DONE;
}

void count_warn_of_marks(size_t not_understood, const char *where) {
    if (not_understood == 0) return;
    bool is_one = not_understood == 1;
    message_warn(
        "%s: %zu mark%s of how far a file was read %s not understood, perhaps written by a "
        "newer lethe; %s read from the start",
        where, not_understood, is_one ? "" : "s", is_one ? "is" : "are",
        is_one ? "that file is" : "those files are");
}

void count_tell_resumed(struct counting *counting, bool is_now) {
    size_t files = counting->inputs->count;
    if (counting->has_told_resumed || (!is_now && counting->started_files < files)) return;
    counting->has_told_resumed = true;
    if (counting->quiet || counting->resumed_files == 0) return;
    if (counting->resumed_files == 1) {
        message_note("%s: continuing at byte %" PRIu64 ", where the last run stopped",
                     counting->resumed_path, counting->resumed_at);
        return;
    }
    message_note("continuing %zu of %zu files where the last run stopped, after %" PRIu64 " bytes",
                 counting->resumed_files, files, counting->resumed_at);
}

void count_renew_complaints(struct counting *counting) {
    if (!counting->follows || clock_ms() - counting->complained_ms < COMPLAINTS_MS) return;
    counting->complained_ms = clock_ms();
    counting->complaints = 0;
}

void count_complain(struct counting *counting, const char *path, uint64_t line, const char *text) {
    if (counting->complaints > EVENT_COMPLAINTS_SHOWN) return;
    if (counting->complaints++ == EVENT_COMPLAINTS_SHOWN) {
        message_warn("further lines that are not counted are not shown%s; the summary has their "
                     "number",
                     counting->follows ? " for an hour" : "");
        return;
    }
    message_warn("%s:%" PRIu64 ": %s", inputs_name(path), line, text);
}

/* The state of the window, and how likely a fresh event is taken for a duplicate. */
static lethe_store_window look_at_window(const struct counting *counting, double *error) {
    static lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    *error = counting->window.error_estimate;
    if (counting->store == NULL) return counting->window;
    lethe_store_info(counting->store, &stats);
    *error = store_error_estimate(&stats);
    return stats.window;
}

void count_expect_wrong(struct counting *counting, uint64_t fresh) {
    double error;
    if (fresh == 0) return;
    look_at_window(counting, &error);
    counting->wrong += (double)fresh * error;
}

void count_show_progress(struct counting *counting) {
    struct progress *progress = &counting->progress;
    uint64_t events = totals_events(&counting->totals);
    if (progress_is_due(progress) && events > 0) {
        struct human_text shown, memory;
        double error;
        lethe_store_window window = look_at_window(counting, &error);
        snprintf(progress->more, sizeof progress->more, "%.2f%% duplicates, error %s, %s",
                 100.0 * (double)counting->totals.outcomes[LETHE_OUTCOME_DUPLICATE] /
                     (double)events,
                 human_probability(error, &shown), human_bytes(window.memory_bytes, &memory));
    }
    if (counting->follows) progress->bytes_behind = events_behind(counting->reader);
    progress_update(progress, events, counting->bytes_read);
}

static void report_json(const struct counting *counting, double seconds, double error) {
    struct json json = json_begin(stdout);
    json_integer(&json, "events", totals_events(&counting->totals));
    totals_print_json(&counting->totals, &json);
    if (counting->store == NULL) json_integer(&json, "doubtful", counting->doubtful);
    json_integer(&json, "resumed_at", counting->resumed_at);
    json_integer(&json, "pending", counting->pending);
    json_integer(&json, "unreported", counting->unreported.before);
    json_real(&json, "seconds", seconds);
    json_real(&json, "error_estimate", error);
    json_real(&json, "expected_wrongly_dropped", counting->wrong);
    json_end(&json);
}

/* A promise under strain is reported even with --quiet. error is what the summary says: nothing in
 * exact mode, whatever the window takes for duplicates. */
static void warn_of_strain(const struct counting *counting, const lethe_store_window *window,
                           double error) {
    struct human_text now, allowed;
    bool is_strained =
        (window->strain & LETHE_STRAIN_ERROR) != 0 || window->error_estimate > window->error_target;
    if (!is_strained || error <= window->error_target) return;
    message_warn("%s: a fresh event is taken for a duplicate with probability %s, more than the %s "
                 "that is allowed; give the window more --memory",
                 counting->folder, human_probability(error, &now),
                 human_probability(window->error_target, &allowed));
}

void count_report(struct counting *counting) {
    double error;
    counting->has_reported = true;
    count_tell_resumed(counting, true);
    lethe_store_window window = look_at_window(counting, &error);
    double seconds = clock_seconds() - counting->started_s;
    if (counting->json) report_json(counting, seconds, error);
    warn_of_strain(counting, &window, error);
    if (counting->quiet || counting->json) return;
    const struct count_totals *totals = &counting->totals;
    uint64_t events = totals_events(totals);
    uint64_t duplicates = totals->outcomes[LETHE_OUTCOME_DUPLICATE];
    char doubtful[64] = "", late[64] = "", skipped[256];
    if (counting->doubtful > 0) {
        snprintf(doubtful, sizeof doubtful, " (%" PRIu64 " perhaps applied by this run)",
                 counting->doubtful);
    }
    if (totals->applied_late > 0) {
        snprintf(late, sizeof late, " (%" PRIu64 " of them late)", totals->applied_late);
    }
    totals_describe_skipped(totals, skipped, sizeof skipped);
    struct human_text shown, rate;
    message_note("%s: %" PRIu64 " event%s: %" PRIu64 " applied%s, %" PRIu64
                 " duplicate%s%s%s; %.1f s, %s/s; current error %s; %.2g events expected to be "
                 "wrongly dropped",
                 counting->folder, events, events == 1 ? "" : "s",
                 totals->outcomes[LETHE_OUTCOME_APPLIED], late, duplicates,
                 duplicates == 1 ? "" : "s", doubtful, skipped, seconds,
                 human_count((double)events / (seconds > 1e-3 ? seconds : 1e-3), &rate),
                 human_probability(error, &shown), counting->wrong);
}

/* What to do about late events. Not to count the whole input again: what was counted of it and is
 * forgotten by now would be late as well, and be counted twice. */
static const char *late_remedy(const struct counting *counting) {
    if (counting->lists_late) {
        return "older than the window: nobody knows whether such events were counted before; if "
               "they were not, count the list of --late-out with --late count; a longer --window, "
               "or --forever, makes fewer events late";
    }
    return "older than the window: nobody knows whether such events were counted before; those "
           "that "
           "were not can be counted with --late count, and --late-out FILE lists them for that; a "
           "longer --window, or --forever, makes fewer events late";
}

/* Whether the times of events are what most were skipped for, and mostly fall from one event to the
 * next: the newest come first. */
static bool runs_backwards(const struct counting *counting) {
    const uint64_t *outcomes = counting->totals.outcomes;
    uint64_t by_time = outcomes[LETHE_OUTCOME_LATE] + outcomes[LETHE_OUTCOME_FUTURE];
    return by_time > totals_skipped(&counting->totals) / 2 &&
           counting->backwards / BACKWARDS_SHARE > counting->forwards;
}

/* Says how many events were skipped, and what to do. */
static int fail_skipped(const struct counting *counting) {
    const struct count_totals *totals = &counting->totals;
    uint64_t skipped = totals_skipped(totals);
    char parts[256];
    totals_describe_skipped(totals, parts, sizeof parts);
    const char *remedy = "correct the cause, then count the input again within the window (files "
                         "with --from-start)";
    if (totals->outcomes[LETHE_OUTCOME_REFUSED] > 0 && counting->is_uncapped) {
        remedy = "the system has no memory for the window: make memory available, then count the "
                 "input again within the window (files with --from-start)";
    } else if (totals->outcomes[LETHE_OUTCOME_REFUSED] > 0) {
        remedy = "the window has reached its --memory: count the input again within the window, "
                 "with more --memory (files with --from-start)";
    } else if (runs_backwards(counting)) {
        remedy = "the events seem to run backwards in time: count them again with a --window as "
                 "long as they last (files with --from-start), or into a new store with the oldest "
                 "first, as in 'tac FILE | lethe count ...'";
    } else if (totals->outcomes[LETHE_OUTCOME_LATE] == skipped) {
        remedy = late_remedy(counting);
    } else if (totals->outcomes[LETHE_OUTCOME_LIMITED] == skipped) {
        remedy = "above --limit: such events are not remembered; raise the limit, or wait until "
                 "its period is over, then count the input again within the window (files with "
                 "--from-start)";
    }
    return message_fail(EXIT_SKIPPED,
                        "%" PRIu64 " event%s skipped, neither counted nor %s (%s); %s", skipped,
                        skipped == 1 ? " was" : "s were",
                        skipped == 1 ? "a duplicate" : "duplicates", parts + 2, remedy);
}

int count_end(const struct counting *counting, int code) {
    if (code == EXIT_DONE && totals_skipped(&counting->totals) > 0) code = fail_skipped(counting);
    if (code == EXIT_DONE && counting->holds_back) {
        code = message_fail(EXIT_SKIPPED,
                            "%d KiB or more are pending, because a quoted field before them does "
                            "not end; close its quotes, then run the same command again",
                            EVENT_OPEN_BYTES >> 10);
    }
    if (code == EXIT_DONE && counting->has_reported && counting->unreported.before > 0) {
        code = message_fail(EXIT_SKIPPED, "an earlier run skipped events, and was interrupted "
                                          "before it could report them; see the warning above");
    }
    /* A signal is how following ends. */
    bool is_early = interrupt_requested() && !counting->follows;
    if ((code == EXIT_DONE || code == EXIT_SKIPPED) && is_early) {
        code = message_fail(interrupt_code(), "interrupted; all events that were read are "
                                              "committed; run the same command again to continue");
    }
    return code;
}

/* count_report.c - what `lethe count` says while it works and when it is done. */
#include <inttypes.h>
#include <time.h>

#include "count.h"
#include "human.h"
#include "json.h"
#include "message.h"

double count_now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

uint64_t count_passed_over(const struct count_totals *totals) {
    return totals->late + totals->future + totals->rejected + totals->mismatched;
}

uint64_t count_events(const struct count_totals *totals) {
    return totals->applied + totals->duplicates + count_passed_over(totals);
}

void count_complain(struct counting *counting, const char *path, uint64_t line, const char *text) {
    if (counting->complaints > EVENT_COMPLAINTS_SHOWN) return;
    if (counting->complaints++ == EVENT_COMPLAINTS_SHOWN) {
        message_warn("further lines that are not counted are not shown; the summary has their "
                     "number");
        return;
    }
    message_warn("%s:%" PRIu64 ": %s", inputs_name(path), line, text);
}

/* How the window stands. */
static lethe_window_stats look_at_window(const struct counting *counting) {
    static lethe_counter_stats stats;
    if (counting->counter == NULL) return counting->window;
    lethe_counter_info(counting->counter, &stats);
    return stats.window;
}

void count_expect_wrong(struct counting *counting, uint64_t applied) {
    static lethe_counter_stats stats;
    if (applied == 0) return;
    if (counting->counter == NULL) {
        counting->wrong += (double)applied * counting->window.error_estimate;
        return;
    }
    lethe_counter_info(counting->counter, &stats);
    /* Exact mode looks up what the window takes for a copy. */
    if (stats.exact) return;
    counting->wrong +=
        (double)applied * (stats.window.error_estimate + stats.ledger.error_estimate);
}

void count_show_progress(struct counting *counting) {
    struct progress *progress = &counting->progress;
    uint64_t events = count_events(&counting->totals);
    if (progress_is_due(progress) && events > 0) {
        struct human_text error, memory;
        lethe_window_stats window = look_at_window(counting);
        snprintf(progress->more, sizeof progress->more, ", %.2f%% duplicates, window error %s, %s",
                 100.0 * (double)counting->totals.duplicates / (double)events,
                 human_probability(window.error_estimate, &error),
                 human_bytes(window.memory_bytes, &memory));
    }
    progress_update(progress, events, counting->bytes_before + counting->bytes_read);
}

static void report_json(const struct counting *counting, double seconds, double error) {
    const struct count_totals *totals = &counting->totals;
    struct json json = json_begin(stdout);
    json_integer(&json, "events", count_events(totals));
    json_integer(&json, "applied", totals->applied);
    json_integer(&json, "duplicates", totals->duplicates);
    json_integer(&json, "late", totals->late);
    json_integer(&json, "future", totals->future);
    json_integer(&json, "rejected", totals->rejected);
    json_integer(&json, "mismatched", totals->mismatched);
    if (counting->counter == NULL) json_integer(&json, "doubtful", counting->doubtful);
    json_integer(&json, "resumed_at", counting->resumed_at);
    json_integer(&json, "pending", counting->pending);
    json_real(&json, "seconds", seconds);
    json_real(&json, "window_error_estimate", error);
    json_real(&json, "expected_wrongly_dropped", counting->wrong);
    json_end(&json);
}

void count_append(char *text, size_t size, uint64_t count, const char *what) {
    size_t length = 0;
    while (text[length] != '\0') {
        length++;
    }
    if (count > 0) snprintf(text + length, size - length, ", %" PRIu64 " %s", count, what);
}

/* A promise under strain is told even to those who want to hear nothing else. */
static void warn_of_strain(const struct counting *counting, const lethe_window_stats *window) {
    struct human_text now, allowed;
    if ((window->strain & LETHE_STRAIN_ERROR) == 0 &&
        window->error_estimate <= window->error_target) {
        return;
    }
    message_warn("%s: a new event is taken for a copy with probability %s, more than the %s that "
                 "is allowed; give the window more --memory",
                 counting->folder, human_probability(window->error_estimate, &now),
                 human_probability(window->error_target, &allowed));
}

void count_report(const struct counting *counting) {
    lethe_window_stats window = look_at_window(counting);
    double seconds = count_now_s() - counting->started_s;
    const struct count_totals *totals = &counting->totals;
    if (counting->json) report_json(counting, seconds, window.error_estimate);
    warn_of_strain(counting, &window);
    if (counting->quiet || counting->json) return;
    char rest[256] = "";
    count_append(rest, sizeof rest, counting->doubtful,
                 "of them sent twice and perhaps applied by this run");
    count_append(rest, sizeof rest, totals->late, "too late to tell");
    count_append(rest, sizeof rest, totals->future, "too far in the future");
    count_append(rest, sizeof rest, totals->mismatched, "with an id that came with other changes");
    count_append(rest, sizeof rest, totals->rejected, "rejected");
    struct human_text error, rate;
    uint64_t events = count_events(totals);
    message_note(
        "%s: %" PRIu64 " event%s: %" PRIu64 " applied, %" PRIu64
        " duplicate%s%s; %.1f s, %s/s; window error now %s, %.2g new events expected to be "
        "wrongly dropped",
        counting->folder, events, events == 1 ? "" : "s", totals->applied, totals->duplicates,
        totals->duplicates == 1 ? "" : "s", rest, seconds,
        human_count((double)events / (seconds > 1e-3 ? seconds : 1e-3), &rate),
        human_probability(window.error_estimate, &error), counting->wrong);
}

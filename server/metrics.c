/* metrics.c - GET /metrics, in the text format of Prometheus: base units, totals that only grow, no
 * label that holds a key. */
#include <inttypes.h>
#include <math.h>

#include "server/request.h"
#include "server/routes.h"
#include "server/state.h"

static void describe(struct text *out, const char *name, const char *type, const char *help) {
    text_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_real(struct text *out, const char *name, const char *help, double value) {
    describe(out, name, "gauge", help);
    text_format(out, "%s %.15g\n", name, value);
}

static void add_count(struct text *out, const char *name, const char *type, const char *help,
                      uint64_t value) {
    describe(out, name, type, help);
    text_format(out, "%s %" PRIu64 "\n", name, value);
}

static void add_outcomes(struct text *out, const struct view *view) {
    describe(out, "lethe_events_total", "counter",
             "Events over the life of the store, by outcome.");
    for (unsigned i = 0; i < OUTCOMES; i++) {
        text_format(out, "lethe_events_total{outcome=\"%s\"} %" PRIu64 "\n", outcome_name(i),
                    view->now.totals.by_outcome[i]);
    }
}

static void add_latency(struct text *out, const struct latency *latency) {
    uint64_t seen = 0;
    double most = LATENCY_LEAST_SECONDS;
    describe(out, "lethe_commit_seconds", "histogram",
             "From the decision on a request's events until they were durable.");
    for (size_t i = 0; i < LATENCY_BUCKETS; i++, most *= 2) {
        seen += latency->counts[i];
        text_format(out, "lethe_commit_seconds_bucket{le=\"%.9g\"} %" PRIu64 "\n", most, seen);
    }
    text_format(out,
                "lethe_commit_seconds_bucket{le=\"+Inf\"} %" PRIu64
                "\nlethe_commit_seconds_sum %.9g\n"
                "lethe_commit_seconds_count %" PRIu64 "\n",
                latency->count, latency->sum_s, latency->count);
}

static void add_window(struct text *out, const struct view *view) {
    const lethe_store_stats *stats = &view->stats;
    uint64_t ids = stats->window.ids, kept_ms = 0;
    if (stats->period_count > 0 && stats->clock_ms > stats->periods[0].first_ms)
        kept_ms = stats->clock_ms - stats->periods[0].first_ms;
    add_real(out, "lethe_window_seconds", "How long ids are remembered, as asked for.",
             (double)stats->window.window_ms / 1000);
    add_real(out, "lethe_window_kept_seconds", "The age of the oldest id that is remembered.",
             (double)kept_ms / 1000);
    add_count(out, "lethe_window_ids", "gauge", "Ids that the window remembers.", ids);
    add_count(out, "lethe_window_memory_bytes", "gauge", "Memory of the window.",
              stats->window.memory_bytes);
    add_real(out, "lethe_window_bytes_per_id", "Memory of the window for each id.",
             ids > 0 ? (double)stats->window.memory_bytes / (double)ids : 0);
    add_real(out, "lethe_error_target",
             "Wanted: how often a fresh id may be taken for a duplicate.",
             stats->window.error_target + stats->ledger.error_target);
    add_real(out, "lethe_error_ratio", "How often a fresh id is taken for a duplicate, now.",
             watch_error(stats));
    describe(out, "lethe_events_expected_lost_total", "counter",
             "Events expected to have been dropped wrongly since the server started.");
    text_format(out, "lethe_events_expected_lost_total %.15g\n", view->expected_lost);
    describe(out, "lethe_strain", "gauge", "1 where a promise cannot be kept at the moment.");
    for (size_t i = 0; i < strain_count; i++) {
        text_format(out, "lethe_strain{kind=\"%s\"} %d\n", strains[i].code,
                    (stats->window.strain & strains[i].bit) != 0);
    }
}

static void add_store(struct text *out, const struct view *view) {
    const lethe_store_stats *stats = &view->stats;
    add_count(out, "lethe_counters", "gauge", "Counters, roughly.", stats->counters);
    add_count(out, "lethe_memory_bytes", "gauge",
              "Memory of the store: window, index, ledger, values, database.", watch_memory(stats));
    add_count(out, "lethe_disk_bytes", "gauge", "Bytes on disk, roughly.", watch_disk(stats));
    add_count(out, "lethe_commits_total", "counter", "Commits over the life of the store.",
              stats->commits);
    add_real(out, "lethe_fold_age_seconds", "Since values were last folded into tables.",
             view->fold_age_s);
    if (!stats->forever) return;
    add_count(out, "lethe_ledger_ids", "gauge", "Ids that are remembered for ever.",
              stats->ledger.ids);
    add_count(out, "lethe_ledger_capacity", "gauge", "Ids that the ledger was planned for.",
              stats->ledger.capacity);
}

static void add_holds(struct text *out, const struct server *server, const struct view *view) {
    const lethe_holds_stats *holds = &view->holds;
    add_count(out, "lethe_holds_open", "gauge", "Holds that are neither settled nor released.",
              holds->open);
    add_count(out, "lethe_holds_ended", "gauge", "Holds of which it is known how they ended.",
              holds->ended);
    add_real(out, "lethe_holds_held", "What is held of all counters together.",
             (double)holds->held / pow(10, server->scale));
    add_count(out, "lethe_holds_memory_bytes", "gauge", "Memory of the open holds.",
              holds->memory_bytes);
    add_count(out, "lethe_holds_forced_total", "counter",
              "How often a settlement has passed its limit by force.", holds->forced);
}

static void add_server(struct text *out, struct server *server, const struct view *view) {
    lethe_store *store = door_enter(&server->door);
    if (store != NULL) door_leave(&server->door);
    add_count(out, "lethe_store_open", "gauge", "1 while the store takes events.", store != NULL);
    add_count(out, "lethe_store_reopened_total", "counter",
              "How often the store was opened again after a failure.", server->door.reopened);
    describe(out, "lethe_http_answers_total", "counter", "Answers, by the class of their status.");
    for (size_t i = 2; i < 6; i++) {
        text_format(out, "lethe_http_answers_total{class=\"%zuxx\"} %" PRIu64 "\n", i,
                    __atomic_load_n(&server->watch.answers[i], __ATOMIC_RELAXED));
    }
    add_count(out, "lethe_http_body_bytes", "gauge",
              "Memory that the bodies of requests take, except small ones.",
              atomic_load(&server->bodies.used));
    add_count(out, "lethe_http_bodies_refused_total", "counter",
              "Requests that found no memory for their body.",
              atomic_load(&server->bodies.refused));
    add_real(out, "lethe_uptime_seconds", "Since the server started.", view->uptime_s);
}

void metrics_write(struct server *server, struct text *out) {
    static _Thread_local struct view view;
    watch_view(&server->watch, &view);
    struct latency latency = waiter_latency(&server->waiter);
    add_outcomes(out, &view);
    add_latency(out, &latency);
    add_window(out, &view);
    add_store(out, &view);
    add_holds(out, server, &view);
    add_server(out, server, &view);
}

void answer_metrics(struct request *request) {
    metrics_write(request->server, &request->answer);
    request_answer(request, 200, "text/plain; version=0.0.4; charset=utf-8");
}

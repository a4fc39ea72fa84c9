/* status.c - the state of the server as one JSON object, for /v1/status and each line of /v1/live.
 *
 * Numbers of 64 bits are strings: not every reader of JSON keeps them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "frame/clock.h"
#include "server/request.h"
#include "server/routes.h"
#include "server/state.h"

const struct strain strains[] = {
    {LETHE_STRAIN_ERROR, "error",
     "More fresh events than wanted are taken for duplicates: the window's error is above its "
     "target.",
     "Give the window more memory, or shorten it; see docs/guarantees.md."},
    {LETHE_STRAIN_MEMORY, "memory",
     "The window has reached its memory cap: new ids are refused, or the error rises.",
     "Give more --memory, or a shorter --window."},
    {LETHE_STRAIN_CLOCK, "clock",
     "The clock is behind the window's own: nothing is forgotten until it has caught up.",
     "Check the machine's clock, or the times that events carry."},
    {LETHE_STRAIN_REFUSED, "refused", "The window refused the last id.",
     "Give the window more room."},
};
const size_t strain_count = sizeof strains / sizeof strains[0];

static void add_totals(struct text *out, const struct view *view) {
    text_put(out, "\"totals\":{");
    for (unsigned i = 0; i < OUTCOMES; i++) {
        text_format(out, "%s\"%s\":\"%" PRIu64 "\"", i > 0 ? "," : "", outcome_name(i),
                    view->now.totals.by_outcome[i]);
    }
    text_put(out, "},\"rate\":{");
    double seconds = view->now.at_s - view->before.at_s;
    for (unsigned i = 0; i < OUTCOMES; i++) {
        uint64_t now = view->now.totals.by_outcome[i], before = view->before.totals.by_outcome[i];
        /* The store may be an older one than a second ago: a backup that took its place. */
        double more = now > before ? (double)(now - before) : 0;
        text_format(out, "%s\"%s\":%.1f", i > 0 ? "," : "", outcome_name(i),
                    seconds > 0 ? more / seconds : 0.0);
    }
    text_put(out, "},");
}

static void add_ages(struct text *out, const lethe_store_stats *stats) {
    text_put(out, "\"ages\":[");
    for (uint64_t i = stats->period_count; i-- > 0;) {
        const lethe_store_period *period = &stats->periods[i];
        uint64_t clock = stats->clock_ms;
        uint64_t from = clock > period->last_ms ? clock - period->last_ms : 0;
        uint64_t to = clock > period->first_ms ? clock - period->first_ms : 0;
        text_format(out,
                    "%s{\"from_ms\":%" PRIu64 ",\"to_ms\":%" PRIu64 ",\"ids\":\"%" PRIu64 "\"}",
                    i + 1 < stats->period_count ? "," : "", from, to, period->ids);
    }
    text_put(out, "]");
}

static void add_window(struct text *out, const struct view *view) {
    const lethe_store_stats *stats = &view->stats;
    const lethe_store_window *window = &stats->window;
    text_format(out,
                "\"window\":{\"kind\":\"%s\",\"window_ms\":%" PRIu64 ",\"ids\":\"%" PRIu64
                "\",\"memory_bytes\":%" PRIu64 ",\"error_target\":",
                window->kind == LETHE_WINDOW_FORGETFUL ? "forgetful" : "quotient",
                window->window_ms, window->ids, window->memory_bytes);
    text_real(out, stats->exact ? 0 : window->error_target);
    text_put(out, ",\"error_now\":");
    text_real(out, stats->exact ? 0 : window->error_estimate);
    text_put(out, ",\"expected_lost\":");
    text_real(out, view->expected_lost);
    text_put(out, ",");
    add_ages(out, stats);
    text_put(out, "},\"ledger\":");
    if (!stats->forever) {
        text_put(out, "null,");
        return;
    }
    text_format(out, "{\"ids\":\"%" PRIu64 "\",\"capacity\":\"%" PRIu64 "\",\"error_target\":",
                stats->ledger.ids, stats->ledger.capacity);
    text_real(out, stats->ledger.error_target);
    text_put(out, ",\"error_now\":");
    text_real(out, stats->ledger.error_estimate);
    text_put(out, "},");
}

static void add_strain(struct text *out, uint32_t strain, bool is_open) {
    bool has_one = false;
    text_put(out, "\"strain\":[");
    for (size_t i = 0; i < strain_count; i++) {
        if ((strain & strains[i].bit) == 0) continue;
        text_format(out, "%s{\"code\":\"%s\",\"text\":\"%s\",\"remedy\":\"%s\"}",
                    has_one ? "," : "", strains[i].code, strains[i].text, strains[i].remedy);
        has_one = true;
    }
    if (!is_open) {
        text_format(out,
                    "%s{\"code\":\"store\",\"text\":\"The store failed and is being opened "
                    "again: nothing is counted.\",\"remedy\":\"Look at the server's messages: "
                    "is the disk full?\"}",
                    has_one ? "," : "");
    }
    text_put(out, "],");
}

static void add_holds(struct text *out, const lethe_holds_stats *holds, unsigned scale) {
    int64_t held = holds->held < INT64_MAX ? (int64_t)holds->held : INT64_MAX;
    text_format(out,
                "\"holds\":{\"open\":\"%" PRIu64 "\",\"ended\":\"%" PRIu64
                "\",\"forced\":\"%" PRIu64 "\",\"held\":",
                holds->open, holds->ended, holds->forced);
    text_value(out, held, scale);
    text_put(out, "},");
}

static void add_meters(struct text *out, const lethe_store_stats *stats) {
    const char *at = stats->per;
    text_put(out, "\"meters\":{\"per\":[");
    while (*at != '\0') {
        size_t size = strcspn(at, ",");
        if (at != stats->per) text_put(out, ",");
        text_quoted(out, (lethe_bytes){.data = at, .size = size});
        at += size + (at[size] == ',');
    }
    text_put(out, "],\"zone\":");
    text_quoted_string(out, stats->zone[0] != '\0' ? stats->zone : "UTC");
    text_put(out, "}");
}

static void add_top(struct text *out, struct watch *watch) {
    text_put(out, "\"top\":[");
    pthread_mutex_lock(&watch->lock);
    watch->top_wanted_s = clock_seconds();
    text_add(out, watch->top.data, watch->top.size);
    double since_s = watch->top_began_s > 0 ? watch->top_began_s - watch->started_s : NAN;
    pthread_mutex_unlock(&watch->lock);
    text_put(out, "],\"top_uptime_s\":");
    text_real(out, since_s);
    text_put(out, ",");
}

void status_write(struct server *server, struct text *out) {
    static _Thread_local struct view view;
    watch_view(&server->watch, &view);
    const lethe_store_stats *stats = &view.stats;
    lethe_store *store = door_enter(&server->door);
    if (store != NULL) door_leave(&server->door);
    text_format(out, "{\"time_ms\":%" PRIu64 ",\"uptime_s\":%.3f,", clock_wall_ms(), view.uptime_s);
    add_totals(out, &view);
    add_window(out, &view);
    text_format(out,
                "\"memory_bytes\":%" PRIu64 ",\"disk_bytes\":%" PRIu64 ",\"counters\":\"%" PRIu64
                "\",\"commit\":{\"count\":\"%" PRIu64 "\",\"p50_ms\":%.3f,\"p99_ms\":%.3f},"
                "\"fold_age_s\":%.3f,",
                watch_memory(stats), watch_disk(stats), stats->counters, stats->commits,
                1000 * latency_quantile(&view.minute.latency, &view.now.latency, 0.5),
                1000 * latency_quantile(&view.minute.latency, &view.now.latency, 0.99),
                view.fold_age_s);
    add_strain(out, stats->window.strain, store != NULL);
    add_top(out, &server->watch);
    add_holds(out, &view.holds, server->scale);
    add_meters(out, stats);
    text_put(out, "}\n");
}

void answer_status(struct request *request) {
    status_write(request->server, &request->answer);
    request_answer(request, 200, type_json);
}

/* tables_status.c - a server over Redis and one of its tables, as one JSON object: for /v1/status
 * and each line of /v1/live.
 *
 * The figures of the table have the names that those of a store have (status.c), so one page shows
 * both. What a table does not have is null: disk, commits, folds. 64-bit numbers are strings. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "frame/clock.h"
#include "server/state.h"
#include "server/tables.h"

const struct strain table_strains[] = {
    {LETHE_STRAIN_ERROR, "error",
     "More fresh events than wanted are taken for duplicates: the window's error is above its "
     "target.",
     "Give the table more MAXMEMORY, or a shorter WINDOW; see docs/guarantees.md."},
    {LETHE_STRAIN_MEMORY, "memory",
     "The window has reached its memory cap: new ids are refused, or the error rises.",
     "Make the table with more MAXMEMORY, or a shorter WINDOW."},
    {LETHE_STRAIN_CLOCK, "clock",
     "The server's clock is behind the window's own: nothing is forgotten until it has caught up.",
     "Check the clock of the server's machine."},
    {TABLE_STRAIN_EVICTION, "eviction",
     "The server may evict this table when its memory is short, and with it all counters and ids.",
     "Set the server's maxmemory-policy to noeviction or to one of volatile-*."},
    {TABLE_STRAIN_PARTITIONS, "partitions",
     "Partitions of this table are missing: what was counted in them is not in the totals.",
     "Were they deleted, or lost with a server? 'lethe count' makes them again, empty."},
};
const size_t table_strain_count = sizeof table_strains / sizeof table_strains[0];

uint32_t table_strain(const struct source_table *table) {
    uint32_t strain = table->strain;
    if (table->may_be_evicted) strain |= TABLE_STRAIN_EVICTION;
    if (table->missing > 0) strain |= TABLE_STRAIN_PARTITIONS;
    return strain;
}

static void add_events(struct text *out, const struct table *table) {
    const struct table_sample *now = &table->latest, *before = &table->before;
    double seconds = now->at_s - before->at_s;
    double each = seconds > 0 ? 1 / seconds : 0;
    text_format(out,
                "\"totals\":{\"applied\":\"%" PRIu64 "\",\"duplicate\":\"%" PRIu64
                "\",\"refused\":\"%" PRIu64
                "\"},\"rate\":{\"applied\":%.1f,\"duplicate\":%.1f,\"refused\":%.1f},",
                now->applied, now->duplicates, now->refused,
                each * (double)(now->applied - before->applied),
                each * (double)(now->duplicates - before->duplicates),
                each * (double)(now->refused - before->refused));
}

static void add_window(struct text *out, const struct source_table *table) {
    text_format(out,
                "\"window\":{\"kind\":\"%s\",\"window_ms\":%" PRIu64 ",\"ids\":\"%" PRIu64
                "\",\"memory_bytes\":%" PRIu64 ",\"error_target\":",
                table->is_forgetful ? "forgetful" : "quotient", table->window_ms, table->ids,
                table->window_bytes);
    text_real(out, table->error_target);
    text_put(out, ",\"error_now\":");
    text_real(out, table->error_now);
    text_put(out, ",\"expected_lost\":");
    text_real(out, table->expected_lost);
    text_put(out, ",\"ages\":[");
    /* How old each id is, a table does not say. */
    if (table->ids > 0)
        text_format(out, "{\"from_ms\":0,\"to_ms\":%" PRIu64 ",\"ids\":\"%" PRIu64 "\"}",
                    table->oldest_ms, table->ids);
    text_format(out, "],\"kept_ms\":%" PRIu64, table->kept_ms);
    text_put(out, "},\"ledger\":null,");
}

static void add_strain(struct text *out, uint32_t strain) {
    bool has_one = false;
    text_put(out, "\"strain\":[");
    for (size_t i = 0; i < table_strain_count; i++) {
        const struct strain *one = &table_strains[i];
        if ((strain & one->bit) == 0) continue;
        text_format(out, "%s{\"code\":\"%s\",\"text\":\"%s\",\"remedy\":\"%s\"}",
                    has_one ? "," : "", one->code, one->text, one->remedy);
        has_one = true;
    }
    text_put(out, "],");
}

static void add_meters(struct text *out, const char *per) {
    text_put(out, "\"meters\":{\"per\":[");
    for (const char *at = per; *at != '\0';) {
        size_t size = strcspn(at, ",");
        if (at != per) text_put(out, ",");
        text_quoted(out, (lethe_bytes){.data = at, .size = size});
        at += size + (at[size] == ',');
    }
    text_put(out, "],\"zone\":\"UTC\"}");
}

static void add_table(struct text *out, struct table *table, double started_s) {
    const struct source_table *now = &table->now;
    table->top_wanted_s = clock_seconds();
    text_put(out, ",\"table\":{");
    text_bytes(out, "name", now->name);
    text_format(out, ",\"partitions\":%" PRIu64 ",\"missing\":%" PRIu64 "},", now->partitions,
                now->missing);
    add_events(out, table);
    add_window(out, now);
    text_format(out,
                "\"memory_bytes\":%" PRIu64 ",\"disk_bytes\":null,\"counters\":\"%" PRIu64
                "\",\"commit\":null,\"fold_age_s\":null,\"claims\":{\"running\":\"%" PRIu64
                "\",\"done\":\"%" PRIu64 "\"},\"open_holds\":\"%" PRIu64 "\",",
                now->memory_bytes, now->counters, now->claims_running, now->claims_done,
                now->holds_open);
    add_strain(out, table_strain(now));
    text_put(out, "\"top\":[");
    text_add(out, table->top.data, table->top.size);
    text_put(out, "],\"top_uptime_s\":");
    text_real(out, table->top_began_s > 0 ? table->top_began_s - started_s : NAN);
    text_put(out, ",");
    add_meters(out, now->per);
}

static void add_redis(struct text *out, const struct tables *tables) {
    text_put(out, "\"redis\":{\"shown\":");
    text_quoted_string(out, tables->source->shown);
    text_format(out, ",\"is_lost\":%s,\"reason\":", tables->is_lost ? "true" : "false");
    if (tables->is_lost)
        text_quoted_string(out, tables->reason);
    else
        text_put(out, "null");
    text_format(out, ",\"seen_ms\":%" PRIu64 ",\"skipped\":%" PRIu64 "},\"tables\":[",
                tables->seen_ms, tables->skipped);
    for (size_t i = 0; i < tables->count; i++) {
        text_put(out, i > 0 ? ",{" : "{");
        text_bytes(out, "name", tables->list[i]->now.name);
        text_put(out, "}");
    }
    text_put(out, "],\"absent\":[");
    text_add(out, tables->absent.data, tables->absent.size);
    text_put(out, "]");
}

void tables_write(struct tables *tables, lethe_bytes name, struct text *out) {
    pthread_mutex_lock(&tables->lock);
    struct table *table = tables_find(tables, name);
    text_format(out, "{\"time_ms\":%" PRIu64 ",\"uptime_s\":%.3f,", clock_wall_ms(),
                clock_seconds() - tables->started_s);
    add_redis(out, tables);
    if (table != NULL)
        add_table(out, table, tables->started_s);
    else
        text_put(out, ",\"table\":null");
    pthread_mutex_unlock(&tables->lock);
    text_put(out, "}\n");
}

void answer_table_status(struct request *request) {
    struct tables *tables = request->server->tables;
    char room[REQUEST_PART_BYTES];
    lethe_bytes name = {0};
    if (!request_argument_bytes(request, "table", room, &name)) return;
    pthread_mutex_lock(&tables->lock);
    bool is_there = name.size == 0 || tables_find(tables, name) != NULL;
    pthread_mutex_unlock(&tables->lock);
    if (!is_there) {
        request_problem(request, 404, "Not found", "there is no such table");
        return;
    }
    tables_write(tables, name, &request->answer);
    request_answer(request, 200, type_json);
}

void answer_table_ready(struct request *request) {
    struct tables *tables = request->server->tables;
    char reason[SOURCE_PROBLEM_BYTES];
    pthread_mutex_lock(&tables->lock);
    bool is_ready = !tables->is_lost && tables->looks > 0;
    memcpy(reason, tables->reason, sizeof reason);
    pthread_mutex_unlock(&tables->lock);
    if (is_ready) {
        text_put(&request->answer, "{\"status\":\"ready\"}\n");
        request_answer(request, 200, type_json);
        return;
    }
    request_problem(request, 503, "Redis is lost", "%s", reason);
    request->asks_again = true;
}

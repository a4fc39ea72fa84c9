/* tables_metrics.c - GET /metrics of a server over Redis, in the text format of Prometheus.
 *
 * The names are those of a store's figures (metrics.c), with the label `table`. No label holds the
 * key of a counter.
 *
 * I1      Two tables never have the same label: a byte that is not UTF-8 becomes \xNN, and every
 *         backslash becomes two.
 * I2      While Redis is lost there are no figures of tables: what is old is not shown as new. */
#include <inttypes.h>

#include "frame/clock.h"
#include "say/utf8.h"
#include "server/state.h"
#include "server/tables.h"

static void describe(struct text *out, const char *name, const char *type, const char *help) {
    text_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* {table="NAME", without its end. */
static void begin_sample(struct text *out, const char *name, const struct table *table) {
    const unsigned char *at = (const unsigned char *)table->name, *end = at + table->size;
    text_format(out, "%s{table=\"", name);
    while (at < end) {
        size_t size = utf8_length(at, (size_t)(end - at));
        if (size == 0)
            text_format(out, "\\\\x%02x", *at); /* I1; the format itself escapes the backslash */
        else if (*at == '\\')
            text_put(out, "\\\\\\\\");
        else if (*at == '"')
            text_put(out, "\\\"");
        else if (*at == '\n')
            text_put(out, "\\n");
        else
            text_add(out, at, size);
        at += size > 0 ? size : 1;
    }
    text_put(out, "\"");
}

/* A figure that each table has: how it is called, and where it is. */
struct figure {
    const char *name, *type, *help;
    double (*of)(const struct source_table *table);
};

static double window_seconds(const struct source_table *table) {
    return (double)table->window_ms / 1000;
}

static double kept_seconds(const struct source_table *table) {
    return (double)table->kept_ms / 1000;
}

static double bytes_per_id(const struct source_table *table) {
    return table->ids > 0 ? (double)table->window_bytes / (double)table->ids : 0;
}

static double error_target(const struct source_table *table) {
    return table->error_target;
}

static double error_now(const struct source_table *table) {
    return table->error_now;
}

static double expected_lost(const struct source_table *table) {
    return table->expected_lost;
}

static const struct figure reals[] = {
    {"lethe_window_seconds", "gauge", "How long ids are remembered, as asked for.", window_seconds},
    {"lethe_window_kept_seconds", "gauge",
     "The age of the oldest id, at most, in the partition where that is least.", kept_seconds},
    {"lethe_window_bytes_per_id", "gauge", "Memory of the window for each id.", bytes_per_id},
    {"lethe_error_target", "gauge", "Wanted: how often a fresh id may be taken for a duplicate.",
     error_target},
    {"lethe_error_ratio", "gauge",
     "How often a fresh id is taken for a duplicate, now, in the worst partition.", error_now},
    {"lethe_events_expected_lost_total", "counter",
     "Events expected to have been dropped wrongly since the server first saw the table.",
     expected_lost},
};

struct count {
    const char *name, *help;
    size_t offset;
};

#define COUNT(name, help, member) \
    { name, help, offsetof(struct source_table, member) }
static const struct count counts[] = {
    COUNT("lethe_window_ids", "Ids that the window remembers.", ids),
    COUNT("lethe_window_memory_bytes", "Memory of the window.", window_bytes),
    COUNT("lethe_counters", "Counters, in all partitions.", counters),
    COUNT("lethe_memory_bytes", "Memory of the table.", memory_bytes),
    COUNT("lethe_table_partitions", "Partitions of the table.", partitions),
    COUNT("lethe_table_partitions_missing", "Partitions that are not there.", missing),
    COUNT("lethe_claims_running", "Claims that are not done.", claims_running),
    COUNT("lethe_claims_done", "Claims that are done.", claims_done),
    COUNT("lethe_holds_open", "Holds that are neither settled nor released.", holds_open),
};

static uint64_t count_of(const struct source_table *table, const struct count *count) {
    return *(const uint64_t *)(const void *)((const char *)table + count->offset);
}

static void add_events(struct text *out, const struct tables *tables) {
    static const struct {
        const char *outcome;
        size_t offset;
    } outcomes[] = {{"applied", offsetof(struct source_table, applied)},
                    {"duplicate", offsetof(struct source_table, duplicates)},
                    {"refused", offsetof(struct source_table, refused)}};
    describe(out, "lethe_events_total", "counter",
             "Events over the life of the table, by outcome.");
    for (size_t i = 0; i < tables->count; i++) {
        for (size_t k = 0; k < sizeof outcomes / sizeof outcomes[0]; k++) {
            struct count count = {.offset = outcomes[k].offset};
            begin_sample(out, "lethe_events_total", tables->list[i]);
            text_format(out, ",outcome=\"%s\"} %" PRIu64 "\n", outcomes[k].outcome,
                        count_of(&tables->list[i]->now, &count));
        }
    }
}

static void add_tables(struct text *out, const struct tables *tables) {
    add_events(out, tables);
    for (size_t k = 0; k < sizeof reals / sizeof reals[0]; k++) {
        describe(out, reals[k].name, reals[k].type, reals[k].help);
        for (size_t i = 0; i < tables->count; i++) {
            begin_sample(out, reals[k].name, tables->list[i]);
            text_format(out, "} %.15g\n", reals[k].of(&tables->list[i]->now));
        }
    }
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        describe(out, counts[k].name, "gauge", counts[k].help);
        for (size_t i = 0; i < tables->count; i++) {
            begin_sample(out, counts[k].name, tables->list[i]);
            text_format(out, "} %" PRIu64 "\n", count_of(&tables->list[i]->now, &counts[k]));
        }
    }
    describe(out, "lethe_strain", "gauge", "1 where a promise cannot be kept at the moment.");
    for (size_t i = 0; i < tables->count; i++) {
        uint32_t strain = table_strain(&tables->list[i]->now);
        for (size_t k = 0; k < table_strain_count; k++) {
            begin_sample(out, "lethe_strain", tables->list[i]);
            text_format(out, ",kind=\"%s\"} %d\n", table_strains[k].code,
                        (strain & table_strains[k].bit) != 0);
        }
    }
}

static void add_one(struct text *out, const char *name, const char *type, const char *help,
                    double value) {
    describe(out, name, type, help);
    text_format(out, "%s %.15g\n", name, value);
}

static void add_server(struct text *out, const struct tables *tables) {
    const struct server *server = tables->server;
    double now = clock_seconds();
    add_one(out, "lethe_redis_up", "gauge", "1 while Redis answers.", !tables->is_lost);
    add_one(out, "lethe_redis_lost_total", "counter", "How often Redis was lost.",
            (double)tables->losses);
    add_one(out, "lethe_tables", "gauge", "Tables that are shown.",
            tables->is_lost ? 0 : (double)tables->count);
    add_one(out, "lethe_tables_skipped", "gauge",
            "Tables that are there and not shown, because there are too many or their names are "
            "too long.",
            (double)tables->skipped);
    if (tables->looks > 0) {
        add_one(out, "lethe_look_age_seconds", "gauge", "Since the tables were last looked at.",
                now - tables->seen_s);
        add_one(out, "lethe_look_seconds", "gauge", "How long the last look took.", tables->took_s);
    }
    describe(out, "lethe_http_answers_total", "counter", "Answers, by the class of their status.");
    for (size_t i = 2; i < 6; i++) {
        text_format(out, "lethe_http_answers_total{class=\"%zuxx\"} %" PRIu64 "\n", i,
                    __atomic_load_n(&server->watch.answers[i], __ATOMIC_RELAXED));
    }
    add_one(out, "lethe_uptime_seconds", "gauge", "Since the server started.",
            now - tables->started_s);
}

void answer_table_metrics(struct request *request) {
    struct tables *tables = request->server->tables;
    struct text *out = &request->answer;
    pthread_mutex_lock(&tables->lock);
    if (!tables->is_lost) add_tables(out, tables); /* I2 */
    add_server(out, tables);
    pthread_mutex_unlock(&tables->lock);
    request_answer(request, 200, "text/plain; version=0.0.4; charset=utf-8");
}

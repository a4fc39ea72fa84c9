/* bench/events.c - lines become operations: what parsing alone costs, in each format.
 *
 * Lines are in memory. Their ends are looked for, and each is parsed into a batch, as `lethe count`
 * does before anything is counted. "short" is an id of 16 letters, a key of 10 and a delta; "long"
 * has the same and what an event of a web server has beside it. JSON is scanned in each way that
 * this CPU can, and read by jansson, which makes a tree of each line. "together": lines are taken
 * many at a time (events/simple.h), as `lethe count` does where they are simple. Times are of one
 * thread, whatever else the machine does. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events/frame.h"
#include "events/parse.h"
#include "events/simple.h"
#include "frame.h"
#include "keys.h"
#include "lethe/version.h"
#include "report.h"

static const struct report_column columns[] = {
    {"format", "format", 12, -2},   {"lines", "lines", 6, -2}, {"way", "way", 9, -2},
    {"bytes", "bytes/line", 11, 1}, {"mb", "MB/s", 8, 0},      {"mlines", "M lines/s", 10, 2},
};

enum { COLUMNS = sizeof columns / sizeof columns[0], LINE_BYTES = 512 };

struct way {
    const char *format, *lines, *name;
    enum event_kind kind;
    const char *fields;
    /* Of printf: an id, a key and a delta. */
    const char *pattern;
    /* NULL: as the format has it. */
    scan_function *scan;
    /* jansson reads it. */
    bool is_peer;
    /* Lines are taken many at a time. */
    bool is_together;
};

#define JSON_SHORT "{\"id\":\"%016" PRIx64 "\",\"key\":\"page-%05u\",\"delta\":%u}\n"
#define JSON_LONG                                                                                \
    "{\"time\": \"2023-11-14T22:13:20.500Z\", \"level\": \"info\", \"meta\": {\"id\": "          \
    "\"%016" PRIx64 "\", \"host\": \"web-17.example.org\", \"tags\": [\"a\", \"b\"]}, \"key\": " \
    "\"page-%05u\", \"agent\": \"Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 "      \
    "Firefox/119.0\", \"status\": 200, \"ms\": 12.75, \"delta\": %u}\n"

static const struct way ways[] = {
    {"plain", "short", "", EVENTS_PLAIN, NULL, "%016" PRIx64 "\tpage-%05u\t%u\n", NULL, false,
     false},
    {"plain", "short", "together", EVENTS_PLAIN, NULL, "%016" PRIx64 "\tpage-%05u\t%u\n", NULL,
     false, true},
    {"CSV", "short", "", EVENTS_CSV, NULL, "%016" PRIx64 ",page-%05u,%u\n", NULL, false, false},
#if defined(__x86_64__)
    {"JSON lines", "short", "avx2", EVENTS_JSONL, NULL, JSON_SHORT, scan_avx2, false, false},
#endif
    {"JSON lines", "short", "portable", EVENTS_JSONL, NULL, JSON_SHORT, scan_portable, false,
     false},
    {"JSON lines", "short", "together", EVENTS_JSONL, NULL, JSON_SHORT, NULL, false, true},
    {"JSON lines", "short", "jansson", EVENTS_JSONL, NULL, JSON_SHORT, NULL, true, false},
#if defined(__x86_64__)
    {"JSON lines", "long", "avx2", EVENTS_JSONL, "id=meta.id,key=key,delta=delta", JSON_LONG,
     scan_avx2, false, false},
#endif
    {"JSON lines", "long", "portable", EVENTS_JSONL, "id=meta.id,key=key,delta=delta", JSON_LONG,
     scan_portable, false, false},
    {"JSON lines", "long", "together", EVENTS_JSONL, "id=meta.id,key=key,delta=delta", JSON_LONG,
     NULL, false, true},
    {"JSON lines", "long", "jansson", EVENTS_JSONL, NULL, JSON_LONG, NULL, true, false},
};

struct lines {
    char *text;
    size_t size, count;
};

static struct lines make_lines(const struct way *way, size_t count, uint64_t seed) {
    struct lines lines = {.text = malloc(count * LINE_BYTES), .count = count};
    bench_require(lines.text != NULL, "making lines");
    for (size_t i = 0; i < count; i++) {
        uint64_t id = keys_scramble(seed + i);
        /* The patterns are the literals above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        lines.size += (size_t)snprintf(lines.text + lines.size, LINE_BYTES, way->pattern, id,
                                       (unsigned)(id % 100000), (unsigned)(id % 9) + 1);
#pragma GCC diagnostic pop
    }
    return lines;
}

/* Parses all lines into batches. Returns how many events there were. */
static size_t parse_lines(const struct lines *lines, const struct event_format *format,
                          struct event_batch *batch) {
    size_t at = 0, count = 0;
    char delimiter = event_frame_delimiter(format);
    event_batch_clear(batch);
    while (at < lines->size) {
        struct event_frame frame = {0};
        struct event_record record;
        struct event_problem problem;
        if (!event_frame_find(&frame, delimiter, lines->text + at, lines->size - at, true,
                              &record)) {
            break;
        }
        if (!event_batch_has_room(batch, record.size)) event_batch_clear(batch);
        lethe_bytes line = {.data = lines->text + at, .size = record.size};
        count += event_parse(format, line, count + 1, batch, &problem) == EVENT_TAKEN;
        at += record.taken;
    }
    return count;
}

/* The same, many lines at a time. All of them are simple. */
static size_t take_together(const struct lines *lines, const struct event_format *format,
                            struct event_batch *batch) {
    struct simple_rule rule = {0};
    size_t at = 0, count = 0, taken = 1;
    bench_require(simple_rule_make(format, &rule), "making a rule");
    simple_function *take = simple_choose(format->kind);
    rule.most = EVENTS_PER_BATCH;
    for (; at < lines->size && taken > 0; at += taken) {
        event_batch_clear(batch);
        lethe_bytes rest = {.data = lines->text + at, .size = lines->size - at};
        taken = take(&rule, rest, count + 1, batch);
        count += batch->count;
    }
    return count;
}

/* The same by jansson: a tree of each line, of which three members are looked up. */
static size_t read_by_peer(const struct lines *lines) {
    size_t count = 0;
    const char *at = lines->text, *end = at + lines->size;
    for (const char *stop; at < end; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        json_t *root = json_loadb(at, (size_t)(stop - at), 0, NULL);
        const json_t *meta = json_object_get(root, "meta");
        count += json_is_string(json_object_get(meta != NULL ? meta : root, "id")) &&
                 json_is_string(json_object_get(root, "key")) &&
                 json_is_integer(json_object_get(root, "delta"));
        json_decref(root);
    }
    return count;
}

static void run_way(const struct way *way, const struct bench_options *options,
                    struct event_batch *batch, struct report *report) {
    struct lines lines = make_lines(way, options->quick ? 20000 : 1000000, options->seed);
    struct event_format_options format_options = {.kind = way->kind, .fields = way->fields};
    struct event_format format;
    struct event_problem problem;
    double best = INFINITY;
    bench_require(event_format_make(&format_options, &format, &problem), "making a format");
    if (way->scan != NULL) format.scan = way->scan;
    for (int i = 0; i < options->runs; i++) {
        double start = bench_cpu_now();
        size_t count = way->is_peer       ? read_by_peer(&lines)
                       : way->is_together ? take_together(&lines, &format, batch)
                                          : parse_lines(&lines, &format, batch);
        best = fmin(best, bench_cpu_now() - start);
        bench_require(count == lines.count, "parsing lines");
    }
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT(way->format),
                           REPORT_TEXT(way->lines),
                           REPORT_TEXT(way->name),
                           REPORT_NUMBER((double)lines.size / (double)lines.count),
                           REPORT_NUMBER((double)lines.size / best * 1e-6),
                           REPORT_NUMBER((double)lines.count / best * 1e-6),
                       });
    free(lines.text);
}

static int run_events(const struct bench_options *options) {
    struct event_batch batch;
    struct report report;
    bool has_avx2 = strcmp(lethe_cpu_path(), "scalar") != 0;
    bench_require(event_batch_init(&batch), "making a batch");
    report_begin(&report, "events", options->json, columns, COLUMNS);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (has_avx2 || strcmp(ways[i].name, "avx2") != 0) {
            run_way(&ways[i], options, &batch, &report);
        }
    }
    report_end(&report);
    event_batch_free(&batch);
    return 0;
}

const struct workload workload_events = {
    .name = "events",
    .summary = "parsing plain lines, CSV and JSON, beside jansson",
    .run = run_events,
};

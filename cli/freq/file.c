/* file.c - sketches as files, and sketches in words. */
#include "freq/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/interrupt.h"
#include "output/output.h"
#include "output/saved.h"
#include "say/human.h"
#include "say/message.h"
#include "say/rows.h"

#define EXPORT_TYPE "SKFQ"

const char *freq_kind_name(lethe_sketch_kind kind) {
    static const char *const names[] = {"cm", "cu", "count", "cml", "fid"};
    return names[kind];
}

const char *freq_removal_name(lethe_sketch_removal removal) {
    static const char *const names[] = {"default", "none", "subtraction", "count-min"};
    return names[removal];
}

static bool is_export(const char *path) {
    lethe_file_info info = LETHE_INIT(lethe_file_info);
    return lethe_file_peek(path, &info, NULL) == LETHE_OK && strcmp(info.type, EXPORT_TYPE) == 0;
}

int freq_load(const char *path, lethe_sketch **out) {
    *out = NULL;
    if (is_export(path)) {
        return message_fail(EXIT_BAD_DATA,
                            "%s is an export, which only answers queries; name the sketch that it "
                            "was exported from",
                            path);
    }
    errno = 0;
    lethe_status status = lethe_sketch_load_file(path, NULL, out, NULL);
    return status == LETHE_OK ? EXIT_DONE : message_fail_file(status, "read the sketch", path);
}

int freq_load_to_query(const char *path, lethe_sketch **out) {
    if (!is_export(path)) return freq_load(path, out);
    errno = 0;
    lethe_status status = lethe_sketch_import_file(path, NULL, out, NULL);
    return status == LETHE_OK ? EXIT_DONE : message_fail_file(status, "read the sketch", path);
}

static int write_with(lethe_status (*write)(const lethe_sketch *sketch, const char *path,
                                            lethe_detail *detail),
                      const lethe_sketch *sketch, const char *path) {
    interrupt_hold();
    errno = 0;
    lethe_status status = write(sketch, path, NULL);
    int code = EXIT_DONE;
    if (status != LETHE_OK) code = message_fail_file(status, "write the sketch", path);
    interrupt_release();
    return code;
}

int freq_save(const lethe_sketch *sketch, const char *path) {
    return write_with(lethe_sketch_save_file, sketch, path);
}

int freq_export_to(const lethe_sketch *sketch, const char *path) {
    return write_with(lethe_sketch_export_file, sketch, path);
}

struct freq_facts freq_facts_of(const lethe_sketch *sketch) {
    struct freq_facts facts = {.shape = LETHE_INIT(lethe_sketch_shape),
                               .stats = LETHE_INIT(lethe_sketch_stats)};
    (void)lethe_sketch_get_shape(sketch, &facts.shape);
    (void)lethe_sketch_info(sketch, &facts.stats);
    return facts;
}

/* "at most 81 above (except for 1.8% of keys), never below". */
static void describe_error(const struct freq_facts *facts, char *text, size_t size) {
    const lethe_sketch_stats *stats = &facts->stats;
    struct human_text delta;
    bool is_below = stats->error_below > 0;
    bool is_above_only = !is_below && facts->shape.kind != LETHE_SKETCH_LOG;
    int used =
        snprintf(text, size, "at most %.0f above%s (except for %s of keys)%s", stats->error_above,
                 is_below ? " or below" : "", human_probability(facts->shape.delta, &delta),
                 is_above_only ? ", never below" : "");
    if (stats->relative_error > 0) {
        snprintf(text + used, size - (size_t)used, ", plus about %.1f%% of itself",
                 100 * stats->relative_error);
    }
}

void freq_print_text(const char *path, const struct freq_facts *facts) {
    const lethe_sketch_shape *shape = &facts->shape;
    const lethe_sketch_stats *stats = &facts->stats;
    struct human_text text;
    char error[160];
    describe_error(facts, error, sizeof error);
    row_print("file", "%s%s", path, stats->query_only ? " (an export, for queries only)" : "");
    row_print("kind", "%s", freq_kind_name(shape->kind));
    row_number("width", shape->width);
    row_print("depth", "%" PRIu32, shape->depth);
    if (shape->is_width > 0) row_number("IS width", shape->is_width);
    if (shape->is_depth > 0) row_number("IS depth", shape->is_depth);
    row_print("counter bits", "%" PRIu32, shape->counter_bits);
    if (shape->kind != LETHE_SKETCH_COUNT_MIN && shape->kind != LETHE_SKETCH_COUNT)
        row_print("removal", "%s", freq_removal_name(shape->removal));
    row_seed(shape->seed);
    row_print("epsilon", "%s", human_probability(shape->epsilon, &text));
    row_print("delta", "%s", human_probability(shape->delta, &text));
    row_number("total", stats->total);
    row_print("counters used", "%.1f%%",
              100 * (double)stats->counters_used / (double)(shape->width * shape->depth));
    row_number("counters full", stats->counters_saturated);
    row_print("error", "%s", error);
    if (shape->top > 0 && !stats->query_only)
        row_print("top", "%" PRIu32 " of %" PRIu32 " keys", stats->top_listed, shape->top);
    if (!stats->query_only) row_print("memory", "%s", human_bytes(shape->memory_bytes, &text));
    row_print("query memory", "%s", human_bytes(shape->query_memory_bytes, &text));
    row_print("file size", "%" PRIu64 " bytes", saved_bytes(path));
}

void freq_print_json(const char *path, const struct freq_facts *facts) {
    const lethe_sketch_shape *shape = &facts->shape;
    const lethe_sketch_stats *stats = &facts->stats;
    struct json json = json_begin(stdout);
    json_string(&json, "file", path);
    json_string(&json, "type", stats->query_only ? "export" : "sketch");
    json_string(&json, "kind", freq_kind_name(shape->kind));
    json_integer(&json, "width", shape->width);
    json_integer(&json, "depth", shape->depth);
    json_integer(&json, "is_width", shape->is_width);
    json_integer(&json, "is_depth", shape->is_depth);
    json_integer(&json, "counter_bits", shape->counter_bits);
    json_string(&json, "removal", freq_removal_name(shape->removal));
    json_hex(&json, "seed", shape->seed);
    json_real(&json, "epsilon", shape->epsilon);
    json_real(&json, "delta", shape->delta);
    json_integer(&json, "total", stats->total);
    json_integer(&json, "counters_used", stats->counters_used);
    json_integer(&json, "counters_full", stats->counters_saturated);
    json_real(&json, "error_above", stats->error_above);
    json_real(&json, "error_below", stats->error_below);
    json_real(&json, "relative_error", stats->relative_error);
    json_integer(&json, "top", shape->top);
    json_integer(&json, "top_listed", stats->top_listed);
    json_integer(&json, "memory_bytes", shape->memory_bytes);
    json_integer(&json, "query_memory_bytes", shape->query_memory_bytes);
    json_integer(&json, "file_bytes", saved_bytes(path));
    json_end(&json);
}

void freq_report(const char *path, const lethe_sketch *sketch, bool json, bool quiet) {
    struct freq_facts facts = freq_facts_of(sketch);
    const lethe_sketch_shape *shape = &facts.shape;
    const lethe_sketch_stats *stats = &facts.stats;
    struct human_text size;
    char error[160];
    if (json) {
        freq_print_json(path, &facts);
    } else if (!quiet) {
        describe_error(&facts, error, sizeof error);
        message_note("%s: total %" PRIu64 "; %s, %" PRIu32 " x %" PRIu64 " counters of %" PRIu32
                     " bits, %s; error %s",
                     path, stats->total, freq_kind_name(shape->kind), shape->depth, shape->width,
                     shape->counter_bits, human_bytes(shape->memory_bytes, &size), error);
    }
    if (stats->counters_saturated > 0) {
        message_warn("%" PRIu64 " counters of %s are full at %" PRIu64
                     ": estimates that rest on them are too low; build it again with a larger "
                     "--bits",
                     stats->counters_saturated, path, stats->counter_max);
    }
}

struct freq_bounds freq_bounds_of(const lethe_sketch_stats *stats, struct freq_answer answer) {
    enum { DEVIATIONS = 3 };
    double count = (double)answer.count, spread = DEVIATIONS * stats->relative_error * count;
    double below = stats->error_above + spread, above = stats->error_below + spread;
    struct freq_bounds bounds = {.most = answer.count + (uint64_t)above};
    if (count > below) bounds.least = answer.count - (uint64_t)below;
    if (answer.saturated) bounds.most = UINT64_MAX;
    return bounds;
}

int freq_print_key(lethe_bytes key, struct freq_answer answer, const struct freq_bounds *bounds,
                   bool json) {
    if (json) {
        struct json object = json_begin(stdout);
        json_bytes(&object, "key", key);
        json_integer(&object, "estimate", answer.count);
        if (bounds != NULL) {
            json_integer(&object, "least", bounds->least);
            if (bounds->most == UINT64_MAX) {
                json_null(&object, "most");
            } else {
                json_integer(&object, "most", bounds->most);
            }
        }
        json_integer(&object, "saturated", answer.saturated);
        json_end(&object);
        return EXIT_DONE;
    }
    char numbers[96];
    int used = snprintf(numbers, sizeof numbers, "\t%" PRIu64, answer.count);
    if (bounds != NULL) {
        used +=
            snprintf(numbers + used, sizeof numbers - (size_t)used, "\t%" PRIu64, bounds->least);
        used += bounds->most == UINT64_MAX
                    ? snprintf(numbers + used, sizeof numbers - (size_t)used, "\t-")
                    : snprintf(numbers + used, sizeof numbers - (size_t)used, "\t%" PRIu64,
                               bounds->most);
    }
    numbers[used++] = '\n';
    int code = key.size > 0 ? output_write(key.data, key.size) : EXIT_DONE;
    return code == EXIT_DONE ? output_write(numbers, (size_t)used) : code;
}

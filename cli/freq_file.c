/* freq_file.c - sketches as files, and sketches in words. */
#include "freq_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "human.h"
#include "interrupt.h"
#include "message.h"
#include "output.h"

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
    lethe_file_info info;
    return lethe_file_peek(path, &info) == LETHE_OK && strcmp(info.type, EXPORT_TYPE) == 0;
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
    lethe_status status = lethe_sketch_load_file(path, NULL, out);
    return status == LETHE_OK ? EXIT_DONE : message_fail_file(status, "read the sketch", path);
}

int freq_load_to_query(const char *path, lethe_sketch **out) {
    if (!is_export(path)) return freq_load(path, out);
    errno = 0;
    lethe_status status = lethe_sketch_import_file(path, NULL, out);
    return status == LETHE_OK ? EXIT_DONE : message_fail_file(status, "read the sketch", path);
}

/* The folder that path is in: all before its last slash. The caller frees it. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int freq_check_output(const char *path) {
    if (strcmp(path, "-") == 0) {
        return message_fail(EXIT_USAGE,
                            "--out - is no file; a sketch is written to a file, name one");
    }
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : 0;
        return message_fail_file(LETHE_EINVAL, "write the sketch", path);
    }
    char *folder = folder_of(path);
    bool writable = folder != NULL && access(folder, W_OK | X_OK) == 0;
    int code = EXIT_DONE;
    if (!writable) {
        code = message_fail(EXIT_ENVIRONMENT,
                            "cannot write the sketch %s: folder %s: %s; choose another place", path,
                            folder != NULL ? folder : "?", strerror(errno));
    }
    free(folder);
    return code;
}

static int write_with(lethe_status (*write)(const lethe_sketch *sketch, const char *path),
                      const lethe_sketch *sketch, const char *path) {
    interrupt_hold();
    errno = 0;
    lethe_status status = write(sketch, path);
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

static uint64_t file_bytes(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static const char *default_note(uint64_t seed) {
    return seed == LETHE_DEFAULT_SEED ? " (the default)" : "";
}

/* "at most 81 above, none below, with probability 98.2%". */
static void describe_error(const lethe_sketch_stats *stats, char *text, size_t size) {
    struct human_text delta;
    int used = snprintf(text, size, "at most %.0f above", stats->error_above);
    if (stats->error_below > 0) {
        used += snprintf(text + used, size - (size_t)used, " or below");
    } else if (stats->shape.kind != LETHE_SKETCH_LOG) {
        used += snprintf(text + used, size - (size_t)used, ", never below");
    }
    used += snprintf(text + used, size - (size_t)used, " (but for %s of keys)",
                     human_probability(stats->shape.delta, &delta));
    if (stats->relative_error > 0) {
        snprintf(text + used, size - (size_t)used, ", beside about %.1f%% of itself",
                 100 * stats->relative_error);
    }
}

void freq_print_text(const char *path, const lethe_sketch_stats *stats) {
    const lethe_sketch_shape *shape = &stats->shape;
    struct human_text text;
    char error[160];
    describe_error(stats, error, sizeof error);
    printf("file            %s%s\n", path, stats->query_only ? " (an export: answers only)" : "");
    printf("kind            %s\n", freq_kind_name(shape->kind));
    printf("width           %" PRIu64 "\n", shape->width);
    printf("depth           %" PRIu32 "\n", shape->depth);
    if (shape->is_width > 0) printf("IS width        %" PRIu64 "\n", shape->is_width);
    printf("counter bits    %" PRIu32 "\n", shape->counter_bits);
    if (shape->kind == LETHE_SKETCH_CONSERVATIVE || shape->kind == LETHE_SKETCH_FID)
        printf("removal         %s\n", freq_removal_name(shape->removal));
    printf("seed            0x%016" PRIx64 "%s\n", shape->seed, default_note(shape->seed));
    printf("epsilon         %s\n", human_probability(shape->epsilon, &text));
    printf("delta           %s\n", human_probability(shape->delta, &text));
    printf("total           %" PRIu64 "\n", stats->total);
    printf("counters used   %.1f%%\n",
           100 * (double)stats->counters_used / (double)(shape->width * shape->depth));
    printf("counters full   %" PRIu64 "\n", stats->counters_saturated);
    printf("error           %s\n", error);
    if (shape->top > 0 && !stats->query_only)
        printf("top             %" PRIu32 " of %" PRIu32 " keys\n", stats->top_listed, shape->top);
    if (!stats->query_only) printf("memory          %s\n", human_bytes(shape->memory_bytes, &text));
    printf("query memory    %s\n", human_bytes(shape->query_memory_bytes, &text));
    printf("file size       %" PRIu64 " bytes\n", file_bytes(path));
}

void freq_print_json(const char *path, const lethe_sketch_stats *stats) {
    const lethe_sketch_shape *shape = &stats->shape;
    struct json json = json_begin(stdout);
    json_string(&json, "file", path);
    json_string(&json, "type", stats->query_only ? "export" : "sketch");
    json_string(&json, "kind", freq_kind_name(shape->kind));
    json_integer(&json, "width", shape->width);
    json_integer(&json, "depth", shape->depth);
    json_integer(&json, "is_width", shape->is_width);
    json_integer(&json, "counter_bits", shape->counter_bits);
    json_string(&json, "removal", freq_removal_name(shape->removal));
    char seed[32];
    snprintf(seed, sizeof seed, "0x%016" PRIx64, shape->seed);
    json_string(&json, "seed", seed);
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
    json_integer(&json, "file_bytes", file_bytes(path));
    json_end(&json);
}

void freq_report(const char *path, const lethe_sketch *sketch, bool json, bool quiet) {
    lethe_sketch_stats stats = lethe_sketch_info(sketch);
    const lethe_sketch_shape *shape = &stats.shape;
    struct human_text size;
    char error[160];
    if (json) {
        freq_print_json(path, &stats);
    } else if (!quiet) {
        describe_error(&stats, error, sizeof error);
        message_note("%s: total %" PRIu64 "; %s, %" PRIu32 " x %" PRIu64 " counters of %" PRIu32
                     " bits, %s; error %s",
                     path, stats.total, freq_kind_name(shape->kind), shape->depth, shape->width,
                     shape->counter_bits, human_bytes(shape->memory_bytes, &size), error);
    }
    if (stats.counters_saturated > 0) {
        message_warn("%" PRIu64 " counters of %s are full at %" PRIu64
                     ": estimates that rest on them are too low; build it again with a larger "
                     "--bits",
                     stats.counters_saturated, path, stats.counter_max);
    }
}

struct freq_bounds freq_bounds_of(const lethe_sketch_stats *stats, lethe_sketch_answer answer) {
    enum { DEVIATIONS = 3 };
    double count = (double)answer.count, spread = DEVIATIONS * stats->relative_error * count;
    double below = stats->error_above + spread, above = stats->error_below + spread;
    struct freq_bounds bounds = {.most = answer.count + (uint64_t)above};
    if (count > below) bounds.least = answer.count - (uint64_t)below;
    if (answer.saturated) bounds.most = UINT64_MAX;
    return bounds;
}

int freq_print_key(lethe_bytes key, lethe_sketch_answer answer, const struct freq_bounds *bounds,
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

/* filter_file.c - filters as files, and filters in words. */
#include "filter_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "human.h"
#include "interrupt.h"
#include "json.h"
#include "message.h"

const char *filter_kind_name(lethe_bloom_layout layout) {
    return layout == LETHE_BLOOM_BLOCKED ? "blocked" : "bloom";
}

int filter_load(const char *path, lethe_bloom **out) {
    errno = 0;
    lethe_status status = lethe_bloom_load_file(path, NULL, out);
    return status == LETHE_OK ? EXIT_DONE : message_fail_file(status, "read the filter", path);
}

/* The folder that path is in: all before its last slash. The caller frees it. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int filter_check_output(const char *path) {
    if (strcmp(path, "-") == 0) {
        return message_fail(EXIT_USAGE,
                            "--out - is no file; a filter is written to a file, name one");
    }
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : 0;
        return message_fail_file(LETHE_EINVAL, "write the filter", path);
    }
    char *folder = folder_of(path);
    bool writable = folder != NULL && access(folder, W_OK | X_OK) == 0;
    int code = EXIT_DONE;
    if (!writable) {
        code = message_fail(EXIT_ENVIRONMENT,
                            "cannot write the filter %s: folder %s: %s; choose another place", path,
                            folder != NULL ? folder : "?", strerror(errno));
    }
    free(folder);
    return code;
}

int filter_save(const lethe_bloom *filter, const char *path) {
    interrupt_hold();
    errno = 0;
    lethe_status status = lethe_bloom_save_file(filter, path);
    int code = EXIT_DONE;
    if (status != LETHE_OK) code = message_fail_file(status, "write the filter", path);
    interrupt_release();
    return code;
}

/* The file is as large as the bits and a little more. */
static uint64_t file_bytes(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static const char *default_note(uint64_t seed) {
    return seed == LETHE_DEFAULT_SEED ? " (the default)" : "";
}

void filter_print_text(const char *path, const lethe_bloom_stats *stats) {
    const lethe_bloom_shape *shape = &stats->shape;
    struct human_text text;
    printf("file            %s\n", path);
    printf("kind            %s\n", filter_kind_name(shape->layout));
    printf("bits            %" PRIu64 "\n", shape->bits);
    printf("hashes          %" PRIu32 "\n", shape->hashes);
    printf("seed            0x%016" PRIx64 "%s\n", shape->seed, default_note(shape->seed));
    if (shape->capacity > 0) {
        printf("capacity        %" PRIu64 "\n", shape->capacity);
        printf("planned error   %s\n", human_probability(shape->error, &text));
    } else {
        printf("capacity        not planned\n");
        printf("planned error   not planned\n");
    }
    printf("additions       %" PRIu64 "\n", stats->additions);
    if (isfinite(stats->distinct_estimate)) {
        printf("different       about %.0f\n", stats->distinct_estimate);
    } else {
        printf("different       too many to tell: every bit is set\n");
    }
    printf("fill            %.1f%%\n", stats->fill * 100);
    printf("error now       %s\n", human_probability(stats->error_estimate, &text));
    printf("memory          %s\n", human_bytes(shape->memory_bytes, &text));
    printf("file size       %" PRIu64 " bytes\n", file_bytes(path));
}

void filter_print_json(const char *path, const lethe_bloom_stats *stats) {
    const lethe_bloom_shape *shape = &stats->shape;
    struct json json = json_begin(stdout);
    json_string(&json, "file", path);
    json_string(&json, "kind", filter_kind_name(shape->layout));
    json_integer(&json, "bits", shape->bits);
    json_integer(&json, "hashes", shape->hashes);
    char seed[32];
    snprintf(seed, sizeof seed, "0x%016" PRIx64, shape->seed);
    json_string(&json, "seed", seed);
    if (shape->capacity > 0) {
        json_integer(&json, "capacity", shape->capacity);
        json_real(&json, "planned_error", shape->error);
    } else {
        json_null(&json, "capacity");
        json_null(&json, "planned_error");
    }
    json_integer(&json, "additions", stats->additions);
    json_real(&json, "distinct_estimate", stats->distinct_estimate);
    json_real(&json, "fill", stats->fill);
    json_real(&json, "error_now", stats->error_estimate);
    json_integer(&json, "memory_bytes", shape->memory_bytes);
    json_integer(&json, "file_bytes", file_bytes(path));
    json_end(&json);
}

/* The estimate of a filter filled exactly to its capacity lies above it half of the time. Lines
 * that were never added cannot be too many, and neither is what the estimate alone could be wrong by. */
static bool is_overfull(const lethe_bloom_stats *stats) {
    uint64_t capacity = stats->shape.capacity;
    return capacity > 0 && stats->additions > capacity &&
           stats->distinct_estimate > 1.02 * (double)capacity;
}

void filter_report(const char *path, const lethe_bloom *filter, bool json, bool quiet) {
    lethe_bloom_stats stats = lethe_bloom_info(filter);
    struct human_text size, error, planned, different;
    bool is_full = isinf(stats.distinct_estimate);
    snprintf(different.text, sizeof different.text, "about %.0f", stats.distinct_estimate);
    if (is_full) snprintf(different.text, sizeof different.text, "unknown");
    if (json) {
        filter_print_json(path, &stats);
    } else if (!quiet) {
        message_note("%s: %" PRIu64 " line%s added, %s different; %s, %" PRIu64 " bits, %" PRIu32
                     " hashes, %s; error now %s",
                     path, stats.additions, stats.additions == 1 ? "" : "s", different.text,
                     filter_kind_name(stats.shape.layout), stats.shape.bits, stats.shape.hashes,
                     human_bytes(stats.shape.memory_bytes, &size),
                     human_probability(stats.error_estimate, &error));
    }
    if (is_overfull(&stats)) {
        message_warn("%s was planned for %" PRIu64 " different lines and holds %s: error now %s, "
                     "planned %s; build it again with a larger "
                     "--capacity",
                     path, stats.shape.capacity, is_full ? "more than can be told" : different.text,
                     human_probability(stats.error_estimate, &error),
                     human_probability(stats.shape.error, &planned));
    }
}

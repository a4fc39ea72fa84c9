/* dedup.c - `lethe dedup`: each line once, in bounded memory, also over several runs.
 *
 * IDEA    Files are read twice (twice.c) if their lines do not fit in memory and nothing has to be
 *         remembered or forgotten. For everything else there is a cascade filter (all.c), in the
 *         folder of --db or in a temporary one; what fits in memory is not asked there. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dedup/dedup.h"

#include "dedup/resident.h"
#include "dedup/shards.h"
#include "frame/arguments.h"
#include "frame/clock.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "frame/operands.h"
#include "input/line_count.h"
#include "output/output.h"
#include "output/temporary.h"
#include "say/human.h"
#include "say/json.h"
#include "say/message.h"
#include "store/store.h"

static const double DEFAULT_ERROR = 1e-6;
static const uint64_t DEFAULT_MEMORY_BYTES = (uint64_t)256 << 20;
static const uint64_t LEAST_MEMORY_BYTES = (uint64_t)4 << 20;
static const uint64_t MOST_MEMORY_BYTES = (uint64_t)1 << 40;
/* Of the error, what those in memory may take at most: one part in so many. */
enum { KEPT_SHARE = 8 };
/* How many more lines there may be than it seems. */
static const double ESTIMATE_MARGIN = 1.1;
/* What the process takes beside its lines. */
static const uint64_t PROCESS_BYTES = (uint64_t)4 << 20;
static const uint64_t MOST_LINES = (uint64_t)1 << 44;
/* Of a cascade: how many lines it plans for, and how many fingerprints there are at most. */
static const double DEFAULT_CAPACITY = 0x1p30;
static const double MOST_FINGERPRINTS = 0x1p62, MOST_FINGERPRINTS_WITH_AGE = 0x1p55;
static const uint64_t LONGEST_WINDOW_MS = (uint64_t)1 << 42;

static int read_options(const struct arguments *arguments, lethe_cascade_options *options,
                        uint64_t *memory_bytes) {
    *memory_bytes = DEFAULT_MEMORY_BYTES;
    int code = arguments_probability(arguments, "error", 1e-15, 0.1, &options->error);
    if (code == EXIT_DONE) {
        code = arguments_size(arguments, "memory", LEAST_MEMORY_BYTES, MOST_MEMORY_BYTES,
                              memory_bytes);
    }
    if (code == EXIT_DONE) {
        code =
            arguments_duration(arguments, "window", 1000, LONGEST_WINDOW_MS, &options->window_ms);
    }
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "capacity", 1, MOST_LINES, &options->capacity);
    if (code != EXIT_DONE) return code;
    if (options->window_ms != 0 && arguments_has(arguments, "forever")) {
        return arguments_fail(arguments, "--window and --forever cannot be used together");
    }
    if (!arguments_has(arguments, "db") && arguments_has(arguments, "from-start")) {
        return arguments_fail(arguments, "--from-start needs --db too: without it every run reads "
                                         "from the start");
    }
    options->durability = LETHE_CASCADE_CHECKPOINTED;
    if (!arguments_has(arguments, "db") && arguments_has(arguments, "last-line")) {
        return arguments_fail(arguments, "--last-line needs --db too: without it the last line is "
                                         "always whole");
    }
    return EXIT_DONE;
}

/* Whether the folder has files, and none that a run of lethe dedup leaves, however it ended. */
static bool is_foreign(const char *folder) {
    DIR *entries = opendir(folder);
    bool has_files = false, is_own = false;
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        has_files = true;
        if (strcmp(entry->d_name, "claim") == 0 || strcmp(entry->d_name, "manifest") == 0) {
            is_own = true;
        }
    }
    if (entries != NULL) closedir(entries);
    return has_files && !is_own;
}

/* The fingerprints would be longer than there are. What is advised is rounded so that it is
 * accepted. */
static int fail_error(const struct dedup *dedup, const lethe_cascade_options *options) {
    struct human_text lines;
    double longest = options->window_ms != 0 ? MOST_FINGERPRINTS_WITH_AGE : MOST_FINGERPRINTS;
    double capacity = options->capacity != 0 ? (double)options->capacity : DEFAULT_CAPACITY;
    /* Lines that are kept in memory have their share of the error. */
    double all = options->error + dedup->resident_error;
    double least = capacity / longest * all / options->error;
    double step = pow(10, floor(log10(least)) - 1);
    return message_fail(EXIT_USAGE,
                        "--error %.3g is too small for %s lines%s: fingerprints cannot be so long; "
                        "allow %.2g or more, or plan for fewer lines with --capacity, %.0f at most",
                        all, human_count(capacity, &lines),
                        options->capacity != 0 ? "" : ", the default of --capacity",
                        ceil(least / step) * step, floor(options->error * longest));
}

static int open_cascade(struct dedup *dedup, lethe_cascade_options *options) {
    struct stat there;
    if (stat(dedup->folder, &there) == 0 && !S_ISDIR(there.st_mode))
        return message_fail(EXIT_USAGE, "%s is a file; name a folder", dedup->folder);
    if (is_foreign(dedup->folder)) {
        return message_fail(
            EXIT_USAGE,
            "%s has other files in it; name an empty folder, or one that lethe dedup made",
            dedup->folder);
    }
    errno = 0;
    options->must_exist = true;
    lethe_status status = lethe_cascade_open(dedup->folder, options, &dedup->cascade, NULL);
    if (status == LETHE_ENOTFOUND) { /* what is not said is as it was made, or our own default */
        options->must_exist = false;
        if (options->error == 0) options->error = DEFAULT_ERROR;
        status = lethe_cascade_open(dedup->folder, options, &dedup->cascade, NULL);
    }
    if (status == LETHE_OK) return EXIT_DONE;
    if (status == LETHE_EMISMATCH) {
        return message_fail(EXIT_USAGE,
                            "%s was made with another --error, --capacity or --window; leave them "
                            "out to use what it has",
                            dedup->folder);
    }
    if (status == LETHE_EINVAL) return fail_error(dedup, options);
    return message_fail_file(status, "open", dedup->folder);
}

static void report_json(const struct dedup *dedup, FILE *stream, double seconds) {
    const struct dedup_cost *cost = &dedup->cost;
    struct json json = json_begin(stream);
    json_integer(&json, "lines", dedup->lines);
    json_integer(&json, "printed", dedup->printed);
    json_integer(&json, "dropped", dedup->lines - dedup->printed);
    json_real(&json, "expected_wrongly_dropped", dedup->wrong);
    json_integer(&json, "resumed_at", dedup->note.resumed_at);
    json_integer(&json, "pending", dedup->pending);
    json_real(&json, "seconds", seconds);
    json_real(&json, "error_estimate", cost->error);
    json_integer(&json, "entries", cost->entries);
    json_integer(&json, "memory_bytes", cost->memory_bytes);
    json_integer(&json, "disk_bytes", cost->disk_bytes);
    json_end(&json);
}

static void report(const struct dedup *dedup, bool json, double seconds) {
    if (dedup->output.has_failed) return; /* a message, or a signal, has said so */
    /* Standard output may be where the lines are. */
    if (json) report_json(dedup, dedup->output.path != NULL ? stdout : stderr, seconds);
    if (json || dedup->quiet) return;
    struct human_text rate;
    message_note("%" PRIu64 " line%s: %" PRIu64 " printed, %" PRIu64
                 " dropped, of which %.2g are expected to be wrong; %.1f s, %s/s",
                 dedup->lines, dedup->lines == 1 ? "" : "s", dedup->printed,
                 dedup->lines - dedup->printed, dedup->wrong, seconds,
                 human_count((double)dedup->lines / (seconds > 1e-3 ? seconds : 1e-3), &rate));
}

/* With the cascade open, where there is one. */
static int deduplicate(struct dedup *dedup, const char *out, bool json) {
    double started_s = clock_seconds();
    int code = dedup->cascade != NULL ? dedup_note_load(dedup) : EXIT_DONE;
    if (code == EXIT_DONE && dedup->cascade != NULL) code = dedup_note_survey(&dedup->note);
    if (code == EXIT_DONE)
        code = dedup_output_open(&dedup->output, out, dedup->remembers, &dedup->note);
    if (code == EXIT_DONE) {
        code = dedup->cascade != NULL ? dedup_all(dedup) : dedup_twice(dedup);
        code = dedup_output_close(&dedup->output, code);
        report(dedup, json, clock_seconds() - started_s);
    }
    if (code == EXIT_DONE && interrupt_requested()) {
        code = message_fail(interrupt_code(), "interrupted; what was read is done%s",
                            dedup->remembers ? ", run again to go on" : "");
    }
    return code;
}

static int close_cascade(struct dedup *dedup, int code) {
    if (dedup->cascade == NULL) return code;
    lethe_status status = lethe_cascade_close(dedup->cascade, NULL);
    if (status == LETHE_OK || code != EXIT_DONE || !dedup->remembers) return code;
    return message_fail_file(status, "close", dedup->folder);
}

static double error_of(const lethe_cascade_options *options) {
    return options->error == 0 ? DEFAULT_ERROR : options->error;
}

/* What is left of some memory for lines that are kept there. */
static uint64_t beside_process(uint64_t bytes) {
    return bytes > 2 * PROCESS_BYTES ? bytes - PROCESS_BYTES : bytes / 2;
}

/* With --db: what the cascade has, and lines that are kept in memory. */
static uint64_t remembered_share(uint64_t all) {
    return all / 16 * 7;
}

/* The error of lines that are kept in memory, of one that is allowed to all: a small share. */
static double kept_error(double error) {
    double share = error / KEPT_SHARE;
    return share < RESIDENT_QUICK_ERROR ? share : RESIDENT_QUICK_ERROR;
}

/* Plans to keep all lines of files in memory, if there is room for as many as there seem to be. */
static bool plan_file(struct dedup *dedup, double error) {
    double lines, kept = kept_error(error);
    if (kept < RESIDENT_LEAST_ERROR || !line_estimate(dedup->inputs, &lines)) return false;
    uint64_t room = beside_process(dedup->memory_bytes / 2);
    dedup->expected_lines = (uint64_t)(lines * ESTIMATE_MARGIN) + LINES_PER_BATCH;
    if (dedup->expected_lines > resident_lines_in(room, kept)) return false;
    dedup->resident_bytes = room;
    dedup->resident_error = kept;
    return true;
}

/* Whether to read the files twice: they are large, do not fit in memory, and nothing has to be
 * remembered or forgotten. There are at most as many lines as bytes, of which each may be taken for
 * each other one. Compressed files have more, but lines that differ do not compress a
 * thousandfold. */
static bool suits_twice(const struct dedup *dedup, const lethe_cascade_options *options) {
    const struct inputs *inputs = dedup->inputs;
    double most_lines = (double)inputs->bytes * (inputs->has_packed ? 1024 : 1);
    return !dedup->remembers && options->window_ms == 0 && dedup->resident_bytes == 0 &&
           dedup_can_read_again(inputs) &&
           inputs->bytes >= dedup->memory_bytes / (inputs->has_packed ? 32 : 4) &&
           ldexp(most_lines, -SHARDS_FINGERPRINT_BITS) <= error_of(options);
}

/* Where lines are kept in memory without --db, they have half of it, whatever they come from: as
 * long as they fit, nothing else is used. With --db the cascade gets each of them too, and has as
 * much. Small files need little memory: a line has a newline at least, and a fingerprint takes
 * fewer bytes than most lines. */
static void divide_memory(struct dedup *dedup, lethe_cascade_options *options) {
    uint64_t all = dedup->memory_bytes;
    uint64_t enough =
        dedup->inputs->bytes < LEAST_MEMORY_BYTES ? LEAST_MEMORY_BYTES : dedup->inputs->bytes;
    double error = error_of(options), kept = kept_error(error);
    bool keeps = !dedup->remembers && options->window_ms == 0 && kept >= RESIDENT_LEAST_ERROR;
    options->memory_bytes = keeps ? all / 4 : dedup->remembers ? remembered_share(all) : all / 2;
    bool is_known = dedup->inputs->all_regular && !dedup->inputs->has_packed;
    if (is_known && enough < options->memory_bytes) options->memory_bytes = enough;
    dedup->memory_bytes = keeps ? all / 8 : all / 4;
    dedup->front_bytes = all / 32;
    if (!keeps) return;
    /* A new line may be taken for one in memory or for one in the cascade: together, the error. */
    options->error = error - kept;
    dedup->resident_bytes = beside_process(all / 2);
    dedup->resident_error = kept;
}

/* The same for a cascade that is there: its error and window are known when it is open. While lines
 * are kept in memory, none wait (all.c). */
static void plan_remembered(struct dedup *dedup, uint64_t all) {
    lethe_cascade_stats stats = LETHE_INIT(lethe_cascade_stats);
    (void)lethe_cascade_info(dedup->cascade, clock_wall_ms(), &stats);
    double lines, kept = kept_error(stats.error_target);
    if (stats.window_ms != 0 || kept < RESIDENT_LEAST_ERROR) return;
    dedup->resident_bytes = beside_process(remembered_share(all));
    dedup->resident_error = kept;
    if (line_estimate(dedup->inputs, &lines))
        dedup->expected_lines = (uint64_t)(lines * ESTIMATE_MARGIN) + LINES_PER_BATCH;
}

/* What marks are bound to: which part of a line is compared. */
static void describe_manner(const struct key_fields *fields, char *out, size_t size) {
    out[0] = '\0';
    if (fields->key == 0) return;
    snprintf(out, size, "--field %" PRIu64 " --delimiter \\x%02x", (uint64_t)fields->key,
             (unsigned)(unsigned char)fields->delimiter);
}

int run_dedup(const struct arguments *arguments) {
    struct dedup dedup = {0};
    lethe_cascade_options options = LETHE_INIT(lethe_cascade_options);
    struct inputs inputs;
    int code = read_options(arguments, &options, &dedup.memory_bytes);
    if (code == EXIT_DONE) code = key_fields_read_key(arguments, &dedup.fields);
    if (code == EXIT_DONE) code = operands_look(arguments, 0, &inputs);
    const char *out = arguments_text(arguments, "out");
    if (code == EXIT_DONE && out != NULL) code = inputs_check_output(&inputs, out);
    if (code == EXIT_DONE && out != NULL) code = appended_check(out);
    if (code != EXIT_DONE) return code;
    dedup.inputs = &inputs;
    dedup.quiet = arguments_has(arguments, "quiet");
    dedup.note.from_start = arguments_has(arguments, "from-start");
    dedup.folder = arguments_text(arguments, "db");
    dedup.remembers = dedup.folder != NULL;
    dedup.last_line = arguments_has(arguments, "last-line");
    describe_manner(&dedup.fields, dedup.note.manner, sizeof dedup.note.manner);
    char temporary[TEMPORARY_BYTES];
    interrupt_begin();
    output_outlive_reader();
    if (!dedup.remembers) {
        code = temporary_make("dedup", temporary);
        dedup.folder = temporary;
    }
    if (code != EXIT_DONE) return code;
    uint64_t memory_bytes = dedup.memory_bytes;
    bool is_kept = !dedup.remembers && options.window_ms == 0 && dedup_can_read_again(&inputs) &&
                   plan_file(&dedup, error_of(&options));
    if (is_kept || !suits_twice(&dedup, &options)) {
        divide_memory(&dedup, &options);
        code = open_cascade(&dedup, &options);
        if (code == EXIT_DONE && dedup.remembers) plan_remembered(&dedup, memory_bytes);
    }
    if (code == EXIT_DONE) code = deduplicate(&dedup, out, arguments_has(arguments, "json"));
    dedup_note_free(&dedup.note);
    code = close_cascade(&dedup, code);
    if (!dedup.remembers) temporary_remove(temporary);
    if (dedup.output.has_no_reader) output_end_with_reader();
    return code;
}

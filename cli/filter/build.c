/* build.c - `lethe filter build`: lines become a filter. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "filter/file.h"
#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "frame/operands.h"
#include "input/inputs.h"
#include "input/line_count.h"
#include "input/lines.h"
#include "output/saved.h"
#include "say/human.h"
#include "say/message.h"

/* The options that only some kinds have, and the one here has not. */
static int check_build_options(const struct arguments *arguments, const struct filter_kind *kind) {
    for (const struct filter_kind *const *other = filter_kinds; *other != NULL; other++) {
        for (const char *const *name = (*other)->build_options; *name != NULL; name++) {
            bool has = false;
            for (const char *const *own = kind->build_options; *own != NULL; own++)
                has |= strcmp(*own, *name) == 0;
            if (!has && arguments_has(arguments, *name)) {
                return arguments_fail(arguments, "--%s is for --kind %s, not for %s", *name,
                                      (*other)->name, kind->name);
            }
        }
    }
    return EXIT_DONE;
}

/* Reads what every kind has, then what this one has; a zero stays where an option is not given. */
static int read_options(const struct arguments *arguments, const struct filter_kind **kind,
                        struct filter_settings *settings) {
    size_t place = 0;
    int code = arguments_choice(arguments, "kind", &place);
    if (code != EXIT_DONE) return code;
    *kind = filter_kinds[place];
    code = arguments_count(arguments, "capacity", 1, LETHE_BLOOM_MAX_CAPACITY, &settings->capacity);
    if (code == EXIT_DONE) {
        code = arguments_probability(arguments, "error", LETHE_BLOOM_MIN_ERROR,
                                     LETHE_BLOOM_MAX_ERROR, &settings->error);
    }
    if (code == EXIT_DONE) code = arguments_seed(arguments, "seed", &settings->seed);
    if (code == EXIT_DONE) code = check_build_options(arguments, *kind);
    if (code == EXIT_DONE) code = (*kind)->read_options(arguments, settings);
    if (code != EXIT_DONE) return code;
    settings->out = arguments_text(arguments, "out");
    if (settings->out == NULL) {
        return arguments_fail(arguments, "--out F is missing: the file to write");
    }
    return EXIT_DONE;
}

/* A filter has to be planned before the first line is added. Files can be read twice; a pipe
 * cannot. */
static int plan_capacity(const struct inputs *inputs, const char *out, bool quiet,
                         struct filter_settings *settings) {
    if (!inputs->all_regular) {
        return message_fail(EXIT_USAGE,
                            "the number of lines in %s is not known; give --capacity N, the most "
                            "different lines to expect",
                            inputs_name(inputs->stream));
    }
    int code = line_count(inputs, quiet, &settings->capacity);
    if (code != EXIT_DONE) return code;
    if (interrupt_requested()) return interrupt_fail(out);
    if (settings->capacity == 0) settings->capacity = 1;
    if (settings->capacity <= LETHE_BLOOM_MAX_CAPACITY) return EXIT_DONE;
    return message_fail(EXIT_BAD_DATA,
                        "the files have %" PRIu64 " lines, more than a filter is planned for; give "
                        "--bits",
                        settings->capacity);
}

static int make_filter(const struct filter_kind *kind, const struct filter_settings *settings,
                       struct filter *out) {
    *out = (struct filter){0};
    uint64_t memory_bytes;
    if (filter_plan(kind, settings, &memory_bytes) != LETHE_OK) {
        return message_fail(EXIT_USAGE,
                            "a %s filter for %" PRIu64 " lines at that error is too large; allow a "
                            "larger --error or a smaller --capacity",
                            kind->name, settings->capacity);
    }
    if (filter_make(kind, settings, out) == LETHE_OK) return EXIT_DONE;
    struct human_text size;
    return message_fail(EXIT_ENVIRONMENT,
                        "not enough memory for a filter of %s; ask for a smaller --capacity or a "
                        "larger --error",
                        human_bytes(memory_bytes, &size));
}

struct building {
    struct filter filter;
    uint64_t lines;
};

/* A line_visit. */
static int add_batch(void *context, struct line_reader *reader, const struct line_batch *batch) {
    (void)reader;
    struct building *building = context;
    lethe_hash hashes[LINES_PER_BATCH];
    lethe_hash_batch(filter_seed(&building->filter), batch->lines, batch->count, hashes);
    lethe_status status = filter_add(&building->filter, hashes, batch->count);
    building->lines += batch->count;
    if (status == LETHE_OK) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT,
                        "cannot add to the filter: %s; ask for a larger --capacity",
                        lethe_strerror(status));
}

static int build(const struct inputs *inputs, const struct filter_kind *kind,
                 const struct filter_settings *settings, const char *out, bool json, bool quiet) {
    struct building building = {.lines = 0};
    int code = make_filter(kind, settings, &building.filter);
    if (building.filter.kind == NULL) return code;
    code = lines_each(inputs, !quiet, add_batch, &building);
    if (code == EXIT_DONE && interrupt_requested()) code = interrupt_fail(out);
    if (code == EXIT_DONE) code = filter_save(&building.filter, out);
    if (code == EXIT_DONE) {
        filter_report(out, &building.filter, FILTER_ADDED, building.lines, json, quiet);
    }
    filter_free(&building.filter);
    return code;
}

int run_filter_build(const struct arguments *arguments) {
    const struct filter_kind *kind = NULL;
    struct filter_settings settings = {0};
    int code = read_options(arguments, &kind, &settings);
    if (code != EXIT_DONE) return code;
    struct inputs inputs;
    const char *out;
    code = operands_look_to_save(arguments, "filter", &inputs, &out);
    if (code != EXIT_DONE) return code;
    bool quiet = arguments_has(arguments, "quiet");
    if (settings.capacity == 0 && settings.bits == 0 && settings.slots == 0) {
        code = plan_capacity(&inputs, out, quiet, &settings);
    }
    if (code != EXIT_DONE) return code;
    return build(&inputs, kind, &settings, out, arguments_has(arguments, "json"), quiet);
}

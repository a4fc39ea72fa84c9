/* filter_merge.c - `lethe filter merge`: the union of several filters. */
#include <inttypes.h>
#include <stdio.h>

#include "arguments.h"
#include "commands.h"
#include "filter_file.h"
#include "interrupt.h"
#include "message.h"

/* Says in what a filter differs from the first one: its name, and both values. */
static int fail_mismatch(const char *first_path, const lethe_bloom *first, const char *path,
                         const lethe_bloom *other) {
    lethe_bloom_shape a = lethe_bloom_get_shape(first), b = lethe_bloom_get_shape(other);
    char difference[160];
    if (a.layout != b.layout) {
        snprintf(difference, sizeof difference, "kind %s, not %s", filter_kind_name(b.layout),
                 filter_kind_name(a.layout));
    } else if (a.bits != b.bits) {
        snprintf(difference, sizeof difference, "%" PRIu64 " bits, not %" PRIu64, b.bits, a.bits);
    } else if (a.hashes != b.hashes) {
        snprintf(difference, sizeof difference, "%" PRIu32 " hashes, not %" PRIu32, b.hashes,
                 a.hashes);
    } else {
        snprintf(difference, sizeof difference, "seed 0x%016" PRIx64 ", not 0x%016" PRIx64, b.seed,
                 a.seed);
    }
    return message_fail(EXIT_BAD_DATA,
                        "cannot merge: %s has %s as %s has; build all parts with the same options",
                        path, difference, first_path);
}

static int merge_into(lethe_bloom *filter, const char *first_path, const char *path) {
    lethe_bloom *other;
    int code = filter_load(path, &other);
    if (code != EXIT_DONE) return code;
    if (lethe_bloom_union(filter, other) != LETHE_OK) {
        code = fail_mismatch(first_path, filter, path, other);
    }
    lethe_bloom_free(other);
    return code;
}

static int run(const struct arguments *arguments) {
    const char *out = arguments_text(arguments, "out");
    if (out == NULL) return arguments_fail(arguments, "--out F is missing, the file to write");
    int code = filter_check_output(out);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    char *const *paths = arguments->operands;
    lethe_bloom *filter;
    code = filter_load(paths[0], &filter);
    for (size_t i = 1; i < arguments->operand_count && code == EXIT_DONE; i++) {
        if (interrupt_requested()) break;
        code = merge_into(filter, paths[0], paths[i]);
    }
    if (code == EXIT_DONE && interrupt_requested()) code = interrupt_fail(out);
    if (code == EXIT_DONE) code = filter_save(filter, out);
    if (code == EXIT_DONE) {
        filter_report(out, filter, arguments_has(arguments, "json"),
                      arguments_has(arguments, "quiet"));
    }
    lethe_bloom_free(filter);
    return code;
}

const struct command command_filter_merge = {
    .path = "filter merge",
    .summary = "write the union of filters",
    .synopses = (const char *const[]){"--out F A [B...]", NULL},
    .description =
        (const char *const[]){
            "Writes to `F` a filter that holds every line of the filters `A`, `B` and so on: bit "
            "for bit what building it from all their lines would have given. They must agree in "
            "kind, bits, hashes and seed; build them with the same `--capacity` and `--error` and "
            "they do. The capacity is that of the first one, so plan each part for the whole. `F` "
            "may be one of the filters merged, and is replaced as a whole or not at all.",
            NULL},
    .options = (const struct option[]){{.name = "out",
                                        .value = "F",
                                        .help = "the file to write",
                                        .completion = COMPLETE_FILES},
                                       OPTION_JSON("print the summary as JSON on standard output"),
                                       OPTION_QUIET,
                                       {0}},
    .examples =
        (const struct example[]){{"Add the lines of today to those of all days",
                                  "lethe filter merge --out all.lethe all.lethe today.lethe"},
                                 {0}},
    .exit_done = "the filter was written",
    .operands_least = 1,
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run,
};

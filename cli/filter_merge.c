/* filter_merge.c - `lethe filter merge`: the union of several filters. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "filter_file.h"
#include "interrupt.h"
#include "message.h"

/* The first fact of the shape in which the two differ, as "kind blocked, not bloom". */
static void put_difference(const struct filter_facts *a, const struct filter_facts *b, char *text,
                           size_t size) {
    if (strcmp(a->kind, b->kind) != 0) {
        snprintf(text, size, "kind %s, not %s", b->kind, a->kind);
        return;
    }
    for (size_t i = 0; i < a->shape_count && i < b->shape_count; i++) {
        const struct filter_fact *first = &a->shape[i], *other = &b->shape[i];
        if (first->word != NULL && strcmp(first->word, other->word) != 0) {
            snprintf(text, size, "%s %s, not %s", first->name, other->word, first->word);
            return;
        }
        if (first->word == NULL && first->number != other->number) {
            snprintf(text, size, "%" PRIu64 " %s, not %" PRIu64, other->number, first->name,
                     first->number);
            return;
        }
    }
    snprintf(text, size, "seed 0x%016" PRIx64 ", not 0x%016" PRIx64, b->seed, a->seed);
}

/* Says in what a filter differs from the first one: its name, and both values. */
static int fail_mismatch(const char *first_path, const struct filter *first, const char *path,
                         const struct filter *other) {
    struct filter_facts a, b;
    first->kind->describe(first->object, &a);
    other->kind->describe(other->object, &b);
    char difference[160];
    put_difference(&a, &b, difference, sizeof difference);
    return message_fail(EXIT_BAD_DATA,
                        "cannot merge: %s has %s as %s has; build all parts with the same options",
                        path, difference, first_path);
}

static int merge_into(struct filter *filter, const char *first_path, const char *path) {
    struct filter other;
    int code = filter_load(path, &other);
    if (code != EXIT_DONE) return code;
    lethe_status status = LETHE_EMISMATCH;
    if (filter->kind == other.kind) status = filter->kind->merge(filter->object, other.object);
    if (status == LETHE_EMISMATCH) {
        code = fail_mismatch(first_path, filter, path, &other);
    } else if (status != LETHE_OK) {
        code = message_fail(EXIT_ENVIRONMENT, "cannot merge %s: %s", path, lethe_strerror(status));
    }
    filter_free(&other);
    return code;
}

/* Not every kind can be merged. */
static int check_mergeable(const struct filter *filter, const char *path) {
    if (filter->kind->merge != NULL) return EXIT_DONE;
    return message_fail(EXIT_BAD_DATA, "%s is a %s filter, which can't be merged", path,
                        filter->kind->name);
}

static int run(const struct arguments *arguments) {
    const char *out = arguments_text(arguments, "out");
    if (out == NULL) return arguments_fail(arguments, "--out F is missing, the file to write");
    int code = filter_check_output(out);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    char *const *paths = arguments->operands;
    struct filter filter;
    code = filter_load(paths[0], &filter);
    if (code == EXIT_DONE) code = check_mergeable(&filter, paths[0]);
    for (size_t i = 1; i < arguments->operand_count && code == EXIT_DONE; i++) {
        if (interrupt_requested()) break;
        code = merge_into(&filter, paths[0], paths[i]);
    }
    if (code == EXIT_DONE && interrupt_requested()) code = interrupt_fail(out);
    if (code == EXIT_DONE) code = filter_save(&filter, out);
    if (code == EXIT_DONE) {
        filter_report(out, &filter, arguments_has(arguments, "json"),
                      arguments_has(arguments, "quiet"));
    }
    filter_free(&filter);
    return code;
}

const struct command command_filter_merge = {
    .path = "filter merge",
    .summary = "write the union of filters",
    .synopses = (const char *const[]){"--out F A [B...]", NULL},
    .description =
        (const char *const[]){
            "Writes to `F` a filter that holds every line of the filters `A`, `B` and so on: what "
            "building it from all their lines would have given. They must agree in kind, size and "
            "seed; build them with the same `--capacity` and `--error` and they do. The capacity "
            "is that of the first one, so plan each part for the whole; a filter of kind "
            "`quotient` gets twice the slots where that is needed. `F` may be one of the filters "
            "merged, and is replaced as a whole or not at all.",
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

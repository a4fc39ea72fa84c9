/* merge.c - `lethe filter merge`: the union of several filters. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "filter/file.h"
#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "output/saved.h"
#include "say/message.h"

/* The first fact of the shape in which the two differ, as "kind blocked, not bloom". */
static void put_difference(const struct filter_facts *a, const struct filter_facts *b, char *text,
                           size_t size) {
    if (strcmp(a->kind, b->kind) != 0) {
        snprintf(text, size, "kind %s, not %s", b->kind, a->kind);
        return;
    }
    for (size_t i = 0; i < a->shape_count && i < b->shape_count; i++) {
        const struct filter_fact *first = &a->shape[i], *other = &b->shape[i];
        struct human_text label;
        const char *name = filter_fact_label(first, &label);
        if (first->word != NULL && strcmp(first->word, other->word) != 0) {
            snprintf(text, size, "%s %s, not %s", name, other->word, first->word);
            return;
        }
        if (first->word == NULL && first->number != other->number) {
            snprintf(text, size, "%" PRIu64 " %s, not %" PRIu64, other->number, name,
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
    filter_describe(first, &a);
    filter_describe(other, &b);
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
    if (filter->kind == other.kind)
        status = filter->kind->structure->merge(filter->object, other.object);
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
    if (filter->kind->structure->merge != NULL) return EXIT_DONE;
    return message_fail(EXIT_BAD_DATA, "%s is a %s filter, which cannot be merged", path,
                        filter->kind->name);
}

int run_filter_merge(const struct arguments *arguments) {
    const char *out = arguments_text(arguments, "out");
    if (out == NULL) return arguments_fail(arguments, "--out F is missing: the file to write");
    int code = saved_check("filter", out);
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
        filter_report(out, &filter, FILTER_MADE, 0, arguments_has(arguments, "json"),
                      arguments_has(arguments, "quiet"));
    }
    filter_free(&filter);
    return code;
}

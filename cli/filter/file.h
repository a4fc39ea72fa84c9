/* file.h - what the filter commands share: loading, saving and describing a filter. */
#ifndef LETHE_CLI_FILTER_FILE_H
#define LETHE_CLI_FILTER_FILE_H

#include <stdbool.h>

#include "filter/kind.h"
#include "say/human.h"

/* Loads a filter of any kind, or says why not. The caller frees it. */
int filter_load(const char *path, struct filter *out);

/* Takes {0}. */
void filter_free(struct filter *filter);

/* Writes a filter to path whole or not at all; a signal that comes meanwhile waits. */
int filter_save(const struct filter *filter, const char *path);

/* A fact's name in text: "slot bits". */
const char *filter_fact_label(const struct filter_fact *fact, struct human_text *label);

/* Prints all that is known about the filter in path to standard output. */
void filter_print_text(const char *path, const struct filter_facts *facts);
void filter_print_json(const char *path, const struct filter_facts *facts);

/* What a command did to the filter that it wrote. */
enum filter_work {
    FILTER_ADDED,   /* lines, to a new filter */
    FILTER_REMOVED, /* lines, from a filter */
    FILTER_MADE     /* of other filters */
};

/* Reports what was done, with so many lines, and what was written: as JSON on standard output, or
 * in a line on standard error unless quiet; and warns if the filter holds more than it was planned
 * for. */
void filter_report(const char *path, const struct filter *filter, enum filter_work work,
                   uint64_t lines, bool json, bool quiet);

#endif

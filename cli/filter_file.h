/* filter_file.h - what the filter commands share: loading, saving and describing a filter. */
#ifndef LETHE_CLI_FILTER_FILE_H
#define LETHE_CLI_FILTER_FILE_H

#include <stdbool.h>

#include "filter_kind.h"

/* Loads a filter of any kind, or says why not. The caller frees it. */
int filter_load(const char *path, struct filter *out);

/* Takes {0}. */
void filter_free(struct filter *filter);

/* Looks whether a filter can be written to path, without touching it, so that a mistake is
 * reported before the work and not after it. */
int filter_check_output(const char *path);

/* Writes a filter to path whole or not at all; a signal that comes meanwhile waits. */
int filter_save(const struct filter *filter, const char *path);

/* Prints all that is known about the filter in path to standard output. */
void filter_print_text(const char *path, const struct filter_facts *facts);
void filter_print_json(const char *path, const struct filter_facts *facts);

/* Reports what was written: as JSON on standard output, or in a line on standard error unless
 * quiet; and warns if the filter holds more than it was planned for. */
void filter_report(const char *path, const struct filter *filter, bool json, bool quiet);

#endif

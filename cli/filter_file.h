/* filter_file.h - what the filter commands share: loading, saving and describing a filter. */
#ifndef LETHE_CLI_FILTER_FILE_H
#define LETHE_CLI_FILTER_FILE_H

#include <stdbool.h>

#include "lethe/bloom.h"

/* The values of --kind, in the order of lethe_bloom_layout. */
#define FILTER_KINDS "bloom|blocked"

const char *filter_kind_name(lethe_bloom_layout layout);

/* Loads a filter, or says why not. The caller frees it. */
int filter_load(const char *path, lethe_bloom **out);

/* Looks whether a filter can be written to path, without touching it, so that a mistake is
 * reported before the work and not after it. */
int filter_check_output(const char *path);

/* Writes a filter to path whole or not at all; a signal that comes meanwhile waits. */
int filter_save(const lethe_bloom *filter, const char *path);

/* Prints all that is known about the filter in path to standard output. */
void filter_print_text(const char *path, const lethe_bloom_stats *stats);
void filter_print_json(const char *path, const lethe_bloom_stats *stats);

/* Reports what was written: as JSON on standard output, or in a line on standard error unless
 * quiet; and warns if the filter holds more than it was planned for. */
void filter_report(const char *path, const lethe_bloom *filter, bool json, bool quiet);

#endif

/* paper/workload.h - figures whose numbers lethe-bench makes.
 *
 * Some experiments need what lethe itself must not link or start: LevelDB, servers. A workload of
 * lethe-bench makes their numbers. Here it is run, and what it writes is read. */
#ifndef LETHE_CLI_PAPER_WORKLOAD_H
#define LETHE_CLI_PAPER_WORKLOAD_H

#include <jansson.h>

#include "paper/paper.h"

/* Runs a workload. The caller owns *document (json_decref): an object whose "results" is an array
 * of rows, of which there is at least one. Returns EXIT_DONE, or another code after saying why. */
int workload_read(const char *name, json_t **document);

/* A number in a row; NAN if it has none. */
double workload_number(const json_t *row, const char *key);

/* Runs a workload whose rows are those of a figure: keys[i] names what column i shows. conclude
 * then says what comes out of the rows. */
int workload_report(struct report *report, const char *name, const struct column *columns,
                    const char *const *keys, size_t count,
                    void (*conclude)(struct report *report, const json_t *rows));

#endif

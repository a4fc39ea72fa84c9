/* bench/report.h - results as a table for people or JSON for machines.
 *
 * A workload declares its columns once and then adds rows of cells, a string or a number each.
 * Rows are printed as they come, so that a long run shows where it is. */
#ifndef LETHE_BENCH_REPORT_H
#define LETHE_BENCH_REPORT_H

#include <stdbool.h>

enum { REPORT_MAX_COLUMNS = 13 };

struct report_column {
    const char *key;   /* in JSON, unit last: "add_mops" */
    const char *title; /* in the table */
    int width;
    int decimals; /* of a number; -1 for scientific notation, -2 for a string */
};

struct report_cell {
    const char *text; /* NULL: a number */
    double number;    /* NaN prints as "-" and null */
};

struct report {
    bool json;
    const struct report_column *columns;
    int column_count;
    int rows;
};

#define REPORT_TEXT(value) ((struct report_cell){.text = (value)})
#define REPORT_NUMBER(value) ((struct report_cell){.number = (value)})

/* Opens the output: in JSON an object with the workload, the machine and an array of rows. */
void report_begin(struct report *report, const char *workload, bool json,
                  const struct report_column *columns, int column_count);
void report_row(struct report *report, const struct report_cell *cells);
void report_end(struct report *report);

#endif

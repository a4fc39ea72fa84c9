/* paper/paper.h - how a figure of a paper is made again: the frame of `lethe paper`.
 *
 * A figure is a struct figure in a file of its own or of a few that belong together, and one row in
 * figures.h. Its run function makes the numbers, on virtual time and from fixed seeds, and hands
 * them to a report: a table, and sentences that say what the paper claims and what came out. The
 * frame prints them, writes them as CSV and has gnuplot draw them. The same bytes come out of every
 * run. */
#ifndef LETHE_CLI_PAPER_PAPER_H
#define LETHE_CLI_PAPER_PAPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* How the numbers of a column are printed. */
enum column_style {
    COLUMN_WHOLE, /* 300 */
    COLUMN_TENTH, /* 16.5 */
    COLUMN_RATE,  /* 0.00131, 4.2e-07 */
    COLUMN_RATIO  /* 1.26 */
};

struct column {
    const char *name; /* in the CSV, such as "measured_unsalted" */
    const char *head; /* in the table, short */
    enum column_style style;
};

enum { REPORT_COLUMNS = 12, REPORT_LINES = 16, REPORT_LINE_BYTES = 512, REPORT_VALUES = 24 };

struct report {
    const struct column *columns;
    size_t column_count;
    double *values; /* row by row */
    size_t row_count, row_room;
    struct line {
        bool is_claim;
        char text[REPORT_LINE_BYTES];
    } lines[REPORT_LINES];
    size_t line_count;
    struct value {
        const char *name;
        double number;
    } named[REPORT_VALUES];
    size_t named_count;
    const char *picture_note; /* a few words in the picture; NULL for none */
    bool is_short;            /* of memory */
    unsigned scale;           /* of cf-3: the paper's keys and memory are divided by it */
};

struct figure {
    const char *name;    /* "fbf-8" */
    const char *title;   /* one line, with no full stop */
    const char *columns; /* one paragraph: what the columns mean */
    /* A gnuplot script after the frame's own beginning. The data's columns have the names of the
     * CSV: plot data using "elements":"simple". */
    const char *plot;
    /* Fills the report. Returns EXIT_DONE, or another code after saying why. */
    int (*run)(struct report *report);
};

/* The table: columns once, then rows with a value for each column; NAN leaves a gap. */
void report_columns(struct report *report, const struct column *columns, size_t count);
void report_row(struct report *report, const double *values, size_t count);
#define REPORT_ROW(report, ...)                       \
    report_row(report, (const double[]){__VA_ARGS__}, \
               sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

/* What the paper says, and what came out here: one or two sentences a call. */
void report_claim(struct report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void report_result(struct report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A number that docs/papers/claims.tsv compares with the paper's, such as "lower-at-300-percent":
 * printed below the sentences as "Value: NAME NUMBER". The name is a literal, unique within the
 * figure, with its unit last. */
void report_value(struct report *report, const char *name, double number);

/* Prints a figure and its report to standard output. */
void report_print(const struct figure *figure, const struct report *report);

/* Writes FOLDER/NAME.csv. */
int report_write_csv(const struct figure *figure, const struct report *report, const char *folder);

void report_free(struct report *report);

/* Writes FOLDER/NAME.gnuplot and has gnuplot make FOLDER/NAME.svg of it and of the CSV. Without
 * gnuplot *drawn is false, after a message that says what to install; that is no failure. A report
 * without rows has no picture. */
int plot_draw(const struct figure *figure, const struct report *report, const char *folder,
              bool *drawn);

/* Makes a figure: prints it, and writes and draws it in the folder. Returns an exit code. */
int paper_make_figure(const struct figure *figure, const char *folder, bool quiet, unsigned scale);
/* Makes the folder, unless it is there. */
int paper_make_folder(const char *folder);

/* --- choose.c: figures by their names. A list of them ends with NULL. */

struct arguments;

/* Prints names, which take so many columns, and titles. */
void paper_list(const struct figure *const *figures, int width);
/* Whether every operand is a figure's name or "all"; *all: one is. Otherwise says so, and that
 * `lister` lists them. Returns an exit code. */
int paper_choose(const struct arguments *arguments, const struct figure *const *figures,
                 const char *lister, bool *all);
/* Makes the folder, and in it the figures that the operands name, or all. */
int paper_make_figures(const struct arguments *arguments, const struct figure *const *figures,
                       bool all, const char *folder, unsigned scale);

/* Opens FOLDER/NAME.ENDING for writing and stores its path; or says why not. */
enum { PAPER_PATH_BYTES = 4096 };
int paper_open(const char *folder, const struct figure *figure, const char *ending,
               char path[PAPER_PATH_BYTES], FILE **out);
/* Closes what paper_open opened, and says so if not all could be written. */
int paper_close(FILE *file, const char *path);

#endif

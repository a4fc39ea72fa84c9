/* paper/report.c - a figure's numbers and sentences: collected, printed, written as CSV. */
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "frame/exit_code.h"
#include "frame/text.h"
#include "paper/paper.h"

/* A table of more than MOST_ROWS is for drawing: about FEW_ROWS of its rows are printed. */
enum { LEAST_WIDTH = 8, GAP = 2, LABEL_WIDTH = 7, MOST_ROWS = 60, FEW_ROWS = 20 };

void report_columns(struct report *report, const struct column *columns, size_t count) {
    report->columns = columns;
    report->column_count = count;
}

void report_row(struct report *report, const double *values, size_t count) {
    assert(count == report->column_count);
    if (report->row_count == report->row_room) {
        size_t room = report->row_room == 0 ? 32 : 2 * report->row_room;
        double *grown = realloc(report->values, room * count * sizeof *grown);
        if (grown == NULL) {
            report->is_short = true;
            return;
        }
        report->values = grown;
        report->row_room = room;
    }
    memcpy(report->values + report->row_count++ * count, values, count * sizeof *values);
}

static void __attribute__((format(printf, 3, 0)))
add_line(struct report *report, bool is_claim, const char *format, va_list list) {
    if (report->line_count == REPORT_LINES) return;
    struct line *line = &report->lines[report->line_count++];
    line->is_claim = is_claim;
    vsnprintf(line->text, sizeof line->text, format, list);
}

void report_claim(struct report *report, const char *format, ...) {
    va_list list;
    va_start(list, format);
    add_line(report, true, format, list);
    va_end(list);
}

void report_result(struct report *report, const char *format, ...) {
    va_list list;
    va_start(list, format);
    add_line(report, false, format, list);
    va_end(list);
}

void report_value(struct report *report, const char *name, double number) {
    assert(report->named_count < REPORT_VALUES);
    report->named[report->named_count++] = (struct value){.name = name, .number = number};
}

static void format_value(double value, enum column_style style, char *text, size_t size) {
    if (isnan(value)) {
        snprintf(text, size, "-");
        return;
    }
    switch (style) {
    case COLUMN_WHOLE:
        snprintf(text, size, "%.0f", value);
        break;
    case COLUMN_TENTH:
        snprintf(text, size, "%.1f", value);
        break;
    case COLUMN_RATE:
        snprintf(text, size, "%.3g", value);
        break;
    case COLUMN_RATIO:
        snprintf(text, size, "%.2f", value);
        break;
    }
}

static int width_of(const struct column *column) {
    size_t length = strlen(column->head);
    return (int)(length > LEAST_WIDTH ? length : LEAST_WIDTH) + GAP;
}

static void print_table(const struct report *report) {
    for (size_t i = 0; i < report->column_count; i++)
        printf("%*s", width_of(&report->columns[i]), report->columns[i].head);
    putchar('\n');
    size_t step = report->row_count > MOST_ROWS ? report->row_count / FEW_ROWS : 1;
    for (size_t row = step - 1; row < report->row_count; row += step) {
        for (size_t i = 0; i < report->column_count; i++) {
            char text[32];
            format_value(report->values[row * report->column_count + i], report->columns[i].style,
                         text, sizeof text);
            printf("%*s", width_of(&report->columns[i]), text);
        }
        putchar('\n');
    }
}

void report_print(const struct figure *figure, const struct report *report) {
    printf("%s:", figure->name);
    text_fill(stdout, figure->title, 0, strlen(figure->name) + 1);
    putchar('\n');
    text_fill(stdout, figure->columns, 0, 0);
    putchar('\n');
    print_table(report);
    putchar('\n');
    for (size_t i = 0; i < report->line_count; i++) {
        fputs(report->lines[i].is_claim ? "Paper: " : "Here:  ", stdout);
        text_fill(stdout, report->lines[i].text, LABEL_WIDTH, LABEL_WIDTH);
    }
    for (size_t i = 0; i < report->named_count; i++)
        printf("Value: %s %.4g\n", report->named[i].name, report->named[i].number);
}

int report_write_csv(const struct figure *figure, const struct report *report, const char *folder) {
    char path[PAPER_PATH_BYTES];
    FILE *file;
    int code = paper_open(folder, figure, "csv", path, &file);
    if (code != EXIT_DONE) return code;
    for (size_t i = 0; i < report->column_count; i++)
        fprintf(file, "%s%s", i > 0 ? "," : "", report->columns[i].name);
    fputc('\n', file);
    for (size_t i = 0; i < report->row_count * report->column_count; i++) {
        bool is_last = (i + 1) % report->column_count == 0;
        if (!isnan(report->values[i])) fprintf(file, "%.6g", report->values[i]);
        fputc(is_last ? '\n' : ',', file);
    }
    return paper_close(file, path);
}

void report_free(struct report *report) {
    free(report->values);
    report->values = NULL;
}

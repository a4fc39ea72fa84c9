/* bench/report.c - prints results; see report.h. */
#include "report.h"

#include <math.h>
#include <stdio.h>

#include "machine.h"

/* Strings here are the program's own and compiler names: quotes and backslashes are all there is
 * to escape. */
static void print_json_string(const char *text) {
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

static void print_json_pair(const char *key, const char *value, const char *after) {
    printf("  ");
    print_json_string(key);
    printf(": ");
    print_json_string(value);
    printf("%s", after);
}

void report_begin(struct report *report, const char *workload, bool json,
                  const struct report_column *columns, int column_count) {
    *report = (struct report){.json = json, .columns = columns, .column_count = column_count};
    struct machine machine = machine_describe();
    if (json) {
        printf("{\n");
        print_json_pair("workload", workload, ",\n");
        print_json_pair("lethe", machine.lethe, ",\n");
        print_json_pair("cpu", machine.cpu, ",\n");
        print_json_pair("cpu_path", machine.cpu_path, ",\n");
        print_json_pair("system", machine.system, ",\n");
        print_json_pair("compiler", machine.compiler, ",\n");
        print_json_pair("flags", machine.flags, ",\n");
        printf("  \"cores\": %ld,\n  \"memory_bytes\": %.0f,\n  \"results\": [", machine.cores,
               machine.memory_bytes);
        return;
    }
    printf("%s: lethe %s (%s), %s, %ld cores, %s, %s\n", workload, machine.lethe, machine.cpu_path,
           machine.cpu, machine.cores, machine.compiler, machine.flags);
    for (int i = 0; i < column_count; i++) {
        bool is_text = columns[i].decimals == -2;
        printf(is_text ? "%-*s " : "%*s ", columns[i].width, columns[i].title);
    }
    printf("\n");
}

static void print_cell(const struct report_column *column, struct report_cell cell) {
    if (cell.text != NULL) {
        printf("%-*s ", column->width, cell.text);
    } else if (isnan(cell.number)) {
        printf("%*s ", column->width, "-");
    } else if (column->decimals == -1) {
        printf("%*.3g ", column->width, cell.number);
    } else {
        printf("%*.*f ", column->width, column->decimals, cell.number);
    }
}

void report_row(struct report *report, const struct report_cell *cells) {
    if (report->json) printf("%s\n    {", report->rows > 0 ? "," : "");
    for (int i = 0; i < report->column_count; i++) {
        const struct report_column *column = &report->columns[i];
        if (!report->json) {
            print_cell(column, cells[i]);
            continue;
        }
        printf("%s\"%s\": ", i > 0 ? ", " : "", column->key);
        if (cells[i].text != NULL) {
            print_json_string(cells[i].text);
        } else if (isnan(cells[i].number)) {
            printf("null");
        } else {
            printf("%.6g", cells[i].number);
        }
    }
    printf(report->json ? "}" : "\n");
    fflush(stdout);
    report->rows++;
}

void report_end(struct report *report) {
    if (report->json) printf("\n  ]\n}\n");
}

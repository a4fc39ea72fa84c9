/* plot.c - draws usage as bars in a terminal. */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "input/decimal.h"
#include "usage/usage.h"

enum { USUAL_COLUMNS = 80, LEAST_BAR = 10, LONGEST_BAR = 100 };

static size_t columns(void) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return USUAL_COLUMNS;
}

static void print_bar(const struct usage_gathered *gathered, const struct usage_series *series,
                      size_t which, int name_columns, size_t bar) {
    int64_t value = series->values[which];
    double size = value < 0 ? -(double)value : (double)value;
    size_t length = series->most > 0 ? (size_t)(size / series->most * (double)bar + 0.5) : 0;
    if (length == 0 && value != 0) length = 1;
    printf("%-*s  ", name_columns, gathered->periods[which]);
    for (size_t i = 0; i < length; i++)
        putchar(value < 0 ? '-' : '#');
    struct decimal_text text;
    printf("%s%s\n", length > 0 ? " " : "", decimal_show(value, gathered->scale, &text));
}

int usage_plot(const struct usage_gathered *gathered) {
    int names = 4;
    for (size_t i = 0; i < gathered->period_count; i++) {
        int length = (int)strlen(gathered->periods[i]);
        if (length > names) names = length;
    }
    for (size_t i = 0; i < gathered->series_count; i++) {
        const struct usage_series *series = &gathered->series[i];
        struct decimal_text most;
        int64_t largest = series->most < 9e18 ? (int64_t)series->most : INT64_MAX;
        /* A sign too, and the blanks around the bar. */
        size_t taken = (size_t)names + 4 + strlen(decimal_show(largest, gathered->scale, &most));
        size_t width = columns(), bar = width > taken ? width - taken : 0;
        if (bar < LEAST_BAR) bar = LEAST_BAR;
        if (bar > LONGEST_BAR) bar = LONGEST_BAR;
        printf("%s%s, per %s\n", i > 0 ? "\n" : "", series->key, gathered->by);
        for (size_t j = 0; j < gathered->period_count; j++)
            print_bar(gathered, series, j, names, bar);
        if (series->rest[0] != '\0') printf("%-*s  %s\n", names, "rest", series->rest);
    }
    return EXIT_DONE;
}

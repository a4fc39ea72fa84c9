/* gather.c - keeps the rows of `lethe usage` that are to be drawn. */
#include <stdlib.h>
#include <string.h>

#include "say/escape.h"
#include "say/message.h"
#include "usage/usage.h"

/* What can be looked at, and no more. */
enum { SERIES_LIMIT = 100, PERIODS_LIMIT = 20000 };

static void *grow(void *array, size_t *room, size_t each) {
    size_t larger = *room == 0 ? 16 : 2 * *room;
    void *grown = realloc(array, larger * each);
    if (grown != NULL) *room = larger;
    return grown;
}

static bool add_period(struct usage_gathered *gathered, const lethe_usage_row *row) {
    if (gathered->period_count == PERIODS_LIMIT) {
        gathered->code = message_fail(EXIT_USAGE,
                                      "there are more than %d periods to draw; give --from and "
                                      "--to, or a longer --by",
                                      PERIODS_LIMIT);
        return false;
    }
    if (gathered->period_count == gathered->period_room) {
        void *grown = grow(gathered->periods, &gathered->period_room, sizeof gathered->periods[0]);
        if (grown != NULL) gathered->periods = grown;
        for (size_t i = 0; i < gathered->series_count && grown != NULL; i++) {
            int64_t *values =
                realloc(gathered->series[i].values, gathered->period_room * sizeof *values);
            if (values == NULL) grown = NULL;
            if (values != NULL) gathered->series[i].values = values;
        }
        if (grown == NULL) {
            gathered->code = message_fail_memory();
            return false;
        }
    }
    usage_period(gathered->by, row, gathered->periods[gathered->period_count++]);
    gathered->last_ms = row->from_ms;
    gathered->next = 0;
    return true;
}

/* Keys come in the same order in each period; in the first one they are new. */
static struct usage_series *add_series(struct usage_gathered *gathered,
                                       const lethe_usage_row *row) {
    if (gathered->series_count == SERIES_LIMIT) {
        gathered->code = message_fail(
            EXIT_USAGE, "there are more than %d counters to draw; name some, or give --prefix",
            SERIES_LIMIT);
        return NULL;
    }
    if (gathered->series_count == gathered->series_room) {
        struct usage_series *grown = grow(gathered->series, &gathered->series_room, sizeof *grown);
        if (grown == NULL) gathered->code = message_fail_memory();
        if (grown == NULL) return NULL;
        gathered->series = grown;
    }
    struct usage_series *series = &gathered->series[gathered->series_count];
    *series = (struct usage_series){0};
    series->key = malloc(ESCAPE_FACTOR * row->key.size + 1);
    size_t room = gathered->period_room > 0 ? gathered->period_room : 1;
    series->values = calloc(room, sizeof *series->values);
    gathered->series_count++;
    if (series->key == NULL || series->values == NULL) {
        gathered->code = message_fail_memory();
        return NULL;
    }
    series->key[escape_write(row->key, series->key)] = '\0';
    return series;
}

bool usage_gather_row(void *context, const lethe_usage_row *row) {
    struct usage_gathered *gathered = context;
    bool is_first = gathered->period_count == 0;
    if (row->is_rest && gathered->last_ms != UINT64_MAX) {
        gathered->last_ms = UINT64_MAX;
        gathered->next = 0;
    } else if (!row->is_rest && (is_first || row->from_ms != gathered->last_ms) &&
               !add_period(gathered, row)) {
        return false;
    }
    struct usage_series *series = gathered->next < gathered->series_count
                                      ? &gathered->series[gathered->next]
                                      : add_series(gathered, row);
    if (series == NULL) return false;
    gathered->next++;
    if (row->is_rest) {
        if (row->value != 0 || row->value_high != 0)
            usage_value(row, gathered->scale, series->rest);
        return true;
    }
    int64_t value = (int64_t)row->value;
    series->values[gathered->period_count - 1] = value;
    double size = value < 0 ? -(double)value : (double)value;
    if (size > series->most) series->most = size;
    series->is_negative = series->is_negative || value < 0;
    return true;
}

void usage_gathered_free(struct usage_gathered *gathered) {
    for (size_t i = 0; i < gathered->series_count; i++) {
        free(gathered->series[i].key);
        free(gathered->series[i].values);
    }
    free(gathered->series);
    free(gathered->periods);
}

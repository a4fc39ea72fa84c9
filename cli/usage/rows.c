/* rows.c - prints the rows of `lethe usage` as they come: text, JSON, CSV. */
#include <stdio.h>
#include <string.h>

#include "output/output.h"
#include "say/escape.h"
#include "say/json.h"
#include "usage/usage.h"

int usage_print_heading(const struct usage_printer *printer) {
    static const char heading[] = "key,by,from,value\n";
    return printer->csv ? output_write(heading, sizeof heading - 1) : EXIT_DONE;
}

static bool is_zero(const lethe_usage_row *row) {
    return row->value == 0 && row->value_high == 0;
}

static void print_json(const struct usage_printer *printer, const lethe_usage_row *row) {
    char moment[USAGE_PERIOD_BYTES], value[USAGE_VALUE_BYTES];
    struct json json = json_begin(stdout);
    usage_value(row, printer->scale, value);
    json_bytes(&json, "key", row->key);
    json_string(&json, "by", printer->by);
    if (!row->is_rest) {
        usage_moment(row->from_ms, row->offset_s, moment);
        json_string(&json, "from", moment);
    }
    json_number(&json, row->is_rest ? "rest" : "value", value);
    json_end(&json);
}

/* A field of a CSV file: the key as it is, in quotes where it needs them. Nothing is escaped,
 * since whoever reads CSV, `lethe count --csv` included, would take an escape for the key. */
static size_t quote(lethe_bytes field, char *out) {
    static const char special[] = ",\"\r\n";
    const char *bytes = field.data;
    bool is_plain = bytes[0] != ' ' && bytes[field.size - 1] != ' ';
    for (size_t i = 0; i < field.size; i++) {
        is_plain = is_plain && memchr(special, bytes[i], sizeof special - 1) == NULL;
    }
    if (is_plain) {
        memcpy(out, bytes, field.size);
        return field.size;
    }
    size_t length = 0;
    out[length++] = '"';
    for (size_t i = 0; i < field.size; i++) {
        if (bytes[i] == '"') out[length++] = '"';
        out[length++] = bytes[i];
    }
    out[length++] = '"';
    return length;
}

static int print_line(const struct usage_printer *printer, const lethe_usage_row *row) {
    char key[ESCAPE_FACTOR * LETHE_KEY_LIMIT_BYTES], value[USAGE_VALUE_BYTES];
    char line[2 * sizeof key + 200], period[USAGE_PERIOD_BYTES] = "rest";
    size_t key_size = escape_write(row->key, key), length = 0;
    usage_value(row, printer->scale, value);
    if (printer->csv) {
        if (!row->is_rest) usage_moment(row->from_ms, row->offset_s, period);
        length = quote(row->key, line);
        length += (size_t)snprintf(line + length, 200, ",%s,%s,%s\n", printer->by, period, value);
        return output_write(line, length);
    }
    if (!row->is_rest) usage_period(printer->by, row, period);
    length = (size_t)snprintf(line, sizeof line, "%s\t", period);
    memcpy(line + length, key, key_size);
    length += key_size;
    length += (size_t)snprintf(line + length, 100, "\t%s\n", value);
    return output_write(line, length);
}

bool usage_print_row(void *context, const lethe_usage_row *row) {
    struct usage_printer *printer = context;
    if (row->is_rest && is_zero(row)) return true;
    if (printer->json) {
        print_json(printer, row);
    } else {
        printer->code = print_line(printer, row);
    }
    return printer->code == EXIT_DONE;
}

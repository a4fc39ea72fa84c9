/* Goal:   what an id, a key, a delta and a time may be is the same in every format.
 * Method: a table of records, each with what it should become. Every record is written in every
 *         format, with names and with numbers of columns, and read back; and again twice, where a
 *         byte order mark is before each line, as in files that were put together. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame/exit_code.h"
#include "input/decimal.h"
#include "reading.h"

enum { FIELDS_MOST = 5 };

/* A record has the fields c1, c2, ...; NULL in the middle is a field that is missing: empty, null,
 * or not there. */
struct rule {
    const char *fields;
    /* Without line number: "a|k=1@5"; "!" if it cannot be read. */
    const char *expected;
    const char *values[FIELDS_MOST];
    size_t count;
    bool is_strict;
    enum event_time_unit unit;
    const char *zone;
    unsigned scale;
};

#define VALUES(...) \
    .values = {__VA_ARGS__}, .count = sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *)
#define DELTA(text, result) \
    { .fields = "id=c1,key=c2,delta=c3", .expected = result, VALUES("a", "k", text) }
#define STRICT(text, result)                                                           \
    {                                                                                  \
        .fields = "id=c1,key=c2,delta=c3", .expected = result, VALUES("a", "k", text), \
        .is_strict = true                                                              \
    }
#define SCALED(digits, text, result)                                                   \
    {                                                                                  \
        .fields = "id=c1,key=c2,delta=c3", .expected = result, VALUES("a", "k", text), \
        .scale = digits                                                                \
    }
#define TIME(text, result) \
    { .fields = "id=c1,key=c2,time=c3", .expected = result, VALUES("a", "k", text) }
#define TIME_IN(of_unit, text, result)                                                \
    {                                                                                 \
        .fields = "id=c1,key=c2,time=c3", .expected = result, VALUES("a", "k", text), \
        .unit = of_unit                                                               \
    }
#define TIME_AT(of_zone, text, result)                                                \
    {                                                                                 \
        .fields = "id=c1,key=c2,time=c3", .expected = result, VALUES("a", "k", text), \
        .zone = of_zone                                                               \
    }

static const struct rule rules[] = {
    DELTA("5", "a|k=5"),
    DELTA("-5", "a|k=-5"),
    DELTA("+7", "a|k=7"),
    DELTA("3.0", "a|k=3"),
    DELTA("1e2", "a|k=100"),
    DELTA("1E+2", "a|k=100"),
    DELTA("-2.50e1", "a|k=-25"),
    DELTA("0.0", "a|k=0"),
    DELTA("-0.000e-7", "a|k=0"),
    DELTA("1200e-2", "a|k=12"),
    DELTA("9007199254740993.0", "a|k=9007199254740993"),
    DELTA("9223372036854775807", "a|k=9223372036854775807"),
    DELTA("9.223372036854775807e18", "a|k=9223372036854775807"),
    DELTA("-9223372036854775808.0", "a|k=-9223372036854775808"),
    DELTA(NULL, "a|k=1"),
    DELTA("", "a|k=1"),
    DELTA("3.5", "!"),
    DELTA("1e-1", "!"),
    DELTA("0.99999999999999999999", "!"),
    DELTA("3.00000000000000000000000000001", "!"),
    DELTA("9223372036854775808.0", "!"),
    DELTA("-9223372036854775809.0", "!"),
    DELTA("1e19", "!"),
    DELTA("1e99", "!"),
    DELTA("1e999999999999999999999", "!"),
    DELTA("100000000000000000000000000000001", "!"),
    DELTA("x", "!"),
    DELTA(" 1", "!"),
    DELTA("1 ", "!"),
    DELTA("0x10", "!"),
    DELTA("1e", "!"),
    DELTA("e5", "!"),
    DELTA(".5", "!"),
    DELTA("5.", "!"),
    DELTA("--1", "!"),
    DELTA("1,000", "!"),
    STRICT("5", "a|k=5"),
    STRICT("3.0", "a|k=3"),
    STRICT(NULL, "!"),
    STRICT("", "!"),
    {.fields = "id=c1,key=c2", .expected = "a|k=1", VALUES("a", "k"), .is_strict = true},

    SCALED(2, "3", "a|k=300"),
    SCALED(2, "3.5", "a|k=350"),
    SCALED(2, "3.50", "a|k=350"),
    SCALED(2, "-0.25", "a|k=-25"),
    SCALED(2, "1e2", "a|k=10000"),
    SCALED(2, "125e-2", "a|k=125"),
    SCALED(2, "0.250e0", "a|k=25"),
    SCALED(2, "90071992547409.93", "a|k=9007199254740993"),
    SCALED(2, "92233720368547758.07", "a|k=9223372036854775807"),
    SCALED(2, "-92233720368547758.08", "a|k=-9223372036854775808"),
    SCALED(18, "-9.223372036854775808", "a|k=-9223372036854775808"),
    SCALED(18, "0.1", "a|k=100000000000000000"),
    SCALED(2, NULL, "a|k=100"),
    SCALED(2, "", "a|k=100"),
    SCALED(18, NULL, "a|k=1000000000000000000"),
    SCALED(2, "3.505", "!"),
    SCALED(2, "1e-3", "!"),
    SCALED(2, "92233720368547758.08", "!"),
    SCALED(2, "-92233720368547758.09", "!"),
    SCALED(2, "922337203685477581", "!"),
    SCALED(18, "10", "!"),
    SCALED(2, "3,50", "!"),
    SCALED(2, "x", "!"),
    {.fields = "id=c1,key=c2", .expected = "a|k=100", VALUES("a", "k"), .scale = 2},
    {.fields = "id=c1,key=c2,key=c3",
     .expected = "a|k=100,l=100",
     VALUES("a", "k", "l"),
     .scale = 2},
    {.fields = "id=c1,key=c2,key=c3,delta=c4",
     .expected = "a|k=-5,l=-5",
     VALUES("a", "k", "l", "-0.05"),
     .scale = 2},
    {.fields = "id=c1,key=c2,delta=c3,key=:n,delta=:1.50",
     .expected = "a|k=725,n=150",
     VALUES("a", "k", "7.25"),
     .scale = 2},
    {.fields = "id=c1,key=c2,delta=:-0.001", .expected = "a|k=-1", VALUES("a", "k"), .scale = 3},

    {.fields = "id=c1,key=c2,key=c3", .expected = "a|k=1,l=1", VALUES("a", "k", "l")},
    {.fields = "key=c3,id=c1,key=c2,delta=c4", .expected = "a|l=7,k=7", VALUES("a", "k", "l", "7")},
    {.fields = "delta=c4,delta=c5,id=c1,key=c2,key=c3",
     .expected = "a|k=7,l=-1",
     VALUES("a", "k", "l", "7", "-1")},
    {.fields = "id=c1,key=c2,delta=c3,key=:n,delta=:1",
     .expected = "a|k=7,n=1",
     VALUES("a", "k", "7")},
    {.fields = "id=c1,key=c2,key=c3,delta=c4,delta=c5",
     .expected = "a|k=1,l=1",
     VALUES("a", "k", "l", NULL, NULL)},
    {.fields = "id=c1,key=c2,key=c3,delta=c4,delta=c5",
     .expected = "a|k=7,l=1",
     VALUES("a", "k", "l", "7", NULL)},
    {.fields = "id=c1,key=c2,key=c3,delta=c4,delta=c5",
     .expected = "!",
     VALUES("a", "k", "l", "7", NULL),
     .is_strict = true},
    {.fields = "id=c1,key=c4,delta=c3", .expected = "!", VALUES("a", NULL, NULL, NULL)},
    {.fields = "id=c1,key=:\"x, \"\"y\"", .expected = "a|x, \"y=1", VALUES("a")},
    {.fields = "id=c1,key=c1", .expected = "a|a=1", VALUES("a")},
    {.fields = "id=c1,key=c2,key=c3", .expected = "!", VALUES("a", "k", "")},
    {.fields = "id=c1,key=c2,key=c3,delta=c4,delta=c5",
     .expected = "!",
     VALUES("a", "k", "l", "1", "1.5")},
    {.fields = "id=c1,key=c2", .expected = "!", VALUES("", "k")},

    {.fields = "id=c1,id=c2,key=c3", .expected = "1:a2:bc|k=1", VALUES("a", "bc", "k")},
    {.fields = "id=c1,id=c2,key=c3", .expected = "2:ab1:c|k=1", VALUES("ab", "c", "k")},
    {.fields = "id=c2,id=c1,key=c3", .expected = "2:bc1:a|k=1", VALUES("a", "bc", "k")},
    {.fields = "id=:web,id=c1,key=c2", .expected = "3:web1:a|k=1", VALUES("a", "k")},
    {.fields = "id=c1,id=c2,key=c3", .expected = "!", VALUES("a", "", "k")},
    {.fields = "id=c1,id=c2,key=c3", .expected = "!", VALUES(NULL, "b", "k")},

    TIME("2023-11-14T22:13:20Z", "a|k=1@1700000000000"),
    TIME("2023-11-14t22:13:20.5z", "a|k=1@1700000000500"),
    TIME("2023-11-14 23:13:20.123999+01:00", "a|k=1@1700000000123"),
    TIME("2023-11-14 23:13:20,123 +0100", "a|k=1@1700000000123"),
    TIME("2023-11-14T22:13:20+00", "a|k=1@1700000000000"),
    TIME("2023-11-14T16:43:20-05:30", "a|k=1@1700000000000"),
    TIME("2000-02-29T00:00:00Z", "a|k=1@951782400000"),
    TIME("2016-12-31T23:59:60.25Z", "a|k=1@1483228799250"),
    TIME("1970-01-01T00:00:00Z", "a|k=1"),
    TIME("9999-12-31T23:59:59.999Z", "a|k=1@253402300799999"),
    TIME("10/Oct/2000:13:55:36 -0700", "a|k=1@971211336000"),
    TIME("[10/Oct/2000:13:55:36 -0700]", "a|k=1@971211336000"),
    TIME("1700000000000", "a|k=1@1700000000000"),
    TIME("1700000000000.75", "a|k=1@1700000000000"),
    TIME("1.7e12", "a|k=1@1700000000000"),
    TIME("1700000000", "a|k=1@1700000000000"),
    TIME("1700000000.1239", "a|k=1@1700000000123"),
    TIME("1700000000.12345678901234567890", "a|k=1@1700000000123"),
    TIME("1700000000123456", "a|k=1@1700000000123"),
    TIME("1700000000123456.9", "a|k=1@1700000000123"),
    TIME("99999999999", "a|k=1@99999999999000"),
    TIME("100000000000", "a|k=1@100000000000"),
    TIME("99999999999999", "a|k=1@99999999999999"),
    TIME("100000000000000", "a|k=1@100000000000"),
    TIME("0", "a|k=1"),
    TIME_IN(UNIT_SECONDS, "5", "a|k=1@5000"),
    TIME_IN(UNIT_SECONDS, "1700000000.5", "a|k=1@1700000000500"),
    TIME_IN(UNIT_MILLISECONDS, "5", "a|k=1@5"),
    TIME_IN(UNIT_MICROSECONDS, "5999", "a|k=1@5"),
    TIME_IN(UNIT_SECONDS, "2023-11-14T22:13:20Z", "a|k=1@1700000000000"),
    TIME_IN(UNIT_SECONDS, "1700000000000", "!"),
    TIME_IN(UNIT_MILLISECONDS, "253402300800000", "!"),
    TIME("100000000000000000", "!"),
    TIME("1e400", "!"),
    TIME("-1", "!"),
    TIME("-0.5", "!"),
    TIME("", "!"),
    TIME(NULL, "!"),
    TIME("now", "!"),
    TIME("2023-11-14", "!"),
    TIME("2023-11-14T22:13:20", "!"),
    TIME("2023-11-14T22:13:20 ", "!"),
    TIME("2023-11-14T22:13Z", "!"),
    TIME("2023-13-01T00:00:00Z", "!"),
    TIME("2023-02-29T00:00:00Z", "!"),
    TIME("1900-02-29T00:00:00Z", "!"),
    TIME("1969-12-31T23:59:59Z", "!"),
    TIME("0001-01-01T00:00:00Z", "!"),
    TIME("1970-01-01T00:00:00+00:01", "!"),
    TIME("9999-12-31T23:59:59-00:01", "!"),
    TIME("2023-11-14T24:00:00Z", "!"),
    TIME("2023-11-14T22:60:00Z", "!"),
    TIME("2023-11-14T22:13:61Z", "!"),
    TIME("2023-11-14T22:13:20.Z", "!"),
    TIME("2023-11-14T22:13:20Zx", "!"),
    TIME("2023-11-14T22:13:20+1:00", "!"),
    TIME("2023-11-14T22:13:20+24:00", "!"),
    TIME("10/Okt/2000:13:55:36 -0700", "!"),
    TIME("10/Oct/2000:13:55:36", "!"),
    TIME("99999999999999999999", "!"),
    TIME_AT("+01:00", "2023-11-14 23:13:20", "a|k=1@1700000000000"),
    TIME_AT("-0530", "2023-11-14 16:43:20", "a|k=1@1700000000000"),
    TIME_AT("Z", "10/Oct/2000:20:55:36", "a|k=1@971211336000"),
    TIME_AT("Europe/Berlin", "2023-11-14T23:13:20.5", "a|k=1@1700000000500"),
    TIME_AT("Europe/Berlin", "2023-07-01 00:00:00", "a|k=1@1688162400000"),
    TIME_AT("Europe/Berlin", "2023-11-14T22:13:20Z", "a|k=1@1700000000000"),
    /* Put forward from 2:00 to 3:00, and back from 3:00 to 2:00: the first of the two. */
    TIME_AT("Europe/Berlin", "2024-03-31 01:59:59", "a|k=1@1711846799000"),
    TIME_AT("Europe/Berlin", "2024-03-31 02:00:00", "!"),
    TIME_AT("Europe/Berlin", "2024-03-31 02:59:59", "!"),
    TIME_AT("Europe/Berlin", "2024-03-31 03:00:00", "a|k=1@1711846800000"),
    TIME_AT("Europe/Berlin", "2024-10-27 01:59:59", "a|k=1@1729987199000"),
    TIME_AT("Europe/Berlin", "2024-10-27 02:00:00", "a|k=1@1729987200000"),
    TIME_AT("Europe/Berlin", "2024-10-27 02:59:59", "a|k=1@1729990799000"),
    TIME_AT("Europe/Berlin", "2024-10-27 03:00:00", "a|k=1@1729994400000"),
    TIME_AT("America/New_York", "2024-11-03 01:30:00", "a|k=1@1730611800000"),
    TIME_AT("Australia/Lord_Howe", "2024-10-06 02:15:00", "!"),
    TIME_AT("Europe/Berlin", "1970-01-01 00:30:00", "!"),
    {.fields = "id=c1,key=c2,time=c3,time=c4",
     .expected = "a|k=1@971211336000",
     VALUES("a", "k", "[10/Oct/2000:13:55:36", "-0700]")},
    {.fields = "id=c1,key=c2,time=c3,time=c4",
     .expected = "a|k=1@1700000000000",
     VALUES("a", "k", "2023-11-14", "22:13:20"),
     .zone = "UTC"},
    {.fields = "id=c1,key=c2,time=c3,time=c4", .expected = "!", VALUES("a", "k", "2023-11-14", "")},
};

/* A way to write records. */
struct form {
    const char *name;
    enum event_kind kind;
    /* Between fields; as the option has it. */
    const char *delimiter, *option;
    bool has_names, has_quotes;
    /* JSON: numbers are numbers; what is missing is not there. Columns: what is missing at the end
     * of a line is not there. */
    bool is_bare;
};

static const struct form forms[] = {
    {"plain", EVENTS_PLAIN, "\t", NULL, .has_names = false},
    {"plain with a header", EVENTS_PLAIN, "\t", NULL, .has_names = true},
    {"plain, cut short", EVENTS_PLAIN, "\t", NULL, .has_names = true, .is_bare = true},
    {"CSV", EVENTS_CSV, ",", NULL, .has_quotes = true},
    {"CSV, cut short", EVENTS_CSV, ",", NULL, .has_quotes = true, .is_bare = true},
    {"CSV with a header", EVENTS_CSV, ",", NULL, .has_names = true, .has_quotes = true},
    {"CSV with semicolons", EVENTS_CSV, ";", ";", .has_names = true},
    {"CSV with tabs", EVENTS_CSV, "\t", "\\t", .has_quotes = true},
    {"JSON of strings", EVENTS_JSONL, ",", NULL, .has_names = true},
    {"JSON of numbers", EVENTS_JSONL, ",", NULL, .has_names = true, .is_bare = true},
};

/* Whether a JSON text may have it without quotes around. */
static bool is_json_number(const char *text) {
    struct decimal number;
    const char *digits = text + (text[0] == '-');
    return text[0] != '+' && decimal_parse((lethe_bytes){text, strlen(text)}, &number) &&
           (digits[0] != '0' || digits[1] < '0' || digits[1] > '9');
}

static void add_string(struct text *text, const char *value) {
    add(text, value, strlen(value));
}

static void write_json(const struct rule *rule, const struct form *form, struct text *text) {
    const char *before = "{";
    for (size_t i = 0; i < rule->count; i++) {
        const char *value = rule->values[i];
        if (value == NULL && form->is_bare) continue;
        add_format(text, "%s\"c%zu\": ", before, i + 1);
        before = ", ";
        bool is_bare = value == NULL || (form->is_bare && is_json_number(value));
        if (!is_bare) add_string(text, "\"");
        add_string(text, value != NULL ? value : "null");
        if (!is_bare) add_string(text, "\"");
    }
    add_string(text, "}\n");
}

static void write_names(const struct rule *rule, const struct form *form, struct text *text) {
    const char *quote = form->has_quotes ? "\"" : "";
    for (size_t i = 0; i < rule->count; i++) {
        add_format(text, "%s%sc%zu%s", i > 0 ? form->delimiter : "", quote, i + 1, quote);
    }
    add_string(text, "\n");
}

static void write_columns(const struct rule *rule, const struct form *form, struct text *text) {
    const char *quote = form->has_quotes ? "\"" : "";
    size_t count = rule->count;
    while (form->is_bare && count > 0 && rule->values[count - 1] == NULL) {
        count--;
    }
    for (size_t i = 0; i < count; i++) {
        const char *value = rule->values[i] != NULL ? rule->values[i] : "";
        if (i > 0) add_string(text, form->delimiter);
        add_string(text, quote);
        add_string(text, value);
        add_string(text, quote);
    }
    add_string(text, "\n");
}

/* The fields of a rule, with numbers where the form has no names. */
static void write_fields(const struct rule *rule, const struct form *form, char out[256]) {
    size_t used = 0;
    for (const char *at = rule->fields; *at != '\0'; at++) {
        out[used++] = *at;
        if (!form->has_names && at[0] == '=' && at[1] == 'c') at++;
    }
    out[used] = '\0';
}

static void check_rule(const struct rule *rule, const struct form *form, bool has_marks) {
    char fields[256];
    struct text text = {0}, expected = {0};
    struct event_options options = {.last_line = true};
    struct event_problem problem;
    write_fields(rule, form, fields);
    struct event_format_options format = {.kind = form->kind,
                                          .fields = fields,
                                          .delimiter = form->option,
                                          .zone = rule->zone,
                                          .time_unit = rule->unit,
                                          .is_strict = rule->is_strict};
    if (!event_format_make(&format, &options.format, &problem)) fail_msg("%s", problem.text);
    if (!event_format_set_scale(&options.format, rule->scale, &problem))
        fail_msg("%s", problem.text);
    bool has_header = event_format_has_header(&options.format);
    bool is_bad = rule->expected[0] == '!';
    const char *mark = has_marks ? "\xef\xbb\xbf" : "";
    if (has_header || (form->kind != EVENTS_JSONL && form->has_names)) {
        add_string(&text, mark);
        write_names(rule, form, &text);
    }
    for (int line = has_header ? 2 : 1, last = line + has_marks; line <= last; line++) {
        add_string(&text, mark);
        if (form->kind == EVENTS_JSONL) {
            write_json(rule, form, &text);
        } else {
            write_columns(rule, form, &text);
        }
        add_format(&expected, "%d%s%s\n", line, is_bad ? "" : "|", rule->expected);
    }
    struct reading reading = read_bytes(text.data, text.size, &options);
    if (reading.code != EXIT_DONE || strcmp(reading.text.data, expected.data) != 0) {
        fail_msg("%s, %s: %s gave %s and not %s %s", form->name, fields, text.data,
                 reading.text.data, expected.data, reading.failure);
    }
    free(reading.text.data);
    free(text.data);
    free(expected.data);
}

static void rules_are_the_same_in_every_format(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        for (size_t j = 0; j < sizeof forms / sizeof forms[0]; j++) {
            bool needs_quotes = !forms[j].has_quotes && forms[j].kind == EVENTS_CSV;
            bool has_delimiter = false;
            for (size_t k = 0; k < rules[i].count && needs_quotes; k++) {
                const char *value = rules[i].values[k];
                has_delimiter = has_delimiter ||
                                (value != NULL && strchr(value, forms[j].delimiter[0]) != NULL);
            }
            if (has_delimiter) continue;
            check_rule(&rules[i], &forms[j], false);
            check_rule(&rules[i], &forms[j], true);
        }
    }
}

static int make_path(void **state) {
    (void)state;
    return make_file_path() ? 0 : -1;
}

static int remove_path(void **state) {
    (void)state;
    remove_file_path();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_the_same_in_every_format),
    };
    return cmocka_run_group_tests_name("rules", tests, make_path, remove_path);
}

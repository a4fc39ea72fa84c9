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
#include "lethe/id.h"
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

/* Goal:   a mark that an earlier version wrote stays valid, and formats that read a file
 *         differently are told apart. */
static void descriptions(void **state) {
    (void)state;
    static const struct {
        struct event_format_options options;
        const char *manner;
    } cases[] = {
        /* As the first version wrote them. */
        {{.kind = EVENTS_PLAIN}, ""},
        {{.kind = EVENTS_CSV}, "--csv"},
        {{.kind = EVENTS_JSONL}, "--jsonl --fields id=id,key=key,delta=delta"},
        {{.kind = EVENTS_PLAIN, .fields = "time=4,key=2,id=1"}, "--fields id=1,key=2,time=4"},
        {{.kind = EVENTS_CSV, .fields = "id=3,key=1,delta=2"}, "--csv --fields id=3,key=1,delta=2"},
        {{.kind = EVENTS_CSV, .fields = "id=order no.,key=/page"},
         "--csv --fields id=order no.,key=/page"},
        {{.kind = EVENTS_JSONL, .fields = "id=request,key=user,delta=bytes,time=at"},
         "--jsonl --fields id=request,key=user,delta=bytes,time=at"},
        /* A member whose name has a dot is not one within another. */
        {{.kind = EVENTS_JSONL, .fields = "id=\"meta.id\",key=k"},
         "--jsonl --fields id=meta.id,key=k"},
        {{.kind = EVENTS_JSONL, .fields = "id=meta.id,key=k"},
         "--jsonl --fields id=/meta/id,key=k"},
        {{.kind = EVENTS_JSONL, .fields = "id=/meta/id,key=/k"},
         "--jsonl --fields id=/meta/id,key=k"},
        {{.kind = EVENTS_JSONL, .fields = "id=/a~1b/~0,key=\"/k\""},
         "--jsonl --fields id=/a~1b/~0,key=\"/k\""},
        /* What is new is added. */
        {{.kind = EVENTS_CSV, .delimiter = ","}, "--csv"},
        {{.kind = EVENTS_CSV, .delimiter = ";"}, "--csv --delimiter ;"},
        {{.kind = EVENTS_CSV, .delimiter = "\t"}, "--csv --delimiter \\t"},
        {{.kind = EVENTS_CSV, .delimiter = "\\t"}, "--csv --delimiter \\t"},
        {{.kind = EVENTS_PLAIN, .is_strict = true}, "--strict"},
        {{.kind = EVENTS_PLAIN, .fields = "id=2,id=1,key=:x,key=3"},
         "--fields id=2,id=1,key=:x,key=3"},
        {{.kind = EVENTS_CSV, .fields = "id=\"1\",key=\"a, \"\"b\""},
         "--csv --fields id=\"1\",key=\"a, \"\"b\""},
        {{.kind = EVENTS_PLAIN, .fields = "id=1,key=:\"1,2\""}, "--fields id=1,key=:\"1,2\""},
        {{.kind = EVENTS_PLAIN,
          .fields = "id=1,key=2,time=3",
          .time_unit = UNIT_SECONDS,
          .zone = "Europe/Berlin"},
         "--fields id=1,key=2,time=3 --time-unit s --zone Europe/Berlin"},
        {{.kind = EVENTS_PLAIN, .fields = "id=1,key=2,time=3", .zone = "-0530"},
         "--fields id=1,key=2,time=3 --zone -05:30"},
        {{.kind = EVENTS_JSONL, .is_cloud = true}, "--jsonl --fields id=source,id=id,key=type"},
        {{.kind = EVENTS_JSONL, .is_cloud = true, .fields = "key=data.user,delta=data.n"},
         "--jsonl --fields id=source,id=id,key=/data/user,delta=/data/n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct event_format format;
        struct event_problem problem;
        char manner[EVENT_MANNER_BYTES];
        if (!event_format_make(&cases[i].options, &format, &problem)) fail_msg("%s", problem.text);
        event_format_describe(&format, manner);
        assert_string_equal(manner, cases[i].manner);
    }
}

static void wrong_options(void **state) {
    (void)state;
    static const struct event_format_options cases[] = {
        {.kind = EVENTS_PLAIN, .delimiter = ";"},
        {.kind = EVENTS_JSONL, .delimiter = ";"},
        {.kind = EVENTS_CSV, .delimiter = ""},
        {.kind = EVENTS_CSV, .delimiter = ";;"},
        {.kind = EVENTS_CSV, .delimiter = "\""},
        {.kind = EVENTS_CSV, .delimiter = "\n"},
        {.kind = EVENTS_CSV, .delimiter = "\xc2\xa7"},
        {.kind = EVENTS_PLAIN, .zone = "UTC"},
        {.kind = EVENTS_PLAIN, .time_unit = UNIT_SECONDS},
        {.kind = EVENTS_PLAIN, .fields = "id=1,key=2,time=3", .zone = ""},
        {.kind = EVENTS_PLAIN, .fields = "id=1,key=2,time=3", .zone = "Europe"},
        {.kind = EVENTS_PLAIN, .fields = "id=1,key=2,time=3", .zone = "Europe/Nowhere"},
        {.kind = EVENTS_PLAIN, .fields = "id=1,key=2,time=3", .zone = "../zoneinfo/UTC"},
        {.kind = EVENTS_PLAIN, .fields = "id=1,key=2,time=3", .zone = "/etc/localtime"},
        {.kind = EVENTS_PLAIN, .fields = "id=1,key=2,time=3", .zone = "+25:00"},
        {.kind = EVENTS_JSONL, .is_cloud = true, .fields = "id=id"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct event_format format;
        struct event_problem problem = {""};
        if (event_format_make(&cases[i], &format, &problem)) fail_msg("case %zu is accepted", i);
        if (strchr(problem.text, ';') == NULL && strchr(problem.text, ',') == NULL) {
            fail_msg("does not say what to do: %s", problem.text);
        }
    }
}

/* Goal:   a literal delta that does not fit the scale is refused, and the message says why; the
 *         format stays as it was. */
static void literal_deltas(void **state) {
    (void)state;
    static const struct {
        const char *fields;
        unsigned scale;
        const char *problem;
    } cases[] = {
        {"id=1,key=2,delta=:1.5", 0,
         "--fields: the delta '1.5' is not a whole number; write one such as 1 or -5, or make a "
         "new "
         "store with --scale"},
        {"id=1,key=2,delta=:1.505", 2,
         "--fields: the delta '1.505' has more digits after the point than the store's scale, "
         "which "
         "is 2; write no more, or make a new store with a larger --scale"},
        {"id=1,key=2,delta=3,key=:n,delta=:10", 18,
         "--fields: the delta '10' is beyond 64 bits; write a number from -9.223372036854775808 to "
         "9.223372036854775807"},
        {"id=1,key=2,delta=:0.0000000000000000001", 18,
         "--fields: the delta '0.0000000000000000001' has more digits after the point than the "
         "store's scale, which is 18; write no more"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct event_options options = options_for(EVENTS_PLAIN, cases[i].fields);
        struct event_problem problem = {""};
        assert_true(event_format_has_literal_delta(&options.format));
        assert_false(event_format_set_scale(&options.format, cases[i].scale, &problem));
        assert_string_equal(problem.text, cases[i].problem);
        assert_int_equal(options.format.scale, 0);
    }
    struct event_options options = options_for(EVENTS_PLAIN, "id=1,key=:k,delta=2");
    assert_false(event_format_has_literal_delta(&options.format));
    options = options_for(EVENTS_PLAIN, NULL);
    assert_false(event_format_has_literal_delta(&options.format));
}

/* Goal:   a list of fields that is too long for a mark is refused, and so are too many; what is
 *         just short enough is described whole. */
static void long_fields(void **state) {
    (void)state;
    size_t accepted = 0;
    for (size_t count = 1; count < 40; count++) {
        char fields[4096] = "id=i";
        char manner[EVENT_MANNER_BYTES];
        for (size_t i = 0; i < count; i++) {
            size_t used = strlen(fields);
            snprintf(fields + used, sizeof fields - used, ",key=name_of_a_member_%02zu", i);
        }
        struct event_format format;
        struct event_problem problem;
        struct event_format_options options = {.kind = EVENTS_JSONL, .fields = fields};
        if (!event_format_make(&options, &format, &problem)) continue;
        assert_int_equal(++accepted, count);
        event_format_describe(&format, manner);
        assert_string_equal(manner + strlen("--jsonl --fields "), fields);
    }
    assert_in_range(accepted, 16, 31);
}

/* Goal:   joined ids differ where their fields do, and are what docs/format/id.md says. */
static void joined_ids(void **state) {
    (void)state;
    static const lethe_bytes fields[] = {{"a", 1}, {"bc", 2}, {"0123456789", 10}, {"x\0:", 3}};
    static const lethe_bytes empty[] = {{"a", 1}, {"", 0}};
    char out[64];
    size_t size;
    assert_int_equal(lethe_id_join(fields, 4, out, sizeof out, &size), LETHE_OK);
    assert_int_equal(size, 25);
    assert_memory_equal(out, "1:a2:bc10:01234567893:x\0:", 25);
    assert_int_equal(lethe_id_join(fields, 1, out, sizeof out, &size), LETHE_OK);
    assert_int_equal(size, 1);
    assert_memory_equal(out, "a", 1);
    assert_int_equal(lethe_id_join(fields, 2, out, 6, &size), LETHE_EFULL);
    assert_int_equal(size, 7);
    assert_int_equal(lethe_id_join(fields, 2, out, 7, &size), LETHE_OK);
    assert_int_equal(lethe_id_join(fields, 0, out, sizeof out, &size), LETHE_EINVAL);
    assert_int_equal(lethe_id_join(empty, 2, out, sizeof out, &size), LETHE_EINVAL);
    assert_int_equal(lethe_id_join(NULL, 2, out, sizeof out, &size), LETHE_EINVAL);
    assert_int_equal(lethe_id_join(fields, 2, NULL, 7, &size), LETHE_EINVAL);
    assert_int_equal(lethe_id_join(fields, 2, out, sizeof out, NULL), LETHE_EINVAL);
}

/* Goal:   a joined id has the same limit as any other, and a batch has room for it. */
static void long_ids(void **state) {
    (void)state;
    static char line[4096];
    struct event_options options = options_for(EVENTS_PLAIN, "id=1,id=2,key=3");
    for (size_t part = 505; part <= 511; part++) {
        char field[512];
        memset(field, 'x', sizeof field);
        field[part] = '\0';
        int length = snprintf(line, sizeof line, "%s\t%s\tk\n", field, field);
        struct reading reading = read_bytes(line, (size_t)length, &options);
        bool fits = 2 * (part + 4) <= LETHE_ID_LIMIT_BYTES;
        assert_int_equal(strcmp(reading.text.data, "1!\n") != 0, fits);
        free(reading.text.data);
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
        cmocka_unit_test(descriptions),
        cmocka_unit_test(wrong_options),
        cmocka_unit_test(literal_deltas),
        cmocka_unit_test(long_fields),
        cmocka_unit_test(joined_ids),
        cmocka_unit_test(long_ids),
    };
    return cmocka_run_group_tests_name("rules", tests, make_path, remove_path);
}

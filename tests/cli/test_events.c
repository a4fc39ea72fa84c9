/* Goal:   events are read as they were written, in every format; what is wrong is reported with its
 *         line number, and nothing else is.
 * Method: small files are read into a text (reading.h), which is compared with what it should
 *         be. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "frame/exit_code.h"
#include "input/integer.h"
#include "reading.h"
#include "say/escape.h"

/* A literal with its length, since it may hold NUL bytes. */
#define CHECK(kind, fields, input, expected) check(kind, fields, input, sizeof(input) - 1, expected)

static void plain_lines(void **state) {
    (void)state;
    CHECK(EVENTS_PLAIN, NULL, "", "");
    CHECK(EVENTS_PLAIN, NULL, "\n", "");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\n", "1|a|k=1\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk", "1|a|k=1\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\t5\n\n", "1|a|k=5\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\t5\n\n\n", "1|a|k=5\n2!\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\n\nb\tk\n", "1|a|k=1\n2!\n3|b|k=1\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\t-5\tl\t+7\n", "1|a|k=-5,l=7\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\t1\tk\t2\n", "1|a|k=1,k=2\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\t5\tl\n", "1|a|k=5,l=1\n");
    CHECK(EVENTS_PLAIN, NULL, "a\n\tk\na\t\na\tk\t\na\tk\tx\na\tk\t1.5\na\tk\t 1\n",
          "1!\n2!\n3!\n4|a|k=1\n5!\n6!\n7!\n");
    CHECK(EVENTS_PLAIN, NULL, "a\0b\tk\0\t1\n\xff\t\xfe\n", "1|a\\0b|k\\0=1\n2|\xff|\xfe=1\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\t1\r\nb\tk\r\n", "1|a|k=1\n2|b|k=1\n");
    CHECK(EVENTS_PLAIN, NULL,
          "\xef\xbb\xbf"
          "a\tk\na\tl\n",
          "1|a|k=1\n2|a|l=1\n");
}

static void plain_escapes(void **state) {
    (void)state;
    CHECK(EVENTS_PLAIN, NULL, "a\\tb\\n\tk\\\\\\r\\0\\x41\\xFf\t2\n",
          "1|a\\tb\\n|k\\\\\\r\\0A\xff=2\n");
    CHECK(EVENTS_PLAIN, NULL, "a\\\tk\na\\q\tk\na\tk\\x4\na\tk\\xg0\na\tk\\",
          "1!\n2!\n3!\n4!\n5!\n");
    unsigned char all[256];
    char escaped[ESCAPE_FACTOR * sizeof all], back[sizeof escaped];
    for (size_t i = 0; i < sizeof all; i++) {
        all[i] = (unsigned char)i;
    }
    size_t length = escape_write((lethe_bytes){all, sizeof all}, escaped);
    size_t size, at;
    assert_true(escape_read((lethe_bytes){escaped, length}, back, &size, &at));
    assert_int_equal(size, sizeof all);
    assert_memory_equal(back, all, sizeof all);
}

static void csv_records(void **state) {
    (void)state;
    CHECK(EVENTS_CSV, NULL, "a,k,5\r\nb,k\r\n", "1|a|k=5\n2|b|k=1\n");
    CHECK(EVENTS_CSV, NULL, "\"a,\"\"b\"\"\",\"k\nl\",\"5\"\nb,k", "1|a,\"b\"|k\\nl=5\n3|b|k=1\n");
    CHECK(EVENTS_CSV, NULL, "\"a\",\"k\"\r\n\r\n", "1|a|k=1\n");
    CHECK(EVENTS_CSV, NULL, "a,k,1,l,2\n", "1|a|k=1,l=2\n");
    CHECK(EVENTS_CSV, NULL,
          "\xef\xbb\xbf"
          "a,k\n",
          "1|a|k=1\n");
    CHECK(EVENTS_CSV, NULL, "a\\t,k\n", "1|a\\\\t|k=1\n");
    /* Wrong quotes cost their own line and no other. */
    CHECK(EVENTS_CSV, NULL, "\"a\"x,k\n\"b\",k\n", "1!\n2|b|k=1\n");
    CHECK(EVENTS_CSV, NULL, "a\"b,k\nc,k\n", "1!\n2|c|k=1\n");
    /* But lines between quotes are no events, even if what follows the quotes is wrong. */
    CHECK(EVENTS_CSV, NULL, "\"a\",\"k\nb,k\n\"c\",k\nd,k\n", "1!\n4|d|k=1\n");
    CHECK(EVENTS_CSV, NULL, "\"\",k\n,k\na,\n", "1!\n2!\n3!\n");
}

/* Reads CSV whose quotes do not end: what is before their record is read, and nothing after. */
static void check_open(const char *input, const char *expected, uint64_t offset,
                       const char *where) {
    struct event_options options = options_for(EVENTS_CSV, NULL);
    struct reading reading = read_bytes(input, strlen(input), &options);
    assert_string_equal(reading.text.data != NULL ? reading.text.data : "", expected);
    assert_int_equal(reading.code, EXIT_BAD_DATA);
    assert_int_equal(reading.offset, offset);
    assert_non_null(strstr(reading.failure, where));
    free(reading.text.data);
}

static void csv_quotes_without_end(void **state) {
    (void)state;
    check_open("\"a,k\nb,k\nc,k\n", "", 0, ":1: a quoted field that begins in this line");
    check_open("\"", "", 0, ":1: a quoted field");
    check_open("a,k\nb,k,\"\nc,k\n", "1|a|k=1\n", 4, ":2: a quoted field");
    check_open("a,k\n\"\"\"x\ny\",\"k\nc,k\n", "1|a|k=1\n", 4, ":3: a quoted field");
    check_open("a,k\n\"x\ny\"\"\n,k\n", "1|a|k=1\n", 4, ":2: a quoted field");
}

/* Goal:   no line inside a quoted field of more than 1 MiB is an event, and the lines after it are
 *         if it ends; if it does not, nothing after it is. */
static void long_csv_records(void **state) {
    (void)state;
    static const struct {
        const char *before, *after, *last;
    } cases[] = {
        {"\"", "\",k\nz,k\n", "|z|k=1\n"},
        {"b,k,1,\"", "\"\r\nz,k\n", "|z|k=1\n"},
        {"\"", "\"wrong\nz,k\n", "|z|k=1\n"},
        {"b,k,1,\"", "\",\"x\ny\"\nz,k\n", "|z|k=1\n"},
        {"\"", "z,k\n", NULL},
        {"b,k,1,\"", "\"\"\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text text = {0};
        add_format(&text, "a,k\n%s", cases[i].before);
        size_t lines = 0;
        for (; text.size < 3 * EVENT_LINE_LIMIT_BYTES; lines++) {
            add_format(&text, "id-%zu,k\n", lines);
        }
        add_format(&text, "%s", cases[i].after);
        struct event_options options = options_for(EVENTS_CSV, NULL);
        struct reading reading = read_bytes(text.data, text.size, &options);
        assert_int_equal(reading.unreadable, 1);
        assert_int_equal(reading.events, cases[i].last != NULL ? 2 : 1);
        assert_int_equal(reading.code, cases[i].last != NULL ? EXIT_DONE : EXIT_BAD_DATA);
        assert_memory_equal(reading.text.data, "1|a|k=1\n2!\n", 11);
        if (cases[i].last != NULL) {
            char expected[64];
            size_t line = 0;
            for (size_t at = 0; at + 4 < text.size; at++) {
                line += text.data[at] == '\n';
            }
            snprintf(expected, sizeof expected, "%zu%s", line + 1, cases[i].last);
            assert_string_equal(reading.text.data + 11, expected);
        } else {
            assert_non_null(strstr(reading.failure, ":2: a quoted field"));
        }
        free(reading.text.data);
        free(text.data);
    }
}

static void json_lines(void **state) {
    (void)state;
    CHECK(EVENTS_JSONL, NULL, "{\"id\": \"a\", \"key\": \"k\"}\n", "1|a|k=1\n");
    CHECK(EVENTS_JSONL, NULL, "{\"id\": 7, \"key\": -3, \"delta\": -9223372036854775808}\r\n",
          "1|7|-3=-9223372036854775808\n");
    CHECK(EVENTS_JSONL, NULL,
          "{\"id\": \"\\u00e9\\u0000\", \"key\": \"k\", \"delta\": \"+12\", \"x\": []}",
          "1|\xc3\xa9\\0|k=12\n");
    CHECK(EVENTS_JSONL, NULL, "{\"id\": \"a\", \"key\": \"k\", \"delta\": null}\n", "1|a|k=1\n");
    CHECK(EVENTS_JSONL, NULL,
          "{}\n[]\n1\n{\"id\": 1.5, \"key\": 1}\n{\"id\": \"a\", \"key\": true}\n"
          "{\"id\": \"a\", \"key\": \"k\", \"delta\": 1.5}\n{\"id\": \"\", \"key\": \"k\"}\n"
          "{\"id\": \"a\", \"id\": \"b\", \"key\": \"k\"}\n{\"id\": \"a\", \"key\": \"k\"} "
          "x\n{\"id\": \"\xff\"}\n",
          "1!\n2!\n3!\n4!\n5!\n6!\n7!\n8!\n9!\n10!\n");
    CHECK(EVENTS_JSONL, "id=request,key=user,delta=bytes,time=at",
          "{\"request\": 1, \"user\": \"u\", \"bytes\": 10, \"at\": \"1970-01-01T00:00:01Z\"}\n"
          "{\"request\": 2, \"user\": \"u\", \"at\": 5}\n{\"request\": 3, \"user\": \"u\"}\n",
          "1|1|u=10@1000\n2|2|u=1@5\n3!\n");
}

/* What only JSON has: members within members. */
static void json_paths(void **state) {
    (void)state;
    CHECK(EVENTS_JSONL, "id=meta.id,key=/tags/1/n",
          "{\"meta\": {\"id\": \"a\"}, \"tags\": [0, {\"n\": \"k\"}]}\n"
          "{\"meta\": {\"id\": null}, \"tags\": [0, {\"n\": \"k\"}]}\n"
          "{\"meta\": \"id\", \"tags\": [0, {\"n\": \"k\"}]}\n"
          "{\"meta\": {\"id\": \"a\"}, \"tags\": [0]}\n"
          "{\"meta.id\": \"a\", \"tags\": [0, {\"n\": \"k\"}]}\n",
          "1|a|k=1\n2!\n3!\n4!\n5!\n");
    CHECK(EVENTS_JSONL, "id=/a~1b~0c,key=/,delta=\"x, \"\"y.z\"",
          "{\"a/b~c\": \"a\", \"\": \"k\", \"x, \\\"y.z\": 5}\n", "1|a|k=5\n");
    CHECK(EVENTS_JSONL, "id=/a/01,key=k", "{\"a\": [1, 2], \"k\": 1}\n", "1!\n");
    /* Numbers are those of the text, however many others there are before them, in strings too. */
    CHECK(
        EVENTS_JSONL, "id=i,key=k,delta=o.d",
        "{\"x\": [1.5, \"2.5\", {\"y\": 3e0}], \"i\": \"\\\"4.5\", \"k\": \"5.5\", \"o\": {\"e\": "
        "-1.0E1, \"d\": 9007199254740993.0}, \"z\": 7.5}\n",
        "1|\"4.5|5.5=9007199254740993\n");
}

static void columns(void **state) {
    (void)state;
    CHECK(EVENTS_PLAIN, "id=3,key=1", "k\tx\ta\ty\nk\tx\n", "1|a|k=1\n2!\n");
    CHECK(EVENTS_PLAIN, "time=1,delta=2,key=3,id=4", "1000\t5\tk\ta\n-1\t5\tk\ta\nx\t5\tk\ta\n",
          "1|a|k=5@1000\n2!\n3!\n");
    CHECK(EVENTS_PLAIN, "id=1,key=1", "a\n", "1|a|a=1\n");
    CHECK(EVENTS_CSV, "id=2,key=1", "\"k\",a,\"x\ny\"\nl,b\n", "1|a|k=1\n3|b|l=1\n");
    CHECK(EVENTS_CSV, "id=i,key=k", "k,i\nk,a\nk,i\n\"k\",\"i\"\r\n\xef\xbb\xbfk,i\nx,i\n",
          "2|a|k=1\n3!\n4!\n5!\n6|i|x=1\n");
    CHECK(EVENTS_CSV, "id=1,key=2",
          "a,k\n\xef\xbb\xbf\"b\nc\",k\nd,k\n"
          "\xef\xbb\xbf\xef\xbb\xbf\"e\n\",k\n",
          "1|a|k=1\n2|b\\nc|k=1\n4|d|k=1\n5|e\\n|k=1\n");
    CHECK(EVENTS_CSV, "id=request,key=user", "user,\"request\",x\r\nu,r,1\r\nv,s\r\n",
          "2|r|u=1\n3|s|v=1\n");
    CHECK(EVENTS_CSV, "id=request,key=user", "", "");
    struct event_options options = options_for(EVENTS_CSV, "id=request,key=user");
    struct reading reading = read_bytes("user,id\nu,r\n", 12, &options);
    assert_int_equal(reading.code, EXIT_BAD_DATA);
    assert_non_null(strstr(reading.failure, "no column 'request'"));
    free(reading.text.data);
}

static void wrong_fields(void **state) {
    (void)state;
    static const struct {
        enum event_kind kind;
        const char *fields;
    } cases[] = {
        {EVENTS_PLAIN, ""},
        {EVENTS_PLAIN, "id"},
        {EVENTS_PLAIN, "id=1"},
        {EVENTS_PLAIN, "id=1,key="},
        {EVENTS_PLAIN, "id=1,key=0"},
        {EVENTS_PLAIN, "id=1,key=x"},
        {EVENTS_PLAIN, "id=1,key=-1"},
        {EVENTS_PLAIN, "id=1,key=2,"},
        {EVENTS_PLAIN, "id=1,key=99999"},
        {EVENTS_PLAIN, "id=1,key=2,id=1"},
        {EVENTS_PLAIN, "id=1,key=2,key=2"},
        {EVENTS_PLAIN, "id=:1,key=2"},
        {EVENTS_PLAIN, "id=1,key=:"},
        {EVENTS_PLAIN, "id=1,key=\"\""},
        {EVENTS_PLAIN, "id=1,key=\"a"},
        {EVENTS_PLAIN, "id=1,key=\"a\"b"},
        {EVENTS_PLAIN, "id=1,key=2,delta=:x"},
        {EVENTS_PLAIN, "id=1,key=2,time=:0"},
        {EVENTS_PLAIN, "id=1,key=2,delta=3,delta=4"},
        {EVENTS_PLAIN, "id=1,key=2,time=3,time=4,time=5"},
        {EVENTS_JSONL, "id=a..b,key=c"},
        {EVENTS_JSONL, "id=.a,key=c"},
        {EVENTS_JSONL, "id=/a~2,key=c"},
        {EVENTS_JSONL, "id=/a~,key=c"},
        {EVENTS_PLAIN, "id=1,key=2,when=3"},
        {EVENTS_PLAIN, "id=1,key=99999999999999999999"},
        {EVENTS_CSV, "id=1,key=user"},
        {EVENTS_JSONL, "id=a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct event_format format;
        struct event_problem problem = {""};
        struct event_format_options options = {.kind = cases[i].kind, .fields = cases[i].fields};
        if (event_format_make(&options, &format, &problem)) {
            fail_msg("'%s' was accepted", cases[i].fields);
        }
        assert_non_null(strstr(problem.text, "; "));
    }
}

static void integers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum integer_problem problem;
        int64_t value;
    } cases[] = {
        {"0", INTEGER_FINE, 0},
        {"-0", INTEGER_FINE, 0},
        {"+1", INTEGER_FINE, 1},
        {"007", INTEGER_FINE, 7},
        {"9223372036854775807", INTEGER_FINE, INT64_MAX},
        {"-9223372036854775808", INTEGER_FINE, INT64_MIN},
        {"+000000000000000000000000000009", INTEGER_FINE, 9},
        {"9223372036854775808", INTEGER_TOO_LARGE, 0},
        {"-9223372036854775809", INTEGER_TOO_LARGE, 0},
        {"99999999999999999999999999999", INTEGER_TOO_LARGE, 0},
        {"", INTEGER_NOT_A_NUMBER, 0},
        {"-", INTEGER_NOT_A_NUMBER, 0},
        {"+-1", INTEGER_NOT_A_NUMBER, 0},
        {"1 ", INTEGER_NOT_A_NUMBER, 0},
        {"0x1", INTEGER_NOT_A_NUMBER, 0},
        {"1e3", INTEGER_NOT_A_NUMBER, 0},
        {"99999999999999999999999999999x", INTEGER_NOT_A_NUMBER, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = 0;
        enum integer_problem problem =
            integer_parse((lethe_bytes){cases[i].text, strlen(cases[i].text)}, &value);
        if (problem != cases[i].problem || value != cases[i].value) fail_msg("%s", cases[i].text);
    }
}

int main(void) {
    if (!make_file_path()) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_lines),      cmocka_unit_test(plain_escapes),
        cmocka_unit_test(csv_records),      cmocka_unit_test(csv_quotes_without_end),
        cmocka_unit_test(long_csv_records), cmocka_unit_test(json_lines),
        cmocka_unit_test(json_paths),       cmocka_unit_test(columns),
        cmocka_unit_test(wrong_fields),     cmocka_unit_test(integers),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_file_path();
    return failed;
}

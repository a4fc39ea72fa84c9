/* Goal:   lines of JSON that are taken many at a time become what they become one by one; lines
 *         that are not simple, or not right, are left; and those that are simple are taken.
 * Method: a table of lines that must be taken and of lines that must be left; each byte at each
 *         place of a line; lines that are made up by a grammar, many of them damaged, from any
 *         place and with any room; and whole files, read by the reader. simple_peer.h compares. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events/parse.h"
#include "json_maker.h"
#include "reading.h"
#include "simple_peer.h"

static const struct event_format_options formats[] = {
    {.kind = EVENTS_JSONL},
    {.kind = EVENTS_JSONL, .is_strict = true},
    {.kind = EVENTS_JSONL, .takes_changes = true, .takes_base64 = true},
    {.kind = EVENTS_JSONL, .fields = "id=id,key=key"},
    {.kind = EVENTS_JSONL, .fields = "id=id,key=key,delta=delta,time=t"},
    {.kind = EVENTS_JSONL, .fields = "id=id,key=key,key=b,delta=delta,delta=:2"},
    {.kind = EVENTS_JSONL, .fields = "id=a.id,key=key,delta=a.b.delta"},
    {.kind = EVENTS_JSONL, .fields = "id=id,key=/a/0,delta=/a/1"},
    {.kind = EVENTS_JSONL, .fields = "id=id,key=id,delta=id"},
    {.kind = EVENTS_JSONL, .fields = "id=id,id=a,key=:all,key=a.b,delta=delta"},
    {.kind = EVENTS_JSONL, .fields = "id=id,id=:source,key=key,delta=delta"},
    {.kind = EVENTS_JSONL, .fields = "id=a name of many bytes,key=a name of many letters"},
    {.kind = EVENTS_JSONL, .fields = "key=key,delta=a.delta", .is_cloud = true},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static struct event_format make_format(size_t choice, unsigned scale) {
    struct event_format format;
    struct event_problem problem;
    if (!event_format_make(&formats[choice], &format, &problem) ||
        !event_format_set_scale(&format, scale, &problem)) {
        fail_msg("%s", problem.text);
    }
    return format;
}

static size_t compare(const struct event_format *format, const char *text, size_t size) {
    struct simple_trial trial = {.format = format, .most = EVENTS_PER_BATCH, .line = 7};
    return simple_compare(&trial, text, size);
}

/* Lines of the usual format, which must be taken. */
static const char *const simple[] = {
    "{\"id\":\"a\",\"key\":\"k\",\"delta\":9}",
    "{\"id\": \"a\", \"key\": \"k\", \"delta\": -12}",
    "{\"delta\":\"5\",\"key\":\"k\",\"id\":\"a\"}",
    "{  \"id\" : 12 , \"key\" : -3 }  ",
    "{\"id\":\"\xc3\xa9\",\"key\":\"\xf0\x9f\x98\x80\"}",
    "{\"id\":\"a\",\"key\":\"k\"}\r",
    "{\"x\":\"\\\"\\\\\\u0041\\ud83d\\ude00\",\"id\":\"a\",\"key\":\"k\"}",
    "{\"x\":true,\"id\":\"a\",\"y\":null,\"key\":\"k\",\"z\":false}",
    "{\"x\":-1.5e+10,\"id\":\"a\",\"y\":0.0,\"key\":\"k\",\"z\":123456789012345678901234567890}",
    "{\"x\":{\"id\":1,\"id\":2,\"y\":[{},[],[1,\"]\"]]},\"id\":\"a\",\"key\":\"k\"}",
    "{\"x\":[{ } , [ ] ],\"id\":\"a\",\"key\":\"k\",\"x\":2,\"\":{\"\":{\"\":[[[[0]]]]}}}",
    "{\"idx\":1,\"i\":2,\"ID\":3,\"id\":\"a\",\"key\":\"k\",\"key \":1,\"deltas\":1}",
};

/* And lines that must be left, whether they are right or not. */
static const char *const others[] = {
    "",
    " ",
    "{}",
    "[]",
    " {\"id\":\"a\",\"key\":\"k\"}",
    "\xef\xbb\xbf{\"id\":\"a\",\"key\":\"k\"}",
    "{\"id\":\"a\",\"key\":\"k\"}\r\r",
    "{\"id\":\"a\",\"key\":\"k\"}}",
    "{\"id\":\"a\",\"key\":\"k\"} x",
    "{\"id\":\"a\",\"key\":\"k\",}",
    "{\"id\":\"a\",\"key\":\"k\",\"id\":\"a\"}",
    "{\"id\":\"a\",\"key\":\"k\",\"delta\":1,\"delta\":2}",
    "{\"id\":\"a\",\"key\":\"k\",\"\\u0069d\":\"a\"}",
    "{\"id\":\"a\\n\",\"key\":\"k\"}",
    "{\"id\":\"\",\"key\":\"k\"}",
    "{\"id\":\"a\",\"key\":\"\"}",
    "{\"id\":\"a\",\"key\":\"k\",\"delta\":1.0}",
    "{\"id\":\"a\",\"key\":\"k\",\"delta\":1234567890123456789}",
    "{\"id\":\"a\",\"key\":\"k\",\"delta\":null}",
    "{\"id\":\"a\",\"key\":\"k\",\"delta\":\"\"}",
    "{\"id\":\"a\",\"key\":\"k\",\"delta\":01}",
    "{\"id\":-0,\"key\":\"k\"}",
    "{\"id\":01,\"key\":\"k\"}",
    "{\"id\":1e2,\"key\":\"k\"}",
    "{\"id\":true,\"key\":\"k\"}",
    "{\"id\":{},\"key\":\"k\"}",
    "{\"id\":[],\"key\":\"k\"}",
    "{\"id\":\"a\"}",
    "{\"key\":\"a\"}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":[1,]}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":[1}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":{1}}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":{]}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":01}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":1.}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":-}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":1e}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":tru}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":nulll}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\"}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":\"\\x\"}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":\"\\ud83d\"}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":\"\\u12\"}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":\"\\",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":\"",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":\"\x01\"}",
    "{\"id\":\"a\",\"key\":\"k\",\"x\":\"\x80\"}",
    "{\"id\":\"a\",\"key\":\"k\",\"\xc3\":1}",
    "{\"id\":\"a\",\"key\":\"k\xed\xa0\x80\"}",
    "{\"id\":\"a\",\"key\":\"k\"\xc3\xa9}",
    "{\"id\" \"a\",\"key\":\"k\"}",
    "{\"id\":\"a\" \"key\":\"k\"}",
    "{id:\"a\",\"key\":\"k\"}",
};

static void tables(void **state) {
    (void)state;
    struct event_format format = make_format(0, 0);
    char text[1024];
    for (size_t i = 0; i < sizeof simple / sizeof simple[0]; i++) {
        int size = snprintf(text, sizeof text, "%s\n%s\n", simple[i], simple[i]);
        if (compare(&format, text, (size_t)size) != (size_t)size) fail_msg("left: %s", simple[i]);
        /* Without its end a line is not whole. */
        assert_int_equal(compare(&format, text, (size_t)size - 1), strlen(simple[i]) + 1);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        int size = snprintf(text, sizeof text, "%s\n%s\n%s\n", simple[0], others[i], simple[0]);
        size_t taken = compare(&format, text, (size_t)size);
        if (taken != strlen(simple[0]) + 1) fail_msg("taken: %s", others[i]);
    }
}

/* What other formats take, and must leave. */
static void paths(void **state) {
    (void)state;
    static const struct {
        size_t format;
        bool is_simple;
        const char *line;
    } cases[] = {
        {1, false, "{\"id\":\"a\",\"key\":\"k\"}\n"},
        {1, true, "{\"id\":\"a\",\"key\":\"k\",\"delta\":1}\n"},
        {2, true, "{\"id\":\"a\",\"key\":\"k\"}\n"},
        {2, false, "{\"id\":\"a\",\"key\":\"k\",\"changes\":[]}\n"},
        {2, false, "{\"id\":\"a\",\"key\":\"k\",\"changes\":null}\n"},
        {2, false, "{\"id\":\"a\",\"changes\":[{\"key\":\"k\"}]}\n"},
        {2, false, "{\"id_base64\":\"YQ==\",\"key\":\"k\"}\n"},
        {2, false, "{\"id\":\"a\",\"id_base64\":\"YQ==\",\"key\":\"k\"}\n"},
        {4, true, "{\"id\":\"a\",\"key\":\"k\",\"t\":1700000000}\n"},
        {4, true, "{\"id\":\"a\",\"key\":\"k\",\"t\":\"2023-11-14T22:13:20Z\"}\n"},
        {4, false, "{\"id\":\"a\",\"key\":\"k\",\"t\":1700000000.5}\n"},
        {4, false, "{\"id\":\"a\",\"key\":\"k\",\"t\":\"yesterday\"}\n"},
        {4, false, "{\"id\":\"a\",\"key\":\"k\"}\n"},
        {5, true, "{\"id\":\"a\",\"key\":\"k\",\"b\":\"l\",\"delta\":7}\n"},
        {6, true, "{\"key\":\"k\",\"a\":{\"x\":1,\"b\":{\"delta\":3},\"id\":\"i\"}}\n"},
        {6, true, "{\"key\":\"k\",\"a\":{\"b\":{},\"id\":\"i\"}}\n"},
        {6, true,
         "{\"id\":5,\"delta\":1.5,\"b\":1,\"key\":\"k\",\"a\":{\"key\":1,\"id\":\"i\"}}\n"},
        {6, false, "{\"key\":\"k\",\"a\":{\"b\":5,\"id\":\"i\"}}\n"},
        {6, false, "{\"key\":\"k\",\"a\":{\"b\":null,\"id\":\"i\"}}\n"},
        {6, false, "{\"key\":\"k\",\"a\":{\"b\":[],\"id\":\"i\"}}\n"},
        {6, false, "{\"key\":\"k\",\"a\":{\"id\":\"i\"},\"a\":{}}\n"},
        {6, false, "{\"key\":\"k\",\"a\":{\"id\":\"i\",\"id\":1}}\n"},
        {7, true, "{\"id\":\"a\",\"a\":{\"0\":\"k\",\"1\":2}}\n"},
        {7, false, "{\"id\":\"a\",\"a\":[\"k\",2]}\n"},
        {8, true, "{\"id\":17}\n"},
        {8, false, "{\"id\":\"x\"}\n"},
        {9, false, "{\"id\":\"i\",\"a\":{\"b\":\"k\"}}\n"},
        {9, false, "{\"id\":\"i\",\"a\":\"k\"}\n"},
        {10, true, "{\"id\":\"i\",\"key\":\"k\",\"delta\":2}\n"},
        {11, true, "{\"a name of many bytes\":\"i\",\"a name of many letters\":\"k\"}\n"},
        {11, false, "{\"a name of many bytez\":\"i\",\"a name of many letters\":\"k\"}\n"},
        {12, true, "{\"source\":\"s\",\"id\":\"i\",\"key\":\"k\",\"a\":{\"delta\":5}}\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct event_format format = make_format(cases[i].format, 0);
        size_t size = strlen(cases[i].line), taken = compare(&format, cases[i].line, size);
        if (taken != (cases[i].is_simple ? size : 0)) fail_msg("%s", cases[i].line);
    }
}

/* Ids and keys of every length about the limits. */
static void lengths(void **state) {
    (void)state;
    static char text[8192];
    struct event_format format = make_format(0, 0);
    for (size_t extra = 0; extra < 2; extra++) {
        for (int size = 1020; size < 1028; size++) {
            const char *pattern = extra == 0 ? "{\"id\":\"%0*d\",\"key\":\"k\"}\n"
                                             : "{\"id\":\"i\",\"key\":\"%0*d\"}\n";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            size_t used = (size_t)snprintf(text, sizeof text, pattern, size, 1);
#pragma GCC diagnostic pop
            assert_int_equal(compare(&format, text, used), size <= 1024 ? used : 0);
        }
    }
}

/* Every byte in place of every byte of lines that have a bit of everything. */
static void every_byte(void **state) {
    (void)state;
    static const char line[] = "{\"x\":[{\"a\":\"\\n\xc3\xa9\"},-1.5e+3,true,null],\"id\": \"i\","
                               "\"a\":{\"id\":0},\"key\":\"k\",\"delta\":-7}\n";
    static const size_t choices[] = {0, 2, 6};
    char text[3 * sizeof line];
    size_t size = sizeof line - 1;
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        struct event_format format = make_format(choices[i], 0);
        for (size_t at = 0; at < size; at++) {
            for (int byte = 0; byte < 256; byte++) {
                memcpy(text, line, size);
                memcpy(text + size, line, size);
                text[size + at] = (char)byte;
                (void)compare(&format, text, 2 * size);
                /* The byte more, and then the byte less. */
                memmove(text + size + at + 1, line + at, size - at);
                (void)compare(&format, text, 2 * size + 1);
            }
            memmove(text + at, line + at + 1, size - at - 1);
            (void)compare(&format, text, size - 1);
        }
    }
}

/* Values so many levels deep: what is too deep for the short way is right all the same. */
static void depth(void **state) {
    (void)state;
    static char text[8192];
    struct event_format format = make_format(0, 0);
    for (size_t levels = 1; levels < 40; levels++) {
        size_t used = (size_t)sprintf(text, "{\"id\":\"i\",\"key\":\"k\",\"x\":");
        for (size_t i = 0; i < levels; i++)
            used += (size_t)sprintf(text + used, "%s", i % 3 == 0 ? "{\"id\":" : "[");
        used += (size_t)sprintf(text + used, "0");
        for (size_t i = levels; i-- > 0;)
            used += (size_t)sprintf(text + used, "%s", i % 3 == 0 ? "}" : "]");
        used += (size_t)sprintf(text + used, "}\n");
        size_t taken = compare(&format, text, used);
        assert_int_equal(taken, levels < 32 ? used : 0);
    }
}

enum { TEXT = 40000, LONGEST = 20000 };

static void made_up_lines(void **state) {
    (void)state;
    static char text[TEXT + LONGEST];
    static const unsigned damages[] = {0, 1, 10, 50};
    size_t taken = 0, all = 0;
    for (uint64_t seed = 1; seed <= 12000; seed++) {
        struct json_maker maker = {.random = {seed}, .text = text, .room = sizeof text};
        struct test_random *random = &maker.random;
        struct event_format format = make_format(seed % FORMATS, seed % 7 == 0 ? 2 : 0);
        size_t size = 1 + test_random_below(random, seed % 8 == 0 ? TEXT : 3000);
        while (maker.size < size)
            json_put_line(&maker, damages[seed / FORMATS % 4]);
        if (seed % 3 == 0) maker.size -= test_random_below(random, maker.size);
        struct simple_trial trial = {.format = &format,
                                     .most = EVENTS_PER_BATCH,
                                     .line = 1 + test_random_below(random, 1000)};
        if (seed % 5 == 0) trial.most = 1 + test_random_below(random, 20);
        if (seed % 4 == 0) trial.used = EVENT_TEXT_BYTES - test_random_below(random, 9000);
        /* From the start of each line, whatever became of those before it. */
        for (size_t at = 0, lines = 0; at < maker.size && lines < 60; lines++) {
            size_t more = simple_compare(&trial, text + at, maker.size - at);
            const char *end = memchr(text + at, '\n', maker.size - at);
            if (end == NULL) break;
            taken += more;
            at = more > 0 ? at + more : (size_t)(end - text) + 1;
        }
        all += maker.size;
    }
    assert_true(taken > all / 8); /* otherwise little was compared */
}

/* A batch that many changes have filled takes no more. */
static void changes_have_their_room(void **state) {
    (void)state;
    char text[1024] = "";
    for (unsigned i = 0; i < 20; i++)
        strcat(text, "{\"id\":\"a\",\"key\":\"k\",\"b\":\"l\"}\n");
    size_t line = strlen(text) / 20;
    for (size_t left = 0; left < 5; left++) {
        struct event_format one = make_format(0, 0), two = make_format(5, 0);
        struct simple_trial trial = {.format = &one,
                                     .most = EVENTS_PER_BATCH,
                                     .changes = EVENTS_PER_BATCH + LETHE_CHANGES_LIMIT - left};
        assert_int_equal(simple_compare(&trial, text, 20 * line), left * line);
        trial.format = &two;
        assert_int_equal(simple_compare(&trial, text, 20 * line), left / 2 * line);
    }
}

/* More names than a rule has room for. */
static void too_many_members(void **state) {
    (void)state;
    static struct simple_rule rule;
    for (size_t levels = 50; levels < 70; levels++) {
        char fields[256] = "id=id,key=a";
        for (size_t i = 2; i < levels; i++)
            strcat(fields, ".a");
        struct event_format_options options = {.kind = EVENTS_JSONL, .fields = fields};
        struct event_format format;
        struct event_problem problem;
        if (!event_format_make(&options, &format, &problem)) continue;
        assert_int_equal(simple_rule_make(&format, &rule), format.members.count <= 64);
    }
}

/* Adds what event_parse makes of a line, as reading.h writes it. */
static void add_expected(const struct event_format *format, struct event_batch *batch,
                         lethe_bytes record, uint64_t line, size_t *complaints, struct text *out) {
    struct event_problem problem;
    event_batch_clear(batch);
    if (event_parse(format, record, line, batch, &problem) != EVENT_TAKEN) {
        if ((*complaints)++ < EVENT_COMPLAINTS_SHOWN) add_format(out, "%" PRIu64 "!\n", line);
        return;
    }
    add_operation(out, batch, 0);
}

/* Goal:   the reader, which takes lines both ways, gives what the definition alone gives, whatever
 *         is at the borders of its buffer. */
static void whole_files(void **state) {
    (void)state;
    enum { FILE_BYTES = 1 << 20 };
    static char text[FILE_BYTES + LONGEST];
    struct event_batch batch;
    assert_true(event_batch_init(&batch));
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct json_maker maker = {.random = {seed}, .text = text, .room = sizeof text};
        size_t choice = (size_t[]){0, 4, 6, 9, 12, 0}[seed % 6];
        struct event_options options = {.format = make_format(choice, 0)};
        struct text expected = {0};
        while (maker.size < FILE_BYTES - (seed << 10))
            json_put_line(&maker, (unsigned)seed % 4 * 5);
        uint64_t line = 0;
        size_t complaints = 0;
        for (const char *at = text, *end; at < text + maker.size; at = end + 1) {
            end = memchr(at, '\n', (size_t)(text + maker.size - at));
            size_t size = (size_t)(end - at);
            if (size > 0 && end[-1] == '\r') size--;
            add_expected(&options.format, &batch, (lethe_bytes){at, size}, ++line, &complaints,
                         &expected);
        }
        struct reading reading = read_bytes(text, maker.size, &options);
        assert_int_equal(reading.line, line);
        assert_int_equal(reading.unreadable, complaints);
        assert_int_equal(reading.offset, maker.size);
        assert_int_equal(reading.text.size, expected.size);
        assert_memory_equal(reading.text.data, expected.data, expected.size);
        free(reading.text.data);
        free(expected.data);
    }
    event_batch_free(&batch);
}

int main(void) {
    if (!make_file_path()) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables),
        cmocka_unit_test(paths),
        cmocka_unit_test(lengths),
        cmocka_unit_test(every_byte),
        cmocka_unit_test(depth),
        cmocka_unit_test(made_up_lines),
        cmocka_unit_test(whole_files),
        cmocka_unit_test(changes_have_their_room),
        cmocka_unit_test(too_many_members),
    };
    int failed = cmocka_run_group_tests_name("simple_json", tests, NULL, NULL);
    remove_file_path();
    return failed;
}

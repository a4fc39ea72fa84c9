/* Goal:   a line of JSON is read as RFC 8259 has it: what is right is taken as it was written, what
 *         is wrong is refused with its reason, and every way to scan does the same.
 * Method: a table of traps; strings with every kind of byte at every place; lines that are made up
 *         by a grammar and then damaged, compared with jansson (json_peer.h). */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "events/parse.h"
#include "json_maker.h"
#include "json_peer.h"
#include "say/escape.h"

static struct event_format format_of(const char *fields) {
    struct event_format format;
    struct event_problem problem;
    struct event_format_options options = {.kind = EVENTS_JSONL, .fields = fields};
    if (!event_format_make(&options, &format, &problem)) fail_msg("%s", problem.text);
    return format;
}

static struct event_batch batch;

/* Writes what a line gave: ID|KEY=DELTA,... and @TIME, or "!" and what is wrong. */
static void read_line(const struct event_format *format, const char *line, size_t size,
                      char out[1024]) {
    struct event_problem problem;
    event_batch_clear(&batch);
    lethe_bytes record = {.data = line, .size = size};
    if (event_parse(format, record, 1, &batch, &problem) != EVENT_TAKEN) {
        snprintf(out, 1024, "!%s", problem.text);
        return;
    }
    const lethe_operation *operation = &batch.operations[0];
    size_t used = escape_write(operation->id, out);
    for (size_t i = 0; i < operation->change_count; i++) {
        out[used++] = i == 0 ? '|' : ',';
        used += escape_write(operation->changes[i].key, out + used);
        used += (size_t)sprintf(out + used, "=%" PRId64, operation->changes[i].delta);
    }
    if (event_format_has_time(format)) sprintf(out + used, "@%" PRIu64, operation->time_ms);
    out[used] = event_format_has_time(format) ? out[used] : '\0';
}

struct trap {
    const char *line;
    size_t size;
    /* Of a line that is wrong: "!" and a part of the message. */
    const char *expected;
};

#define TRAP(line, expected) \
    { line, sizeof(line) - 1, expected }

static void check_traps(const char *fields, const struct trap *traps, size_t count) {
    struct event_format format = format_of(fields);
    for (size_t i = 0; i < count; i++) {
        char text[1024];
        read_line(&format, traps[i].line, traps[i].size, text);
        const char *expected = traps[i].expected;
        bool is_wrong = expected[0] == '!';
        if (is_wrong ? text[0] != '!' || strstr(text, expected + 1) == NULL
                     : strcmp(text, expected) != 0) {
            fail_msg("%s: %s gave %s and not %s", fields, traps[i].line, text, expected);
        }
        if (is_wrong && strstr(text, "; ") == NULL) fail_msg("no remedy: %s", text);
        json_compare(&format, traps[i].line, traps[i].size);
    }
}

#define CHECK_TRAPS(fields, traps) check_traps(fields, traps, sizeof traps / sizeof traps[0])

static void numbers(void **state) {
    (void)state;
    static const struct trap deltas[] = {
        TRAP("{\"i\":1,\"k\":2,\"d\":-0}", "1|2=0"),
        TRAP("{\"i\":-0,\"k\":-0.0}", "!'k' is a number with a fraction"),
        TRAP("{\"i\":-0,\"k\":0}", "0|0=1"),
        TRAP("{\"i\":1,\"k\":2,\"d\":1e2}", "1|2=100"),
        TRAP("{\"i\":1,\"k\":2,\"d\":1E+2}", "1|2=100"),
        TRAP("{\"i\":1,\"k\":2,\"d\":100e-2}", "1|2=1"),
        TRAP("{\"i\":1,\"k\":2,\"d\":3.0}", "1|2=3"),
        TRAP("{\"i\":1,\"k\":2,\"d\":3.5}", "!'3.5'"),
        TRAP("{\"i\":1,\"k\":2,\"d\":9007199254740993.0}", "1|2=9007199254740993"),
        TRAP("{\"i\":1,\"k\":2,\"d\":-9223372036854775808}", "1|2=-9223372036854775808"),
        TRAP("{\"i\":1,\"k\":2,\"d\":9223372036854775808}", "!'9223372036854775808' is beyond 64"),
        TRAP("{\"i\":1,\"k\":2,\"d\":18446744073709551616}", "!beyond 64 bits"),
        TRAP("{\"i\":1,\"k\":2,\"d\":1E400}", "!beyond 64 bits"),
        TRAP("{\"i\":1,\"k\":2,\"d\":1e-400}", "!not a whole number"),
        /* Where it is not asked for, a number may be any. */
        TRAP("{\"x\":18446744073709551616,\"i\":1,\"y\":[1E400,-1e999],\"k\":2}", "1|2=1"),
        /* An id or a key is a text. */
        TRAP("{\"i\":18446744073709551616,\"k\":-99999999999999999999}",
             "18446744073709551616|-99999999999999999999=1"),
        TRAP("{\"i\":1e2,\"k\":2}", "!'i' is a number with a fraction or an exponent"),
        TRAP("{\"i\":1.0,\"k\":2}", "!'i' is a number with a fraction or an exponent"),
        TRAP("{\"i\":\"1e2\",\"k\":2,\"d\":\"3.0\"}", "1e2|2=3"),
        /* What is no number in JSON. */
        TRAP("{\"i\":01,\"k\":2}", "!at byte 6: not a number"),
        TRAP("{\"i\":-01,\"k\":2}", "!at byte 7: not a number"),
        TRAP("{\"i\":00,\"k\":2}", "!at byte 6: not a number"),
        TRAP("{\"i\":+1,\"k\":2}", "!at byte 6: no value"),
        TRAP("{\"i\":.5,\"k\":2}", "!at byte 6: no value"),
        TRAP("{\"i\":5.,\"k\":2}", "!at byte 8: not a number"),
        TRAP("{\"i\":5e,\"k\":2}", "!at byte 8: not a number"),
        TRAP("{\"i\":5e+,\"k\":2}", "!at byte 9: not a number"),
        TRAP("{\"i\":-,\"k\":2}", "!at byte 7: not a number"),
        TRAP("{\"i\":1,\"k\":2,\"d\":0x10}", "!at byte 19: neither a comma"),
        TRAP("{\"i\":1,\"k\":2,\"d\":1_000}", "!at byte 19: neither a comma"),
        TRAP("{\"i\":1,\"k\":2,\"d\":NaN}", "!at byte 18: no value"),
        TRAP("{\"i\":1,\"k\":2,\"d\":-Infinity}", "!at byte 19: not a number"),
        TRAP("{\"i\":1,\"k\":2,\"x\":nul}", "!at byte 18: no value"),
        TRAP("{\"i\":1,\"k\":2,\"x\":truee}", "!at byte 22: neither a comma"),
        TRAP("{\"i\":1,\"k\":2,\"x\":True}", "!at byte 18: no value"),
    };
    CHECK_TRAPS("id=i,key=k,delta=d", deltas);
    static const struct trap times[] = {
        TRAP("{\"i\":1,\"k\":2,\"t\":1.7e12}", "1|2=1@1700000000000"),
        TRAP("{\"i\":1,\"k\":2,\"t\":1700000000000.9}", "1|2=1@1700000000000"),
        TRAP("{\"i\":1,\"k\":2,\"t\":18446744073709551616000}", "!time"),
        TRAP("{\"i\":1,\"k\":2,\"t\":null}", "!no member 't'"),
        TRAP("{\"i\":1,\"k\":2,\"t\":true}", "!'t' is true or false"),
    };
    CHECK_TRAPS("id=i,key=k,time=t", times);
}

static void strings(void **state) {
    (void)state;
    static const struct trap traps[] = {
        TRAP("{\"i\":\"\\u0000\",\"k\":\"a\\u0000b\"}", "\\0|a\\0b=1"),
        TRAP("{\"i\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"k\":1}", "\"\\\\/\\x08\\x0c\\n\\r\\t|1=1"),
        TRAP("{\"i\":\"\\u00e9\\u20AC\\ud83d\\uDE00\",\"k\":"
             "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"}",
             "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80|\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80=1"),
        TRAP("{\"i\":\"\\ud83d\",\"k\":1}", "!at byte 7: '\\ud83d' is half of a surrogate pair"),
        TRAP("{\"i\":\"\\ude00\",\"k\":1}", "!half of a surrogate pair"),
        TRAP("{\"i\":\"\\ud83d\\ud83d\",\"k\":1}", "!half of a surrogate pair"),
        TRAP("{\"i\":\"\\ud83dx\",\"k\":1}", "!half of a surrogate pair"),
        TRAP("{\"x\":\"\\ud83d\\n\",\"i\":1,\"k\":1}", "!half of a surrogate pair"),
        TRAP("{\"i\":\"\\x41\",\"k\":1}", "!at byte 7: '\\x' is not an escape"),
        TRAP("{\"i\":\"\\u12g4\",\"k\":1}", "!'\\u' is not an escape"),
        TRAP("{\"i\":\"\\u12", "!'\\u' is not an escape"),
        TRAP("{\"i\":\"\\", "!not an escape"),
        TRAP("{\"i\":\"a\tb\",\"k\":1}", "!at byte 8: a control character in a string"),
        TRAP("{\"i\":\"a\0b\",\"k\":1}", "!write it as \\u0000"),
        TRAP("{\"i\":\"a\x1f\",\"k\":1}", "!write it as \\u001f"),
        TRAP("{\"i\":\"a\x7f\",\"k\":1}", "a\\x7f|1=1"),
        TRAP("{\"i\":\"\xff\",\"k\":1}", "!at byte 7: not UTF-8"),
        TRAP("{\"i\":1,\"k\":1,\"x\":\"\xe2\x82\"}", "!at byte 19: not UTF-8"),
        TRAP("{\"i\":\"\xc0\x80\",\"k\":1}", "!not UTF-8"),
        TRAP("{\"i\":\"\xe0\x9f\xbf\",\"k\":1}", "!not UTF-8"),
        TRAP("{\"i\":\"\xed\xa0\x80\",\"k\":1}", "!not UTF-8"),
        TRAP("{\"i\":\"\xf0\x8f\xbf\xbf\",\"k\":1}", "!not UTF-8"),
        TRAP("{\"i\":\"\xf4\x90\x80\x80\",\"k\":1}", "!not UTF-8"),
        TRAP("{\"i\":\"\xf4\x8f\xbf\xbf\",\"k\":1}", "\xf4\x8f\xbf\xbf|1=1"),
        TRAP("{\"i\":\"\xef\xbf\xbe\",\"k\":1}", "\xef\xbf\xbe|1=1"),
        TRAP("{\"\xff\":1,\"i\":1,\"k\":1}", "!not UTF-8"),
        TRAP("{\"i\":\"\",\"k\":1}", "!the id is empty"),
        TRAP("{'i':1,\"k\":1}", "!at byte 2: no member's name"),
        TRAP("{\"i\":'a',\"k\":1}", "!at byte 6: no value"),
    };
    CHECK_TRAPS("id=i,key=k", traps);
}

static void lines(void **state) {
    (void)state;
    static const struct trap traps[] = {
        TRAP(" \t{ \"i\" : 1 ,\t\"k\"\r:\r2\t} \r", "1|2=1"),
        TRAP("{\"i\":1,\"k\":2}\r", "1|2=1"),
        TRAP(" ", "!the line is empty"),
        TRAP("\t \r", "!the line is empty"),
        TRAP("{}", "!no member 'i'"),
        TRAP("[]", "!not a JSON object"),
        TRAP("1", "!not a JSON object"),
        TRAP("null", "!not a JSON object"),
        TRAP("\"i\"", "!not a JSON object"),
        TRAP("\xef\xbb\xbf{\"i\":1,\"k\":2}", "1|2=1"),
        TRAP("\xef\xbb{\"i\":1,\"k\":2}", "!not a JSON object"),
        TRAP("{\"i\":1,\"k\":2} x", "!at byte 15: more after the object"),
        TRAP("{\"i\":1,\"k\":2}{\"i\":1,\"k\":2}", "!at byte 14: more after the object"),
        TRAP("{\"i\":1,\"k\":2},", "!at byte 14: more after the object"),
        TRAP("{\"i\":1,\"k\":2}\0", "!at byte 14: more after the object"),
        TRAP("{\"i\":1,\"k\":2,}", "!at byte 14: no member's name"),
        TRAP("{,\"i\":1,\"k\":2}", "!at byte 2: no member's name"),
        TRAP("{\"i\":1,,\"k\":2}", "!at byte 8: no member's name"),
        TRAP("{\"i\":1,\"k\":2,\"x\":[1,]}", "!at byte 21: no value"),
        TRAP("{\"i\":1,\"k\":2,\"x\":[,1]}", "!at byte 19: no value"),
        TRAP("{\"i\":1,\"k\":2,\"x\":{\"a\":1,}}", "!at byte 25: no member's name"),
        TRAP("{\"i\":1,\"k\":2,\"x\":[1}", "!at byte 20: neither a comma"),
        TRAP("{\"i\":1,\"k\":2,\"x\":{\"a\":1]}", "!at byte 24: neither a comma"),
        TRAP("{\"i\":1,\"k\":2,\"x\":{\"a\" 1}}", "!at byte 23: no colon"),
        TRAP("{\"i\" 1,\"k\":2}", "!at byte 6: no colon"),
        TRAP("{\"i\":,\"k\":2}", "!at byte 6: no value"),
        TRAP("{\"i\":1 \"k\":2}", "!at byte 8: neither a comma"),
        TRAP("{i:1,\"k\":2}", "!at byte 2: no member's name"),
        TRAP("{\"i\":1,\"k\":2,\"x\":[[],{},[{}],[ ],{ }]}", "1|2=1"),
        TRAP("{\"i\":1, /* c */ \"k\":2}", "!at byte 9: no member's name"),
        TRAP("{\"i\":1,\"k\":2} // c", "!at byte 15: more after the object"),
        TRAP("{\"i\":1,\"k\":2", "!the line ends at byte 12"),
        TRAP("{\"i\":1,\"k\":\"2", "!the line ends at byte 13"),
        TRAP("{\"i\":1,\"k\":tr", "!no value"),
        TRAP("{\"i\":1,\"k\"", "!the line ends at byte 10"),
        TRAP("{", "!the line ends at byte 1"),
        /* Twice: what is named is refused, in whatever letters; the rest does not matter. */
        TRAP("{\"i\":1,\"k\":2,\"i\":3}", "!the member 'i' is there again at byte 15"),
        TRAP("{\"i\":1,\"k\":2,\"i\":1}", "!there again"),
        TRAP("{\"i\":null,\"k\":2,\"i\":1}", "!there again"),
        TRAP("{\"\\u0069\":1,\"k\":2,\"i\":3}", "!there again"),
        TRAP("{\"x\":1,\"i\":1,\"x\":2,\"k\":2,\"x\":{\"i\":3,\"i\":4}}", "1|2=1"),
        /* A name is what it means. */
        TRAP("{\"\\u0069\":1,\"\\u006b\":2}", "1|2=1"),
        TRAP("{\"\\u0069\\u0000\":1,\"k\":2}", "!no member 'i'"),
        TRAP("{\"I\":1,\"k\":2}", "!no member 'i'"),
        TRAP("{\"ii\":1,\"\":5,\"i\":3,\"k\":2}", "3|2=1"),
        /* Kinds. */
        TRAP("{\"i\":true,\"k\":2}", "!'i' is true or false; make it a string"),
        TRAP("{\"i\":1,\"k\":[2]}", "!'k' is a list; make it a string"),
        TRAP("{\"i\":{\"i\":1},\"k\":2}", "!'i' is an object; make it a string"),
        TRAP("{\"i\":null,\"k\":2}", "!no member 'i'"),
    };
    CHECK_TRAPS("id=i,key=k", traps);
}

/* Paths, and members that several of them share. */
static void paths(void **state) {
    (void)state;
    static const struct trap deltas[] = {
        TRAP("{\"i\":1,\"o\":{\"d\":5}}", "1|1=5"),
        TRAP("{\"i\":1}", "1|1=1"),
        TRAP("{\"i\":1,\"o\":null}", "1|1=1"),
        TRAP("{\"i\":1,\"o\":{}}", "1|1=1"),
        TRAP("{\"i\":1,\"o\":{\"d\":null}}", "1|1=1"),
        TRAP("{\"i\":1,\"o\":{\"d\":\"\"}}", "1|1=1"),
        TRAP("{\"i\":1,\"o\":5}",
             "!'/o/d' leads through 'o', which is a number and has no member 'd'"),
        TRAP("{\"i\":1,\"o\":5.5}", "!leads through 'o', which is a number"),
        TRAP("{\"i\":1,\"o\":\"d\"}", "!leads through 'o', which is a string"),
        TRAP("{\"i\":1,\"o\":false}", "!leads through 'o', which is true or false"),
        TRAP("{\"i\":1,\"o\":[]}", "!leads through 'o', which is a list"),
        TRAP("{\"i\":1,\"o\":[{\"d\":5}]}", "!leads through 'o', which is a list"),
        TRAP("{\"i\":1,\"o\":{\"d\":{}}}", "!'/o/d' is an object, not a number"),
        TRAP("{\"i\":1,\"o\":{\"d\":true}}", "!'/o/d' is true or false, not a number"),
        TRAP("{\"i\":1,\"o\":{\"d\":5,\"d\":5}}", "!the member 'd' is there again at byte 20"),
        TRAP("{\"i\":1,\"o\":{\"d\":5},\"o\":{}}", "!the member 'o' is there again"),
        TRAP("{\"i\":1,\"o\":{\"o\":{\"d\":7},\"x\":{\"d\":8},\"d\":5}}", "1|1=5"),
        TRAP("{\"i\":1,\"o.d\":7}", "1|1=1"),
        TRAP("{\"i\":1,\"o\":{\"\\u0064\":5},\"x\":{\"d\":6}}", "1|1=5"),
    };
    CHECK_TRAPS("id=i,key=i,delta=o.d", deltas);
    static const struct trap elements[] = {
        TRAP("{\"i\":\"a\",\"a\":[1,{\"n\":\"\\u006b\"}]}", "a|k=1"),
        TRAP("{\"i\":\"a\",\"a\":{\"1\":{\"n\":\"k\"},\"0\":4}}", "a|k=4"),
        TRAP("{\"i\":\"a\",\"a\":[ 7 , {\"n\":\"k\"} , 9 ]}", "a|k=7"),
        TRAP("{\"i\":\"a\",\"a\":[null,{\"n\":\"k\"}]}", "a|k=1"),
        TRAP("{\"i\":\"a\",\"a\":[1]}", "!no member '/a/1/n'"),
        TRAP("{\"i\":\"a\",\"a\":[]}", "!no member '/a/1/n'"),
        TRAP("{\"i\":\"a\",\"a\":[1,2]}", "!leads through '1', which is a number"),
        TRAP("{\"i\":\"a\",\"a\":[1 2]}", "!neither a comma"),
        TRAP("{\"i\":\"a\",\"a\":[1,]}", "!no value"),
    };
    CHECK_TRAPS("id=i,key=/a/1/n,delta=/a/0", elements);
    static const struct trap shared[] = {
        TRAP("{\"a\":{\"b\":\"\\u0031\\u0037\"}}", "17|17=17@17000"),
        TRAP("{\"a\":\"x\"}", "!leads through 'a'"),
    };
    struct event_format format = format_of("id=a.b,key=/a/b,delta=a.b,time=a.b");
    assert_int_equal(format.members.count, 3);
    CHECK_TRAPS("id=a.b,key=/a/b,delta=a.b,time=a.b", shared);
    /* What is unescaped once is not unescaped again. */
    static const struct trap twice[] = {TRAP("{\"a\":\"\\\\n\"}", "\\\\n|\\\\n=1")};
    CHECK_TRAPS("id=a,key=a", twice);
    static const struct trap odd[] = {
        TRAP("{\"\":1,\"~/\":2,\"01\":3}", "1|2=3"),
        TRAP("{\"\":[1],\"~/\":2}", "!'\"\"' is a list"),
    };
    CHECK_TRAPS("id=/,key=/~0~1,delta=/01", odd);
    static const struct trap no_element[] = {
        TRAP("{\"a\":[1,2],\"k\":1}", "!leads through 'a', which is a list"),
    };
    CHECK_TRAPS("id=/a/01,key=k", no_element);
    static const struct trap far_element[] = {
        TRAP("{\"a\":[1,2],\"k\":1}", "!no member '/a/99999999999999999999'"),
    };
    CHECK_TRAPS("id=/a/99999999999999999999,key=k", far_element);
}

/* A value nested so many levels deep, of all kinds of levels in turn, below the line's object. */
static size_t write_nested(char *out, const char *before, size_t levels, const char *after) {
    static const char *const opens[] = {"[", "{\"a\":", "[0,", "{\"i\":1,\"a\":"};
    static const char *const closes[] = {"]", "}", ",1]", "}"};
    size_t used = (size_t)sprintf(out, "%s", before);
    for (size_t i = 0; i < levels; i++)
        used += (size_t)sprintf(out + used, "%s", opens[i % 4]);
    used += (size_t)sprintf(out + used, "0");
    for (size_t i = levels; i-- > 0;)
        used += (size_t)sprintf(out + used, "%s", closes[i % 4]);
    return used + (size_t)sprintf(out + used, "%s", after);
}

static void depth(void **state) {
    (void)state;
    static char line[1 << 15];
    char text[1024];
    static const char *const fields[] = {"id=i,key=k", "id=i,key=k,delta=x.a.a",
                                         "id=i,key=k,delta=/x/0/a/1/a/0"};
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++) {
        struct event_format format = format_of(fields[f]);
        for (size_t levels = 1021; levels <= 1026; levels++) {
            size_t size = write_nested(line, "{\"x\":", levels - 1, ",\"i\":1,\"k\":2}");
            struct scan_value found[MEMBER_NODES_LIMIT];
            struct scan_failure failure;
            lethe_bytes copy;
            bool fine = json_scan_all(&format, line, size, found, &failure, &copy);
            assert_int_equal(fine, levels <= 1024);
            json_compare(&format, line, size);
            read_line(&format, line, size, text);
            assert_int_equal(strstr(text, "nested more than 1024 deep; ") != NULL, levels > 1024);
        }
    }
    /* Only ever opened, as far as a line may go. */
    struct event_format format = format_of("id=i,key=k");
    for (size_t i = 0; i < sizeof line - 1; i++)
        line[i] = "{\"x\":["[i < 6 ? i : 5];
    read_line(&format, line, sizeof line - 1, text);
    assert_non_null(strstr(text, "nested more than 1024 deep; "));
}

/* Every byte at every place of a string, which blocks of 8 and of 32 bytes cut differently. */
static void blocks(void **state) {
    (void)state;
    struct event_format format = format_of("id=i,key=k");
    for (size_t length = 1; length <= 70; length++) {
        for (size_t place = 0; place < length; place++) {
            for (int byte = 0; byte < 256; byte += length < 40 || byte < 0x24 ? 1 : 13) {
                char line[128];
                size_t used = (size_t)sprintf(line, "{\"k\":1,\"i\":\"");
                memset(line + used, 'a', length);
                line[used + place] = (char)byte;
                used += length;
                used += (size_t)sprintf(line + used, "\"}");
                json_compare(&format, line, used);
            }
        }
    }
}

static void made_up_lines(void **state) {
    (void)state;
    static const char *const fields[] = {"id=id,key=key,delta=a", "id=a.b,key=/a/0,delta=/b/1/a",
                                         "id=/,key=a.a.a,delta=\"1\",time=b"};
    static char text[1 << 16];
    for (uint64_t seed = 1; seed <= 60000; seed++) {
        struct event_format format = format_of(fields[seed % 3]);
        struct json_maker maker = {.random = {seed}, .text = text, .room = sizeof text};
        json_put(&maker, "{\"id\":");
        json_put_value(&maker, 1);
        json_put(&maker, ",\"a\":");
        json_put_value(&maker, 1);
        json_put(&maker, ",\"b\":");
        json_put_value(&maker, 1);
        json_put(&maker, "}");
        json_compare(&format, text, maker.size);
        for (int i = 0; i < 3 && maker.size > 0; i++) {
            json_damage(&maker);
            json_compare(&format, text, maker.size);
        }
    }
}

int main(void) {
    if (!event_batch_init(&batch)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),       cmocka_unit_test(strings), cmocka_unit_test(lines),
        cmocka_unit_test(paths),         cmocka_unit_test(depth),   cmocka_unit_test(blocks),
        cmocka_unit_test(made_up_lines),
    };
    int failed = cmocka_run_group_tests_name("json", tests, NULL, NULL);
    event_batch_free(&batch);
    return failed;
}

/* json_maker.c - see json_maker.h. */
#include "json_maker.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void json_put(struct json_maker *maker, const char *text) {
    size_t size = strlen(text);
    if (size > maker->room - maker->size) return;
    memcpy(maker->text + maker->size, text, size);
    maker->size += size;
}

static const char *pick(struct json_maker *maker, const char *const *choices, size_t count) {
    return choices[test_random_below(&maker->random, count)];
}

#define PICK(maker, choices) pick(maker, choices, sizeof choices / sizeof choices[0])

static void put_space(struct json_maker *maker) {
    static const char *const spaces[] = {"", "", "", "", " ", "\t", "\r", "  \t"};
    if (maker->is_tidy) return;
    json_put(maker, PICK(maker, spaces));
}

static void put_string(struct json_maker *maker) {
    static const char *const pieces[] = {"a",
                                         "id",
                                         "0123456789",
                                         "a longer piece of text, of some length",
                                         "\xc3\xa9",
                                         "\\n",
                                         "\\u0041",
                                         "\\ud83d\\ude00",
                                         "\\\"",
                                         "\xf0\x9f\x98\x80",
                                         "\\u0000",
                                         "\\/",
                                         "\xe2\x82\xac",
                                         "}",
                                         "]",
                                         ",",
                                         ":",
                                         "{",
                                         "\\\\"};
    json_put(maker, "\"");
    for (uint64_t i = test_random_below(&maker->random, 5); i > 0; i--)
        json_put(maker, PICK(maker, pieces));
    json_put(maker, "\"");
}

void json_put_value(struct json_maker *maker, unsigned depth) {
    static const char *const names[] = {"\"id\"", "\"key\"", "\"a\"", "\"b\"", "\"\\u0061\"",
                                        "\"0\"",  "\"1\"",   "\"\"",  "\"x\"", "\"c\""};
    static const char *const plain[] = {"true",
                                        "false",
                                        "null",
                                        "0",
                                        "-0",
                                        "17",
                                        "-5",
                                        "1.5",
                                        "1e5",
                                        "2E-3",
                                        "0.25",
                                        "1e400",
                                        "9223372036854775808",
                                        "-1e-400",
                                        "12345678901234567890"};
    uint64_t kind = test_random_below(&maker->random, depth > 6 ? 2 : 4);
    put_space(maker);
    if (kind == 0) json_put(maker, PICK(maker, plain));
    if (kind == 1) put_string(maker);
    if (kind >= 2) {
        json_put(maker, kind == 2 ? "{" : "[");
        uint64_t count = test_random_below(&maker->random, 5);
        for (uint64_t i = 0; i < count; i++) {
            put_space(maker);
            if (kind == 2 && test_random_below(&maker->random, 8) == 0)
                put_string(maker);
            else if (kind == 2)
                json_put(maker, PICK(maker, names));
            put_space(maker);
            if (kind == 2) json_put(maker, ":");
            json_put_value(maker, depth + 1);
            if (i + 1 < count) json_put(maker, ",");
        }
        put_space(maker);
        json_put(maker, kind == 2 ? "}" : "]");
    }
    put_space(maker);
}

void json_damage(struct json_maker *maker) {
    static const char bytes[] = "\"\\{}[]:,0-+.eEtfnu \t\r\x01\x1f\x7f\x80\xc3\xff";
    size_t at = test_random_below(&maker->random, maker->size);
    char *place = maker->text + at;
    switch (test_random_below(&maker->random, 4)) {
    case 0:
        *place = bytes[test_random_below(&maker->random, sizeof bytes)];
        break;
    case 1:
        memmove(place, place + 1, maker->size - at - 1);
        maker->size--;
        break;
    case 2:
        if (maker->size == maker->room) break;
        memmove(place + 1, place, maker->size - at);
        maker->size++;
        break;
    default:
        maker->size = at;
    }
}

static void put_number(struct json_maker *maker, uint64_t most) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, test_random_below(&maker->random, most));
    json_put(maker, text);
}

/* A value that is mostly as it should be. */
static void put_field(struct json_maker *maker, bool is_number) {
    uint64_t kind = test_random_below(&maker->random, 12);
    if (kind == 0 && maker->is_odd) {
        json_put_value(maker, 5);
    } else if (is_number || kind == 1) {
        json_put(maker, test_random_below(&maker->random, 4) == 0 ? "-" : "");
        put_number(maker, kind < 6 ? 100 : UINT64_C(2000000000));
    } else {
        json_put(maker, kind == 2 ? "\"\xe2\x82\xac" : "\"v-");
        put_number(maker, kind < 6 ? 10 : UINT64_MAX);
        json_put(maker, "\"");
    }
}

static void put_member(struct json_maker *maker, unsigned which, const char *blank) {
    static const char *const names[] = {"id",        "key", "delta", "t",       "b",   "a",
                                        "source",    "x",   "type",  "message", "ids", "changes",
                                        "id_base64", "0",   "",      "\\u0061"};
    static const char *const inner[] = {"id", "b", "delta", "0", "1", "x"};
    char text[64];
    if (which == 16) which = 7;
    snprintf(text, sizeof text, "\"%s\":%s", names[which], blank);
    json_put(maker, text);
    if (which == 5 && test_random_below(&maker->random, 4) != 0) {
        json_put(maker, "{");
        for (unsigned i = 0; i < 6; i++) {
            if (test_random_below(&maker->random, 3) == 0) continue;
            snprintf(text, sizeof text, "\"%s\":%s", inner[i], blank);
            json_put(maker, text);
            if (i == 1 && test_random_below(&maker->random, 2) == 0)
                json_put(maker, "{\"delta\":4}");
            else
                put_field(maker, i == 2);
            json_put(maker, ",");
        }
        json_put(maker, "\"z\":[]}");
    } else if (which < 7) {
        put_field(maker, which == 2 || which == 3);
    } else {
        json_put_value(maker, test_random_below(&maker->random, 4) == 0 ? 3 : 6);
    }
}

void json_put_line(struct json_maker *maker, unsigned damages) {
    static unsigned order[7] = {0, 1, 2, 3, 4, 5, 6};
    struct test_random *random = &maker->random;
    char *start = maker->text;
    maker->is_odd = damages > 0;
    maker->is_tidy = damages == 0 || test_random_below(random, 4) != 0;
    size_t before = maker->size;
    const char *blank = test_random_below(random, 2) == 0 ? "" : " ";
    if (test_random_below(random, 5) == 0) {
        unsigned i = (unsigned)test_random_below(random, 7), kept = order[i];
        unsigned j = (unsigned)test_random_below(random, 7);
        order[i] = order[j];
        order[j] = kept;
    }
    json_put(maker, test_random_below(random, 100) < damages ? "\xef\xbb\xbf{" : "{");
    for (unsigned i = 0; i < 7; i++) {
        if (test_random_below(random, 200) < damages) continue;
        if (i > 0) json_put(maker, ",");
        json_put(maker, blank);
        put_member(maker, order[i], blank);
        if (test_random_below(random, 4) != 0) continue;
        json_put(maker, ",");
        put_member(maker, 7 + (unsigned)test_random_below(random, damages > 0 ? 10 : 4), blank);
    }
    if (test_random_below(random, 40) == 0) {
        json_put(maker, ",\"long\":\"");
        for (uint64_t i = test_random_below(random, 200); i > 0; i--)
            json_put(maker, "a piece of text, of some length, \xc3\xa9 ");
        json_put(maker, "\"");
    }
    json_put(maker, "}");
    if (test_random_below(random, 100) < damages) {
        /* Of this line alone. */
        maker->text += before;
        maker->size -= before;
        for (uint64_t i = 1 + test_random_below(random, 2); i > 0 && maker->size > 0; i--)
            json_damage(maker);
        maker->text = start;
        maker->size += before;
    }
    json_put(maker, test_random_below(random, 30) == 0 ? "\r\n" : "\n");
}

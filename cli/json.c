/* json.c - a JSON object, escaped correctly. */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* The length of the well-formed UTF-8 sequence at text, or 0. Over-long forms, surrogates and
 * what is beyond U+10FFFF are not well-formed. text ends with a NUL, which no sequence contains. */
static size_t utf8_length(const unsigned char *text) {
    static const struct form {
        unsigned char first_least, first_most, second_least, second_most;
        size_t length;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    if (text[0] < 0x80) return 1;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const struct form *form = &forms[i];
        if (text[0] < form->first_least || text[0] > form->first_most) continue;
        if (text[1] < form->second_least || text[1] > form->second_most) return 0;
        for (size_t j = 2; j < form->length; j++) {
            if (text[j] < 0x80 || text[j] > 0xbf) return 0;
        }
        return form->length;
    }
    return 0;
}

static void print_quoted(FILE *stream, const char *value) {
    const unsigned char *at = (const unsigned char *)value;
    putc('"', stream);
    while (*at != '\0') {
        size_t length = utf8_length(at);
        if (length == 0) {
            fputs("\\ufffd", stream);
            at++;
        } else if (*at == '"' || *at == '\\') {
            fprintf(stream, "\\%c", *at++);
        } else if (*at < 0x20 || *at == 0x7f) {
            fprintf(stream, "\\u%04x", *at++);
        } else {
            fwrite(at, 1, length, stream);
            at += length;
        }
    }
    putc('"', stream);
}

static void print_key(struct json *json, const char *key) {
    if (json->has_members) fputs(", ", json->stream);
    json->has_members = true;
    print_quoted(json->stream, key);
    fputs(": ", json->stream);
}

struct json json_begin(FILE *stream) {
    putc('{', stream);
    return (struct json){.stream = stream};
}

void json_string(struct json *json, const char *key, const char *value) {
    print_key(json, key);
    print_quoted(json->stream, value);
}

void json_integer(struct json *json, const char *key, uint64_t value) {
    print_key(json, key);
    fprintf(json->stream, "%" PRIu64, value);
}

void json_real(struct json *json, const char *key, double value) {
    if (!isfinite(value)) {
        json_null(json, key);
        return;
    }
    print_key(json, key);
    /* The shortest form that reads back as the same number. */
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    fputs(text, json->stream);
}

void json_null(struct json *json, const char *key) {
    print_key(json, key);
    fputs("null", json->stream);
}

void json_end(struct json *json) {
    fputs("}\n", json->stream);
}

/* json.c - a JSON object, escaped correctly. */
#include "say/json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "say/quote.h"
#include "say/utf8.h"

static void print_quoted(FILE *stream, lethe_bytes value) {
    const unsigned char *at = value.data, *end = at + value.size;
    putc('"', stream);
    while (at < end) {
        char quoted[QUOTE_FACTOR];
        size_t made;
        at += quote_step(at, (size_t)(end - at), quoted, &made);
        fwrite(quoted, 1, made, stream);
    }
    putc('"', stream);
}

static lethe_bytes bytes_of(const char *text) {
    return (lethe_bytes){.data = text, .size = strlen(text)};
}

static void print_key(struct json *json, const char *key) {
    if (json->has_members) fputs(", ", json->stream);
    json->has_members = true;
    print_quoted(json->stream, bytes_of(key));
    fputs(": ", json->stream);
}

struct json json_begin(FILE *stream) {
    putc('{', stream);
    return (struct json){.stream = stream};
}

void json_string(struct json *json, const char *key, const char *value) {
    print_key(json, key);
    print_quoted(json->stream, bytes_of(value));
}

void json_bytes(struct json *json, const char *key, lethe_bytes value) {
    print_key(json, key);
    print_quoted(json->stream, value);
    if (utf8_is_text(value)) return;
    char name[64];
    snprintf(name, sizeof name, "%s_hex", key);
    print_key(json, name);
    putc('"', json->stream);
    for (size_t i = 0; i < value.size; i++) {
        fprintf(json->stream, "%02x", ((const unsigned char *)value.data)[i]);
    }
    putc('"', json->stream);
}

void json_signed(struct json *json, const char *key, int64_t value) {
    print_key(json, key);
    fprintf(json->stream, "%" PRId64, value);
}

void json_number(struct json *json, const char *key, const char *digits) {
    print_key(json, key);
    fputs(digits, json->stream);
}

void json_boolean(struct json *json, const char *key, bool value) {
    print_key(json, key);
    fputs(value ? "true" : "false", json->stream);
}

void json_integer(struct json *json, const char *key, uint64_t value) {
    print_key(json, key);
    fprintf(json->stream, "%" PRIu64, value);
}

void json_hex(struct json *json, const char *key, uint64_t value) {
    print_key(json, key);
    fprintf(json->stream, "\"0x%016" PRIx64 "\"", value);
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

void json_array(struct json *json, const char *key) {
    print_key(json, key);
    putc('[', json->stream);
    json->has_members = false;
}

void json_item(struct json *json) {
    fputs(json->has_members ? ", {" : "{", json->stream);
    json->has_members = false;
}

void json_item_end(struct json *json) {
    putc('}', json->stream);
    json->has_members = true;
}

void json_array_end(struct json *json) {
    putc(']', json->stream);
    json->has_members = true;
}

void json_end(struct json *json) {
    fputs("}\n", json->stream);
}

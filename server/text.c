/* text.c - texts that grow; see text.h. */
#include "server/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/decimal.h"
#include "say/quote.h"
#include "say/utf8.h"
#include "server/caps.h"

enum { LEAST_ROOM = 256 };

size_t text_room_for(const struct text *text, size_t more) {
    if (text->data != NULL && more <= text->room - text->size) return text->room;
    size_t room = text->room < LEAST_ROOM ? LEAST_ROOM : 2 * text->room;
    return room - text->size < more ? text->size + more : room;
}

char *text_reserve(struct text *text, size_t more) {
    if (text->has_failed) return NULL;
    if (text->data != NULL && more <= text->room - text->size) return text->data + text->size;
    size_t room = text_room_for(text, more);
    char *data = realloc(text->data, room);
    text->has_failed = data == NULL;
    if (data == NULL) return NULL;
    text->data = data;
    text->room = room;
    return data + text->size;
}

void text_add(struct text *text, const void *data, size_t size) {
    char *at = text_reserve(text, size);
    if (at == NULL || size == 0) return;
    memcpy(at, data, size);
    text->size += size;
}

void text_put(struct text *text, const char *string) {
    text_add(text, string, strlen(string));
}

void text_format(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *at = length < 0 ? NULL : text_reserve(text, (size_t)length + 1);
    if (at == NULL) return;
    va_start(arguments, format);
    vsnprintf(at, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->size += (size_t)length;
}

void text_free(struct text *text) {
    free(text->data);
    *text = (struct text){0};
}

bool text_is_full(const struct text *text) {
    return text->size >= ANSWER_BYTES;
}

void text_number(struct text *text, uint64_t value) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    text_add(text, digits + at, sizeof digits - at);
}

void text_quoted(struct text *text, lethe_bytes value) {
    const unsigned char *at = value.data, *end = at + value.size;
    char *out = text_reserve(text, QUOTE_FACTOR * value.size + 2);
    if (out == NULL) return;
    *out++ = '"';
    while (at < end) {
        size_t made;
        at += quote_step(at, (size_t)(end - at), out, &made);
        out += made;
    }
    *out++ = '"';
    text->size = (size_t)(out - text->data);
}

void text_quoted_string(struct text *text, const char *value) {
    text_quoted(text, (lethe_bytes){.data = value, .size = strlen(value)});
}

static void add_base64(struct text *text, lethe_bytes value) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = value.data;
    for (size_t at = 0; at < value.size; at += 3) {
        size_t count = value.size - at < 3 ? value.size - at : 3;
        uint32_t bits = (uint32_t)bytes[at] << 16;
        if (count > 1) bits |= (uint32_t)bytes[at + 1] << 8;
        if (count > 2) bits |= bytes[at + 2];
        char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
                        count > 1 ? digits[bits >> 6 & 63] : '=',
                        count > 2 ? digits[bits & 63] : '='};
        text_add(text, four, sizeof four);
    }
}

void text_bytes(struct text *text, const char *name, lethe_bytes value) {
    text_format(text, "\"%s\":", name);
    text_quoted(text, value);
    if (utf8_is_text(value)) return;
    text_format(text, ",\"%s_base64\":\"", name);
    add_base64(text, value);
    text_put(text, "\"");
}

void text_real(struct text *text, double value) {
    if (isfinite(value))
        text_format(text, "%.15g", value);
    else
        text_put(text, "null");
}

void text_value(struct text *text, int64_t value, unsigned scale) {
    struct decimal_text shown;
    text_put(text, "\"");
    if (scale == 0 && value >= 0)
        text_number(text, (uint64_t)value);
    else
        text_put(text, decimal_show(value, scale, &shown));
    text_put(text, "\"");
}

/* text.h - a text that grows: the body of an answer.
 *
 * When memory is short the text stays as it is, and has_failed says so: whoever sends it looks at
 * that once, at the end. */
#ifndef LETHE_SERVER_TEXT_H
#define LETHE_SERVER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

struct text {
    char *data;
    size_t size, room;
    bool has_failed;
};

/* The memory that the text would take with so many more bytes. */
size_t text_room_for(const struct text *text, size_t more);
/* Makes sure that so many more bytes have room. Returns where they go, or NULL. */
char *text_reserve(struct text *text, size_t more);
void text_add(struct text *text, const void *data, size_t size);
void text_put(struct text *text, const char *string);
void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(struct text *text);
/* Whether an answer has as many bytes as it may have: no row is added then (caps.h). */
bool text_is_full(const struct text *text);

/* A natural number, in digits. */
void text_number(struct text *text, uint64_t value);
/* A JSON string. Bytes that are not UTF-8 become U+FFFD. */
void text_quoted(struct text *text, lethe_bytes value);
void text_quoted_string(struct text *text, const char *value);
/* A member "NAME":"value", and, if the value is not UTF-8, "NAME_base64":"..." after a comma. */
void text_bytes(struct text *text, const char *name, lethe_bytes value);
/* A number of JSON, or null where it is not finite. */
void text_real(struct text *text, double value);
/* A value of a counter, as a JSON string with its digits after the point. */
void text_value(struct text *text, int64_t value, unsigned scale);

#endif

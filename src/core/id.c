/* id.c - joins fields to an id; docs/format/id.md has the bytes.
 *
 * IDEA    Before each field stands its length, so no separator has to be escaped.
 * WHY     Decimal lengths: an id stays readable, and every language can make one in a line. */
#include "lethe/id.h"

#include <stdint.h>
#include <string.h>

enum { DIGITS_MOST = 20 };

/* Writes the digits of a length so that they end at `end`; returns how many there are. */
static size_t write_digits(size_t length, char *end) {
    size_t count = 0;
    do {
        *--end = (char)('0' + length % 10);
        length /= 10;
        count++;
    } while (length > 0);
    return count;
}

/* How long the id is; 0 if a field is missing or empty, or the size cannot be addressed. */
static size_t measure(const lethe_bytes *fields, size_t count) {
    char digits[DIGITS_MOST];
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        size_t prefix = count > 1 ? write_digits(fields[i].size, digits + sizeof digits) + 1 : 0;
        if (fields[i].data == NULL || fields[i].size == 0 ||
            fields[i].size > SIZE_MAX - total - prefix) {
            return 0;
        }
        total += prefix + fields[i].size;
    }
    return total;
}

lethe_status lethe_id_join(const lethe_bytes *fields, size_t count, void *out, size_t room,
                           size_t *size) {
    if (size == NULL) return LETHE_EINVAL;
    *size = fields != NULL ? measure(fields, count) : 0;
    if (*size == 0 || (out == NULL && room > 0)) return LETHE_EINVAL;
    if (*size > room) return LETHE_EFULL;
    char *at = out, digits[DIGITS_MOST];
    for (size_t i = 0; i < count; i++) {
        if (count > 1) {
            size_t written = write_digits(fields[i].size, digits + sizeof digits);
            memcpy(at, digits + sizeof digits - written, written);
            at += written;
            *at++ = ':';
        }
        memcpy(at, fields[i].data, fields[i].size);
        at += fields[i].size;
    }
    return LETHE_OK;
}

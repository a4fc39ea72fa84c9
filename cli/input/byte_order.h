/* byte_order.h - byte order marks of UTF-8. Where files are put together that each begin with one,
 * they are in the middle of an input, and still at the start of a line. */
#ifndef LETHE_CLI_INPUT_BYTE_ORDER_H
#define LETHE_CLI_INPUT_BYTE_ORDER_H

#include <stddef.h>

enum { BYTE_ORDER_MARK_BYTES = 3 };

/* How many bytes of marks a line begins with. Cost: a comparison of one byte, mostly. */
static inline size_t byte_order_marks(const char *line, size_t size) {
    size_t at = 0;
    while (size - at >= BYTE_ORDER_MARK_BYTES && line[at] == '\xef' && line[at + 1] == '\xbb' &&
           line[at + 2] == '\xbf') {
        at += BYTE_ORDER_MARK_BYTES;
    }
    return at;
}

#endif

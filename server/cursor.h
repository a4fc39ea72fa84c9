/* cursor.h - where a list goes on: the key or id of its next row, in hexadecimal digits, which are
 * safe anywhere. */
#ifndef LETHE_SERVER_CURSOR_H
#define LETHE_SERVER_CURSOR_H

#include "server/request.h"

/* What a list may begin with. */
enum { CURSOR_BYTES = 1024 };

struct cursor {
    char bytes[CURSOR_BYTES];
    size_t size;
    bool has_more;
};

/* The list ends before this one. */
void cursor_set(struct cursor *cursor, lethe_bytes next);
/* Ends the rows of the answer, adds ,"cursor":"6c696b6573", or null for it after the last row, and
 * gives the answer. */
void cursor_answer(struct request *request, const struct cursor *cursor);
/* read.c: whether the largest counters, a list that has no cursor, were all written; a problem
 * otherwise. */
bool top_fits(struct request *request, const struct cursor *cursor);
/* The argument `cursor`, into room. Returns false after a problem; *out keeps what it holds if
 * there is no such argument. */
bool cursor_read(struct request *request, char room[CURSOR_BYTES], lethe_bytes *out);

#endif

/* frame.h - where the records of an input end.
 *
 * In plain lines and JSON a record is a line. In CSV a line end inside quotes belongs to the
 * record. A CSV record whose quotes are wrong, or that has no end, is cut at its first line end. */
#ifndef LETHE_CLI_EVENTS_FRAME_H
#define LETHE_CLI_EVENTS_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "events/format.h"

/* What is known of the record that has begun; zeroed between records. A byte is looked at once,
 * however small the pieces are that a pipe gives. */
struct event_frame {
    /* Bytes of the record looked at so far, and the newlines inside quotes among them. */
    size_t searched, newlines;
    int state;
};

struct event_record {
    /* Without its line end, and with it. */
    size_t size, taken;
    /* How many line ends it has, or would have if the last line had one. */
    size_t lines;
    /* It is CSV with line ends inside wrong quotes: unreadable, whatever its first fields say. */
    bool is_broken;
};

/* What event_frame_find takes for a format. */
static inline char event_frame_delimiter(const struct event_format *format) {
    return format->kind == EVENTS_CSV ? format->delimiter : '\0';
}

/* Looks for the end of the record at data, of which `size` bytes are there. delimiter is what
 * stands between the fields of CSV; 0: records are lines. is_last says that no more will come;
 * limit is how long a record may be. Returns whether the end was found. If not, and
 * size is beyond limit, there is no line end in all of the bytes. */
bool event_frame_find(struct event_frame *frame, char delimiter, const char *data, size_t size,
                      size_t limit, bool is_last, struct event_record *out);

#endif

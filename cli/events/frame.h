/* frame.h - where the records of an input end.
 *
 * In plain lines and JSON a record is a line. In CSV a line end inside quotes belongs to the
 * record. A CSV record whose quotes end wrongly goes to the end of the line where they do, and one
 * whose quotes do not end has all that follows. */
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
    /* The newlines before its last quoted field. */
    size_t opened;
    int state;
    /* What came before was thrown away: this is not the record's start. */
    bool is_cut;
};

struct event_record {
    /* Without its line end, and with it. */
    size_t size, taken;
    /* How many line ends it has, or would have if the last line had one. */
    size_t lines;
    /* How many of them are before its last quoted field. */
    size_t opened;
    /* It is CSV with line ends inside wrong quotes: unreadable, whatever its first fields say. */
    bool is_broken;
    /* It is CSV whose quotes do not end before the input does. */
    bool is_open;
};

/* What event_frame_find takes for a format. */
static inline char event_frame_delimiter(const struct event_format *format) {
    return format->kind == EVENTS_CSV ? format->delimiter : '\0';
}

/* Looks for the end of the record at data, of which `size` bytes are there. delimiter is what
 * stands between the fields of CSV; 0: records are lines. is_last says that no more will come.
 * Returns whether the end was found. */
bool event_frame_find(struct event_frame *frame, char delimiter, const char *data, size_t size,
                      bool is_last, struct event_record *out);

/* The same for a record that is thrown away piece by piece: if its end is not among the bytes, all
 * of them are taken. */
bool event_frame_pass(struct event_frame *frame, char delimiter, const char *data, size_t size,
                      struct event_record *out);

/* Begins in the middle of a line, whose end is that of the record, whatever quotes there are. */
void event_frame_rest(struct event_frame *frame);
/* Whether that is so, and the record has no lines before this one. */
bool event_frame_is_rest(const struct event_frame *frame);
/* Whether the record, as far as it is known, ends inside quotes. */
bool event_frame_is_open(const struct event_frame *frame);

#endif

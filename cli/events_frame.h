/* events_frame.h - where the records of a stream end.
 *
 * In plain lines and JSON a record is a line. In CSV a line end inside quotes belongs to the record. A CSV record
 * whose quotes are wrong, or that finds no end, is cut at its first line end: what its
 * parser then rejects is that line, and the next one has its own chance. */
#ifndef LETHE_CLI_EVENTS_FRAME_H
#define LETHE_CLI_EVENTS_FRAME_H

#include <stdbool.h>
#include <stddef.h>

/* What is known of the record that has begun; zeroed between records. A byte is looked at once, however small the
 * pieces are that a pipe gives. */
struct event_frame {
    size_t searched; /* bytes of the record looked at so far */
    size_t newlines; /* among them, inside quotes */
    int state;
};

struct event_record {
    size_t size;  /* without its line end */
    size_t taken; /* with it */
    size_t lines; /* how many line ends that is, or would be if the last one had one */
};

/* Looks for the end of the record at data, of which size bytes are there; is_last tells that no more will come.
 * Returns whether it was found; limit is how long a record may be. If it is not found and size is beyond limit, then
 * there is no line end in all of that. */
bool event_frame_find(struct event_frame *frame, bool is_csv, const char *data, size_t size,
                      size_t limit, bool is_last, struct event_record *out);

#endif

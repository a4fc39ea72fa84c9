/* events_stream.h - a source behind a buffer that can look back.
 *
 * Unread bytes lie one behind the other, so that a line is never in two pieces; a few bytes before them are kept,
 * and the first of all, because a mark is made of both (resume.h). */
#ifndef LETHE_CLI_EVENTS_STREAM_H
#define LETHE_CLI_EVENTS_STREAM_H

#include "events_source.h"
#include "resume.h"

struct event_stream {
    struct event_source *source; /* NULL when closed */
    char *buffer;
    size_t position, filled; /* unread bytes are between these */
    uint64_t offset;         /* of position in the stream */
    size_t head_size;
    char head[RESUME_SAMPLE_BYTES];
};

/* Takes the memory of the buffer. Returns false when there is not enough. */
bool event_stream_init(struct event_stream *stream);
void event_stream_free(struct event_stream *stream);

bool event_stream_open(struct event_stream *stream, const char *path, const atomic_bool *stop,
                       struct event_failure *failure);
void event_stream_close(struct event_stream *stream);

/* Reads more behind what is there. The unread bytes must be no more than a line of EVENT_LINE_LIMIT_BYTES and a
 * block. */
enum source_result event_stream_fill(struct event_stream *stream, struct event_failure *failure);

/* The bytes before the position: RESUME_SAMPLE_BYTES, or offset if that is less. */
const char *event_stream_tail(const struct event_stream *stream);

/* Takes so many of the unread bytes. */
void event_stream_take(struct event_stream *stream, size_t bytes);

/* Goes forward to an offset. SOURCE_END when the stream ends before it. */
enum source_result event_stream_skip(struct event_stream *stream, uint64_t offset,
                                     struct event_failure *failure);

#endif

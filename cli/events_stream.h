/* events_stream.h - a source behind a buffer.
 *
 * Unread bytes lie one behind the other, so that a line is never in two pieces. What was taken of a file that can be resumed is
 * followed (resume_track.h), because marks are made of it. */
#ifndef LETHE_CLI_EVENTS_STREAM_H
#define LETHE_CLI_EVENTS_STREAM_H

#include "events_source.h"
#include "resume_track.h"

struct event_stream {
    struct event_source *source; /* NULL when closed */
    char *buffer;
    size_t position, filled; /* unread bytes are between these */
    uint64_t offset;         /* of position in the stream */
    bool is_tracked;         /* it is a file that can be resumed */
    size_t tracked;          /* bytes of the buffer before this are in the track */
    struct resume_track track;
    size_t head_size;
    char head[RESUME_SAMPLE_BYTES];
};

/* Takes the memory of the buffer. Returns false when there is not enough. */
bool event_stream_init(struct event_stream *stream);
void event_stream_free(struct event_stream *stream);

bool event_stream_open(struct event_stream *stream, const char *path, const atomic_bool *stop,
                       struct event_failure *failure);
void event_stream_close(struct event_stream *stream);

/* Goes back to the start of a regular file: of the very file, whatever its name belongs to now. */
bool event_stream_rewind(struct event_stream *stream);

/* Reads more behind what is there. The unread bytes must be no more than a line of EVENT_LINE_LIMIT_BYTES and a
 * block. */
enum source_result event_stream_fill(struct event_stream *stream, struct event_failure *failure);

/* Takes so many of the unread bytes. */
void event_stream_take(struct event_stream *stream, size_t bytes);

/* Describes the position, of a stream that is tracked. */
struct resume_mark event_stream_mark(struct event_stream *stream, uint64_t line);

/* Goes forward to an offset by reading. SOURCE_END when the stream ends before it. */
enum source_result event_stream_skip(struct event_stream *stream, uint64_t offset,
                                     struct event_failure *failure);

/* Goes to the place of a mark in a file that has a descriptor. SOURCE_END when it can't be read up to there. */
enum source_result event_stream_seek(struct event_stream *stream, const struct resume_mark *mark);

#endif

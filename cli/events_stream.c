/* events_stream.c - the buffer between a source and its lines.
 *
 * LAYOUT  buffer: [taken | unread | free]
 *                        ^position ^filled
 * I1      Of what was taken, the bytes before `tracked` are in the track; the others follow before they are given up.
 * I2      Behind filled there is room for a block whenever the unread bytes are no more than the
 *         longest line and one more. */
#include "events_stream.h"

#include <stdlib.h>
#include <string.h>

#include "events_batch.h"
#include "resume_find.h"

static const size_t BLOCK_BYTES = (size_t)256 << 10;
static const size_t BUFFER_BYTES = EVENT_LINE_LIMIT_BYTES + 2 * ((size_t)256 << 10);

bool event_stream_init(struct event_stream *stream) {
    stream->source = NULL;
    stream->buffer = malloc(BUFFER_BYTES);
    return stream->buffer != NULL;
}

void event_stream_free(struct event_stream *stream) {
    event_stream_close(stream);
    free(stream->buffer);
    stream->buffer = NULL;
}

bool event_stream_open(struct event_stream *stream, const char *path, const atomic_bool *stop,
                       struct event_failure *failure) {
    event_stream_close(stream);
    stream->source = event_source_open(path, stop, failure);
    stream->is_tracked = stream->source != NULL && event_source_is_regular(stream->source);
    return stream->source != NULL;
}

static void begin(struct event_stream *stream) {
    stream->position = stream->filled = stream->tracked = 0;
    stream->offset = 0;
    resume_track_start(&stream->track);
    stream->head_size = 0;
}

void event_stream_close(struct event_stream *stream) {
    event_source_close(stream->source);
    stream->source = NULL;
    begin(stream);
}

bool event_stream_rewind(struct event_stream *stream) {
    begin(stream);
    return event_source_rewind(stream->source);
}

void event_stream_take(struct event_stream *stream, size_t bytes) {
    stream->position += bytes;
    stream->offset += bytes;
}

/* Brings the track up to the position. */
static void follow(struct event_stream *stream) {
    if (stream->is_tracked) {
        resume_track_feed(&stream->track, stream->buffer + stream->tracked,
                          stream->position - stream->tracked);
    }
    stream->tracked = stream->position;
}

struct resume_mark event_stream_mark(struct event_stream *stream, uint64_t line) {
    follow(stream);
    return resume_track_mark(&stream->track, line);
}

/* Remembers the first bytes of the stream, of which some have just been read. */
static void keep_head(struct event_stream *stream, const char *data, size_t size) {
    uint64_t read_before = stream->offset + (stream->filled - stream->position);
    if (read_before != stream->head_size || stream->head_size == RESUME_SAMPLE_BYTES) return;
    size_t room = RESUME_SAMPLE_BYTES - stream->head_size;
    if (size > room) size = room;
    memcpy(stream->head + stream->head_size, data, size);
    stream->head_size += size;
}

enum source_result event_stream_fill(struct event_stream *stream, struct event_failure *failure) {
    follow(stream);
    if (stream->position > 0) {
        memmove(stream->buffer, stream->buffer + stream->position,
                stream->filled - stream->position);
        stream->filled -= stream->position;
        stream->position = stream->tracked = 0;
    }
    size_t room = BUFFER_BYTES - stream->filled;
    /* Small pieces stay in the cache; only a long line needs more. */
    if (room > BLOCK_BYTES) room = BLOCK_BYTES;
    size_t got = 0;
    char *to = stream->buffer + stream->filled;
    enum source_result result = event_source_read(stream->source, to, room, &got, failure);
    if (result != SOURCE_MORE) return result;
    keep_head(stream, to, got);
    stream->filled += got;
    return SOURCE_MORE;
}

enum source_result event_stream_skip(struct event_stream *stream, uint64_t offset,
                                     struct event_failure *failure) {
    for (;;) {
        uint64_t unread = stream->filled - stream->position;
        if (offset - stream->offset <= unread) {
            event_stream_take(stream, (size_t)(offset - stream->offset));
            return SOURCE_MORE;
        }
        event_stream_take(stream, (size_t)unread);
        enum source_result result = event_stream_fill(stream, failure);
        if (result != SOURCE_MORE) return result;
    }
}

enum source_result event_stream_seek(struct event_stream *stream, const struct resume_mark *mark) {
    int file = event_source_file(stream->source);
    char tail[RESUME_SAMPLE_BYTES];
    size_t size = mark->offset < sizeof tail ? (size_t)mark->offset : sizeof tail;
    if (mark->has_blocks) {
        if (!resume_read_at(file, mark->offset - size, tail, size)) return SOURCE_END;
        resume_track_go_on(&stream->track, mark, tail);
    } else {
        enum resume_answer answer = resume_follow(file, mark->offset, &stream->track);
        if (answer != RESUME_FOUND) return answer == RESUME_STOPPED ? SOURCE_STOPPED : SOURCE_END;
    }
    if (!event_source_seek(stream->source, mark->offset)) return SOURCE_END;
    stream->position = stream->filled = stream->tracked = 0;
    stream->offset = mark->offset;
    return SOURCE_MORE;
}

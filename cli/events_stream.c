/* events_stream.c - the buffer between a source and its lines.
 *
 * LAYOUT  buffer: [kept for marks | unread | free]
 *                                 ^position ^filled
 * I1      At least min(offset, RESUME_SAMPLE_BYTES) bytes are kept before position.
 * I2      Behind filled there is room for a block whenever the unread bytes are no more than the
 *         longest line and one more. */
#include "events_stream.h"

#include <stdlib.h>
#include <string.h>

#include "events_batch.h"

static const size_t BLOCK_BYTES = (size_t)256 << 10;
static const size_t BUFFER_BYTES =
    RESUME_SAMPLE_BYTES + EVENT_LINE_LIMIT_BYTES + 2 * ((size_t)256 << 10);

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
    return stream->source != NULL;
}

void event_stream_close(struct event_stream *stream) {
    event_source_close(stream->source);
    stream->source = NULL;
    stream->position = stream->filled = 0;
    stream->offset = 0;
    stream->head_size = 0;
}

static size_t sample_size(uint64_t offset) {
    return offset < RESUME_SAMPLE_BYTES ? (size_t)offset : RESUME_SAMPLE_BYTES;
}

const char *event_stream_tail(const struct event_stream *stream) {
    return stream->buffer + stream->position - sample_size(stream->offset);
}

void event_stream_take(struct event_stream *stream, size_t bytes) {
    stream->position += bytes;
    stream->offset += bytes;
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
    size_t kept = sample_size(stream->offset);
    if (stream->position > kept) {
        size_t from = stream->position - kept;
        memmove(stream->buffer, stream->buffer + from, stream->filled - from);
        stream->position -= from;
        stream->filled -= from;
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

/* In a plain file there is no need to read what lies between, but for the bytes to look back at. */
static void seek_near(struct event_stream *stream, uint64_t offset) {
    uint64_t target = offset - sample_size(offset);
    uint64_t read_to = stream->offset + (stream->filled - stream->position);
    if (target <= read_to || !event_source_seek(stream->source, target)) return;
    stream->position = stream->filled = 0;
    stream->offset = target;
}

enum source_result event_stream_skip(struct event_stream *stream, uint64_t offset,
                                     struct event_failure *failure) {
    seek_near(stream, offset);
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

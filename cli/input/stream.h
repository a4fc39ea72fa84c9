/* stream.h - a source behind a buffer, whose places can be marked and found again. See input.h for
 * the stack.
 *
 * Unread bytes lie together in memory, so that a line is never in two pieces. */
#ifndef LETHE_CLI_INPUT_STREAM_H
#define LETHE_CLI_INPUT_STREAM_H

#include "input/resume_track.h"
#include "input/source.h"

struct stream {
    /* NULL when closed. */
    struct source *source;
    /* The last fill found no more: what is in the buffer is all up to the limit. */
    bool is_last;

    /* Unread bytes are between position and filled. There is room for one more byte after them. */
    char *buffer;
    size_t capacity, position, filled;
    /* Of position, in the decompressed input. */
    uint64_t offset;
    /* The offset that is not read beyond; UINT64_MAX when the input is opened. */
    uint64_t limit;

    /* What is taken of a file that can be resumed goes into the track; `tracked` is how far it
     * did. */
    bool tracks, is_tracked;
    size_t tracked;
    struct resume_track track;
    /* Input that is not text is read too; set before it is opened. */
    bool takes_binary;
    /* The first bytes of the input, by which a file is recognised, and whether it is text. */
    size_t head_size;
    char head[RESUME_SAMPLE_BYTES];
};

/* Takes the memory of the buffer. tracks: places are going to be marked. Returns false when memory
 * is short. */
bool stream_init(struct stream *stream, bool tracks);
void stream_free(struct stream *stream);

bool stream_open(struct stream *stream, const char *path, const atomic_bool *stop,
                 struct input_failure *failure);
/* Reads a descriptor of the named regular file at path, and closes it at the end. */
bool stream_adopt(struct stream *stream, const char *path, int descriptor,
                  struct input_failure *failure);
void stream_close(struct stream *stream);

static inline const char *stream_data(const struct stream *stream) {
    return stream->buffer + stream->position;
}

static inline size_t stream_size(const struct stream *stream) {
    return stream->filled - stream->position;
}

/* Reads more bytes after the unread ones, a block at most. SOURCE_END at the end of the input or at
 * the limit. */
enum source_result stream_fill(struct stream *stream, struct input_failure *failure);

/* After the end of a file that may grow: the next fill looks whether it has. */
void stream_look_again(struct stream *stream);

/* Whether a file that is not compressed still has what was read of it last: the first `unread` of
 * the unread bytes, and those before the position, of a stream that is tracked. Where it has not,
 * it was written anew, and what was read since may be the middle of a line. */
bool stream_still_has(struct stream *stream, size_t unread);

/* Takes so many of the unread bytes. */
static inline void stream_take(struct stream *stream, size_t bytes) {
    stream->position += bytes;
    stream->offset += bytes;
}

enum stream_text {
    TEXT_READY = 0,
    /* More bytes are needed to say; none are if is_last. */
    TEXT_SHORT,
    /* It is in UTF-16, as the failure says. */
    TEXT_WIDE
};

/* Whether the unread bytes are the start of an input in UTF-16, as the failure then says. */
bool stream_is_wide(const struct stream *stream, struct input_failure *failure);

/* At the start of an input, passes over a byte order mark; elsewhere does nothing. */
enum stream_text stream_skip_mark(struct stream *stream, struct input_failure *failure);

/* Describes the position, of a stream that is tracked. */
struct resume_mark stream_mark(struct stream *stream, uint64_t line);

/* At the start: reads as much as a file is recognised by, or all of it. */
enum source_result stream_read_head(struct stream *stream, struct input_failure *failure);

/* Goes to an offset of a named regular file, from its start: of the very file, whatever its name
 * belongs to now. SOURCE_END when the file ends before it. Cost: reads and decompresses all before
 * the offset. */
enum source_result stream_restart(struct stream *stream, uint64_t offset,
                                  struct input_failure *failure);

/* Goes forward to an offset by reading. SOURCE_END when the stream ends before it. */
enum source_result stream_skip(struct stream *stream, uint64_t offset,
                               struct input_failure *failure);

/* Goes to an offset, as stream_restart does, but reads nothing before it in a file that is not
 * compressed. The place is not tracked. */
enum source_result stream_seek(struct stream *stream, uint64_t offset,
                               struct input_failure *failure);

#endif

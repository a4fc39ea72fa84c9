/* stream.c - the buffer between a source and its lines.
 *
 * LAYOUT  buffer: [taken | unread | free]
 *                        ^position ^filled
 * I1      Of what was taken, the bytes before `tracked` are in the track; the others go there
 *         before they are overwritten.
 * I2      filled < capacity: a byte is free for the newline that a last line lacks.
 * WHY     What is left of a block when it is filled again is less than a line, so little is moved.
 *         Blocks of a fixed size stay in the cache; only a long line makes the buffer grow. read()
 *         into such a buffer is as fast as a mapping, works on pipes, and a file that shrinks is a
 *         short file and not a SIGBUS. */
#include "input/stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frame/exit_code.h"
#include "input/binary.h"
#include "input/inputs.h"
#include "input/resume_find.h"

static const size_t BLOCK_BYTES = (size_t)256 << 10;

bool stream_init(struct stream *stream, bool tracks) {
    stream->source = NULL;
    stream->tracks = tracks;
    stream->capacity = 2 * BLOCK_BYTES;
    stream->buffer = malloc(stream->capacity);
    return stream->buffer != NULL;
}

void stream_free(struct stream *stream) {
    stream_close(stream);
    free(stream->buffer);
    stream->buffer = NULL;
}

static void begin(struct stream *stream) {
    stream->is_last = false;
    stream->position = stream->filled = stream->tracked = 0;
    stream->offset = 0;
    resume_track_start(&stream->track);
    stream->head_size = 0;
}

static bool has_opened(struct stream *stream, struct source *source) {
    stream->source = source;
    stream->limit = UINT64_MAX;
    stream->is_tracked = source != NULL && stream->tracks && source_is_regular(source);
    return source != NULL;
}

bool stream_open(struct stream *stream, const char *path, const atomic_bool *stop,
                 struct input_failure *failure) {
    stream_close(stream);
    return has_opened(stream, source_open(path, stop, failure));
}

bool stream_adopt(struct stream *stream, const char *path, int descriptor,
                  struct input_failure *failure) {
    stream_close(stream);
    return has_opened(stream, source_adopt(path, descriptor, failure));
}

void stream_close(struct stream *stream) {
    source_close(stream->source);
    stream->source = NULL;
    begin(stream);
}

/* Brings the track up to the position. */
static void follow(struct stream *stream) {
    if (stream->is_tracked) {
        resume_track_feed(&stream->track, stream->buffer + stream->tracked,
                          stream->position - stream->tracked);
    }
    stream->tracked = stream->position;
}

struct resume_mark stream_mark(struct stream *stream, uint64_t line) {
    follow(stream);
    return resume_track_mark(&stream->track, line);
}

/* Remembers the first bytes of the input, of which some have just been read. */
static void keep_head(struct stream *stream, const char *data, size_t size) {
    uint64_t read_before = stream->offset + stream_size(stream);
    if (read_before != stream->head_size || stream->head_size == RESUME_SAMPLE_BYTES) return;
    size_t room = RESUME_SAMPLE_BYTES - stream->head_size;
    if (size > room) size = room;
    memcpy(stream->head + stream->head_size, data, size);
    stream->head_size += size;
}

/* Whether the head is that of a text, as far as it is known; the bytes before `judged` are. */
static bool judge(const struct stream *stream, size_t judged, struct input_failure *failure) {
    const char *what = binary_name(stream->head, stream->head_size, judged);
    if (what == NULL || stream->takes_binary) return true;
    input_failure_set(failure, EXIT_BAD_DATA,
                      "%s is not text: it %s; name a file of lines, or give --binary to read it as "
                      "it is",
                      inputs_name(source_path(stream->source)), what);
    return false;
}

/* Whether lines end with newlines, as far as the head says; once there is no more of it. */
static bool judge_ends(const struct stream *stream, struct input_failure *failure) {
    if (stream->takes_binary || !binary_ends_by_return(stream->head, stream->head_size))
        return true;
    input_failure_set(failure, EXIT_BAD_DATA,
                      "the lines of %s end with a carriage return alone; write newlines, as `tr "
                      "'\\r' '\\n'` does, or give --binary to read it as it is",
                      inputs_name(source_path(stream->source)));
    return false;
}

/* Moves the unread bytes to the front, and makes room for a block after them. */
static bool make_room(struct stream *stream, struct input_failure *failure) {
    size_t unread = stream_size(stream);
    follow(stream);
    if (stream->position > 0) {
        memmove(stream->buffer, stream_data(stream), unread);
        stream->filled = unread;
        stream->position = stream->tracked = 0;
    }
    if (stream->capacity - unread > BLOCK_BYTES) return true;
    char *larger = realloc(stream->buffer, 2 * stream->capacity);
    if (larger == NULL) {
        input_failure_set(failure, EXIT_ENVIRONMENT,
                          "not enough memory for a line of %s that has more than %zu MiB; free "
                          "some",
                          inputs_name(source_path(stream->source)), unread >> 20);
        return false;
    }
    stream->buffer = larger;
    stream->capacity *= 2;
    return true;
}

enum source_result stream_fill(struct stream *stream, struct input_failure *failure) {
    if (!make_room(stream, failure)) return SOURCE_FAILED;
    uint64_t end = stream->offset + stream_size(stream);
    uint64_t left = stream->limit > end ? stream->limit - end : 0;
    size_t room = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES, got = 0;
    char *to = stream->buffer + stream->filled;
    enum source_result result =
        room > 0 ? source_read(stream->source, to, room, &got, failure) : SOURCE_END;
    stream->is_last = result == SOURCE_END;
    if (stream->is_last && stream->head_size < RESUME_SAMPLE_BYTES && !judge_ends(stream, failure))
        return SOURCE_FAILED;
    if (result != SOURCE_MORE) return result;
    size_t judged = stream->head_size;
    keep_head(stream, to, got);
    stream->filled += got;
    if (judged == stream->head_size) return SOURCE_MORE;
    bool is_whole = stream->head_size == RESUME_SAMPLE_BYTES;
    bool is_fine = judge(stream, judged, failure) && (!is_whole || judge_ends(stream, failure));
    return is_fine ? SOURCE_MORE : SOURCE_FAILED;
}

void stream_look_again(struct stream *stream) {
    source_look_again(stream->source);
    stream->is_last = false;
}

bool stream_still_has(struct stream *stream, size_t unread) {
    char last[RESUME_SAMPLE_BYTES];
    int file = source_plain_file(stream->source);
    struct resume_mark mark = stream_mark(stream, 0);
    if (mark.offset > 0 && !resume_has_tail(file, &mark)) return false;
    size_t size = unread < sizeof last ? unread : sizeof last;
    return size == 0 || (resume_read_at(file, stream->offset + unread - size, last, size) &&
                         memcmp(stream_data(stream) + unread - size, last, size) == 0);
}

/* Text in UTF-16, as some programs on Windows write it: every letter has another byte beside it. */
static bool is_wide(const char *text) {
    return (memcmp(text, "\xff\xfe", 2) == 0 && text[3] == '\0') ||
           (memcmp(text, "\xfe\xff", 2) == 0 && text[2] == '\0');
}

bool stream_is_wide(const struct stream *stream, struct input_failure *failure) {
    if (stream->offset > 0 || stream_size(stream) < 4 || !is_wide(stream_data(stream)))
        return false;
    input_failure_set(failure, EXIT_BAD_DATA,
                      "%s is text in UTF-16; write it in UTF-8, as `iconv -f UTF-16 -t UTF-8` does",
                      inputs_name(source_path(stream->source)));
    return true;
}

enum stream_text stream_skip_mark(struct stream *stream, struct input_failure *failure) {
    static const char mark[] = "\xef\xbb\xbf";
    const char *text = stream_data(stream);
    size_t size = stream_size(stream);
    if (stream->offset > 0) return TEXT_READY;
    if (size == 0) return stream->is_last ? TEXT_READY : TEXT_SHORT;
    bool may_be_wide = text[0] == '\xff' || text[0] == '\xfe';
    if (may_be_wide && size < 4 && !stream->is_last) return TEXT_SHORT;
    if (stream_is_wide(stream, failure)) return TEXT_WIDE;
    if (size > 3) size = 3;
    if (memcmp(text, mark, size) != 0) return TEXT_READY;
    if (size == 3) stream_take(stream, 3);
    return size == 3 || stream->is_last ? TEXT_READY : TEXT_SHORT;
}

enum source_result stream_read_head(struct stream *stream, struct input_failure *failure) {
    while (stream->head_size < RESUME_SAMPLE_BYTES && !stream->is_last) {
        enum source_result result = stream_fill(stream, failure);
        if (result == SOURCE_STOPPED || result == SOURCE_FAILED) return result;
    }
    return SOURCE_MORE;
}

enum source_result stream_skip(struct stream *stream, uint64_t offset,
                               struct input_failure *failure) {
    for (;;) {
        uint64_t unread = stream_size(stream);
        if (offset - stream->offset <= unread) {
            stream_take(stream, (size_t)(offset - stream->offset));
            return SOURCE_MORE;
        }
        stream_take(stream, (size_t)unread);
        enum source_result result = stream_fill(stream, failure);
        if (result != SOURCE_MORE) return result;
    }
}

enum source_result stream_restart(struct stream *stream, uint64_t offset,
                                  struct input_failure *failure) {
    begin(stream);
    if (!source_rewind(stream->source)) {
        input_failure_set(failure, EXIT_ENVIRONMENT,
                          "cannot go back to the start of %s; check the device",
                          inputs_name(source_path(stream->source)));
        return SOURCE_FAILED;
    }
    enum source_result result = stream_read_head(stream, failure);
    return result == SOURCE_MORE ? stream_skip(stream, offset, failure) : result;
}

enum source_result stream_seek(struct stream *stream, uint64_t offset,
                               struct input_failure *failure) {
    enum source_result result = stream_read_head(stream, failure);
    if (result != SOURCE_MORE) return result;
    if (source_plain_file(stream->source) < 0) return stream_restart(stream, offset, failure);
    if (!source_seek(stream->source, offset)) return SOURCE_END;
    stream->is_last = false;
    stream->position = stream->filled = stream->tracked = 0;
    stream->offset = offset;
    return SOURCE_MORE;
}

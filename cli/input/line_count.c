/* line_count.c - counts lines without looking at them.
 *
 * IDEA    Newlines are counted block by block, many bytes at a time; a last line without a newline
 *         counts too, unless it has nothing but byte order marks. Standard input is put back to
 *         where it was. */
#include "input/line_count.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/byte_order.h"
#include "input/stream.h"
#include "say/message.h"
#include "say/progress.h"

/* Newlines in a block. Sums of at most 255 bytes fit a byte, which lets the compiler compare
 * and add a whole vector at a time. */
static uint64_t count_newlines(const char *data, size_t size) {
    uint64_t total = 0;
    while (size > 0) {
        size_t piece = size < 4080 ? size : 4080;
        uint8_t sums[16] = {0};
        size_t i = 0;
        for (; i + 16 <= piece; i += 16) {
            for (size_t lane = 0; lane < 16; lane++) {
                sums[lane] = (uint8_t)(sums[lane] + (data[i + lane] == '\n'));
            }
        }
        for (size_t lane = 0; lane < 16; lane++) {
            total += sums[lane];
        }
        for (; i < piece; i++) {
            total += data[i] == '\n';
        }
        data += piece;
        size -= piece;
    }
    return total;
}

/* What there is of a line. */
struct beginning {
    size_t size;
    /* None of it is anything but byte order marks. */
    bool is_marks;
};

static void add_block(struct beginning *line, const char *data, size_t size) {
    static const char mark[] = "\xef\xbb\xbf";
    const char *newline = memrchr(data, '\n', size);
    if (newline != NULL) {
        size -= (size_t)(newline + 1 - data);
        data = newline + 1;
        *line = (struct beginning){.is_marks = true};
    }
    for (size_t i = 0; i < size && line->is_marks; i++)
        line->is_marks = data[i] == mark[(line->size + i) % BYTE_ORDER_MARK_BYTES];
    line->size += size;
}

/* How far counting is. */
struct count {
    struct stream stream;
    struct progress progress;
    uint64_t lines, bytes_before;
};

/* Counts the lines of the stream that is open. */
static enum source_result count_stream(struct count *count, struct input_failure *failure) {
    struct stream *stream = &count->stream;
    struct beginning last = {.is_marks = true};
    for (;;) {
        enum source_result result = stream_fill(stream, failure);
        enum stream_text text = TEXT_READY;
        if (result == SOURCE_MORE || result == SOURCE_END) text = stream_skip_mark(stream, failure);
        if (text == TEXT_WIDE) return SOURCE_FAILED;
        size_t size = text == TEXT_READY ? stream_size(stream) : 0;
        count->lines += count_newlines(stream_data(stream), size);
        add_block(&last, stream_data(stream), size);
        stream_take(stream, size);
        bool is_line = !last.is_marks || last.size % BYTE_ORDER_MARK_BYTES != 0;
        if (result == SOURCE_END && is_line) count->lines++;
        if (result != SOURCE_MORE) return result;
        progress_update(&count->progress, count->lines,
                        count->bytes_before + source_bytes(stream->source));
    }
}

static int count_one(struct count *count, const char *path) {
    struct input_failure failure = {0};
    off_t position = inputs_is_standard(path) ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    if (stream_open(&count->stream, path, NULL, &failure)) {
        (void)count_stream(count, &failure);
        count->bytes_before += source_bytes(count->stream.source);
    }
    if (inputs_is_standard(path)) (void)lseek(STDIN_FILENO, position, SEEK_SET);
    input_failure_advise(&failure, false);
    return failure.code == EXIT_DONE ? EXIT_DONE : message_fail(failure.code, "%s", failure.text);
}

int line_count(const struct inputs *inputs, bool quiet, uint64_t *out) {
    struct count count = {0};
    *out = 0;
    if (!stream_init(&count.stream, false)) {
        return message_fail(EXIT_ENVIRONMENT, "not enough memory to count lines; free some");
    }
    count.stream.takes_binary = inputs->takes_binary;
    progress_begin(&count.progress, !quiet, "lines counted", inputs->bytes);
    int code = EXIT_DONE;
    for (size_t i = 0; i < inputs->count && code == EXIT_DONE; i++) {
        code = count_one(&count, inputs->paths[i]);
    }
    progress_end(&count.progress);
    stream_free(&count.stream);
    *out = count.lines;
    return code;
}

enum { PLACES = 16, SAMPLE_BYTES = 16384 };

/* Adds the lines of one file, as those of a sample make expect. */
static bool estimate_one(const char *path, double *lines) {
    char sample[SAMPLE_BYTES];
    struct stat information;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_read = file >= 0 && fstat(file, &information) == 0 && S_ISREG(information.st_mode);
    uint64_t size = is_read ? (uint64_t)information.st_size : 0, newlines = 0, bytes = 0;
    for (uint64_t i = 0; i < PLACES && is_read && bytes < size; i++) {
        uint64_t at = size <= (uint64_t)PLACES * SAMPLE_BYTES ? bytes : size / PLACES * i;
        ssize_t got = pread(file, sample, sizeof sample, (off_t)at);
        is_read = got > 0;
        if (!is_read) break;
        newlines += count_newlines(sample, (size_t)got);
        bytes += (uint64_t)got;
    }
    if (file >= 0) close(file);
    if (is_read && bytes > 0) *lines += (double)size * (double)(newlines + 1) / (double)bytes;
    return is_read;
}

bool line_estimate(const struct inputs *inputs, double *out) {
    bool is_known = inputs->all_regular && !inputs->has_packed;
    *out = 0;
    for (size_t i = 0; i < inputs->count && is_known; i++)
        is_known = inputs_is_file(inputs->paths[i]) && estimate_one(inputs->paths[i], out);
    return is_known;
}

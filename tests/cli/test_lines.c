/* Goal:   lines are the same however their bytes arrive, and a reader that follows another reads
 *         exactly what that one has read, whatever happens to the files meanwhile.
 * Method: texts are written to pipes in pieces, and to files that grow, shrink, are renamed and
 *         compressed; the lines are compared with those that the text has. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reading.h"

#include "frame/exit_code.h"
#include "input/lines.h"

/* Reads up to `most` lines, 0 for all, and adds each to the text between brackets. */
static size_t read_lines(struct line_reader *reader, size_t most, struct text *text) {
    size_t count = 0;
    for (;;) {
        struct line_batch batch;
        lines_limit(reader, most > 0 ? most - count : 0);
        assert_int_equal(lines_next(reader, &batch), EXIT_DONE);
        for (size_t i = 0; i < batch.count; i++) {
            add(text, "[", 1);
            add(text, batch.lines[i].data, batch.lines[i].size);
            add(text, "]", 1);
        }
        count += batch.count;
        if (batch.count == 0 || count == most) return count;
    }
}

struct pipe_writer {
    int descriptor;
    const char *data;
    size_t size, piece;
};

static void *write_pieces(void *context) {
    struct pipe_writer *writer = context;
    for (size_t at = 0; at < writer->size;) {
        size_t left = writer->size - at;
        ssize_t done = write(writer->descriptor, writer->data + at,
                             left < writer->piece ? left : writer->piece);
        if (done <= 0) break;
        at += (size_t)done;
        sched_yield();
    }
    close(writer->descriptor);
    return NULL;
}

static void check_pieces(const char *data, size_t size, size_t piece, const char *expected) {
    int pipes[2];
    char path[32], *paths[] = {path};
    pthread_t thread;
    struct inputs inputs;
    struct line_reader *reader;
    struct text text = {0};
    assert_int_equal(pipe(pipes), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", pipes[0]);
    struct pipe_writer writer = {pipes[1], data, size, piece};
    assert_int_equal(inputs_look(paths, 1, &inputs), EXIT_DONE);
    assert_int_equal(pthread_create(&thread, NULL, write_pieces, &writer), 0);
    assert_int_equal(lines_open(&inputs, &reader), EXIT_DONE);
    add(&text, "", 0);
    (void)read_lines(reader, 0, &text);
    assert_string_equal(text.data, expected);
    pthread_join(thread, NULL);
    lines_free(reader);
    close(pipes[0]);
    free(text.data);
}

/* Goal: pieces of any size, in every format, give the same lines. */
static void any_pieces(void **state) {
    (void)state;
    static const packer packs[] = {NULL, pack_gzip, pack_zstd, pack_bzip2, pack_xz};
    static const struct {
        const char *data, *lines;
    } texts[] = {
        {"a\nbb\r\n\n\r\r\nccc", "[a][bb][][\r][ccc]"},
        {"\xef\xbb\xbf\xef\xbb\xbfx\ny\r", "[x][y]"},
        {"x\n\xef\xbb\xbfx\r\ny\xef\xbb\xbf\n\xef\xbb\xbf\n\xef\xbb\xbf",
         "[x][x][y\xef\xbb\xbf][]"},
        {"\xef\xbbx\n", "[\xef\xbbx]"},
        {"\xef\xbb\xbf", ""},
        {"\xff\xfe\n", "[\xff\xfe]"},
        {"\xff\n\xfe", "[\xff][\xfe]"},
        {"BZh9\n1AY", "[BZh9][1AY]"},
        {"\n", "[]"},
        {"", ""},
    };
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        for (size_t p = 0; p < sizeof packs / sizeof packs[0]; p++) {
            char packed[512];
            const char *data = texts[t].data, *lines = texts[t].lines;
            size_t size = strlen(data);
            if (packs[p] != NULL) {
                size = packs[p](data, size, packed, sizeof packed);
                data = packed;
            }
            for (size_t piece = 1; piece <= size + 1; piece += piece < 8 ? 1 : size / 3 + 1) {
                check_pieces(data, size, piece, lines);
            }
        }
    }
}

/* Goal: a line longer than the buffer is one line, in any format, and the next one is found. */
static void long_lines(void **state) {
    (void)state;
    static const packer packs[] = {NULL, pack_gzip, pack_xz};
    enum { LONG = 3 << 20 };
    struct text text = {0}, expected = {0};
    char *line = malloc(LONG), *packed = malloc(LONG);
    memset(line, 'x', LONG);
    add_format(&text, "first\n");
    add(&text, line, LONG);
    add_format(&text, "\r\nlast");
    add_format(&expected, "[first][");
    add(&expected, line, LONG);
    add_format(&expected, "][last]");
    for (size_t p = 0; p < sizeof packs / sizeof packs[0]; p++) {
        const char *data = text.data;
        size_t size = text.size;
        if (packs[p] != NULL) {
            size = packs[p](data, size, packed, LONG);
            data = packed;
        }
        check_pieces(data, size, 100000, expected.data);
    }
    free(line);
    free(packed);
    free(text.data);
    free(expected.data);
}

/* Goal:   a reader that follows finds the lines of the first, not what came to the file since, and
 *         needs no name of the file.
 * Method: the first reads a part, the file grows or is replaced, the second reads the same
 *         number. */
static void following(void **state) {
    (void)state;
    static const packer packs[] = {NULL, pack_gzip, pack_zstd, pack_bzip2, pack_xz};
    struct text plain = many_lines(9000);
    char *packed = malloc(plain.size + 1000);
    for (size_t p = 0; p < sizeof packs / sizeof packs[0]; p++) {
        const char *data = plain.data;
        size_t size = plain.size - 1; /* the last line has no newline */
        if (packs[p] != NULL) {
            size = packs[p](plain.data, size, packed, plain.size + 1000);
            data = packed;
        }
        write_file(data, size);
        char *paths[] = {file_path};
        struct inputs inputs;
        struct line_reader *first, *second;
        assert_int_equal(inputs_look(paths, 1, &inputs), EXIT_DONE);
        assert_int_equal(inputs.has_packed, packs[p] != NULL);
        assert_int_equal(lines_open(&inputs, &first), EXIT_DONE);
        assert_int_equal(lines_open(&inputs, &second), EXIT_DONE);
        lines_keep(first);
        lines_follow(second, first);
        struct text one = {0}, two = {0};
        assert_int_equal(read_lines(first, 5000, &one), 5000);
        assert_int_equal(lines_kept(first), 1);
        assert_int_equal(read_lines(second, 3000, &two), 3000);
        assert_int_equal(lines_kept(first), 0);
        assert_int_equal(read_lines(first, 0, &one), 4000);
        FILE *file = fopen(file_path, "ab"); /* after the first has seen the end */
        assert_non_null(file);
        fputs("more\nlines\n", file);
        fclose(file);
        assert_int_equal(unlink(file_path), 0);
        assert_int_equal(read_lines(second, 0, &two), 6000);
        assert_string_equal(two.data, one.data);
        lines_free(second);
        lines_free(first);
        free(one.data);
        free(two.data);
    }
    free(packed);
    free(plain.data);
}

struct starts {
    uint64_t offset, pending;
};

/* A line_start. */
static int start_at(void *context, size_t input, struct stream *stream) {
    const struct starts *starts = context;
    struct input_failure failure;
    assert_int_equal(input, 0);
    assert_int_equal(stream_seek(stream, starts->offset, &failure), SOURCE_MORE);
    return EXIT_DONE;
}

/* A line_pending. */
static void note_pending(void *context, size_t input, uint64_t bytes) {
    (void)input;
    ((struct starts *)context)->pending += bytes;
}

/* Goal: a reader that begins in the middle is followed from there, and an incomplete last line is
 *       left by both, unless the file is compressed: then it cannot grow. */
static void beginning_in_the_middle(void **state) {
    (void)state;
    static const packer packs[] = {NULL, pack_gzip, pack_xz};
    static const char content[] = "skipped\none\ntwo\nthree";
    for (size_t p = 0; p < sizeof packs / sizeof packs[0]; p++) {
        char packed[512];
        const char *data = content;
        size_t size = sizeof content - 1;
        if (packs[p] != NULL) {
            size = packs[p](content, size, packed, sizeof packed);
            data = packed;
        }
        write_file(data, size);
        char *paths[] = {file_path};
        struct starts starts = {.offset = 8};
        struct inputs inputs;
        struct line_reader *first, *second;
        assert_int_equal(inputs_look(paths, 1, &inputs), EXIT_DONE);
        assert_int_equal(lines_open(&inputs, &first), EXIT_DONE);
        assert_int_equal(lines_open(&inputs, &second), EXIT_DONE);
        lines_resume(first, start_at, &starts);
        lines_leave_unended(first, note_pending, &starts);
        lines_keep(first);
        lines_follow(second, first);
        struct text one = {0}, two = {0};
        (void)read_lines(first, 0, &one);
        (void)read_lines(second, 0, &two);
        assert_string_equal(one.data, packs[p] == NULL ? "[one][two]" : "[one][two][three]");
        assert_string_equal(two.data, one.data);
        assert_int_equal(starts.pending, packs[p] == NULL ? 5 : 0);
        assert_int_equal(lines_delivered(first), packs[p] == NULL ? 2 : 3);
        lines_free(second);
        lines_free(first);
        free(one.data);
        free(two.data);
    }
}

int main(void) {
    if (!make_file_path()) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_pieces),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(following),
        cmocka_unit_test(beginning_in_the_middle),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_file_path();
    return failed;
}

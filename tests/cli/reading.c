/* tests/cli/reading.c - reads files of events into texts: reading.h. */
#include "reading.h"

#include <bzlib.h>
#include <inttypes.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "frame/exit_code.h"
#include "say/escape.h"

void add(struct text *text, const void *data, size_t size) {
    if (text->size + size + 1 > text->room) {
        text->room = 2 * (text->size + size + 1);
        text->data = realloc(text->data, text->room);
        assert_non_null(text->data);
    }
    memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void add_format(struct text *text, const char *format, ...) {
    char piece[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    add(text, piece, (size_t)length);
}

static void add_escaped(struct text *text, lethe_bytes bytes) {
    char escaped[ESCAPE_FACTOR * LETHE_KEY_LIMIT_BYTES];
    add(text, escaped, escape_write(bytes, escaped));
}

void add_operation(struct text *text, const struct event_batch *batch, size_t place) {
    const lethe_operation *operation = &batch->operations[place];
    add_format(text, "%" PRIu64 "|", batch->line_numbers[place]);
    add_escaped(text, operation->id);
    add(text, "|", 1);
    for (size_t i = 0; i < operation->change_count; i++) {
        if (i > 0) add(text, ",", 1);
        add_escaped(text, operation->changes[i].key);
        add_format(text, "=%" PRId64, operation->changes[i].delta);
    }
    if (operation->time_ms > 0) add_format(text, "@%" PRIu64, operation->time_ms);
    add(text, "\n", 1);
}

/* Lines of one batch in their order: complaints are merged in by their numbers. */
static void add_batch(struct text *text, const struct event_batch *batch) {
    size_t complaint = 0;
    for (size_t i = 0; i <= batch->count; i++) {
        while (complaint < batch->complaint_count &&
               (i == batch->count || batch->complaints[complaint].line < batch->line_numbers[i])) {
            const char *problem = batch->complaints[complaint].problem.text;
            if (strstr(problem, "; ") == NULL && strchr(problem, '?') == NULL) {
                fail_msg("does not tell what to do: %s", problem);
            }
            add_format(text, "%" PRIu64 "!\n", batch->complaints[complaint++].line);
        }
        if (i < batch->count) add_operation(text, batch, i);
    }
}

static char *path_to_read;

struct reading read_path(const char *path, const struct event_options *options,
                         struct resume_table *table) {
    struct reading reading = {0};
    struct resume_table own = {0};
    struct inputs inputs;
    path_to_read = strdup(path);
    char *const paths[] = {path_to_read};
    assert_int_equal(inputs_look(paths, 1, &inputs), EXIT_DONE);
    inputs.takes_binary = true;
    struct event_gatherer *gatherer = malloc(sizeof *gatherer);
    struct event_batch batch;
    assert_non_null(gatherer);
    assert_true(
        event_gatherer_init(gatherer, &inputs, options, table != NULL ? table : &own, NULL));
    assert_true(event_batch_init(&batch));
    add(&reading.text, "", 0);
    while (event_gather(gatherer, &batch)) {
        add_batch(&reading.text, &batch);
        const struct event_share *share = &batch.shares[0];
        assert_int_equal(batch.share_count, 1);
        if (share->starts_input) {
            reading.resumed_at = share->resumed_at;
            memcpy(reading.warning, share->warning, sizeof reading.warning);
        }
        assert_true(batch.count <= EVENTS_PER_BATCH);
        assert_true(share->offset >= reading.offset && share->line >= reading.line);
        reading.offset = share->offset;
        reading.line = share->line;
        reading.unreadable += batch.unreadable;
        reading.events += batch.count;
        reading.pending += share->pending_bytes;
        if (share->has_mark) {
            reading.marks++;
            unsigned char value[RESUME_VALUE_BYTES];
            size_t size = resume_encode(&share->mark, value);
            assert_true(resume_load(&own, (lethe_bytes){share->mark_name, strlen(share->mark_name)},
                                    (lethe_bytes){value, size}));
            assert_int_equal(own.not_understood, 0);
        }
    }
    reading.code = gatherer->failure.code;
    snprintf(reading.failure, sizeof reading.failure, "%.255s", gatherer->failure.text);
    event_gatherer_free(gatherer);
    event_batch_free(&batch);
    resume_free(&own);
    free(gatherer);
    free(path_to_read);
    return reading;
}

static char folder[] = "/tmp/lethe-test-events-XXXXXX";
char file_path[64];

bool make_file_path(void) {
    if (mkdtemp(folder) == NULL) return false;
    snprintf(file_path, sizeof file_path, "%s/file", folder);
    return true;
}

void remove_file_path(void) {
    unlink(file_path);
    rmdir(folder);
}

void write_file(const void *data, size_t size) {
    FILE *file = fopen(file_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

struct event_options options_for(enum event_kind kind, const char *fields) {
    struct event_options options = {.last_line = true};
    struct event_problem problem;
    bool has_time = fields != NULL && strstr(fields, "time=") != NULL;
    enum event_time_unit time_unit = has_time ? UNIT_MILLISECONDS : UNIT_BY_SIZE;
    struct event_format_options format = {.kind = kind, .fields = fields, .time_unit = time_unit};
    if (!event_format_make(&format, &options.format, &problem)) fail_msg("%s", problem.text);
    return options;
}

struct reading read_bytes(const void *data, size_t size, const struct event_options *options) {
    write_file(data, size);
    return read_path(file_path, options, NULL);
}

/* How far an input is read: an empty line at its end is not taken. */
static size_t end_of(const char *input, size_t size) {
    if (size == 0 || input[size - 1] != '\n') return size;
    size_t before = size - 1;
    if (before > 0 && input[before - 1] == '\r') before--;
    return before == 0 || input[before - 1] == '\n' ? before : size;
}

void check(enum event_kind kind, const char *fields, const char *input, size_t size,
           const char *expected) {
    struct event_options options = options_for(kind, fields);
    struct reading reading = read_bytes(input, size, &options);
    assert_string_equal(reading.text.data, expected);
    assert_int_equal(reading.code, EXIT_DONE);
    assert_int_equal(reading.offset, end_of(input, size));
    free(reading.text.data);
}

struct text many_lines(size_t count) {
    struct text text = {0};
    for (size_t i = 0; i < count; i++) {
        add_format(&text, "id-%zu\tkey-%zu\t%zu\n", i, i % 97, i);
    }
    return text;
}

size_t pack_gzip(const char *data, size_t size, char *out, size_t room) {
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (unsigned char *)(uintptr_t)data;
    stream.avail_in = (uInt)size;
    stream.next_out = (unsigned char *)out;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return room - stream.avail_out;
}

size_t pack_zstd(const char *data, size_t size, char *out, size_t room) {
    size_t packed = ZSTD_compress(out, room, data, size, 3);
    assert_false(ZSTD_isError(packed));
    return packed;
}

size_t pack_bzip2(const char *data, size_t size, char *out, size_t room) {
    unsigned packed = (unsigned)room;
    char *from = (char *)(uintptr_t)data; /* the library only reads it */
    assert_int_equal(BZ2_bzBuffToBuffCompress(out, &packed, from, (unsigned)size, 9, 0, 0), BZ_OK);
    return packed;
}

size_t pack_xz(const char *data, size_t size, char *out, size_t room) {
    size_t packed = 0;
    lzma_ret result = lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, (const uint8_t *)data,
                                              size, (uint8_t *)out, &packed, room);
    assert_int_equal(result, LZMA_OK);
    return packed;
}

size_t pack_twice(packer pack, const struct text *text, char *out, size_t room) {
    size_t half = text->size / 2;
    size_t first = pack(text->data, half, out, room);
    return first + pack(text->data + half, text->size - half, out + first, room - first);
}

/* Goal:   events are read as they were written, in every format, however the bytes arrive; what is wrong is
 *         rejected by its line number and nothing else is.
 * Method: small files are read into a text, an event a line, which is compared with what it should be:
 *         "LINE|ID|KEY=DELTA,KEY=DELTA" and "@TIME" behind it if there is one, or "LINE!" if it is rejected. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#include "escape.h"
#include "events.h"
#include "events_time.h"
#include "exit_code.h"
#include "integer.h"

/* A text that grows. */
struct text {
    char *data;
    size_t size, room;
};

static void add(struct text *text, const void *data, size_t size) {
    if (text->size + size + 1 > text->room) {
        text->room = 2 * (text->size + size + 1);
        text->data = realloc(text->data, text->room);
        assert_non_null(text->data);
    }
    memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = '\0';
}

static void add_format(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_format(struct text *text, const char *format, ...) {
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

static void add_operation(struct text *text, const struct event_batch *batch, size_t place) {
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

/* What a reading gave. */
struct reading {
    struct text text;
    int code;
    char failure[256];
    char warning[320];
    uint64_t resumed_at, offset, line, rejected, events, marks, pending;
};

static char *path_to_read;

static struct reading read_path(const char *path, const struct event_options *options,
                                struct resume_table *table) {
    struct reading reading = {0};
    struct resume_table own = {0};
    struct inputs inputs;
    path_to_read = strdup(path);
    char *const paths[] = {path_to_read};
    assert_int_equal(inputs_look(paths, 1, &inputs), EXIT_DONE);
    struct event_gatherer *gatherer = malloc(sizeof *gatherer);
    struct event_batch batch;
    assert_non_null(gatherer);
    assert_true(
        event_gatherer_init(gatherer, &inputs, options, table != NULL ? table : &own, NULL));
    assert_true(event_batch_init(&batch));
    add(&reading.text, "", 0);
    while (event_gather(gatherer, &batch)) {
        add_batch(&reading.text, &batch);
        if (batch.starts_input) {
            reading.resumed_at = batch.resumed_at;
            memcpy(reading.warning, batch.warning, sizeof reading.warning);
        }
        assert_true(batch.count <= EVENTS_PER_BATCH);
        assert_true(batch.offset >= reading.offset && batch.line >= reading.line);
        reading.offset = batch.offset;
        reading.line = batch.line;
        reading.rejected += batch.rejected;
        reading.events += batch.count;
        reading.pending += batch.pending_bytes;
        if (batch.has_mark) {
            reading.marks++;
            unsigned char value[RESUME_VALUE_BYTES];
            size_t size = resume_encode(&batch.mark, value);
            assert_true(resume_load(&own, (lethe_bytes){batch.mark_name, strlen(batch.mark_name)},
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
static char file_path[64];

static void write_file(const void *data, size_t size) {
    FILE *file = fopen(file_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static struct event_options options_for(enum event_kind kind, const char *fields) {
    struct event_options options = {.last_line = true};
    struct event_problem problem;
    if (!event_format_make(kind, fields, &options.format, &problem)) fail_msg("%s", problem.text);
    return options;
}

static struct reading read_bytes(const void *data, size_t size,
                                 const struct event_options *options) {
    write_file(data, size);
    return read_path(file_path, options, NULL);
}

static void check(enum event_kind kind, const char *fields, const char *input, size_t size,
                  const char *expected) {
    struct event_options options = options_for(kind, fields);
    struct reading reading = read_bytes(input, size, &options);
    assert_string_equal(reading.text.data, expected);
    assert_int_equal(reading.code, EXIT_DONE);
    assert_int_equal(reading.offset, size);
    free(reading.text.data);
}

/* A literal with its length, since it may hold NUL bytes. */
#define CHECK(kind, fields, input, expected) check(kind, fields, input, sizeof(input) - 1, expected)

static void plain_lines(void **state) {
    (void)state;
    CHECK(EVENTS_PLAIN, NULL, "", "");
    CHECK(EVENTS_PLAIN, NULL, "\n", "");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\n", "1|a|k=1\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk", "1|a|k=1\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\t5\n\n", "1|a|k=5\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\t5\n\n\n", "1|a|k=5\n2!\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\n\nb\tk\n", "1|a|k=1\n2!\n3|b|k=1\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\t-5\tl\t+7\n", "1|a|k=-5,l=7\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\t1\tk\t2\n", "1|a|k=1,k=2\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\t5\tl\n", "1!\n");
    CHECK(EVENTS_PLAIN, NULL, "a\n\tk\na\t\na\tk\t\na\tk\tx\na\tk\t1.5\na\tk\t 1\n",
          "1!\n2!\n3!\n4!\n5!\n6!\n7!\n");
    CHECK(EVENTS_PLAIN, NULL, "a\0b\tk\0\t1\n\xff\t\xfe\n", "1|a\\0b|k\\0=1\n2|\xff|\xfe=1\n");
    CHECK(EVENTS_PLAIN, NULL, "a\tk\t1\r\nb\tk\r\n", "1!\n2!\n");
    CHECK(EVENTS_PLAIN, NULL,
          "\xef\xbb\xbf"
          "a\tk\na\tl\n",
          "1|a|k=1\n2|a|l=1\n");
}

static void plain_escapes(void **state) {
    (void)state;
    CHECK(EVENTS_PLAIN, NULL, "a\\tb\\n\tk\\\\\\r\\0\\x41\\xFf\t2\n",
          "1|a\\tb\\n|k\\\\\\r\\0A\xff=2\n");
    CHECK(EVENTS_PLAIN, NULL, "a\\\tk\na\\q\tk\na\tk\\x4\na\tk\\xg0\na\tk\\",
          "1!\n2!\n3!\n4!\n5!\n");
    unsigned char all[256];
    char escaped[ESCAPE_FACTOR * sizeof all], back[sizeof escaped];
    for (size_t i = 0; i < sizeof all; i++) {
        all[i] = (unsigned char)i;
    }
    size_t length = escape_write((lethe_bytes){all, sizeof all}, escaped);
    size_t size, at;
    assert_true(escape_read((lethe_bytes){escaped, length}, back, &size, &at));
    assert_int_equal(size, sizeof all);
    assert_memory_equal(back, all, sizeof all);
}

static void csv_records(void **state) {
    (void)state;
    CHECK(EVENTS_CSV, NULL, "a,k,5\r\nb,k\r\n", "1|a|k=5\n2|b|k=1\n");
    CHECK(EVENTS_CSV, NULL, "\"a,\"\"b\"\"\",\"k\nl\",\"5\"\nb,k", "1|a,\"b\"|k\\nl=5\n3|b|k=1\n");
    CHECK(EVENTS_CSV, NULL, "\"a\",\"k\"\r\n\r\n", "1|a|k=1\n");
    CHECK(EVENTS_CSV, NULL, "a,k,1,l,2\n", "1|a|k=1,l=2\n");
    CHECK(EVENTS_CSV, NULL,
          "\xef\xbb\xbf"
          "a,k\n",
          "1|a|k=1\n");
    CHECK(EVENTS_CSV, NULL, "a\\t,k\n", "1|a\\\\t|k=1\n");
    /* Wrong quotes cost their own line and no other. */
    CHECK(EVENTS_CSV, NULL, "\"a,k\nb,k\nc,k\n", "1!\n2|b|k=1\n3|c|k=1\n");
    CHECK(EVENTS_CSV, NULL, "\"a\"x,k\n\"b\",k\n", "1!\n2|b|k=1\n");
    CHECK(EVENTS_CSV, NULL, "a\"b,k\nc,k\n", "1!\n2|c|k=1\n");
    CHECK(EVENTS_CSV, NULL, "\"a\",\"k\nb,k\n\"c\",k\n", "1!\n2|b|k=1\n3|c|k=1\n");
    CHECK(EVENTS_CSV, NULL, "\"\",k\n,k\na,\n", "1!\n2!\n3!\n");
}

static void json_lines(void **state) {
    (void)state;
    CHECK(EVENTS_JSONL, NULL, "{\"id\": \"a\", \"key\": \"k\"}\n", "1|a|k=1\n");
    CHECK(EVENTS_JSONL, NULL, "{\"id\": 7, \"key\": -3, \"delta\": -9223372036854775808}\r\n",
          "1|7|-3=-9223372036854775808\n");
    CHECK(EVENTS_JSONL, NULL,
          "{\"id\": \"\\u00e9\\u0000\", \"key\": \"k\", \"delta\": \"+12\", \"x\": []}",
          "1|\xc3\xa9\\0|k=12\n");
    CHECK(EVENTS_JSONL, NULL, "{\"id\": \"a\", \"key\": \"k\", \"delta\": null}\n", "1|a|k=1\n");
    CHECK(EVENTS_JSONL, NULL,
          "{}\n[]\n1\n{\"id\": 1.5, \"key\": 1}\n{\"id\": \"a\", \"key\": true}\n"
          "{\"id\": \"a\", \"key\": \"k\", \"delta\": 1.0}\n{\"id\": \"\", \"key\": \"k\"}\n"
          "{\"id\": \"a\", \"id\": \"b\", \"key\": \"k\"}\n{\"id\": \"a\", \"key\": \"k\"} "
          "x\n{\"id\": \"\xff\"}\n",
          "1!\n2!\n3!\n4!\n5!\n6!\n7!\n8!\n9!\n10!\n");
    CHECK(EVENTS_JSONL, "id=request,key=user,delta=bytes,time=at",
          "{\"request\": 1, \"user\": \"u\", \"bytes\": 10, \"at\": \"1970-01-01T00:00:01Z\"}\n"
          "{\"request\": 2, \"user\": \"u\", \"at\": 5}\n{\"request\": 3, \"user\": \"u\"}\n",
          "1|1|u=10@1000\n2|2|u=1@5\n3!\n");
}

static void columns(void **state) {
    (void)state;
    CHECK(EVENTS_PLAIN, "id=3,key=1", "k\tx\ta\ty\nk\tx\n", "1|a|k=1\n2!\n");
    CHECK(EVENTS_PLAIN, "time=1,delta=2,key=3,id=4", "1000\t5\tk\ta\n-1\t5\tk\ta\nx\t5\tk\ta\n",
          "1|a|k=5@1000\n2!\n3!\n");
    CHECK(EVENTS_PLAIN, "id=1,key=1", "a\n", "1|a|a=1\n");
    CHECK(EVENTS_CSV, "id=2,key=1", "\"k\",a,\"x\ny\"\nl,b\n", "1|a|k=1\n3|b|l=1\n");
    CHECK(EVENTS_CSV, "id=i,key=k", "k,i\nk,a\nk,i\n\"k\",\"i\"\r\n\xef\xbb\xbfk,i\nx,i\n",
          "2|a|k=1\n3!\n4!\n5!\n6|i|x=1\n");
    CHECK(EVENTS_CSV, "id=request,key=user", "user,\"request\",x\r\nu,r,1\r\nv,s\r\n",
          "2|r|u=1\n3|s|v=1\n");
    CHECK(EVENTS_CSV, "id=request,key=user", "", "");
    struct event_options options = options_for(EVENTS_CSV, "id=request,key=user");
    struct reading reading = read_bytes("user,id\nu,r\n", 12, &options);
    assert_int_equal(reading.code, EXIT_BAD_DATA);
    assert_non_null(strstr(reading.failure, "no column 'request'"));
    free(reading.text.data);
}

static void wrong_fields(void **state) {
    (void)state;
    static const struct {
        enum event_kind kind;
        const char *fields;
    } cases[] = {
        {EVENTS_PLAIN, ""},
        {EVENTS_PLAIN, "id"},
        {EVENTS_PLAIN, "id=1"},
        {EVENTS_PLAIN, "id=1,key="},
        {EVENTS_PLAIN, "id=1,key=0"},
        {EVENTS_PLAIN, "id=1,key=x"},
        {EVENTS_PLAIN, "id=1,key=-1"},
        {EVENTS_PLAIN, "id=1,key=2,"},
        {EVENTS_PLAIN, "id=1,key=99999"},
        {EVENTS_PLAIN, "id=1,key=2,id=3"},
        {EVENTS_PLAIN, "id=1,key=2,when=3"},
        {EVENTS_PLAIN, "id=1,key=99999999999999999999"},
        {EVENTS_CSV, "id=1,key=user"},
        {EVENTS_JSONL, "id=a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct event_format format;
        struct event_problem problem = {""};
        if (event_format_make(cases[i].kind, cases[i].fields, &format, &problem)) {
            fail_msg("'%s' was accepted", cases[i].fields);
        }
        assert_non_null(strstr(problem.text, "; "));
    }
}

static void integers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum integer_problem problem;
        int64_t value;
    } cases[] = {
        {"0", INTEGER_FINE, 0},
        {"-0", INTEGER_FINE, 0},
        {"+1", INTEGER_FINE, 1},
        {"007", INTEGER_FINE, 7},
        {"9223372036854775807", INTEGER_FINE, INT64_MAX},
        {"-9223372036854775808", INTEGER_FINE, INT64_MIN},
        {"+000000000000000000000000000009", INTEGER_FINE, 9},
        {"9223372036854775808", INTEGER_TOO_LARGE, 0},
        {"-9223372036854775809", INTEGER_TOO_LARGE, 0},
        {"99999999999999999999999999999", INTEGER_TOO_LARGE, 0},
        {"", INTEGER_NOT_A_NUMBER, 0},
        {"-", INTEGER_NOT_A_NUMBER, 0},
        {"+-1", INTEGER_NOT_A_NUMBER, 0},
        {"1 ", INTEGER_NOT_A_NUMBER, 0},
        {"0x1", INTEGER_NOT_A_NUMBER, 0},
        {"1e3", INTEGER_NOT_A_NUMBER, 0},
        {"99999999999999999999999999999x", INTEGER_NOT_A_NUMBER, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = 0;
        enum integer_problem problem =
            integer_parse((lethe_bytes){cases[i].text, strlen(cases[i].text)}, &value);
        if (problem != cases[i].problem || value != cases[i].value) fail_msg("%s", cases[i].text);
    }
}

static void times(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t ms;
    } right[] = {
        {"0", 0},
        {"1700000000000", UINT64_C(1700000000000)},
        {"1970-01-01T00:00:00Z", 0},
        {"2023-11-14T22:13:20Z", UINT64_C(1700000000000)},
        {"2023-11-14t22:13:20.5z", UINT64_C(1700000000500)},
        {"2023-11-14 23:13:20.123999+01:00", UINT64_C(1700000000123)},
        {"2023-11-14T16:43:20-05:30", UINT64_C(1700000000000)},
        {"2000-02-29T00:00:00Z", UINT64_C(951782400000)},
        {"2016-12-31T23:59:60.25Z", UINT64_C(1483228799250)},
        {"9999-12-31T23:59:59.999Z", UINT64_C(253402300799999)},
    };
    static const char *const wrong[] = {
        "",
        "-1",
        "now",
        "2023-11-14",
        "2023-11-14T22:13:20",
        "2023-11-14T22:13Z",
        "2023-13-01T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+00:01",
        "2023-11-14T24:00:00Z",
        "2023-11-14T22:60:00Z",
        "2023-11-14T22:13:61Z",
        "2023-11-14T22:13:20.Z",
        "2023-11-14T22:13:20Zx",
        "2023-11-14T22:13:20+1:00",
        "1.5",
        "99999999999999999999",
    };
    struct event_problem problem;
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        uint64_t ms = 1;
        lethe_bytes text = {right[i].text, strlen(right[i].text)};
        if (!event_time_parse(text, &ms, &problem) || ms != right[i].ms) {
            fail_msg("%s: %" PRIu64, right[i].text, ms);
        }
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint64_t ms;
        if (event_time_parse((lethe_bytes){wrong[i], strlen(wrong[i])}, &ms, &problem)) {
            fail_msg("'%s' was accepted", wrong[i]);
        }
    }
}

/* Writes to a pipe in two pieces, the second when the first has been read. */
struct feeder {
    int descriptor;
    const char *data;
    size_t size, split;
};

static void *feed(void *context) {
    struct feeder *feeder = context;
    int waiting = 0;
    if (write(feeder->descriptor, feeder->data, feeder->split) != (ssize_t)feeder->split) abort();
    do {
        usleep(50);
        ioctl(feeder->descriptor, FIONREAD, &waiting);
    } while (waiting > 0);
    size_t rest = feeder->size - feeder->split;
    if (write(feeder->descriptor, feeder->data + feeder->split, rest) != (ssize_t)rest) abort();
    close(feeder->descriptor);
    return NULL;
}

static void check_splits(enum event_kind kind, const char *input, size_t size) {
    struct event_options options = options_for(kind, NULL);
    struct reading whole = read_bytes(input, size, &options);
    for (size_t split = 0; split <= size; split++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        struct feeder feeder = {.descriptor = ends[1], .data = input, .size = size, .split = split};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, feed, &feeder), 0);
        char path[32];
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        struct reading reading = read_path(path, &options, NULL);
        pthread_join(thread, NULL);
        close(ends[0]);
        assert_string_equal(reading.text.data, whole.text.data);
        assert_int_equal(reading.offset, whole.offset);
        assert_int_equal(reading.line, whole.line);
        assert_int_equal(reading.marks, 0);
        free(reading.text.data);
    }
    free(whole.text.data);
}

/* Goal:   a pipe may hand over the bytes in any pieces. */
static void any_split(void **state) {
    (void)state;
    static const char plain[] = "a\tk\t5\nb\\t\tk\n\nc\nd\tk\t1\tl\t2\n\n";
    static const char csv[] = "\xef\xbb\xbf"
                              "\"a\"\"\",\"k\nl\",5\r\n\"b,k\nc,\"d\"x\r\n\r\n\"e\",k\r\n\r\n";
    static const char json[] = "{\"id\":\"a\",\"key\":\"k\"}\nx\n\n{\"id\":1,\"key\":2}\n\n";
    check_splits(EVENTS_PLAIN, plain, sizeof plain - 1);
    check_splits(EVENTS_CSV, csv, sizeof csv - 1);
    check_splits(EVENTS_JSONL, json, sizeof json - 1);
}

static struct text many_lines(size_t count) {
    struct text text = {0};
    for (size_t i = 0; i < count; i++) {
        add_format(&text, "id-%zu\tkey-%zu\t%zu\n", i, i % 97, i);
    }
    return text;
}

static size_t pack_gzip(const char *data, size_t size, char *out, size_t room) {
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

static size_t pack_zstd(const char *data, size_t size, char *out, size_t room) {
    size_t packed = ZSTD_compress(out, room, data, size, 3);
    assert_false(ZSTD_isError(packed));
    return packed;
}

typedef size_t (*packer)(const char *data, size_t size, char *out, size_t room);

/* Packs a text in two members, cut in the middle of a line. */
static size_t pack_twice(packer pack, const struct text *text, char *out, size_t room) {
    size_t half = text->size / 2;
    size_t first = pack(text->data, half, out, room);
    return first + pack(text->data + half, text->size - half, out + first, room - first);
}

/* Goal:   compressed files read like plain ones; what is cut short or damaged is told, with its offset, and no
 *         half line is counted. */
static void compressed(void **state) {
    (void)state;
    static const packer packs[] = {pack_gzip, pack_zstd};
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    struct text text = many_lines(20000);
    struct reading plain = read_bytes(text.data, text.size, &options);
    size_t room = text.size + 1000;
    char *packed = malloc(room);
    for (size_t i = 0; i < 2; i++) {
        size_t size = pack_twice(packs[i], &text, packed, room);
        struct reading reading = read_bytes(packed, size, &options);
        assert_int_equal(reading.code, EXIT_DONE);
        assert_string_equal(reading.text.data, plain.text.data);
        free(reading.text.data);
        for (size_t cut = 5; cut < size; cut += size / 37) {
            reading = read_bytes(packed, cut, &options);
            size_t length = reading.text.size;
            assert_memory_equal(reading.text.data, plain.text.data, length);
            assert_true(reading.code == EXIT_BAD_DATA);
            assert_non_null(strstr(reading.failure, "cut short at byte"));
            assert_int_equal(reading.rejected, 0);
            free(reading.text.data);
        }
        memcpy(packed + size, "junk", 4);
        reading = read_bytes(packed, size + 4, &options);
        assert_int_equal(reading.code, EXIT_BAD_DATA);
        assert_string_equal(reading.text.data, plain.text.data);
        free(reading.text.data);
    }
    free(packed);
    free(text.data);
    free(plain.text.data);
}

/* Goal:   a line of 1 MiB is read, a longer one is rejected, and the next one is read again. */
static void long_lines(void **state) {
    (void)state;
    static const enum event_kind kinds[] = {EVENTS_PLAIN, EVENTS_CSV};
    for (size_t k = 0; k < 2; k++) {
        char separator = kinds[k] == EVENTS_CSV ? ',' : '\t';
        for (size_t extra = 0; extra < 3; extra++) {
            /* A good line is long because of its many changes. */
            struct text text = {0};
            add_format(&text, "a");
            while (text.size < EVENT_LINE_LIMIT_BYTES - 40) {
                add_format(&text, "%ckey-%018zu%c1", separator, text.size, separator);
            }
            add_format(&text, "%ck%c", separator, separator);
            while (text.size < EVENT_LINE_LIMIT_BYTES + extra) {
                add(&text, "0", 1);
            }
            add_format(&text, "\nb%ck\n", separator);
            struct event_options options = options_for(kinds[k], NULL);
            struct reading reading = read_bytes(text.data, text.size, &options);
            assert_int_equal(reading.rejected, extra > 0);
            assert_int_equal(reading.events, extra > 0 ? 1 : 2);
            assert_string_equal(reading.text.data + reading.text.size - 8, "2|b|k=1\n");
            free(reading.text.data);
            free(text.data);
        }
    }
}

/* Goal:   an operation of the most changes fits, one more does not, also when a batch is nearly full. */
static void many_changes(void **state) {
    (void)state;
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    for (size_t changes = LETHE_CHANGES_LIMIT; changes <= LETHE_CHANGES_LIMIT + 1; changes++) {
        struct text text = many_lines(8000);
        for (size_t line = 0; line < 3; line++) {
            add_format(&text, "id");
            for (size_t i = 0; i < changes; i++) {
                add_format(&text, "\t%zu\t1", i);
            }
            add(&text, "\n", 1);
        }
        struct reading reading = read_bytes(text.data, text.size, &options);
        bool fits = changes == LETHE_CHANGES_LIMIT;
        assert_int_equal(reading.events, 8000 + (fits ? 3 : 0));
        assert_int_equal(reading.rejected, fits ? 0 : 3);
        free(reading.text.data);
        free(text.data);
    }
}

/* Goal:   with --on-error stop the reading ends before the line, and the place reached is there. */
static void stop_on_error(void **state) {
    (void)state;
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    options.stops_on_error = true;
    struct reading reading = read_bytes("a\tk\nb\tk\nbad\nc\tk\n", 16, &options);
    assert_string_equal(reading.text.data, "1|a|k=1\n2|b|k=1\n");
    assert_int_equal(reading.code, EXIT_BAD_DATA);
    assert_int_equal(reading.offset, 8);
    assert_non_null(strstr(reading.failure, ":3: "));
    free(reading.text.data);
}

/* Decodes a mark, writes it again, and tries it with each number of bytes missing. */
static void check_mark(const unsigned char *golden, size_t size) {
    struct resume_mark mark;
    unsigned char again[RESUME_VALUE_BYTES];
    size_t used = 0;
    assert_int_equal(resume_decode((lethe_bytes){golden, size}, &mark, &used), RESUME_FINE);
    assert_int_equal(used, size);
    assert_int_equal(mark.offset, 123456789);
    assert_int_equal(mark.line, 123456);
    assert_int_equal(resume_encode(&mark, again), size);
    assert_memory_equal(again, golden, size);
    for (size_t less = 0; less < size; less++) {
        assert_int_equal(resume_decode((lethe_bytes){golden, less}, &mark, &used), RESUME_DAMAGED);
    }
    for (size_t i = 0; i < 2; i++) {
        struct resume_table table = {0};
        memcpy(again, golden, size);
        if (i == 1) again[0] = 3;
        assert_int_equal(resume_decode((lethe_bytes){again, size}, &mark, &used),
                         i == 0 ? RESUME_FINE : RESUME_NEWER);
        assert_true(resume_load(&table, (lethe_bytes){"file-x", 6}, (lethe_bytes){again, size}));
        assert_true(resume_load(&table, (lethe_bytes){"other", 5}, (lethe_bytes){again, size}));
        assert_int_equal(table.count, 1 - i);
        assert_int_equal(table.not_understood, i);
        resume_free(&table);
    }
}

/* Goal:   the bytes of a mark stay what they are for ever. */
static void mark_format(void **state) {
    (void)state;
    static const unsigned char first[] = {
        0x01, 0x00, 0x10, 0x00, 0x10, 0x15, 0xcd, 0x5b, 0x07, 0x00, 0x00, 0x00, 0x00, 0x40,
        0xe2, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0xd4, 0x3a, 0xfb, 0x71, 0xa7, 0x63, 0x84,
        0x43, 0xb2, 0xd0, 0x1b, 0xc1, 0xf4, 0x0b, 0x05, 0x89, 0x2d, 0xf2, 0x7d, 0xb8, 0x3b,
        0xe4, 0x08, 0xca, 0x7e, 0xb4, 0x85, 0x24, 0xf3, 0x4e, 0xf7, 0x95,
    };
    static const unsigned char second[] = {
        0x02, 0x03, 0x15, 0xcd, 0x5b, 0x07, 0x00, 0x00, 0x00, 0x00, 0x40, 0xe2, 0x01, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x00, '-',  '-',  'c',  's',  'v',
    };
    check_mark(first, sizeof first);
    check_mark(second, sizeof second);
    struct resume_mark mark = {
        .offset = 123456789,
        .line = 123456,
        .head = {.low = 1, .high = 2},
        .tail = {.low = 3, .high = 4},
        .has_blocks = true,
        .flags = RESUME_UNTAKEN | RESUME_INSIDE,
        .blocks = {.low = 5, .high = 6},
        .file = {.identity = 7, .size = 8, .modified_ns = 9},
        .manner = "--csv",
    };
    unsigned char value[RESUME_VALUE_BYTES];
    assert_int_equal(resume_encode(&mark, value), sizeof second);
    assert_memory_equal(value, second, sizeof second);
}

/* Goal:   a place is described by what lies before it, however that was handed over, and going on from a mark gives what
 *         reading from the start does; what is described in one way stays so for ever. */
static void tracks(void **state) {
    (void)state;
    static struct resume_track whole, pieces, on;
    struct text text = many_lines(3000);
    uint64_t chance = 7;
    resume_track_start(&pieces);
    for (size_t at = 0, more; at < text.size; at += more) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        more = (size_t)(chance >> 33) % (chance >> 63 ? 20000 : 50) + 1;
        if (more > text.size - at) more = text.size - at;
        resume_track_feed(&pieces, text.data + at, more);
        resume_track_start(&whole);
        resume_track_feed(&whole, text.data, at + more);
        struct resume_mark a = resume_track_mark(&whole, 1), b = resume_track_mark(&pieces, 1);
        assert_memory_equal(&a, &b, sizeof a);
        assert_int_equal(resume_track_last(&pieces), text.data[at + more - 1]);
        size_t sample = a.offset < RESUME_SAMPLE_BYTES ? (size_t)a.offset : RESUME_SAMPLE_BYTES;
        resume_track_go_on(&on, &a, text.data + a.offset - sample);
        resume_track_feed(&on, text.data + a.offset, text.size - (size_t)a.offset);
        resume_track_feed(&whole, text.data + a.offset, text.size - (size_t)a.offset);
        a = resume_track_mark(&whole, 1);
        b = resume_track_mark(&on, 1);
        assert_memory_equal(&a, &b, sizeof a);
    }
    free(text.data);
    char block[10000];
    memset(block, 'x', sizeof block);
    resume_track_start(&whole);
    resume_track_feed(&whole, block, sizeof block);
    struct resume_mark mark = resume_track_mark(&whole, 0);
    assert_int_equal(mark.blocks.low, UINT64_C(0xfd52fcb7a72cd9e2));
    assert_int_equal(mark.blocks.high, UINT64_C(0x890d0866af77ac9));
}

/* One reading after another with the marks of those before. */
static struct reading reread(const struct text *text, struct resume_table *table,
                             const struct event_options *options) {
    write_file(text->data, text->size);
    return read_path(file_path, options, table);
}

/* Goal:   a file that has grown is read on; the same content under any name is recognised; what is
 *         replaced or cut is read from the start with a warning; small files and large ones, packed or not. */
static void resuming(void **state) {
    (void)state;
    static const packer packs[] = {NULL, pack_gzip, pack_zstd};
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    for (size_t round = 0; round < 6; round++) {
        size_t lines = round % 2 == 0 ? 3 : 30000;
        packer pack = packs[round / 2];
        struct resume_table table = {0};
        struct text text = many_lines(lines), longer = many_lines(lines + 5);
        struct text packed = {.data = malloc(longer.size + 1000)}, *content = &text;
        uint64_t size = text.size;
#define PACK(from)                                                                         \
    do {                                                                                   \
        content = &(from);                                                                 \
        if (pack != NULL) {                                                                \
            packed.size = pack((from).data, (from).size, packed.data, (from).size + 1000); \
            content = &packed;                                                             \
        }                                                                                  \
    } while (0)
        PACK(text);
        struct reading reading = reread(content, &table, &options);
        assert_int_equal(reading.events, lines);
        assert_int_equal(reading.resumed_at, 0);
        assert_int_equal(table.count, 1);
        free(reading.text.data);

        reading = reread(content, &table, &options); /* again */
        assert_int_equal(reading.events, 0);
        assert_int_equal(reading.resumed_at, size);
        assert_int_equal(reading.marks, 0);
        free(reading.text.data);

        PACK(longer);
        reading = reread(content, &table, &options); /* grown */
        assert_int_equal(reading.events, 5);
        assert_int_equal(reading.resumed_at, size);
        assert_int_equal(reading.line, lines + 5);
        char first[32];
        snprintf(first, sizeof first, "%zu|", lines + 1);
        assert_memory_equal(reading.text.data, first, strlen(first));
        size_t known = pack != NULL ? 2 : 1; /* a compressed file may be another, and has its own */
        assert_int_equal(table.count, known);
        assert_string_equal(reading.warning, "");
        free(reading.text.data);

        options.from_start = true;
        reading = reread(content, &table, &options);
        assert_int_equal(reading.events, lines + 5);
        assert_int_equal(table.count, known);
        free(reading.text.data);
        options.from_start = false;

        if (lines > 1000) {
            longer.data[longer.size / 2] ^= 1; /* replaced, far from both ends */
            PACK(longer);
            reading = reread(content, &table, &options);
            assert_int_equal(reading.events, lines + 5);
            assert_non_null(strstr(reading.warning, "replaced"));
            assert_int_equal(table.count, known + 1);
            free(reading.text.data);
            PACK(text); /* cut short, or the first one again */
            reading = reread(content, &table, &options);
            assert_int_equal(reading.events, pack != NULL ? 0 : lines);
            assert_int_equal(strstr(reading.warning, "cut short") != NULL, pack == NULL);
            free(reading.text.data);
        }
        resume_free(&table);
        free(text.data);
        free(longer.data);
        free(packed.data);
    }
}

/* Goal:   a header is read each time, and a line that was not whole is told of. */
static void resuming_lines(void **state) {
    (void)state;
    struct event_options options = options_for(EVENTS_CSV, "id=i,key=k");
    struct resume_table table = {0};
    struct text text = {0};
    add_format(&text, "k,i\nx,1\n");
    free(reread(&text, &table, &options).text.data);
    add_format(&text, "x,2\nx,3");
    struct reading reading = reread(&text, &table, &options);
    assert_string_equal(reading.text.data, "3|2|x=1\n4|3|x=1\n");
    free(reading.text.data);
    add_format(&text, "\r\nx,4\nx,5");
    reading = reread(&text, &table, &options);
    assert_string_equal(reading.text.data, "5|4|x=1\n6|5|x=1\n");
    free(reading.text.data);
    add_format(&text, "5\nx,6\n");
    reading = reread(&text, &table, &options);
    assert_string_equal(reading.text.data, "6!\n7|6|x=1\n");
    assert_int_equal(reading.line, 7);
    free(reading.text.data);
    free(text.data);
    resume_free(&table);
}

/* Goal:   the beginning of a last line, or of a header, in a file that may grow is left; a pipe and a compressed file are
 *         whole. Each file here grows by a byte at a time, and is read each time. */
static void pending_lines(void **state) {
    (void)state;
    static const struct {
        enum event_kind kind;
        const char *fields, *text, *expected;
    } cases[] = {
        {EVENTS_PLAIN, NULL, "a\tuser-42\t12\nb\tk\n", "1|a|user-42=12\n2|b|k=1\n"},
        {EVENTS_CSV, NULL, "a,\"k\nl\",5\r\nb,k\r\n", "1|a|k\\nl=5\n3|b|k=1\n"},
        {EVENTS_CSV, "id=i,key=k", "k,i\r\nx,\"1\"\ny,22\n", "2|1|x=1\n3|22|y=1\n"},
        {EVENTS_JSONL, NULL,
         "{\"id\":\"a\",\"key\":\"k\",\"delta\":12}\n{\"id\":2,\"key\":\"l\"}\n",
         "1|a|k=12\n2|2|l=1\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct event_options options = options_for(cases[i].kind, cases[i].fields);
        options.last_line = false;
        struct resume_table table = {0};
        struct text all = {0};
        add(&all, "", 0);
        size_t size = strlen(cases[i].text);
        for (size_t some = 1; some <= size; some++) {
            write_file(cases[i].text, some);
            struct reading reading = read_path(file_path, &options, &table);
            add(&all, reading.text.data, reading.text.size);
            assert_int_equal(reading.code, EXIT_DONE);
            assert_int_equal(reading.rejected, 0);
            assert_int_equal(reading.offset + reading.pending, some);
            free(reading.text.data);
        }
        assert_string_equal(all.data, cases[i].expected);
        free(all.data);
        resume_free(&table);
        write_file(cases[i].text, size - 1);
        struct reading pending = read_path(file_path, &options, NULL);
        assert_true(pending.pending > 0);
        free(pending.text.data);
        char packed[1000];
        size_t packed_size = pack_gzip(cases[i].text, size - 1, packed, sizeof packed);
        write_file(packed, packed_size);
        struct reading reading = read_path(file_path, &options, NULL);
        assert_int_equal(reading.pending, 0);
        assert_string_equal(reading.text.data, cases[i].expected);
        free(reading.text.data);
    }
}

/* Goal:   any number of files that begin alike, and are as long, and end alike, are told apart. */
static void alike(void **state) {
    (void)state;
    enum { FILES = 40 };
    static const packer packs[] = {NULL, pack_gzip};
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    for (size_t way = 0; way < 2; way++) {
        struct resume_table table = {0};
        for (size_t round = 0; round < 2; round++) {
            for (size_t file = 0; file < FILES; file++) {
                struct text text = many_lines(1000), packed = {.data = malloc(60000)};
                text.data[text.size / 2] = (char)('A' + file);
                struct text *content = &text;
                if (packs[way] != NULL) {
                    packed.size = packs[way](text.data, text.size, packed.data, 60000);
                    content = &packed;
                }
                unlink(file_path);
                struct reading reading = reread(content, &table, &options);
                assert_int_equal(reading.events + reading.rejected, round == 0 ? 1000 : 0);
                free(reading.text.data);
                free(packed.data);
                free(text.data);
            }
            assert_int_equal(table.count, FILES);
        }
        resume_free(&table);
    }
}

/* Goal:   what was read belongs to the format it was read with. */
static void manners(void **state) {
    (void)state;
    struct resume_table table = {0};
    struct event_options plain = options_for(EVENTS_PLAIN, NULL),
                         swapped = options_for(EVENTS_PLAIN, "id=2,key=1"),
                         same = options_for(EVENTS_PLAIN, "key=1,id=2");
    struct text text = many_lines(3);
    free(reread(&text, &table, &plain).text.data);
    struct reading reading = reread(&text, &table, &swapped);
    assert_int_equal(reading.code, EXIT_USAGE);
    assert_non_null(strstr(reading.failure, "neither --csv nor --jsonl nor --fields"));
    assert_non_null(strstr(reading.failure, "--fields id=2,key=1"));
    free(reading.text.data);
    table.entries[0].mark.flags |= RESUME_UNTAKEN;
    reading = reread(&text, &table, &plain); /* as before: it is read */
    assert_int_equal(reading.resumed_at, text.size);
    free(reading.text.data);
    reading = reread(&text, &table, &swapped); /* none was counted: all of it */
    assert_int_equal(reading.code, EXIT_DONE);
    assert_int_equal(reading.events, 3);
    assert_int_equal(table.count, 1);
    free(reading.text.data);
    reading = reread(&text, &table, &same);
    assert_int_equal(reading.resumed_at, text.size);
    free(reading.text.data);
    plain.from_start = true;
    reading = reread(&text, &table, &plain);
    assert_int_equal(reading.events, 3);
    free(reading.text.data);
    free(text.data);
    resume_free(&table);
}

/* Goal:   marks of the version before are honoured by their own rule, and become new ones. */
static void earlier_marks(void **state) {
    (void)state;
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    for (size_t lines = 3; lines < 10000; lines += 5000) {
        struct resume_table table = {0};
        struct text text = many_lines(lines), longer = many_lines(lines + 2);
        free(reread(&text, &table, &options).text.data);
        struct resume_mark mark = table.entries[0].mark;
        table.entries[0].mark = (struct resume_mark){
            .offset = mark.offset, .line = mark.line, .head = mark.head, .tail = mark.tail};
        struct reading reading = reread(&longer, &table, &options);
        assert_int_equal(reading.events, 2);
        assert_int_equal(reading.resumed_at, text.size);
        assert_true(table.entries[0].mark.has_blocks);
        free(reading.text.data);
        reading = reread(&longer, &table, &options);
        assert_int_equal(reading.events, 0);
        free(reading.text.data);
        free(text.data);
        free(longer.data);
        resume_free(&table);
    }
}

/* Goal:   the thread delivers what the gatherer makes, in order, and can be stopped in the middle. */
static void in_a_thread(void **state) {
    (void)state;
    struct text text = many_lines(100000);
    write_file(text.data, text.size);
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    struct inputs inputs;
    char *const paths[] = {file_path};
    assert_int_equal(inputs_look(paths, 1, &inputs), EXIT_DONE);
    for (size_t most = 3; most < 1000; most += 900) {
        struct resume_table table = {0};
        struct event_reader *reader;
        assert_int_equal(events_open(&inputs, &options, &table, &reader), EXIT_DONE);
        const struct event_batch *batch;
        uint64_t line = 0;
        for (size_t i = 0; i < most && (batch = events_next(reader)) != NULL; i++) {
            for (size_t j = 0; j < batch->count; j++) {
                assert_int_equal(batch->line_numbers[j], ++line);
            }
            events_release(reader);
        }
        assert_true(most == 3 || line == 100000);
        if (most > 3) assert_int_equal(events_end(reader), EXIT_DONE);
        events_free(reader);
        resume_free(&table);
    }
    free(text.data);
}

int main(void) {
    if (mkdtemp(folder) == NULL) return 1;
    snprintf(file_path, sizeof file_path, "%s/file", folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_lines),   cmocka_unit_test(plain_escapes),
        cmocka_unit_test(csv_records),   cmocka_unit_test(json_lines),
        cmocka_unit_test(columns),       cmocka_unit_test(wrong_fields),
        cmocka_unit_test(integers),      cmocka_unit_test(times),
        cmocka_unit_test(any_split),     cmocka_unit_test(compressed),
        cmocka_unit_test(long_lines),    cmocka_unit_test(many_changes),
        cmocka_unit_test(stop_on_error), cmocka_unit_test(mark_format),
        cmocka_unit_test(resuming),      cmocka_unit_test(resuming_lines),
        cmocka_unit_test(in_a_thread),   cmocka_unit_test(tracks),
        cmocka_unit_test(pending_lines), cmocka_unit_test(alike),
        cmocka_unit_test(manners),       cmocka_unit_test(earlier_marks),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(file_path);
    rmdir(folder);
    return failed;
}

/* Goal:   events are the same however their bytes arrive: in pieces, compressed, in long lines,
 *         from another thread; and reading ends where it should.
 * Method: as test_events.c: what is read becomes a text (reading.h), which is compared. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "frame/exit_code.h"
#include "reading.h"

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
    static const char open[] = "\"a\",k\nx\"\"y,k\n\"b\r\n\",\"\"\"c,k\n";
    check_splits(EVENTS_CSV, open, sizeof open - 1);
    check_splits(EVENTS_JSONL, json, sizeof json - 1);
}

/* Goal:   compressed files read like plain ones; what is cut short or damaged is reported with
 *         its offset, and no half line is counted. */
static void compressed(void **state) {
    (void)state;
    static const packer packs[] = {pack_gzip, pack_zstd, pack_bzip2, pack_xz};
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    struct text text = many_lines(20000);
    struct reading plain = read_bytes(text.data, text.size, &options);
    size_t room = text.size + 1000;
    char *packed = malloc(room);
    for (size_t i = 0; i < sizeof packs / sizeof packs[0]; i++) {
        size_t size = pack_twice(packs[i], &text, packed, room);
        struct reading reading = read_bytes(packed, size, &options);
        assert_int_equal(reading.code, EXIT_DONE);
        assert_string_equal(reading.text.data, plain.text.data);
        free(reading.text.data);
        for (size_t cut = 10; cut < size; cut += size / 37) {
            reading = read_bytes(packed, cut, &options);
            size_t length = reading.text.size;
            assert_memory_equal(reading.text.data, plain.text.data, length);
            assert_true(reading.code == EXIT_BAD_DATA);
            assert_non_null(strstr(reading.failure, "cut short at byte"));
            assert_int_equal(reading.unreadable, 0);
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

/* Goal:   a line of 1 MiB is read, a longer one is unreadable, and the next one is read again. */
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
            assert_int_equal(reading.unreadable, extra > 0);
            assert_int_equal(reading.events, extra > 0 ? 1 : 2);
            assert_string_equal(reading.text.data + reading.text.size - 8, "2|b|k=1\n");
            free(reading.text.data);
            free(text.data);
        }
    }
}

/* Goal:   an operation of the most changes fits, one more does not, also when a batch is nearly
 * full. */
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
        assert_int_equal(reading.unreadable, fits ? 0 : 3);
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

/* Goal:   the thread delivers what the gatherer makes, in order, and can be stopped in the
 * middle. */
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
        assert_int_equal(events_open(&inputs, &options, &reader), EXIT_DONE);
        assert_int_equal(events_survey(reader, &table, 0), EXIT_DONE);
        assert_int_equal(events_start(reader), EXIT_DONE);
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

/* What a batch is prepared as: the sum of its line numbers, and how many rooms there are. */
struct sums {
    size_t made, dropped, fails_at;
};

static struct sums sums;

static void *make_sum(void *context) {
    assert_ptr_equal(context, &sums);
    return sums.made == sums.fails_at ? NULL : (sums.made++, calloc(1, sizeof(uint64_t)));
}

static void prepare_sum(void *context, const struct event_batch *batch, void *room) {
    uint64_t *sum = room;
    (void)context;
    *sum = 0;
    for (size_t i = 0; i < batch->count; i++)
        *sum += batch->line_numbers[i];
}

static void drop_sum(void *room) {
    sums.dropped += room != NULL;
    free(room);
}

/* Goal:   each batch comes with what the reading thread made of it, and all rooms are dropped, also
 *         where memory for one is missing. */
static void prepared_in_the_thread(void **state) {
    (void)state;
    static const struct event_preparer preparer = {
        .make = make_sum, .prepare = prepare_sum, .drop = drop_sum, .context = &sums};
    struct text text = many_lines(50000);
    write_file(text.data, text.size);
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    struct inputs inputs;
    char *const paths[] = {file_path};
    assert_int_equal(inputs_look(paths, 1, &inputs), EXIT_DONE);
    for (size_t fails_at = 0; fails_at < 9; fails_at += 2) {
        struct resume_table table = {0};
        struct event_reader *reader;
        sums = (struct sums){.fails_at = fails_at};
        assert_int_equal(events_open(&inputs, &options, &reader), EXIT_DONE);
        assert_int_equal(events_survey(reader, &table, 0), EXIT_DONE);
        if (events_prepare(reader, &preparer) == EXIT_DONE) {
            assert_int_equal(events_start(reader), EXIT_DONE);
            const struct event_batch *batch;
            size_t events = 0;
            while ((batch = events_next(reader)) != NULL) {
                uint64_t sum;
                prepare_sum(NULL, batch, &sum);
                assert_int_equal(*(const uint64_t *)batch->prepared, sum);
                events += batch->count;
                events_release(reader);
            }
            assert_int_equal(events, 50000);
        } else {
            assert_int_equal(sums.made, fails_at);
        }
        events_free(reader);
        assert_int_equal(sums.dropped, sums.made);
        resume_free(&table);
    }
    free(text.data);
}

int main(void) {
    if (!make_file_path()) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_split),
        cmocka_unit_test(compressed),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(many_changes),
        cmocka_unit_test(stop_on_error),
        cmocka_unit_test(in_a_thread),
        cmocka_unit_test(prepared_in_the_thread),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_file_path();
    return failed;
}

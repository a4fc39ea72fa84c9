/* Goal:   files that are followed give each of their lines once, whatever is done to them.
 * Method: a reader follows files in its thread. The test writes to them in pieces, rotates, deletes
 *         and cuts them, and waits for the lines that must come (reading.h). Lines are numbered. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame/clock.h"
#include "frame/exit_code.h"
#include "reading.h"
#include "support/random.h"

enum { LINES = 20000, PATIENCE_MS = 60000, FILES = 2 };

static char folder[64];

/* What is followed, and what has come of it. */
struct following {
    char paths[FILES][96];
    char *operands[FILES];
    struct inputs inputs;
    struct event_options options;
    struct resume_table table;
    struct event_reader *reader;

    unsigned char seen[LINES];
    size_t lines, unreadable, starts;
    uint64_t resumed_at;
    /* Of the last batch that started a file, and of the last lines. */
    const char *started, *read;
    char warning[320], note[320];
};

static struct following *follow(size_t files, struct event_options options) {
    struct following *following = calloc(1, sizeof *following);
    assert_non_null(following);
    following->options = options;
    following->options.follows = true;
    following->options.last_line = false;
    for (size_t i = 0; i < files; i++) {
        snprintf(following->paths[i], sizeof following->paths[i], "%s/log%s", folder,
                 i + 1 < files ? ".1" : "");
        following->operands[i] = following->paths[i];
    }
    assert_int_equal(inputs_look_followed(following->operands, files, &following->inputs),
                     EXIT_DONE);
    assert_int_equal(events_open(&following->inputs, &following->options, &following->reader),
                     EXIT_DONE);
    return following;
}

static void start(struct following *following) {
    assert_int_equal(events_survey(following->reader, &following->table, 0), EXIT_DONE);
    assert_int_equal(events_start(following->reader), EXIT_DONE);
}

static void end(struct following *following) {
    events_free(following->reader);
    resume_free(&following->table);
    free(following);
    char command[128];
    snprintf(command, sizeof command, "rm -f %s/*", folder);
    assert_int_equal(system(command), 0);
}

static void hear(struct following *following, const struct event_batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        const char *id = batch->operations[i].id.data;
        size_t number = strtoul(id + 1, NULL, 10);
        assert_true(id[0] == 'i' && number < LINES);
        if (following->seen[number]++ != 0) fail_msg("line %zu came twice", number);
        following->read = batch->shares[0].path;
    }
    following->lines += batch->count;
    following->unreadable += batch->unreadable;
    if (batch->shares[0].starts_input) {
        following->starts++;
        following->started = batch->shares[0].path;
        following->resumed_at = batch->shares[0].resumed_at;
    }
    if (batch->shares[0].warning[0] != '\0') {
        memcpy(following->warning, batch->shares[0].warning, sizeof following->warning);
    }
    if (batch->shares[0].note[0] != '\0')
        memcpy(following->note, batch->shares[0].note, sizeof following->note);
}

/* Takes what comes until there are so many lines and files. */
static void take(struct following *following, size_t lines, size_t starts) {
    uint64_t began_ms = clock_ms();
    while (following->lines < lines || following->starts < starts) {
        if (!events_await(following->reader, 200)) {
            if (clock_ms() - began_ms > PATIENCE_MS) {
                fail_msg("%zu of %zu lines, %zu of %zu files came", following->lines, lines,
                         following->starts, starts);
            }
            continue;
        }
        const struct event_batch *batch = events_next(following->reader);
        if (batch == NULL) fail_msg("it ended: %d", events_end(following->reader));
        hear(following, batch);
        events_release(following->reader);
    }
    assert_int_equal(following->lines, lines);
}

static int open_log(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    return file;
}

static void put(int file, const char *text) {
    size_t size = strlen(text);
    assert_int_equal(write(file, text, size), (ssize_t)size);
}

/* A program that writes a log, in pieces. */
struct writer {
    int file;
    /* The line that it is writing, and how much of it is written. */
    char line[64];
    size_t written;
};

static size_t next_number;

/* Writes some bytes, or all that is left of the line. */
static void write_piece(struct writer *writer, size_t bytes) {
    if (writer->line[writer->written] == '\0') {
        snprintf(writer->line, sizeof writer->line, "i%zu\tk\t1\n", next_number++);
        writer->written = 0;
    }
    size_t left = strlen(writer->line + writer->written), size = bytes < left ? bytes : left;
    assert_int_equal(write(writer->file, writer->line + writer->written, size), (ssize_t)size);
    writer->written += size;
}

static void end_line(struct writer *writer) {
    if (writer->line[writer->written] != '\0') write_piece(writer, sizeof writer->line);
}

/* The log gets another name, or none; the writer goes on for a while before it notices. */
static void rotate(struct writer *writer, struct test_random *random, const char *path,
                   bool is_deleted) {
    static size_t rotations;
    char old[160];
    snprintf(old, sizeof old, "%s.old%zu", path, rotations++);
    assert_int_equal(is_deleted ? unlink(path) : rename(path, old), 0);
    int next = -1;
    if (!is_deleted) next = open_log(path);
    for (uint64_t i = test_random_below(random, 6); i > 0; i--) {
        write_piece(writer, sizeof writer->line);
    }
    end_line(writer);
    close(writer->file);
    writer->file = next >= 0 ? next : open_log(path);
}

/* Goal:   pieces, rotation by renaming, deletion and cutting lose no line and repeat none. */
static void any_history(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct test_random random = {seed};
        struct following *following = follow(1, options_for(EVENTS_PLAIN, NULL));
        const char *path = following->paths[0];
        struct writer writer = {.file = -1};
        start(following);
        next_number = 0;
        for (size_t step = 0; step < 300; step++) {
            if (writer.file < 0) writer.file = open_log(path);
            uint64_t kind = test_random_below(&random, 40);
            if (kind > 2) {
                for (uint64_t i = test_random_below(&random, 4); i > 0; i--) {
                    write_piece(&writer, 1 + test_random_below(&random, 30));
                }
                continue;
            }
            end_line(&writer);
            take(following, next_number, 0);
            if (kind == 2) {
                assert_int_equal(ftruncate(writer.file, 0), 0);
            } else if (following->lines > 0 && lseek(writer.file, 0, SEEK_END) > 0) {
                rotate(&writer, &random, path, kind == 1);
            }
        }
        end_line(&writer);
        take(following, next_number, 0);
        assert_int_equal(following->unreadable, 0);
        close(writer.file);
        end(following);
    }
}

/* Goal:   what is there at the beginning comes in the order of the files, and from their marks. */
static void begins_at_marks(void **state) {
    (void)state;
    struct following *following = follow(2, options_for(EVENTS_PLAIN, NULL));
    int first = open_log(following->paths[0]), second = open_log(following->paths[1]);
    put(first, "i0\tk\ni1\tk\n");
    put(second, "i2\tk\ni3");
    start(following);
    take(following, 3, 2);
    assert_string_equal(following->read, following->paths[1]);
    struct resume_table table = following->table;
    following->table = (struct resume_table){0};
    events_free(following->reader);

    following->table = table;
    assert_int_equal(events_open(&following->inputs, &following->options, &following->reader),
                     EXIT_DONE);
    put(second, "\tk\n");
    start(following);
    take(following, 4, 4);
    close(first);
    close(second);
    end(following);
}

/* Goal:   a file that is rotated into the place of another one that is followed is read by one of
 *         them at a time: first on under its old name, while it is written to, and then under the
 *         new one, from where it was. */
static void handed_over(void **state) {
    (void)state;
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    options.linger_ms = 300;
    options.from_start = true; /* of what is there at the beginning only */
    struct following *following = follow(2, options);
    const char *old = following->paths[0], *path = following->paths[1];
    int file = open_log(path);
    put(file, "i0\tk\ni1\tk\n");
    start(following);
    take(following, 2, 1);
    assert_non_null(strstr(following->warning, "waiting for it"));
    assert_int_equal(rename(path, old), 0);
    int next = open_log(path);
    put(next, "i2\tk\n");
    put(file, "i3\tk\n");
    take(following, 4, 2);
    assert_non_null(strstr(following->note, "rotated"));
    take(following, 4, 3);
    assert_string_equal(following->started, old);
    assert_int_equal(following->resumed_at, 15);
    put(file, "i4\tk\n");
    take(following, 5, 3);
    assert_string_equal(following->read, old);
    put(next, "i5\tk\n");
    take(following, 6, 3);
    close(file);
    close(next);
    end(following);
}

/* Goal:   a file that is written anew, and is longer than before when that is noticed, is read from
 *         its start. Method: the reader waits for a batch to be released meanwhile. */
static void written_anew(void **state) {
    (void)state;
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    options.batch_limit = 1;
    struct following *following = follow(1, options);
    int file = open_log(following->paths[0]);
    for (size_t i = 0; i < 20; i++) {
        char line[32];
        snprintf(line, sizeof line, "i%zu\tk\n", i);
        put(file, line);
    }
    start(following);
    while (events_ahead(following->reader, 3, true) == NULL) {
    }
    assert_int_equal(ftruncate(file, 0), 0);
    for (size_t i = 20; i < 100; i++) {
        char line[48];
        snprintf(line, sizeof line, "i%zu\tanother key\t7\n", i);
        put(file, line);
    }
    take(following, 100, 2);
    assert_non_null(strstr(following->warning, "written anew"));
    assert_int_equal(following->unreadable, 0);
    close(file);
    end(following);
}

/* Goal:   a header, a byte order mark and a quoted field may come in pieces, and a blank line is a
 *         mistake only if something follows it. */
static void pieces_of_records(void **state) {
    (void)state;
    static const char text[] =
        "\xef\xbb\xbfkey,id,delta\n\"a\nb\",i0,1\n\"c \"\"d\"\"\",i1,2\r\n\n";
    struct following *following = follow(1, options_for(EVENTS_CSV, "id=id,key=key,delta=delta"));
    int file = open_log(following->paths[0]);
    start(following);
    for (size_t i = 0; text[i] != '\0'; i++) {
        char piece[] = {text[i], '\0'};
        put(file, piece);
        usleep(2000);
    }
    take(following, 2, 1);
    assert_int_equal(following->unreadable, 0);
    usleep(100000); /* mostly the blank line is met by now, at the end of the file */
    put(file, "e,i2,1\n");
    take(following, 3, 1);
    assert_int_equal(following->unreadable, 1);
    close(file);
    end(following);
}

int main(void) {
    snprintf(folder, sizeof folder, "/tmp/lethe-follow-XXXXXX");
    if (mkdtemp(folder) == NULL) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_history),       cmocka_unit_test(begins_at_marks),
        cmocka_unit_test(handed_over),       cmocka_unit_test(written_anew),
        cmocka_unit_test(pieces_of_records),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}

/* Goal:   files that are merged by time give their events in the order of a merge of all of them,
 *         each once, with its own line and file; each file's mark goes on after its last event, so
 *         that a reading which is broken off and resumed gives the same; and no more than 64 files
 *         are open at once.
 * Method: random files, some of them compressed, with lines that are wrong and times that go back,
 *         are merged in batches of any size, broken off now and then, and compared with a model
 *         that has all events in memory. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "events/merge.h"
#include "frame/exit_code.h"
#include "reading.h"

enum { FILES_MOST = 200, LINES_MOST = 60 };

/* A line of a file: its number and time, or that it is wrong. */
struct line {
    uint64_t time_ms;
    bool is_wrong;
};
struct file {
    struct line lines[LINES_MOST];
    size_t count;
    char path[64];
};

static struct file files[FILES_MOST];
static char *paths[FILES_MOST];
static char folder[] = "/tmp/lethe-test-merge-XXXXXX";
static uint64_t random_state;
/* Files are JSON, which has no header, and whose lines may be simple (events/simple.h). */
static bool is_json;

/* The number of a file's first event. */
static size_t first_line(void) {
    return is_json ? 1 : 2;
}

static struct event_options merge_options(void) {
    return options_for(is_json ? EVENTS_JSONL : EVENTS_PLAIN, "id=id,key=key,time=time");
}

static size_t below(size_t limit) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(random_state >> 33) % limit;
}

/* Writes a file of the lines; a last line of it may be pending. */
static void write_lines(size_t number, bool is_packed, bool has_pending) {
    struct file *file = &files[number];
    struct text text = {0};
    static char packed[1 << 16];
    add_format(&text, "%s", is_json ? "" : "id\tkey\ttime\n");
    for (size_t i = 0; i < file->count; i++) {
        if (file->lines[i].is_wrong) {
            add_format(&text, "wrong in %zu\n", number); /* no two files begin alike */
        } else {
            add_format(&text,
                       is_json ? "{\"id\":\"%zu-%zu\",\"key\":\"k\",\"time\":%" PRIu64 "}\n"
                               : "%zu-%zu\tk\t%" PRIu64 "\n",
                       number, i + first_line(), file->lines[i].time_ms);
        }
    }
    if (has_pending && !is_packed) add_format(&text, "pending\tk");
    size_t size = is_packed ? pack_gzip(text.data, text.size, packed, sizeof packed) : text.size;
    snprintf(file->path, sizeof file->path, "%s/%zu", folder, number);
    paths[number] = file->path;
    FILE *out = fopen(file->path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(is_packed ? packed : text.data, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
    free(text.data);
}

/* Files that begin at some time and go on from there. */
static void make_files(size_t count, uint64_t spread_ms, uint64_t step_ms) {
    for (size_t i = 0; i < count; i++) {
        uint64_t time_ms = 1000000 + below(spread_ms);
        files[i].count = below(8) == 0 ? below(3) : below(LINES_MOST);
        for (size_t j = 0; j < files[i].count; j++) {
            time_ms += below(step_ms);
            uint64_t back_ms = below(10) == 0 ? below(500) : 0;
            files[i].lines[j] = (struct line){time_ms - back_ms, below(12) == 0};
        }
        write_lines(i, below(4) == 0, below(6) == 0);
    }
}

/* What came out, as "file-line" numbers in turn. */
struct order {
    size_t files[FILES_MOST * LINES_MOST], lines[FILES_MOST * LINES_MOST];
    size_t count, wrong;
};
static struct order expected, found;

/* All files at once, by the least (time, file). */
static void merge_by_model(size_t count) {
    static size_t at[FILES_MOST];
    memset(at, 0, sizeof at);
    expected.count = expected.wrong = 0;
    for (;;) {
        size_t least = count;
        for (size_t i = 0; i < count; i++) {
            for (; at[i] < files[i].count && files[i].lines[at[i]].is_wrong; at[i]++) {
                expected.wrong++;
            }
            if (at[i] == files[i].count) continue;
            if (least == count ||
                files[i].lines[at[i]].time_ms < files[least].lines[at[least]].time_ms) {
                least = i;
            }
        }
        if (least == count) return;
        expected.files[expected.count] = least;
        expected.lines[expected.count++] = first_line() + at[least]++;
    }
}

static size_t open_descriptors(void) {
    DIR *all = opendir("/proc/self/fd");
    assert_non_null(all);
    size_t count = 0;
    while (readdir(all) != NULL)
        count++;
    closedir(all);
    return count;
}

static void take_marks(const struct event_batch *batch, struct resume_table *table) {
    for (size_t i = 0; i < batch->share_count; i++) {
        const struct event_share *share = &batch->shares[i];
        assert_string_equal(share->path, paths[share->input]);
        if (!share->has_mark) continue;
        for (size_t j = 0; j < i; j++) {
            assert_true(!batch->shares[j].has_mark ||
                        strcmp(batch->shares[j].mark_name, share->mark_name) != 0);
        }
        unsigned char value[RESUME_VALUE_BYTES];
        size_t size = resume_encode(&share->mark, value);
        struct resume_mark mark;
        size_t used;
        assert_int_equal(resume_decode((lethe_bytes){value, size}, &mark, &used), RESUME_FINE);
        assert_true(resume_put(table, share->mark_name, &mark));
    }
}

static void take_events(const struct event_batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        size_t input = event_share_of(batch, i)->input;
        char name[32];
        snprintf(name, sizeof name, "%zu-%" PRIu64, input, batch->line_numbers[i]);
        lethe_bytes id = batch->operations[i].id;
        assert_int_equal(id.size, strlen(name));
        assert_memory_equal(id.data, name, id.size);
        found.files[found.count] = input;
        found.lines[found.count++] = (size_t)batch->line_numbers[i];
    }
    for (size_t i = 0; i < batch->complaint_count; i++) {
        const struct event_complaint *complaint = &batch->complaints[i];
        const struct file *file = &files[batch->shares[complaint->share].input];
        assert_true(file->lines[complaint->line - first_line()].is_wrong);
    }
    found.wrong += batch->unreadable;
}

/* Reads on where the marks say, for at most so many batches; returns whether there may be more.
 * What is in a batch that is not taken is read again. */
struct numbers {
    size_t crowd, descriptors, pending;
};
static bool read_some(size_t count, size_t batch_limit, size_t most, struct resume_table *marks,
                      struct numbers *numbers) {
    struct event_options options = merge_options();
    options.last_line = false;
    options.merges = true;
    options.batch_limit = batch_limit;
    struct inputs inputs;
    assert_int_equal(inputs_look(paths, count, &inputs), EXIT_DONE);
    struct event_merge *merge = event_merge_new(&inputs, &options, NULL);
    /* The reader adds marks of what it reads to its table before that is counted. */
    struct resume_table table = {0};
    for (size_t i = 0; i < marks->count; i++) {
        assert_true(resume_put(&table, marks->entries[i].name, &marks->entries[i].mark));
    }
    struct event_batch batch;
    assert_true(merge != NULL && event_batch_init(&batch));
    size_t before = open_descriptors();
    assert_true(event_merge_survey(merge, &table, 0));
    assert_int_equal(open_descriptors(), before);
    bool has_more = true;
    for (size_t i = 0; i < most && has_more; i++) {
        has_more = event_merge_gather(merge, &batch);
        if (!has_more) break;
        size_t now = open_descriptors() - before;
        if (now > numbers->descriptors) numbers->descriptors = now;
        numbers->crowd += batch.crowd;
        for (size_t j = 0; j < batch.share_count; j++) {
            numbers->pending += batch.shares[j].pending_bytes > 0;
        }
        take_events(&batch);
        take_marks(&batch, marks);
    }
    if (!has_more) assert_int_equal(open_descriptors(), before);
    assert_int_equal(event_merge_failure(merge)->code, EXIT_DONE);
    event_batch_free(&batch);
    event_merge_free(merge);
    resume_free(&table);
    return has_more;
}

static void compare_orders(void) {
    assert_int_equal(found.count, expected.count);
    assert_int_equal(found.wrong, expected.wrong);
    for (size_t i = 0; i < found.count; i++) {
        if (found.files[i] == expected.files[i] && found.lines[i] == expected.lines[i]) continue;
        fail_msg("event %zu is line %zu of file %zu, and should be line %zu of file %zu", i,
                 found.lines[i], found.files[i], expected.lines[i], expected.files[i]);
    }
}

static void as_the_model_says(void **state) {
    (void)state;
    static const uint64_t spreads[] = {1, 1000, 100000};
    for (size_t trial = 0; trial < 60; trial++) {
        random_state = trial;
        is_json = trial % 2 == 1;
        size_t count = 1 + below(trial % 3 == 0 ? EVENT_FILES_OPEN : 6);
        make_files(count, spreads[below(3)], 1 + below(50));
        merge_by_model(count);
        found.count = found.wrong = 0;
        struct resume_table marks = {0};
        struct numbers numbers = {0};
        size_t limit = below(3) == 0 ? 0 : 1 + below(40);
        bool breaks = below(2) == 0;
        while (read_some(count, limit, breaks ? 1 + below(5) : SIZE_MAX, &marks, &numbers)) {
        }
        compare_orders();
        assert_int_equal(numbers.crowd, 0);
        /* All is read: each mark is at the end of its file. */
        size_t all = found.count;
        assert_false(read_some(count, limit, SIZE_MAX, &marks, &numbers));
        assert_int_equal(found.count, all);
        resume_free(&marks);
    }
    is_json = false;
}

/* Files that follow each other are open one at a time, however many there are. */
static void one_after_the_other(void **state) {
    (void)state;
    enum { COUNT = FILES_MOST };
    random_state = 1;
    for (size_t i = 0; i < COUNT; i++) {
        files[i].count = 20;
        for (size_t j = 0; j < 20; j++) { /* the last is named first */
            files[i].lines[j] = (struct line){.time_ms = (COUNT - i) * 1000 + j};
        }
        write_lines(i, i % 5 == 0, false);
    }
    merge_by_model(COUNT);
    found.count = found.wrong = 0;
    struct resume_table marks = {0};
    struct numbers numbers = {0};
    while (read_some(COUNT, 0, SIZE_MAX, &marks, &numbers)) {
    }
    compare_orders();
    assert_int_equal(numbers.crowd, 0);
    assert_true(numbers.descriptors <= 1);
    resume_free(&marks);
}

/* More files overlap than are open at once: each event comes once, in the order of its file, those
 * of the files that begin first are in order, and it is said that others wait. */
static void too_many_at_once(void **state) {
    (void)state;
    enum { COUNT = FILES_MOST };
    random_state = 2;
    static size_t last[COUNT];
    memset(last, 0, sizeof last);
    for (size_t i = 0; i < COUNT; i++) {
        files[i].count = 30;
        for (size_t j = 0; j < 30; j++) {
            files[i].lines[j] = (struct line){.time_ms = 1000 + (COUNT - i) + 1000 * j};
        }
        write_lines(i, i % 7 == 0, false);
    }
    found.count = found.wrong = 0;
    struct resume_table marks = {0};
    struct numbers numbers = {0};
    while (read_some(COUNT, 7, SIZE_MAX, &marks, &numbers)) {
    }
    assert_int_equal(found.count, COUNT * 30);
    assert_int_equal(numbers.descriptors, EVENT_FILES_OPEN);
    assert_int_equal(numbers.crowd, COUNT - EVENT_FILES_OPEN);
    for (size_t i = 0; i < found.count; i++) {
        size_t file = found.files[i];
        assert_true(found.lines[i] > last[file]);
        last[file] = found.lines[i];
    }
    for (size_t i = 0; i < (size_t)EVENT_FILES_OPEN * 29; i++) { /* then they end */
        assert_int_equal(found.files[i], COUNT - 1 - i % EVENT_FILES_OPEN);
    }
    resume_free(&marks);
}

/* With --on-error stop a wrong line ends the reading when its turn comes, and not before the lines
 * before it are taken. */
static void stops_at_a_wrong_line(void **state) {
    (void)state;
    files[0].count = files[1].count = 5;
    for (size_t i = 0; i < 5; i++) {
        files[0].lines[i] = (struct line){.time_ms = 1000 + 10 * i};
        files[1].lines[i] = (struct line){.time_ms = 1005 + 10 * i, .is_wrong = i == 3};
    }
    write_lines(0, false, false);
    write_lines(1, false, false);
    struct event_options options = options_for(EVENTS_PLAIN, "id=id,key=key,time=time");
    options.merges = options.stops_on_error = true;
    struct inputs inputs;
    assert_int_equal(inputs_look(paths, 2, &inputs), EXIT_DONE);
    struct resume_table table = {0};
    struct event_merge *merge = event_merge_new(&inputs, &options, NULL);
    struct event_batch batch;
    assert_true(merge != NULL && event_batch_init(&batch));
    assert_true(event_merge_survey(merge, &table, 0));
    found.count = found.wrong = 0;
    while (event_merge_gather(merge, &batch)) {
        take_events(&batch);
    }
    assert_int_equal(found.count, 6); /* three of each */
    assert_int_equal(event_merge_failure(merge)->code, EXIT_BAD_DATA);
    assert_non_null(strstr(event_merge_failure(merge)->text, "/1:5: "));
    event_batch_free(&batch);
    event_merge_free(merge);
    resume_free(&table);
}

static int remove_all(void **state) {
    (void)state;
    for (size_t i = 0; i < FILES_MOST; i++) {
        if (paths[i] != NULL) unlink(paths[i]);
    }
    rmdir(folder);
    return 0;
}

int main(void) {
    if (mkdtemp(folder) == NULL) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_model_says),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(too_many_at_once),
        cmocka_unit_test(stops_at_a_wrong_line),
    };
    return cmocka_run_group_tests(tests, NULL, remove_all);
}

/* Goal:   lines that are taken many at a time become what they become one by one, and lines that
 *         are not simple are left.
 * Method: random texts of lines: simple ones, and some with whatever makes a line not simple. Each
 *         way to take them is compared with event_parse, line by line, from any place and with any
 *         room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* After those. */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events/parse.h"
#include "events/simple.h"
#include "support/random.h"

enum { TEXT = 60000, LONGEST = 5000 };

static char text[TEXT + LONGEST];
static size_t text_size;

static void append(const char *bytes, size_t size) {
    memcpy(text + text_size, bytes, size);
    text_size += size;
}

static void append_text(const char *bytes) {
    append(bytes, strlen(bytes));
}

/* A field of ordinary length, or of one that is just allowed, or just not. */
static void append_field(struct test_random *random, char first) {
    char field[LETHE_ID_LIMIT_BYTES + 2];
    size_t size = 1 + test_random_below(random, 40);
    uint64_t kind = test_random_below(random, 400);
    if (kind == 0) size = LETHE_ID_LIMIT_BYTES;
    if (kind == 1) size = LETHE_ID_LIMIT_BYTES + 1;
    if (kind == 2) size = 0;
    memset(field, first, size);
    for (size_t i = 0; i < size && i < 8; i++)
        field[i] = (char)(' ' + 15 + test_random_below(random, 200));
    for (size_t i = 0; i < size; i++) {
        if (strchr("\t\n\\\",\r", field[i]) != NULL) field[i] = 'x';
    }
    append(field, size);
}

static const char *const deltas[] = {"1",
                                     "-1",
                                     "0",
                                     "-0",
                                     "12",
                                     "999999999999999999",
                                     "-999999999999999999",
                                     "9223372036854775807",
                                     "-9223372036854775808",
                                     "9223372036854775808",
                                     "+5",
                                     "1.0",
                                     "x",
                                     "",
                                     "-",
                                     "1e3",
                                     "007",
                                     " 1",
                                     "1 ",
                                     "1\r",
                                     "\r"};
enum { DELTAS = sizeof deltas / sizeof deltas[0], USUAL = 5 };

static void append_line(struct test_random *random, char delimiter, unsigned others) {
    char between[2] = {delimiter, '\0'};
    bool is_other = test_random_below(random, 100) < others;
    uint64_t kind = is_other ? test_random_below(random, 8) : 100;
    if (kind == 0) append_text("\xef\xbb\xbf");
    if (kind != 1) append_field(random, 'i');
    if (kind == 2) append_text(delimiter == '\t' ? "\\t" : "\"");
    if (kind != 3) append_text(between);
    append_field(random, 'k');
    if (kind == 4) append_text("\r");
    if (test_random_below(random, 4) != 0 && kind != 4) {
        append_text(between);
        append_text(deltas[test_random_below(random, is_other ? DELTAS : USUAL)]);
    }
    for (unsigned i = 0; kind == 5 && i < 2; i++) {
        append_text(between);
        append_text("7");
    }
    if (kind == 6) append_text("\n");
    append_text("\n");
}

static void draw(struct test_random *random, char delimiter, unsigned others) {
    text_size = 0;
    size_t size = 1 + test_random_below(random, test_random_below(random, 2) == 0 ? 300 : TEXT);
    while (text_size < size)
        append_line(random, delimiter, others);
    if (test_random_below(random, 2) == 0) append_text("half a line");
}

static void compare_operations(const struct event_batch *one, const struct event_batch *other) {
    assert_int_equal(one->count, other->count);
    assert_int_equal(one->change_count, other->change_count);
    for (size_t i = 0; i < one->count; i++) {
        const lethe_operation *a = &one->operations[i], *b = &other->operations[i];
        assert_int_equal(a->id.size, b->id.size);
        assert_memory_equal(a->id.data, b->id.data, a->id.size);
        assert_int_equal(a->change_count, b->change_count);
        assert_int_equal(a->changes->key.size, b->changes->key.size);
        assert_memory_equal(a->changes->key.data, b->changes->key.data, a->changes->key.size);
        assert_int_equal(a->changes->delta, b->changes->delta);
        assert_int_equal(a->time_ms, b->time_ms);
        assert_int_equal(a->flags, b->flags);
        assert_int_equal(one->line_numbers[i], other->line_numbers[i]);
        assert_int_equal(one->lines[i].size, other->lines[i].size);
        assert_memory_equal(one->lines[i].data, other->lines[i].data, one->lines[i].size);
    }
}

/* What the lines of the text that were taken are, one by one. */
static void parse_one_by_one(const struct event_format *format, size_t taken, uint64_t line,
                             struct event_batch *batch) {
    for (size_t at = 0; at < taken; line++) {
        const char *end = memchr(text + at, '\n', taken - at);
        assert_non_null(end); /* only whole lines are taken */
        size_t size = (size_t)(end - text) - at;
        lethe_bytes record = {.data = text + at, .size = size};
        if (size > 0 && end[-1] == '\r') record.size--;
        struct event_problem problem;
        assert_true(event_batch_has_room(batch, size));
        assert_int_equal(event_parse(format, record, line, batch, &problem), EVENT_TAKEN);
        at += size + 1;
    }
}

/* Whether the line at a place is one that must be taken: of a few ordinary bytes. */
static bool is_ordinary(size_t at, char delimiter) {
    const char *end = memchr(text + at, '\n', text_size - at);
    if (end == NULL || end - (text + at) > 200 || text[at] == '\xef') return false;
    size_t size = (size_t)(end - text) - at;
    const char *first = memchr(text + at, delimiter, size);
    if (first == NULL || first == text + at) return false;
    const char *second = memchr(first + 1, delimiter, (size_t)(end - first) - 1);
    if (second == NULL || second == first + 1 || second + 1 >= end) return false;
    bool is_digits = true;
    for (const char *digit = second + 1; digit < end; digit++)
        is_digits = is_digits && *digit >= '0' && *digit <= '9';
    return is_digits && end - second < 15 && memchr(text + at, '\\', size) == NULL &&
           memchr(text + at, '"', size) == NULL;
}

struct trial {
    simple_function *take;
    struct event_format format;
    struct simple_rule rule;
    struct event_batch together, apart;
};

static void try_text(struct trial *trial, struct test_random *random, uint64_t line) {
    event_batch_clear(&trial->together);
    event_batch_clear(&trial->apart);
    /* With much of its text used, less than a stretch fits. */
    size_t used =
        test_random_below(random, 4) == 0 ? EVENT_TEXT_BYTES - test_random_below(random, 20000) : 0;
    (void)event_batch_take(&trial->together, used);
    trial->rule.most = 1 + test_random_below(random, EVENTS_PER_BATCH);
    lethe_bytes all = {.data = text, .size = text_size};
    size_t taken = trial->take(&trial->rule, all, line, &trial->together);
    assert_true(trial->together.count <= trial->rule.most);
    assert_true(trial->together.text_used <= EVENT_TEXT_BYTES);
    parse_one_by_one(&trial->format, taken, line, &trial->apart);
    compare_operations(&trial->together, &trial->apart);
    if (used == 0 && trial->together.count < trial->rule.most)
        assert_false(is_ordinary(taken, trial->rule.delimiter));
}

static void try_way(simple_function *take, uint64_t seed) {
    struct test_random random = {seed};
    static const enum event_kind kinds[] = {EVENTS_PLAIN, EVENTS_CSV};
    for (unsigned kind = 0; kind < 2; kind++) {
        for (unsigned is_strict = 0; is_strict < 2; is_strict++) {
            struct trial trial = {.take = take};
            struct event_problem problem;
            struct event_format_options options = {.kind = kinds[kind],
                                                   .is_strict = is_strict != 0};
            assert_true(event_format_make(&options, &trial.format, &problem));
            assert_true(simple_rule_make(&trial.format, &trial.rule));
            assert_true(event_batch_init(&trial.together));
            assert_true(event_batch_init(&trial.apart));
            for (unsigned i = 0; i < 300; i++) {
                static const unsigned others[] = {0, 1, 30};
                draw(&random, trial.rule.delimiter, others[i % 3]);
                try_text(&trial, &random, 1 + test_random_below(&random, 1000));
            }
            event_batch_free(&trial.together);
            event_batch_free(&trial.apart);
        }
    }
}

static void portable(void **state) {
    (void)state;
    try_way(simple_portable, 1);
}

static void avx2(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (simple_choose(EVENTS_PLAIN) != simple_avx2) skip();
    try_way(simple_avx2, 2);
#else
    skip();
#endif
}

/* A batch that many changes have filled takes no more, however short the lines are. */
static void changes_have_their_room(void **state) {
    (void)state;
    struct event_format format;
    struct event_problem problem;
    struct event_format_options options = {.kind = EVENTS_PLAIN};
    struct event_batch batch;
    struct simple_rule rule;
    assert_true(event_format_make(&options, &format, &problem));
    assert_true(simple_rule_make(&format, &rule));
    assert_true(event_batch_init(&batch));
    rule.most = EVENTS_PER_BATCH;
    text_size = 0;
    for (unsigned i = 0; i < 100; i++)
        append_text("a\tk\t1\n");
    for (size_t left = 0; left < 3; left++) {
        event_batch_clear(&batch);
        batch.change_count = EVENTS_PER_BATCH + LETHE_CHANGES_LIMIT - left;
        lethe_bytes all = {.data = text, .size = text_size};
        assert_int_equal(simple_choose(EVENTS_PLAIN)(&rule, all, 1, &batch), left * 6);
        assert_int_equal(batch.count, left);
    }
    event_batch_free(&batch);
}

/* Formats in which nothing is simple. */
static void other_formats(void **state) {
    (void)state;
    struct event_problem problem;
    struct simple_rule rule;
    static const struct event_format_options options[] = {
        {.kind = EVENTS_PLAIN, .fields = "id=1,key=2"},
        {.kind = EVENTS_CSV, .fields = "id=id,key=key"},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct event_format format;
        assert_true(event_format_make(&options[i], &format, &problem));
        assert_false(simple_rule_make(&format, &rule));
    }
    struct event_format format;
    assert_true(
        event_format_make(&(struct event_format_options){.kind = EVENTS_PLAIN}, &format, &problem));
    assert_true(event_format_set_scale(&format, 2, &problem));
    assert_false(simple_rule_make(&format, &rule));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(portable),
        cmocka_unit_test(avx2),
        cmocka_unit_test(changes_have_their_room),
        cmocka_unit_test(other_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Goal:   any roles may share a column or a member, and what is made of a line stays within its
 * batch. Method: every way to give id, key, delta and time one of two places or, where they may be
 * left out, none, in every format.
 *         A batch is filled with lines until it takes no more; each operation is as its line
 *         says. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "events/parse.h"

/* The two values of a line: digits, so that they can be a delta and a time. */
struct values {
    const char *first, *second;
};

static lethe_bytes bytes_of(const char *text) {
    return (lethe_bytes){.data = text, .size = strlen(text)};
}

static void assert_bytes(lethe_bytes bytes, const char *expected) {
    assert_int_equal(bytes.size, strlen(expected));
    assert_memory_equal(bytes.data, expected, bytes.size);
}

/* Where each role is: 0 nowhere, or 1 or 2. */
struct places {
    int of[ROLE_COUNT];
};

static const char *value_at(const struct values *values, int place) {
    return place == 1 ? values->first : values->second;
}

static void check_operation(const lethe_operation *operation, const struct places *places,
                            const struct values *values) {
    int64_t delta = 1;
    uint64_t time_ms = 0;
    if (places->of[ROLE_DELTA] != 0)
        sscanf(value_at(values, places->of[ROLE_DELTA]), "%" SCNd64, &delta);
    if (places->of[ROLE_TIME] != 0)
        sscanf(value_at(values, places->of[ROLE_TIME]), "%" SCNu64, &time_ms);
    assert_bytes(operation->id, value_at(values, places->of[ROLE_ID]));
    assert_int_equal(operation->change_count, 1);
    assert_bytes(operation->changes[0].key, value_at(values, places->of[ROLE_KEY]));
    assert_int_equal(operation->changes[0].delta, delta);
    assert_int_equal(operation->time_ms, time_ms);
}

static struct event_format make_format(enum event_kind kind, const struct places *places) {
    char fields[128] = "";
    for (int role = 0; role < ROLE_COUNT; role++) {
        if (places->of[role] == 0) continue;
        size_t used = strlen(fields);
        snprintf(fields + used, sizeof fields - used, kind == EVENTS_JSONL ? "%s%s=m%d" : "%s%s=%d",
                 used > 0 ? "," : "", event_role_name((enum event_role)role), places->of[role]);
    }
    struct event_format format;
    struct event_problem problem;
    struct event_format_options options = {.kind = kind, .fields = fields};
    if (places->of[ROLE_TIME] != 0) options.time_unit = UNIT_MILLISECONDS;
    if (!event_format_make(&options, &format, &problem)) fail_msg("%s", problem.text);
    return format;
}

/* Fills a batch with one line again and again; returns how many it took. */
static size_t fill(enum event_kind kind, const struct places *places, const struct values *values,
                   struct event_batch *batch) {
    static const struct {
        const char *before, *between, *after;
    } marks[] = {[EVENTS_PLAIN] = {"", "\t", ""},
                 [EVENTS_CSV] = {"\"", "\",\"", "\""},
                 [EVENTS_JSONL] = {"{\"m1\":\"", "\",\"m2\":\"", "\"}"}};
    char line[4096];
    snprintf(line, sizeof line, "%s%s%s%s%s", marks[kind].before, values->first,
             marks[kind].between, values->second, marks[kind].after);
    struct event_format format = make_format(kind, places);
    event_batch_clear(batch);
    size_t count = 0;
    for (; event_batch_has_room(batch, strlen(line)); count++) {
        struct event_problem problem;
        enum event_result result = event_parse(&format, bytes_of(line), count + 1, batch, &problem);
        if (result == EVENT_UNREADABLE) fail_msg("%s: %s", line, problem.text);
        assert_int_equal(result, EVENT_TAKEN);
        assert_true(batch->text_used <= EVENT_TEXT_BYTES);
    }
    assert_int_equal(batch->count, count);
    for (size_t i = 0; i < count; i++)
        check_operation(&batch->operations[i], places, values);
    return count;
}

static void any_roles_may_share_a_place(void **state) {
    (void)state;
    static const struct values values = {"1700000000123", "42"};
    struct event_batch batch;
    assert_true(event_batch_init(&batch));
    for (int kind = EVENTS_PLAIN; kind <= EVENTS_JSONL; kind++) {
        for (int all = 0; all < 2 * 2 * 3 * 3; all++) {
            struct places places;
            places.of[ROLE_ID] = 1 + all % 2;
            places.of[ROLE_KEY] = 1 + all / 2 % 2;
            places.of[ROLE_DELTA] = all / 4 % 3;
            places.of[ROLE_TIME] = all / 12;
            assert_int_equal(fill((enum event_kind)kind, &places, &values, &batch),
                             EVENTS_PER_BATCH);
        }
    }
    event_batch_free(&batch);
}

/* Long values fill the text of a batch before its number of events: several lengths, so that the
 * last line ends at any distance from the end. */
static void a_shared_value_stays_within_the_batch(void **state) {
    (void)state;
    static char longest[LETHE_KEY_LIMIT_BYTES + 1];
    struct event_batch batch;
    assert_true(event_batch_init(&batch));
    struct places places = {.of = {1, 1, 1, 1}};
    for (int kind = EVENTS_PLAIN; kind <= EVENTS_JSONL; kind++) {
        for (size_t size = sizeof longest - 1; size > sizeof longest - 20; size--) {
            memset(longest, '0', size);
            longest[size - 1] = '7'; /* a number, so that it can be all roles */
            longest[size] = '\0';
            struct values values = {longest, "1"};
            assert_true(fill((enum event_kind)kind, &places, &values, &batch) > 1000);
        }
    }
    event_batch_free(&batch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_roles_may_share_a_place),
        cmocka_unit_test(a_shared_value_stays_within_the_batch),
    };
    return cmocka_run_group_tests_name("roles", tests, NULL, NULL);
}

/* Goal:   the options of a format are judged, described and remembered: what cannot be is refused
 *         with a remedy, and what a mark says of a format stays valid. Ids that are joined are what
 *         docs/format/id.md says.
 * Method: tables of options, each with what becomes of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame/exit_code.h"
#include "lethe/id.h"
#include "reading.h"

/* Goal:   a mark that an earlier version wrote stays valid, and formats that read a file
 *         differently are told apart. */
static void descriptions(void **state) {
    (void)state;
    static const struct {
        struct event_format_options options;
        const char *manner;
    } cases[] = {
        /* As the first version wrote them. */
        {{.kind = EVENTS_PLAIN}, ""},
        {{.kind = EVENTS_CSV}, "--csv"},
        {{.kind = EVENTS_JSONL}, "--jsonl --fields id=id,key=key,delta=delta"},
        {{.kind = EVENTS_PLAIN, .fields = "time=4,key=2,id=1"}, "--fields id=1,key=2,time=4"},
        {{.kind = EVENTS_CSV, .fields = "id=3,key=1,delta=2"}, "--csv --fields id=3,key=1,delta=2"},
        {{.kind = EVENTS_CSV, .fields = "id=order no.,key=/page"},
         "--csv --fields id=order no.,key=/page"},
        {{.kind = EVENTS_JSONL, .fields = "id=request,key=user,delta=bytes,time=at"},
         "--jsonl --fields id=request,key=user,delta=bytes,time=at"},
        /* A member whose name has a dot is not one within another. */
        {{.kind = EVENTS_JSONL, .fields = "id=\"meta.id\",key=k"},
         "--jsonl --fields id=meta.id,key=k"},
        {{.kind = EVENTS_JSONL, .fields = "id=meta.id,key=k"},
         "--jsonl --fields id=/meta/id,key=k"},
        {{.kind = EVENTS_JSONL, .fields = "id=/meta/id,key=/k"},
         "--jsonl --fields id=/meta/id,key=k"},
        {{.kind = EVENTS_JSONL, .fields = "id=/a~1b/~0,key=\"/k\""},
         "--jsonl --fields id=/a~1b/~0,key=\"/k\""},
        /* What is new is added. */
        {{.kind = EVENTS_CSV, .delimiter = ","}, "--csv"},
        {{.kind = EVENTS_CSV, .delimiter = ";"}, "--csv --delimiter ;"},
        {{.kind = EVENTS_CSV, .delimiter = "\t"}, "--csv --delimiter \\t"},
        {{.kind = EVENTS_CSV, .delimiter = "\\t"}, "--csv --delimiter \\t"},
        {{.kind = EVENTS_PLAIN, .is_strict = true}, "--strict"},
        {{.kind = EVENTS_PLAIN, .fields = "id=2,id=1,key=:x,key=3"},
         "--fields id=2,id=1,key=:x,key=3"},
        {{.kind = EVENTS_CSV, .fields = "id=\"1\",key=\"a, \"\"b\""},
         "--csv --fields id=\"1\",key=\"a, \"\"b\""},
        {{.kind = EVENTS_PLAIN, .fields = "id=1,key=:\"1,2\""}, "--fields id=1,key=:\"1,2\""},
        {{.kind = EVENTS_PLAIN,
          .fields = "id=1,key=2,time=3",
          .time_unit = UNIT_SECONDS,
          .zone = "Europe/Berlin"},
         "--fields id=1,key=2,time=3 --time-unit s --zone Europe/Berlin"},
        {{.kind = EVENTS_PLAIN, .fields = "id=1,key=2,time=3", .zone = "-0530"},
         "--fields id=1,key=2,time=3 --zone -05:30"},
        {{.kind = EVENTS_JSONL, .is_cloud = true}, "--jsonl --fields id=source,id=id,key=type"},
        {{.kind = EVENTS_JSONL, .is_cloud = true, .fields = "key=data.user,delta=data.n"},
         "--jsonl --fields id=source,id=id,key=/data/user,delta=/data/n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct event_format format;
        struct event_problem problem;
        char manner[EVENT_MANNER_BYTES];
        if (!event_format_make(&cases[i].options, &format, &problem)) fail_msg("%s", problem.text);
        event_format_describe(&format, manner);
        assert_string_equal(manner, cases[i].manner);
    }
}

static void wrong_options(void **state) {
    (void)state;
    static const struct event_format_options cases[] = {
        {.kind = EVENTS_PLAIN, .delimiter = ";"},
        {.kind = EVENTS_JSONL, .delimiter = ";"},
        {.kind = EVENTS_CSV, .delimiter = ""},
        {.kind = EVENTS_CSV, .delimiter = ";;"},
        {.kind = EVENTS_CSV, .delimiter = "\""},
        {.kind = EVENTS_CSV, .delimiter = "\n"},
        {.kind = EVENTS_CSV, .delimiter = "\xc2\xa7"},
        {.kind = EVENTS_PLAIN, .zone = "UTC"},
        {.kind = EVENTS_PLAIN, .time_unit = UNIT_SECONDS},
        {.kind = EVENTS_PLAIN, .fields = "id=1,key=2,time=3", .zone = ""},
        {.kind = EVENTS_PLAIN, .fields = "id=1,key=2,time=3", .zone = "Europe"},
        {.kind = EVENTS_PLAIN, .fields = "id=1,key=2,time=3", .zone = "Europe/Nowhere"},
        {.kind = EVENTS_PLAIN, .fields = "id=1,key=2,time=3", .zone = "../zoneinfo/UTC"},
        {.kind = EVENTS_PLAIN, .fields = "id=1,key=2,time=3", .zone = "/etc/localtime"},
        {.kind = EVENTS_PLAIN, .fields = "id=1,key=2,time=3", .zone = "+25:00"},
        {.kind = EVENTS_JSONL, .is_cloud = true, .fields = "id=id"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct event_format format;
        struct event_problem problem = {""};
        if (event_format_make(&cases[i], &format, &problem)) fail_msg("case %zu is accepted", i);
        if (strchr(problem.text, ';') == NULL && strchr(problem.text, ',') == NULL) {
            fail_msg("does not say what to do: %s", problem.text);
        }
    }
}

/* Goal:   a literal delta that does not fit the scale is refused, and the message says why; the
 *         format stays as it was. */
static void literal_deltas(void **state) {
    (void)state;
    static const struct {
        const char *fields;
        unsigned scale;
        const char *problem;
    } cases[] = {
        {"id=1,key=2,delta=:1.5", 0,
         "--fields: the delta '1.5' is not a whole number; write one such as 1 or -5, or make a "
         "new "
         "store with --scale"},
        {"id=1,key=2,delta=:1.505", 2,
         "--fields: the delta '1.505' has more digits after the point than the store's scale, "
         "which "
         "is 2; write no more, or make a new store with a larger --scale"},
        {"id=1,key=2,delta=3,key=:n,delta=:10", 18,
         "--fields: the delta '10' is beyond 64 bits; write a number from -9.223372036854775808 to "
         "9.223372036854775807"},
        {"id=1,key=2,delta=:0.0000000000000000001", 18,
         "--fields: the delta '0.0000000000000000001' has more digits after the point than the "
         "store's scale, which is 18; write no more"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct event_options options = options_for(EVENTS_PLAIN, cases[i].fields);
        struct event_problem problem = {""};
        assert_true(event_format_has_literal_delta(&options.format));
        assert_false(event_format_set_scale(&options.format, cases[i].scale, &problem));
        assert_string_equal(problem.text, cases[i].problem);
        assert_int_equal(options.format.scale, 0);
    }
    struct event_options options = options_for(EVENTS_PLAIN, "id=1,key=:k,delta=2");
    assert_false(event_format_has_literal_delta(&options.format));
    options = options_for(EVENTS_PLAIN, NULL);
    assert_false(event_format_has_literal_delta(&options.format));
}

/* Goal:   a list of fields that is too long for a mark is refused, and so are too many; what is
 *         just short enough is described whole. */
static void long_fields(void **state) {
    (void)state;
    size_t accepted = 0;
    for (size_t count = 1; count < 40; count++) {
        char fields[4096] = "id=i";
        char manner[EVENT_MANNER_BYTES];
        for (size_t i = 0; i < count; i++) {
            size_t used = strlen(fields);
            snprintf(fields + used, sizeof fields - used, ",key=name_of_a_member_%02zu", i);
        }
        struct event_format format;
        struct event_problem problem;
        struct event_format_options options = {.kind = EVENTS_JSONL, .fields = fields};
        if (!event_format_make(&options, &format, &problem)) continue;
        assert_int_equal(++accepted, count);
        event_format_describe(&format, manner);
        assert_string_equal(manner + strlen("--jsonl --fields "), fields);
    }
    assert_in_range(accepted, 16, 31);
}

/* Goal:   joined ids differ where their fields do, and are what docs/format/id.md says. */
static void joined_ids(void **state) {
    (void)state;
    static const lethe_bytes fields[] = {{"a", 1}, {"bc", 2}, {"0123456789", 10}, {"x\0:", 3}};
    static const lethe_bytes empty[] = {{"a", 1}, {"", 0}};
    char out[64];
    size_t size;
    assert_int_equal(lethe_id_join(fields, 4, out, sizeof out, &size), LETHE_OK);
    assert_int_equal(size, 25);
    assert_memory_equal(out, "1:a2:bc10:01234567893:x\0:", 25);
    assert_int_equal(lethe_id_join(fields, 1, out, sizeof out, &size), LETHE_OK);
    assert_int_equal(size, 1);
    assert_memory_equal(out, "a", 1);
    assert_int_equal(lethe_id_join(fields, 2, out, 6, &size), LETHE_EFULL);
    assert_int_equal(size, 7);
    assert_int_equal(lethe_id_join(fields, 2, out, 7, &size), LETHE_OK);
    assert_int_equal(lethe_id_join(fields, 0, out, sizeof out, &size), LETHE_EINVAL);
    assert_int_equal(lethe_id_join(empty, 2, out, sizeof out, &size), LETHE_EINVAL);
    assert_int_equal(lethe_id_join(NULL, 2, out, sizeof out, &size), LETHE_EINVAL);
    assert_int_equal(lethe_id_join(fields, 2, NULL, 7, &size), LETHE_EINVAL);
    assert_int_equal(lethe_id_join(fields, 2, out, sizeof out, NULL), LETHE_EINVAL);
}

/* Goal:   a joined id has the same limit as any other, and a batch has room for it. */
static void long_ids(void **state) {
    (void)state;
    static char line[4096];
    struct event_options options = options_for(EVENTS_PLAIN, "id=1,id=2,key=3");
    for (size_t part = 505; part <= 511; part++) {
        char field[512];
        memset(field, 'x', sizeof field);
        field[part] = '\0';
        int length = snprintf(line, sizeof line, "%s\t%s\tk\n", field, field);
        struct reading reading = read_bytes(line, (size_t)length, &options);
        bool fits = 2 * (part + 4) <= LETHE_ID_LIMIT_BYTES;
        assert_int_equal(strcmp(reading.text.data, "1!\n") != 0, fits);
        free(reading.text.data);
    }
}

int main(void) {
    if (!make_file_path()) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions),   cmocka_unit_test(wrong_options),
        cmocka_unit_test(literal_deltas), cmocka_unit_test(long_fields),
        cmocka_unit_test(joined_ids),     cmocka_unit_test(long_ids),
    };
    int failed = cmocka_run_group_tests_name("formats", tests, NULL, NULL);
    remove_file_path();
    return failed;
}

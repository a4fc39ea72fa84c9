/* Goal:   a store is asked for meters, and refuses what it can't have; its periods are those of its
 *         zone; and what it has, it has after a kill.
 * Method: small stores; texts that are wrong in every way; days at which clocks are changed; a copy
 *         of the folder while the store is open; a store that an earlier version left. */
#include "support/test.h"

#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/tunables.h"
#include "engine/meters/date.h"
#include "lethe/holds.h"
#include "support/golden.h"
#include "support/store.h"
#include "support/usage.h"

static void refuse_with(const char *path, lethe_store_options options, const char *words) {
    lethe_detail detail = {""};
    lethe_store *store;
    assert_int_equal(test_store_try_open(path, options, &store, &detail), LETHE_EINVAL);
    assert_null(store);
    if (strstr(detail.text, words) == NULL) print_error("%s\n", detail.text);
    assert_non_null(strstr(detail.text, words));
    assert_non_null(strstr(detail.text, "; ")); /* what to do */
}

/* Which families a closed store has. */
static bool has_buckets(const struct test_folder *folder) {
    char path[400], *message = NULL;
    snprintf(path, sizeof path, "%s/data", folder->path);
    rocksdb_options_t *options = rocksdb_options_create();
    size_t count = 0;
    char **names = rocksdb_list_column_families(options, path, &count, &message);
    assert_null(message);
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found = found || strcmp(names[i], "buckets") == 0;
    rocksdb_list_column_families_destroy(names, count);
    rocksdb_options_destroy(options);
    return found;
}

static void hostile_texts_are_refused(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    static const struct {
        const char *per, *zone, *keep, *words;
    } all[] = {
        {"0h", NULL, NULL, "\"0h\" is no period"},
        {"100y", NULL, NULL, "\"100y\" is no period"},
        {"", NULL, NULL, "\"\" is no period"},
        {"1h,", NULL, NULL, "\"\" is no period"},
        {"1h,2h", NULL, NULL, "\"2h\" is no period"},
        {"7m", NULL, NULL, "\"7m\" is no period"},
        {"1h,60m", NULL, NULL, "given twice"},
        {"1s,2s,3s,4s,5s,6s,8s,9s,10s", NULL, NULL, "8 kinds of periods at most"},
        {"1d", "Europe/Atlantis", NULL, "Europe/Atlantis is not in this machine's"},
        {"1d", "", NULL, "is not in this machine's"},
        {NULL, "Europe/Berlin", NULL, "give them as well"},
        {"1d", NULL, "1h=3d", "1h=3d is to keep"},
        {"1d", NULL, "1d", "does not say how long"},
        {"1d", NULL, "1d=0d", "is no time that buckets"},
        {"1d", NULL, "1d=9999999999y", "is no time that buckets"},
        {"1d", NULL, "1d=3", "is no time that buckets"},
        {"1d", NULL, "3d=3d", "is no period"},
        {NULL, NULL, "1d=3d", "1d=3d is to keep"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        refuse_with(folder.path, metered(all[i].per, all[i].zone, all[i].keep), all[i].words);
    char *million = malloc(3000001);
    assert_non_null(million);
    for (size_t i = 0; i < 1000000; i++)
        memcpy(million + 3 * i, "1h,", 3);
    million[3000000] = '\0';
    refuse_with(folder.path, metered(million, NULL, NULL), "twice");
    free(million);
    lethe_store_options sketch = metered("1h", NULL, NULL);
    sketch.sketch_bytes = 1 << 16;
    refuse_with(folder.path, sketch, "a sketch has no buckets");
    refuse_with(folder.path, metered("1h", NULL, "1h=1h,60m=2h"), "said twice how long");
    test_folder_remove(&folder);
}

static void what_cannot_be_made_leaves_no_folder(void **state) {
    (void)state;
    struct test_folder folder;
    char path[400];
    test_folder_make(&folder);
    snprintf(path, sizeof path, "%s/new", folder.path);
    lethe_store_options top = metered(NULL, NULL, NULL);
    top.sketch_top = 10;
    refuse_with(path, metered(NULL, NULL, "1d=3d"), "1d=3d is to keep");
    refuse_with(path, metered(NULL, "Europe/Berlin", NULL), "give them as well");
    refuse_with(path, top, "give the size of a sketch");
    assert_int_not_equal(access(path, F_OK), 0);
    /* Of a store that is there, the same is judged by what it has. */
    test_store_close(test_store_open(path, metered("1d", "Europe/Berlin", NULL)));
    test_store_close(test_store_open(path, metered(NULL, "Europe/Berlin", "1d=3d")));
    refuse_with(path, metered(NULL, NULL, "1h=3d"), "1h=3d is to keep");
    test_folder_remove(&folder);
}

static void what_is_fixed_stays(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    assert_int_equal(test_store_apply(store, "a", "k", 5, utc_ms(2024, 3, 1, 0)), 0);
    test_store_close(store);
    assert_false(has_buckets(&folder)); /* a store without meters is as it always was */
    refuse_with(folder.path, metered("1h,1d", "Europe/Berlin", "1w=9d"), "1w=9d is to keep");
    assert_false(has_buckets(&folder)); /* and a store that refuses is left as it was */
    test_store_close(test_store_open(folder.path, metered("1h,1d", "Europe/Berlin", "1h=90d")));
    assert_true(has_buckets(&folder));
    refuse_with(folder.path, metered("1h", NULL, NULL), "periods 1h,1d, and none of them can");
    refuse_with(folder.path, metered("1d,1mo", NULL, NULL), "periods 1h,1d, and none of them can");
    refuse_with(folder.path, metered(NULL, "Europe/Paris", NULL), "days of Europe/Berlin");
    store = test_store_open(folder.path, metered("1mo,1d,1h", NULL, "1d=2y"));
    lethe_store_stats stats = test_store_stats(store);
    assert_string_equal(stats.per, "1h,1d,1mo");
    assert_string_equal(stats.zone, "Europe/Berlin");
    assert_string_equal(stats.keep, "1h=90d,1d=2y");
    struct shown shown = usage_of(store, "1h", "k");
    assert_int_equal(shown.count, 0);
    assert_int_equal(shown.rest, 5); /* what was counted before */
    test_store_close(store);
    test_folder_remove(&folder);
}

static void a_store_with_a_sketch_has_none(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = usual;
    options.sketch_bytes = 1 << 16;
    test_store_close(test_store_open(folder.path, options));
    refuse_with(folder.path, metered("1h", NULL, NULL), "keeps a sketch, which has no buckets");
    lethe_store *store = test_store_open(folder.path, usual);
    lethe_usage_query query = LETHE_INIT(lethe_usage_query);
    struct shown shown = {0};
    assert_int_equal(lethe_store_usage(store, &query, note_row, &shown), LETHE_EINVAL);
    test_store_close(store);
    test_folder_remove(&folder);
}

static void days_are_those_of_the_zone(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, metered("1d", "Europe/Berlin", NULL));
    char id[16];
    unsigned next = 0;
    for (unsigned day = 30; day <= 32; day++) { /* every hour of 30 March to 1 April 2024 */
        for (unsigned hour = 0; hour < 24; hour++) {
            snprintf(id, sizeof id, "%u", next++);
            uint64_t time_ms = utc_ms(2024, 3, 1, 0) + ((day - 1) * 24 + hour) * 3600000ULL;
            assert_int_equal(test_store_apply(store, id, "k", 1, time_ms), LETHE_OUTCOME_APPLIED);
        }
    }
    struct shown shown = usage_of(store, "1d", "k");
    assert_int_equal(shown.count, 4);
    static const int64_t hours[] = {23, 23, 24, 2};
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(shown.values[i], hours[i]);
    assert_int_equal(shown.offset_s[1], 3600); /* 31 March begins with winter time */
    assert_int_equal(shown.offset_s[2], 7200);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(shown.to_offset_s[i], shown.offset_s[i + 1]);
    assert_int_equal(shown.to_ms[1] - shown.from_ms[1], 23 * 3600000);
    assert_int_equal(shown.from_ms[1], shown.to_ms[0]);
    assert_int_equal(shown.rest, 0);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* What is kept begins with the clock. As long as nothing was applied, that may become the events',
 * which may all be older than what the wall clock would keep. */
static void old_events_are_kept_after_the_wall_clock(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = metered("1h,1y", "Asia/Tokyo", "1h=2d,1y=366d");
    options.event_time = LETHE_SWITCH_KEEP;
    test_store_close(test_store_open(folder.path, options));
    test_store_close(test_store_open(folder.path, (lethe_store_options){0}));
    lethe_store *store =
        test_store_open(folder.path, (lethe_store_options){.event_time = LETHE_SWITCH_ON});
    const uint64_t first_ms = utc_ms(2020, 9, 13, 19);
    assert_int_equal(test_store_apply(store, "a", "k", 1, first_ms), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    store = test_store_open(folder.path, (lethe_store_options){0});
    assert_int_equal(usage_of(store, "1y", "k").count, 1);
    assert_int_equal(usage_of(store, "1h", "k").count, 1);
    assert_int_equal(usage_of(store, "1h", "k").rest, 0);
    /* From then on time goes by. */
    const uint64_t later_ms = utc_ms(2020, 9, 20, 19);
    assert_int_equal(test_store_apply(store, "b", "k", 1, later_ms), LETHE_OUTCOME_APPLIED);
    assert_int_equal(usage_of(store, "1y", "k").values[0], 2);
    assert_int_equal(usage_of(store, "1h", "k").count, 1);
    assert_int_equal(usage_of(store, "1h", "k").rest, 1);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* A correction has a new id, the old time and a negative delta. */
static void corrections_reach_their_period(void **state) {
    (void)state;
    struct test_folder folder, killed;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, metered("1d,1mo", NULL, NULL));
    assert_int_equal(test_store_apply(store, "a", "k", 10, utc_ms(2024, 5, 1, 9)), 0);
    assert_int_equal(test_store_apply(store, "b", "k", 7, utc_ms(2024, 5, 3, 9)), 0);
    assert_int_equal(test_store_apply(store, "a-undone", "k", -10, utc_ms(2024, 5, 1, 9)), 0);
    assert_int_equal(test_store_apply(store, "a", "k", 10, utc_ms(2024, 5, 1, 9)),
                     LETHE_OUTCOME_DUPLICATE);
    test_store_kill(&folder, &killed);
    test_store_close(store);
    const struct test_folder *folders[] = {&folder, &killed};
    for (unsigned i = 0; i < 2; i++) {
        store = test_store_open_reader(folders[i]->path);
        struct shown shown = usage_of(store, "1d", "k");
        assert_int_equal(shown.count, 3);
        assert_int_equal(shown.values[0], 0);
        assert_int_equal(shown.values[1], 0);
        assert_int_equal(shown.values[2], 7);
        assert_int_equal(usage_of(store, "1mo", "k").values[0], 7);
        test_store_close(store);
        test_store_close(test_store_open(folders[i]->path, usual));
        lethe_store_health health = LETHE_INIT(lethe_store_health);
        lethe_detail detail;
        assert_ok(lethe_store_check(folders[i]->path, &health, &detail));
        assert_int_equal(health.buckets, 3);
    }
    test_folder_remove(&folder);
    test_folder_remove(&killed);
}

/* When this second began. time() would not do: its clock is some milliseconds behind. */
static uint64_t whole_second_ms(void) {
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    return (uint64_t)now.tv_sec * 1000;
}

/* A hold of so much on k, which stays open. */
static void place(lethe_store *store, const char *id, int64_t amount) {
    const lethe_hold hold = {.size = sizeof hold,
                             .id = test_text(id),
                             .key = test_text("k"),
                             .amount = amount,
                             .max = 1000,
                             .lease_ms = 1000000};
    lethe_hold_answer answer;
    assert_ok(lethe_hold_place(store, &hold, &answer, NULL));
    assert_int_equal(answer, LETHE_HOLD_HELD);
}

static void settle(lethe_store *store, const char *id, int64_t actual) {
    lethe_hold_answer answer;
    assert_ok(lethe_hold_settle(store, test_text(id), actual, 0, &answer, NULL));
    assert_int_equal(answer, LETHE_HOLD_SETTLED);
}

/* Holds fill buckets too. What was dropped of them stays in the rest, also where nothing else was
 * ever counted: what comes later is not shown as all that its period had. */
static void what_was_dropped_of_holds_stays_so(void **state) {
    (void)state;
    const uint64_t day_ms = 86400000, now_ms = whole_second_ms();
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = metered("1d", NULL, "1d=2d");
    options.max_future_ms = 10 * day_ms;
    lethe_store *store = test_store_open(folder.path, options);
    assert_ok(lethe_store_set(store, &(lethe_bytes){"full", 4}, &(int64_t){INT64_MAX}, 1));
    place(store, "a", 10);
    place(store, "b", 1);
    settle(store, "a", 10);
    assert_int_equal(usage_of(store, "1d", "k").rest, 0);
    /* The clock goes on, though nothing is applied. */
    assert_int_equal(test_store_apply(store, "c", "full", 1, now_ms + 6 * day_ms),
                     LETHE_OUTCOME_OVERFLOW);
    assert_int_equal(usage_of(store, "1d", "k").rest, 10);
    test_store_close(store);
    options.keep = "1d=ever";
    store = test_store_open(folder.path, options);
    settle(store, "b", 1);
    assert_int_equal(usage_of(store, "1d", "k").rest, 11);
    assert_int_equal(usage_of(store, "1d", "k").count, 0);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* A resolution that is added after a hold was settled lacks what that added to the day. */
static void what_is_added_after_holds_is_not_whole(void **state) {
    (void)state;
    const uint64_t now_ms = whole_second_ms();
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = metered("1h", NULL, NULL);
    options.event_time = LETHE_SWITCH_KEEP;
    lethe_store *store = test_store_open(folder.path, options);
    place(store, "a", 10);
    settle(store, "a", 10);
    test_store_close(store);
    options.per = "1h,1d";
    store = test_store_open(folder.path, options);
    uint64_t kept_from_ms, whole_from_ms;
    assert_ok(lethe_store_usage_reach(store, "1d", &kept_from_ms, &whole_from_ms));
    assert_true(whole_from_ms > now_ms);
    test_store_close(store);
    test_folder_remove(&folder);
}

static void without_event_time_the_wall_clock_counts(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = metered("1s", NULL, NULL);
    options.event_time = LETHE_SWITCH_KEEP;
    lethe_store *store = test_store_open(folder.path, options);
    uint64_t before_ms = whole_second_ms();
    for (unsigned i = 0; i < 5; i++) {
        char id[8];
        snprintf(id, sizeof id, "%u", i);
        assert_int_equal(test_store_apply(store, id, "k", 1, 0), LETHE_OUTCOME_APPLIED);
    }
    uint64_t after_ms = whole_second_ms() + 1000;
    struct shown shown = usage_of(store, "1s", "k");
    int64_t sum = 0;
    for (size_t i = 0; i < shown.count; i++) {
        assert_true(shown.from_ms[i] >= before_ms && shown.from_ms[i] < after_ms);
        sum += shown.values[i];
    }
    assert_int_equal(sum, 5);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* A store whose log has buckets as earlier versions wrote them: k with 5 - 2 at 9 o'clock and 7 at
 * ten, m with 9 at ten and 4 on the next day. */
static void an_earlier_log_is_read(void **state) {
    (void)state;
    struct test_folder folder;
    char path[400], command[1000];
    size_t size;
    void *saved = golden_read("store-buckets-v3.tar.gz", &size);
    test_folder_make(&folder);
    snprintf(path, sizeof path, "%s.tar.gz", folder.path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(saved, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    free(saved);
    snprintf(command, sizeof command, "tar -xzf '%s' -C '%s'", path, folder.path);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
    remove(path);
    for (unsigned round = 0; round < 3; round++) { /* as it is; changed; and folded */
        lethe_store *store =
            round != 1 ? test_store_open_reader(folder.path) : test_store_open(folder.path, usual);
        if (round == 1) /* in a bucket of that log */
            assert_int_equal(test_store_apply(store, "f", "k", 1, utc_ms(2024, 5, 1, 10)), 0);
        struct shown shown = usage_of(store, "1h", "k");
        assert_int_equal(shown.count, 2);
        assert_int_equal(shown.values[0], 3);
        assert_int_equal(shown.values[1], round > 0 ? 8 : 7);
        assert_int_equal(shown.rest, 0);
        shown = usage_of(store, "1d", "m");
        assert_int_equal(shown.count, 2);
        assert_int_equal(shown.values[0], 9);
        assert_int_equal(shown.values[1], 4);
        test_store_close(store);
    }
    test_folder_remove(&folder);
}

/* An operation that overflows the bucket of a new period, of one counter of two, leaves what was
 * beside both counters before; and so after a kill. */
static void an_overflow_leaves_other_periods(void **state) {
    (void)state;
    struct test_folder folder, killed;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, metered("1h", NULL, NULL));
    uint64_t first = utc_ms(2024, 5, 1, 1), second = utc_ms(2024, 5, 1, 2);
    assert_int_equal(test_store_submit_one(store, "a", "k", 3, first), 0);
    assert_int_equal(test_store_submit_one(store, "b", "m", INT64_MAX, second), 0);
    assert_int_equal(test_store_submit_one(store, "c", "m", -INT64_MAX, first), 0);
    lethe_change changes[] = {{.key = test_text("k"), .delta = 4},
                              {.key = test_text("m"), .delta = 1}};
    lethe_operation operation = {
        .id = test_text("d"), .changes = changes, .change_count = 2, .time_ms = second};
    uint8_t outcome;
    assert_ok(lethe_store_apply(store, &operation, 1, &outcome, NULL));
    assert_int_equal(outcome,
                     LETHE_OUTCOME_OVERFLOW); /* the counter m has 0, its bucket does not */
    test_store_kill(&folder, &killed);
    assert_int_equal(test_store_apply(store, "e", "k", 5, second), 0);
    lethe_store *stores[] = {store, test_store_open(killed.path, usual)};
    for (unsigned i = 0; i < 2; i++) {
        struct shown shown = usage_of(stores[i], "1h", "k");
        assert_int_equal(shown.values[0], 3);
        assert_int_equal(shown.count, i == 0 ? 2 : 1);
        if (i == 0) assert_int_equal(shown.values[1], 5);
        assert_int_equal(shown.rest, 0);
        shown = usage_of(stores[i], "1h", "m");
        assert_true(shown.values[0] == -INT64_MAX && shown.values[1] == INT64_MAX);
        test_store_close(stores[i]);
    }
    test_folder_remove(&folder);
    test_folder_remove(&killed);
}

static void questions_are_refused_in_words(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    lethe_usage_query query = LETHE_INIT(lethe_usage_query);
    struct shown shown = {0};
    lethe_detail detail;
    assert_int_equal(lethe_store_usage(store, &query, note_row, &shown), LETHE_EINVAL);
    lethe_store_explain(store, &detail);
    assert_non_null(strstr(detail.text, "does not count per period"));
    test_store_close(store);
    store = test_store_open(folder.path, metered("1h", NULL, NULL));
    query.by = "1d";
    assert_int_equal(lethe_store_usage(store, &query, note_row, &shown), LETHE_EINVAL);
    lethe_store_explain(store, &detail);
    assert_non_null(strstr(detail.text, "in the periods 1d; it has 1h"));
    assert_int_equal(lethe_store_usage(NULL, &query, note_row, &shown), LETHE_EINVAL);
    assert_int_equal(lethe_store_usage(store, &query, NULL, &shown), LETHE_EINVAL);
    query.key_count = 1;
    assert_int_equal(lethe_store_usage(store, &query, note_row, &shown), LETHE_EINVAL);
    test_store_close(store);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_texts_are_refused),
        cmocka_unit_test(what_cannot_be_made_leaves_no_folder),
        cmocka_unit_test(what_is_fixed_stays),
        cmocka_unit_test(a_store_with_a_sketch_has_none),
        cmocka_unit_test(days_are_those_of_the_zone),
        cmocka_unit_test(old_events_are_kept_after_the_wall_clock),
        cmocka_unit_test(corrections_reach_their_period),
        cmocka_unit_test(what_was_dropped_of_holds_stays_so),
        cmocka_unit_test(what_is_added_after_holds_is_not_whole),
        cmocka_unit_test(without_event_time_the_wall_clock_counts),
        cmocka_unit_test(an_earlier_log_is_read),
        cmocka_unit_test(an_overflow_leaves_other_periods),
        cmocka_unit_test(questions_are_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

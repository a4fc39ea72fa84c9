/* Goal:   a counter's buckets are those of the periods in which it was changed, the latest that are
 *         kept, whatever the wall clock did; and a month begins and ends when the calendar says so.
 * Method: buckets against a model that is searched from end to end, with clocks that step; months
 *         of all years against the C library. The server's functions are those of C. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "once/buckets.h"
#include "once/counters.h"
#include "once/resolutions.h"
#include "support/random.h"
#include "support/server_functions.h"

struct redis_api redis;

/* What resolutions.c needs of options.c to read words, which is tried on real servers. */
bool is_word(const redis_string *string, const char *word);
bool parse_number(const redis_string *string, uint64_t least, uint64_t most, uint64_t *out);

bool is_word(const redis_string *string, const char *word) {
    return strcmp((const char *)string, word) == 0;
}

bool parse_number(const redis_string *string, uint64_t least, uint64_t most, uint64_t *out) {
    *out = strtoull((const char *)string, NULL, 10);
    return *out >= least && *out <= most;
}

enum { MODEL_MOST = 512 };

struct model {
    struct bucket buckets[MODEL_MOST];
    uint32_t count;
};

/* Sets one, and takes out the oldest of all except for that of the present and the one before. */
static void model_set(struct model *model, struct bucket bucket, struct retention retention) {
    uint32_t oldest = UINT32_MAX;
    for (uint32_t i = 0; i < model->count; i++) {
        if (model->buckets[i].start_ms != bucket.start_ms) continue;
        model->buckets[i].value = bucket.value;
        return;
    }
    model->buckets[model->count++] = bucket;
    if (model->count <= retention.keep) return;
    for (uint32_t i = 0; i < model->count; i++) {
        int64_t at_ms = model->buckets[i].start_ms;
        if (at_ms == retention.present_ms || (at_ms == retention.before_ms && retention.keep > 1))
            continue;
        if (oldest == UINT32_MAX || at_ms < model->buckets[oldest].start_ms) oldest = i;
    }
    model->buckets[oldest] = model->buckets[--model->count];
}

static bool model_has(const struct model *model, int64_t start_ms) {
    for (uint32_t i = 0; i < model->count; i++) {
        if (model->buckets[i].start_ms == start_ms) return true;
    }
    return false;
}

static void model_remove(struct model *model, int64_t start_ms) {
    for (uint32_t i = 0; i < model->count; i++) {
        if (model->buckets[i].start_ms != start_ms) continue;
        model->buckets[i] = model->buckets[--model->count];
        return;
    }
}

static void compare(const struct model *model, const struct buckets *buckets) {
    assert_int_equal(buckets_count(buckets), model->count);
    for (uint32_t i = 0; i < model->count; i++) {
        const struct bucket *expected = &model->buckets[i];
        uint32_t place = buckets_place(buckets, expected->start_ms), earlier = 0;
        for (uint32_t j = 0; j < model->count; j++)
            earlier += model->buckets[j].start_ms < expected->start_ms;
        assert_int_equal(place, earlier);
        assert_int_equal(buckets_at(buckets, place)->start_ms, expected->start_ms);
        assert_int_equal(buckets_value(buckets, expected->start_ms), expected->value);
        assert_int_equal(buckets_value(buckets, expected->start_ms + 1), 0);
    }
}

/* What belongs to another time than the present is set, or is dropped at once. */
static void set_late(struct model *model, struct buckets **buckets, struct bucket bucket,
                     struct retention retention) {
    bool was_there = model_has(model, bucket.start_ms);
    bool is_dropped = buckets_is_dropped(*buckets, bucket.start_ms, retention);
    bool has_present = model_has(model, retention.present_ms);
    buckets_set(buckets, bucket, retention);
    model_set(model, bucket, retention);
    assert_int_equal(is_dropped, !model_has(model, bucket.start_ms));
    assert_true(!was_there || !is_dropped);
    assert_true(!has_present || model_has(model, retention.present_ms));
}

/* A clock that mostly goes on, and sometimes steps; buckets that are set later; and buckets that
 * are taken out, or are not there. */
static void run(uint32_t keep, uint64_t seed, bool removes) {
    struct test_random random = {seed};
    struct model model = {.count = 0};
    struct buckets *buckets = NULL;
    int64_t now = 1000000; /* starts are even, so that none is right after another */
    for (int i = 0; i < 3000; i++) {
        uint64_t kind = test_random_next(&random) % 100;
        now += kind < 60   ? 2
               : kind < 95 ? 0
                           : 2 * ((int64_t)(test_random_next(&random) % 200) - 100);
        if (now < 0) now = 0;
        int64_t value = (int64_t)test_random_next(&random);
        struct retention retention = {keep, now, now - 2};
        if (test_random_next(&random) % 4 == 0) {
            int64_t at = now + 2 * ((int64_t)(test_random_next(&random) % (keep + 8)) - keep - 4);
            set_late(&model, &buckets, (struct bucket){at > 0 ? at : 0, value}, retention);
        }
        buckets_set(&buckets, (struct bucket){now, value}, retention);
        model_set(&model, (struct bucket){now, value}, retention);
        assert_int_equal(buckets_value(buckets, now), value);
        if (removes && test_random_next(&random) % 3 == 0) {
            int64_t start = now - 2 * (int64_t)(test_random_next(&random) % 6);
            buckets_remove(buckets, start);
            model_remove(&model, start);
            assert_int_equal(buckets_value(buckets, start), 0);
        }
        if (i % 16 == 0) compare(&model, buckets);
        assert_true(buckets->capacity <= keep + keep / 4 + 2);
    }
    compare(&model, buckets);
    free(buckets);
}

static void buckets_are_those_of_the_model(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        run(1, seed, false);
        run(2, seed, false);
        run(7, seed, false);
        run(300, seed, false);
    }
}

/* What is held ends in any order (holds.c). */
static void buckets_can_be_taken_out(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        run(2, seed, true);
        run(300, seed, true);
    }
}

static void set_present(struct buckets **buckets, struct bucket bucket, uint32_t keep) {
    buckets_set(buckets, bucket, (struct retention){keep, bucket.start_ms, bucket.start_ms - 100});
}

/* Only the period before is needed, and not what was before a gap. */
static void a_later_bucket_stays_when_a_clock_is_set_back(void **state) {
    (void)state;
    struct buckets *buckets = NULL;
    set_present(&buckets, (struct bucket){600, 1}, 2);
    set_present(&buckets, (struct bucket){1000, 10}, 2);
    set_present(&buckets, (struct bucket){900, 2}, 2);
    assert_int_equal(buckets_value(buckets, 900), 2);
    assert_int_equal(buckets_value(buckets, 1000), 10);
    assert_int_equal(buckets->count, 2);
    free(buckets);
}

/* What a hold is settled with, after its period. */
static void a_dropped_bucket_does_not_come_back(void **state) {
    (void)state;
    struct buckets *buckets = NULL;
    set_present(&buckets, (struct bucket){100, 1}, 1);
    set_present(&buckets, (struct bucket){200, 2}, 1);
    assert_true(buckets_is_dropped(buckets, 100, (struct retention){1, 200, 100}));
    buckets_set(&buckets, (struct bucket){100, 9}, (struct retention){1, 200, 100});
    assert_int_equal(buckets_value(buckets, 200), 2);
    assert_int_equal(buckets->count, 1);
    free(buckets);

    buckets = NULL;
    set_present(&buckets, (struct bucket){100, 1}, 2);
    set_present(&buckets, (struct bucket){300, 3}, 2);
    /* In between, it takes the place of the oldest, and not of the present. */
    buckets_set(&buckets, (struct bucket){200, 2}, (struct retention){2, 300, 200});
    assert_int_equal(buckets_value(buckets, 200), 2);
    assert_int_equal(buckets_value(buckets, 300), 3);
    assert_int_equal(buckets->count, 2);
    free(buckets);
}

static void the_present_bucket_stays_when_a_clock_was_ahead(void **state) {
    (void)state;
    struct buckets *buckets = NULL;
    set_present(&buckets, (struct bucket){900, 1}, 1);
    set_present(&buckets, (struct bucket){100, 2}, 1);
    assert_int_equal(buckets->count, 1);
    assert_int_equal(buckets_value(buckets, 100), 2);
    set_present(&buckets, (struct bucket){100, 3}, 1);
    assert_int_equal(buckets_value(buckets, 100), 3);
    free(buckets);

    buckets = NULL;
    set_present(&buckets, (struct bucket){900, 1}, 2);
    set_present(&buckets, (struct bucket){100, 2}, 2);
    set_present(&buckets, (struct bucket){200, 3},
                2); /* the one before stays, for sliding limits */
    assert_int_equal(buckets_value(buckets, 100), 2);
    assert_int_equal(buckets_value(buckets, 200), 3);
    assert_int_equal(buckets->count, 2);
    free(buckets);
}

static void no_buckets(void **state) {
    (void)state;
    assert_int_equal(buckets_count(NULL), 0);
    assert_int_equal(buckets_place(NULL, 5), 0);
    assert_int_equal(buckets_value(NULL, 5), 0);
}

static void counters_own_their_buckets(void **state) {
    (void)state;
    struct counters counters;
    counters_init(&counters, 7);
    counters.resolutions = 2;
    for (int i = 0; i < 100; i++) {
        char name[16];
        int size = snprintf(name, sizeof name, "%d", i * i * i);
        struct counter *counter = counters_add(&counters, name, (size_t)size);
        assert_null(counters_buckets(counter, 0));
        for (int64_t start = 0; start < 5; start++) {
            counters_set_bucket(&counters, counter, 0, (struct bucket){start, i},
                                (struct retention){3, start, start - 1});
            counters_set_bucket(&counters, counter, 1, (struct bucket){start / 2, i},
                                (struct retention){9, start / 2, start / 2 - 1});
        }
        assert_memory_equal(counter->name, name, (size_t)size);
        assert_int_equal(buckets_value(counters_buckets(counter, 1), 2), i);
    }
    assert_int_equal(counters.periods, 600);
    assert_true(counters_remove(&counters, "27", 2));
    assert_int_equal(counters.periods, 594);
    counters_drop(&counters);
    assert_int_equal(counters.bytes, 0);
}

static int64_t seconds_of(int year, int month) {
    struct tm date = {.tm_year = year - 1900, .tm_mon = month, .tm_mday = 1};
    return (int64_t)timegm(&date);
}

static void months_are_those_of_the_calendar(void **state) {
    (void)state;
    for (int year = 1970; year <= 9999; year++) {
        for (int month = 0; month < 12; month++) {
            int64_t start_ms = seconds_of(year, month) * 1000;
            int64_t end_ms = seconds_of(year, month + 1) * 1000;
            assert_int_equal(period_start(PERIOD_MONTH, start_ms), start_ms);
            assert_int_equal(period_start(PERIOD_MONTH, (start_ms + end_ms) / 2), start_ms);
            assert_int_equal(period_start(PERIOD_MONTH, end_ms - 1), start_ms);
            assert_int_equal(period_end(PERIOD_MONTH, start_ms), end_ms);
            if (start_ms > 0)
                assert_int_equal(period_end(PERIOD_MONTH, period_before(PERIOD_MONTH, start_ms)),
                                 start_ms);
        }
    }
    assert_int_equal(period_start(PERIOD_MONTH, WALL_MOST_MS), seconds_of(9999, 11) * 1000);
}

static void other_periods(void **state) {
    (void)state;
    assert_int_equal(period_start(3600000, 7200000), 7200000);
    assert_int_equal(period_start(3600000, 7199999), 3600000);
    assert_int_equal(period_end(3600000, 3600000), 7200000);
    assert_int_equal(period_before(3600000, 3600000), 0);
    assert_int_equal(period_before(3600000, 0), -1);
}

static void lists_of_resolutions(void **state) {
    (void)state;
    struct resolutions list = {0};
    char text[RESOLUTIONS_TEXT_BYTES];
    resolutions_text(&list, text);
    assert_string_equal(text, "none");
    assert_false(resolutions_keep(&list, 1));
    assert_true(resolutions_add(&list, 3600000, 48));
    assert_false(resolutions_add(&list, 3600000, 1));
    assert_false(resolutions_add(&list, 0, 1));
    assert_false(resolutions_add(&list, 99, 1));
    assert_false(resolutions_add(&list, PERIOD_MOST_MS + 1, 1));
    assert_false(resolutions_add(&list, 86400000, 0));
    assert_false(resolutions_add(&list, 86400000, RESOLUTION_KEEP_MOST + 1));
    assert_true(resolutions_add(&list, PERIOD_MONTH, RESOLUTION_KEEP_MOST));
    assert_true(resolutions_add(&list, 86400000, 1));
    assert_true(resolutions_add(&list, 100, 1));
    assert_true(resolutions_keep(&list, 2));
    assert_false(resolutions_add(&list, 200, 1));
    assert_int_equal(resolutions_find(&list, PERIOD_MONTH), 1);
    assert_int_equal(resolutions_find(&list, 200), -1);
    resolutions_text(&list, text);
    assert_string_equal(text, "hour:48,month:100000,day:1,100:2");
}

static void random_bytes(unsigned char *bytes, size_t size) {
    memset(bytes, 5, size);
}

int main(void) {
    use_functions_of_c(random_bytes);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_are_those_of_the_model),
        cmocka_unit_test(buckets_can_be_taken_out),
        cmocka_unit_test(a_later_bucket_stays_when_a_clock_is_set_back),
        cmocka_unit_test(a_dropped_bucket_does_not_come_back),
        cmocka_unit_test(the_present_bucket_stays_when_a_clock_was_ahead),
        cmocka_unit_test(no_buckets),
        cmocka_unit_test(counters_own_their_buckets),
        cmocka_unit_test(months_are_those_of_the_calendar),
        cmocka_unit_test(other_periods),
        cmocka_unit_test(lists_of_resolutions),
    };
    return cmocka_run_group_tests_name("module_buckets", tests, NULL, NULL);
}

/* Goal:   every public function of stores refuses NULL and half-filled arguments, and changes
 *         nothing; structs of older and newer programs are taken as far as both sides know them.
 * Method: a table of calls, each with one argument wrong; options and results of sizes below, at
 *         and above ours. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "lethe/claims.h"
#include "lethe/holds.h"
#include "support/refusals.h"
#include "support/store.h"

static struct test_folder folder;
static lethe_store *store;

static int setup(void **state) {
    (void)state;
    test_folder_make(&folder);
    store = test_store_open(folder.path, (lethe_store_options){.create = true});
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_store_close(store);
    test_folder_remove(&folder);
    return 0;
}

/* What the calls below need, whole. */
static const lethe_change change = {.key = {"k", 1}, .delta = 1};
static const lethe_operation operation = {.id = {"a", 1}, .changes = &change, .change_count = 1};
static lethe_mark mark = {.name = {"m", 1}, .value = {"1", 1}};
static const lethe_bytes key = {"k", 1}, nothing = {NULL, 1};
static uint8_t outcome;
static int64_t value;
static bool found;
static uint64_t ticket, kept_ms, whole_ms;
static uint32_t place;
static lethe_limit limit;
static lethe_estimate estimate;
static lethe_store_stats unsized;
static lethe_store_health health = LETHE_INIT(lethe_store_health), no_health;
static lethe_detail detail;

static lethe_status decide(void *context, const uint8_t *outcomes, lethe_mark *marks) {
    (void)context, (void)outcomes, (void)marks;
    return LETHE_OK;
}

static bool see(void *context, lethe_bytes name, int64_t number) {
    (void)context, (void)name, (void)number;
    return true;
}

static bool see_mark(void *context, const lethe_mark *seen) {
    (void)context, (void)seen;
    return true;
}

static void opening_refuses(void **state) {
    (void)state;
    lethe_store *other = store;
    lethe_store_options none = {.create = true};
    REFUSED(lethe_store_open(NULL, NULL, &other, &detail));
    assert_null(other);
    assert_string_not_equal(detail.text, "");
    REFUSED(lethe_store_open(folder.path, NULL, NULL, &detail));
    REFUSED(lethe_store_open(NULL, NULL, NULL, NULL));
    other = store;
    REFUSED(lethe_store_open(folder.path, &none, &other, &detail));
    assert_null(other);
    assert_string_not_equal(detail.text, "");
    assert_ok(lethe_store_close(NULL, NULL));
    REFUSED(lethe_store_check(NULL, &health, NULL));
    REFUSED(lethe_store_check(folder.path, NULL, NULL));
    REFUSED(lethe_store_check(folder.path, &no_health, NULL));
    lethe_backup no_backup = {.size = 0};
    REFUSED(lethe_store_backup(NULL, folder.path, NULL, NULL));
    REFUSED(lethe_store_backup(folder.path, NULL, NULL, NULL));
    REFUSED(lethe_store_backup(folder.path, "/nonexistent/backups", &no_backup, NULL));
    REFUSED(lethe_store_restore(NULL, 0, folder.path, NULL, NULL));
    REFUSED(lethe_store_restore(folder.path, 0, NULL, NULL, NULL));
    REFUSED(lethe_store_restore(folder.path, 0, folder.path, &no_backup, NULL));
}

static void writing_refuses(void **state) {
    (void)state;
    REFUSED(lethe_store_apply(NULL, &operation, 1, &outcome, NULL));
    REFUSED(lethe_store_apply(store, NULL, 1, &outcome, NULL));
    REFUSED(lethe_store_apply(store, &operation, 1, NULL, NULL));
    REFUSED(lethe_store_apply_bounded(NULL, &operation, 1, &outcome, &limit));
    REFUSED(lethe_store_apply_bounded(store, NULL, 1, &outcome, &limit));
    REFUSED(lethe_store_apply_bounded(store, &operation, 1, NULL, &limit));
    REFUSED(lethe_store_apply_bounded(store, &operation, 1, &outcome, NULL));
    REFUSED(lethe_store_submit(NULL, &operation, 1, NULL, 0, &outcome, NULL, &ticket));
    REFUSED(lethe_store_submit(store, NULL, 1, NULL, 0, &outcome, NULL, &ticket));
    REFUSED(lethe_store_submit(store, &operation, 1, NULL, 1, &outcome, NULL, &ticket));
    REFUSED(lethe_store_submit(store, &operation, 1, NULL, 0, NULL, NULL, &ticket));
    REFUSED(lethe_store_submit(store, &operation, 1, NULL, 0, &outcome, NULL, NULL));
    lethe_mark unnamed = {.name = nothing, .value = {"1", 1}};
    lethe_mark valueless = {.name = {"m", 1}, .value = nothing};
    REFUSED(lethe_store_submit(store, &operation, 1, &unnamed, 1, &outcome, NULL, &ticket));
    REFUSED(lethe_store_submit(store, &operation, 1, &valueless, 1, &outcome, NULL, &ticket));
    REFUSED(lethe_store_submit_with(NULL, &operation, 1, &mark, 1, &outcome, NULL, decide, NULL,
                                    &ticket));
    REFUSED(
        lethe_store_submit_with(store, NULL, 1, &mark, 1, &outcome, NULL, decide, NULL, &ticket));
    REFUSED(lethe_store_submit_with(store, &operation, 1, NULL, 1, &outcome, NULL, decide, NULL,
                                    &ticket));
    REFUSED(lethe_store_submit_with(store, &operation, 1, &mark, 0, &outcome, NULL, decide, NULL,
                                    &ticket));
    REFUSED(
        lethe_store_submit_with(store, &operation, 1, &mark, 1, NULL, NULL, decide, NULL, &ticket));
    REFUSED(lethe_store_submit_with(store, &operation, 1, &mark, 1, &outcome, NULL, NULL, NULL,
                                    &ticket));
    REFUSED(lethe_store_submit_with(store, &operation, 1, &mark, 1, &outcome, NULL, decide, NULL,
                                    NULL));
    REFUSED(lethe_store_commit(NULL));
    REFUSED(lethe_store_wait(NULL, 1));
    REFUSED(lethe_store_set(NULL, &key, &value, 1));
    REFUSED(lethe_store_set(store, NULL, &value, 1));
    REFUSED(lethe_store_set(store, &key, NULL, 1));
    REFUSED(lethe_store_set(store, &nothing, &value, 1));
    REFUSED(lethe_store_delete(NULL, &key, 1, NULL));
    REFUSED(lethe_store_delete(store, NULL, 1, NULL));
    REFUSED(lethe_store_delete(store, &nothing, 1, NULL));
    assert_true(lethe_store_is_done(NULL, 1));
    assert_false(lethe_store_announce(NULL, &operation, 1));
    assert_false(lethe_store_announce(store, NULL, 1));
}

static void reading_refuses(void **state) {
    (void)state;
    REFUSED(lethe_store_get(NULL, &key, 1, &value, &found));
    REFUSED(lethe_store_get(store, NULL, 1, &value, &found));
    REFUSED(lethe_store_get(store, &key, 1, NULL, &found));
    REFUSED(lethe_store_get(store, &key, 1, &value, NULL));
    REFUSED(lethe_store_estimate(NULL, &key, 1, &estimate));
    REFUSED(lethe_store_estimate(store, NULL, 1, &estimate));
    REFUSED(lethe_store_estimate(store, &key, 1, NULL));
    REFUSED(lethe_store_refresh(NULL, NULL));
    REFUSED(lethe_store_each(NULL, key, see, NULL));
    REFUSED(lethe_store_each(store, nothing, see, NULL));
    REFUSED(lethe_store_each(store, key, NULL, NULL));
    REFUSED(lethe_store_top(NULL, 1, see, NULL));
    REFUSED(lethe_store_top(store, 1, NULL, NULL));
    REFUSED(lethe_store_marks(NULL, see_mark, NULL));
    REFUSED(lethe_store_marks(store, NULL, NULL));
    REFUSED(lethe_store_info(NULL, &LETHE_OPTIONS(lethe_store_stats, .folded = 0)));
    REFUSED(lethe_store_info(store, NULL));
    REFUSED(lethe_store_info(store, &unsized));
    strcpy(detail.text, "x");
    lethe_store_explain(NULL, &detail);
    assert_string_equal(detail.text, "");
    lethe_store_explain(store, NULL);
    /* A key that can't be is not there. */
    assert_ok(lethe_store_get(store, &nothing, 1, &value, &found));
    assert_false(found);
}

/* A text that no call below gives, of an earlier call that was refused. */
static void leave_words(void) {
    lethe_claim_answer answer;
    REFUSED(lethe_claim_begin(store, key, key, key, 0, &answer, NULL));
    test_store_explains(store, "a lease lasts");
}

/* The call is refused with words of its own. */
#define EXPLAINED(call, words)             \
    do {                                   \
        leave_words();                     \
        REFUSED(call);                     \
        test_store_explains(store, words); \
    } while (0)

static void each_refusal_has_words_of_its_own(void **state) {
    (void)state;
    static char long_text[2000];
    const lethe_bytes too_long = {long_text, sizeof long_text};
    const lethe_mark unnamed = {.name = nothing, .value = {"1", 1}};
    lethe_hold_answer hold_answer;
    lethe_claim claim = LETHE_INIT(lethe_claim);
    lethe_hold hold = LETHE_INIT(lethe_hold);
    const lethe_usage_query query = LETHE_INIT(lethe_usage_query);
    EXPLAINED(lethe_store_wait(store, UINT64_MAX), "no such ticket");
    EXPLAINED(lethe_store_set(store, &too_long, &value, 1), "a key has 1 to 1024 bytes");
    EXPLAINED(lethe_store_set(store, &key, NULL, 1), "NULL");
    EXPLAINED(lethe_store_delete(store, &nothing, 1, NULL), "a key has 1 to 1024 bytes");
    EXPLAINED(lethe_store_apply(store, NULL, 1, &outcome, NULL), "NULL");
    EXPLAINED(lethe_store_submit(store, &operation, 1, &unnamed, 1, &outcome, NULL, &ticket),
              "a mark has a name");
    EXPLAINED(lethe_store_submit_with(store, &operation, 1, &mark, 0, &outcome, NULL, decide, NULL,
                                      &ticket),
              "there is no mark");
    EXPLAINED(lethe_store_get(store, NULL, 1, &value, &found), "NULL");
    EXPLAINED(lethe_store_each(store, key, NULL, NULL), "NULL");
    EXPLAINED(lethe_store_top(store, 1, NULL, NULL), "NULL");
    EXPLAINED(lethe_store_marks(store, NULL, NULL), "NULL");
    EXPLAINED(lethe_store_usage(store, &query, NULL, NULL), "NULL");
    EXPLAINED(lethe_claim_get(store, too_long, &claim), "an id has 1 to 1024 bytes");
    EXPLAINED(lethe_claims_each(store, too_long, NULL, NULL), "NULL");
    EXPLAINED(lethe_claim_done(store, key, key, key, NULL), "the answer is NULL");
    EXPLAINED(lethe_hold_get(store, nothing, &hold), "an id has 1 to 1024 bytes");
    EXPLAINED(lethe_hold_place(store, NULL, &hold_answer, NULL), "NULL");
    EXPLAINED(lethe_hold_release(store, key, NULL), "NULL");
}

static bool see_row(void *context, const lethe_usage_row *row) {
    (void)context, (void)row;
    return true;
}

/* Of a store that counts per hour, and of one that does not. */
static void reading_periods_refuses(void **state) {
    (void)state;
    struct test_folder other;
    const lethe_usage_query query = LETHE_INIT(lethe_usage_query), no_size = {.size = 0};
    lethe_usage_query no_keys = query, no_prefix = query, unknown = query, half_key = query;
    no_keys.key_count = 1;
    no_prefix.prefix = nothing;
    unknown.by = "1d";
    half_key.keys = &nothing;
    half_key.key_count = 1;
    test_folder_make(&other);
    lethe_store *metered =
        test_store_open(other.path, (lethe_store_options){.create = true, .per = "1h"});
    REFUSED(lethe_store_resolution(NULL, "1h", &place));
    REFUSED(lethe_store_resolution(metered, NULL, &place));
    REFUSED(lethe_store_resolution(metered, "1h", NULL));
    REFUSED(lethe_store_usage(NULL, &query, see_row, NULL));
    REFUSED(lethe_store_usage(metered, &query, NULL, NULL));
    REFUSED(lethe_store_usage(metered, &no_size, see_row, NULL));
    REFUSED(lethe_store_usage(metered, &no_keys, see_row, NULL));
    REFUSED(lethe_store_usage(metered, &no_prefix, see_row, NULL));
    REFUSED(lethe_store_usage(metered, &half_key, see_row, NULL));
    REFUSED(lethe_store_usage(metered, &unknown, see_row, NULL));
    test_store_explains(metered, "1d");
    REFUSED(lethe_store_usage(store, &query, see_row, NULL));
    REFUSED(lethe_store_top_at(NULL, "1h", 1, 1, see, NULL));
    REFUSED(lethe_store_top_at(metered, "1h", 1, 1, NULL, NULL));
    REFUSED(lethe_store_top_at(store, NULL, 1, 1, see, NULL));
    REFUSED(lethe_store_usage_reach(NULL, "1h", &kept_ms, &whole_ms));
    REFUSED(lethe_store_usage_reach(metered, "1h", NULL, &whole_ms));
    REFUSED(lethe_store_usage_reach(metered, "1h", &kept_ms, NULL));
    REFUSED(lethe_store_usage_reach(store, NULL, &kept_ms, &whole_ms));
    assert_int_equal(lethe_store_scale(NULL), 0);
    assert_ok(lethe_store_usage(metered, NULL, see_row, NULL));
    assert_ok(lethe_store_resolution(metered, "1h", &place));
    test_store_close(metered);
    test_folder_remove(&other);
}

/* After all that the store works, and nothing was counted. */
static void nothing_changed(void **state) {
    opening_refuses(state);
    writing_refuses(state);
    reading_refuses(state);
    assert_int_equal(test_store_stats(store).applied, 0);
    assert_int_equal(test_store_add(store, "a", 0), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_value(store, "k"), 1);
}

static void no_arguments_are_needed_for_nothing(void **state) {
    (void)state;
    assert_ok(lethe_store_apply(store, NULL, 0, NULL, NULL));
    assert_ok(lethe_store_submit(store, NULL, 0, NULL, 0, NULL, NULL, &ticket));
    assert_ok(lethe_store_set(store, NULL, NULL, 0));
    assert_ok(lethe_store_delete(store, NULL, 0, NULL));
    assert_ok(lethe_store_get(store, NULL, 0, NULL, NULL));
}

/* Operations that no version can decide yet, or that are half filled, among ones that count. */
static void an_operation_with_flags_is_invalid(void **state) {
    (void)state;
    lethe_change flagged = {.key = {"k", 1}, .delta = 1, .flags = 8, .max = 10};
    lethe_change bounded = {.key = {"k", 1}, .delta = 1, .resolution = 1, .min = 5, .max = 3};
    lethe_change keyless = {.key = nothing, .delta = 1};
    lethe_change both[] = {change, flagged};
    const lethe_operation operations[] = {
        {.id = {"1", 1}, .changes = &flagged, .change_count = 1},
        {.id = {"2", 1}, .changes = both, .change_count = 2},
        {.id = {"3", 1}, .changes = &change, .change_count = 1, .flags = 4},
        {.id = {"4", 1}, .changes = &change, .change_count = 1, .flags = UINT32_C(1) << 31},
        {.id = {"5", 1}, .changes = NULL, .change_count = 1},
        {.id = {"6", 1}, .changes = &keyless, .change_count = 1},
        {.id = nothing, .changes = &change, .change_count = 1},
        {.id = {"7", 1}, .changes = &bounded, .change_count = 1}, /* not looked at without flags */
    };
    enum { COUNT = sizeof operations / sizeof operations[0] };
    uint8_t outcomes[COUNT];
    int64_t values[COUNT + 1];
    assert_ok(lethe_store_apply(store, operations, COUNT, outcomes, values));
    for (size_t i = 0; i < COUNT - 1; i++) {
        assert_int_equal(outcomes[i], LETHE_OUTCOME_INVALID);
    }
    assert_int_equal(outcomes[COUNT - 1], LETHE_OUTCOME_APPLIED);
    assert_int_equal(values[COUNT], 1);
    assert_int_equal(test_store_value(store, "k"), 1);
    /* An id that was invalid is fresh when it comes again without flags. */
    assert_int_equal(test_store_add(store, "3", 0), LETHE_OUTCOME_APPLIED);
}

/* The options of a program that was compiled with a later version: ours, and a field. */
struct later_options {
    lethe_store_options ours;
    uint64_t more;
};

static void later_options_are_taken_if_they_ask_for_nothing_new(void **state) {
    (void)state;
    struct test_folder other;
    test_folder_make(&other);
    struct later_options options = {.ours = {.size = sizeof options, .create = true}};
    lethe_store *opened;
    assert_ok(lethe_store_open(other.path, &options.ours, &opened, NULL));
    test_store_close(opened);
    options.more = 1;
    assert_int_equal(lethe_store_open(other.path, &options.ours, &opened, &detail), LETHE_EINVAL);
    assert_non_null(strstr(detail.text, "does not know"));
    assert_null(opened);
    test_folder_remove(&other);
}

/* The first version of each struct, as its fields were: they are only ever added to. */
static void structs_only_grow(void **state) {
    (void)state;
    assert_int_equal(offsetof(lethe_store_options, size), 0);
    assert_int_equal(offsetof(lethe_store_options, window_ms), 8);
    assert_int_equal(offsetof(lethe_store_options, commit_operations), 64);
    assert_int_equal(offsetof(lethe_store_options, sketch_bytes), 96);
    assert_int_equal(offsetof(lethe_store_options, allocator), 136);
    assert_int_equal(offsetof(lethe_store_options, forgetful), 144);
    assert_int_equal(offsetof(lethe_store_options, scale), 152);
    assert_int_equal(offsetof(lethe_store_stats, clock_ms), 112);
    assert_int_equal(offsetof(lethe_store_stats, exact), 292);
    assert_int_equal(offsetof(lethe_store_stats, periods), 304);
    assert_int_equal(offsetof(lethe_store_health, ledger_ids), 72);
    assert_int_equal(offsetof(lethe_usage_query, size), 0);
    assert_int_equal(offsetof(lethe_usage_query, prefix), 48);
    assert_int_equal(offsetof(lethe_claim, size), 0);
    assert_int_equal(offsetof(lethe_claim, allocator), 112);
    assert_int_equal(offsetof(lethe_claims_stats, clock_ms), 48);
    assert_int_equal(offsetof(lethe_hold, size), 0);
    assert_int_equal(offsetof(lethe_hold, allocator), 120);
    assert_int_equal(offsetof(lethe_holds_stats, memory_bytes), 32);
    assert_int_equal(sizeof(lethe_change), 48);
    assert_int_equal(sizeof(lethe_operation), 48);
}

static void options_of_the_first_version_are_taken(void **state) {
    (void)state;
    enum { FIRST_BYTES = 144 };
    struct test_folder other;
    test_folder_make(&other);
    /* Just as many bytes as there were, so that a sanitizer sees one more being read. */
    lethe_store_options whole = {.size = FIRST_BYTES, .create = true, .window_ms = 5000};
    void *options = malloc(FIRST_BYTES);
    assert_non_null(options);
    memcpy(options, &whole, FIRST_BYTES);
    lethe_store *opened;
    assert_ok(lethe_store_open(other.path, options, &opened, NULL));
    assert_int_equal(test_store_stats(opened).window.window_ms, 5000);
    test_store_close(opened);
    whole.size = FIRST_BYTES - 1;
    memcpy(options, &whole, sizeof whole.size);
    assert_int_equal(lethe_store_open(other.path, options, &opened, NULL), LETHE_EINVAL);
    free(options);
    test_folder_remove(&other);
}

/* Results larger and smaller than ours: no byte is written that both don't know. */
static void results_are_written_as_far_as_both_know(void **state) {
    (void)state;
    assert_int_equal(test_store_add(store, "a", 0), LETHE_OUTCOME_APPLIED);
    struct {
        lethe_store_stats stats;
        uint64_t more;
    } later = {.stats = {.size = sizeof later}, .more = 7};
    assert_ok(lethe_store_info(store, &later.stats));
    assert_int_equal(later.stats.applied, 1);
    assert_int_equal(later.stats.size, sizeof later);
    assert_int_equal(later.more, 7);
    struct {
        lethe_store_health health;
        uint64_t more;
    } found_health = {.health = {.size = sizeof found_health}, .more = 7};
    test_store_close(store);
    assert_ok(lethe_store_check(folder.path, &found_health.health, NULL));
    assert_int_equal(found_health.health.counters, 1);
    assert_int_equal(found_health.more, 7);
    store = test_store_open(folder.path, (lethe_store_options){0});
}

static void a_ticket_that_nobody_got_is_refused(void **state) {
    (void)state;
    /* Tickets that nobody got: before the first operation, and after some. */
    for (unsigned i = 0; i < 3; i++) {
        if (i > 0) assert_ok(lethe_store_apply(store, &operation, 1, &outcome, NULL));
        REFUSED(lethe_store_wait(store, UINT64_MAX));
        assert_true(lethe_store_is_done(store, UINT64_MAX));
        assert_ok(lethe_store_wait(store, 0));
        assert_true(lethe_store_is_done(store, 0));
    }
    assert_ok(lethe_store_submit(store, &operation, 1, NULL, 0, &outcome, NULL, &ticket));
    REFUSED(lethe_store_wait(store, ticket + 1));
    assert_ok(lethe_store_wait(store, ticket));
    REFUSED(lethe_store_wait(store, ticket + 1));
    assert_true(lethe_store_is_done(store, ticket + 1));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(opening_refuses),
        TEST(writing_refuses),
        TEST(reading_refuses),
        TEST(reading_periods_refuses),
        TEST(each_refusal_has_words_of_its_own),
        TEST(nothing_changed),
        TEST(a_ticket_that_nobody_got_is_refused),
        TEST(no_arguments_are_needed_for_nothing),
        TEST(an_operation_with_flags_is_invalid),
        TEST(structs_only_grow),
        TEST(later_options_are_taken_if_they_ask_for_nothing_new),
        TEST(options_of_the_first_version_are_taken),
        TEST(results_are_written_as_far_as_both_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

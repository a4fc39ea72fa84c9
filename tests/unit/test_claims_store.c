/* Goal:   what claims owe their callers beside the rules of the model: one of many threads gets a
 *         claim, and is told when that is on disk; a completion and its operations are one step;
 *         damage is found; forgetting is a little at a time.
 * Method: threads, and commits that are held up; records removed behind the engine's back; a clock
 *         that the test sets. */
#include "support/test.h"

#include <pthread.h>
#include <rocksdb/c.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/claims/record.h"
#include "engine/disk/disk.h"
#include "lethe/claims.h"
#include "support/store.h"
#include "support/store_records.h"

enum { WINDOW_MS = 60000, LEASE_MS = 1000 };

static _Atomic uint64_t boot_ms = 1000000;
uint64_t __wrap_lethe_os_boot_ms(void);
uint64_t __wrap_lethe_os_boot_ms(void) {
    return boot_ms;
}

/* Commits wait while the gate is closed. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned commits;
lethe_status __real_lethe_disk_commit(lethe_disk *disk, lethe_batch *batch, lethe_detail *detail);
lethe_status __wrap_lethe_disk_commit(lethe_disk *disk, lethe_batch *batch, lethe_detail *detail);
lethe_status __wrap_lethe_disk_commit(lethe_disk *disk, lethe_batch *batch, lethe_detail *detail) {
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    commits++;
    return __real_lethe_disk_commit(disk, batch, detail);
}

static const lethe_store_options usual = {.window_ms = WINDOW_MS, .create = true};
static struct test_folder folder;

static int setup(void **state) {
    (void)state;
    test_folder_make(&folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static lethe_claim_answer begin(lethe_store *store, const char *id, const char *token) {
    lethe_claim_answer answer;
    assert_ok(lethe_claim_begin(store, test_text(id), test_text(token), (lethe_bytes){0}, LEASE_MS,
                                &answer, NULL));
    return answer;
}

static lethe_claim_answer done(lethe_store *store, const char *id, const char *token,
                               const char *reply) {
    lethe_claim_answer answer;
    assert_ok(lethe_claim_done(store, test_text(id), test_text(token), test_text(reply), &answer));
    return answer;
}

static lethe_claims_stats stats_of(lethe_store *store) {
    lethe_claims_stats stats = LETHE_INIT(lethe_claims_stats);
    assert_ok(lethe_claims_info(store, &stats));
    return stats;
}

static bool has_claims(void) {
    char path[400], *message = NULL;
    snprintf(path, sizeof path, "%s/data", folder.path);
    rocksdb_options_t *options = rocksdb_options_create();
    size_t count = 0;
    char **names = rocksdb_list_column_families(options, path, &count, &message);
    assert_null(message);
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found = found || strcmp(names[i], "claims") == 0;
    rocksdb_list_column_families_destroy(names, count);
    rocksdb_options_destroy(options);
    return found;
}

static void a_store_without_claims_stays_as_it_was(void **state) {
    (void)state;
    lethe_claim_answer answer;
    lethe_claim claim = LETHE_INIT(lethe_claim);
    lethe_store *store = test_store_open(folder.path, usual);
    assert_int_equal(test_store_add(store, "a", 0), LETHE_OUTCOME_APPLIED);
    assert_int_equal(done(store, "i", "t", ""), LETHE_CLAIM_UNKNOWN);
    assert_ok(lethe_claim_abort(store, test_text("i"), test_text("t"), &answer));
    assert_ok(lethe_claim_renew(store, test_text("i"), test_text("t"), 1, &answer));
    assert_ok(lethe_claim_get(store, test_text("i"), &claim));
    assert_int_equal(claim.state, LETHE_CLAIM_IS_NONE);
    assert_int_equal(stats_of(store).reply_limit_bytes, 256 << 20);
    test_store_close(store);
    assert_false(has_claims());
    /* The same bytes may be an id of an operation and of a claim; and meters may come later. */
    store = test_store_open(folder.path, usual);
    assert_int_equal(begin(store, "a", "t"), LETHE_CLAIM_NEW);
    assert_int_equal(test_store_add(store, "a", 0), LETHE_OUTCOME_DUPLICATE);
    test_store_close(store);
    assert_true(has_claims());
    lethe_store_options metered = usual;
    metered.per = "1h";
    store = test_store_open(folder.path, metered);
    assert_int_equal(begin(store, "a", "other"), LETHE_CLAIM_RUNNING);
    test_store_close(store);
    store = test_store_open(folder.path, usual);
    assert_int_equal(done(store, "a", "t", "r"), LETHE_CLAIM_RECORDED);
    test_store_close(store);
}

/* Goal:   a reply that is gone is told from an empty one. */
static void a_reply_that_is_gone_is_not_an_empty_one(void **state) {
    (void)state;
    lethe_claim claim = LETHE_INIT(lethe_claim);
    lethe_claim_answer answer;
    lethe_store *store = test_store_open(folder.path, usual);
    assert_ok(lethe_claims_limit(store, 1500));
    assert_int_equal(begin(store, "empty", "t"), LETHE_CLAIM_NEW);
    assert_int_equal(begin(store, "first", "t"), LETHE_CLAIM_NEW);
    assert_int_equal(begin(store, "second", "t"), LETHE_CLAIM_NEW);
    assert_int_equal(done(store, "empty", "t", ""), LETHE_CLAIM_RECORDED);
    assert_int_equal(done(store, "first", "t", "one"), LETHE_CLAIM_RECORDED);
    assert_int_equal(done(store, "second", "t", "two"), LETHE_CLAIM_RECORDED);
    test_store_close(store);
    store = test_store_open(folder.path, usual);
    assert_int_equal(stats_of(store).reply_limit_bytes, 1500);
    assert_int_equal(stats_of(store).reply_bytes, LETHE_REPLY_LEAST_BYTES);
    static const struct {
        const char *id, *reply;
        bool gone;
    } expected[] = {{"empty", "", false}, {"first", "", true}, {"second", "two", false}};
    for (size_t i = 0; i < 3; i++) {
        assert_ok(lethe_claim_begin(store, test_text(expected[i].id), test_text("x"),
                                    (lethe_bytes){0}, LEASE_MS, &answer, &claim));
        assert_int_equal(answer, LETHE_CLAIM_DONE);
        assert_int_equal(claim.reply_gone, expected[i].gone);
        assert_int_equal(claim.reply.size, strlen(expected[i].reply));
        assert_memory_equal(claim.reply.data, expected[i].reply, claim.reply.size);
        assert_int_equal(claim.token.size, 0); /* another's token is not told */
        lethe_claim_free(&claim);
    }
    /* The largest reply makes room for itself. */
    assert_ok(lethe_claims_limit(store, LETHE_REPLY_LIMIT_BYTES));
    static char large[LETHE_REPLY_LIMIT_BYTES];
    assert_int_equal(begin(store, "large", "t"), LETHE_CLAIM_NEW);
    assert_ok(lethe_claim_done(store, test_text("large"), test_text("t"),
                               (lethe_bytes){large, sizeof large}, &answer));
    assert_int_equal(stats_of(store).reply_bytes, LETHE_REPLY_LIMIT_BYTES);
    assert_ok(lethe_claim_get(store, test_text("large"), &claim));
    assert_int_equal(claim.reply.size, sizeof large);
    lethe_claim_free(&claim);
    test_store_close(store);
}

static void a_completion_and_its_operations_are_one_step(void **state) {
    (void)state;
    lethe_change change = {.key = test_text("k"), .delta = 5};
    lethe_operation operations[2] = {{.id = test_text("a"), .changes = &change, .change_count = 1},
                                     {.id = test_text("a"), .changes = &change, .change_count = 1}};
    uint8_t outcomes[2] = {99, 99};
    int64_t values[2] = {-1, -1};
    lethe_claim_answer answer;
    lethe_store_options small = usual;
    small.commit_operations = 2;
    lethe_store *store = test_store_open(folder.path, small);
    assert_int_equal(begin(store, "i", "t"), LETHE_CLAIM_NEW);
    /* Who does not hold the claim counts nothing. */
    assert_ok(lethe_claim_done_with(store, test_text("i"), test_text("x"), test_text("r"),
                                    operations, 2, outcomes, values, &answer));
    assert_int_equal(answer, LETHE_CLAIM_LOST);
    assert_int_equal(outcomes[0], 99);
    unsigned before = commits;
    assert_ok(lethe_claim_done_with(store, test_text("i"), test_text("t"), test_text("r"),
                                    operations, 2, outcomes, values, &answer));
    assert_int_equal(answer, LETHE_CLAIM_RECORDED);
    assert_int_equal(outcomes[0], LETHE_OUTCOME_APPLIED);
    assert_int_equal(outcomes[1], LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(values[0], 5);
    operations[0].id = test_text("b");
    assert_ok(lethe_claim_done_with(store, test_text("i"), test_text("t"), test_text("other"),
                                    operations, 1, outcomes, values, &answer));
    assert_int_equal(answer, LETHE_CLAIM_DUPLICATE);
    test_store_close(store);
    assert_int_equal(commits, before + 2); /* it, and the end */
    store = test_store_open(folder.path, small);
    assert_int_equal(test_store_value(store, "k"), 5);
    assert_int_equal(test_store_add(store, "b", 0), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
}

/* --- threads --- */

enum { THREADS = 6, JOBS = 40 };

struct worker {
    lethe_store *store;
    unsigned number, given;
};

static void *work(void *context) {
    struct worker *worker = context;
    char token[20], id[20];
    snprintf(token, sizeof token, "token-%u", worker->number);
    for (unsigned i = 0; i < JOBS; i++) {
        lethe_claim_answer answer;
        snprintf(id, sizeof id, "job-%u", i);
        if (lethe_claim_begin(worker->store, test_text(id), test_text(token), (lethe_bytes){0},
                              LEASE_MS, &answer, NULL) != LETHE_OK ||
            answer != LETHE_CLAIM_NEW) {
            continue;
        }
        worker->given++;
        if (lethe_claim_done(worker->store, test_text(id), test_text(token), test_text(token),
                             &answer) != LETHE_OK ||
            answer != LETHE_CLAIM_RECORDED) {
            abort();
        }
    }
    return NULL;
}

static void one_of_many_gets_a_claim(void **state) {
    (void)state;
    lethe_store *store = test_store_open(folder.path, usual);
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.store = store, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    unsigned given = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        given += workers[i].given;
    }
    assert_int_equal(given, JOBS);
    assert_int_equal(stats_of(store).done, JOBS);
    test_store_close(store);
}

/* Asks for a claim, and notes when it is answered. */
struct asker {
    lethe_store *store;
    const char *token;
    lethe_claim_answer answer;
    _Atomic bool is_answered;
};

static void *ask(void *context) {
    struct asker *asker = context;
    if (lethe_claim_begin(asker->store, test_text("i"), test_text(asker->token), (lethe_bytes){0},
                          LEASE_MS, &asker->answer, NULL) != LETHE_OK) {
        abort();
    }
    asker->is_answered = true;
    return NULL;
}

static bool is_waiting(lethe_store *store, const struct asker *asker) {
    lethe_claims_stats stats = stats_of(store);
    return stats.open == 1 && !asker->is_answered;
}

/* Goal:   nobody is told of a claim that is not on disk, not even that it is another's. */
static void answers_wait_for_what_they_rest_on(void **state) {
    (void)state;
    lethe_store *store = test_store_open(folder.path, usual);
    struct asker first = {.store = store, .token = "first"};
    struct asker second = {.store = store, .token = "second"};
    pthread_t threads[2];
    assert_int_equal(begin(store, "other", "t"), LETHE_CLAIM_NEW); /* makes the family */
    lethe_claim_answer answer;
    assert_ok(lethe_claim_abort(store, test_text("other"), test_text("t"), &answer));
    pthread_mutex_lock(&gate);
    assert_int_equal(pthread_create(&threads[0], NULL, ask, &first), 0);
    while (!is_waiting(store, &first))
        sched_yield();
    assert_int_equal(pthread_create(&threads[1], NULL, ask, &second), 0);
    const struct timespec moment = {.tv_nsec = 50000000};
    nanosleep(&moment, NULL);
    assert_false(first.is_answered);
    assert_false(second.is_answered);
    pthread_mutex_unlock(&gate);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert_int_equal(first.answer, LETHE_CLAIM_NEW);
    assert_int_equal(second.answer, LETHE_CLAIM_RUNNING);
    test_store_close(store);
}

/* --- forgetting --- */

static void forgetting_is_a_little_at_a_time(void **state) {
    (void)state;
    enum { MANY = 60 };
    lethe_store *store = test_store_open(folder.path, usual);
    char id[20];
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(id, sizeof id, "id-%u", i);
        assert_int_equal(begin(store, id, "t"), LETHE_CLAIM_NEW);
        if (i % 3 != 0) assert_int_equal(done(store, id, "t", "reply"), LETHE_CLAIM_RECORDED);
    }
    assert_int_equal(stats_of(store).open, MANY / 3);
    boot_ms += WINDOW_MS; /* not yet past it */
    assert_int_equal(begin(store, "id-1", "x"), LETHE_CLAIM_DONE);
    assert_int_equal(stats_of(store).done, MANY * 2 / 3);
    boot_ms += WINDOW_MS;
    unsigned calls = 0;
    uint64_t left = MANY;
    while (left > 0 && calls++ < 200) {
        assert_int_equal(done(store, "none", "t", ""), LETHE_CLAIM_UNKNOWN);
        uint64_t now_left = stats_of(store).open + stats_of(store).done;
        assert_true(now_left <= left && left - now_left <= 8);
        left = now_left;
    }
    assert_int_equal(left, 0);
    assert_true(calls >= MANY / 8);
    assert_int_equal(stats_of(store).reply_bytes, 0);
    test_store_close(store);
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    assert_ok(lethe_store_check(folder.path, &health, NULL));
}

/* Goal:   what is begun again after it was forgotten is not taken for what it was. */
static void a_claim_begun_anew_stays(void **state) {
    (void)state;
    static const char *const ids[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    lethe_store *store = test_store_open(folder.path, usual);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(begin(store, ids[i], "t"), LETHE_CLAIM_NEW);
        assert_int_equal(done(store, ids[i], "t", "reply"), LETHE_CLAIM_RECORDED);
    }
    boot_ms += WINDOW_MS + 1;
    assert_int_equal(begin(store, "h", "u"), LETHE_CLAIM_NEW); /* the others are forgotten first */
    assert_int_equal(stats_of(store).done, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(begin(store, "h", "v"), LETHE_CLAIM_RUNNING);
    assert_int_equal(stats_of(store).done, 0);
    assert_int_equal(done(store, "h", "u", "second"), LETHE_CLAIM_RECORDED);
    test_store_close(store);
}

/* --- damage --- */

/* A store with claims of which one record is removed. Opening it finds that a claim is missing;
 * check finds all. */
static void find_missing(lethe_bytes key, bool opens) {
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    lethe_detail detail = {""};
    lethe_store *store;
    struct test_folder own;
    test_folder_make(&own);
    store = test_store_open(own.path, usual);
    assert_int_equal(begin(store, "open", "t"), LETHE_CLAIM_NEW);
    assert_int_equal(begin(store, "over", "t"), LETHE_CLAIM_NEW);
    assert_int_equal(done(store, "over", "t", "reply"), LETHE_CLAIM_RECORDED);
    test_store_close(store);
    assert_ok(lethe_store_check(own.path, &health, &detail));
    assert_int_equal(health.claims, 2);
    test_store_write_record(own.path, LETHE_FAMILY_CLAIMS, key, (lethe_bytes){0});
    assert_int_equal(lethe_store_check(own.path, &health, &detail), LETHE_ECORRUPT);
    assert_non_null(strstr(detail.text, "restore a backup"));
    lethe_status expected = opens ? LETHE_OK : LETHE_ECORRUPT;
    assert_int_equal(test_store_try_open(own.path, usual, &store, &detail), expected);
    if (opens) test_store_close(store);
    lethe_store_options reading = {.read_only = true};
    assert_int_equal(test_store_try_open(own.path, reading, &store, &detail), expected);
    if (opens) test_store_close(store);
    test_folder_remove(&own);
}

static void damage_is_found(void **state) {
    (void)state;
    lethe_claim_key key;
    find_missing((lethe_bytes){"", 0}, false);
    find_missing(test_text("copen"), false);
    find_missing(test_text("cover"), false);
    lethe_claim_key_of_number(LETHE_CLAIM_DONE_AT, 1, &key);
    find_missing(lethe_claim_key_bytes(&key), true);
    lethe_claim_key_of_number(LETHE_CLAIM_OPEN_AT, 2, &key);
    find_missing(lethe_claim_key_bytes(&key), true);
    lethe_claim_key_of_number(LETHE_CLAIM_REPLY, 1, &key);
    find_missing(lethe_claim_key_bytes(&key), true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_store_without_claims_stays_as_it_was),
        TEST(a_reply_that_is_gone_is_not_an_empty_one),
        TEST(a_completion_and_its_operations_are_one_step),
        TEST(one_of_many_gets_a_claim),
        TEST(answers_wait_for_what_they_rest_on),
        TEST(forgetting_is_a_little_at_a_time),
        TEST(a_claim_begun_anew_stays),
        TEST(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

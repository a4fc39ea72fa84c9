/* Goal:   lethe_store_plan and lethe_cascade_plan say what stores, ledgers and cascades take,
 *         within a tenth, in every mode that they plan; and they refuse what nobody can have.
 * Method: stores get events of their own time at a steady rate for more than two W, over keys that
 *         have nothing in common; then what they report is compared with the plan, before they are
 *         closed and after they were opened again. Larger ones run with LETHE_SIZE=large. */
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tunables.h"
#include "lethe/cascade.h"
#include "support/store.h"

enum { BATCH = 4096, START_MS = 1700000000, KEY_BYTES = 24 };

/* Planned and found agree within a tenth, or within so many bytes, whatever is more. */
static void expect_near(const char *what, uint64_t planned, uint64_t found, double spare_bytes) {
    double off = (double)planned - (double)found;
    if (getenv("LETHE_PLAN_SHOW") != NULL) {
        fprintf(stderr, "%-24s planned %12llu found %12llu %+.1f%%\n", what,
                (unsigned long long)planned, (unsigned long long)found,
                100 * off / ((double)found + 1e-9));
        return;
    }
    if (fabs(off) <= fmax(0.1 * (double)found, spare_bytes)) return;
    fail_msg("%s: planned %llu, found %llu", what, (unsigned long long)planned,
             (unsigned long long)found);
}

struct feed {
    lethe_store_options options;
    lethe_store_load load;
    double windows; /* for how many W it counts */
    bool folds_often;
    bool renews; /* its window may be made again */
};

/* A key of random letters, which neither the next key nor a compressor can make much of. */
static size_t write_key(uint64_t number, char out[KEY_BYTES + 1]) {
    lethe_hash hash = lethe_hash_u64(99, number);
    return (size_t)snprintf(out, KEY_BYTES + 1, "%016llx%08llx", (unsigned long long)hash.low,
                            (unsigned long long)(hash.high & 0xffffffff));
}

static void feed_store(lethe_store *store, const struct feed *feed) {
    static lethe_operation operations[BATCH];
    static lethe_change changes[BATCH];
    static char keys[BATCH][KEY_BYTES + 1], ids[BATCH][24];
    static uint8_t outcomes[BATCH];
    double per_ms = feed->load.events_per_s / 1000;
    uint64_t ticket = 0;
    uint64_t total = (uint64_t)(per_ms * (double)feed->options.window_ms * feed->windows);
    for (uint64_t next = 0; next < total;) {
        size_t count = total - next < BATCH ? (size_t)(total - next) : BATCH;
        for (size_t i = 0; i < count; i++) {
            uint64_t key = lethe_hash_u64(3, next + i).low % feed->load.counters;
            changes[i] = (lethe_change){.key = {keys[i], write_key(key, keys[i])}, .delta = 1};
            int length = snprintf(ids[i], sizeof ids[i], "%llu", (unsigned long long)(next + i));
            operations[i] =
                (lethe_operation){.id = {ids[i], (size_t)length},
                                  .changes = &changes[i],
                                  .change_count = 1,
                                  .time_ms = START_MS + (uint64_t)((double)(next + i) / per_ms)};
        }
        assert_ok(lethe_store_submit(store, operations, count, NULL, 0, outcomes, NULL, &ticket));
        next += count;
    }
    assert_ok(lethe_store_wait(store, ticket));
}

/* What several folds wrote is merged later; on a busy machine much later. */
static void expect_folded(const char *what, uint64_t planned, const lethe_store_needs *needs,
                          uint64_t found, bool folds_often) {
    if (!folds_often && !test_is_large()) {
        expect_near(what, planned, found, 65536);
    } else if ((double)found < 0.9 * (double)planned ||
               (double)found > 2.5 * (double)(planned + needs->unmerged_bytes)) {
        fail_msg("%s: planned %llu to %llu, found %llu", what, (unsigned long long)planned,
                 (unsigned long long)(planned + needs->unmerged_bytes), (unsigned long long)found);
    }
}

/* How much more logs have than was planned: the least of all. Old ids go in whole files, when
 * RocksDB comes to it, so a log may have more for a while. It never has less. */
static double least_log_ratio = INFINITY;

static void expect_log(uint64_t planned, uint64_t found) {
    double ratio = (double)found / (double)planned;
    if (ratio < 0.9 || found > planned + ((uint64_t)64 << 20))
        fail_msg("log: planned %llu, found %llu", (unsigned long long)planned,
                 (unsigned long long)found);
    least_log_ratio = fmin(least_log_ratio, ratio);
}

/* A store whose window is made again is fed so fast that this happens whenever the machine comes to
 * it, for the ids that there are then and a quarter more. So only the limits of that are known. */
static void expect_window(const struct feed *feed, const lethe_store_needs *needs, uint64_t found) {
    if (!feed->renews) {
        expect_near("window", needs->window_bytes, found, 0);
    } else if ((double)found < 0.9 * (double)needs->window_reopened_bytes ||
               found > needs->window_peak_bytes) {
        fail_msg("window: planned %llu to %llu, found %llu",
                 (unsigned long long)needs->window_reopened_bytes,
                 (unsigned long long)needs->window_peak_bytes, (unsigned long long)found);
    }
}

static void compare_stores(const struct feed *feed, const lethe_store_needs *needs,
                           const lethe_store_stats *grown, const lethe_store_stats *again) {
    const lethe_store_options *options = &feed->options;
    expect_near("log_ids", needs->log_ids, grown->log_ids, 0);
    expect_window(feed, needs, grown->window.memory_bytes);
    expect_near("window, reopened", needs->window_reopened_bytes, again->window.memory_bytes, 0);
    expect_near("counters in memory", needs->counters_memory_bytes, grown->counters_memory_bytes,
                0);
    expect_folded("counters on disk", needs->counters_bytes, needs, again->counters_bytes,
                  feed->folds_often);
    expect_log(needs->log_bytes, again->log_bytes);
    if (options->per != NULL) {
        expect_folded("buckets on disk", needs->buckets_bytes, needs, again->buckets_bytes,
                      feed->folds_often);
    }
    if (options->exact == LETHE_SWITCH_ON) {
        /* Its thread may be about to make a run, and has others' memory to spare. */
        double run_bytes = 18.0 * (double)lethe_tune.index_tail_ids;
        expect_near("index", needs->index_memory_bytes + needs->index_bytes, again->index_bytes,
                    2 * run_bytes);
    }
    if (options->forever == LETHE_SWITCH_ON) {
        expect_near("ledger ids", needs->ledger_ids, again->ledger.ids, 0);
        expect_near("ledger on disk", needs->ledger_bytes, again->ledger.disk_bytes, 0);
        /* Its filters are made little by little. */
        expect_near("ledger in memory", needs->ledger_memory_bytes, again->ledger.memory_bytes,
                    0.5 * (double)needs->ledger_memory_bytes);
    }
}

static void compare(const char *name, struct feed feed) {
    struct test_folder folder;
    lethe_detail detail = {""};
    lethe_store_needs needs = LETHE_INIT(lethe_store_needs);
    const uint64_t fold_after_bytes = lethe_tune.fold_after_bytes;
    const uint64_t renew_ids = lethe_tune.renew_ids;
    test_folder_make(&folder);
    if (!feed.renews) lethe_tune.renew_ids = UINT64_MAX;
    if (feed.folds_often) lethe_tune.fold_after_bytes = 4 << 20;
    feed.options.size = sizeof feed.options;
    feed.options.event_time = LETHE_SWITCH_ON;
    feed.options.create = true;
    feed.options.commit_interval_ms = 50;
    feed.load.size = sizeof feed.load;
    feed.load.key_bytes = KEY_BYTES;
    feed.load.after_ms = (uint64_t)((double)feed.options.window_ms * feed.windows);
    assert_ok(lethe_store_plan(&feed.options, &feed.load, &needs, &detail));
    if (getenv("LETHE_PLAN_SHOW") != NULL) fprintf(stderr, "--- %s\n", name);

    lethe_store *store = test_store_open(folder.path, feed.options);
    feed_store(store, &feed);
    lethe_store_stats grown = test_store_stats(store);
    test_store_close(store);
    store = test_store_open(folder.path, feed.options);
    lethe_store_stats again = test_store_stats(store);
    test_store_close(store);
    test_folder_remove(&folder);
    compare_stores(&feed, &needs, &grown, &again);
    lethe_tune.fold_after_bytes = fold_after_bytes;
    lethe_tune.renew_ids = renew_ids;
}

static void stores_of_several_errors(void **state) {
    (void)state;
    const double errors[] = {1e-3, 1e-6, 1e-12};
    uint64_t keys = test_is_large() ? 400000 : 40000;
    double rate = test_is_large() ? 100000 : 15000;
    for (size_t i = 0; i < 3; i++)
        compare("error", (struct feed){.options = {.window_ms = 30000, .error = errors[i]},
                                       .load = {.events_per_s = rate, .counters = keys},
                                       .windows = 2.4});
}

static void windows_made_again(void **state) {
    (void)state;
    compare("made again", (struct feed){.options = {.window_ms = 30000, .error = 1e-6},
                                        .load = {.events_per_s = 40000, .counters = 40000},
                                        .windows = 2.4,
                                        .renews = true});
}

static void stores_in_modes(void **state) {
    (void)state;
    double rate = test_is_large() ? 100000 : 15000;
    lethe_store_load load = {.events_per_s = rate, .counters = 20000};
    compare("exact", (struct feed){.options = {.window_ms = 30000, .exact = LETHE_SWITCH_ON},
                                   .load = load,
                                   .windows = 2.3});
    compare("for ever", (struct feed){.options = {.window_ms = 30000,
                                                  .forever = LETHE_SWITCH_ON,
                                                  .ledger_memory_bytes = 2 << 20},
                                      .load = load,
                                      .windows = 3});
}

static void stores_that_count_per_period(void **state) {
    (void)state;
    lethe_store_load load = {.events_per_s = test_is_large() ? 40000 : 5000, .counters = 20000};
    compare("per", (struct feed){.options = {.window_ms = 60000, .per = "10s,1m"},
                                 .load = load,
                                 .windows = 3,
                                 .folds_often = test_is_large()});
    compare("keep", (struct feed){.options = {.window_ms = 60000, .per = "10s", .keep = "10s=1m"},
                                  .load = load,
                                  .windows = 4,
                                  .folds_often = true});
    /* Keys that are used now and then are in few of the periods. */
    load.counters = 200000;
    compare("rare keys", (struct feed){.options = {.window_ms = 60000, .per = "10s"},
                                       .load = load,
                                       .windows = 2.4,
                                       .folds_often = test_is_large()});
}

static void logs_were_freed(void **state) {
    (void)state;
    assert_true(least_log_ratio <= 1.1);
}

/* One event in each commit: a segment is more than its id. */
static void events_that_come_alone(void **state) {
    (void)state;
    enum { EVENTS = 2000 };
    struct test_folder folder;
    test_folder_make(&folder);
    const uint64_t store_log_bytes = lethe_tune.store_log_bytes;
    lethe_tune.store_log_bytes = 1 << 14;
    lethe_store_options options =
        LETHE_OPTIONS(lethe_store_options, .window_ms = EVENTS * 1000, .error = 1e-9,
                      .event_time = LETHE_SWITCH_ON, .create = true);
    lethe_store_load load =
        LETHE_OPTIONS(lethe_store_load, .events_per_s = 1, .counters = 1, .key_bytes = 1);
    lethe_store_needs needs = LETHE_INIT(lethe_store_needs);
    assert_ok(lethe_store_plan(&options, &load, &needs, NULL));
    lethe_store *store = test_store_open(folder.path, options);
    for (uint64_t i = 0; i < EVENTS; i++) {
        char id[24];
        snprintf(id, sizeof id, "%llu", (unsigned long long)i);
        assert_int_equal(test_store_add(store, id, START_MS + i * 1000), LETHE_OUTCOME_APPLIED);
    }
    /* How much of it is in tables by now depends on the machine's other work. Opening a store
     * makes tables of the rest. */
    test_store_close(store);
    store = test_store_open(folder.path, options);
    lethe_store_stats stats = test_store_stats(store);
    test_store_close(store);
    test_folder_remove(&folder);
    lethe_tune.store_log_bytes = store_log_bytes;
    expect_near("log of single events", needs.log_bytes * EVENTS / needs.log_ids, stats.log_bytes,
                16384);
}

static void cascades(void **state) {
    (void)state;
    static lethe_hash hashes[BATCH];
    const uint64_t sizes[] = {20000, 300000, 1000000, 10000000};
    for (size_t i = 0; i < (test_is_large() ? 4 : 3); i++) {
        for (int j = 0; j < 2; j++) {
            struct test_folder folder;
            test_folder_make(&folder);
            lethe_cascade_options options = LETHE_OPTIONS(
                lethe_cascade_options, .capacity = sizes[i] * (j == 0 ? 1 : 1000),
                .error = j == 0 ? 1e-3 : 1e-8, .memory_bytes = 1 << 20, .growth = j == 0 ? 4 : 2);
            lethe_cascade_needs needs = LETHE_INIT(lethe_cascade_needs);
            assert_ok(lethe_cascade_plan(&options, sizes[i], &needs));
            char path[300];
            snprintf(path, sizeof path, "%s/c", folder.path);
            lethe_cascade *cascade;
            assert_ok(lethe_cascade_open(path, &options, &cascade, NULL));
            for (uint64_t next = 0; next < sizes[i]; next += BATCH) {
                size_t count = sizes[i] - next < BATCH ? (size_t)(sizes[i] - next) : BATCH;
                for (size_t k = 0; k < count; k++)
                    hashes[k] = lethe_hash_u64(lethe_cascade_seed(cascade), next + k);
                assert_ok(lethe_cascade_add_batch(cascade, hashes, count, 0, NULL));
            }
            bool more = true;
            while (more)
                assert_ok(lethe_cascade_work(cascade, 0, 0, &more));
            lethe_cascade_stats stats = LETHE_INIT(lethe_cascade_stats);
            assert_ok(lethe_cascade_info(cascade, 0, &stats));
            assert_ok(lethe_cascade_close(cascade, NULL));
            test_folder_remove(&folder);
            /* What is in memory will be on disk. */
            double share = (double)(stats.entries - stats.memory_entries) / (double)stats.entries;
            expect_near("cascade on disk", (uint64_t)((double)needs.disk_bytes * share),
                        stats.disk_bytes, 40000);
            expect_near("cascade in memory", needs.memory_bytes, stats.memory_bytes, 0);
            assert_int_equal(needs.fingerprint_bits, stats.fingerprint_bits);
            assert_true(fabs(needs.error / stats.error_estimate - 1) < 0.01);
        }
    }
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    const lethe_store_options bad[] = {
        {.window_ms = 999},
        {.window_ms = UINT64_MAX},
        {.error = 1},
        {.error = NAN},
        {.sketch_bytes = 65536},
        {.forgetful = LETHE_SWITCH_ON},
        {.exact = LETHE_SWITCH_ON, .forever = LETHE_SWITCH_ON},
        {.check_payload = LETHE_SWITCH_ON, .forever = LETHE_SWITCH_ON},
        {.forever = LETHE_SWITCH_ON, .ledger_capacity = UINT64_MAX},
        {.forever = LETHE_SWITCH_ON, .ledger_capacity = 1000, .ledger_error = 2},
        {.per = "7m"},
        {.keep = "1h=1d"},
        {.commit_interval_ms = UINT64_MAX},
    };
    const lethe_store_load usual = LETHE_OPTIONS(lethe_store_load, .events_per_s = 1000);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        lethe_store_options options = bad[i];
        lethe_detail detail = {""};
        options.size = sizeof options;
        lethe_store_needs needs = LETHE_INIT(lethe_store_needs);
        assert_int_equal(lethe_store_plan(&options, &usual, &needs, &detail), LETHE_EINVAL);
        assert_true(detail.text[0] != '\0');
        assert_int_equal(needs.memory_bytes, 0);
    }
    const lethe_store_load loads[] = {
        {.events_per_s = 0},
        {.events_per_s = -1},
        {.events_per_s = NAN},
        {.events_per_s = INFINITY},
        {.events_per_s = 1, .key_bytes = 1025},
        {.events_per_s = 1, .counters = UINT64_MAX},
        {.events_per_s = 1, .after_ms = UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        lethe_store_load load = loads[i];
        load.size = sizeof load;
        lethe_store_needs needs = LETHE_INIT(lethe_store_needs);
        assert_int_equal(lethe_store_plan(NULL, &load, &needs, NULL), LETHE_EINVAL);
    }
    lethe_store_needs needs = LETHE_INIT(lethe_store_needs);
    assert_int_equal(lethe_store_plan(NULL, NULL, &needs, NULL), LETHE_EINVAL);
    assert_int_equal(lethe_store_plan(NULL, &usual, NULL, NULL), LETHE_EINVAL);
    lethe_store_load much = LETHE_OPTIONS(lethe_store_load, .events_per_s = 1e12);
    assert_int_equal(lethe_store_plan(NULL, &much, &needs, NULL), LETHE_EFULL);
    assert_ok(lethe_store_plan(NULL, &usual, &needs, NULL));

    lethe_cascade_needs cascade = LETHE_INIT(lethe_cascade_needs);
    assert_int_equal(lethe_cascade_plan(NULL, UINT64_MAX, &cascade), LETHE_EINVAL);
    assert_int_equal(lethe_cascade_plan(NULL, 1, NULL), LETHE_EINVAL);
    lethe_cascade_options windowed = LETHE_OPTIONS(lethe_cascade_options, .window_ms = 3600000);
    assert_int_equal(lethe_cascade_plan(&windowed, 1, &cascade), LETHE_EINVAL);
    assert_ok(lethe_cascade_plan(NULL, UINT64_C(1) << 50, &cascade));
    assert_ok(lethe_cascade_plan(NULL, 0, &cascade));
}

int main(void) {
    /* Sizes at which RocksDB writes its files, in proportion to these stores. */
    lethe_tune.store_log_bytes = test_is_large() ? (uint64_t)4 << 20 : (uint64_t)1 << 18;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_of_several_errors),
        cmocka_unit_test(windows_made_again),
        cmocka_unit_test(stores_in_modes),
        cmocka_unit_test(stores_that_count_per_period),
        cmocka_unit_test(logs_were_freed),
        cmocka_unit_test(events_that_come_alone),
        cmocka_unit_test(cascades),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests_name("plan_store", tests, NULL, NULL);
}

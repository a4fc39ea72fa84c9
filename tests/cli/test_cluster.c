/* Goal:   the simulation of servers (cli/plan/cluster.h) neither loses nor makes up events, and its
 *         queues are those of theory.
 * Method: one server beside the mean wait of M/D/1 and Little's law; clusters with failures, moves
 *         and both, of which every event is accounted for; the same options twice; options that
 *         make no sense. */
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "plan/cluster.h"

static const struct cluster_costs costs = {
    .command_s = 2e-6,
    .event_s = 1e-6,
    .wire_s = 50e-6,
    .lag_s = 200e-6,
    .fork_s_per_byte = 1e-11,
    .copy_bytes_per_s = 500e6,
    .copying = 1.5,
    .move_bytes_per_s = 500e6,
};

static struct cluster_result run(const struct cluster_options *options) {
    static struct cluster_result result;
    assert_true(cluster_run(options, &result));
    return result;
}

/* Every event that was sent is acknowledged once, and applied or lost. */
static void expect_conserved(const struct cluster_result *result) {
    assert_true(result->sent > 0);
    assert_true(result->acknowledged == result->sent);
    assert_true(result->applied + result->lost == result->sent);
}

static void waiting_is_as_in_theory(void **state) {
    (void)state;
    const double loads[] = {0.1, 0.3, 0.5, 0.7, 0.8, 0.9};
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        double takes_s = costs.command_s + 10 * costs.event_s;
        struct cluster_options options = {.seed = 11 + i,
                                          .costs = costs,
                                          .masters = 1,
                                          .partitions = 4,
                                          .events_per_command = 10,
                                          .events_per_s = 10 * loads[i] / takes_s,
                                          .length_s = 10};
        struct cluster_result result = run(&options);
        expect_conserved(&result);
        double theory_s = loads[i] * takes_s / (2 * (1 - loads[i]));
        /* Half a million commands and more; the wait varies by 1% at the highest load. */
        assert_true(fabs(result.mean_wait_s / theory_s - 1) < 0.05);
        assert_true(fabs(result.busy / loads[i] - 1) < 0.01);
        /* Little: the commands under way on average are those that come in a second, times how long
         * they stay. What stays is the mean of latencies, and its parts are known. */
        double stays_s = 2 * costs.wire_s + takes_s + result.mean_wait_s;
        assert_true(fabs(result.mean_s / stays_s - 1) < 1e-6);
        assert_true(result.p99_s > result.mean_s);
        assert_true(fabs(result.sent / (options.events_per_s * options.length_s) - 1) < 0.01);
    }
}

static struct cluster_options cluster_of(unsigned masters, double busy) {
    double takes_s = costs.command_s + 100 * costs.event_s;
    return (struct cluster_options){.seed = 5,
                                    .costs = costs,
                                    .masters = masters,
                                    .partitions = 4 * masters,
                                    .events_per_command = 100,
                                    .events_per_s = 100 * busy * masters / takes_s,
                                    .length_s = 30,
                                    .table_bytes = 100e6,
                                    .detect_s = 3,
                                    .retry_s = 0.1,
                                    .replace_s = 2};
}

static void failures_lose_only_without_wait(void **state) {
    (void)state;
    struct cluster_options options = cluster_of(4, 0.5);
    options.kill_s = 10;
    struct cluster_result trusting = run(&options);
    expect_conserved(&trusting);
    /* About what one master does within the lag. */
    double lag_events = costs.lag_s * options.events_per_s / options.masters;
    assert_true(trusting.lost > 0 && trusting.lost < 3 * lag_events + 200);
    options.waits = true;
    struct cluster_result waiting = run(&options);
    expect_conserved(&waiting);
    assert_true(waiting.lost == 0);
    /* What one master would have got in 3 s came again, or was under way when it died. */
    double missed = options.detect_s * options.events_per_s / options.masters / 100;
    assert_true(waiting.retries > 0.9 * missed && waiting.retries < 1.2 * missed);
    assert_true(waiting.repeats > 0 && waiting.repeats < 100);
    assert_true(waiting.seconds[11].acknowledged < 0.8 * waiting.seconds[8].acknowledged);
    assert_true(waiting.seconds[13].p99_s > 0.5);
    assert_true(fabs(waiting.seconds[28].acknowledged / waiting.seconds[8].acknowledged - 1) < 0.1);
}

static void tables_move_and_nothing_is_lost(void **state) {
    (void)state;
    struct cluster_options options = cluster_of(8, 0.6);
    options.move_s = 5;
    options.move_pause_s = 0.05;
    options.added = 2;
    struct cluster_result result = run(&options);
    expect_conserved(&result);
    /* A fifth of 32 tables, by their places. */
    assert_int_equal(result.moved, 6);
    assert_true(result.lost == 0 && result.retries == 0);
    double takes_s = options.table_bytes / costs.move_bytes_per_s;
    assert_true(result.seconds[5].p99_s > 0.5 * takes_s);
    assert_true(result.seconds[3].p99_s < 0.1 * takes_s);
    options.kill_s = 6;
    options.waits = true;
    result = run(&options);
    expect_conserved(&result);
    assert_true(result.lost == 0);
}

/* The master of a partition that gets most of the events is the one that is overloaded. */
static void hot_partitions_overload_one_master(void **state) {
    (void)state;
    struct cluster_options options = cluster_of(8, 0.6);
    double shares[32];
    options.length_s = 5;
    for (unsigned i = 0; i < 32; i++)
        shares[i] = i == 3 ? 10 : 1;
    options.shares = shares;
    struct cluster_result result = run(&options);
    expect_conserved(&result);
    double busiest = 0.6 * 8 * 13 / 41;
    assert_true(fabs(result.busiest / busiest - 1) < 0.05);
    assert_true(result.p99_s > 1);
}

static void the_same_comes_out_again(void **state) {
    (void)state;
    struct cluster_options options = cluster_of(3, 0.7);
    options.kill_s = 4;
    options.length_s = 10;
    static struct cluster_result one, two;
    one = run(&options);
    two = run(&options);
    assert_memory_equal(&one, &two, sizeof one);
    options.seed++;
    two = run(&options);
    assert_memory_not_equal(&one, &two, sizeof one);
}

static void nonsense_is_refused(void **state) {
    (void)state;
    struct cluster_result result;
    struct cluster_options bad[8];
    for (size_t i = 0; i < 8; i++)
        bad[i] = cluster_of(2, 0.5);
    bad[0].masters = 0;
    bad[1].partitions = CLUSTER_MOST_PARTITIONS + 1;
    bad[2].added = CLUSTER_MOST_SERVERS;
    bad[3].events_per_command = 0;
    bad[4].events_per_s = 0;
    bad[5].length_s = CLUSTER_MOST_SECONDS + 1;
    bad[6].costs.move_bytes_per_s = 0;
    bad[7].events_per_s = NAN;
    for (size_t i = 0; i < 8; i++)
        assert_false(cluster_run(&bad[i], &result));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_is_as_in_theory),
        cmocka_unit_test(failures_lose_only_without_wait),
        cmocka_unit_test(tables_move_and_nothing_is_lost),
        cmocka_unit_test(hot_partitions_overload_one_master),
        cmocka_unit_test(the_same_comes_out_again),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}

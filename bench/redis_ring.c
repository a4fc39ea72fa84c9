/* bench/redis_ring.c - counters in a real cluster, while acknowledgements are lost and a server is
 * killed.
 *
 * The experiment of Figure 14 of the paper on the forgetful Bloom filter, which is `lethe paper
 * fbf-14-real`: ten servers, every key on three of them. The same increments go to counters of
 * different kinds: one of Redis's own (INCR), and once-tables (ONCE.INCRBY) of each kind of window
 * that the module has. Three of fifty acknowledgements are lost on their way, so the client sends
 * those increments again after a fifth of a second to two seconds. In the middle, the master of the
 * counters is killed with SIGKILL, and a replica takes over. WAIT makes sure that what is
 * acknowledged is on a replica. A batch that was not acknowledged is sent again, whole.
 *
 * A row is a moment: how many increments were acknowledged, and what the counters show. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"
#include "redis_nodes.h"
#include "report.h"

enum { NODES = 10, MASTER = 1, FIRST_SLOT = 5462, LAST_SLOT = 10921 };
enum { STEP_MS = 20, PER_STEP = 10, ROW_STEPS = 25, LOST_OF_50 = 3, ANSWER_MS = 1000 };
enum { FEWEST_STEPS = 10, SPREAD_STEPS = 90, WAIT_MS = 200 }; /* until an increment is sent again */
enum { GIVE_UP_S = 30 };
enum kind { PLAIN, QUOTIENT, FORGETFUL, KINDS };

static const struct report_column columns[] = {
    {"seconds", "seconds", 8, 2},     {"expected", "expected", 9, 0},
    {"plain", "INCR", 9, 0},          {"quotient", "quotient", 9, 0},
    {"forgetful", "forgetful", 9, 0}, {"retries", "sent again", 10, 0},
    {"is_killed", "killed", 7, 0},
};

struct experiment {
    struct redis_nodes nodes;
    struct redis_link link; /* to the master */
    int master;             /* which node that is */
    char key[32];           /* of the tables and counters: they are all in one slot */
    bool has_forgetful;
    uint64_t next_id, acknowledged, retries;
    /* Ids whose acknowledgement was lost, by the step at which they are sent again. */
    struct due {
        uint64_t ids[PER_STEP * 4];
        int count;
    } * due;
    int steps;
    bool is_killed;
};

/* A key in the middle one of the masters' slots. */
static void choose_key(struct experiment *experiment) {
    for (int i = 0;; i++) {
        struct redis_answer answer;
        snprintf(experiment->key, sizeof experiment->key, "{c%d}", i);
        bench_require(redis_link_ask(&experiment->nodes.nodes[MASTER].link, &answer,
                                     "CLUSTER KEYSLOT %s", experiment->key),
                      "asking for a slot");
        if (answer.number >= FIRST_SLOT && answer.number <= LAST_SLOT) return;
    }
}

/* The module may not know KIND. Then there is no table of the forgetful kind. */
static void create_tables(struct experiment *experiment) {
    struct redis_link *link = &experiment->link;
    struct redis_answer answer;
    bool is_made =
        redis_link_ask(link, &answer, "ONCE.CREATE %s:quotient WINDOW 60000", experiment->key) &&
        answer.kind == '+';
    bench_require(is_made, "making a table");
    bench_require(redis_link_ask(link, &answer,
                                 "ONCE.CREATE %s:forgetful WINDOW 60000 KIND forgetful",
                                 experiment->key),
                  "making a table");
    experiment->has_forgetful = answer.kind == '+';
    if (!experiment->has_forgetful) {
        fprintf(stderr, "lethe-bench: this module has no KIND forgetful (%s); it is left out\n",
                answer.text);
    }
}

static void add_increments(const struct experiment *experiment, struct redis_text *text,
                           const uint64_t *ids, int count) {
    const char *key = experiment->key;
    for (int i = 0; i < count; i++) {
        unsigned long long id = ids[i];
        redis_text_add(text, "INCR %s:plain", key);
        redis_text_add(text, "ONCE.INCRBY %s:quotient client-1:%llu clicks 1", key, id);
        if (!experiment->has_forgetful) continue;
        redis_text_add(text, "ONCE.INCRBY %s:forgetful client-1:%llu clicks 1", key, id);
    }
    redis_text_add(text, "WAIT 1 %d", WAIT_MS);
}

/* Sends and reads all answers: whether everything was done, and is on a replica. */
static bool try_send(struct experiment *experiment, const struct redis_text *text) {
    struct redis_link *link = &experiment->link;
    bool is_done = link->socket >= 0 && redis_link_send(link, text->bytes, text->size);
    struct redis_answer answer = {0};
    for (unsigned i = 0; is_done && i < text->commands; i++)
        is_done = redis_link_receive(link, &answer) && answer.kind != '-';
    is_done = is_done && answer.number >= 1; /* of WAIT */
    if (!is_done) redis_link_close(link);
    return is_done;
}

/* Connects to the replica that has become the master. */
static void find_master(struct experiment *experiment) {
    for (int i = 0; i < NODES; i++) {
        const struct redis_node *node = &experiment->nodes.nodes[i];
        if (node->process == 0 || i % REDIS_MASTERS != MASTER) continue;
        struct redis_answer answer;
        bool is_master =
            redis_link_open(&experiment->link, node->port, ANSWER_MS) &&
            redis_link_ask(&experiment->link, &answer, "GET %s:plain", experiment->key) &&
            answer.kind != '-';
        if (is_master) {
            experiment->master = i;
            return;
        }
        redis_link_close(&experiment->link);
    }
    usleep(STEP_MS * 1000);
}

/* Sends a batch until it is acknowledged. */
static void send_batch(struct experiment *experiment, const uint64_t *ids, int count) {
    struct redis_text text = {0};
    add_increments(experiment, &text, ids, count);
    double deadline = bench_now() + GIVE_UP_S;
    while (!try_send(experiment, &text)) {
        bench_require(bench_now() < deadline, "waiting for another master");
        experiment->retries += (uint64_t)count;
        while (experiment->link.socket < 0 && bench_now() < deadline)
            find_master(experiment);
    }
    redis_text_free(&text);
}

static bool is_lost(uint64_t id) {
    return id % 50 * 7 % 50 < LOST_OF_50; /* spread, not in a row */
}

/* New increments, and those that are due again. */
static void step(struct experiment *experiment, int at, bool has_new) {
    uint64_t ids[sizeof experiment->due->ids / sizeof(uint64_t) + PER_STEP];
    int count = has_new ? PER_STEP : 0;
    for (int i = 0; i < count; i++)
        ids[i] = experiment->next_id++;
    struct due *due = &experiment->due[at];
    memcpy(ids + count, due->ids, (size_t)due->count * sizeof ids[0]);
    if (count + due->count == 0) return;
    send_batch(experiment, ids, count + due->count);
    experiment->acknowledged += (uint64_t)count;
    experiment->retries += (uint64_t)due->count;
    for (int i = 0; i < count; i++) {
        if (!is_lost(ids[i])) continue;
        struct due *later = &experiment->due[at + FEWEST_STEPS + (int)(ids[i] * 37 % SPREAD_STEPS)];
        bench_require(later->count < (int)(sizeof later->ids / sizeof later->ids[0]),
                      "keeping what is sent again");
        later->ids[later->count++] = ids[i];
    }
}

static double value_of(struct experiment *experiment, enum kind kind) {
    struct redis_answer answer;
    bool is_read;
    if (kind == FORGETFUL && !experiment->has_forgetful) return NAN;
    if (kind == PLAIN) {
        is_read = redis_link_ask(&experiment->link, &answer, "GET %s:plain", experiment->key);
    } else {
        is_read = redis_link_ask(&experiment->link, &answer, "ONCE.GET %s:%s clicks",
                                 experiment->key, kind == QUOTIENT ? "quotient" : "forgetful");
    }
    return is_read && answer.kind != '-' ? (double)answer.number : NAN;
}

static void print_row(struct report *report, struct experiment *experiment, double started) {
    report_row(report, (struct report_cell[]){
                           REPORT_NUMBER(bench_now() - started),
                           REPORT_NUMBER((double)experiment->acknowledged),
                           REPORT_NUMBER(value_of(experiment, PLAIN)),
                           REPORT_NUMBER(value_of(experiment, QUOTIENT)),
                           REPORT_NUMBER(value_of(experiment, FORGETFUL)),
                           REPORT_NUMBER((double)experiment->retries),
                           REPORT_NUMBER(experiment->is_killed ? 1 : 0),
                       });
}

static void run_steps(struct report *report, struct experiment *experiment) {
    double started = bench_now();
    int all = experiment->steps + FEWEST_STEPS + SPREAD_STEPS;
    for (int at = 0; at < all; at++) {
        double began = bench_now();
        if (at == experiment->steps / 2) {
            print_row(report, experiment, started);
            redis_nodes_kill(&experiment->nodes, experiment->master);
            experiment->is_killed = true;
        }
        step(experiment, at, at < experiment->steps);
        if (at % ROW_STEPS == ROW_STEPS - 1) print_row(report, experiment, started);
        double ahead = began + STEP_MS / 1000.0 - bench_now();
        if (ahead > 0) usleep((useconds_t)(ahead * 1e6));
    }
    print_row(report, experiment, started);
}

static int run(const struct bench_options *options) {
    struct report report;
    report_begin(&report, "redis-ring", options->json, columns, sizeof columns / sizeof columns[0]);
    if (redis_nodes_can_start()) {
        static struct experiment experiment;
        experiment = (struct experiment){.steps = options->quick ? 100 : 800, .master = MASTER};
        experiment.due =
            calloc((size_t)experiment.steps + FEWEST_STEPS + SPREAD_STEPS, sizeof *experiment.due);
        bench_require(experiment.due != NULL, "memory");
        redis_nodes_start_cluster(&experiment.nodes, NODES);
        choose_key(&experiment);
        bench_require(
            redis_link_open(&experiment.link, experiment.nodes.nodes[MASTER].port, ANSWER_MS),
            "connecting to a master");
        create_tables(&experiment);
        run_steps(&report, &experiment);
        redis_link_close(&experiment.link);
        redis_nodes_stop(&experiment.nodes);
        free(experiment.due);
    }
    report_end(&report);
    return 0;
}

const struct workload workload_redis_ring = {
    .name = "redis-ring",
    .summary = "counters in a cluster of ten servers while one is killed",
    .run = run,
};

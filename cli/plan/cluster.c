/* cluster.c - a discrete-event simulation of servers with once-tables.
 *
 * IDEA    Clients send commands at random moments (a Poisson process), each with a number of events
 *         for one partition. A partition is a table of one master. A master works on one command
 *         after the other, and each takes as long as its events say. So a single server is the
 *         queue that is called M/D/1, whose mean wait is known, and a test compares.
 * TIME    A list of what will happen, the next thing first. What a server does with a command is
 *         known when the command arrives: it begins when the server is free. So there is one event
 *         for each arrival, and none for its end.
 * FAILURE When the master dies is known in advance, too. A command that would end after that is not
 *         applied. One that ends within the lag before it is applied and then lost with the master,
 *         and whether anybody was told that it was applied depends on WAIT. Clients that got no
 *         answer send it again, under the same ids: what had been applied is then a duplicate.
 * I1      Each command ends in one of two ways, and acknowledged once: applied once, by servers
 *         that live; or lost. What is on its way when time ends is still seen through.
 * LIMIT   The network has no limit, clients are never the bottleneck, and a command has events of
 *         one partition only. */
#include "plan/cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/hash.h"

enum kind { NEXT, RETRY, BLOCK, MOVE, SLOW_BEGINS, SLOW_ENDS };

struct happening {
    double at_s;
    uint64_t order; /* of two at once, the one that was planned first comes first */
    enum kind kind;
    /* A retry: when it was first sent, its partition, and whether it was applied. A block: which
     * server, and for how long. */
    double since_s;
    uint32_t which;
    bool was_applied;
};

/* Latencies, in bins that are a sixteenth of a power of two wide. */
enum { BINS = 640, BINS_A_POWER = 16 };
static const double LEAST_S = 1e-7;

struct latencies {
    double sum_s;
    uint64_t count;
    uint32_t bins[BINS];
};

struct server {
    double free_at_s, worked_s;
    double slowness;
};

struct simulation {
    const struct cluster_options *options;
    struct cluster_result *result;
    struct happening *heap;
    size_t count, room;
    uint64_t order, drawn;
    bool is_short;
    unsigned server_count;
    struct server servers[CLUSTER_MOST_SERVERS];
    uint32_t owner[CLUSTER_MOST_PARTITIONS];
    double upto[CLUSTER_MOST_PARTITIONS]; /* sums of shares */
    uint32_t next_move;
    struct latencies all, *seconds;
    double waited_s;
    uint64_t served;
};

/* --- chance --- */

/* Above 0, below 1. */
static double draw(struct simulation *simulation) {
    uint64_t bits = lethe_hash_u64(simulation->options->seed, simulation->drawn++).low;
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

static uint32_t draw_partition(struct simulation *simulation) {
    double at = draw(simulation);
    uint32_t low = 0, high = simulation->options->partitions - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (simulation->upto[middle] > at) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* --- what will happen --- */

static bool is_before(const struct happening *one, const struct happening *other) {
    return one->at_s != other->at_s ? one->at_s < other->at_s : one->order < other->order;
}

static void plan(struct simulation *simulation, struct happening what) {
    if (simulation->count == simulation->room) {
        size_t room = 2 * simulation->room + 64;
        struct happening *larger = realloc(simulation->heap, room * sizeof *larger);
        simulation->is_short |= larger == NULL;
        if (larger == NULL) return;
        simulation->heap = larger;
        simulation->room = room;
    }
    what.order = simulation->order++;
    size_t at = simulation->count++;
    for (; at > 0 && is_before(&what, &simulation->heap[(at - 1) / 2]); at = (at - 1) / 2)
        simulation->heap[at] = simulation->heap[(at - 1) / 2];
    simulation->heap[at] = what;
}

static struct happening take_next(struct simulation *simulation) {
    struct happening *heap = simulation->heap, next = heap[0];
    struct happening last = heap[--simulation->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= simulation->count) break;
        if (child + 1 < simulation->count && is_before(&heap[child + 1], &heap[child])) child++;
        if (!is_before(&heap[child], &last)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return next;
}

/* --- latencies --- */

static void note(struct latencies *latencies, double seconds) {
    double power = seconds > LEAST_S ? log2(seconds / LEAST_S) * BINS_A_POWER : 0;
    size_t bin = power < BINS - 1 ? (size_t)power : BINS - 1;
    latencies->bins[bin]++;
    latencies->sum_s += seconds;
    latencies->count++;
}

static double mean_of(const struct latencies *latencies) {
    return latencies->count > 0 ? latencies->sum_s / (double)latencies->count : 0;
}

/* The middle of the bin that 99 in a hundred reach at most. */
static double p99_of(const struct latencies *latencies) {
    uint64_t rank = latencies->count - latencies->count / 100, seen = 0;
    for (size_t i = 0; i < BINS && latencies->count > 0; i++) {
        seen += latencies->bins[i];
        if (seen >= rank) return LEAST_S * exp2(((double)i + 0.5) / BINS_A_POWER);
    }
    return 0;
}

/* --- commands --- */

static bool is_dead(const struct simulation *simulation, uint32_t server, double at_s) {
    const struct cluster_options *options = simulation->options;
    return options->kill_s > 0 && server == 0 && at_s >= options->kill_s &&
           at_s < options->kill_s + options->detect_s;
}

/* Whether the master of server number 0 lives at the beginning, and is dead at the end. */
static bool dies_within(const struct simulation *simulation, uint32_t server, double from_s,
                        double to_s) {
    const struct cluster_options *options = simulation->options;
    return options->kill_s > 0 && server == 0 && from_s < options->kill_s &&
           to_s >= options->kill_s;
}

/* The client tries until there is a master again. */
static void retry(struct simulation *simulation, const struct happening *command,
                  bool was_applied) {
    const struct cluster_options *options = simulation->options;
    double back_s = options->kill_s + options->detect_s, from_s = fmax(command->at_s, back_s);
    struct happening again = *command;
    again.kind = RETRY;
    again.was_applied = command->was_applied || was_applied;
    again.at_s = from_s + draw(simulation) * options->retry_s;
    simulation->result->retries++;
    plan(simulation, again);
}

static void acknowledge(struct simulation *simulation, const struct happening *command,
                        double at_s) {
    double events = simulation->options->events_per_command;
    double latency_s = at_s - command->since_s;
    note(&simulation->all, latency_s);
    simulation->result->acknowledged += events;
    if (at_s >= CLUSTER_MOST_SECONDS || at_s >= simulation->options->length_s) return;
    note(&simulation->seconds[(size_t)at_s], latency_s);
    simulation->result->seconds[(size_t)at_s].acknowledged += events;
}

/* A command arrives at the master of its partition. */
static void arrive(struct simulation *simulation, const struct happening *command) {
    const struct cluster_options *options = simulation->options;
    const struct cluster_costs *costs = &options->costs;
    struct cluster_result *result = simulation->result;
    uint32_t number = simulation->owner[command->which];
    struct server *server = &simulation->servers[number];
    double events = options->events_per_command;
    if (is_dead(simulation, number, command->at_s)) {
        retry(simulation, command, false);
        return;
    }
    double begins_s = fmax(command->at_s, server->free_at_s);
    double takes_s = (costs->command_s + costs->event_s * events) * server->slowness;
    double ends_s = begins_s + takes_s;
    if (dies_within(simulation, number, command->at_s, ends_s)) { /* in its queue */
        retry(simulation, command, false);
        return;
    }
    server->free_at_s = ends_s;
    server->worked_s += takes_s;
    simulation->waited_s += begins_s - command->at_s;
    simulation->served++;
    double answered_s = ends_s + costs->wire_s;
    if (options->waits) answered_s += 2 * costs->lag_s;
    if (dies_within(simulation, number, ends_s, ends_s + costs->lag_s)) {
        /* Applied, and gone with the master. */
        if (options->waits || dies_within(simulation, number, ends_s, answered_s)) {
            retry(simulation, command, false);
        } else {
            result->lost += events;
            acknowledge(simulation, command, answered_s);
        }
        return;
    }
    if (command->was_applied) {
        result->repeats++;
    } else {
        result->applied += events;
    }
    if (dies_within(simulation, number, ends_s, answered_s)) { /* the answer is lost */
        retry(simulation, command, true);
        return;
    }
    acknowledge(simulation, command, answered_s);
}

/* The next command of all clients. It is on its way for wire_s. */
static void send(struct simulation *simulation, double at_s) {
    const struct cluster_options *options = simulation->options;
    if (at_s >= options->length_s) return;
    double mean_s = options->events_per_command / options->events_per_s;
    struct happening command = {
        .at_s = at_s + options->costs.wire_s, .kind = RETRY, .since_s = at_s};
    command.which = draw_partition(simulation);
    simulation->result->sent += options->events_per_command;
    simulation->result->commands++;
    plan(simulation, command);
    plan(simulation,
         (struct happening){.at_s = at_s - log(draw(simulation)) * mean_s, .kind = NEXT});
}

/* --- failures and moves --- */

static void block(struct simulation *simulation, uint32_t number, double at_s, double for_s) {
    struct server *server = &simulation->servers[number];
    server->free_at_s = fmax(server->free_at_s, at_s) + for_s;
}

/* After the failure the new master gets a replica: a fork, and a snapshot during which pages that
 * are written are copied. */
static void plan_failure(struct simulation *simulation) {
    const struct cluster_options *options = simulation->options;
    const struct cluster_costs *costs = &options->costs;
    if (!(options->kill_s > 0)) return;
    double bytes = options->table_bytes * options->partitions / options->masters;
    double fork_s = options->kill_s + options->detect_s + options->replace_s;
    double forked_s = fork_s + bytes * costs->fork_s_per_byte;
    plan(simulation, (struct happening){
                         .at_s = fork_s, .kind = BLOCK, .since_s = bytes * costs->fork_s_per_byte});
    plan(simulation, (struct happening){.at_s = forked_s, .kind = SLOW_BEGINS});
    plan(simulation,
         (struct happening){.at_s = forked_s + bytes / costs->copy_bytes_per_s, .kind = SLOW_ENDS});
}

/* Moves the next table that belongs on a new master, and plans the one after it. Partitions are
 * dealt out anew: a table moves if its place among all masters is on one of the new ones. */
static void move_next(struct simulation *simulation, double at_s) {
    const struct cluster_options *options = simulation->options;
    unsigned all = options->masters + options->added;
    while (simulation->next_move < options->partitions &&
           simulation->next_move % all < options->masters)
        simulation->next_move++;
    if (simulation->next_move >= options->partitions) return;
    uint32_t which = simulation->next_move++, to = which % all, from = simulation->owner[which];
    double takes_s = options->table_bytes / options->costs.move_bytes_per_s;
    double begins_s = fmax(simulation->servers[from].free_at_s, simulation->servers[to].free_at_s);
    begins_s = fmax(begins_s, at_s);
    block(simulation, from, begins_s, takes_s);
    block(simulation, to, begins_s, takes_s);
    simulation->owner[which] = to;
    simulation->result->moved++;
    plan(simulation,
         (struct happening){.at_s = begins_s + takes_s + options->move_pause_s, .kind = MOVE});
}

static void happen(struct simulation *simulation, const struct happening *what) {
    switch (what->kind) {
    case NEXT:
        send(simulation, what->at_s);
        break;
    case RETRY:
        arrive(simulation, what);
        break;
    case BLOCK:
        block(simulation, what->which, what->at_s, what->since_s);
        break;
    case MOVE:
        move_next(simulation, what->at_s);
        break;
    case SLOW_BEGINS:
        simulation->servers[0].slowness = simulation->options->costs.copying;
        break;
    case SLOW_ENDS:
        simulation->servers[0].slowness = 1;
        break;
    }
}

/* --- running it --- */

static bool is_sound(const struct cluster_options *options) {
    const struct cluster_costs *costs = &options->costs;
    return options->masters > 0 && options->partitions > 0 &&
           options->masters + options->added <= CLUSTER_MOST_SERVERS &&
           options->partitions <= CLUSTER_MOST_PARTITIONS && options->events_per_command > 0 &&
           options->events_per_s > 0 && options->length_s > 0 &&
           options->length_s <= CLUSTER_MOST_SECONDS && costs->command_s + costs->event_s > 0 &&
           costs->copy_bytes_per_s > 0 && costs->move_bytes_per_s > 0;
}

static void begin(struct simulation *simulation) {
    const struct cluster_options *options = simulation->options;
    double sum = 0, all = 0;
    for (unsigned i = 0; i < options->partitions; i++)
        all += options->shares != NULL ? options->shares[i] : 1;
    for (unsigned i = 0; i < options->partitions; i++) {
        sum += options->shares != NULL ? options->shares[i] : 1;
        simulation->upto[i] = sum / all;
        simulation->owner[i] = i % options->masters;
    }
    simulation->server_count = options->masters + options->added;
    for (unsigned i = 0; i < simulation->server_count; i++)
        simulation->servers[i].slowness = 1;
    plan_failure(simulation);
    if (options->move_s > 0)
        plan(simulation, (struct happening){.at_s = options->move_s, .kind = MOVE});
    plan(simulation, (struct happening){.at_s = 0, .kind = NEXT});
}

static void finish(struct simulation *simulation) {
    const struct cluster_options *options = simulation->options;
    struct cluster_result *result = simulation->result;
    result->mean_s = mean_of(&simulation->all);
    result->p99_s = p99_of(&simulation->all);
    if (simulation->served > 0)
        result->mean_wait_s = simulation->waited_s / (double)simulation->served;
    for (size_t i = 0; i < CLUSTER_MOST_SECONDS && (double)i < options->length_s; i++) {
        result->seconds[i].mean_s = mean_of(&simulation->seconds[i]);
        result->seconds[i].p99_s = p99_of(&simulation->seconds[i]);
    }
    for (unsigned i = 0; i < simulation->server_count; i++) {
        double busy = simulation->servers[i].worked_s / options->length_s;
        result->busy += busy / simulation->server_count;
        result->busiest = fmax(result->busiest, busy);
    }
}

bool cluster_run(const struct cluster_options *options, struct cluster_result *out) {
    memset(out, 0, sizeof *out);
    if (!is_sound(options)) return false;
    struct simulation *simulation = calloc(1, sizeof *simulation);
    if (simulation == NULL) return false;
    simulation->options = options;
    simulation->result = out;
    simulation->seconds = calloc(CLUSTER_MOST_SECONDS, sizeof *simulation->seconds);
    bool done = simulation->seconds != NULL;
    if (done) begin(simulation);
    while (done && simulation->count > 0 && !simulation->is_short) {
        struct happening next = take_next(simulation);
        if (next.at_s > options->length_s && next.kind != RETRY) continue;
        happen(simulation, &next);
    }
    done = done && !simulation->is_short;
    if (done) finish(simulation);
    free(simulation->heap);
    free(simulation->seconds);
    free(simulation);
    return done;
}

/* paper/ring.c - see ring.h.
 *
 * IDEA    Events in lists, one for each millisecond, taken in order. What chance decides depends on
 *         the seed and on what is decided, not on what was decided before: so an increment meets
 *         the same fate whatever filter the counter has.
 * SHARDS  A node's own shard is a sum and a clock that counts its increments. Other nodes' shards
 *         are their newest totals, by the clock. A message carries a total, not a delta, so it may
 *         come twice or late.
 * LOG     Every increment that a node leads goes to its commit log with its id. Every FLUSH_MS the
 *         shards and the filter are written to a table, and the log is emptied. A node that crashes
 *         between the two reads the table and replays the whole log: without a filter, it applies
 *         again what the table has already.
 * WHY     Section V-C reads a counter as "all the local shards, and that single remote shard which
 *         has the highest logical clock". That is right for two replicas, as in Figure 6. With
 *         three it leaves one of them out, so here the newest shard of each node counts. */
#include "paper/ring.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/hash.h"

enum { NODES = 10, REPLICAS = 3, FLUSH_MS = 5000, DOWN_MS = 200 };
/* The slowest message, the shortest time until a client sends again, and the longest. */
enum { DELAY_MS = 4, LEAST_RETRY_MS = 1000, MOST_RETRY_MS = RING_TIMEOUT_MS - 1000 };
enum { REACHED = 1, APPLIED = 2 };
enum purpose { DELAY_TO_LEADER, LEADER, RETRY, DELAY_OF_SHARD, PLACE };

struct shard {
    uint64_t clock;
    int64_t total;
};

struct shards {
    struct shard of[NODES]; /* its own is the local one */
    struct ring_filter filter;
};

struct node {
    bool is_replica, is_down, is_dead;
    struct shards memory, table;
    uint64_t *log; /* ids of the increments that it led since the log was emptied */
    size_t log_count, log_room;
};

struct event {
    enum { INCREMENT, SHARD, RESTART } kind;
    unsigned node; /* that gets it; of an increment any */
    uint64_t id;
    unsigned attempt;
    unsigned sender; /* of a shard */
    struct shard shard;
    struct event *next;
};

struct ring {
    struct ring_options options;
    struct ring_result result;
    struct node nodes[NODES];
    struct list {
        struct event *first, *last;
    } * at; /* for each millisecond */
    uint64_t now_ms, next_id, room_ms;
    uint8_t *fates; /* by id: REACHED, APPLIED */
    lethe_status status;
    unsigned first_replica, victim, crashing;
    bool victim_must_die;
};

/* A number below a limit, for one purpose and thing. */
static uint64_t draw(const struct ring *ring, enum purpose purpose, uint64_t thing,
                     uint64_t limit) {
    return lethe_hash_u64(ring->options.seed << 8 | purpose, thing).low % limit;
}

static void post(struct ring *ring, uint64_t at_ms, struct event event) {
    if (at_ms >= ring->room_ms || ring->status != LETHE_OK) return;
    struct event *posted = malloc(sizeof *posted);
    if (posted == NULL) {
        ring->status = LETHE_ENOMEM;
        return;
    }
    *posted = event;
    posted->next = NULL;
    struct list *list = &ring->at[at_ms];
    if (list->first == NULL) {
        list->first = posted;
    } else {
        list->last->next = posted;
    }
    list->last = posted;
}

static bool is_up(const struct node *node) {
    return node->is_replica && !node->is_down && !node->is_dead;
}

/* The replica that leads: one of those that are up, by chance; NODES if there is none. */
static unsigned choose_leader(const struct ring *ring, uint64_t id, unsigned attempt) {
    uint64_t chosen = draw(ring, LEADER, id << 2 | attempt, REPLICAS);
    for (unsigned pass = 0; pass < REPLICAS; pass++) {
        for (unsigned i = 0; i < NODES; i++) {
            unsigned node = (ring->first_replica + i) % NODES;
            if (is_up(&ring->nodes[node]) && chosen-- == 0) return node;
        }
    }
    return NODES;
}

static void keep_in_log(struct ring *ring, struct node *node, uint64_t id) {
    if (node->log_count == node->log_room) {
        size_t room = node->log_room == 0 ? 256 : 2 * node->log_room;
        uint64_t *grown = realloc(node->log, room * sizeof *grown);
        if (grown == NULL) {
            ring->status = LETHE_ENOMEM;
            return;
        }
        node->log = grown;
        node->log_room = room;
    }
    node->log[node->log_count++] = id;
}

/* Asks the filter of a node, which then knows the id. */
static bool is_fresh(struct ring *ring, struct node *node, uint64_t id) {
    bool fresh = false;
    lethe_status status = ring_filter_take(&node->memory.filter, id, ring->now_ms, &fresh);
    if (ring->status == LETHE_OK) ring->status = status;
    return fresh;
}

static void send_shard(struct ring *ring, unsigned from, uint64_t id, unsigned most) {
    for (unsigned to = 0; to < NODES && most > 0; to++) {
        if (to == from || !ring->nodes[to].is_replica || ring->nodes[to].is_dead) continue;
        most--;
        uint64_t delay_ms = 1 + draw(ring, DELAY_OF_SHARD, id << 4 | to, DELAY_MS);
        post(ring, ring->now_ms + delay_ms,
             (struct event){.kind = SHARD,
                            .node = to,
                            .id = id,
                            .sender = from,
                            .shard = ring->nodes[from].memory.of[from]});
    }
}

static void flush(struct ring *ring, struct node *node) {
    memcpy(node->table.of, node->memory.of, sizeof node->table.of);
    lethe_status status = ring_filter_replace(&node->table.filter, &node->memory.filter);
    if (ring->status == LETHE_OK) ring->status = status;
}

/* The next node of the ring takes the place of the dead one: it gets all shards and the filter of a
 * replica that is left. */
static void hand_over(struct ring *ring) {
    unsigned from = ring->first_replica;
    unsigned to = from;
    while (!is_up(&ring->nodes[from]))
        from = (from + 1) % NODES;
    while (ring->nodes[to].is_replica || ring->nodes[to].is_dead)
        to = (to + 1) % NODES;
    struct node *heir = &ring->nodes[to];
    memcpy(heir->memory.of, ring->nodes[from].memory.of, sizeof heir->memory.of);
    lethe_status status =
        ring_filter_replace(&heir->memory.filter, &ring->nodes[from].memory.filter);
    if (ring->status == LETHE_OK) ring->status = status;
    heir->is_replica = true;
    flush(ring, heir);
}

/* SIGKILL, as it were: memory, table and log are gone. */
static void die(struct ring *ring, unsigned node) {
    ring->nodes[node].is_dead = true;
    ring->nodes[node].is_replica = false;
    ring->victim_must_die = false;
    hand_over(ring);
}

/* The client sends again later what was not acknowledged. */
static void retry_later(struct ring *ring, const struct event *event) {
    uint64_t wait_ms = LEAST_RETRY_MS + draw(ring, RETRY, event->id << 2 | event->attempt,
                                             MOST_RETRY_MS - LEAST_RETRY_MS);
    struct event again = *event;
    again.attempt++;
    post(ring, ring->now_ms + wait_ms, again);
}

/* Whether the acknowledgement of an increment is lost: exactly that share, evenly spread. */
static bool is_lost(const struct ring *ring, uint64_t id) {
    double share = ring->options.lost_share;
    return floor((double)(id + 1) * share) > floor((double)id * share);
}

/* Counts an increment that reached a leader, and what its filter made of it. */
static void count(struct ring *ring, uint64_t id, bool fresh) {
    uint8_t *fate = &ring->fates[id];
    ring->result.expected += *fate == 0;
    ring->result.retries += *fate != 0;
    ring->result.doubled += fresh && (*fate & APPLIED) != 0;
    ring->result.dismissed += !fresh && (*fate & APPLIED) == 0;
    *fate |= REACHED | (fresh ? APPLIED : 0);
}

/* Figures 5 and 7, at the leader. */
static void increment(struct ring *ring, const struct event *event) {
    unsigned leader = choose_leader(ring, event->id, event->attempt);
    if (leader == NODES) {
        retry_later(ring, event);
        return;
    }
    struct node *node = &ring->nodes[leader];
    bool fresh = is_fresh(ring, node, event->id);
    count(ring, event->id, fresh);
    if (fresh) {
        keep_in_log(ring, node, event->id);
        node->memory.of[leader].clock++;
        node->memory.of[leader].total++;
        if (ring->victim_must_die && leader == ring->victim) {
            if (ring->options.dies_sending) {
                send_shard(ring, leader, event->id, 1);
            } else {
                ring->fates[event->id] = REACHED; /* what it did dies with it */
            }
            die(ring, leader);
            retry_later(ring, event);
            return;
        }
        send_shard(ring, leader, event->id, REPLICAS);
    }
    if (event->attempt == 0 && is_lost(ring, event->id)) retry_later(ring, event);
}

/* At a replica that is told. What comes while it is down waits (Cassandra calls that a hint). */
static void take_shard(struct ring *ring, const struct event *event) {
    struct node *node = &ring->nodes[event->node];
    if (node->is_dead) return;
    if (node->is_down) {
        post(ring, ring->now_ms + 1, *event);
        return;
    }
    (void)is_fresh(ring, node, event->id);
    struct shard *known = &node->memory.of[event->sender];
    if (event->shard.clock > known->clock) *known = event->shard;
}

/* The replica has just flushed, and crashes before its log is emptied. */
static void crash(struct ring *ring, unsigned index) {
    struct node *node = &ring->nodes[index];
    flush(ring, node);
    node->is_down = true;
    post(ring, ring->now_ms + DOWN_MS, (struct event){.kind = RESTART, .node = index});
}

static void restart(struct ring *ring, unsigned index) {
    struct node *node = &ring->nodes[index];
    memcpy(node->memory.of, node->table.of, sizeof node->memory.of);
    lethe_status status = ring_filter_replace(&node->memory.filter, &node->table.filter);
    if (ring->status == LETHE_OK) ring->status = status;
    node->is_down = false;
    for (size_t i = 0; i < node->log_count; i++) {
        if (!is_fresh(ring, node, node->log[i])) continue;
        node->memory.of[index].clock++;
        node->memory.of[index].total++;
        ring->result.replayed++;
    }
    if (node->log_count > 0) send_shard(ring, index, node->log[node->log_count - 1], REPLICAS);
    node->log_count = 0;
}

static void read_values(struct ring *ring) {
    struct shard newest[NODES] = {{0}};
    ring->result.value_to_letter = 0;
    bool is_first = true;
    for (unsigned i = 0; i < NODES; i++) {
        unsigned index = (ring->first_replica + i) % NODES;
        const struct node *node = &ring->nodes[index];
        if (!is_up(node)) continue;
        struct shard remote = {0};
        for (unsigned j = 0; j < NODES; j++) {
            const struct shard *shard = &node->memory.of[j];
            if (shard->clock > newest[j].clock) newest[j] = *shard;
            if (j != index && shard->clock > remote.clock) remote = *shard;
        }
        if (is_first) ring->result.value_to_letter = node->memory.of[index].total + remote.total;
        is_first = false;
    }
    ring->result.value = 0;
    for (unsigned j = 0; j < NODES; j++)
        ring->result.value += newest[j].total;
}

/* What happens in one millisecond. */
static void step(struct ring *ring) {
    uint64_t now_ms = ring->now_ms;
    if (now_ms == ring->options.crash_ms && now_ms > 0) crash(ring, ring->crashing);
    if (now_ms == ring->options.kill_ms && now_ms > 0) ring->victim_must_die = true;
    for (unsigned i = 0; i < NODES && now_ms % FLUSH_MS == 0; i++) {
        if (!is_up(&ring->nodes[i])) continue;
        flush(ring, &ring->nodes[i]);
        ring->nodes[i].log_count = 0;
    }
    struct list *list = &ring->at[now_ms];
    while (list->first != NULL) {
        struct event *event = list->first;
        list->first = event->next;
        if (ring->status != LETHE_OK) {
            free(event);
            continue;
        }
        if (event->kind == INCREMENT) increment(ring, event);
        if (event->kind == SHARD) take_shard(ring, event);
        if (event->kind == RESTART) restart(ring, event->node);
        free(event);
    }
}

/* Where the counter is, and who will crash and die. */
static lethe_status begin(struct ring *ring) {
    ring->first_replica = (unsigned)draw(ring, PLACE, 0, NODES);
    ring->crashing = (ring->first_replica + 1) % NODES;
    ring->victim = ring->first_replica;
    /* Retries of the last increments come after them. */
    ring->room_ms = ring->options.length_ms + RING_TIMEOUT_MS + 1;
    ring->at = calloc(ring->room_ms, sizeof *ring->at);
    lethe_status status = ring->at != NULL ? LETHE_OK : LETHE_ENOMEM;
    for (unsigned i = 0; i < NODES && status == LETHE_OK; i++) {
        struct node *node = &ring->nodes[i];
        node->is_replica = (i + NODES - ring->first_replica) % NODES < REPLICAS;
        status = ring_filter_new(ring->options.kind, &node->memory.filter);
        if (status == LETHE_OK) status = ring_filter_new(ring->options.kind, &node->table.filter);
    }
    return status;
}

/* Posts all increments, at their times. */
static lethe_status post_increments(struct ring *ring) {
    double owed = 0;
    for (uint64_t now_ms = 1; now_ms < ring->options.length_ms; now_ms++) {
        owed += ring->options.rate_at((double)now_ms / 1000) / 1000;
        for (; owed >= 1; owed--, ring->next_id++) {
            uint64_t delay_ms = draw(ring, DELAY_TO_LEADER, ring->next_id, DELAY_MS);
            post(ring, now_ms + delay_ms, (struct event){.kind = INCREMENT, .id = ring->next_id});
        }
    }
    ring->fates = calloc(ring->next_id + 1, sizeof *ring->fates);
    return ring->fates != NULL ? ring->status : LETHE_ENOMEM;
}

static void end(struct ring *ring) {
    for (uint64_t i = 0; ring->at != NULL && i < ring->room_ms; i++) {
        for (struct event *event = ring->at[i].first, *next; event != NULL; event = next) {
            next = event->next;
            free(event);
        }
    }
    for (unsigned i = 0; i < NODES; i++) {
        ring_filter_free(&ring->nodes[i].memory.filter);
        ring_filter_free(&ring->nodes[i].table.filter);
        free(ring->nodes[i].log);
    }
    free(ring->at);
    free(ring->fates);
}

lethe_status ring_run(const struct ring_options *options,
                      void (*on_second)(void *context, unsigned second,
                                        const struct ring_result *result),
                      void *context, struct ring_result *out) {
    static struct ring ring; /* large, and one runs at a time */
    ring = (struct ring){.options = *options};
    lethe_status status = begin(&ring);
    if (status == LETHE_OK) status = post_increments(&ring);
    ring.status = status;
    for (; ring.now_ms < ring.room_ms && ring.status == LETHE_OK; ring.now_ms++) {
        step(&ring);
        if (ring.now_ms == 0 || ring.now_ms % 1000 != 0) continue;
        read_values(&ring);
        if (on_second != NULL) on_second(context, (unsigned)(ring.now_ms / 1000), &ring.result);
    }
    read_values(&ring);
    *out = ring.result;
    end(&ring);
    return ring.status;
}

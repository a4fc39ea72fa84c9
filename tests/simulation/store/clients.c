/* simulation/store/clients.c - several clients that submit to one store at once.
 *
 * IDEA    Who comes first is not known, so the operations are such that it does not matter: no
 *         counter can overflow, no time moves the clock. Some ids are sent by several clients: of
 *         these exactly one is told that it was applied.
 * I1      All that was applied is judged before the duplicates: an order that the answers must make
 *         sense in.
 * I2      After a kill the store shows of each client the first n of its effects, and no others. */
#include <stdlib.h>
#include <string.h>

#include "simulation/store/verdict.h"
#include "simulation/store/world.h"

enum { CLIENTS = 4, MOST = 120, SHARED = 16, NO_ANSWER = 255, DAY_MS = 86400000 };

struct client {
    lethe_store *store;
    size_t count, piece; /* operations, and how many are submitted together */
    struct sent sent[MOST];
    lethe_operation operations[MOST];
    uint8_t outcomes[MOST];
    lethe_status status;
    unsigned thread;
};

static struct {
    size_t count;
    struct client clients[CLIENTS];
} crowd;

/* --- composing --- */

/* Whether the changes are so small that no order of them overflows. */
static bool is_small(const struct sent *sent) {
    for (size_t i = 0; i < sent->operation.change_count; i++) {
        if (llabs(sent->changes[i].delta) > 1 << 20) return false;
    }
    return true;
}

/* Whether there is room in all counters for many of those, and for their ids. */
static bool has_room(const struct model *model) {
    for (size_t i = 0; i < MODEL_KEYS; i++) {
        if (llabs(model->submitted.values[i]) > INT64_MAX - (INT64_C(1) << 40)) return false;
    }
    return model->id_count + CLIENTS * MOST * 2 <= MODEL_IDS;
}

/* A new id whose changes are small. */
static void compose_new(struct world *world, struct sent *sent) {
    do
        model_compose(&world->model, sent, world->model.id_count++, 0);
    while (!is_small(sent) && world->model.id_count < MODEL_IDS);
}

static void compose_one(struct world *world, struct sent *sent, const uint32_t *shared) {
    uint32_t id = shared[test_random_below(&world->random, SHARED)];
    if (world_one_in(world, 3)) id = (uint32_t)test_random_below(&world->random, shared[0] + 1);
    model_compose(&world->model, sent, id, 0);
    if (!is_small(sent) || world_one_in(world, 3)) compose_new(world, sent);
}

static void compose(struct world *world) {
    uint32_t shared[SHARED];
    uint64_t time_ms = world->model.clock_ms;
    if (time_ms == 0) time_ms = machine_wall_ms() - UINT64_C(200) * DAY_MS;
    for (size_t i = 0; i < SHARED; i++) {
        struct sent sent;
        compose_new(world, &sent);
        shared[i] = sent.id;
    }
    crowd.count = world->plan.clients;
    for (size_t i = 0; i < crowd.count; i++) {
        struct client *client = &crowd.clients[i];
        client->store = world->store;
        client->count = 1 + (size_t)test_random_below(&world->random, MOST);
        client->piece = (size_t)world_magnitude(world, 1, MOST);
        memset(client->outcomes, NO_ANSWER, sizeof client->outcomes);
        for (size_t j = 0; j < client->count; j++) {
            compose_one(world, &client->sent[j], shared);
            client->sent[j].operation.time_ms = time_ms;
            client->operations[j] = client->sent[j].operation;
        }
    }
}

/* --- sending --- */

static void *send(void *context) {
    struct client *client = context;
    uint64_t ticket = 0;
    client->status = LETHE_OK;
    for (size_t done = 0, some; done < client->count && client->status == LETHE_OK; done += some) {
        some = client->count - done < client->piece ? client->count - done : client->piece;
        client->status = lethe_store_submit(client->store, client->operations + done, some, NULL, 0,
                                            client->outcomes + done, NULL, &ticket);
    }
    if (client->status == LETHE_OK) client->status = lethe_store_wait(client->store, ticket);
    return NULL;
}

static void send_all(void *context) {
    (void)context;
    for (size_t i = 1; i < crowd.count; i++)
        crowd.clients[i].thread = machine_thread_start(send, &crowd.clients[i]);
    (void)send(&crowd.clients[0]);
    for (size_t i = 1; i < crowd.count; i++)
        machine_thread_join(crowd.clients[i].thread);
}

/* --- judging --- */

static void judge(struct world *world, bool applied, struct moment now, struct moment wall,
                  bool lenient) {
    for (size_t i = 0; i < crowd.count; i++) {
        const struct client *client = &crowd.clients[i];
        world->model.client = (uint8_t)(i + 1);
        for (size_t j = 0; j < client->count; j++) {
            if (client->outcomes[j] == NO_ANSWER) break;
            if ((client->outcomes[j] == LETHE_OUTCOME_APPLIED) != applied) continue;
            model_judge(&world->model, &client->sent[j], client->outcomes[j], now, wall, NULL,
                        lenient);
        }
    }
    world->model.client = 0;
}

static lethe_status worst(void) {
    for (size_t i = 0; i < crowd.count; i++) {
        if (crowd.clients[i].status != LETHE_OK) return crowd.clients[i].status;
    }
    return LETHE_OK;
}

struct settling {
    lethe_store *store;
    uint64_t ticket;
    lethe_status status;
};

static void settle(void *context) {
    struct settling *settling = context;
    settling->status = lethe_store_wait(settling->store, settling->ticket);
}

/* Waits for all that came before, so that it can't be mixed with what comes now. */
static bool settle_before(struct world *world) {
    if (world->ticket_count == 0) return true;
    struct settling settling = {.store = world->store,
                                .ticket = world->tickets[world->ticket_count - 1].ticket};
    if (!world_call(world, settle, &settling)) return false;
    if (settling.status != LETHE_OK) {
        world_excuse(world, "wait", settling.status);
        return false;
    }
    world->ticket_count = 0;
    model_acknowledge(&world->model, model_position(&world->model));
    return true;
}

void clients_apply(struct world *world) {
    world_open(world);
    if (!has_room(&world->model) || !settle_before(world)) return;
    compose(world);
    verdict_tell("        %zu clients at once", crowd.count);
    uint64_t from_ms = machine_true_ms();
    struct moment wall = {.least_ms = machine_wall_ms()};
    struct moment before = world_moment(world, from_ms, from_ms);
    bool returned = world_call(world, send_all, NULL);
    struct moment now = world_moment(world, from_ms, machine_true_ms());
    bool lenient = !returned || worst() != LETHE_OK;
    wall.most_ms = machine_wall_ms();
    judge(world, true, now, wall, lenient);
    if (!lenient) judge(world, false, now, wall, lenient);
    uint64_t time_ms = crowd.clients[0].operations[0].time_ms;
    if (world->model.rules.event_time && time_ms > world->latest_ms) world->latest_ms = time_ms;
    if (!returned) return;
    if (lenient) {
        world_excuse(world, "submit", worst());
        return;
    }
    model_acknowledge(&world->model, model_position(&world->model));
    uint64_t clock_ms = world->model.rules.event_time ? world->model.clock_ms : before.least_ms;
    if (clock_ms > world->committed_ms) world->committed_ms = clock_ms;
}

/* --- after a kill --- */

/* Whether another client has applied the same id. A call that is killed may have called an
 * operation applied before it had asked the ledger, and then the other one's is what is there. */
static bool is_shared(const struct model *model, size_t which) {
    for (size_t i = 0; i < model->effect_count; i++) {
        if (model->effects[i].which == model->effects[which].which &&
            model->effects[i].client != model->effects[which].client)
            return true;
    }
    return false;
}

void model_order(struct model *model, const struct shown *shown) {
    static uint32_t witnesses[MODEL_IDS];
    bool has_ended[CLIENTS + 1] = {false};
    if (model->effect_count == 0 || model->effects[model->effect_count - 1].client == 0) return;
    struct effect *ordered = calloc(model->effect_count, sizeof *ordered);
    bool *is_there = calloc(model->effect_count, sizeof *is_there);
    if (ordered == NULL || is_there == NULL) abort();
    for (uint32_t i = 0; i < model->id_count; i++)
        witnesses[i] = model->acknowledged.ids[i].witness;
    size_t count = 0;
    for (size_t i = 0; i < model->effect_count; i++) {
        const struct effect *effect = &model->effects[i];
        is_there[i] = witnesses[effect->which] < shown->witness[effect->which];
        if (is_there[i] && has_ended[effect->client] && is_shared(model, i)) is_there[i] = false;
        if (is_there[i] && has_ended[effect->client])
            verdict_fail("prefix", "of client %u id-%u is there, and not what came before it",
                         effect->client, effect->which);
        has_ended[effect->client] |= !is_there[i];
        witnesses[effect->which] += is_there[i];
        if (is_there[i]) ordered[count++] = *effect;
    }
    for (size_t i = 0; i < model->effect_count; i++) {
        if (!is_there[i]) ordered[count++] = model->effects[i];
    }
    memcpy(model->effects, ordered, count * sizeof *ordered);
    free(ordered);
    free(is_there);
}

/* simulation/store/talk.c - what clients of a store do: send operations, wait, set, read. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/store/serve.h"
#include "simulation/store/verdict.h"
#include "simulation/store/world.h"

enum { LARGEST = 6000, NO_ANSWER = 255, FIRST_EVENT_BEFORE_DAYS = 200 };

static uint64_t random_below(struct world *world, uint64_t n) {
    return test_random_below(&world->random, n);
}

static bool percent(struct world *world, uint32_t share) {
    return random_below(world, 100) < share;
}

/* --- composing --- */

/* An id that was sent before: a recent one, one about as old as W, or any. */
static uint32_t choose_duplicate(struct world *world) {
    const struct model *model = &world->model;
    uint32_t count = model->id_count;
    switch (random_below(world, 3)) {
    case 0:
        return count - 1 - (uint32_t)random_below(world, count < 40 ? count : 40);
    case 1:
        return (uint32_t)random_below(world, count);
    }
    struct moment now = world_moment(world, machine_true_ms(), machine_true_ms());
    uint64_t window_ms = model->rules.window_ms, nearest_ms = UINT64_MAX;
    uint32_t chosen = count - 1;
    for (unsigned i = 0; i < 20; i++) {
        uint32_t id = (uint32_t)random_below(world, count);
        const struct memory *memory = &model->submitted.ids[id];
        uint64_t age_ms = now.most_ms - memory->applied.least_ms;
        uint64_t distance_ms = age_ms > window_ms ? age_ms - window_ms : window_ms - age_ms;
        if (!memory->is_applied || distance_ms >= nearest_ms) continue;
        nearest_ms = distance_ms;
        chosen = id;
    }
    return chosen;
}

/* The time of an event, where the events before it came to *clock_ms. */
static uint64_t choose_time(struct world *world, uint64_t *clock_ms) {
    const struct plan *plan = &world->plan;
    uint64_t window_ms = plan->options.window_ms, time_ms = *clock_ms;
    uint64_t wall_ms = machine_wall_ms();
    if (time_ms == 0) time_ms = wall_ms - UINT64_C(86400000) * FIRST_EVENT_BEFORE_DAYS;
    if (percent(world, plan->late_percent)) {
        time_ms -= random_below(world, 3 * window_ms);
    } else if (percent(world, plan->ahead_percent)) {
        time_ms = (wall_ms > time_ms ? wall_ms : time_ms) +
                  random_below(world, 3 * world->model.rules.max_future_ms);
    } else if (percent(world, plan->jump_percent)) {
        time_ms += random_below(world, 2 * window_ms);
    } else {
        time_ms += random_below(world, window_ms / 500 + 2);
    }
    if (time_ms > *clock_ms && time_ms <= wall_ms) *clock_ms = time_ms;
    return time_ms;
}

struct sending {
    struct world *world;
    lethe_store *store;
    size_t count;
    bool waits, wants_values;
    struct sent sent[LARGEST];
    lethe_operation operations[LARGEST];
    uint8_t outcomes[LARGEST];
    int64_t values[LARGEST * MODEL_CHANGES];
    /* NULL: they are not prepared. */
    lethe_prepared *prepared;
    bool wants_limits, is_served;
    lethe_limit limits[LARGEST * MODEL_CHANGES];
    size_t mark_count;
    lethe_mark mark;
    char mark_name[MODEL_NAME], mark_value[MODEL_NAME];
    uint32_t mark_number;
    uint64_t ticket;
    struct answer answer, waited;
};

static struct sending sending;

static void compose(struct world *world, size_t count) {
    struct model *model = &world->model;
    uint64_t clock_ms = model->clock_ms;
    sending.mark_count = percent(world, world->plan.marks_percent);
    for (size_t i = 0; i < count; i++) {
        uint32_t id = 0;
        bool repeats = model->id_count > 0 && (percent(world, world->plan.duplicates_percent) ||
                                               model->id_count == MODEL_IDS);
        if (repeats && i > 0 && world_one_in(world, 6))
            id = sending.sent[random_below(world, i)].id;
        else if (repeats)
            id = choose_duplicate(world);
        else
            id = model->id_count++;
        uint8_t variant = repeats && percent(world, world->plan.variant_percent) ? 7 : 0;
        model_compose(model, &sending.sent[i], id, variant);
        sending.sent[i].operation.time_ms = choose_time(world, &clock_ms);
        if (world->plan.count_late_percent > 0 && percent(world, world->plan.count_late_percent))
            sending.sent[i].operation.flags = LETHE_OPERATION_COUNT_LATE;
        if (world->plan.bounds_percent > 0) bounds_draw(world, &sending.sent[i]);
        if (sending.mark_count > 0) bounds_give_up(world, &sending.sent[i]);
        sending.operations[i] = sending.sent[i].operation;
    }
    sending.count = count;
    memset(sending.outcomes, NO_ANSWER, count);
    sending.mark_number = (uint32_t)random_below(world, MODEL_MARKS);
    sending.mark.name =
        (lethe_bytes){sending.mark_name, model_mark_name(sending.mark_name, sending.mark_number)};
    sending.mark.value =
        (lethe_bytes){sending.mark_value, (size_t)snprintf(sending.mark_value, MODEL_NAME,
                                                           "%" PRIu64, world->next_mark + 1)};
}

static void send_operations(void *context) {
    struct sending *own = context;
    if (own->wants_limits) {
        own->ticket = 0;
        own->answer.status = lethe_store_apply_bounded(own->store, own->operations, own->count,
                                                       own->outcomes, own->limits);
        own->waited.status = own->answer.status;
        return;
    }
    int64_t *values = own->wants_values ? own->values : NULL;
    own->answer.status =
        own->is_served
            ? serve_events(own->store, own->world->model.rules.event_time, own->operations,
                           own->count, own->outcomes, values, &own->ticket)
        : own->prepared != NULL
            ? lethe_store_submit_prepared(own->store, own->prepared, &own->mark, own->mark_count,
                                          own->outcomes, NULL, NULL, &own->ticket)
            : lethe_store_submit(own->store, own->operations, own->count, &own->mark,
                                 own->mark_count, own->outcomes, values, &own->ticket);
    if (own->answer.status != LETHE_OK || !own->waits) return;
    own->waited.status = lethe_store_wait(own->store, own->ticket);
}

/* --- judging --- */

static void judge_all(struct world *world, struct moment now, struct moment wall, bool lenient) {
    const int64_t *values = sending.wants_values && !lenient ? sending.values : NULL;
    const lethe_limit *limits = sending.wants_limits && !lenient ? sending.limits : NULL;
    for (size_t i = 0; i < sending.count; i++) {
        if (sending.outcomes[i] == NO_ANSWER) break;
        model_judge(&world->model, &sending.sent[i], sending.outcomes[i], now, wall, values,
                    lenient);
        if (values != NULL) values += sending.operations[i].change_count;
        if (limits == NULL) continue;
        bounds_check(&sending.sent[i], sending.outcomes[i], limits);
        limits += sending.operations[i].change_count;
    }
    if (sending.mark_count > 0) model_mark(&world->model, sending.mark_number, ++world->next_mark);
    if (!world->model.rules.event_time) return;
    if (world->model.clock_ms > world->latest_ms) world->latest_ms = world->model.clock_ms;
    /* Where the answers are not known, any event may have moved the clock. */
    for (size_t i = 0; i < sending.count && lenient; i++) {
        uint64_t time_ms = sending.operations[i].time_ms;
        if (time_ms <= wall.most_ms + world->model.rules.max_future_ms &&
            time_ms > world->latest_ms)
            world->latest_ms = time_ms;
    }
}

/* Whoever is told of a ticket is told of all before it. */
static void acknowledge(struct world *world, size_t which) {
    const struct waiting *waiting = &world->tickets[which];
    model_acknowledge(&world->model, waiting->position);
    uint64_t clock_ms = world->model.rules.event_time ? waiting->clock_ms : waiting->least_ms;
    if (clock_ms > world->committed_ms) world->committed_ms = clock_ms;
    world->ticket_count -= which + 1;
    memmove(world->tickets, world->tickets + which + 1,
            world->ticket_count * sizeof *world->tickets);
}

/* Whether what was composed can be sent to the server. */
static bool can_be_served(void) {
    for (size_t i = 0; i < sending.count; i++) {
        const lethe_operation *operation = &sending.operations[i];
        if (operation->flags != 0) return false;
        for (size_t j = 0; j < operation->change_count; j++) {
            if (operation->changes[j].flags != 0) return false;
        }
    }
    return sending.mark_count == 0 && !sending.wants_limits && sending.count <= SERVE_MOST;
}

/* Half of what wants no values is prepared, in memory of its own: a kill may come at any time. */
static void prepare(void) {
    static lethe_prepared *room;
    sending.prepared = NULL;
    if (sending.wants_values || sending.wants_limits || sending.is_served || sending.count % 2 == 0)
        return;
    if (room == NULL && lethe_prepared_new(LARGEST, NULL, &room) != LETHE_OK) return;
    if (lethe_store_prepare(sending.store, sending.operations, sending.count, room) == LETHE_OK)
        sending.prepared = room;
}

void talk_apply(struct world *world, uint32_t most, bool waits) {
    world_open(world);
    if (most > LARGEST) most = LARGEST;
    compose(world, 1 + (size_t)random_below(world, most));
    sending.store = world->store;
    sending.waits = waits;
    sending.wants_limits = world->plan.bounds_percent > 0 && waits && sending.mark_count == 0 &&
                           world_one_in(world, 2);
    sending.wants_values = world_one_in(world, 2) && !sending.wants_limits;
    /* Those that come with a mark go into one commit. */
    sending.world = world;
    sending.is_served = can_be_served() && world_one_in(world, 4);
    uint32_t limit = world->plan.options.commit_operations;
    if (sending.mark_count > 0 && limit > 0 && sending.count > limit) sending.count = limit;
    prepare();
    const char *how = sending.is_served ? ", served" : sending.prepared != NULL ? ", prepared" : "";
    verdict_tell("        %zu operations, from id-%u on, %zu marks%s", sending.count,
                 sending.sent[0].id, sending.mark_count, how);
    uint64_t from_ms = machine_true_ms();
    struct moment wall = {.least_ms = machine_wall_ms()};
    struct moment before = world_moment(world, from_ms, from_ms);
    serve_expect();
    bool returned = world_call(world, send_operations, &sending);
    struct moment now = world_moment(world, from_ms, machine_true_ms());
    bool lenient = !returned || sending.answer.status != LETHE_OK;
    if (lenient && sending.is_served) serve_decided(sending.outcomes, sending.count);
    wall.most_ms = machine_wall_ms();
    judge_all(world, now, wall, lenient);
    if (!returned) return;
    if (sending.answer.status != LETHE_OK) {
        world_excuse(world, "submit", sending.answer.status);
        return;
    }
    if (world->ticket_count == TICKETS) {
        memmove(world->tickets, world->tickets + 1, (TICKETS - 1) * sizeof *world->tickets);
        world->ticket_count--;
    }
    world->tickets[world->ticket_count++] =
        (struct waiting){.ticket = sending.ticket,
                         .position = model_position(&world->model),
                         .clock_ms = world->model.clock_ms,
                         .least_ms = before.least_ms};
    if (!waits) return;
    if (sending.waited.status != LETHE_OK)
        world_excuse(world, "wait", sending.waited.status);
    else
        acknowledge(world, world->ticket_count - 1);
}

struct awaiting {
    lethe_store *store;
    uint64_t ticket;
    bool is_done, asks, hurries;
    struct answer answer;
};

static void wait_for(void *context) {
    struct awaiting *awaiting = context;
    awaiting->is_done = lethe_store_is_done(awaiting->store, awaiting->ticket);
    if (awaiting->asks && !awaiting->is_done) return;
    if (awaiting->hurries) awaiting->answer.status = lethe_store_commit(awaiting->store);
    if (awaiting->answer.status != LETHE_OK) return;
    awaiting->answer.status = lethe_store_wait(awaiting->store, awaiting->ticket);
}

void talk_wait(struct world *world) {
    if (world->store == NULL || world->ticket_count == 0) return;
    size_t which = (size_t)random_below(world, world->ticket_count);
    struct awaiting awaiting = {.store = world->store,
                                .ticket = world->tickets[which].ticket,
                                .hurries = world->tickets[which].ticket % 2 == 0,
                                .asks = world_one_in(world, 3)};
    if (!world_call(world, wait_for, &awaiting)) return;
    if (awaiting.asks && !awaiting.is_done) return;
    if (awaiting.answer.status != LETHE_OK)
        world_excuse(world, "wait", awaiting.answer.status);
    else
        acknowledge(world, which);
}

/* --- setting and reading --- */

struct setting {
    lethe_store *store;
    size_t count;
    bool deletes;
    uint32_t keys[4];
    char names[4][MODEL_NAME];
    lethe_bytes bytes[4];
    int64_t values[4];
    bool existed[4];
    struct answer answer;
};

static void set_counters(void *context) {
    struct setting *setting = context;
    setting->answer.status =
        setting->deletes
            ? lethe_store_delete(setting->store, setting->bytes, setting->count, setting->existed)
            : lethe_store_set(setting->store, setting->bytes, setting->values, setting->count);
}

void talk_set(struct world *world, bool deletes) {
    world_open(world);
    struct setting setting = {
        .store = world->store, .deletes = deletes, .count = 1 + (size_t)random_below(world, 4)};
    for (size_t i = 0; i < setting.count; i++) {
        setting.keys[i] = (uint32_t)random_below(world, MODEL_KEYS);
        setting.bytes[i] =
            (lethe_bytes){setting.names[i], model_key_name(setting.names[i], setting.keys[i])};
        setting.values[i] = (int64_t)random_below(world, 1000) - 500;
    }
    bool returned = world_call(world, set_counters, &setting);
    for (size_t i = 0; i < setting.count; i++) {
        bool existed = world->model.submitted.exists[setting.keys[i]];
        if (returned && setting.answer.status == LETHE_OK && deletes &&
            existed != setting.existed[i])
            verdict_fail("values", "delete says that shared-%u was %sthere", setting.keys[i],
                         existed ? "not " : "");
        model_set(&world->model, setting.keys[i], setting.values[i], deletes);
    }
    if (!returned) return;
    if (setting.answer.status != LETHE_OK)
        world_excuse(world, "set", setting.answer.status);
    else
        model_acknowledge(&world->model, model_position(&world->model));
}

struct reading {
    lethe_store *store;
    char name[MODEL_NAME];
    lethe_bytes key;
    int64_t value;
    bool found;
    struct shown *shown;
    struct answer answer;
};

static void read_counter(void *context) {
    struct reading *reading = context;
    reading->answer.status =
        lethe_store_get(reading->store, &reading->key, 1, &reading->value, &reading->found);
}

void talk_read(struct world *world) {
    world_open(world);
    struct model *model = &world->model;
    struct reading reading = {.store = world->store};
    bool of_witness = model->id_count > 0 && world_one_in(world, 2);
    uint32_t which = (uint32_t)random_below(world, of_witness ? model->id_count : MODEL_KEYS);
    reading.key.data = reading.name;
    reading.key.size = of_witness ? (size_t)snprintf(reading.name, MODEL_NAME, "w-%u", which)
                                  : model_key_name(reading.name, which);
    if (!world_call(world, read_counter, &reading)) return;
    if (reading.answer.status != LETHE_OK) {
        world_excuse(world, "get", reading.answer.status);
        return;
    }
    int64_t expected =
        of_witness ? model->submitted.ids[which].witness : model->submitted.values[which];
    bool exists = of_witness ? expected > 0 : model->submitted.exists[which];
    if (reading.value != expected || reading.found != exists)
        verdict_fail("reads", "%s is read as %" PRId64 ", and was submitted as %" PRId64,
                     reading.name, reading.value, expected);
}

static void list_counters(void *context) {
    struct reading *reading = context;
    reading->answer.status = world_look(reading->store, reading->shown);
}

void talk_list(struct world *world) {
    static struct shown shown;
    world_open(world);
    struct reading reading = {.store = world->store, .shown = &shown};
    if (!world_call(world, list_counters, &reading)) return;
    if (reading.answer.status != LETHE_OK) {
        world_excuse(world, "list", reading.answer.status);
        return;
    }
    /* Marks are read from disk: only what is there. */
    memcpy(shown.marks, world->model.submitted.marks, sizeof shown.marks);
    model_match_submitted(&world->model, &shown);
}

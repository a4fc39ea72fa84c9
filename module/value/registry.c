/* module/value/registry.c - which values there are, and the timer that makes them forget.
 *
 * IDEA    The server keeps the keys; it does not report to a module which of them hold the
 *         module's values. To make idle values forget, the registry has a ticket for each value,
 *         with the key that it was last known under. Values move: notifications follow RENAME,
 *         MOVE, COPY, RESTORE and SWAPDB, and a ticket is believed only if the key really holds the
 *         value whose ticket it is.
 * TIMER   On a master the timer moves a value's clock to the present when something in it has
 *         expired, and replicates that as an effect: replicas forget when their master does, and
 *         never by themselves. It works for a millisecond at a time, so that a thousand values
 *         cause no pause.
 * THREADS A value may be released in a background thread. That only marks its ticket; the timer,
 *         in the main thread, removes it.
 * SUMS    INFO has sums over all tables. Each ticket has what its value adds to them, and tickets
 *         of values that have changed since are in a list of stale ones: a change costs a few
 *         instructions, and INFO looks at those values only. A value that was removed from its key
 *         is gone from the sums at once, whenever its memory is released. RENAME and MOVE remove it
 *         too, and then give it another key, which brings it back. */
#include "value/registry.h"

#include <stdatomic.h>
#include <string.h>

#include "change/effect.h"
#include "change/listeners.h"
#include "server/settings.h"
#include "types.h"
#include "value/transfer.h"
#include "value/value.h"

enum {
    TICK_BUDGET_US = 1000,
    LARGE_BYTES = 256 << 20 /* half of what RESTORE, and so MIGRATE, can carry */
};

struct ticket {
    struct ticket *next, *previous;
    /* In the list of stale ones; NULL if it is not. */
    struct ticket *next_stale, *previous_stale;
    /* What its value has added to the sums. */
    struct tally tally;
    /* It is under no key. */
    bool is_gone;
    atomic_bool is_dropped;
    bool is_large;
    int database;
    size_t name_size;
    /* NULL while it is not known. */
    char *name;
};

struct registry_counts registry_counts;

/* A ring, with this as its beginning, and the ticket that the timer comes to next. */
static struct ticket ring = {
    .next = &ring, .previous = &ring, .next_stale = &ring, .previous_stale = &ring};
static struct ticket *upcoming = &ring;

static struct tally sums;
/* With which INFO opens keys. */
static redis_context *own_context;

/* The key that was last removed from a database: an eviction is counted if it is of that key. */
static redis_string *unlinked;

static void set_name(struct ticket *ticket, const redis_string *name, int database) {
    redis.Free(ticket->name);
    ticket->name = NULL;
    ticket->database = database;
    if (name == NULL) return;
    const char *data = redis.StringPtrLen(name, &ticket->name_size);
    ticket->name = redis.Alloc(ticket->name_size + 1);
    memcpy(ticket->name, data, ticket->name_size);
}

/* --- Sums */

static void set_tally(struct ticket *ticket, const struct tally *tally) {
    const struct tally before = ticket->tally;
    sums.tables += tally->tables - before.tables;
    sums.fresh += tally->fresh - before.fresh;
    sums.duplicates += tally->duplicates - before.duplicates;
    sums.refused += tally->refused - before.refused;
    sums.strained += tally->strained - before.strained;
    ticket->tally = *tally;
}

static void make_stale(struct ticket *ticket) {
    if (ticket->next_stale != NULL) return;
    ticket->next_stale = &ring;
    ticket->previous_stale = ring.previous_stale;
    ring.previous_stale->next_stale = ticket;
    ring.previous_stale = ticket;
}

static void make_fresh(struct ticket *ticket) {
    if (ticket->next_stale == NULL) return;
    ticket->previous_stale->next_stale = ticket->next_stale;
    ticket->next_stale->previous_stale = ticket->previous_stale;
    ticket->next_stale = ticket->previous_stale = NULL;
}

static void set_gone(struct ticket *ticket, bool is_gone) {
    static const struct tally nothing;
    if (is_gone == ticket->is_gone) return;
    ticket->is_gone = is_gone;
    registry_counts.gone += is_gone ? 1 : UINT64_MAX; /* one less */
    if (is_gone) {
        set_tally(ticket, &nothing);
        make_fresh(ticket);
    } else {
        make_stale(ticket);
    }
}

/* Takes over what a value that is under its key adds. */
static void count_in(struct ticket *ticket, const struct value *value) {
    struct tally tally = {0};
    if (value->partial == NULL && value->type->tally != NULL) value->type->tally(value, &tally);
    set_gone(ticket, false);
    set_tally(ticket, &tally);
    make_fresh(ticket);
}

void registry_touch(const struct value *value) {
    if (value->ticket != NULL && !value->ticket->is_gone) make_stale(value->ticket);
}

/* --- Tickets */

void registry_add(struct value *value, const redis_string *name, int database) {
    if (value->ticket == NULL) {
        struct ticket *ticket = redis.Alloc(sizeof *ticket);
        *ticket = (struct ticket){.next = &ring, .previous = ring.previous};
        ring.previous->next = ticket;
        ring.previous = ticket;
        value->ticket = ticket;
        registry_counts.values++;
    }
    set_name(value->ticket, name, database);
    set_gone(value->ticket, false);
    make_stale(value->ticket);
}

void registry_drop(struct value *value) {
    if (value->ticket != NULL) atomic_store(&value->ticket->is_dropped, true);
    value->ticket = NULL;
}

static void take_out(struct ticket *ticket) {
    set_gone(ticket, true);
    registry_counts.gone--;
    ticket->previous->next = ticket->next;
    ticket->next->previous = ticket->previous;
    if (upcoming == ticket) upcoming = ticket->next;
    redis.Free(ticket->name);
    redis.Free(ticket);
    registry_counts.values--;
}

static void set_unlinked(const redis_string *name) {
    if (unlinked != NULL) redis.FreeString(NULL, unlinked);
    unlinked = NULL;
    if (name == NULL) return;
    size_t size;
    const char *data = redis.StringPtrLen(name, &size);
    // cppcheck-suppress danglingLifetime
    unlinked = redis.CreateString(NULL, data, size);
}

void registry_note_replaced(const struct value *value) {
    if (value->ticket != NULL) set_gone(value->ticket, true);
}

void registry_note_unlink(const redis_string *name, const struct value *value) {
    set_unlinked(name);
    registry_note_replaced(value);
}

/* Opens the key that a ticket names. NULL unless it holds the ticket's value. The caller closes
 * it. */
static redis_key *open_ticket(redis_context *context, const struct ticket *ticket,
                              redis_string **name, struct value **value) {
    if (ticket->name == NULL || redis.SelectDb(context, ticket->database) != REDIS_OK) return NULL;
    *name = redis.CreateString(context, ticket->name, ticket->name_size);
    redis_key *key = redis.OpenKey(context, *name, REDIS_READ | REDIS_WRITE | REDIS_NO_TOUCH);
    if (key != NULL && redis.KeyType(key) == REDIS_KEY_MODULE) {
        if (type_of_handle(redis.ModuleTypeGetType(key)) != NULL) {
            *value = redis.ModuleTypeGetValue(key);
            if ((*value)->ticket == ticket) return key;
        }
    }
    if (key != NULL) redis.CloseKey(key);
    redis.FreeString(context, *name);
    return NULL;
}

struct tally registry_sums(void) {
    for (struct ticket *ticket = ring.next_stale, *next; ticket != &ring; ticket = next) {
        next = ticket->next_stale;
        redis_string *name;
        struct value *value;
        redis_key *key = open_ticket(own_context, ticket, &name, &value);
        if (key == NULL) continue; /* it is being loaded, or is about to be released */
        count_in(ticket, value);
        redis.CloseKey(key);
        redis.FreeString(own_context, name);
    }
    return sums;
}

/* Warns once about a value that is becoming too large for a cluster to move. */
static void warn_if_large(redis_context *context, struct ticket *ticket, const redis_string *name,
                          size_t bytes) {
    bool is_large = bytes > LARGE_BYTES;
    if (is_large == ticket->is_large) return;
    ticket->is_large = is_large;
    registry_counts.large += is_large ? 1 : -1;
    if (!is_large) return;
    redis.Log(context, "warning",
              "%s takes more than 256 MiB: beyond 512 MB it can't be moved to another node of a "
              "cluster. Spread it over several keys by a hash of the id.",
              redis.StringPtrLen(name, NULL));
}

/* One value's turn. */
static void tick(redis_context *context, struct ticket *ticket) {
    redis_string *name;
    struct value *value;
    redis_key *key = open_ticket(context, ticket, &name, &value);
    if (key == NULL) return;
    if (value->partial == NULL) {
        uint64_t now_ms = value_time(value);
        if (!clock_is_replica && has_time(value->type) && value->type->is_due(value, now_ms)) {
            (void)value_advance(value);
            value->type->let_time_pass(value);
            struct effect effect;
            effect_begin(&effect, value);
            effect_u8(&effect, 'W');
            if (value->type->end_due != NULL) value->type->end_due(value, &effect);
            effect_send(&effect, context, name, value, EVENT_NONE);
            registry_counts.ticks++;
        }
        /* If a clock was set, or the value came from elsewhere: idle values must be right after
         * a crash, too. */
        if (!clock_is_replica && has_time(value->type)) effect_send_stamp(context, name, value);
        if (value->type->give_back != NULL) value->type->give_back(value);
        size_t bytes = value->type->memory(value);
        value->bytes = bytes;
        warn_if_large(context, ticket, name, bytes);
    }
    count_in(ticket, value);
    redis.CloseKey(key);
    redis.FreeString(context, name);
}

/* Goes on round the ring, at most once and for a bounded time. */
static void tick_some(redis_context *context) {
    uint64_t end_us = redis.MonotonicMicroseconds() + TICK_BUDGET_US;
    for (uint64_t i = registry_counts.values + 1; i > 0; i--) {
        struct ticket *ticket = upcoming;
        upcoming = upcoming->next;
        if (ticket == &ring) continue;
        if (atomic_load(&ticket->is_dropped)) {
            if (ticket->is_large) registry_counts.large--;
            take_out(ticket);
        } else {
            tick(context, ticket);
        }
        if (redis.MonotonicMicroseconds() >= end_us) return;
    }
}

static void on_timer(redis_context *context, void *data);

/* The next turn. The server's timers go by the wall clock. */
static struct {
    uint64_t timer;
    int64_t ahead_ms; /* by how much the wall clock was ahead of the monotonic one */
} next_turn;

static int64_t wall_ahead_ms(void) {
    return redis.Milliseconds() - (int64_t)(redis.MonotonicMicroseconds() / 1000);
}

static void set_timer(redis_context *context) {
    next_turn.ahead_ms = wall_ahead_ms();
    next_turn.timer = redis.CreateTimer(context, (long long)settings_tick_ms(), on_timer, NULL);
}

/* The server's own turn, by elapsed time. After the wall clock was set back, the timer would come
 * as much later: leases would not end until then. */
static void on_cron(redis_context *context, redis_event event, uint64_t kind, void *data) {
    (void)event;
    (void)kind;
    (void)data;
    if (wall_ahead_ms() >= next_turn.ahead_ms - (int64_t)settings_tick_ms()) return;
    redis.StopTimer(context, next_turn.timer, NULL);
    set_timer(context);
}

static void on_timer(redis_context *context, void *data) {
    (void)data;
    int flags = redis.GetContextFlags(context);
    clock_is_replica = (flags & REDIS_FLAG_REPLICA) != 0;
    /* During a manual failover the data must stand still, or the server stops itself. */
    bool must_wait = redis.AvoidReplicaTraffic != NULL && redis.AvoidReplicaTraffic() != 0;
    if ((flags & REDIS_FLAG_LOADING) == 0 && !must_wait) tick_some(context);
    transfer_tick();
    set_timer(context);
}

/* A key got a new name, or a new value: if it is ours, the ticket follows. */
static int on_move(redis_context *context, const char *event, redis_string *name) {
    bool is_move = strcmp(event, "rename_to") == 0 || strcmp(event, "move_to") == 0 ||
                   strcmp(event, "copy_to") == 0 || strcmp(event, "restore") == 0;
    if (!is_move) return REDIS_OK;
    redis_key *key = redis.OpenKey(context, name, REDIS_READ | REDIS_NO_TOUCH);
    if (key == NULL) return REDIS_OK;
    if (redis.KeyType(key) == REDIS_KEY_MODULE &&
        type_of_handle(redis.ModuleTypeGetType(key)) != NULL) {
        struct value *value = redis.ModuleTypeGetValue(key);
        registry_add(value, name, redis.GetSelectedDb(context));
        /* The payload's stamp is from when it was made, and the value's clock stood still until
         * it was restored. The same holds when the command is read from the log again. */
        if (strcmp(event, "restore") == 0) clock_set_stamp(value, &(struct stamp){0});
    }
    redis.CloseKey(key);
    return REDIS_OK;
}

static int on_eviction(redis_context *context, redis_string *name) {
    if (unlinked == NULL || redis.StringCompare(unlinked, name) != 0) return REDIS_OK;
    set_unlinked(NULL);
    registry_counts.evicted++;
    redis.Log(
        context, "warning",
        "%s was evicted, and the ids it remembered with it: duplicates of its operations "
        "will be applied again. Use a maxmemory-policy that spares it (noeviction, volatile-*).",
        redis.StringPtrLen(name, NULL));
    return REDIS_OK;
}

/* Whatever happens to any key, the server asks each subscription whether that is of interest: so
 * there is only one. */
static int on_keyspace(redis_context *context, int type, const char *event, redis_string *name) {
    if (type == REDIS_NOTIFY_EVICTED) return on_eviction(context, name);
    return on_move(context, event, name);
}

/* FLUSHALL, FLUSHDB, and what comes before a whole file is loaded. */
static void on_flush(redis_context *context, redis_event event, uint64_t kind, void *data) {
    (void)context;
    (void)event;
    const redis_flush *flush = data;
    if (kind != REDIS_FLUSH_BEGINS) return;
    for (struct ticket *ticket = ring.next; ticket != &ring; ticket = ticket->next) {
        if (flush->database < 0 || ticket->database == flush->database) set_gone(ticket, true);
    }
}

static void on_swap(redis_context *context, redis_event event, uint64_t kind, void *data) {
    (void)context;
    (void)event;
    (void)kind;
    const redis_swap *swap = data;
    for (struct ticket *ticket = ring.next; ticket != &ring; ticket = ticket->next) {
        if (ticket->database == swap->first) {
            ticket->database = swap->second;
        } else if (ticket->database == swap->second) {
            ticket->database = swap->first;
        }
    }
}

/* The log's effects set clocks to what they were when they were written. The time that has
 * elapsed since is counted at the end of loading. */
static void catch_up_all(redis_context *context) {
    int database = redis.GetSelectedDb(context);
    for (struct ticket *ticket = ring.next; ticket != &ring; ticket = ticket->next) {
        redis_string *name;
        struct value *value;
        redis_key *key = open_ticket(context, ticket, &name, &value);
        if (key == NULL) continue;
        value_catch_up(value);
        redis.CloseKey(key);
        redis.FreeString(context, name);
    }
    redis.SelectDb(context, database);
}

static void on_loading(redis_context *context, redis_event event, uint64_t kind, void *data) {
    (void)event;
    (void)data;
    bool has_ended = kind == REDIS_LOADING_ENDED || kind == REDIS_LOADING_FAILED;
    if (!has_ended) {
        clock_is_loading_own_file = kind != REDIS_LOADING_REPLICATION;
        return;
    }
    listeners_may_have_come();
    if (kind == REDIS_LOADING_ENDED && clock_is_loading_own_file) catch_up_all(context);
    clock_is_loading_own_file = false;
}

static void on_role(redis_context *context, redis_event event, uint64_t kind, void *data) {
    (void)context;
    (void)event;
    (void)data;
    clock_is_replica = kind == REDIS_ROLE_REPLICA;
    listeners_may_have_come();
}

bool registry_start(redis_context *context) {
    const redis_event swap = {REDIS_EVENT_SWAP_DATABASES, 1}, loading = {REDIS_EVENT_LOADING, 1},
                      role = {REDIS_EVENT_ROLE, 1}, flush = {REDIS_EVENT_FLUSH, 1},
                      cron = {REDIS_EVENT_CRON, 1};
    own_context = redis.GetDetachedThreadSafeContext(context);
    bool is_started =
        redis.SubscribeToKeyspaceEvents(context, REDIS_NOTIFY_GENERIC | REDIS_NOTIFY_EVICTED,
                                        on_keyspace) == REDIS_OK &&
        redis.SubscribeToServerEvent(context, swap, on_swap) == REDIS_OK &&
        redis.SubscribeToServerEvent(context, flush, on_flush) == REDIS_OK &&
        redis.SubscribeToServerEvent(context, loading, on_loading) == REDIS_OK &&
        redis.SubscribeToServerEvent(context, role, on_role) == REDIS_OK &&
        redis.SubscribeToServerEvent(context, cron, on_cron) == REDIS_OK;
    if (is_started) set_timer(context);
    return is_started;
}

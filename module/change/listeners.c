/* module/change/listeners.c - whether anybody gets what is replicated.
 *
 * IDEA    To replicate an effect, the server looks for its command by name and makes three strings,
 *         and only then finds that there is neither a replica nor a log. That is a quarter of what
 *         a small command takes. No function of the server says it in advance. But INFO does, and
 *         that stays true until an event that the server reports.
 * I1      A replica begins with a snapshot, and every snapshot with a fork: the server reports it
 *         before it runs another command. What was done before the fork is in the snapshot. The
 *         backlog is there from the replica's first word on, also without a fork; but what it holds
 *         from before the fork nobody can ask for, since its history has a new name.
 * I2      A server that has a backlog may be asked for all that is in it, by replicas that come
 *         back: it counts as a listener. Besides a new replica, only loading a file and another
 *         role make one, and both are reported.
 * I3      Whether there is a log is in the flags that a command reads anyway.
 * SAFETY  Whoever skips an effect calls ReplicateVerbatim instead. Should there be a listener that
 *         no event has told of, it gets the command itself: it would count the same, by a clock of
 *         its own. So nothing is lost even then.
 * LIMIT   While somebody listens, INFO is asked again after many effects, since no event says that
 *         the server has given up its backlog. */
#include "change/listeners.h"

enum { ASKED_AGAIN_AFTER = 1 << 16 };

static enum { UNKNOWN, NOBODY, SOMEBODY } state;
/* Calls since somebody was there. */
static unsigned calls;
/* The server reports every fork. */
static bool has_events;

void listeners_may_have_come(void) {
    state = UNKNOWN;
}

static void on_event(redis_context *context, redis_event event, uint64_t kind, void *data) {
    (void)context;
    (void)event;
    (void)kind;
    (void)data;
    listeners_may_have_come();
}

void listeners_start(redis_context *context) {
    const redis_event fork = {REDIS_EVENT_FORK, 1}, replica = {REDIS_EVENT_REPLICA, 1};
    has_events = redis.SubscribeToServerEvent(context, fork, on_event) == REDIS_OK &&
                 redis.SubscribeToServerEvent(context, replica, on_event) == REDIS_OK;
}

/* A field that is not there could have said anything. */
static bool is_zero(redis_server_info *info, const char *field) {
    int problem = REDIS_OK;
    unsigned long long found = redis.ServerInfoGetFieldUnsigned(info, field, &problem);
    return problem == REDIS_OK && found == 0;
}

static void ask(void) {
    redis_server_info *info = redis.GetServerInfo(NULL, "replication");
    bool is_alone = is_zero(info, "connected_slaves") && is_zero(info, "repl_backlog_active");
    redis.FreeServerInfo(NULL, info);
    state = is_alone ? NOBODY : SOMEBODY;
    calls = 0;
}

bool listeners_are_there(int flags) {
    /* Nothing is kept that is found while a file is loaded, which may end with a backlog. */
    bool may_ask = has_events && (flags & REDIS_FLAG_MASTER) != 0 &&
                   (flags & (REDIS_FLAG_AOF | REDIS_FLAG_LOADING)) == 0;
    if (!may_ask) return true;
    if (state == UNKNOWN || (state == SOMEBODY && ++calls == ASKED_AGAIN_AFTER)) ask();
    return state == SOMEBODY;
}

/* module/limits.c - how much memory a client's command may ask for at once.
 *
 * The server refuses commands that add data when its memory is used up, but asks before each command only. That is enough for
 * strings, which a client has to send; here a single number makes a filter of any size. So what a new value will take, and
 * every large block that an old one asks for when it grows, must fit into what maxmemory leaves, and a single one must not
 * be larger than lethe.largest-value. Where a value grows in pieces, each is added to what it has; the timer, which comes by every
 * now and then (registry.c), adds what names of counters take, and puts right what was given back without a change.
 *
 * All that binds clients only. What a master has done is repeated, and what was saved is loaded, whatever the limits are here:
 * meanwhile they are lifted. */
#include <inttypes.h>
#include <stdio.h>

#include "frame.h"

enum {
    PLANNED_BYTES = 1 << 20, /* smaller values are not worth the question */
    /* Nor do smaller blocks ask for the memory that is left: the server's own check is enough. */
    GROWTH_BYTES = 16 << 20,
    EVICTABLE_SHARE = 4 /* where keys may be evicted, one value may displace a quarter of all */
};

long long settings_largest_value_bytes;

static int lifted;
static bool has_refused;

/* What the value takes that is being changed, if it grows in pieces. Other threads release values: none of that is watched. */
static _Thread_local bool is_watching;
static _Thread_local uint64_t watched_bytes;
static bool has_stopped_growth;

void limits_lift(void) {
    lifted++;
}

void limits_restore(void) {
    lifted--;
}

static uint64_t field(redis_server_info *info, const char *name) {
    int problem = REDIS_OK;
    uint64_t found = redis.ServerInfoGetFieldUnsigned(info, name, &problem);
    return problem == REDIS_OK ? found : 0;
}

/* What maxmemory leaves. A server that evicts is always full: there it is a share of the whole. */
static uint64_t memory_left(void) {
    redis_server_info *info = redis.GetServerInfo(NULL, "memory");
    uint64_t most = field(info, "maxmemory"), used = field(info, "used_memory");
    redis.FreeServerInfo(NULL, info);
    if (most == 0) return UINT64_MAX;
    uint64_t left = used < most ? most - used : 0;
    bool may_evict = (redis.GetContextFlags(NULL) & REDIS_FLAG_EVICT) != 0;
    return may_evict && left < most / EVICTABLE_SHARE ? most / EVICTABLE_SHARE : left;
}

static uint64_t largest(void) {
    return settings_largest_value_bytes > 0 ? (uint64_t)settings_largest_value_bytes : UINT64_MAX;
}

bool limits_allow_block(size_t size) {
    has_refused = lifted == 0 && (watched_bytes > largest() || size > largest() - watched_bytes ||
                                  (size >= GROWTH_BYTES && size > memory_left()));
    if (is_watching && !has_refused) watched_bytes += size;
    has_stopped_growth = has_stopped_growth || (is_watching && has_refused);
    return !has_refused;
}

void limits_note_release(size_t size) {
    watched_bytes -= size < watched_bytes ? size : watched_bytes;
}

void limits_watch(const struct value *value) {
    is_watching = value->type->grows_in_pieces;
    watched_bytes = is_watching ? value->bytes : 0;
    has_stopped_growth = false;
}

void limits_unwatch(struct value *value) {
    if (is_watching) value->bytes = watched_bytes;
    is_watching = false;
    watched_bytes = 0;
}

bool limits_are_reached(const struct value *value) {
    return value->type->grows_in_pieces && value->bytes >= largest();
}

bool limits_have_refused(void) {
    bool answer = has_refused;
    has_refused = false;
    return answer;
}

bool limits_allow_value(redis_context *context, const struct value_type *type,
                        const void *options) {
    uint64_t planned = type->planned_bytes(options);
    if (planned < PLANNED_BYTES) return true;
    uint64_t most = largest(), left = memory_left();
    if (planned <= most && planned <= left) return true;
    char text[200];
    if (planned > most) {
        snprintf(text, sizeof text,
                 "ERR the %s would take %" PRIu64 " bytes, and lethe.largest-value is %" PRIu64,
                 type->noun, planned, most);
    } else {
        snprintf(text, sizeof text,
                 "OOM the %s would take %" PRIu64 " bytes, and maxmemory leaves %" PRIu64,
                 type->noun, planned, left);
    }
    reply_error(context, text);
    return false;
}

bool is_out_of_memory(redis_context *context) {
    return (redis.GetContextFlags(context) & REDIS_FLAG_OOM) != 0;
}

static const char too_large[] =
    "OOM the value is as large as lethe.largest-value or maxmemory allow; nothing was changed";

int reply_out_of_memory(redis_context *context, const struct value *value) {
    return reply_error(context, value != NULL && limits_are_reached(value)
                                    ? too_large
                                    : "OOM command not allowed when used memory > 'maxmemory'.");
}

int reply_refused(redis_context *context) {
    return has_stopped_growth ? reply_error(context, too_large)
                              : reply_status(context, LETHE_EFULL);
}

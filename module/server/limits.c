/* module/server/limits.c - how much memory a client's command may ask for at once.
 *
 * IDEA    The server refuses commands that add data when its memory is used up, but it checks
 *         before a command only. That is enough for strings, which a client has to send; here a
 *         single number makes a filter of any size. So the planned size of a new value, and
 *         every large block that an old one asks for when it grows, must fit into what maxmemory
 *         leaves, and no value may be larger than lethe.largest-value.
 * GROWTH  Where a value grows in pieces, each is added to its size while it is watched, and after
 *         every 16 MiB that one command takes, the memory that is left is looked at: each piece
 *         alone is small, but an id may need one, and a command has many ids. The
 *         timer (registry.c) adds the memory of counters' names, and corrects for what was given
 *         back without a change.
 * I1      All of this binds clients only. What a master has done is repeated, and what was saved
 *         is loaded, whatever the limits are here: they are lifted meanwhile. */
#include "server/limits.h"
#include "server/errors.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/reply.h"
#include "server/settings.h"
#include "value/value.h"

enum {
    PLANNED_BYTES = 1 << 20, /* smaller values are not checked */
    /* Less than that is not compared with the memory that is left: the server's own check is
     * enough. */
    GROWTH_BYTES = 16 << 20,
    EVICTABLE_SHARE = 4 /* where keys may be evicted, one value may displace a quarter of all */
};

static int lifted;
static bool is_denied;
static bool has_refused;

/* The value that is being changed, if it grows in pieces. Other threads release values, which are
 * not this one: only the main thread looks at it. */
static struct value *watched;
static _Thread_local bool is_main_thread;
static bool has_stopped_growth;
/* What the change under way has taken, and how much of it since memory was last looked at. */
static uint64_t grown, grown_unseen;

void limits_start(void) {
    is_main_thread = true;
}

void limits_lift(void) {
    lifted++;
}

void limits_restore(void) {
    lifted--;
}

void limits_deny(bool is_on) {
    is_denied = is_on;
}

static uint64_t field(redis_server_info *info, const char *name) {
    int problem = REDIS_OK;
    uint64_t found = redis.ServerInfoGetFieldUnsigned(info, name, &problem);
    return problem == REDIS_OK ? found : 0;
}

/* What maxmemory leaves. A server that evicts is always full: there it is a share of the whole, of
 * which so much has been taken. */
static uint64_t memory_left(uint64_t taken) {
    redis_server_info *info = redis.GetServerInfo(NULL, "memory");
    uint64_t most = field(info, "maxmemory"), used = field(info, "used_memory");
    redis.FreeServerInfo(NULL, info);
    if (most == 0) return UINT64_MAX;
    uint64_t left = used < most ? most - used : 0;
    bool may_evict = (redis.GetContextFlags(NULL) & REDIS_FLAG_EVICT) != 0;
    uint64_t share = most / EVICTABLE_SHARE;
    if (!may_evict || left >= share) return left;
    return share > taken ? share - taken : 0;
}

static uint64_t largest(void) {
    uint64_t bytes = settings_largest_value_bytes();
    return bytes > 0 ? bytes : UINT64_MAX;
}

/* Adds a block to what is watched. */
static void grow(size_t size, bool is_seen) {
    watched->bytes += size;
    grown += size;
    grown_unseen = is_seen ? 0 : grown_unseen + size;
}

bool limits_allow_block(size_t size) {
    if (is_denied) return false;
    uint64_t taken = watched != NULL ? watched->bytes : 0;
    bool is_seen = size >= GROWTH_BYTES || (watched != NULL && grown_unseen + size >= GROWTH_BYTES);
    /* Once a change was refused a block it gets no other: memory is not looked at again. */
    bool is_over = watched != NULL && has_stopped_growth;
    has_refused = lifted == 0 && (is_over || taken > largest() || size > largest() - taken ||
                                  (is_seen && size > memory_left(watched != NULL ? grown : 0)));
    if (watched != NULL && !has_refused) grow(size, is_seen && lifted == 0);
    has_stopped_growth = has_stopped_growth || (watched != NULL && has_refused);
    return !has_refused;
}

void limits_note_release(size_t size) {
    if (!is_main_thread || watched == NULL) return;
    watched->bytes -= size < watched->bytes ? size : watched->bytes;
}

void limits_watch(struct value *value) {
    watched = value->type->grows_in_pieces ? value : NULL;
    has_stopped_growth = false;
    grown = grown_unseen = 0;
}

void limits_unwatch(void) {
    watched = NULL;
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
    uint64_t planned = type->planned_bytes(type, options);
    if (planned < PLANNED_BYTES) return true;
    uint64_t most = largest(), left = memory_left(0);
    if (planned <= most && planned <= left) return true;
    char text[200];
    if (planned > most) {
        snprintf(text, sizeof text, ERROR_PLAN_TOO_LARGE("%s", "%" PRIu64, "%" PRIu64), type->noun,
                 planned, most);
    } else {
        snprintf(text, sizeof text, ERROR_PLAN_NO_MEMORY("%s", "%" PRIu64, "%" PRIu64), type->noun,
                 planned, left);
    }
    reply_error(context, text);
    return false;
}

bool is_out_of_memory(redis_context *context) {
    return (redis.GetContextFlags(context) & REDIS_FLAG_OOM) != 0;
}

int reply_out_of_memory(redis_context *context, const struct value *value) {
    return reply_error(context, value != NULL && limits_are_reached(value) ? ERROR_TOO_LARGE
                                                                           : ERROR_SERVER_MEMORY);
}

int reply_refused(redis_context *context) {
    return has_stopped_growth ? reply_error(context, ERROR_TOO_LARGE)
                              : reply_status(context, LETHE_EFULL);
}

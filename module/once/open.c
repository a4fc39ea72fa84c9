/* module/once/open.c - how commands open a once-table, and what an id is. */
#include "change/listeners.h"
#include "once/once.h"
#include "once/recent.h"
#include "server/errors.h"
#include "server/limits.h"
#include "server/reply.h"
#include "types.h"

/* Hashes the id, and asks for what the window has on it. */
static void expect(struct once_change *change, const redis_string *id) {
    change->id = once_hash(change->table, id);
    lethe_window_prefetch(change->table->window, change->id);
}

/* The same, unless a guess was right. */
static void expect_or_take(struct once_change *change, const redis_string *id,
                           const struct guess *guess) {
    if (guess->is_made && guess->seed == change->table->seed) {
        change->id = guess->id;
    } else {
        expect(change, id);
    }
    recent_note(change->table);
}

/* An id of NULL: there are none, or many. may_be_silent: without listeners there is no effect. */
static bool open_table(redis_context *context, redis_string *name, const redis_string *id,
                       bool may_create, bool may_be_silent, struct once_change *out) {
    struct guess guess = id != NULL ? recent_expect(id) : (struct guess){0};
    if (!open_value(context, name, &once_type, OPEN_TO_WRITE, &out->change.opened)) return false;
    out->table = out->change.opened.value;
    if (id != NULL && out->table != NULL) expect_or_take(out, id, &guess);
    int flags = redis.GetContextFlags(context);
    out->is_out_of_memory = (flags & REDIS_FLAG_OOM) != 0;
    enum absence absence = may_create && !out->is_out_of_memory ? ABSENT_IS_MADE : ABSENT_STAYS;
    enum audience audience = may_be_silent && !listeners_are_there(flags) ? UNHEARD : HEARD;
    if (!begin_change(context, name, &once_type, absence, audience, &out->change)) return false;
    out->table = out->change.opened.value;
    if (out->table != NULL) {
        if (id != NULL && out->change.opened.is_new) expect(out, id);
        if (limits_are_reached(&out->table->head)) out->is_out_of_memory = true;
        once_begin_wall(out->table);
        return true;
    }
    redis.CloseKey(out->change.opened.key);
    if (may_create) {
        reply_out_of_memory(context, NULL);
    } else {
        reply_error(context, ERROR_NO_TABLE);
    }
    return false;
}

bool once_open_to_change(redis_context *context, redis_string *name, bool may_create,
                         struct once_change *out) {
    return open_table(context, name, NULL, may_create, false, out);
}

bool once_open_for_ids(redis_context *context, redis_string *name, bool may_create,
                       struct once_change *out) {
    return open_table(context, name, NULL, may_create, true, out);
}

bool once_open_for_id(redis_context *context, redis_string *name, const redis_string *id,
                      bool may_create, struct once_change *out) {
    return open_table(context, name, id, may_create, true, out);
}

lethe_hash once_hash(const struct once *table, const redis_string *id) {
    size_t size;
    const char *data = redis.StringPtrLen(id, &size);
    return lethe_hash_bytes(table->seed, data, size);
}

bool once_are_ids(redis_context *context, redis_string **words, size_t count, size_t step) {
    for (size_t i = 0; i < count; i++) {
        size_t size;
        (void)redis.StringPtrLen(words[i * step], &size);
        if (size > 0) continue;
        reply_error(context, ERROR_EMPTY_ID);
        return false;
    }
    return true;
}

bool once_open_to_read(redis_context *context, redis_string *name, struct opened *opened,
                       const struct once **out) {
    *out = NULL;
    if (!open_value(context, name, &once_type, OPEN_TO_READ, opened)) return false;
    *out = opened->value;
    return true;
}

bool once_is_duplicate(const struct once *table, lethe_hash id) {
    return lethe_window_test(table->window, id, table->head.clock_ms) == LETHE_ANSWER_DUPLICATE;
}

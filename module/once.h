/* module/once.h - the once-table: one key, many counters, one window. once.c has the essay. */
#ifndef LETHE_MODULE_ONCE_H
#define LETHE_MODULE_ONCE_H

#include "counters.h"
#include "frame.h"

struct once {
    struct value head;
    lethe_window *window;
    struct counters counters;
    uint64_t seed;
    uint64_t period_ms; /* how often the window forgets */
};

/* A table that is opened for operations. While the server is out of memory, or the table is as large as it
 * may be, copies are answered as ever, and nothing else is done: a client that repeats an operation must learn that it was. */
struct once_opened {
    struct opened opened;
    bool is_out_of_memory;
};
/* Whether each of every step-th words may be an id. An empty one is what a script sends whose variable is not set, and all of those would
 * be copies of one operation. False with the error replied. */
bool once_are_ids(redis_context *context, redis_string **words, size_t count, size_t step);

/* Opens it, and makes it if there is none and the command did not say NOCREATE. False with the error replied. */
bool once_open_to_change(redis_context *context, redis_string *name, bool may_create,
                         struct once_opened *out);
/* Whether the id was seen: a copy of what was applied is a copy, even where it would not fit now. */
bool once_is_copy(const struct once *table, lethe_hash id);
/* Opens it to read; *out is NULL when there is none. False with the error replied. */
bool once_open_to_read(redis_context *context, redis_string *name, struct opened *opened,
                       const struct once **out);

lethe_hash once_hash(const struct once *table, const redis_string *id);

/* Asks the window whether ids are fresh, remembers them if so, and adds that to the effect. The same call
 * serves a master and, through the effect, its replicas. */
void once_try(struct once *table, const lethe_hash *ids, size_t count, uint8_t *answers);
/* Adds what a window answered to the effect, without asking it. */
void once_note_try(const lethe_hash *ids, size_t count, const uint8_t *answers);
/* Takes an id back that once_try found fresh, and adds that to the effect. */
lethe_status once_forget(struct once *table, lethe_hash id);
/* Adds a counter's value to the effect. */
void once_note_counter(const struct counter *counter);
void once_note_removal(const char *name, size_t size);
/* Whether value + delta is a 64-bit integer. */
static inline bool once_can_add(int64_t value, int64_t delta) {
    int64_t sum;
    return !__builtin_add_overflow(value, delta, &sum);
}

void once_info(struct info *info, const void *value);
extern const struct command once_commands[];

redis_command_function once_incrby, once_mincrby, once_add, once_forget_command, once_del, once_get,
    once_mget, once_scan, once_top, once_seen, once_call;

#endif

/* module/once/once.h - the once-table: one key, many counters, one window. table.c has the
 * essay. */
#ifndef LETHE_MODULE_ONCE_ONCE_H
#define LETHE_MODULE_ONCE_ONCE_H

#include "change/change.h"
#include "command/command.h"
#include "command/info.h"
#include "once/counters.h"
#include "value/value.h"

struct once {
    struct value head;
    lethe_window *window;
    struct counters counters;
    uint64_t seed;
    /* How often the window forgets. */
    uint64_t period_ms;
    /* The window is of the forgetful kind: no id can be taken back. */
    bool is_forgetful;
    /* It has more expired filters to free. */
    bool has_more;
};

/* --- Opening: open.c */

/* A change of a table by operations. While the server is out of memory, or the table is as large
 * as it may be, duplicates are answered as usual and nothing else is done: a client that retries
 * an operation must learn that it was applied. */
struct once_change {
    struct change change;
    struct once *table;
    bool is_out_of_memory;
};
/* Opens a table, and makes it if there is none and may_create. False with the error replied. */
bool once_open_to_change(redis_context *context, redis_string *name, bool may_create,
                         struct once_change *out);
/* Opens it to read; *out is NULL when there is none. False with the error replied. */
bool once_open_to_read(redis_context *context, redis_string *name, struct opened *opened,
                       const struct once **out);

/* Whether each of every step-th words may be an id. An empty one is what a script sends whose
 * variable is not set, and all such operations would be duplicates of one. False with the error
 * replied. */
bool once_are_ids(redis_context *context, redis_string **words, size_t count, size_t step);
lethe_hash once_hash(const struct once *table, const redis_string *id);
/* Whether the id was seen: what was applied is a duplicate even where it would not fit now. */
bool once_is_duplicate(const struct once *table, lethe_hash id);

/* --- Changing, with the step of the effect: effects.c */

/* Asks the window whether ids are fresh, remembers them if so, and appends that to the effect. */
void once_try(struct once *table, struct effect *effect, const lethe_hash *ids, size_t count,
              uint8_t *answers);
/* Takes an id back, unless the window is of the forgetful kind, and appends that. */
lethe_status once_forget(struct once *table, struct effect *effect, lethe_hash id);

/* The same as once_try for the id of an operation that may still fail. If it is fresh, once_end
 * says whether the operation was done; in between, the table's clock must stand still. */
uint8_t once_begin(struct once *table, struct effect *effect, lethe_hash id);
void once_end(struct once *table, struct effect *effect, lethe_hash id, bool is_done);
/* Appends a counter's value. */
void once_note_counter(struct effect *effect, const struct counter *counter);
/* Appends that a counter was removed. */
void once_note_removal(struct effect *effect, const char *name, size_t size);
/* Repeats a step: struct value_type. */
bool once_repeat(void *value, uint8_t code, struct effect_reader *reader, bool apply);

/* Whether value + delta is a 64-bit integer. */
static inline bool once_can_add(int64_t value, int64_t delta) {
    int64_t sum;
    return !__builtin_add_overflow(value, delta, &sum);
}

/* --- Commands */

extern const struct command once_commands[];

redis_command_function once_incrby, once_mincrby, once_add, once_forget_command, once_del, once_get,
    once_mget, once_scan, once_top, once_seen, once_call;

/* The fields of ONCE.INFO: struct value_type. */
void once_gather_facts(redis_context *context, const void *value, void *facts);
extern const struct info_field once_info_fields[];

#endif

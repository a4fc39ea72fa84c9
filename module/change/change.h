/* module/change/change.h - opening values, to read and to change.
 *
 * A change is: open_to_change, the type's own calls with what they append to the effect,
 * finish_change.
 *
 *     struct change change;
 *     if (!open_to_change(context, name, type, ABSENT_IS_MADE, &change)) return REDIS_OK;
 *     ... change change.opened.value, and append the same step to change.effect ...
 *     finish_change(context, &change, name, EVENT_ADD);
 */
#ifndef LETHE_MODULE_CHANGE_CHANGE_H
#define LETHE_MODULE_CHANGE_CHANGE_H

#include "change/effect.h"
#include "change/events.h"
#include "server/redis_api.h"
#include "value/value.h"

/* An opened key. */
struct opened {
    redis_key *key;
    /* NULL: there is no such key. */
    void *value;
    /* Made by this command. */
    bool is_new;
};

enum open_mode { OPEN_TO_READ, OPEN_TO_WRITE };

/* Opens a key. False, with the error replied, when it holds something else or a value that is only
 * partly loaded. */
bool open_value(redis_context *context, redis_string *name, const struct value_type *type,
                enum open_mode mode, struct opened *out);
/* Puts a value under a key that was opened to write and is empty. */
void store_value(redis_context *context, struct opened *opened, redis_string *name, void *value);
/* Reports a change to watchers and subscribers. */
void announce(redis_context *context, redis_string *name, const char *event);

/* A change of one value. */
struct change {
    struct opened opened;
    /* What the value's clock was before. */
    uint64_t clock_before_ms;
    struct effect effect;
};

/* Opens a value for a change: its clock is the present, and the effect has begun. An absent one
 * is made with the type's defaults, or stays absent: then the value is NULL, and nothing has
 * begun. False with the error replied. */
enum absence { ABSENT_IS_MADE, ABSENT_STAYS };
bool open_to_change(redis_context *context, redis_string *name, const struct value_type *type,
                    enum absence absence, struct change *out);
/* The second half of that, with a key that open_value has opened to write: for those who want to
 * look at the value before. UNHEARD: nobody listens (change/listeners.h), so the effect is a silent
 * one, except that of a value that is made. */
enum audience { HEARD, UNHEARD };
bool begin_change(redis_context *context, redis_string *name, const struct value_type *type,
                  enum absence absence, enum audience audience, struct change *out);
/* Sends the effect and closes the key, and announces the event. Without one, a new value is
 * announced as made. */
void finish_change(redis_context *context, struct change *change, redis_string *name,
                   enum event event);
/* Closes the key as if the change had never begun; none of it may have been done. */
void abandon_change(struct change *change);

/* Makes a value with options; for commands and for effects. Errors: those of the type's make. */
lethe_status make_value(const struct value_type *type, const union options *options,
                        struct value **out);

/* Commands that every type has: PREFIX.RESERVE key option value ..., PREFIX.INFO key, and, where
 * two values can be merged, PREFIX.MERGE into from. */
redis_command_function create_command, merge_command;

#endif

/* module/server/limits.h - how much memory a client's command may ask for at once.
 *
 * limits.c has the essay. Two limits hold: what maxmemory leaves, and lethe.largest-value. They
 * bind the commands of clients. Effects and saved values are repeated and loaded with the limits
 * lifted. */
#ifndef LETHE_MODULE_SERVER_LIMITS_H
#define LETHE_MODULE_SERVER_LIMITS_H

#include "server/redis_api.h"

struct value;
struct value_type;

/* When the module is loaded, in the main thread. */
void limits_start(void);

/* Between lift and restore nothing is limited. Pairs of calls may nest. */
void limits_lift(void);
void limits_restore(void);

/* While it is on, no block is allowed at all, lifted or not: a replica repeats what its master did
 * when memory was short. */
void limits_deny(bool is_on);

/* For the allocator: whether it may take a block, and that it has released one. */
bool limits_allow_block(size_t size);
void limits_note_release(size_t size);
/* Whether limits_allow_block refused the block that an allocation failed for. Asking resets the
 * answer. */
bool limits_have_refused(void);

/* Whether a client may make a value with these options. False with the error replied. */
bool limits_allow_value(redis_context *context, const struct value_type *type, const void *options);

/* For types that grow in pieces: blocks taken between watch and unwatch are added to this
 * value's size. */
void limits_watch(struct value *value);
void limits_unwatch(void);
/* Whether such a value is as large as lethe.largest-value allows. */
bool limits_are_reached(const struct value *value);

/* Whether the server has used up its memory, as it checks for commands with the flag deny-oom. For
 * commands that still have an answer then. */
bool is_out_of_memory(redis_context *context);
/* Replies with the server's own error or, where the value has reached its limit, with that. A
 * value of NULL: there is none yet. */
int reply_out_of_memory(redis_context *context, const struct value *value);
/* Replies why the value refused the last change: it is at its own cap, or may not grow. */
int reply_refused(redis_context *context);

#endif

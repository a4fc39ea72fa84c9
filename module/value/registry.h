/* module/value/registry.h - which values there are, and the timer that makes idle ones forget.
 *
 * registry.c has the essay. A value has a ticket here from when it gets its key until it is
 * released. */
#ifndef LETHE_MODULE_VALUE_REGISTRY_H
#define LETHE_MODULE_VALUE_REGISTRY_H

#include "server/redis_api.h"

struct ticket;
struct value;

/* Subscribes to the events that move values, and starts the timer. */
bool registry_start(redis_context *context);
/* Gives a value its ticket, or a new name; name is NULL while it is not known. */
void registry_add(struct value *value, const redis_string *name, int database);
/* The value is being released. Any thread. */
void registry_drop(struct value *value);
/* A key of ours was removed from its database, or got another value. */
void registry_note_unlink(const redis_string *name, const struct value *value);
/* A value is under no key any more, and nobody was told: it was replaced by another one. */
void registry_note_replaced(const struct value *value);
/* The value has changed. Cost: O(1), a few instructions. */
void registry_touch(const struct value *value);

/* What a value adds to the sums of INFO. */
struct tally {
    uint64_t tables, fresh, duplicates, refused, strained;
};
/* The sums over all values that are under a key now. Cost: O(values that have changed since the
 * last call, and that the timer has not visited meanwhile). */
struct tally registry_sums(void);

/* For INFO. */
struct registry_counts {
    /* Values that there are; of these the ones that are under no key any more, and are released
     * in the background; and those that are nearly too large for a cluster to move. */
    uint64_t values, gone, large;
    /* So far: values evicted, effects sent, and of these the ones that only let time pass. */
    uint64_t evicted, effects, ticks;
};
extern struct registry_counts registry_counts;

#endif

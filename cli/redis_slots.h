/* redis_slots.h - the slots of a cluster: which one a key belongs to, and keys that belong to a given one. */
#ifndef LETHE_CLI_REDIS_SLOTS_H
#define LETHE_CLI_REDIS_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

enum { REDIS_SLOTS = 16384, REDIS_TAG_BYTES = 8 };

/* The slot of a key, by what is in its first pair of braces, if that is not empty, or else by all of it. */
unsigned redis_slot(lethe_bytes key);

/* For each of count slots that lie evenly over all of them, the smallest number whose digits have that slot: what to
 * put into the braces of a key. The same for ever, since keys are named so. count: 1..REDIS_SLOTS. */
void redis_slot_tags(size_t count, uint32_t *out);

#endif

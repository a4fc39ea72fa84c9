/* slots.h - the slots of a cluster: which one a key belongs to, and keys that belong to a given
 * one.
 *
 * Threads  Any number. */
#ifndef LETHE_CLI_REDIS_SLOTS_H
#define LETHE_CLI_REDIS_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

enum { REDIS_SLOTS = 16384, REDIS_TAG_BYTES = 8 };

/* The slot of a key, by what is in its first pair of braces, if that is not empty, or else by all
 * of it. */
unsigned redis_slot(lethe_bytes key);
/* The whole CRC-16 of some bytes, from 0 to 65535. */
unsigned redis_checksum(lethe_bytes bytes);

/* One of count slots that lie evenly over all of them. The same for ever, since keys are named so.
 * count: 1..REDIS_SLOTS. */
unsigned redis_slot_of_place(size_t place, size_t count);

/* For each of some slots, no two alike, the smallest number whose digits have that slot: what to
 * put into the braces of a key. The same for ever. Cost: some ten milliseconds, however few there
 * are. */
void redis_tags_of_slots(const uint16_t *slots, size_t count, uint32_t *out);

#endif

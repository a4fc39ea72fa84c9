/* core/salt.h - what hash tables in memory are keyed with.
 *
 * Where a key goes in a table must not be for its sender to choose: a file, or a stream of keys, in
 * which all fall on one place would take time that is quadratic in its length. The seeds of filters
 * and sketches are no help, since they are saved with them. Nothing that is saved, answered or
 * counted may depend on this number. */
#ifndef LETHE_CORE_SALT_H
#define LETHE_CORE_SALT_H

#include <stdint.h>

/* A random number that stays the same while the process lives. Any thread may ask. Cost: one
 * load. */
uint64_t lethe_salt(void);

#endif

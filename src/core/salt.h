/* core/salt.h - what hash tables in memory are keyed with.
 *
 * The sender of keys must not be able to choose where they go in a table: a file or a stream of
 * keys that all fall on one place would take time quadratic in its length. The seeds of filters and
 * sketches cannot prevent this, since they are saved with them. Nothing that is saved, answered or
 * counted may depend on this number. */
#ifndef LETHE_CORE_SALT_H
#define LETHE_CORE_SALT_H

#include <stdint.h>

/* A random number that stays the same while the process lives. Any thread may ask. Cost: one
 * load. */
uint64_t lethe_salt(void);

#endif

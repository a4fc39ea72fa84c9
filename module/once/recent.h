/* module/once/recent.h - a guess: that the next operation is on the same table. recent.c has the
 * essay. */
#ifndef LETHE_MODULE_ONCE_RECENT_H
#define LETHE_MODULE_ONCE_RECENT_H

#include <lethe/hash.h>

#include "server/redis_api.h"

struct once;

/* An id that was hashed before its table was known: good for tables with that seed. */
struct guess {
    bool is_made;
    uint64_t seed;
    lethe_hash id;
};

/* Guesses the table, and asks for what its window has on the id. */
struct guess recent_expect(const redis_string *id);
/* An operation is on this table. */
void recent_note(struct once *table);
/* This table is about to be released, by whichever thread. Returns when nobody looks at it. */
void recent_forget(struct once *table);

#endif

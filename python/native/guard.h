/* python/native/guard.h - who may use an object now.
 *
 * Long calls give up the interpreter's lock, so other threads can come with the same object
 * meanwhile. Each object has a guard: any number of calls that read, or one that writes. The state
 * of all guards is only touched by whoever holds the interpreter's lock; so entering and leaving
 * cost a few instructions.
 *
 * A process that was forked has a copy of every object. An object that some thread was using at the
 * moment of the fork may be in the middle of a change; nobody can enter it then. */
#ifndef LETHE_PYTHON_GUARD_H
#define LETHE_PYTHON_GUARD_H

#include "python.h"

enum guard_use { GUARD_READ, GUARD_WRITE };

struct guard {
    uint32_t readers;
    /* Writers come first: otherwise readers that follow each other would keep them out. */
    uint32_t writers_waiting;
    bool is_writing;
    /* How often the process had been forked when the guard was last entered. */
    uint32_t generation;
};

/* Once, when the module is loaded. Returns 0, or -1 with an exception. */
int guard_start_all(void);

void guard_start(struct guard *guard);
/* Whether the object was made before the last fork, by a parent of this process. */
bool guard_is_inherited(const struct guard *guard);

/* Waits until the object may be used. Returns false for an object that is in the middle of a change
 * for ever, since the process was forked then. With the interpreter's lock, which it gives up while
 * it waits. Raises nothing: making an exception can run code of the caller's, which must not happen
 * while another guard is held. */
bool guard_enter(struct guard *guard, enum guard_use use);
void guard_leave(struct guard *guard, enum guard_use use);

#endif

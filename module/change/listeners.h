/* module/change/listeners.h - whether anybody gets what is replicated: replicas, or the log.
 * listeners.c has the essay. */
#ifndef LETHE_MODULE_CHANGE_LISTENERS_H
#define LETHE_MODULE_CHANGE_LISTENERS_H

#include "server/redis_api.h"

/* Follows the server's events. Without them somebody is always taken to listen. */
void listeners_start(redis_context *context);

/* Whether somebody listens, or may. The flags are what GetContextFlags says in the command under
 * way. Cost: a few instructions; once in a while a section of the server's INFO. */
bool listeners_are_there(int flags);

/* Somebody may have come: the next call asks the server. */
void listeners_may_have_come(void);

#endif

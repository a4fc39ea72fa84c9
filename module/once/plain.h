/* module/once/plain.h - which commands ONCE.CALL may call: plain writes. */
#ifndef LETHE_MODULE_ONCE_PLAIN_H
#define LETHE_MODULE_ONCE_PLAIN_H

#include "server/redis_api.h"

/* When the module is loaded. */
void plain_start(redis_context *context);

/* NULL if the command of these arguments, at least one, is a plain write; or the error. Cost: one
 * search in a small table for commands that were asked about before, else a question to the
 * server. */
const char *plain_judge(redis_context *context, redis_string **arguments, int count);

#endif

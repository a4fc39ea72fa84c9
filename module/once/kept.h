/* module/once/kept.h - replies of commands as they are kept for ONCE.CALL ... KEEP: in the bytes of
 * the server's protocol, version 2. */
#ifndef LETHE_MODULE_ONCE_KEPT_H
#define LETHE_MODULE_ONCE_KEPT_H

#include <stdbool.h>

#include "once/claims.h"
#include "server/redis_api.h"

/* Whether the bytes are one whole reply that kept_reply can repeat. Cost: O(bytes). */
bool kept_is_valid(struct slice kept);
/* Replies the same again. The bytes are valid. Returns REDIS_OK. */
int kept_reply(redis_context *context, struct slice kept);

#endif

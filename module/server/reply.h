/* module/server/reply.h - replies that several commands share. Each returns REDIS_OK, for
 * return. */
#ifndef LETHE_MODULE_SERVER_REPLY_H
#define LETHE_MODULE_SERVER_REPLY_H

#include <lethe/lethe.h>

#include "server/redis_api.h"

struct value_type;

int reply_error(redis_context *context, const char *text);
/* The error that belongs to a status other than LETHE_OK. To be asked once for each call of a
 * structure, because limits_have_refused is. */
const char *error_of_status(lethe_status status);
int reply_status(redis_context *context, lethe_status status);
/* A reply has 63 bits: a larger count is replied as the largest number that they hold. */
int reply_count(redis_context *context, uint64_t count);
/* The shortest decimal number that is read as the same double: 0.001 for what was given as 0.001,
 * and not 0.001000000000000000021. */
enum { FRACTION_BYTES = 32 };
void fraction_text(double value, char text[FRACTION_BYTES]);
/* Replies with that: a string in version 2 of the protocol, a double in version 3. */
int reply_fraction(redis_context *context, double value);
/* An error with the type's noun in the place of {noun}. */
int reply_error_of(redis_context *context, const struct value_type *type, const char *text);

#endif

/* usage.h - times and prefixes in queries. */
#ifndef LETHE_SERVER_USAGE_H
#define LETHE_SERVER_USAGE_H

#include "server/request.h"

/* A time: a date, what `lethe count` takes for one, or milliseconds since 1970; in the zone of the
 * store. Returns false after a problem; *out_ms keeps what it holds if there is no such
 * argument. */
bool usage_argument_time(struct request *request, const char *name, uint64_t *out_ms);

uint64_t usage_now_ms(void);

/* read.c: the prefix of keys that is asked for. */
bool read_prefix(struct request *request, char room[REQUEST_PART_BYTES], lethe_bytes *out);

#endif

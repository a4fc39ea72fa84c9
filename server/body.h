/* body.h - the bodies of requests: the memory that all of them take, and what is compressed.
 *
 * Each body may be large, and there may be a thousand at once. So all of them together have a
 * budget, and a request that finds it used up is answered with 503: it may come again. A small body
 * is never refused for that (FREE_BODY_BYTES in caps.h).
 *
 * Threads  Any number, each with its own request. */
#ifndef LETHE_SERVER_BODY_H
#define LETHE_SERVER_BODY_H

#include <stdatomic.h>

#include "server/request.h"

/* Of all requests. */
struct bodies {
    atomic_uint_least64_t used;
    uint64_t most;
    /* How many requests were refused. */
    atomic_uint_least64_t refused;
};

/* Takes so many bytes for the request's body, in place of what it took before. Returns false after
 * a problem, with nothing changed. */
bool body_charge(struct request *request, uint64_t bytes);
/* Adds a piece to the body. Returns false after a problem: then there is no body any more. */
bool body_add(struct request *request, const void *data, size_t size);
/* Frees the body, and gives back what it took. */
void body_free(struct request *request);

/* Decompresses the body in place of what was sent, if Content-Encoding says gzip or zstd. At most
 * `most` bytes. Returns false after a problem. */
bool body_unpack(struct request *request, uint64_t most);

#endif

/* body.h - the body of a request, decompressed. */
#ifndef LETHE_SERVER_BODY_H
#define LETHE_SERVER_BODY_H

#include "server/request.h"

/* Decompresses the body in place of what was sent, if Content-Encoding says gzip or zstd. At most
 * `most` bytes. Returns false after a problem. */
bool body_unpack(struct request *request, uint64_t most);

#endif

/* wire.h - a connection as a stream of commands and answers: a socket, with TLS or without.
 *
 * Nothing here waits. A wire is opened, commands are put on it, and redis_wire_work does what the
 * socket allows: it connects, shakes hands, reads, writes. Answers are taken from the reader. */
#ifndef LETHE_CLI_REDIS_WIRE_H
#define LETHE_CLI_REDIS_WIRE_H

#include <hiredis/hiredis.h>
#include <stdbool.h>

#include "lethe/hash.h"
#include "redis/access.h"

enum redis_wire_state { WIRE_CLOSED = 0, WIRE_CONNECTING, WIRE_SHAKING_HANDS, WIRE_READY };

/* All zero is a closed one. */
struct redis_wire {
    enum redis_wire_state state;
    redisContext *context; /* the socket, what is to be written, and the reader of answers */
    struct redis_tls_session *session; /* NULL without TLS */
    bool has_heard;                    /* anything, since it was opened */
    bool is_hopeless;                  /* why it was lost will be so again */
    char why[REDIS_WHY_BYTES];         /* it was lost */
};

/* Begins to connect. False when that failed at once, and then the wire is closed. */
bool redis_wire_open(struct redis_wire *wire, const struct redis_address *address,
                     const struct redis_access *access);

/* Puts commands on it, to be written. False when memory is short. */
bool redis_wire_put(struct redis_wire *wire, lethe_bytes commands);

/* What to wait for: its descriptor, and whether there is something to write. Something to read is
 * always waited for. */
int redis_wire_descriptor(const struct redis_wire *wire);
bool redis_wire_is_writing(const struct redis_wire *wire);

/* Does what the socket allows. False when the connection is lost; the answers that came before are
 * in the reader. */
bool redis_wire_work(struct redis_wire *wire, bool can_read, bool can_write);

/* What it is that was not answered in time. */
const char *redis_wire_silence(const struct redis_wire *wire);

void redis_wire_close(struct redis_wire *wire);

#endif

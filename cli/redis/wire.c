/* wire.c - moves bytes between a socket and what is to be written, and the reader of answers.
 *
 * WHY  hiredis connects, formats and parses; with TLS, only the bytes go through another layer
 *      (tls.h). What was received is looked at before anything more is written: a server that
 *      refuses the connection says so and hangs up, and what is written then may fail first. */
#include "redis/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { PIECE_BYTES = 16384, TLS_ALERT = 0x15 };

static bool fail(struct redis_wire *wire, const char *why) {
    snprintf(wire->why, sizeof wire->why, "%s", why);
    return false;
}

bool redis_wire_open(struct redis_wire *wire, const struct redis_address *address,
                     const struct redis_access *access) {
    *wire = (struct redis_wire){.state = WIRE_CONNECTING};
    wire->context = redisConnectNonBlock(address->host, address->port);
    bool is_open = wire->context != NULL && wire->context->err == 0;
    (void)fail(wire, wire->context != NULL ? wire->context->errstr : "not enough memory");
    if (is_open && access->tls != NULL) {
        wire->session = redis_tls_begin(access->tls, wire->context->fd, address->host);
        if (wire->session == NULL) is_open = fail(wire, "not enough memory");
    }
    if (is_open) {
        (void)redisEnableKeepAlive(wire->context);
    } else {
        redis_wire_close(wire);
    }
    return is_open;
}

bool redis_wire_put(struct redis_wire *wire, lethe_bytes commands) {
    return redisAppendFormattedCommand(wire->context, commands.data, commands.size) == REDIS_OK;
}

int redis_wire_descriptor(const struct redis_wire *wire) {
    return wire->context->fd;
}

bool redis_wire_is_writing(const struct redis_wire *wire) {
    if (wire->state == WIRE_CONNECTING) return true;
    if (wire->session != NULL && redis_tls_wants_to_write(wire->session)) return true;
    return wire->state == WIRE_READY && sdslen(wire->context->obuf) > 0;
}

/* Whether the connection has come about. */
static bool is_connected(struct redis_wire *wire) {
    int problem = 0;
    socklen_t size = sizeof problem;
    if (getsockopt(wire->context->fd, SOL_SOCKET, SO_ERROR, &problem, &size) != 0) problem = errno;
    return problem == 0 || fail(wire, strerror(problem));
}

/* Whether TLS goes on; why has been written if not. */
static bool heed(struct redis_wire *wire, enum redis_tls_result result) {
    wire->is_hopeless = result == REDIS_TLS_REFUSED;
    return result == REDIS_TLS_DONE || result == REDIS_TLS_AGAIN;
}

/* Everything there is, because what OpenSSL has taken from the socket does not show there. */
static bool read_tls(struct redis_wire *wire) {
    char piece[PIECE_BYTES];
    enum redis_tls_result result;
    do {
        size_t size;
        result = redis_tls_read(wire->session, piece, sizeof piece, &size, wire->why);
        wire->has_heard = wire->has_heard || size > 0;
        if (size > 0 && redisReaderFeed(wire->context->reader, piece, size) != REDIS_OK)
            return fail(wire, wire->context->reader->errstr);
    } while (result == REDIS_TLS_DONE);
    return heed(wire, result);
}

/* A socket failed without TLS. A server that expects TLS just hangs up. */
static bool fail_plain(struct redis_wire *wire) {
    bool is_closed = wire->context->err == REDIS_ERR_EOF || errno == ECONNRESET || errno == EPIPE;
    return fail(wire, wire->has_heard || !is_closed
                          ? wire->context->errstr
                          : "the server closed the connection at once; if it uses TLS on this "
                            "port, write rediss://");
}

static bool read_plain(struct redis_wire *wire) {
    const redisReader *reader = wire->context->reader;
    if (redisBufferRead(wire->context) != REDIS_OK) return fail_plain(wire);
    bool is_first = !wire->has_heard && reader->len > 0;
    wire->has_heard = wire->has_heard || is_first;
    if (!is_first || reader->buf[0] != TLS_ALERT) return true;
    wire->is_hopeless = true;
    return fail(wire, "the server uses TLS on this port; write rediss://");
}

static bool write_tls(struct redis_wire *wire) {
    redisContext *context = wire->context;
    size_t done = 0, all = sdslen(context->obuf);
    enum redis_tls_result result = REDIS_TLS_DONE;
    while (done < all && result == REDIS_TLS_DONE) {
        size_t written;
        result =
            redis_tls_write(wire->session, context->obuf + done, all - done, &written, wire->why);
        done += written;
    }
    if (done > 0) sdsrange(context->obuf, (int)done, -1);
    return heed(wire, result);
}

static bool write_plain(struct redis_wire *wire) {
    int done;
    return redisBufferWrite(wire->context, &done) == REDIS_OK || fail_plain(wire);
}

/* Connects and shakes hands, as far as that goes. */
static bool advance(struct redis_wire *wire) {
    if (wire->state == WIRE_CONNECTING) {
        if (!is_connected(wire)) return false;
        wire->state = wire->session != NULL ? WIRE_SHAKING_HANDS : WIRE_READY;
    }
    if (wire->state == WIRE_SHAKING_HANDS) {
        enum redis_tls_result result = redis_tls_shake_hands(wire->session, wire->why);
        if (result == REDIS_TLS_DONE) wire->state = WIRE_READY;
        if (result == REDIS_TLS_LOST) {
            (void)fail(wire,
                       "the server closed the connection in the TLS handshake; if it does not "
                       "use TLS on this port, write redis://");
        }
        return heed(wire, result);
    }
    return true;
}

bool redis_wire_work(struct redis_wire *wire, bool can_read, bool can_write) {
    if (!can_read && !can_write) return true;
    if (!advance(wire)) return false;
    if (wire->state != WIRE_READY) return true;
    if (wire->session != NULL) return read_tls(wire) && write_tls(wire);
    return (!can_read || read_plain(wire)) && (!can_write || write_plain(wire));
}

const char *redis_wire_silence(const struct redis_wire *wire) {
    if (wire->state != WIRE_SHAKING_HANDS) return "it does not answer";
    return "it does not answer the TLS handshake; if it does not use TLS on this port, write "
           "redis://";
}

void redis_wire_close(struct redis_wire *wire) {
    redis_tls_end(wire->session);
    if (wire->context != NULL) redisFree(wire->context);
    wire->session = NULL;
    wire->context = NULL;
    wire->state = WIRE_CLOSED;
}

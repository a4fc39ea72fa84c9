/* link.h - one connection to one server, over which requests are pipelined.
 *
 * Nothing here waits. The client asks each link for its descriptor, waits for all of them together,
 * and lets each do what it can. A link hands back what it cannot finish, to be sent again.
 *
 * A key may be gone whenever a connection is new: the server came back empty, or a replica that
 * never had the key took over. The next event would then make it, with the server's default window
 * instead of the table's. So a request that has a creation waits, once per key and connection,
 * until its creation was answered.
 *
 * If replicas are to be waited for, a link sends WAIT after what it has written, and a write is
 * finished only when enough replicas have answered. WAIT covers only the writes of its own
 * connection, so a request that is handed back must be sent again before another WAIT counts. */
#ifndef LETHE_CLI_REDIS_LINK_H
#define LETHE_CLI_REDIS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"
#include "redis/slots.h"
#include "redis/wire.h"

/* One or more commands that are sent, answered and, if need be, sent again together. The caller
 * owns it, and keeps it and its text as they are until it is done. */
struct redis_request {
    unsigned slot;
    bool is_write;
    const char *text; /* the commands (redis/text.h) */
    size_t size;
    const size_t *ends; /* where each command ends in text; NULL: there is one */
    size_t commands;
    lethe_bytes
        creation; /* makes the key if it is not there, before anything else is sent; or nothing */
    const char *const *tolerated; /* errors that begin so are answers; ends with NULL; or NULL */
    /* An answer to one of the commands, which is no error but a tolerated one. May come several
     * times. */
    void (*on_reply)(struct redis_request *request, size_t command, const redisReply *reply);
    void (*on_done)(struct redis_request *request); /* may be NULL */
    void *context;

    /* From here on the client's; zero before it is submitted. */
    bool is_done;
    bool is_uncertain; /* it was sent, and lost with its connection before it was answered */
    struct redis_request *next;
    uint64_t first_ms;      /* when it was submitted */
    uint64_t not_before_ms; /* when to send it */
    unsigned failures;
    bool has_failed;    /* an answer says: send again */
    bool is_asked_once; /* sent this once to: */
    struct redis_address asked;
};

/* A list, the first one first. */
struct redis_list {
    struct redis_request *first, **end; /* end is NULL while the list was never used */
};
void redis_list_append(struct redis_list *list, struct redis_request *request);
struct redis_request *redis_list_take(struct redis_list *list); /* NULL: it is empty */

/* What the next answer is to. */
struct redis_expectation {
    enum { EXPECT_OK, EXPECT_NOTHING, EXPECT_CREATION, EXPECT_ANSWER, EXPECT_WAIT } kind;
    struct redis_request *request;
    size_t command;
};

struct redis_link {
    struct redis_address address;
    struct redis_wire wire;
    uint64_t heard_ms;    /* when it connected, answered, or was idle */
    uint64_t retry_at_ms; /* not to be opened again before */
    unsigned failures;    /* in a row */

    struct redis_expectation *expected; /* a ring */
    size_t expected_first, expected_count, expected_capacity;
    struct redis_list creating;  /* their key is being made; nothing of them was sent yet */
    struct redis_list in_flight; /* sent, not all answered yet, in their order */
    struct redis_list answered;  /* replicas are still to be waited for */
    size_t in_flight_count;      /* and those in creating */
    unsigned char
        has_key[REDIS_SLOTS / 8]; /* a bit for each slot: its key was there, or was made */
    size_t unconfirmed;           /* writes since the last WAIT was sent */
    bool is_waiting;              /* a WAIT is under way */
    char problem[320];            /* what the server last had against the first one in flight */
};

/* What a link reports to the client. */
struct redis_link_events {
    void *context;
    /* All is answered, and by enough replicas. */
    void (*on_done)(void *context, struct redis_request *request);
    /* The request's key is there now: to be sent to the same link. */
    void (*on_created)(void *context, struct redis_link *link, struct redis_request *request);
    /* To be sent again, because of what the server said (text), or the link was lost or slow (text
     * says how). */
    void (*on_again)(void *context, struct redis_link *link, struct redis_request *request,
                     const char *text);
    /* The link was lost, or never came about; what was on it comes after this. If it is hopeless,
     * the same would happen again. */
    void (*on_lost)(void *context, struct redis_link *link, const char *text, bool is_hopeless);
    /* The server said something that no repetition will change. */
    void (*on_refusal)(void *context, struct redis_link *link, const char *text);
};

/* Begins to connect. False when that failed at once, and link->wire.why says why. */
bool redis_link_open(struct redis_link *link, const struct redis_access *access, uint64_t now_ms);

/* Whether it can take one more request. */
bool redis_link_has_room(const struct redis_link *link);

/* Sends a request, as far as the socket takes it, or at first only the command that makes its key,
 * if this connection has not seen that yet. False when memory is short. */
bool redis_link_send(struct redis_link *link, struct redis_request *request, uint64_t now_ms);

/* Sends WAIT if writes are unconfirmed and none is under way. */
bool redis_link_send_wait(struct redis_link *link, unsigned replicas, uint64_t now_ms);

/* Does what the socket allows. After it the link may be closed, and then all its requests were
 * handed back. */
void redis_link_work(struct redis_link *link, bool can_read, bool can_write, unsigned replicas,
                     uint64_t now_ms, const struct redis_link_events *events);

/* Closes a link that has not answered for too long. */
void redis_link_check_time(struct redis_link *link, uint64_t now_ms,
                           const struct redis_link_events *events);

/* Closes it and frees its memory; requests are forgotten. */
void redis_link_free(struct redis_link *link);

#endif

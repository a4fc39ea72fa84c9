/* request.h - one request and its answer, as everything but http.c knows it.
 *
 * A request is given to the function of its route (routes.h), which fills in the answer. If that
 * rests on a commit that is not durable yet, it sets `ticket`, and the answer is sent when the
 * commit is (waiter.h), or replaced by a problem. Nothing here knows who speaks HTTP. */
#ifndef LETHE_SERVER_REQUEST_H
#define LETHE_SERVER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/store.h"
#include "server/access.h"
#include "server/text.h"

struct server;
struct route;

enum {
    REQUEST_PART_BYTES = 1024,
    REQUEST_PROBLEM_BYTES = 512,
    REQUEST_HOST_BYTES = 272,
    /* Of the text of an Idempotency-Key, which may have quotes and backslashes in it. */
    REQUEST_KEY_BYTES = 2 * LETHE_ID_LIMIT_BYTES
};

/* The two ways to ask a request for more; the words are as they were sent. NULL: there is none. */
typedef const char *request_lookup(void *connection, const char *name);
/* Calls visit with the name of each argument of the query, as often as it is there. */
typedef void request_visit(void *context, const char *name);
typedef void request_walk(void *connection, request_visit *visit, void *context);

struct request {
    struct server *server;
    const struct route *route;
    const struct token *token;
    /* Of the path, in place of its {}: a key or an id, unescaped. */
    char part_room[REQUEST_PART_BYTES];
    lethe_bytes part;
    /* Of the page. */
    const char *page_path;
    /* Of an address in absolute form: the host that it names, in place of the Host header. */
    char authority[REQUEST_HOST_BYTES];
    struct text body;
    /* What the body takes of the server's memory for bodies. */
    uint64_t charged;
    request_lookup *header, *argument;
    /* NULL: nobody knows which arguments there are. */
    request_walk *each_argument;
    void *connection;

    /* The answer; 0: there is none yet. */
    unsigned status;
    const char *type;
    struct text answer;
    /* Headers that only some answers have. */
    bool asks_again, asks_token;
    const char *allow, *policy;
    char tag[32];
    /* In place of answer: bytes that stay as long as the program. */
    const unsigned char *file;
    size_t file_size;

    /* It uses the store, which stays open meanwhile. */
    lethe_store *store;
    /* The answer holds when this is durable; 0: it does already. */
    uint64_t ticket;
    double submitted_s;
    /* In the waiter's or the workers' list. */
    struct request *next;
};

/* Completes the answer as a problem (RFC 9457), in place of what there is. */
void request_problem(struct request *request, unsigned status, const char *title,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same with the number of a line. */
void request_problem_line(struct request *request, uint64_t line, const char *detail);
/* Answers a failed call of the store; it is opened again if it must be. */
void request_store_problem(struct request *request, lethe_status status);

/* Answers with what is in request->answer. */
void request_answer(struct request *request, unsigned status, const char *type);

/* Opens the door to the store. Returns false after a problem. */
bool request_enter(struct request *request);
void request_leave(struct request *request);
/* What was read of the store is answered when all that it may have seen is durable. Returns false
 * after a problem. */
bool request_read_is_durable(struct request *request);

/* The value of a header: without blanks around it and, if it is in double quotes, without these and
 * its backslashes. out has room for as many bytes as the text. Returns the size. */
size_t request_header_value(const char *text, char *out);

/* The Idempotency-Key, with or without quotes; empty without one. Returns false after a problem. */
bool request_idempotency_key(struct request *request, char room[REQUEST_KEY_BYTES],
                             lethe_bytes *out);

/* Unescapes %XX; out has room for size bytes. Returns false if there is something else after a
 * %. */
bool request_unescape(const char *text, size_t size, char *out, size_t *out_size);

/* Whether the query has only arguments of these names, which have blanks between them, and each of
 * them once; a problem otherwise. NULL: there are none. */
bool request_has_only_arguments(struct request *request, const char *known);

/* The arguments of the query. Each returns false after a problem; *out keeps what it holds if there
 * is no such argument. */
bool request_argument_number(struct request *request, const char *name, uint64_t least,
                             uint64_t most, uint64_t *out);
/* Whether an argument is there, as NAME or NAME_base64, and not empty. */
bool request_has_argument(struct request *request, const char *name);
/* Bytes, into room of REQUEST_PART_BYTES: NAME with escapes, or NAME_base64, and not both. */
bool request_argument_bytes(struct request *request, const char *name, char *room,
                            lethe_bytes *out);

/* Whether the token reaches a key; a problem otherwise. */
bool request_may_reach(struct request *request, lethe_bytes key);
/* Whether a counter may be changed: it exists, or there are fewer than there may be, even if
 * `others` begin as well; a problem otherwise. The door is open. */
bool request_may_begin(struct request *request, lethe_bytes key, uint64_t others);

extern const char type_json[], type_problem[];

#endif

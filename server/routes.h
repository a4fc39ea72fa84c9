/* routes.h - what there is to ask for: one table, from which requests are directed, access is
 * checked and /openapi.json is made. */
#ifndef LETHE_SERVER_ROUTES_H
#define LETHE_SERVER_ROUTES_H

#include "server/request.h"

struct route {
    const char *method;
    /* {} stands for one part of the path, of any bytes but a slash; %2F is not a slash. */
    const char *path;
    /* Of SCOPE_...; 0: anybody. */
    unsigned scope;
    /* Fills in the answer. */
    void (*run)(struct request *request);
    /* For people. */
    const char *summary;
    /* Arguments of the query, with blanks between them; NULL: none. */
    const char *arguments;
    /* It shows all keys, so a token with a prefix does not reach it. */
    bool shows_all;
    /* It runs in a worker. */
    bool is_slow;
    bool is_stream;
};

extern const struct route routes[];
extern const size_t route_count;

/* Those of a server: of one with a store, or of one over Redis (tables.h). */
const struct route *routes_of(const struct server *server, size_t *count);

/* Whether a Content-Type header, which may be NULL, is of this type. */
bool route_type_is(const char *type, const char *name);

/* site.c: the file of the page at a path; NULL if there is none. */
struct page_file;
const struct page_file *page_find(const char *path);

/* Directs a request: sets its route, token and part, or answers with what is wrong. */
void routes_find(struct request *request, const char *method, const char *path);

void answer_backup(struct request *request);
void answer_claim_abort(struct request *request);
void answer_claim_begin(struct request *request);
void answer_claim_done(struct request *request);
void answer_claim_get(struct request *request);
void answer_claim_renew(struct request *request);
void answer_counter(struct request *request);
void answer_counters(struct request *request);
void answer_events(struct request *request);
void answer_health(struct request *request);
void answer_hold_get(struct request *request);
void answer_hold_place(struct request *request);
void answer_hold_release(struct request *request);
void answer_hold_settle(struct request *request);
void answer_holds(struct request *request);
void answer_metrics(struct request *request);
void answer_openapi(struct request *request);
void answer_page(struct request *request);
void answer_ready(struct request *request);
void answer_status(struct request *request);
void answer_take(struct request *request);
void answer_top(struct request *request);
void answer_usage(struct request *request);

#endif

/* routes.c - directs requests; see routes.h.
 *
 * I1      A request reaches the function of a route only with a Host and Origin of ours, with a
 *         token of the route's scope, and if it posts, with a content type that no form of another
 *         site can send.
 * I2      An address in absolute form, as for a proxy, is that of its path. The host that it names
 *         counts in place of the Host header, and both must be ours. */
#include "server/routes.h"

#include <string.h>
#include <strings.h>

#include "page/page.h"
#include "server/state.h"
#include "server/tables.h"

const struct route routes[] = {
    {"POST", "/v1/events", SCOPE_WRITE, answer_events,
     "Count events: one, an array, lines, or CloudEvents. Answers when they are durable.", NULL,
     false, false, false},
    {"GET", "/v1/counters/{}", SCOPE_READ, answer_counter, "One counter.", NULL, false, false,
     false},
    {"GET", "/v1/counters", SCOPE_READ, answer_counters,
     "Counters in the order of their keys. The answer's cursor continues the list.",
     "prefix prefix_base64 limit cursor", false, true, false},
    {"GET", "/v1/top", SCOPE_READ, answer_top, "The largest counters, or those of one period.",
     "limit by at", true, true, false},
    {"GET", "/v1/usage", SCOPE_READ, answer_usage, "What counters got in each period.",
     "by prefix prefix_base64 key key_base64 from to limit", false, true, false},
    {"POST", "/v1/take", SCOPE_WRITE, answer_take,
     "Add to a counter unless that would pass a limit, once for each id.", NULL, false, true,
     false},
    {"POST", "/v1/claims/{}/begin", SCOPE_WRITE, answer_claim_begin,
     "Begin work that must happen once.", NULL, true, true, false},
    {"POST", "/v1/claims/{}/renew", SCOPE_WRITE, answer_claim_renew, "Keep a claim.", NULL, true,
     true, false},
    {"POST", "/v1/claims/{}/done", SCOPE_WRITE, answer_claim_done,
     "Record that the work is done, with its reply.", NULL, true, true, false},
    {"POST", "/v1/claims/{}/abort", SCOPE_WRITE, answer_claim_abort, "Give a claim up.", NULL, true,
     true, false},
    {"GET", "/v1/claims/{}", SCOPE_READ, answer_claim_get, "Look at a claim.", NULL, true, true,
     false},
    {"POST", "/v1/holds/{}/place", SCOPE_WRITE, answer_hold_place,
     "Set an amount aside under a limit, once for each id. A duplicate has the state of the hold.",
     NULL, false, true, false},
    {"POST", "/v1/holds/{}/settle", SCOPE_WRITE, answer_hold_settle,
     "Count what it really was, and end the hold.", NULL, false, true, false},
    {"POST", "/v1/holds/{}/release", SCOPE_WRITE, answer_hold_release,
     "End a hold of which nothing was used.", NULL, false, true, false},
    {"GET", "/v1/holds/{}", SCOPE_READ, answer_hold_get, "Look at a hold.", NULL, false, true,
     false},
    {"GET", "/v1/holds", SCOPE_READ, answer_holds,
     "Holds that are neither settled nor released, or all, in the order of their ids. The answer's "
     "cursor continues the list.",
     "prefix prefix_base64 limit cursor all", false, true, false},
    {"POST", "/v1/backup", SCOPE_ADMIN, answer_backup,
     "Back the store up into the folder of --backups.", NULL, true, true, false},
    {"GET", "/v1/status", SCOPE_READ, answer_status, "The state of the server.", NULL, true, true,
     false},
    {"GET", "/v1/live", SCOPE_READ, answer_status, "The same again and again, one line each time.",
     "interval", true, false, true},
    {"GET", "/metrics", SCOPE_READ, answer_metrics, "Figures for Prometheus.", NULL, true, true,
     false},
    {"GET", "/healthz", 0, answer_health, "Whether the process answers.", NULL, false, false,
     false},
    {"GET", "/readyz", 0, answer_ready, "Whether the store takes events.", NULL, false, false,
     false},
    {"GET", "/openapi.json", 0, answer_openapi, "This description.", NULL, false, false, false},
};
const size_t route_count = sizeof routes / sizeof routes[0];

const struct route *routes_of(const struct server *server, size_t *count) {
    *count = server->tables != NULL ? table_route_count : route_count;
    return server->tables != NULL ? table_routes : routes;
}

/* The page is served at any path that it has, and at no other. */
static const struct route page_route = {
    .method = "GET", .path = "/", .run = answer_page, .summary = "The page."};

/* Whether a path is that of a route. *part is what stands in place of {}. */
static bool matches(const char *pattern, const char *path, lethe_bytes *part) {
    const char *open = strstr(pattern, "{}");
    *part = (lethe_bytes){0};
    if (open == NULL) return strcmp(pattern, path) == 0;
    size_t before = (size_t)(open - pattern), after = strlen(open + 2), size = strlen(path);
    if (strncmp(pattern, path, before) != 0 || size <= before + after) return false;
    if (strcmp(open + 2, path + size - after) != 0) return false;
    *part = (lethe_bytes){.data = path + before, .size = size - before - after};
    return memchr(part->data, '/', part->size) == NULL;
}

/* The path of an address in absolute form, whose host goes to request->authority; any other one as
 * it is. NULL if it names something that no server of ours is. */
static const char *path_of(struct request *request, const char *target) {
    const char *scheme = request->server->options->tls_cert != NULL ? "https://" : "http://";
    if (target[0] == '/' || strstr(target, "://") == NULL) return target;
    if (strncasecmp(target, scheme, strlen(scheme)) != 0) return NULL;
    const char *host = target + strlen(scheme);
    size_t size = strcspn(host, "/");
    if (size == 0 || size >= sizeof request->authority || memchr(host, '@', size) != NULL)
        return NULL;
    memcpy(request->authority, host, size);
    request->authority[size] = '\0';
    return host[size] == '/' ? host + size : "/";
}

static bool is_ours(const struct server *server, const char *host) {
    return !server->checks_hosts ||
           access_host_is_ours(host, server->options->hosts, server->options->listen);
}

static bool check_host(struct request *request, bool is_readable) {
    const struct server *server = request->server;
    const char *host = request->header(request->connection, "Host");
    const char *origin = request->header(request->connection, "Origin");
    if (host == NULL) {
        request_problem(request, 400, "Bad request", "there is no Host header");
        return false;
    }
    bool fine = is_readable && is_ours(server, host);
    if (request->authority[0] != '\0') host = request->authority; /* I2 */
    if (!fine || !is_ours(server, host)) {
        request_problem(request, 421, "Misdirected request",
                        "this server does not go by that Host; add the name with --hosts");
        return false;
    }
    if (origin != NULL && !access_origin_is_ours(origin, host, server->options->tls_cert != NULL)) {
        request_problem(request, 403, "Forbidden", "requests of other sites are not answered");
        return false;
    }
    return true;
}

static bool check_token(struct request *request) {
    const struct route *route = request->route;
    request->token = access_find(&request->server->access,
                                 request->header(request->connection, "Authorization"));
    if (route->scope == 0) return true;
    if (request->token == NULL) {
        request_problem(request, 401, "Unauthorized",
                        "send a token of this server, as Authorization: Bearer TOKEN");
        request->asks_token = true;
        return false;
    }
    if ((request->token->scopes & route->scope) == 0) {
        request_problem(request, 403, "Forbidden", "this token may not do that");
        return false;
    }
    if (route->shows_all && request->token->prefix.size > 0) {
        request_problem(request, 403, "Forbidden", "this token is for some keys, and not for all");
        return false;
    }
    return true;
}

static const char *const posted_types[] = {
    "application/json",  "application/x-ndjson",         "application/ndjson",
    "application/jsonl", "application/cloudevents+json", "application/cloudevents-batch+json",
};

bool route_type_is(const char *type, const char *name) {
    size_t size = strlen(name);
    return type != NULL && strncasecmp(type, name, size) == 0 &&
           (type[size] == '\0' || type[size] == ';' || type[size] == ' ');
}

static bool check_post(struct request *request) {
    const char *type = request->header(request->connection, "Content-Type");
    if (request->server->options->read_only) {
        request_problem(request, 403, "Read only", "this server only reads the store");
        return false;
    }
    for (size_t i = 0; i < sizeof posted_types / sizeof posted_types[0]; i++) {
        if (route_type_is(type, posted_types[i])) return true;
    }
    /* CloudEvents in binary mode have a header that no form can send. */
    if (request->header(request->connection, "ce-specversion") != NULL) return true;
    request_problem(request, 415, "Unsupported media type",
                    "send JSON, with Content-Type: application/json, application/x-ndjson or that "
                    "of CloudEvents");
    return false;
}

static bool take_part(struct request *request, lethe_bytes part) {
    char room[3 * REQUEST_PART_BYTES];
    size_t size;
    if (part.size == 0) return true;
    if (part.size > sizeof room || !request_unescape(part.data, part.size, room, &size) ||
        size > REQUEST_PART_BYTES) {
        request_problem(request, 400, "Bad path",
                        "the path is too long, or has a %% without two digits after it");
        return false;
    }
    memcpy(request->part_room, room, size);
    request->part = (lethe_bytes){.data = request->part_room, .size = size};
    return true;
}

/* What is not known is refused, since a mistake in a name would be answered as if it were not
 * there. Not where others decide what is asked for: monitors, balancers, and the page. */
static bool check_arguments(struct request *request) {
    return strncmp(request->route->path, "/v1/", 4) != 0 ||
           request_has_only_arguments(request, request->route->arguments);
}

/* Whether a method may ask for the route; HEAD is GET without the body. */
static bool is_method(const char *method, const struct route *route) {
    return strcmp(method, route->method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0 && !route->is_stream);
}

/* Nothing is changed through a server over Redis: what changes a store is not there. */
static void refuse_unknown(struct request *request, const char *path) {
    lethe_bytes part;
    for (size_t i = 0; i < route_count && request->server->tables != NULL; i++) {
        if (strcmp(routes[i].method, "POST") != 0 || !matches(routes[i].path, path, &part))
            continue;
        request_problem(request, 403, "Read only",
                        "this server shows the tables of Redis and changes nothing; count with "
                        "'lethe count --redis', or with the commands ONCE.*");
        return;
    }
    request_problem(request, 404, "Not found", "there is nothing here; see /openapi.json");
}

void routes_find(struct request *request, const char *method, const char *path) {
    const struct route *other = NULL;
    lethe_bytes part, found = {0};
    path = path_of(request, path);
    bool is_readable = path != NULL;
    if (path == NULL) path = "";
    request->token = NULL;
    size_t count;
    const struct route *all = routes_of(request->server, &count);
    for (size_t i = 0; i < count && request->route == NULL; i++) {
        if (!matches(all[i].path, path, &part)) continue;
        found = part;
        if (is_method(method, &all[i]))
            request->route = &all[i];
        else
            other = &all[i];
    }
    if (request->route == NULL && other == NULL && page_find(path) != NULL) {
        if (is_method(method, &page_route)) {
            request->route = &page_route;
            request->page_path = page_find(path)->path;
        } else {
            other = &page_route;
        }
    }
    if (!check_host(request, is_readable)) return;
    if (request->route == NULL && other == NULL) {
        refuse_unknown(request, path);
    } else if (request->route == NULL) {
        request_problem(request, 405, "Method not allowed", "ask with %s", other->method);
        request->allow = other->method;
    } else if (check_token(request) && take_part(request, found) && check_arguments(request) &&
               strcmp(request->route->method, "POST") == 0) {
        (void)check_post(request);
    }
}

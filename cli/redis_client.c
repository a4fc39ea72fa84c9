/* redis_client.c - where requests go, and what becomes of those that failed.
 *
 * IDEA    A request waits in one list until its time has come and the server of its slot has room, then is on that
 *         server's link, then is done or back in the list. Whatever goes wrong, that is the only way back.
 * I1      A request that is not done is in `waiting` or on one link.
 * WHY     Asking for the map of slots is rare and done while everything else waits: half a second at most for each
 *         server that does not answer. Each time another one is asked first, because a node that is cut off from the
 *         rest goes on telling what it knew. */
#include "redis_client.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interrupt.h"
#include "message.h"

enum {
    NO_LINK = UINT16_MAX,
    ASK_MS = 500,        /* for the map of slots */
    MAP_AGE_MS = 100,    /* a map is not asked for again before */
    DELAY_MOST_MS = 500, /* before a request is sent again */
    TICK_MS = 50,
    INTERRUPTED_MS = 3000 /* after a signal nothing is tried for longer */
};

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int fail_memory(struct redis_client *client) {
    if (client->code == EXIT_DONE) {
        client->code = message_fail(EXIT_ENVIRONMENT, "not enough memory; free some");
    }
    return client->code;
}

/* --- Servers */

static size_t find_link(const struct redis_client *client, const struct redis_address *address) {
    for (size_t i = 0; i < client->link_count; i++) {
        const struct redis_address *known = &client->links[i]->address;
        if (known->port == address->port && strcmp(known->host, address->host) == 0) return i;
    }
    return NO_LINK;
}

/* The place of a server's link, which is made if need be; NO_LINK when memory is short. */
static size_t link_to(struct redis_client *client, const struct redis_address *address) {
    size_t place = find_link(client, address);
    if (place != NO_LINK || client->link_count == NO_LINK) return place;
    size_t bytes = (client->link_count + 1) * sizeof(struct redis_link *);
    struct redis_link **larger = realloc(client->links, bytes);
    struct redis_link *link = calloc(1, sizeof *link);
    if (larger != NULL) client->links = larger;
    if (larger == NULL || link == NULL) {
        free(link);
        fail_memory(client);
        return NO_LINK;
    }
    link->address = *address;
    client->links[client->link_count] = link;
    return client->link_count++;
}

/* What is wrong, as a sentence and an advice, for an answer that no repetition changes. */
static int refuse(struct redis_client *client, const struct redis_address *address,
                  const char *text) {
    static const struct {
        const char *kind;
        int code;
        const char *advice;
    } kinds[] = {
        {"ERR unknown command", EXIT_ENVIRONMENT,
         "the server has not loaded the module: start it with --loadmodule lethe.so"},
        {"NOAUTH", EXIT_ENVIRONMENT, "give user and password in --redis, or REDISCLI_AUTH"},
        {"WRONGPASS", EXIT_ENVIRONMENT, "check user and password in --redis, or REDISCLI_AUTH"},
        {"ERR AUTH", EXIT_ENVIRONMENT, "leave the password out of --redis and REDISCLI_AUTH"},
        {"NOPERM", EXIT_ENVIRONMENT, "let the user run ONCE.* commands on the table's keys"},
        {"WRONGTYPE", EXIT_BAD_DATA, "the key holds something else: choose another --table"},
        {"OOM", EXIT_ENVIRONMENT, "give the server more memory (maxmemory), and run again"},
        {"MISCONF", EXIT_ENVIRONMENT, "let the server save again, and run again"},
    };
    if (client->code != EXIT_DONE) return client->code;
    size_t i = 0, count = sizeof kinds / sizeof kinds[0];
    while (i < count && strncmp(text, kinds[i].kind, strlen(kinds[i].kind)) != 0) {
        i++;
    }
    client->code = message_fail(i < count ? kinds[i].code : EXIT_ENVIRONMENT,
                                "%s:%u answers: %.200s; %s", address->host, address->port, text,
                                i < count ? kinds[i].advice : "see what the server's log says");
    return client->code;
}

/* --- The map of slots */

/* An answer to CLUSTER SLOTS: ranges, each first, last, [host, port, ...], replicas. */
static bool read_map(struct redis_client *client, const redisReply *reply,
                     const struct redis_address *asked) {
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0) return false;
    for (unsigned slot = 0; slot < REDIS_SLOTS; slot++) {
        client->link_of_slot[slot] = NO_LINK;
    }
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *range = reply->element[i];
        if (range->type != REDIS_REPLY_ARRAY || range->elements < 3) return false;
        const redisReply *node = range->element[2];
        if (node->type != REDIS_REPLY_ARRAY || node->elements < 2) return false;
        const redisReply *host = node->element[0];
        struct redis_address address = *asked; /* a node may not know how it is called */
        if (host->type == REDIS_REPLY_STRING && host->len > 0 && strcmp(host->str, "?") != 0) {
            snprintf(address.host, sizeof address.host, "%s", host->str);
        }
        address.port = (uint16_t)node->element[1]->integer;
        long long first = range->element[0]->integer, last = range->element[1]->integer;
        if (first < 0 || last >= REDIS_SLOTS) return false;
        size_t place = link_to(client, &address);
        for (long long slot = first; slot <= last; slot++) {
            client->link_of_slot[slot] = (uint16_t)place;
        }
    }
    return true;
}

enum answer { ANSWER_MAP, ANSWER_SINGLE, ANSWER_LATER, ANSWER_NONE, ANSWER_REFUSED };

static enum answer judge(struct redis_client *client, const redisReply *reply,
                         const struct redis_address *address) {
    if (reply == NULL) return ANSWER_NONE;
    if (reply->type != REDIS_REPLY_ERROR) {
        return read_map(client, reply, address) ? ANSWER_MAP : ANSWER_LATER;
    }
    if (strstr(reply->str, "cluster support disabled") != NULL) return ANSWER_SINGLE;
    if (strncmp(reply->str, "LOADING", 7) == 0) return ANSWER_LATER;
    refuse(client, address, reply->str);
    return ANSWER_REFUSED;
}

/* Asks one server for the map, and waits for the answer. */
static enum answer ask_for_map(struct redis_client *client, const struct redis_address *address) {
    struct timeval limit = {.tv_usec = (suseconds_t)ASK_MS * 1000};
    redisContext *context = redisConnectWithTimeout(address->host, address->port, limit);
    enum answer answer = ANSWER_NONE;
    if (context != NULL && context->err == 0 && redisSetTimeout(context, limit) == REDIS_OK) {
        const struct redis_url *url = &client->url;
        redisReply *reply = NULL;
        if (url->password[0] != '\0') {
            reply = url->user[0] != '\0'
                        ? redisCommand(context, "AUTH %s %s", url->user, url->password)
                        : redisCommand(context, "AUTH %s", url->password);
        }
        if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
            answer = judge(client, reply, address);
        } else if (context->err == 0) {
            if (reply != NULL) freeReplyObject(reply);
            reply = redisCommand(context, "CLUSTER SLOTS");
            answer = judge(client, reply, address);
        }
        if (reply != NULL) freeReplyObject(reply);
    }
    if (answer == ANSWER_NONE) {
        snprintf(client->problem, sizeof client->problem, "%s:%u: %s", address->host, address->port,
                 context == NULL || context->err == 0 ? "no answer" : context->errstr);
    }
    if (context != NULL) redisFree(context);
    return answer;
}

/* Asks servers until one knows. */
static enum answer refresh_map(struct redis_client *client) {
    size_t count = client->link_count;
    enum answer answer = ANSWER_NONE;
    for (size_t i = 0; i < count && !interrupt_requested(); i++) {
        size_t place = client->next_asked++ % count;
        struct redis_address address = client->links[place]->address;
        enum answer one = ask_for_map(client, &address);
        if (one != ANSWER_NONE) answer = one;
        if (one == ANSWER_SINGLE) client->single = place;
        if (one == ANSWER_MAP || one == ANSWER_SINGLE || one == ANSWER_REFUSED) break;
    }
    client->mapped_ms = now_ms();
    client->needs_map = answer != ANSWER_MAP && answer != ANSWER_SINGLE;
    return answer;
}

size_t redis_client_masters(const struct redis_client *client) {
    if (!client->is_cluster) return 1;
    size_t masters = 0;
    for (size_t i = 0; i < client->link_count; i++) {
        unsigned slot = 0;
        while (slot < REDIS_SLOTS && client->link_of_slot[slot] != i) {
            slot++;
        }
        masters += slot < REDIS_SLOTS;
    }
    return masters;
}

/* --- What links tell */

static void on_done(void *context, struct redis_request *request) {
    struct redis_client *client = context;
    request->is_done = true;
    client->open_count--;
    if (request->on_done != NULL) request->on_done(request);
}

/* "MOVED 1234 host:port" or "ASK 1234 host:port"; without a host it is the one that says so. */
static bool read_redirection(const char *text, const struct redis_address *from,
                             struct redis_address *out) {
    const char *at = strchr(text, ' ');
    at = at != NULL ? strchr(at + 1, ' ') : NULL;
    const char *colon = at != NULL ? strrchr(at, ':') : NULL;
    if (colon == NULL) return false;
    at++;
    *out = *from;
    size_t size = (size_t)(colon - at);
    if (size >= sizeof out->host) return false;
    if (size > 0) {
        memcpy(out->host, at, size);
        out->host[size] = '\0';
    }
    unsigned long port = strtoul(colon + 1, NULL, 10);
    out->port = (uint16_t)port;
    return port > 0 && port <= UINT16_MAX;
}

/* How long a request waits before it is sent again: a little more each time. */
static uint64_t delay_of(const struct redis_request *request) {
    uint64_t delay_ms = UINT64_C(5) << (request->failures < 10 ? request->failures : 10);
    return delay_ms < DELAY_MOST_MS ? delay_ms : DELAY_MOST_MS;
}

static void note_problem(struct redis_client *client, const struct redis_link *link,
                         const char *text) {
    snprintf(client->problem, sizeof client->problem, "%s:%u: %.200s", link->address.host,
             link->address.port, text);
}

static void on_lost(void *context, struct redis_link *link, const char *text) {
    struct redis_client *client = context;
    note_problem(client, link, text);
    client->needs_map = client->is_cluster;
}

/* A key that was there is gone. */
static void note_loss(struct redis_client *client) {
    client->openings++; /* what else the server has lost is looked after as in a new connection */
    if (client->has_lost) return;
    client->has_lost = true;
    message_warn(
        "the server lost a key of the table while it was counted in, with its counters and "
        "ids; it is made again with the table's own window");
}

static void on_again(void *context, struct redis_link *link, struct redis_request *request,
                     const char *text) {
    struct redis_client *client = context;
    struct redis_address address;
    bool is_moved = strncmp(text, "MOVED ", 6) == 0, is_asked = strncmp(text, "ASK ", 4) == 0;
    note_problem(client, link, text);
    if (strncmp(text, "NOTABLE ", 8) == 0) note_loss(client);
    client->resent++;
    request->failures++;
    request->is_asked_once = false;
    request->not_before_ms = now_ms();
    if ((is_moved || is_asked) && client->is_cluster &&
        read_redirection(text, &link->address, &address)) {
        if (is_asked) {
            request->is_asked_once = true;
            request->asked = address;
        } else {
            size_t place = link_to(client, &address);
            if (place != NO_LINK) client->link_of_slot[request->slot] = (uint16_t)place;
        }
        /* Two servers that send each other's requests to and fro are not to be asked without end. */
        if (request->failures > 3) request->not_before_ms += delay_of(request);
        client->needs_map = client->needs_map || (is_moved && request->failures > 3);
    } else {
        request->not_before_ms += delay_of(request);
        client->needs_map = client->is_cluster;
        bool is_unfit = link->state == LINK_CLOSED || strncmp(text, "READONLY", 8) == 0;
        if (!client->is_cluster && is_unfit && client->links[client->single] == link) {
            client->single = (client->single + 1) % client->url.count;
        }
    }
    redis_list_append(&client->waiting, request);
}

static void on_created(void *context, struct redis_link *link, struct redis_request *request) {
    if (!redis_link_send(link, request, now_ms())) fail_memory(context);
}

static void on_refusal(void *context, struct redis_link *link, const char *text) {
    refuse(context, &link->address, text);
}

/* --- Sending */

/* The link that a request goes to, or NULL if nobody has its slot. */
static struct redis_link *target_of(struct redis_client *client,
                                    const struct redis_request *request) {
    size_t place = client->single;
    if (request->is_asked_once) {
        place = link_to(client, &request->asked);
    } else if (client->is_cluster) {
        place = client->link_of_slot[request->slot];
    }
    return place < client->link_count ? client->links[place] : NULL;
}

/* Puts a request on its link, if that is open and has room. */
static bool try_to_send(struct redis_client *client, struct redis_request *request, uint64_t now) {
    struct redis_link *link = target_of(client, request);
    if (request->not_before_ms > now) return false;
    if (link == NULL) {
        client->needs_map = true;
        request->not_before_ms = now + MAP_AGE_MS;
        return false;
    }
    char why[128];
    if (link->state == LINK_CLOSED && link->retry_at_ms <= now) {
        client->openings++;
        if (!redis_link_open(link, &client->url, now, why)) on_lost(client, link, why);
    }
    /* Whoever was to be asked just once is gone: back to where the slot is. */
    if (request->is_asked_once && link->state == LINK_CLOSED) request->is_asked_once = false;
    if (!redis_link_has_room(link)) return false;
    if (!redis_link_send(link, request, now)) fail_memory(client);
    return true;
}

static void send_waiting(struct redis_client *client, uint64_t now) {
    struct redis_list list = client->waiting;
    client->waiting = (struct redis_list){0};
    for (struct redis_request *request; (request = redis_list_take(&list)) != NULL;) {
        if (!try_to_send(client, request, now)) redis_list_append(&client->waiting, request);
    }
    for (size_t i = 0; i < client->link_count && client->options.replicas > 0; i++) {
        if (!redis_link_send_wait(client->links[i], client->options.replicas, now)) {
            fail_memory(client);
        }
    }
}

/* --- Time */

/* Without a cluster: the server in use can't be connected to, and others are known. */
static void look_elsewhere(struct redis_client *client) {
    const struct redis_link *link = client->links[client->single];
    if (!client->is_cluster && link->state == LINK_CLOSED && link->failures > 0) {
        client->single = (client->single + 1) % client->url.count;
    }
}

static void check_patience(struct redis_client *client, uint64_t now) {
    if (interrupt_requested() && client->patience_ms > INTERRUPTED_MS) {
        /* Counted from now on: the signal may have come long after the request. */
        for (struct redis_request *one = client->waiting.first; one != NULL; one = one->next) {
            one->first_ms = now;
        }
        client->patience_ms = INTERRUPTED_MS;
    }
    for (struct redis_request *one = client->waiting.first; one != NULL; one = one->next) {
        if (now - one->first_ms <= client->patience_ms || client->code != EXIT_DONE) continue;
        client->code =
            message_fail(interrupt_requested() ? interrupt_code() : EXIT_ENVIRONMENT,
                         "no acknowledgement for %.0f s (%s); see what is wrong and run again",
                         (double)(now - one->first_ms) / 1000, client->problem);
    }
}

static void wait_for_links(struct redis_client *client, struct pollfd *polled, int timeout_ms) {
    for (size_t i = 0; i < client->link_count; i++) {
        const struct redis_link *link = client->links[i];
        polled[i] = (struct pollfd){.fd = -1};
        if (link->state == LINK_CLOSED) continue;
        short writing = redis_link_is_writing(link) ? POLLOUT : 0;
        polled[i] = (struct pollfd){.fd = link->context->fd, .events = (short)(POLLIN | writing)};
    }
    (void)poll(polled, (nfds_t)client->link_count, timeout_ms < TICK_MS ? timeout_ms : TICK_MS);
}

static int work(struct redis_client *client, int timeout_ms) {
    uint64_t now = now_ms();
    if (client->code != EXIT_DONE) return client->code;
    if (client->needs_map && client->is_cluster && now - client->mapped_ms >= MAP_AGE_MS) {
        (void)refresh_map(client);
        now = now_ms();
    }
    send_waiting(client, now);
    size_t count = client->link_count; /* more may be found out meanwhile */
    struct pollfd *polled = malloc((count + 1) * sizeof *polled);
    if (polled == NULL) return fail_memory(client);
    wait_for_links(client, polled, timeout_ms);
    now = now_ms();
    struct redis_link_events events = {client, on_done, on_created, on_again, on_lost, on_refusal};
    for (size_t i = 0; i < count; i++) {
        struct redis_link *link = client->links[i];
        bool can_read = (polled[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
        bool can_write = (polled[i].revents & (POLLOUT | POLLERR)) != 0;
        if (polled[i].fd < 0) continue;
        redis_link_work(link, can_read, can_write, client->options.replicas, now, &events);
        redis_link_check_time(link, now, &events);
    }
    free(polled);
    look_elsewhere(client);
    check_patience(client, now);
    return client->code;
}

int redis_client_work(struct redis_client *client, int timeout_ms) {
    /* A server that hangs up is no reason to die, as a reader of standard output that leaves is at other times. */
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    int code = work(client, timeout_ms);
    signal(SIGPIPE, before);
    return code;
}

void redis_client_submit(struct redis_client *client, struct redis_request *request) {
    request->is_done = false;
    request->is_uncertain = false;
    request->is_asked_once = false;
    request->failures = 0;
    request->first_ms = now_ms();
    request->not_before_ms = 0;
    client->open_count++;
    redis_list_append(&client->waiting, request);
}

int redis_client_finish(struct redis_client *client, const struct redis_request *request) {
    while (client->code == EXIT_DONE &&
           (request != NULL ? !request->is_done : client->open_count > 0)) {
        redis_client_work(client, TICK_MS);
    }
    return client->code;
}

/* --- Opening */

/* Finds out whether there is a cluster. */
static int begin(struct redis_client *client) {
    for (size_t i = 0; i < client->url.count; i++) {
        if (link_to(client, &client->url.addresses[i]) == NO_LINK) return fail_memory(client);
    }
    uint64_t started = now_ms();
    enum answer answer = refresh_map(client);
    while (answer == ANSWER_LATER && now_ms() - started < client->options.retry_ms &&
           !interrupt_requested()) {
        (void)poll(NULL, 0, MAP_AGE_MS);
        answer = refresh_map(client);
    }
    if (interrupt_requested()) {
        client->code = message_fail(interrupt_code(), "interrupted before anything was done");
    } else if (answer == ANSWER_NONE) {
        client->code = message_fail(EXIT_ENVIRONMENT,
                                    "cannot reach a server (%s); check --redis, and that it runs",
                                    client->problem);
    } else if (answer == ANSWER_LATER) {
        client->code = message_fail(EXIT_ENVIRONMENT,
                                    "%s: the servers are loading, or make no cluster yet; "
                                    "try again later",
                                    client->url.shown);
    }
    client->is_cluster = answer == ANSWER_MAP;
    return client->code;
}

int redis_client_open(const struct redis_url *url, const struct redis_client_options *options,
                      struct redis_client **out) {
    *out = NULL;
    struct redis_client *client = calloc(1, sizeof *client);
    if (client == NULL) return message_fail(EXIT_ENVIRONMENT, "not enough memory; free some");
    client->url = *url;
    client->options = *options;
    client->patience_ms = options->retry_ms;
    client->code = EXIT_DONE;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    int code = begin(client);
    signal(SIGPIPE, before);
    if (code == EXIT_DONE) {
        *out = client;
    } else {
        redis_client_close(client);
    }
    return code;
}

void redis_client_close(struct redis_client *client) {
    if (client == NULL) return;
    for (size_t i = 0; i < client->link_count; i++) {
        redis_link_free(client->links[i]);
        free(client->links[i]);
    }
    free(client->links);
    free(client);
}

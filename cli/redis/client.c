/* client.c - where requests go, and what becomes of those that failed.
 *
 * IDEA  A request waits in one list until its time has come and the server of its slot has room;
 *       then it is on that server's link; then it is done, or back in the list. Whatever goes
 *       wrong, that is the only way back.
 * I1    A request that is not done is in `waiting` or on one link. */
#include "redis/client.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame/clock.h"
#include "frame/interrupt.h"
#include "redis/map.h"
#include "say/message.h"

enum {
    DELAY_MOST_MS = 500, /* before a request is sent again */
    TICK_MS = 50,
    SAID_AFTER_MS = 1000, /* a first contact that takes longer is worth a word */
    INTERRUPTED_MS = 3000 /* after a signal nothing is tried for longer */
};

/* --- What links report */

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
    char shown[REDIS_ADDRESS_SHOWN_BYTES];
    redis_address_show(&link->address, shown);
    snprintf(client->problem, sizeof client->problem, "%s: %.*s", shown, REDIS_WHY_BYTES, text);
}

static void on_lost(void *context, struct redis_link *link, const char *text, bool is_hopeless) {
    struct redis_client *client = context;
    note_problem(client, link, text);
    client->needs_map = client->is_cluster;
    if (is_hopeless) redis_client_give_up(client);
}

/* A key that was there is gone. */
static void note_loss(struct redis_client *client) {
    /* What else the server has lost is looked for as after a new connection. */
    client->openings++;
    if (client->has_lost) return;
    client->has_lost = true;
    message_warn(
        "the server lost a key of the table during this run, with its counters and ids; it is made "
        "again, with the table's own window");
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
    request->not_before_ms = clock_ms();
    if ((is_moved || is_asked) && client->is_cluster &&
        read_redirection(text, &link->address, &address)) {
        if (is_asked) {
            request->is_asked_once = true;
            request->asked = address;
        } else {
            size_t place = redis_map_link(client, &address);
            if (place != REDIS_NO_LINK) client->link_of_slot[request->slot] = (uint16_t)place;
        }
        /* Two servers may send a request to each other for ever: slow that down. */
        if (request->failures > 3) request->not_before_ms += delay_of(request);
        client->needs_map = client->needs_map || (is_moved && request->failures > 3);
    } else {
        request->not_before_ms += delay_of(request);
        client->needs_map = client->is_cluster;
        bool is_unfit = link->wire.state == WIRE_CLOSED || strncmp(text, "READONLY", 8) == 0;
        if (!client->is_cluster && is_unfit && client->links[client->single] == link) {
            client->single = (client->single + 1) % client->access->url.count;
        }
    }
    redis_list_append(&client->waiting, request);
}

static void on_created(void *context, struct redis_link *link, struct redis_request *request) {
    if (!redis_link_send(link, request, clock_ms())) redis_client_fail_memory(context);
}

static void on_refusal(void *context, struct redis_link *link, const char *text) {
    redis_client_refuse(context, &link->address, text);
}

/* --- Sending */

/* The link that a request goes to, or NULL if no server has its slot. */
static struct redis_link *target_of(struct redis_client *client,
                                    const struct redis_request *request) {
    size_t place = client->single;
    if (request->is_asked_once) {
        place = redis_map_link(client, &request->asked);
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
        request->not_before_ms = now + REDIS_MAP_AGE_MS;
        return false;
    }
    if (link->wire.state == WIRE_CLOSED && link->retry_at_ms <= now) {
        client->openings++;
        if (!redis_link_open(link, client->access, now))
            on_lost(client, link, link->wire.why, false);
    }
    /* The server that was to be asked just once is gone: back to the one that has the slot. */
    if (request->is_asked_once && link->wire.state == WIRE_CLOSED) request->is_asked_once = false;
    if (!redis_link_has_room(link)) return false;
    if (!redis_link_send(link, request, now)) redis_client_fail_memory(client);
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
            redis_client_fail_memory(client);
        }
    }
}

/* --- Time */

/* Without a cluster: if the server in use cannot be reached, takes the next one. */
static void look_elsewhere(struct redis_client *client) {
    const struct redis_link *link = client->links[client->single];
    if (!client->is_cluster && link->wire.state == WIRE_CLOSED && link->failures > 0) {
        client->single = (client->single + 1) % client->access->url.count;
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
                         "no acknowledgement for %.0f s (%s); fix the cause and run again",
                         (double)(now - one->first_ms) / 1000, client->problem);
    }
}

static void wait_for_links(struct redis_client *client, struct pollfd *polled, int timeout_ms) {
    for (size_t i = 0; i < client->link_count; i++) {
        const struct redis_link *link = client->links[i];
        polled[i] = (struct pollfd){.fd = -1};
        if (link->wire.state == WIRE_CLOSED) continue;
        short writing = redis_wire_is_writing(&link->wire) ? POLLOUT : 0;
        polled[i] = (struct pollfd){.fd = redis_wire_descriptor(&link->wire),
                                    .events = (short)(POLLIN | writing)};
    }
    (void)poll(polled, (nfds_t)client->link_count, timeout_ms < TICK_MS ? timeout_ms : TICK_MS);
}

static int work(struct redis_client *client, int timeout_ms) {
    uint64_t now = clock_ms();
    if (client->code != EXIT_DONE) return client->code;
    if (client->needs_map && client->is_cluster && now - client->mapped_ms >= REDIS_MAP_AGE_MS) {
        (void)redis_map_refresh(client);
        now = clock_ms();
    }
    send_waiting(client, now);
    size_t count = client->link_count; /* more may be found meanwhile */
    struct pollfd *polled = malloc((count + 1) * sizeof *polled);
    if (polled == NULL) return redis_client_fail_memory(client);
    wait_for_links(client, polled, timeout_ms);
    now = clock_ms();
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
    /* A server that hangs up must not end the program, as a closed standard output does. */
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
    request->first_ms = clock_ms();
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

/* Whether the same question may get an answer later. */
static bool is_worth_another_try(const struct redis_client *client, enum redis_answer answer) {
    return answer == ANSWER_LATER || answer == ANSWER_SILENT ||
           (answer == ANSWER_NONE && client->options.waits_for_servers);
}

/* Asks for the map until somebody has answered, for as long as requests are tried. */
static enum redis_answer make_contact(struct redis_client *client) {
    uint64_t began = clock_ms(), retry_ms = client->options.retry_ms;
    bool is_said = false;
    for (;;) {
        enum redis_answer answer = redis_map_refresh(client);
        uint64_t passed_ms = clock_ms() - began;
        bool is_over = passed_ms >= retry_ms || interrupt_requested();
        if (is_over || !is_worth_another_try(client, answer)) return answer;
        if (!is_said && answer != ANSWER_LATER && passed_ms >= SAID_AFTER_MS) {
            message_note("%s; trying again for %.3g s", client->problem, (double)retry_ms / 1000);
            is_said = true;
        }
        (void)poll(NULL, 0, REDIS_MAP_AGE_MS);
    }
}

/* Finds out whether there is a cluster. */
static int begin(struct redis_client *client) {
    const struct redis_url *url = &client->access->url;
    for (size_t i = 0; i < url->count; i++) {
        if (redis_map_link(client, &url->addresses[i]) == REDIS_NO_LINK)
            return redis_client_fail_memory(client);
    }
    enum redis_answer answer = make_contact(client);
    if (interrupt_requested()) {
        client->code = message_fail(interrupt_code(), "interrupted; nothing was done");
    } else if (answer == ANSWER_NONE || answer == ANSWER_SILENT) {
        client->code = message_fail(
            EXIT_ENVIRONMENT,
            "cannot reach a server (%s); check --redis, and that the server is running",
            client->problem);
    } else if (answer == ANSWER_LATER) {
        client->code = message_fail(EXIT_ENVIRONMENT,
                                    "%s: the servers are still loading, or are not a cluster yet; "
                                    "try again later",
                                    url->shown);
    } else if (answer == ANSWER_MAP && url->database > 0) {
        client->code = message_fail(EXIT_USAGE,
                                    "%s is a cluster, which has only the database 0; leave /%u out "
                                    "of --redis",
                                    url->shown, url->database);
    }
    client->is_cluster = answer == ANSWER_MAP;
    return client->code;
}

int redis_client_open(const struct redis_access *access, const struct redis_client_options *options,
                      struct redis_client **out) {
    *out = NULL;
    struct redis_client *client = calloc(1, sizeof *client);
    if (client == NULL) return message_fail_memory();
    client->access = access;
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

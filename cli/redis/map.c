/* map.c - finds the servers of a cluster and the slots they have.
 *
 * WHY  Asking for the map is rare, and is done while everything else waits: half a second at most
 *      for each server that does not answer. Each time another server is asked first, because a
 *      node that is cut off from the rest goes on reporting what it knew. */
#include "redis/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame/clock.h"
#include "frame/interrupt.h"
#include "say/message.h"

enum { ASK_MS = 500 };

int redis_client_fail_memory(struct redis_client *client) {
    if (client->code == EXIT_DONE) {
        client->code = message_fail_memory();
    }
    return client->code;
}

static size_t find_link(const struct redis_client *client, const struct redis_address *address) {
    for (size_t i = 0; i < client->link_count; i++) {
        const struct redis_address *known = &client->links[i]->address;
        if (known->port == address->port && strcmp(known->host, address->host) == 0) return i;
    }
    return REDIS_NO_LINK;
}

size_t redis_map_link(struct redis_client *client, const struct redis_address *address) {
    size_t place = find_link(client, address);
    if (place != REDIS_NO_LINK || client->link_count == REDIS_NO_LINK) return place;
    size_t bytes = (client->link_count + 1) * sizeof(struct redis_link *);
    struct redis_link **larger = realloc(client->links, bytes);
    struct redis_link *link = calloc(1, sizeof *link);
    if (larger != NULL) client->links = larger;
    if (larger == NULL || link == NULL) {
        free(link);
        redis_client_fail_memory(client);
        return REDIS_NO_LINK;
    }
    link->address = *address;
    client->links[client->link_count] = link;
    return client->link_count++;
}

int redis_client_refuse(struct redis_client *client, const struct redis_address *address,
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
                                i < count ? kinds[i].advice : "see the server's log");
    return client->code;
}

/* An answer to CLUSTER SLOTS: ranges, each first, last, [host, port, ...], replicas. */
static bool read_map(struct redis_client *client, const redisReply *reply,
                     const struct redis_address *asked) {
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0) return false;
    for (unsigned slot = 0; slot < REDIS_SLOTS; slot++) {
        client->link_of_slot[slot] = REDIS_NO_LINK;
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
        size_t place = redis_map_link(client, &address);
        for (long long slot = first; slot <= last; slot++) {
            client->link_of_slot[slot] = (uint16_t)place;
        }
    }
    return true;
}

static enum redis_answer judge(struct redis_client *client, const redisReply *reply,
                               const struct redis_address *address) {
    if (reply == NULL) return ANSWER_NONE;
    if (reply->type != REDIS_REPLY_ERROR) {
        return read_map(client, reply, address) ? ANSWER_MAP : ANSWER_LATER;
    }
    if (strstr(reply->str, "cluster support disabled") != NULL) return ANSWER_SINGLE;
    if (strncmp(reply->str, "LOADING", 7) == 0) return ANSWER_LATER;
    redis_client_refuse(client, address, reply->str);
    return ANSWER_REFUSED;
}

/* Asks one server for the map, and waits for the answer. */
static enum redis_answer ask_for_map(struct redis_client *client,
                                     const struct redis_address *address) {
    struct timeval limit = {.tv_usec = (suseconds_t)ASK_MS * 1000};
    redisContext *context = redisConnectWithTimeout(address->host, address->port, limit);
    enum redis_answer answer = ANSWER_NONE;
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

enum redis_answer redis_map_refresh(struct redis_client *client) {
    size_t count = client->link_count;
    enum redis_answer answer = ANSWER_NONE;
    for (size_t i = 0; i < count && !interrupt_requested(); i++) {
        size_t place = client->next_asked++ % count;
        struct redis_address address = client->links[place]->address;
        enum redis_answer one = ask_for_map(client, &address);
        if (one != ANSWER_NONE) answer = one;
        if (one == ANSWER_SINGLE) client->single = place;
        if (one == ANSWER_MAP || one == ANSWER_SINGLE || one == ANSWER_REFUSED) break;
    }
    client->mapped_ms = clock_ms();
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

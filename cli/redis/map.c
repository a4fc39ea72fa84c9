/* map.c - finds the servers of a cluster and the slots they have.
 *
 * WHY  Asking for the map is rare, and is done while everything else waits: half a second at first
 *      for each server that does not answer, and twice that each time when nobody did, because a
 *      machine with much to do may need longer to shake hands. Each time another server is asked
 *      first, because a node that is cut off from the rest goes on reporting what it knew. */
#include "redis/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame/clock.h"
#include "frame/interrupt.h"
#include "redis/ask.h"
#include "say/message.h"

enum { ASK_LEAST_MS = 500, ASK_MOST_MS = 4000 };

int redis_client_fail_memory(struct redis_client *client) {
    if (client->code == EXIT_DONE) {
        client->code = message_fail_memory();
    }
    return client->code;
}

int redis_client_give_up(struct redis_client *client) {
    if (client->code == EXIT_DONE)
        client->code = message_fail(EXIT_ENVIRONMENT, "%s", client->problem);
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
        {"NOAUTH", EXIT_ENVIRONMENT,
         "give the password with --password-file or in LETHE_REDIS_PASSWORD, and the user, if "
         "there "
         "is one, with --user"},
        {"WRONGPASS", EXIT_ENVIRONMENT,
         "check --user, and the password in --password-file or LETHE_REDIS_PASSWORD"},
        {"ERR AUTH", EXIT_ENVIRONMENT,
         "the server has no password: leave out --password-file, LETHE_REDIS_PASSWORD and "
         "REDISCLI_AUTH"},
        {"NOPERM", EXIT_ENVIRONMENT,
         "let the user run that command on the table's keys (docs/acl.md has the rules)"},
        {"DENIED", EXIT_ENVIRONMENT,
         "the server is in protected mode: give it a password, or connect from its own machine"},
        {"ERR DB index", EXIT_USAGE,
         "choose another database in --redis, or let the server have more (its setting "
         "databases)"},
        {"WRONGTYPE", EXIT_BAD_DATA, "the key holds something else: choose another --table"},
        {"OOM", EXIT_ENVIRONMENT, "give the server more memory (maxmemory), and run again"},
        {"MISCONF", EXIT_ENVIRONMENT, "let the server save again, and run again"},
    };
    if (client->code != EXIT_DONE) return client->code;
    size_t i = 0, count = sizeof kinds / sizeof kinds[0];
    while (i < count && strncmp(text, kinds[i].kind, strlen(kinds[i].kind)) != 0) {
        i++;
    }
    char shown[REDIS_ADDRESS_SHOWN_BYTES];
    redis_address_show(address, shown);
    client->code =
        message_fail(i < count ? kinds[i].code : EXIT_ENVIRONMENT, "%s answers: %.200s; %s", shown,
                     text, i < count ? kinds[i].advice : "see the server's log");
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
    struct redis_ask_failure failure;
    redisReply *reply =
        redis_ask(client->access, address, "CLUSTER SLOTS", client->ask_ms, &failure);
    if (reply != NULL) {
        enum redis_answer answer = judge(client, reply, address);
        freeReplyObject(reply);
        return answer;
    }
    char shown[REDIS_ADDRESS_SHOWN_BYTES];
    redis_address_show(address, shown);
    snprintf(client->problem, sizeof client->problem, "%s: %s", shown, failure.why);
    if (failure.kind == ASK_SILENT) return ANSWER_SILENT;
    if (failure.kind == ASK_ABSENT) return ANSWER_NONE;
    redis_client_give_up(client);
    return ANSWER_REFUSED;
}

enum redis_answer redis_map_refresh(struct redis_client *client) {
    size_t count = client->link_count;
    enum redis_answer answer = ANSWER_NONE;
    if (client->ask_ms == 0) client->ask_ms = ASK_LEAST_MS;
    for (size_t i = 0; i < count && !interrupt_requested(); i++) {
        size_t place = client->next_asked++ % count;
        struct redis_address address = client->links[place]->address;
        enum redis_answer one = ask_for_map(client, &address);
        if (one > answer) answer = one;
        if (one == ANSWER_SINGLE) client->single = place;
        if (one == ANSWER_MAP || one == ANSWER_SINGLE || one == ANSWER_REFUSED) break;
    }
    client->mapped_ms = clock_ms();
    bool is_silent = answer <= ANSWER_SILENT;
    client->ask_ms = is_silent && client->ask_ms < ASK_MOST_MS ? 2 * client->ask_ms
                     : is_silent                               ? ASK_MOST_MS
                                                               : ASK_LEAST_MS;
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

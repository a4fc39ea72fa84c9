/* map.h - the servers that a client knows, and which of them has which slot. */
#ifndef LETHE_CLI_REDIS_MAP_H
#define LETHE_CLI_REDIS_MAP_H

#include "redis/client.h"

enum {
    REDIS_NO_LINK = UINT16_MAX,
    REDIS_MAP_AGE_MS = 100 /* a map is not asked for again before */
};

/* What asking for the map gave: nobody there; nobody who answers; a server that is not ready yet; a
 * map; one server and no cluster; or an error, which the user was told. */
enum redis_answer {
    ANSWER_NONE,
    ANSWER_SILENT,
    ANSWER_LATER,
    ANSWER_MAP,
    ANSWER_SINGLE,
    ANSWER_REFUSED
};

/* The place of a server's link, which is made if needed; REDIS_NO_LINK when memory is short. */
size_t redis_map_link(struct redis_client *client, const struct redis_address *address);

/* Asks one server after another for the map until one knows, and waits for the answers. */
enum redis_answer redis_map_refresh(struct redis_client *client);

/* Ends the client because of an answer that no repetition changes: says what is wrong, and what to
 * do. Returns the client's code. */
int redis_client_refuse(struct redis_client *client, const struct redis_address *address,
                        const char *text);

/* Ends the client because of what client->problem says, which will be so again. Returns its
 * code. */
int redis_client_give_up(struct redis_client *client);

/* Ends the client because memory is short. Returns its code. */
int redis_client_fail_memory(struct redis_client *client);

#endif

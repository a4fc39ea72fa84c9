/* find.h - the keys of a server, or of all masters of a cluster, that hold once-tables.
 *
 * A turn reads all keys by SCAN, some at a time, so that no server is kept from its work: a key
 * that is there during a whole turn is found in it, perhaps more than once. */
#ifndef LETHE_CLI_REDIS_FIND_H
#define LETHE_CLI_REDIS_FIND_H

#include "redis/client.h"

/* How many keys a server looks at for one SCAN, roughly. */
enum { REDIS_FIND_KEYS = 250 };

/* All zero is one that has not begun. */
struct redis_finder {
    /* By the place of a server's link. */
    uint64_t *cursors;
    bool *is_done;
    size_t room;
    bool is_turning;
    uint64_t turns;    /* that were completed */
    uint64_t began_ms; /* the last one */
};

/* Goes on with a turn: asks each master at most so many times. A turn begins if none is under way,
 * and the last one began at least rest_ms ago. Calls on_key with each key that was found. Returns
 * EXIT_DONE, or the code of what was wrong, after saying so. */
int redis_find(struct redis_client *client, struct redis_finder *finder, unsigned most,
               uint64_t rest_ms, void (*on_key)(void *context, lethe_bytes key), void *context);

/* The next turn begins from the start: after another client was opened. */
void redis_finder_reset(struct redis_finder *finder);
void redis_finder_free(struct redis_finder *finder);

#endif

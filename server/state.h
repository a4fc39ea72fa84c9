/* state.h - all that belongs to a server that runs. */
#ifndef LETHE_SERVER_STATE_H
#define LETHE_SERVER_STATE_H

#include "events/batch.h"
#include "events/format.h"
#include "server/access.h"
#include "server/body.h"
#include "server/door.h"
#include "server/server.h"
#include "server/waiter.h"
#include "server/watch.h"
#include "server/workers.h"

/* Batches that no thread parses into at the moment. */
struct batches {
    pthread_mutex_t lock;
    struct parsing *free[WORKERS + 64];
    size_t count;
};

struct server {
    const struct server_options *options;
    struct access access;
    struct door door;
    struct waiter waiter;
    /* The second is for figures alone, which are wanted most while all others wait for the disk. */
    struct workers workers, figures;
    struct watch watch;
    struct batches batches;
    struct bodies bodies;
    struct http *http;
    /* NULL: there is a store. Otherwise there is none, and no door, waiter and watch. */
    struct tables *tables;
    /* How events are written: JSON, and CloudEvents. */
    struct event_format json, cloud;
    /* How times in queries are written. */
    struct event_time_rule moments;
    unsigned scale;
    bool event_time, check_payload, has_sketch;
    char per[LETHE_METERS_TEXT_BYTES], zone[LETHE_METERS_TEXT_BYTES];
    uint64_t max_body_bytes, max_connections, max_holds;
    unsigned threads;
    bool checks_hosts;
};

#endif

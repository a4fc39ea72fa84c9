/* caps.h - how much of what the server takes from outside.
 *
 *   what                                   limit                            beyond it
 *   a body as it is sent                   max_body_bytes, 8 MiB            413
 *   a body, decompressed                   eight times that                 413
 *   bodies of all requests                 max_bodies_bytes, 32 times that  503
 *   nesting of JSON                        SCAN_DEPTH_LIMIT (scan.h)        400
 *   a line, or one event                   EVENT_LINE_LIMIT_BYTES           400
 *   a request line and its headers         CONNECTION_MEMORY_BYTES          431, or 414
 *   connections                            max_connections, 1024            wait to be accepted, or
 *                                                                           closed (http.c, I3)
 *   time until the headers are complete    IDLE_SECONDS                     closed
 *   time until the body is complete        BODY_SECONDS, and more by size   closed
 *   time until the answer is taken         the same                         closed
 *   events of a body, answered one by one  EVENTS_SHOWN                     the counts alone
 *   streams of the page                    STREAMS_LIMIT                    503
 *   rows of an answer                      ROWS_LIMIT                       a cursor, or 400
 *   bytes of an answer                     ANSWER_BYTES, and one row       a cursor, is_cut, or 400
 *   new counters                           max_counters                     403
 *   open holds                             max_holds, a million             403
 *   what is thrown away of a refused body  LINGER_BYTES, LINGER_SECONDS     closed */
#ifndef LETHE_SERVER_CAPS_H
#define LETHE_SERVER_CAPS_H

enum {
    MAX_BODY_BYTES = 8 << 20,
    UNPACKED_FACTOR = 8,
    BODIES_FACTOR = 32,
    /* So much of each body is not counted among those of all requests: a small one is never refused
     * because others are large. */
    FREE_BODY_BYTES = 16 << 10,
    CONNECTION_MEMORY_BYTES = 64 << 10,
    MAX_CONNECTIONS = 1024,
    /* Each is in memory: 200 bytes, the id and three times the key, and more with --per. */
    MAX_HOLDS = 1000000,
    IDLE_SECONDS = 75,
    BODY_SECONDS = 20,
    /* A second more for so many bytes. */
    BODY_BYTES_PER_SECOND = 64 << 10,
    /* Without any progress. */
    STALL_SECONDS = 60,
    STREAMS_LIMIT = 32,
    STREAM_LEAST_MS = 100,
    STREAM_MOST_MS = 60000,
    EVENTS_SHOWN = 100000,
    ROWS_LIMIT = 10000,
    ROWS_USUAL = 1000,
    /* Of a list, or of the events of a body one by one. It is in memory until it is taken, so there
     * may be as many of these as connections. */
    ANSWER_BYTES = 8 << 20,
    WORKERS = 8,
    /* A body that is larger is parsed by a worker. */
    INLINE_BODY_BYTES = 512 << 10,
    TOP_SHOWN = 20,
    /* The lease of a claim or a hold that names none; `lethe claim` has the same. */
    DEFAULT_LEASE_MS = 60000,
    /* What is thrown away of a body that was refused, and for how long, so that its sender sees the
     * answer; and of how many at once. */
    LINGER_BYTES = 64 << 20,
    LINGER_SECONDS = 5,
    LINGERS_LIMIT = 64,
    /* How long SIGTERM waits for what is under way. */
    DRAIN_SECONDS = 30,
    /* And for a body that is not complete, or an answer that is not taken. */
    DRAIN_BODY_SECONDS = 2,
    DRAIN_ANSWER_SECONDS = 10
};

#endif

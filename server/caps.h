/* caps.h - how much of what the server takes from outside.
 *
 *   what                                   limit                            beyond it
 *   a body as it is sent                   max_body_bytes, 8 MiB            413
 *   a body, decompressed                   eight times that                 413
 *   nesting of JSON                        SCAN_DEPTH_LIMIT (scan.h)        400
 *   a line, or one event                   EVENT_LINE_LIMIT_BYTES           400
 *   a request line and its headers         CONNECTION_MEMORY_BYTES          431, or 414
 *   connections                            max_connections, 1024            wait to be accepted
 *   time until the headers are complete    IDLE_SECONDS                     closed
 *   time until the body is complete        BODY_SECONDS, and more by size   closed
 *   events of a body, answered one by one  EVENTS_SHOWN                     the counts alone
 *   streams of the page                    STREAMS_LIMIT                    503
 *   rows of an answer                      ROWS_LIMIT                       a cursor, or 400
 *   new counters                           max_counters                     403 */
#ifndef LETHE_SERVER_CAPS_H
#define LETHE_SERVER_CAPS_H

enum {
    MAX_BODY_BYTES = 8 << 20,
    UNPACKED_FACTOR = 8,
    CONNECTION_MEMORY_BYTES = 64 << 10,
    MAX_CONNECTIONS = 1024,
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
    WORKERS = 8,
    /* A body that is larger is parsed by a worker. */
    INLINE_BODY_BYTES = 512 << 10,
    TOP_SHOWN = 20,
    /* How long SIGTERM waits for what is under way. */
    DRAIN_SECONDS = 30
};

#endif

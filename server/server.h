/* server.h - `lethe serve`: a store, or the once-tables of a server, over HTTP.
 *
 * Guarantee  What is answered is durable: outcomes, values, and what is read.
 *            SIGTERM ends the server when everything that was received is answered. A kill at any
 *            moment loses nothing that was answered; what was not is sent again, with the same ids.
 * Threads    http.c has one thread for each CPU, which speak HTTP, parse events and submit them. No
 *            thread waits for the disk on behalf of one request: waiter.c has all of them. What
 *            takes long or must wait runs in the threads of workers.c. watch.c looks at the store
 *            once a second, door.c opens it again after a failure.
 * Memory     The store, 8 MiB for each thread that parses events, and what caps.h allows. */
#ifndef LETHE_SERVER_SERVER_H
#define LETHE_SERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "lethe/store.h"
#include "server/source.h"

/* Zero, or NULL, where something is left out. */
struct server_options {
    /* The store's folder, and how it is opened. */
    const char *folder;
    const lethe_store_options *store;
    bool read_only;
    /* Says "cannot ATTEMPT FOLDER: why; what to do", and returns the exit code of that. */
    int (*fail)(lethe_status status, const char *attempt, const char *folder,
                const lethe_detail *detail);
    /* In place of a store: the tables that are shown. folder is then what is said of it. */
    const struct source *source;

    /* HOST:PORT, HOST an address, [address] or name; port 0 is any that is free. */
    const char *listen;
    /* Names that a Host header may have, with commas. */
    const char *hosts;
    const char *token_file;
    const char *tls_cert, *tls_key;
    /* Another address than loopback without tokens and TLS. */
    bool insecure;

    /* Which members of events are their parts, as `lethe count --fields` has it. */
    const char *fields, *cloud_fields;
    /* An event with a time is counted when it arrives, even in a store that has periods and does
     * not go by the time of events. */
    bool ignore_time;
    /* Where backups go; NULL: there are none. */
    const char *backups;
    /* How many counters may exist; further ones are not begun. 0: no limit. */
    uint64_t max_counters;
    /* How many holds may be open; further ones are not placed. 0: as caps.h has it. */
    uint64_t max_holds;
    /* Bytes of a body as it is sent, and decompressed; connections; 0: as caps.h has it. */
    uint64_t max_body_bytes, max_connections;
    /* Bytes of the bodies of all requests together. */
    uint64_t max_bodies_bytes;
    /* Messages are JSON objects. */
    bool logs_json;
};

/* Serves until a signal comes. Returns an exit code, after saying what is wrong. */
int server_run(const struct server_options *options);

#endif

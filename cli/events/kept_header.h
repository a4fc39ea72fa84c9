/* kept_header.h - the headers of files, kept as they were written, for those who write records of
 * these files to another one.
 *
 * Memory   Each header once, however many files have it, until all are freed.
 * Threads  One thread adds. What was added never changes or moves, so others may read it. */
#ifndef LETHE_CLI_EVENTS_KEPT_HEADER_H
#define LETHE_CLI_EVENTS_KEPT_HEADER_H

#include <stdbool.h>

#include "lethe/hash.h"

/* Zeroed, it is empty. */
struct event_kept_headers {
    struct event_kept_header *first;
};

/* Keeps a header, and returns it as it is kept: equal headers are the same bytes. Returns false
 * when memory is short. */
bool event_header_keep(struct event_kept_headers *headers, lethe_bytes header, lethe_bytes *out);
void event_headers_free(struct event_kept_headers *headers);

#endif

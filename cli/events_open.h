/* events_open.h - opens the next file of a gatherer at the right place. */
#ifndef LETHE_CLI_EVENTS_OPEN_H
#define LETHE_CLI_EVENTS_OPEN_H

#include "events_gather.h"

/* Opens a file: takes its header, finds the mark that belongs to it and goes there. The batch is used as memory.
 * Returns false when reading has ended: the failure says why, or a signal came. */
bool event_open_next(struct event_gatherer *gatherer, struct event_batch *batch);

/* Passes over a byte order mark, which some programs put before text. Returns false when more bytes must
 * be read to tell, or the failure says that the text is in UTF-16. */
bool event_skip_byte_order_mark(struct event_gatherer *gatherer);

#endif

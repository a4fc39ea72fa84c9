/* open.h - opens the next file of a gatherer at the right place. */
#ifndef LETHE_CLI_EVENTS_OPEN_H
#define LETHE_CLI_EVENTS_OPEN_H

#include "events/gather.h"

/* Opens a file: takes its header, finds the mark that belongs to it and goes there. The batch is
 * used as memory. Returns false when reading has ended: the failure says why, or a signal came. */
bool event_open_next(struct event_gatherer *gatherer, struct event_batch *batch);

/* Looks at the inputs before anything is made of them: opens each file, takes its header and closes
 * it, and leaves the first input open for event_open_next. Returns as that does. */
bool event_look_ahead(struct event_gatherer *gatherer, struct event_batch *batch);

#endif

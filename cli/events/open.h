/* open.h - opens the next file of a gatherer at the right place. */
#ifndef LETHE_CLI_EVENTS_OPEN_H
#define LETHE_CLI_EVENTS_OPEN_H

#include "events/gather.h"

/* Opens a file: takes its header, finds the mark that belongs to it and goes there. The batch is
 * used as memory. Returns false when reading has ended: the failure says why, or a signal came. */
bool event_open_next(struct event_gatherer *gatherer, struct event_batch *batch);

enum event_opening {
    EVENT_OPENED = 0,
    /* The header is not all there yet; the file is closed again. */
    EVENT_NOT_YET,
    /* As the failure says, or a signal came. */
    EVENT_NOT_OPENED
};
/* Opens a file that is followed, the only one of its gatherer, by a descriptor, which belongs to
 * the gatherer from then on; event_gather then begins to read it. */
enum event_opening event_open_followed(struct event_gatherer *gatherer, int descriptor,
                                       struct event_batch *batch);

/* Looks at the inputs before anything is made of them: opens each file, takes its header and closes
 * it, and leaves the first input open for event_open_next. Returns as that does. */
bool event_look_ahead(struct event_gatherer *gatherer, struct event_batch *batch);

#endif

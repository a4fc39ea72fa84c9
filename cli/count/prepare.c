/* prepare.c - has the reading thread hash the events, so that the counting thread need not. */
#include "count/count.h"

static void *make(void *context) {
    lethe_prepared *prepared;
    (void)context;
    return lethe_prepared_new(EVENTS_PER_BATCH, NULL, &prepared) == LETHE_OK ? prepared : NULL;
}

static void prepare(void *context, const struct event_batch *batch, void *room) {
    const struct counting *counting = context;
    /* There is room for every batch, and the store is open to write. */
    lethe_status status =
        lethe_store_prepare(counting->store, batch->operations, batch->count, room);
    (void)status;
}

static void drop(void *room) {
    lethe_prepared_free(room);
}

int count_prepare(struct counting *counting) {
    static struct event_preparer preparer = {.make = make, .prepare = prepare, .drop = drop};
    /* A limit is put into the events by the counting thread, and events with a limit are not
     * prepared. */
    if (counting->bounds.count > 0) return EXIT_DONE;
    preparer.context = counting;
    return events_prepare(counting->reader, &preparer);
}

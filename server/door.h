/* door.h - the open store, and its way back after a failure.
 *
 * After a failed commit a store takes nothing more until it is opened again. So every request
 * enters and leaves. When the store has failed nobody else gets in; when the last one has left, it
 * is closed and opened again, as often as it takes.
 *
 * Threads  Any number. */
#ifndef LETHE_SERVER_DOOR_H
#define LETHE_SERVER_DOOR_H

#include <pthread.h>

#include "lethe/store.h"

struct door {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t keeper;
    const char *folder;
    lethe_store_options options;
    lethe_store *store;
    unsigned users;
    bool has_failed, stops, has_keeper;
    /* Why it failed, or why it could not be opened again the last time. */
    lethe_status why;
    /* How often it was opened again. */
    uint64_t reopened;
};

/* Opens the store. Returns LETHE_OK, or a status with its detail. */
lethe_status door_open(struct door *door, const char *folder, const lethe_store_options *options,
                       lethe_detail *detail);

/* The store, which stays open until leave; NULL while it is being opened again. */
lethe_store *door_enter(struct door *door);
void door_leave(struct door *door);
/* Why nobody gets in at the moment. */
lethe_status door_why(struct door *door);

/* The store failed, and is to be opened again. */
void door_fail(struct door *door, lethe_status status, const char *reason);

/* Closes the store, when all have left. */
lethe_status door_close(struct door *door, lethe_detail *detail);

#endif

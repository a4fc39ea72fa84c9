/* workers.h - a few threads for what takes long, or must wait by itself: lists, claims, backups. */
#ifndef LETHE_SERVER_WORKERS_H
#define LETHE_SERVER_WORKERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/caps.h"

struct request;

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t threads[WORKERS];
    size_t thread_count;
    struct request *first, **last;
    bool stops;
};

/* Starts so many threads, WORKERS at most. */
bool workers_begin(struct workers *workers, size_t count);
/* Has the function of the request's route called by one of the threads. Returns false if the server
 * ends. */
bool workers_add(struct workers *workers, struct request *request);
void workers_end(struct workers *workers);

#endif

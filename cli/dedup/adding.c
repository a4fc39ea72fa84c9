/* dedup/adding.c - the adding thread of `lethe dedup --db`.
 *
 * IDEA    To look a line up in memory and to put it into the cascade each wait for memory, and the
 *         second is needed only by the next checkpoint. So it has a thread of its own, a few
 *         batches behind.
 * LAYOUT  A ring of batches, which are numbered: `put` were handed over, `added` of them are
 *         settled. The one after those that were handed over is being filled.
 * I1      A batch that is being filled or added is no other thread's.
 * I2      After a failure nothing more is added: the cascade has no line that came after one that
 *         it lacks. */
#include "dedup/adding.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "frame/clock.h"

struct adding_batch {
    lethe_hash *hashes;
    size_t count, capacity;
};

struct adding {
    lethe_cascade *cascade;
    struct adding_batch batches[ADDING_BATCHES];
    pthread_t thread;

    /* Protects what follows; changed is signalled with every change. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t put, added;
    bool should_end;
    lethe_status status;
};

/* Waits for a batch to add; returns whether there is one. */
static bool next(struct adding *adding) {
    pthread_mutex_lock(&adding->lock);
    while (adding->added == adding->put && !adding->should_end)
        pthread_cond_wait(&adding->changed, &adding->lock);
    bool is_there = adding->added < adding->put;
    pthread_mutex_unlock(&adding->lock);
    return is_there;
}

static void *add(void *context) {
    struct adding *adding = context;
    lethe_status status = LETHE_OK;
    for (uint64_t number = 0; next(adding); number++) {
        const struct adding_batch *batch = &adding->batches[number % ADDING_BATCHES];
        if (status == LETHE_OK) {
            status = lethe_cascade_add_batch(adding->cascade, batch->hashes, batch->count,
                                             clock_wall_ms(), NULL);
        }
        pthread_mutex_lock(&adding->lock);
        adding->added++;
        adding->status = status;
        pthread_cond_signal(&adding->changed);
        pthread_mutex_unlock(&adding->lock);
    }
    return NULL;
}

struct adding *adding_new(lethe_cascade *cascade) {
    struct adding *adding = calloc(1, sizeof *adding);
    if (adding == NULL) return NULL;
    adding->cascade = cascade;
    pthread_mutex_init(&adding->lock, NULL);
    pthread_cond_init(&adding->changed, NULL);
    sigset_t all, before; /* signals are for the main thread */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&adding->thread, NULL, add, adding);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) return adding;
    pthread_cond_destroy(&adding->changed);
    pthread_mutex_destroy(&adding->lock);
    free(adding);
    return NULL;
}

void adding_free(struct adding *adding) {
    if (adding == NULL) return;
    pthread_mutex_lock(&adding->lock);
    adding->should_end = true;
    pthread_cond_signal(&adding->changed);
    pthread_mutex_unlock(&adding->lock);
    pthread_join(adding->thread, NULL);
    pthread_cond_destroy(&adding->changed);
    pthread_mutex_destroy(&adding->lock);
    for (size_t i = 0; i < ADDING_BATCHES; i++)
        free(adding->batches[i].hashes);
    free(adding);
}

/* Waits until at most so many batches are not settled; returns the failure that is known. */
static lethe_status wait_for(struct adding *adding, uint64_t most) {
    pthread_mutex_lock(&adding->lock);
    while (adding->put - adding->added > most)
        pthread_cond_wait(&adding->changed, &adding->lock);
    lethe_status status = adding->status;
    pthread_mutex_unlock(&adding->lock);
    return status;
}

lethe_hash *adding_room(struct adding *adding, size_t count) {
    (void)wait_for(adding, ADDING_BATCHES - 1);
    struct adding_batch *batch = &adding->batches[adding->put % ADDING_BATCHES];
    if (batch->capacity < count) {
        free(batch->hashes);
        batch->hashes = malloc(count * sizeof *batch->hashes);
        batch->capacity = batch->hashes != NULL ? count : 0;
    }
    return batch->hashes;
}

lethe_status adding_put(struct adding *adding, size_t count) {
    adding->batches[adding->put % ADDING_BATCHES].count = count;
    pthread_mutex_lock(&adding->lock);
    adding->put++;
    lethe_status status = adding->status;
    pthread_cond_signal(&adding->changed);
    pthread_mutex_unlock(&adding->lock);
    return status;
}

lethe_status adding_wait(struct adding *adding) {
    return wait_for(adding, 0);
}

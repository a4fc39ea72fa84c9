/* cascade_worker.c - the merging thread.
 *
 * It takes one step after another while there is something to do, and looks again after a few
 * milliseconds when there is not: insertion goes on meanwhile in large batches, so nobody has to
 * wake it. After a failure it waits longer; the next insertion meets the same failure and reports
 * it, and a run that can't be read is counted by lethe_cascade_info. */
#include "filter/cascade_worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "frame/clock.h"

enum { IDLE_MS = 2, FAILED_MS = 100 };

struct cascade_worker {
    lethe_cascade *cascade;
    pthread_t thread;
    atomic_bool stop;
};

static void rest(unsigned milliseconds) {
    struct timespec pause = {.tv_nsec = (long)milliseconds * 1000000};
    nanosleep(&pause, NULL);
}

static void *work(void *context) {
    struct cascade_worker *worker = context;
    while (!atomic_load(&worker->stop)) {
        bool more = false;
        lethe_status status = lethe_cascade_work(worker->cascade, clock_wall_ms(), 0, &more);
        if (status != LETHE_OK) rest(FAILED_MS);
        if (status == LETHE_OK && !more) rest(IDLE_MS);
    }
    return NULL;
}

struct cascade_worker *cascade_worker_start(lethe_cascade *cascade) {
    struct cascade_worker *worker = malloc(sizeof *worker);
    if (worker == NULL) return NULL;
    worker->cascade = cascade;
    atomic_init(&worker->stop, false);
    sigset_t all, before; /* signals are for the main thread */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&worker->thread, NULL, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) return worker;
    free(worker);
    return NULL;
}

void cascade_worker_stop(struct cascade_worker *worker) {
    if (worker == NULL) return;
    atomic_store(&worker->stop, true);
    pthread_join(worker->thread, NULL);
    free(worker);
}

/* python/native/guard.c - who may use an object now: guard.h has the contract.
 *
 * IDEA    All guards share one mutex and one condition for those who wait, which is rare. Whoever
 *         leaves while somebody waits counts an epoch up and wakes everybody; they look again.
 * I1      The epoch is counted up with both the interpreter's lock and the mutex, so it can be read
 *         with either. A waiter notes it while it still has the interpreter's lock, and so misses
 *         no wake-up that comes before it sleeps.
 * WHY     A lock per object would cost an atomic operation per call, and would stay locked for
 *         ever in a process that is forked while a thread holds it. */
#include "guard.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t epoch;
static uint32_t waiting;
/* Forks since the program began. */
static uint32_t generation;

/* In the new process, where only the forking thread is left: nobody waits, and the mutex may have
 * been locked by a thread that is not here. */
static void forked(void) {
    pthread_mutex_init(&mutex, NULL);
    pthread_cond_init(&changed, NULL);
    waiting = 0;
    generation++;
}

int guard_start_all(void) {
    if (pthread_atfork(NULL, NULL, forked) == 0) return 0;
    PyErr_NoMemory();
    return -1;
}

void guard_start(struct guard *guard) {
    *guard = (struct guard){.generation = generation};
}

bool guard_is_inherited(const struct guard *guard) {
    return guard->generation != generation;
}

static bool is_free(const struct guard *guard, enum guard_use use) {
    if (use == GUARD_READ) return !guard->is_writing && guard->writers_waiting == 0;
    return !guard->is_writing && guard->readers == 0;
}

static bool take_over_after_fork(struct guard *guard) {
    if (guard->is_writing || guard->readers > 0) return false;
    guard_start(guard);
    return true;
}

static void wait_for_change(void) {
    uint64_t seen = epoch;
    waiting++;
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&mutex);
    while (epoch == seen)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    PyEval_RestoreThread(thread);
    waiting--;
}

bool guard_enter(struct guard *guard, enum guard_use use) {
    if (guard->generation != generation && !take_over_after_fork(guard)) return false;
    if (!is_free(guard, use)) {
        if (use == GUARD_WRITE) guard->writers_waiting++;
        while (!is_free(guard, use))
            wait_for_change();
        if (use == GUARD_WRITE) guard->writers_waiting--;
    }
    if (use == GUARD_WRITE)
        guard->is_writing = true;
    else
        guard->readers++;
    return true;
}

void guard_leave(struct guard *guard, enum guard_use use) {
    if (use == GUARD_WRITE)
        guard->is_writing = false;
    else
        guard->readers--;
    if (waiting == 0) return;
    pthread_mutex_lock(&mutex);
    epoch++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

/* os/thread.h - threads, and waiting for what another thread does. */
#ifndef LETHE_OS_THREAD_H
#define LETHE_OS_THREAD_H

#include <pthread.h>
#include <stdint.h>

#include "lethe/status.h"
#include "os/lock.h"

typedef struct lethe_os_thread {
    pthread_t thread;
} lethe_os_thread;

/* Starts main(context), with all signals blocked: they are for the threads of the program.
 * Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_os_thread_start(lethe_os_thread *thread,
                                                    void *(*main)(void *context), void *context);
void lethe_os_thread_join(lethe_os_thread *thread);

/* How many threads can run at once, at least 1. */
unsigned lethe_os_cpus(void);

/* Something to wait for while holding a lock, which is given up meanwhile. */
typedef struct lethe_os_condition {
    pthread_cond_t condition;
} lethe_os_condition;

void lethe_os_condition_init(lethe_os_condition *condition);
void lethe_os_condition_drop(lethe_os_condition *condition);
void lethe_os_condition_wait(lethe_os_condition *condition, lethe_os_lock *lock);
/* At most timeout_ms long. May return early, as wait may. */
void lethe_os_condition_wait_for(lethe_os_condition *condition, lethe_os_lock *lock,
                                 uint64_t timeout_ms);
void lethe_os_condition_wake_all(lethe_os_condition *condition);

#endif

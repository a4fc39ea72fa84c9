/* os/lock.h - a mutual-exclusion lock. */
#ifndef LETHE_OS_LOCK_H
#define LETHE_OS_LOCK_H

#include <pthread.h>

typedef struct lethe_os_lock {
    pthread_mutex_t mutex;
} lethe_os_lock;

void lethe_os_lock_init(lethe_os_lock *lock);
void lethe_os_lock_drop(lethe_os_lock *lock);
void lethe_os_lock_take(lethe_os_lock *lock);
void lethe_os_lock_give(lethe_os_lock *lock);

#endif

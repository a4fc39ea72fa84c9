/* os/lock.c - locks on POSIX mutexes, which spin a little and then sleep. */
#include "os/lock.h"

void lethe_os_lock_init(lethe_os_lock *lock) {
    (void)pthread_mutex_init(&lock->mutex,
                             NULL); /* with default attributes it can't fail on Linux */
}

void lethe_os_lock_drop(lethe_os_lock *lock) {
    (void)pthread_mutex_destroy(&lock->mutex);
}

void lethe_os_lock_take(lethe_os_lock *lock) {
    (void)pthread_mutex_lock(&lock->mutex);
}

void lethe_os_lock_give(lethe_os_lock *lock) {
    (void)pthread_mutex_unlock(&lock->mutex);
}

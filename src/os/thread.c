/* os/thread.c - POSIX threads, condition variables on a clock that nobody can set, and how many
 * CPUs there are. */
#include "os/thread.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

lethe_status lethe_os_thread_start(lethe_os_thread *thread, void *(*main)(void *context),
                                   void *context) {
    sigset_t all, before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&thread->thread, NULL, main, context);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? LETHE_OK : LETHE_ENOMEM;
}

void lethe_os_thread_join(lethe_os_thread *thread) {
    (void)pthread_join(thread->thread, NULL);
}

unsigned lethe_os_cpus(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 1 ? (unsigned)count : 1;
}

void lethe_os_condition_init(lethe_os_condition *condition) {
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&condition->condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void lethe_os_condition_drop(lethe_os_condition *condition) {
    (void)pthread_cond_destroy(&condition->condition);
}

void lethe_os_condition_wait(lethe_os_condition *condition, lethe_os_lock *lock) {
    (void)pthread_cond_wait(&condition->condition, &lock->mutex);
}

void lethe_os_condition_wait_for(lethe_os_condition *condition, lethe_os_lock *lock,
                                 uint64_t timeout_ms) {
    struct timespec until = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t nanoseconds = (uint64_t)until.tv_nsec + timeout_ms % 1000 * 1000000;
    until.tv_sec += (time_t)(timeout_ms / 1000 + nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);
    (void)pthread_cond_timedwait(&condition->condition, &lock->mutex, &until);
}

void lethe_os_condition_wake_all(lethe_os_condition *condition) {
    (void)pthread_cond_broadcast(&condition->condition);
}

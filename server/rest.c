/* rest.c - waiting; see rest.h.
 *
 * WHY     By the wall clock, which is what conditions go by unless they are told otherwise, a clock
 *         that is set back by an hour would make a wait of a second last an hour. */
#include "server/rest.h"

#include <time.h>

void rest_init(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

void rest_ms(pthread_cond_t *condition, pthread_mutex_t *lock, unsigned ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(condition, lock, &until);
}

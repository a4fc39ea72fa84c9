/* rest.h - waiting for a condition for some time, by a clock that nobody can set. */
#ifndef LETHE_SERVER_REST_H
#define LETHE_SERVER_REST_H

#include <pthread.h>

/* A condition for rest_ms. */
void rest_init(pthread_cond_t *condition);
/* Waits, with the lock, until the condition is signalled or so much time has passed. */
void rest_ms(pthread_cond_t *condition, pthread_mutex_t *lock, unsigned ms);

#endif

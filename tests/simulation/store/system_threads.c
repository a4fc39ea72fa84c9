/* simulation/store/system_threads.c - clocks, chance, locks, waits and threads of the simulated
 * system. */
#include "simulation/store/machine.h"
#include "simulation/store/system.h"
#include "simulation/store/verdict.h"

ssize_t system_getrandom(void *data, size_t size, unsigned flags) {
    (void)flags;
    unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)test_random_next(machine_random());
    return (ssize_t)size;
}

int system_clock_gettime(clockid_t clock, struct timespec *out) {
    uint64_t milliseconds = clock == CLOCK_REALTIME   ? machine_wall_ms()
                            : clock == CLOCK_BOOTTIME ? machine_boot_ms()
                                                      : machine_now_us() / 1000;
    *out = (struct timespec){.tv_sec = (time_t)(milliseconds / 1000),
                             .tv_nsec = (long)(milliseconds % 1000 * 1000000)};
    return 0;
}

int system_nanosleep(const struct timespec *duration) {
    machine_sleep((uint64_t)duration->tv_sec * 1000000 + (uint64_t)duration->tv_nsec / 1000);
    return 0;
}

/* What a mutex holds here: the thread that has it, plus 1. */
static unsigned *holder_of(pthread_mutex_t *mutex) {
    return (unsigned *)(void *)mutex;
}

int system_mutex_init(pthread_mutex_t *mutex) {
    *holder_of(mutex) = 0;
    return 0;
}

int system_mutex_lock(pthread_mutex_t *mutex) {
    machine_point();
    unsigned *holder = holder_of(mutex), own = machine_thread() + 1;
    if (*holder == own) verdict_fail("locks", "a thread takes a lock that it has");
    while (*holder != 0)
        machine_wait(mutex, UINT64_MAX);
    *holder = own;
    return 0;
}

int system_mutex_unlock(pthread_mutex_t *mutex) {
    unsigned *holder = holder_of(mutex);
    if (*holder != machine_thread() + 1)
        verdict_fail("locks", "a thread gives up a lock that it does not have");
    *holder = 0;
    machine_wake(mutex);
    machine_point();
    return 0;
}

static void wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until_us) {
    *holder_of(mutex) = 0;
    machine_wake(mutex);
    machine_wait(condition, until_us);
    (void)system_mutex_lock(mutex);
}

int system_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    wait_until(condition, mutex, UINT64_MAX);
    return 0;
}

int system_condition_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                               const struct timespec *until) {
    wait_until(condition, mutex,
               (uint64_t)until->tv_sec * 1000000 + (uint64_t)until->tv_nsec / 1000 + 1000);
    return 0;
}

int system_condition_wake(pthread_cond_t *condition) {
    machine_wake(condition);
    machine_point();
    return 0;
}

int system_thread_create(pthread_t *thread, void *(*main)(void *context), void *context) {
    *thread = (pthread_t)machine_thread_start(main, context);
    machine_point();
    return 0;
}

int system_thread_join(pthread_t thread) {
    machine_thread_join((unsigned)thread);
    return 0;
}

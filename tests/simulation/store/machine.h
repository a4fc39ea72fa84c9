/* simulation/store/machine.h - a machine that runs one thread at a time, and keeps its own clocks.
 *
 * Threads are coroutines, switched only at points: a lock, a wait, a wake, an access to the
 * disk. Which one goes on is drawn from a seed, so a seed is a schedule. Time passes when the
 * disk is slow or everybody waits, and as told. */
#ifndef LETHE_SIMULATION_STORE_MACHINE_H
#define LETHE_SIMULATION_STORE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "support/random.h"

enum { MACHINE_PROCESSES = 4 };

/* How a call into a process ended. */
enum machine_end { MACHINE_RETURNED, MACHINE_KILLED };

struct machine_habits {
    uint32_t switch_one_in;   /* points */
    uint32_t spurious_one_in; /* waits that end without being woken; 0: none */
    uint64_t point_us;        /* that a point takes at most */
};

void machine_start(struct machine_habits habits, uint64_t wall_ms);
/* What is drawn from now on follows from this. */
void machine_reseed(uint64_t seed);
struct test_random *machine_random(void);

/* Runs main(context) in a process, and its other threads meanwhile, until it returns; or until
 * so many points were passed (0: no such limit), and then stops in the middle of whatever it is. */
enum machine_end machine_call(unsigned process, void (*main)(void *context), void *context,
                              uint64_t kill_after_points);
/* Points that the last call passed. */
uint64_t machine_points(void);
/* Ends a process as SIGKILL does: its threads and its memory are gone. */
void machine_kill(unsigned process);
/* Lets background threads run for a while. */
void machine_idle(unsigned process, uint64_t duration_ms);

/* Clocks. A suspended machine does nothing, but its time passes. */
uint64_t machine_now_us(void);
uint64_t
machine_true_ms(void); /* which nobody can set, and which goes on while the machine is off */
uint64_t machine_boot_ms(void);
uint64_t machine_wall_ms(void);
uint64_t machine_boots(void);
void machine_suspend(uint64_t duration_ms);
void machine_step_wall(int64_t by_ms);
void machine_reboot(uint64_t down_ms);

/* For what runs on it. */
void machine_point(void);
void machine_sleep(uint64_t duration_us);
/* Waits until somebody wakes this place, or the time comes (UINT64_MAX: never). */
void machine_wait(const void *place, uint64_t until_us);
void machine_wake(const void *place);
unsigned machine_thread_start(void *(*main)(void *context), void *context);
void machine_thread_join(unsigned thread);
unsigned machine_process(void);
unsigned machine_thread(void);

/* The memory of a process. */
void *machine_allocate(size_t size);
void machine_release(void *block);
const lethe_allocator *machine_allocator(void);
uint64_t machine_memory_bytes(unsigned process);

#endif

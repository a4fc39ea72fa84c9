/* simulation/store/machine.c - coroutines, a scheduler that draws, and virtual clocks.
 *
 * IDEA    Each simulated thread has a stack of its own (ucontext). It runs until it comes to a
 *         point where another might run on a real machine; there, one time in so many, the
 *         scheduler takes over and draws the next.
 * I1      Nothing here asks the real machine for anything but memory: the same seed gives the same
 *         run.
 * I2      Time stands still while a thread computes. It moves by a little at each point, and when
 *         all threads wait, to the first moment that one of them waits for.
 * WHY     A kill is a stack that is never switched to again, and memory that is freed: it can come
 *         at any point, and costs nothing. With real threads a kill would have to unwind each of
 *         them.
 * LIMIT   Threads switch at points only: what races between two points without a lock is for the
 *         thread sanitizer. */
#include "simulation/store/machine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "simulation/store/verdict.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

enum { THREADS = 160, STACK_BYTES = 1 << 20, MOST_POINTS = 40 * 1000 * 1000 };

enum thread_state { UNUSED, READY, WAITING, ENDED };

struct thread {
    enum thread_state state;
    unsigned process;
    ucontext_t context;
    char *stack;
    void *(*main)(void *context);
    void *argument;
    const void *place; /* what it waits for */
    uint64_t until_us;
};

/* A block of a process's memory, in a ring. */
struct block {
    struct block *next, *before;
    size_t size;
    unsigned process;
    char padding[64 - 2 * sizeof(void *) - sizeof(size_t) - sizeof(unsigned)];
};

static struct {
    struct machine_habits habits;
    struct test_random random;
    struct thread threads[THREADS];
    unsigned thread_count; /* places of the list that were ever used */
    unsigned running;      /* THREADS: nobody, the scheduler is */
    ucontext_t scheduler;
    uint64_t now_us, suspended_us, booted_us, boots;
    int64_t wall_offset_ms;
    uint64_t points, points_left; /* to be killed after */
    bool is_killed;
    struct block blocks[MACHINE_PROCESSES];
    uint64_t bytes[MACHINE_PROCESSES];
#if defined(__SANITIZE_ADDRESS__)
    const void *scheduler_stack;
    size_t scheduler_stack_bytes;
#endif
} machine;

void machine_start(struct machine_habits habits, uint64_t wall_ms) {
    memset(&machine, 0, sizeof machine);
    machine.habits = habits;
    machine.running = THREADS;
    machine.boots = 1;
    machine.now_us = machine.booted_us = UINT64_C(3600000000);
    machine.wall_offset_ms = (int64_t)wall_ms - (int64_t)(machine.now_us / 1000);
    for (unsigned i = 0; i < MACHINE_PROCESSES; i++)
        machine.blocks[i].next = machine.blocks[i].before = &machine.blocks[i];
}

void machine_reseed(uint64_t seed) {
    machine.random.state = seed;
}

struct test_random *machine_random(void) {
    return &machine.random;
}

/* --- switching --- */

static void enter(unsigned number) {
    struct thread *thread = &machine.threads[number];
    machine.running = number;
#if defined(__SANITIZE_ADDRESS__)
    void *fake = NULL;
    __sanitizer_start_switch_fiber(&fake, thread->stack, STACK_BYTES);
#endif
    int failed = swapcontext(&machine.scheduler, &thread->context);
    assert(failed == 0);
    (void)failed;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
    machine.running = THREADS;
}

static void leave(void) {
    struct thread *thread = &machine.threads[machine.running];
#if defined(__SANITIZE_ADDRESS__)
    void *fake = NULL;
    __sanitizer_start_switch_fiber(thread->state == ENDED ? NULL : &fake, machine.scheduler_stack,
                                   machine.scheduler_stack_bytes);
#endif
    int failed = swapcontext(&thread->context, &machine.scheduler);
    assert(failed == 0);
    (void)failed;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
}

static void begin_thread(void) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(NULL, &machine.scheduler_stack, &machine.scheduler_stack_bytes);
#endif
    struct thread *thread = &machine.threads[machine.running];
    (void)thread->main(thread->argument);
    thread->state = ENDED;
    machine_wake(thread);
    leave();
}

static unsigned start_in(unsigned process, void *(*main)(void *context), void *context) {
    unsigned number = 0;
    while (number < THREADS && machine.threads[number].state != UNUSED)
        number++;
    if (number == THREADS) verdict_fail("simulator", "more than %d threads", THREADS);
    if (number == machine.thread_count) machine.thread_count++;
    struct thread *thread = &machine.threads[number];
    char *stack = thread->stack;
    if (stack == NULL) {
        stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        assert(stack != MAP_FAILED);
        (void)mprotect(stack, 4096, PROT_NONE); /* what runs over it is noticed */
    }
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(stack, STACK_BYTES);
#endif
    *thread = (struct thread){.state = READY,
                              .process = process,
                              .stack = stack,
                              .main = main,
                              .argument = context,
                              .until_us = UINT64_MAX};
    (void)getcontext(&thread->context);
    thread->context.uc_stack.ss_sp = stack;
    thread->context.uc_stack.ss_size = STACK_BYTES;
    thread->context.uc_link = NULL;
    makecontext(&thread->context, begin_thread, 0);
    return number;
}

/* The thread that goes on: one that can, drawn; when there is none, time passes. THREADS: nobody
 * ever will. */
static unsigned choose(void) {
    for (;;) {
        unsigned ready = 0, sleeper = THREADS, chosen = THREADS;
        for (unsigned i = 0; i < machine.thread_count; i++) {
            struct thread *thread = &machine.threads[i];
            if (thread->state == WAITING && thread->until_us <= machine.now_us)
                thread->state = READY;
            if (thread->state == READY && test_random_below(&machine.random, ++ready) == 0)
                chosen = i;
            if (thread->state == WAITING && thread->until_us != UINT64_MAX &&
                (sleeper == THREADS || thread->until_us < machine.threads[sleeper].until_us))
                sleeper = i;
        }
        if (chosen != THREADS || sleeper == THREADS) return chosen;
        machine.now_us = machine.threads[sleeper].until_us;
    }
}

/* Runs threads until one has ended, a kill came, or the time is over. */
static bool run_until(unsigned number, uint64_t until_us) {
    while (!machine.is_killed && machine.now_us < until_us) {
        if (number != THREADS && machine.threads[number].state == ENDED) return true;
        unsigned next = choose();
        if (next == THREADS && until_us != UINT64_MAX) return true;
        if (next == THREADS) verdict_fail("liveness", "every thread waits for ever");
        if (machine.now_us >= until_us) return true;
        enter(next);
        if (machine.points > MOST_POINTS)
            verdict_fail("liveness", "a call did not come to an end in %d points", MOST_POINTS);
    }
    return !machine.is_killed;
}

struct called {
    void (*main)(void *context);
    void *context;
};

static void *run_called(void *context) {
    const struct called *called = context;
    called->main(called->context);
    return NULL;
}

enum machine_end machine_call(unsigned process, void (*main)(void *context), void *context,
                              uint64_t kill_after_points) {
    assert(machine.running == THREADS);
    struct called called = {.main = main, .context = context};
    machine.points = 0;
    machine.is_killed = false;
    machine.points_left = kill_after_points > 0 ? kill_after_points : UINT64_MAX;
    unsigned number = start_in(process, run_called, &called);
    bool returned = run_until(number, UINT64_MAX);
    machine.points_left = UINT64_MAX;
    if (!returned) return MACHINE_KILLED;
    machine.threads[number].state = UNUSED;
    return MACHINE_RETURNED;
}

uint64_t machine_points(void) {
    return machine.points;
}

void machine_idle(unsigned process, uint64_t duration_ms) {
    (void)process;
    machine.points = 0;
    machine.is_killed = false;
    machine.points_left = UINT64_MAX;
    uint64_t until_us = machine.now_us + duration_ms * 1000;
    (void)run_until(THREADS, until_us);
    if (machine.now_us < until_us) machine.now_us = until_us;
}

void machine_kill(unsigned process) {
    for (unsigned i = 0; i < machine.thread_count; i++) {
        if (machine.threads[i].process == process) machine.threads[i].state = UNUSED;
    }
    struct block *ring = &machine.blocks[process];
    while (ring->next != ring)
        machine_release(ring->next + 1);
    machine.is_killed = false;
}

/* --- points and waiting --- */

void machine_point(void) {
    if (machine.running == THREADS) return; /* the simulator itself looks at the disk */
    machine.points++;
    if (machine.points_left != UINT64_MAX && --machine.points_left == 0) {
        machine.is_killed = true;
        leave();
    }
    if (machine.habits.point_us > 0)
        machine.now_us += test_random_below(&machine.random, machine.habits.point_us + 1);
    if (test_random_below(&machine.random, machine.habits.switch_one_in) == 0) leave();
}

void machine_sleep(uint64_t duration_us) {
    if (machine.running == THREADS) return;
    machine_wait(NULL, machine.now_us + duration_us);
}

void machine_wait(const void *place, uint64_t until_us) {
    assert(machine.running != THREADS);
    struct thread *thread = &machine.threads[machine.running];
    thread->state = WAITING;
    thread->place = place;
    thread->until_us = until_us;
    uint32_t spurious = machine.habits.spurious_one_in;
    if (place != NULL && spurious > 0 && test_random_below(&machine.random, spurious) == 0)
        thread->until_us = machine.now_us;
    machine.points++;
    leave();
    thread->place = NULL;
    thread->until_us = UINT64_MAX;
}

void machine_wake(const void *place) {
    for (unsigned i = 0; i < machine.thread_count; i++) {
        struct thread *thread = &machine.threads[i];
        if (thread->state == WAITING && thread->place == place) thread->state = READY;
    }
}

unsigned machine_thread_start(void *(*main)(void *context), void *context) {
    return start_in(machine_process(), main, context);
}

void machine_thread_join(unsigned number) {
    struct thread *thread = &machine.threads[number];
    while (thread->state != ENDED)
        machine_wait(thread, UINT64_MAX);
    thread->state = UNUSED;
}

unsigned machine_process(void) {
    return machine.running == THREADS ? 0 : machine.threads[machine.running].process;
}

unsigned machine_thread(void) {
    return machine.running;
}

/* --- clocks --- */

uint64_t machine_now_us(void) {
    return machine.now_us;
}

uint64_t machine_true_ms(void) {
    return (machine.now_us + machine.suspended_us) / 1000;
}

uint64_t machine_boot_ms(void) {
    return (machine.now_us + machine.suspended_us - machine.booted_us) / 1000;
}

uint64_t machine_wall_ms(void) {
    return (uint64_t)((int64_t)machine_true_ms() + machine.wall_offset_ms);
}

uint64_t machine_boots(void) {
    return machine.boots;
}

void machine_suspend(uint64_t duration_ms) {
    machine.suspended_us += duration_ms * 1000;
}

void machine_step_wall(int64_t by_ms) {
    machine.wall_offset_ms += by_ms;
}

void machine_reboot(uint64_t down_ms) {
    machine.suspended_us += down_ms * 1000;
    machine.booted_us = machine.now_us + machine.suspended_us;
    machine.boots++;
}

/* --- memory --- */

void *machine_allocate(size_t size) {
    size_t whole = (sizeof(struct block) + size + 63) / 64 * 64;
    struct block *block = aligned_alloc(64, whole);
    assert(block != NULL);
    memset(block, 0, whole);
    unsigned process = machine_process();
    struct block *ring = &machine.blocks[process];
    block->size = size;
    block->process = process;
    block->next = ring->next;
    block->before = ring;
    ring->next->before = block;
    ring->next = block;
    machine.bytes[process] += size;
    return block + 1;
}

void machine_release(void *memory) {
    if (memory == NULL) return;
    struct block *block = (struct block *)memory - 1;
    block->next->before = block->before;
    block->before->next = block->next;
    machine.bytes[block->process] -= block->size;
    free(block);
}

uint64_t machine_memory_bytes(unsigned process) {
    return machine.bytes[process];
}

static void *allocate_zeroed(void *context, size_t size) {
    (void)context;
    return machine_allocate(size);
}

static void release(void *context, void *block, size_t size) {
    (void)context;
    (void)size;
    machine_release(block);
}

const lethe_allocator *machine_allocator(void) {
    static const lethe_allocator allocator = {.allocate_zeroed = allocate_zeroed,
                                              .release = release};
    return &allocator;
}

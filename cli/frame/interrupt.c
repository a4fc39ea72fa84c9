/* interrupt.c - signals as a flag. */
#include "frame/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/eventfd.h>

#include "say/message.h"

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
enum { CAUGHT_COUNT = sizeof caught / sizeof caught[0] };

/* Any thread may be the one that a signal interrupts, and any may ask. */
static atomic_int signal_that_came;
/* Below 0: nobody waits for it. */
static atomic_int to_wake = -1;

static void remember(int signal_number) {
    int descriptor = to_wake;
    signal_that_came = signal_number;
    if (descriptor >= 0) (void)eventfd_write(descriptor, 1);
}

static sigset_t caught_set(void) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < CAUGHT_COUNT; i++) {
        sigaddset(&set, caught[i]);
    }
    return set;
}

void interrupt_begin(void) {
    for (size_t i = 0; i < CAUGHT_COUNT; i++) {
        struct sigaction action;
        if (sigaction(caught[i], NULL, &action) == 0 && action.sa_handler == SIG_IGN) continue;
        /* Without SA_RESTART, so that a signal ends a read that waits. */
        action = (struct sigaction){.sa_handler = remember};
        sigaction(caught[i], &action, NULL);
    }
}

bool interrupt_requested(void) {
    return signal_that_came != 0;
}

void interrupt_wait_readable(int descriptor) {
    sigset_t set = caught_set();
    sigset_t before;
    sigprocmask(SIG_BLOCK, &set, &before);
    if (!interrupt_requested()) {
        struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
        ppoll(&waiting, 1, NULL, &before);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

int interrupt_descriptor(void) {
    if (to_wake < 0) to_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (to_wake >= 0 && interrupt_requested()) (void)eventfd_write(to_wake, 1);
    return to_wake;
}

void interrupt_hold(void) {
    sigset_t set = caught_set();
    sigprocmask(SIG_BLOCK, &set, NULL);
}

void interrupt_release(void) {
    sigset_t set = caught_set();
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int interrupt_code(void) {
    return EXIT_BY_SIGNAL + signal_that_came;
}

int interrupt_fail(const char *untouched_path) {
    return message_fail(interrupt_code(), "interrupted; %s was not written", untouched_path);
}

/* core/salt.c - a random number, drawn at the first call. */
#include "core/salt.h"

#include <stdatomic.h>

#include "os/clock.h"

static _Atomic uint64_t drawn; /* 0 until it is */

static uint64_t draw(void) {
    uint64_t number = 0;
    /* On a system without random numbers, at least the library's address is hard to guess. */
    if (lethe_os_random(&number, sizeof number) != LETHE_OK) number = (uintptr_t)&drawn;
    return number != 0 ? number : 1;
}

uint64_t lethe_salt(void) {
    uint64_t known = atomic_load_explicit(&drawn, memory_order_relaxed);
    if (known != 0) return known;
    uint64_t number = draw();
    /* If two threads come at once, the first one's number counts for both. */
    return atomic_compare_exchange_strong(&drawn, &known, number) ? number : known;
}

/* engine/clock.h - the store's time.
 *
 * It is the wall clock's, carried on by the machine's own clock, which nobody can set; or, with
 * event time, the time of the latest event. Either way it never goes back. The time itself is in
 * the store's state (clock_ms), since every commit carries it. */
#ifndef LETHE_ENGINE_CLOCK_H
#define LETHE_ENGINE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/log/state.h"

/* So many of the events after a jump of the clock are asked whether to believe it. */
enum { LETHE_WITNESSES = 64 };

typedef struct lethe_clock {
    /* The machine's clock carries the time on: neither event time nor a reader. */
    bool runs;
    /* The store's time was base_ms when the machine's was base_boot_ms. */
    uint64_t base_ms;
    uint64_t base_boot_ms;
    /* The store's time when it was last written, before it was opened. */
    uint64_t found_ms;

    /* Times of operations that come after the next submission (lethe_store_announce). */
    uint64_t announced_ms[LETHE_WITNESSES];
    size_t announced;
} lethe_clock;

/* Starts the clock where the store's state stopped. */
void lethe_clock_start(lethe_clock *clock, lethe_state *state, bool by_events);
/* After the start: whether the system says which start of the machine this is. If not, the wall
 * clock decides how much time has passed whenever the store is opened. */
bool lethe_clock_knows_boot(const lethe_state *state);

/* The store's time now. */
uint64_t lethe_clock_now(const lethe_clock *clock, const lethe_state *state);

/* The time now of a store that another process may be writing to, by its state. */
uint64_t lethe_clock_look(const lethe_state *state);

/* Sets both clocks of the state to this moment. To be called before the state is written: the next
 * process to open the store computes from the pair how much time has passed. */
void lethe_clock_stamp(const lethe_clock *clock, lethe_state *state);

#endif

/* engine/clock.c - the store's time.
 *
 * IDEA    The state on disk holds a pair: the store's time, and the machine's own clock at that
 *         moment. Whoever opens the store next adds what the machine's clock has advanced since.
 * I1      The store's time never goes back.
 * WHY     The wall clock can be set, and ids must neither be forgotten early nor kept for ever
 *         because of it. The machine's clock starts again with the machine, and says nothing about
 *         a store whose time was that of its events. In both cases only the wall clock is left. */
#include "engine/clock.h"

#include <string.h>

#include "os/clock.h"

/* Whether the machine has run without a restart since the state was written. */
static bool is_same_boot(const lethe_state *state, const unsigned char boot_id[16],
                         uint64_t boot_ms) {
    static const unsigned char unknown[16] = {0};
    return memcmp(boot_id, state->boot_id, 16) == 0 && memcmp(boot_id, unknown, 16) != 0 &&
           boot_ms >= state->boot_ms && state->commit > 0;
}

/* The time of a store that was last written with this state. */
static uint64_t carry_on(const lethe_state *state, const unsigned char boot_id[16],
                         uint64_t boot_ms) {
    uint64_t wall_ms = lethe_os_wall_ms();
    if (is_same_boot(state, boot_id, boot_ms) && !state->event_time) {
        return state->clock_ms + (boot_ms - state->boot_ms);
    }
    return wall_ms > state->clock_ms ? wall_ms : state->clock_ms;
}

bool lethe_clock_knows_boot(const lethe_state *state) {
    static const unsigned char unknown[16] = {0};
    return memcmp(state->boot_id, unknown, 16) != 0;
}

void lethe_clock_start(lethe_clock *clock, lethe_state *state, bool by_events) {
    unsigned char boot_id[16];
    lethe_os_boot_id(boot_id);
    clock->runs = !by_events;
    clock->found_ms = state->clock_ms;
    clock->base_boot_ms = lethe_os_boot_ms();
    clock->base_ms = carry_on(state, boot_id, clock->base_boot_ms);
    memcpy(state->boot_id, boot_id, 16);
}

uint64_t lethe_clock_look(const lethe_state *state) {
    unsigned char boot_id[16];
    if (state->event_time || state->commit == 0) return state->clock_ms;
    lethe_os_boot_id(boot_id);
    return carry_on(state, boot_id, lethe_os_boot_ms());
}

static uint64_t time_at(const lethe_clock *clock, const lethe_state *state, uint64_t boot_ms) {
    return clock->runs ? clock->base_ms + (boot_ms - clock->base_boot_ms) : state->clock_ms;
}

uint64_t lethe_clock_now(const lethe_clock *clock, const lethe_state *state) {
    return time_at(clock, state, lethe_os_boot_ms());
}

void lethe_clock_stamp(const lethe_clock *clock, lethe_state *state) {
    state->boot_ms = lethe_os_boot_ms();
    uint64_t now_ms = time_at(clock, state, state->boot_ms);
    if (now_ms > state->clock_ms) state->clock_ms = now_ms;
}

/* engine/claims/time.c - the clock of leases: of claims, and of holds.
 *
 * IDEA    It counts what has passed since the store's first claim. While the machine runs, its own
 *         clock says how much that is. Every commit writes down both, and the wall clock.
 * I1      The clock never goes back, and never goes faster than time passes, on one machine: a
 *         lease does not end early.
 * I2      After a restart of the machine, at least as much has passed as the machine has been up.
 *         More is not believed. If the store comes from another machine, which has been up for
 *         longer than the store was away, the wall clock says less, and is believed.
 * I3      The clocks of the record and its boot id are of one moment, that of its commit. A reader
 *         never stamps it: it carries on from what was written, as a writer that opens the store.
 * WHY     The store's own clock takes the wall clock's word after a restart, and follows events in
 *         a store by event time. Ids are then forgotten early if the wall clock was set ahead; for
 *         a lease that would mean two holders at once.
 * LIMIT   Time in which the machine was off does not count, nor does what passed between the last
 *         commit and a restart: leases last longer, and claims are remembered for longer. */
#include <string.h>

#include "engine/store.h"
#include "os/clock.h"

lethe_claims_clocks lethe_claims_read_clocks(void) {
    lethe_claims_clocks clocks = {.boot_ms = lethe_os_boot_ms(), .wall_ms = lethe_os_wall_ms()};
    lethe_os_boot_id(clocks.boot_id);
    return clocks;
}

uint64_t lethe_claims_carry_on(const lethe_claims_record *record,
                               const lethe_claims_clocks *clocks) {
    static const unsigned char unknown[16] = {0};
    bool goes_on = clocks->boot_ms >= record->boot_ms;
    bool is_known =
        memcmp(clocks->boot_id, unknown, 16) != 0 && memcmp(record->boot_id, unknown, 16) != 0;
    bool is_same = memcmp(clocks->boot_id, record->boot_id, 16) == 0;
    uint64_t passed_ms = goes_on ? clocks->boot_ms - record->boot_ms : 0;
    if (is_same && is_known && goes_on) return record->clock_ms + passed_ms;
    /* If it is not known whether the machine was restarted, the difference is not too much either
     * way. */
    if (is_known || !goes_on) passed_ms = clocks->boot_ms;
    uint64_t wall_ms = clocks->wall_ms > record->wall_ms ? clocks->wall_ms - record->wall_ms : 0;
    return record->clock_ms + (passed_ms < wall_ms ? passed_ms : wall_ms);
}

void lethe_claims_start_clock(lethe_claims *claims) {
    lethe_claims_clocks clocks = lethe_claims_read_clocks();
    claims->base_boot_ms = clocks.boot_ms;
    claims->base_ms = claims->exist ? lethe_claims_carry_on(&claims->record, &clocks) : 0;
    memcpy(claims->base_boot_id, clocks.boot_id, sizeof clocks.boot_id);
}

uint64_t lethe_claims_now(const lethe_claims *claims) {
    return claims->base_ms + (lethe_os_boot_ms() - claims->base_boot_ms);
}

uint64_t lethe_claims_time_of(const lethe_store *store) {
    if (!store->options.read_only) return lethe_claims_now(&store->claims);
    lethe_claims_clocks clocks = lethe_claims_read_clocks();
    return lethe_claims_carry_on(&store->claims.record, &clocks);
}

void lethe_claims_stamp(lethe_claims *claims) {
    memcpy(claims->record.boot_id, claims->base_boot_id, sizeof claims->base_boot_id);
    claims->record.boot_ms = lethe_os_boot_ms();
    claims->record.wall_ms = lethe_os_wall_ms();
    claims->record.clock_ms = claims->base_ms + (claims->record.boot_ms - claims->base_boot_ms);
}

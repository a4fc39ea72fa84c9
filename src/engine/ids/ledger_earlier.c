/* engine/ids/ledger_earlier.c - copies of a ledger in backups that earlier versions have made.
 *
 * LAYOUT  BACKUPS/ledger-N-M   the ledger of the backup whose last commit is N, of the moment M
 *         BACKUPS/ledger-N     the same, as an earlier version made it
 * WHY     A copy of a store may go its own way, and be backed up to the same folder at an equal
 *         number of commits. The two have other ledgers, and other moments. */
#include <stdio.h>
#include <string.h>

#include "core/bytes.h"
#include "engine/ids/ledger.h"
#include "os/file.h"

/* A number for the moment of a state's commit: for what the store's and the machine's clocks said,
 * and how much had been applied by then. Only of fields that every version of the state has. */
static uint64_t moment_of(const lethe_state *state) {
    const uint64_t words[] = {state->clock_ms, state->boot_ms, state->log_ids,
                              state->totals.applied, state->totals.duplicates};
    unsigned char bytes[sizeof words + sizeof state->boot_id];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        lethe_put_u64(bytes + i * sizeof words[0], words[i]);
    memcpy(bytes + sizeof words, state->boot_id, sizeof state->boot_id);
    return lethe_hash_bytes(state->seed, bytes, sizeof bytes).low;
}

static void name_of(const lethe_state *state, char out[LETHE_LEDGER_NAME_BYTES]) {
    (void)snprintf(out, LETHE_LEDGER_NAME_BYTES, "ledger-%llu-%016llx",
                   (unsigned long long)state->commit, (unsigned long long)moment_of(state));
}

void lethe_ledger_earlier(const char *backups, const lethe_state *state,
                          char out[LETHE_LEDGER_NAME_BYTES]) {
    char path[LETHE_OS_PATH_BYTES];
    name_of(state, out);
    if (lethe_os_path(path, "%s/%s", backups, out) && lethe_os_exists(path)) return;
    (void)snprintf(out, LETHE_LEDGER_NAME_BYTES, "ledger-%llu", (unsigned long long)state->commit);
}

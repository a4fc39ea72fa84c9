/* behind.c - write-behind; see behind.h.
 *
 * I1      given_up <= sent <= written. What is between sent and written is not on its way yet.
 * WHY     Waiting for the step before the last one keeps the writer from running ahead of the
 *         disk. */
#include "output/behind.h"

#include <fcntl.h>

static void send(const struct behind *behind, int descriptor, uint64_t from, uint64_t to,
                 unsigned flags) {
    (void)sync_file_range(descriptor, (off_t)(behind->start + from), (off_t)(to - from), flags);
}

/* The step before the last one is on the disk by now, or nearly: waiting for it keeps the writer
 * from running ahead. */
static void give_up(struct behind *behind, int descriptor) {
    uint64_t from = behind->given_up, to = behind->sent;
    if (from == to) return;
    send(behind, descriptor, from, to,
         SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    (void)posix_fadvise(descriptor, (off_t)(behind->start + from), (off_t)(to - from),
                        POSIX_FADV_DONTNEED);
    behind->given_up = to;
}

void behind_wrote(struct behind *behind, int descriptor, uint64_t bytes) {
    behind->written += bytes;
    bool is_kept = behind->written < behind->kept_bytes;
    if (!is_kept || behind->is_synced) {
        if (behind->written - behind->sent < behind->step_bytes) return;
        send(behind, descriptor, behind->sent, behind->written, SYNC_FILE_RANGE_WRITE);
        if (!is_kept) give_up(behind, descriptor);
    }
    behind->sent = behind->written;
    if (is_kept) behind->given_up = behind->written;
}

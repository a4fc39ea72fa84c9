/* behind.c - write-behind; see behind.h.
 *
 * I1      given_up <= sent <= written. What is between sent and written is not on its way yet.
 * I2      A failure is passed on. The system reports it once for each open file, to whoever waits
 *         first: a sync after it finds nothing wrong.
 * WHY     Waiting for the step before the last one keeps the writer from running ahead of the
 *         disk. */
#include "output/behind.h"

#include <errno.h>
#include <fcntl.h>

/* A file system or a sandbox may not know the call; any other error is the disk's. */
static bool send(const struct behind *behind, int descriptor, uint64_t from, uint64_t to,
                 unsigned flags) {
    off_t at = (off_t)(behind->start + from);
    return sync_file_range(descriptor, at, (off_t)(to - from), flags) == 0 || errno == ENOSYS ||
           errno == EPERM || errno == EINVAL || errno == ESPIPE || errno == EOPNOTSUPP;
}

/* The step before the last one is on the disk by now, or nearly: waiting for it keeps the writer
 * from running ahead. */
static bool give_up(struct behind *behind, int descriptor) {
    uint64_t from = behind->given_up, to = behind->sent;
    unsigned flags =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    if (from == to) return true;
    if (!send(behind, descriptor, from, to, flags)) return false;
    (void)posix_fadvise(descriptor, (off_t)(behind->start + from), (off_t)(to - from),
                        POSIX_FADV_DONTNEED);
    behind->given_up = to;
    return true;
}

bool behind_wrote(struct behind *behind, int descriptor, uint64_t bytes) {
    behind->written += bytes;
    bool is_kept = behind->written < behind->kept_bytes;
    if (!is_kept || behind->is_synced) {
        if (behind->written - behind->sent < behind->step_bytes) return true;
        if (!send(behind, descriptor, behind->sent, behind->written, SYNC_FILE_RANGE_WRITE))
            return false;
        if (!is_kept && !give_up(behind, descriptor)) return false;
    }
    behind->sent = behind->written;
    if (is_kept) behind->given_up = behind->written;
    return true;
}

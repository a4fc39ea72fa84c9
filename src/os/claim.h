/* os/claim.h - the claim of one process to write into a folder.
 *
 * Errors come as lethe_status with errno kept for the caller that prints the message. */
#ifndef LETHE_OS_CLAIM_H
#define LETHE_OS_CLAIM_H

#include <stdbool.h>
#include <stddef.h>

#include "lethe/status.h"

typedef struct lethe_os_claim {
    int descriptor; /* -1: none */
} lethe_os_claim;

/* Claims the file at path, which is made if it is missing, for this process until it ends or gives
 * the claim up. The file says which process that is. If another process has it: LETHE_EBUSY, and
 * holder says which one, as far as that is known. Errors: LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_claim_take(const char *path, lethe_os_claim *out,
                                                  char *holder, size_t holder_size);
/* Whether a process has claimed the file. Writes nothing. Somebody who takes the claim at the same
 * moment gets it. A file that is missing is claimed by nobody; one that cannot be read counts as
 * claimed. */
bool lethe_os_claim_is_held(const char *path);
/* Whether path still names the file that was claimed. If not, its folder was moved, removed or
 * replaced. If that can't be found out, it is taken to be there. Cost: two questions to the system,
 * without a read of the disk. */
bool lethe_os_claim_is_at(const lethe_os_claim *claim, const char *path);
void lethe_os_claim_give(lethe_os_claim *claim);

#endif

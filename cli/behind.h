/* behind.h - large files that are written from front to back and leave no trace in the system's cache.
 *
 * What was written is sent to the disk at once, and its pages are given up a little later. Otherwise a file of
 * gigabytes takes the cache away from everybody, this process included, and where memory has to be found first,
 * as on a virtual machine, writing takes three times as long. */
#ifndef LETHE_CLI_BEHIND_H
#define LETHE_CLI_BEHIND_H

#include <stdint.h>

struct behind {
    uint64_t kept_bytes; /* of the beginning, that stay: a short file is likely read soon */
    uint64_t step_bytes; /* that go to the disk together */
    uint64_t start;      /* where in the file writing began */
    uint64_t written, sent, given_up;
};

/* So many bytes more were written to a regular file. Failures are left to whoever writes or syncs next. */
void behind_wrote(struct behind *behind, int descriptor, uint64_t bytes);

#endif

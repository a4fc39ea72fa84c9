/* behind.h - write-behind: large files that are written from front to back, without filling the
 * system's cache.
 *
 * What was written is sent to the disk at once, and its pages are given up a little later.
 * Otherwise a file of gigabytes takes the cache away from every program, this one included. Where
 * memory has to be found first, as on a virtual machine, writing would take three times as long. */
#ifndef LETHE_CLI_OUTPUT_BEHIND_H
#define LETHE_CLI_OUTPUT_BEHIND_H

#include <stdbool.h>
#include <stdint.h>

struct behind {
    /* So much of the beginning stays in the cache: a short file is likely to be read soon. */
    uint64_t kept_bytes;
    /* The writer syncs the file now and then: the beginning is sent as well, for a sync that waits
     * for less. */
    bool is_synced;
    /* So much goes to the disk together. */
    uint64_t step_bytes;
    /* Where in the file writing began. */
    uint64_t start;
    uint64_t written, sent, given_up;
};

/* Call after so many bytes more were written to a regular file. False, by errno: some of the file
 * is not on the disk. No later sync says so: all that is not synced yet counts as lost. */
bool behind_wrote(struct behind *behind, int descriptor, uint64_t bytes);

#endif

/* os/reads.h - many reads at once, from many files.
 *
 * Reads go through io_uring if the system has it and permits it, otherwise through a pool of
 * threads, which live as long as the object. An object reads one batch at a time: a caller that
 * wants several uses several objects. */
#ifndef LETHE_OS_READS_H
#define LETHE_OS_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/status.h"

typedef struct lethe_os_reads lethe_os_reads;

typedef struct lethe_os_read {
    int descriptor;
    uint32_t size; /* at most the size given to lethe_os_reads_new */
    uint64_t offset;
} lethe_os_read;

typedef enum lethe_os_reads_kind {
    LETHE_OS_READS_BEST = 0,
    LETHE_OS_READS_URING = 1,
    LETHE_OS_READS_THREADS = 2
} lethe_os_reads_kind;

/* Prepares for reads of at most largest_bytes, depth of them in flight.
 * Errors: LETHE_ENOMEM, LETHE_EINVAL (io_uring was asked for and refused). */
LETHE_MUST_CHECK lethe_status lethe_os_reads_new(lethe_os_reads_kind kind, unsigned depth,
                                                 uint32_t largest_bytes, lethe_os_reads **out);
void lethe_os_reads_free(lethe_os_reads *reads);
/* Whether batches go through io_uring now: one that begins to fail for good is given up for
 * threads. */
bool lethe_os_reads_use_uring(const lethe_os_reads *reads);

/* Reads all of the list, in any order, and shows each as it comes, in the calling thread; data is
 * good until done returns. Errors: the first of the reads' (LETHE_EIO; LETHE_ECORRUPT where a file
 * ends early) or done's; then the others may not have been shown. */
typedef lethe_status (*lethe_os_read_done)(void *context, size_t index, const unsigned char *data);
LETHE_MUST_CHECK lethe_status lethe_os_reads_run(lethe_os_reads *reads, const lethe_os_read *list,
                                                 size_t count, lethe_os_read_done done,
                                                 void *context);

#endif

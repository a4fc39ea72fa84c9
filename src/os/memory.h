/* os/memory.h - memory straight from the system, for blocks of megabytes. */
#ifndef LETHE_OS_MEMORY_H
#define LETHE_OS_MEMORY_H

#include <stddef.h>

/* Maps size zeroed bytes, at a 2 MiB boundary and with huge pages where the system gives
 * them. NULL when it refuses. Pages are committed as they are touched. */
void *lethe_os_map(size_t size);

/* Unmaps what lethe_os_map(size) returned. */
void lethe_os_unmap(void *block, size_t size);

/* Has the system back the whole pages of a stretch of memory now, rather than when each is touched
 * first. Others may read and write there meanwhile. Where the system cannot, nothing happens.
 * Cost: about a millisecond for a MiB that was not backed. */
void lethe_os_populate(void *memory, size_t size);

#endif

/* os/mapping.h - a file as memory, for reading. */
#ifndef LETHE_OS_MAPPING_H
#define LETHE_OS_MAPPING_H

#include <stddef.h>

#include "lethe/status.h"

typedef struct lethe_os_mapping {
    void *bytes; /* NULL for an empty file */
    size_t size;
} lethe_os_mapping;

/* Maps a regular file whole, read-only and shared. On error *out is zeroed.
 * Errors: as lethe_os_reader_open, and LETHE_ENOMEM (no room in the address space). */
LETHE_MUST_CHECK lethe_status lethe_os_mapping_open(const char *path, lethe_os_mapping *out);
/* Takes a zeroed one, and leaves one. */
void lethe_os_mapping_close(lethe_os_mapping *mapping);

#endif

/* os/mapping.c - read-only mappings of whole files. The descriptor is closed at once: a mapping
 * keeps its file, also when another is renamed over it. */
#include "os/mapping.h"

#include <stdint.h>
#include <sys/mman.h>

#include "os/file.h"

lethe_status lethe_os_mapping_open(const char *path, lethe_os_mapping *out) {
    *out = (lethe_os_mapping){0};
    lethe_os_reader reader;
    lethe_status status = lethe_os_reader_open(path, &reader);
    if (status != LETHE_OK) return status;
    if (reader.size_bytes > PTRDIFF_MAX) {
        status = LETHE_ENOMEM;
    } else if (reader.size_bytes > 0) {
        size_t size = (size_t)reader.size_bytes;
        void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, reader.descriptor, 0);
        if (bytes == MAP_FAILED) {
            status = LETHE_ENOMEM;
        } else {
            *out = (lethe_os_mapping){bytes, size};
        }
    }
    lethe_os_reader_close(&reader);
    return status;
}

void lethe_os_mapping_close(lethe_os_mapping *mapping) {
    if (mapping->bytes != NULL) munmap(mapping->bytes, mapping->size);
    *mapping = (lethe_os_mapping){0};
}

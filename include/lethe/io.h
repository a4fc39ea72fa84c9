/* lethe/io.h - where saved data goes to and comes from.
 *
 * A structure saves itself into a sink and loads itself from a source. The library has
 * both for files and for memory; a program may write its own (a socket, a server's
 * snapshot). The bytes are the same everywhere: docs/format/codec.md.
 *
 * Guarantee  Saving to a file never damages the file that was there: the new one is
 *            written beside it, synced and renamed over it, or removed again.
 *            Loading believes nothing: length, checksum and every field are checked, and
 *            no allocation is larger than the data that is really there.
 * Threads    A sink or source belongs to one call at a time. */
#ifndef LETHE_IO_H
#define LETHE_IO_H

#include <stddef.h>
#include <stdint.h>

#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lethe_sink {
    void *context;
    /* Takes all size bytes or fails (LETHE_EIO, LETHE_ENOSPACE, LETHE_ENOMEM). */
    lethe_status (*write)(void *context, const void *data, size_t size);
} lethe_sink;

typedef struct lethe_source {
    void *context;
    /* Fills all size bytes or fails (LETHE_EIO; LETHE_ECORRUPT when the data ends early). */
    lethe_status (*read)(void *context, void *data, size_t size);
    /* What is left to read, as far as the source really knows: it bounds every allocation. */
    uint64_t size_bytes;
} lethe_source;

/* Bytes in memory to load from; the caller keeps both them and this as long as the source. */
typedef struct lethe_memory_reader {
    const void *data;
    size_t size;
    size_t position;
} lethe_memory_reader;

/* Makes a source that reads reader's bytes from its position on. Cost: O(1). */
LETHE_API lethe_source lethe_source_from_memory(lethe_memory_reader *reader);

/* A growing buffer to save into; {0} is an empty one. */
typedef struct lethe_memory_writer {
    void *data;
    size_t size;
    size_t capacity;
} lethe_memory_writer;

/* Makes a sink that appends to writer. Cost: amortised O(bytes). Its writes fail with LETHE_ENOMEM. */
LETHE_API lethe_sink lethe_sink_to_memory(lethe_memory_writer *writer);
/* Frees the data and leaves an empty writer. */
LETHE_API void lethe_memory_writer_free(lethe_memory_writer *writer);

/* What a saved file says of itself in its first bytes. */
typedef struct lethe_file_info {
    char type[5];           /* four letters and a NUL, such as "BLOM" */
    unsigned version;       /* the format version of that type */
    uint64_t payload_bytes; /* without header and checksum */
} lethe_file_info;

/* Reads and checks the header of a saved file, not its payload.
 * Cost: one small read. Errors: LETHE_ENOTFOUND, LETHE_EINVAL (not a regular file),
 * LETHE_EIO, LETHE_ECORRUPT, LETHE_EVERSION. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_file_peek(const char *path, lethe_file_info *out);

#ifdef __cplusplus
}
#endif

#endif

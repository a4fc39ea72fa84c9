/* lethe/io.h - where saved data goes to and comes from.
 *
 * A structure saves itself into a sink and loads itself from a source. The library has both for
 * files and for memory; a program may write its own, for a socket or a server's snapshot. The bytes
 * are the same everywhere: docs/format/codec.md.
 *
 * Guarantee  Saving to a file never damages the file that was there: the new one is written beside
 *            it, synced, and renamed over it, or removed again.
 *            Loading trusts nothing: the length, the checksum and every field are checked, and no
 *            allocation is larger than the data that is really there.
 * Threads    A sink or source belongs to one call at a time. */
#ifndef LETHE_IO_H
#define LETHE_IO_H

#include <stddef.h>
#include <stdint.h>

#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes bytes. A sink whose write is NULL is LETHE_EINVAL wherever it is used. */
typedef struct lethe_sink {
    void *context;
    /* Takes all size bytes or fails (LETHE_EIO, LETHE_ENOSPACE, LETHE_ENOMEM). */
    lethe_status (*write)(void *context, const void *data, size_t size);
} lethe_sink;

/* Gives bytes. A source whose read is NULL is LETHE_EINVAL wherever it is used. */
typedef struct lethe_source {
    void *context;
    /* Fills all size bytes or fails (LETHE_EIO; LETHE_ECORRUPT when the data ends early). */
    lethe_status (*read)(void *context, void *data, size_t size);
    /* How many bytes are left to read. It bounds every allocation of a load. */
    uint64_t size_bytes;
} lethe_source;

/* Bytes in memory to load from. The caller keeps both the bytes and this struct as long as the
 * source is used. */
typedef struct lethe_memory_reader {
    const void *data;
    size_t size;
    size_t position;
} lethe_memory_reader;

/* Makes a source that reads reader's bytes from its position on. Given NULL, NULL data with a size,
 * or a position beyond the size, it returns a source without a read function. Cost: O(1). */
LETHE_API lethe_source lethe_source_from_memory(lethe_memory_reader *reader);

/* A growing buffer to save into; {0} is an empty one. */
typedef struct lethe_memory_writer {
    void *data;
    size_t size;
    size_t capacity;
} lethe_memory_writer;

/* Makes a sink that appends to writer; given NULL, it returns a sink without a write function.
 * Writes can fail with LETHE_ENOMEM. Cost: amortised O(bytes). */
LETHE_API lethe_sink lethe_sink_to_memory(lethe_memory_writer *writer);

/* Frees the data and leaves an empty writer. Takes NULL. */
LETHE_API void lethe_memory_writer_free(lethe_memory_writer *writer);

/* What a saved file says about itself in its first bytes. */
typedef struct lethe_file_info {
    size_t size;

    /* Of the payload, without header and checksum. */
    uint64_t payload_bytes;

    /* Four letters, such as "BLOM"; the rest is zero. */
    char type[12];
    /* The format version of the type. */
    uint32_t version;
} lethe_file_info;

/* Reads and checks the header of a saved file, not its payload. With LETHE_EVERSION the type and
 * version are filled in all the same. detail, which may be NULL, says what is wrong.
 * Cost: one small read. Errors: LETHE_EINVAL (an argument, or not a regular file), LETHE_ENOTFOUND,
 * LETHE_EIO, LETHE_ECORRUPT, LETHE_EVERSION. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_file_peek(const char *path, lethe_file_info *out,
                                                        lethe_detail *detail);

#ifdef __cplusplus
}
#endif

#endif

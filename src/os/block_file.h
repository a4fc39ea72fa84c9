/* os/block_file.h - files that are read and written at places of the caller's choice.
 *
 * Errors come as in os/file.h. */
#ifndef LETHE_OS_BLOCK_FILE_H
#define LETHE_OS_BLOCK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/status.h"

/* Where and in what units a direct file takes data. */
enum { LETHE_OS_BLOCK_BYTES = 4096 };

typedef struct lethe_os_block_file {
    int descriptor;      /* -1: none */
    uint64_t size_bytes; /* when it was opened */
} lethe_os_block_file;

/* Makes an empty file, in place of one that may be there. A direct one goes past the page cache,
 * where the file system can: then places, sizes and memory are multiples of
 * LETHE_OS_BLOCK_BYTES. */
LETHE_MUST_CHECK lethe_status lethe_os_block_create(const char *path, bool direct,
                                                    lethe_os_block_file *out);
/* Opens a file that is there. Errors: LETHE_ENOTFOUND, LETHE_EINVAL (no regular file),
 * LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_block_open(const char *path, bool direct, bool writes,
                                                  lethe_os_block_file *out);
LETHE_MUST_CHECK lethe_status lethe_os_block_write(const lethe_os_block_file *file, uint64_t offset,
                                                   const void *data, size_t size);
/* Fills all of data; LETHE_ECORRUPT when the file ends before. */
LETHE_MUST_CHECK lethe_status lethe_os_block_read(const lethe_os_block_file *file, uint64_t offset,
                                                  void *data, size_t size);
/* Has the system begin to write that part of the file to the disk, so that the next sync has less
 * to wait for; it promises nothing. size 0: up to the end. Errors: what a sync would find. */
LETHE_MUST_CHECK lethe_status lethe_os_block_send(const lethe_os_block_file *file, uint64_t offset,
                                                  uint64_t size);
LETHE_MUST_CHECK lethe_status lethe_os_block_sync(const lethe_os_block_file *file);
LETHE_MUST_CHECK lethe_status lethe_os_block_truncate(const lethe_os_block_file *file,
                                                      uint64_t size);
void lethe_os_block_close(lethe_os_block_file *file);

/* Whether the file at path still is this one; *size_bytes becomes how long this one is now. */
bool lethe_os_block_is_at(const lethe_os_block_file *file, const char *path, uint64_t *size_bytes);
/* Makes a link at `link` by which this process can open the file even when its name is gone. Where
 * the system has no such links, it is one to path. Errors: LETHE_ENOTFOUND, LETHE_ENOSPACE,
 * LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_block_link(const lethe_os_block_file *file, const char *path,
                                                  const char *link);

#endif

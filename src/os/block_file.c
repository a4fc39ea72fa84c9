/* os/block_file.c - files by place: pread, pwrite, and past the page cache where that is wanted.
 *
 * A file system that refuses O_DIRECT (some in memory do) gets ordinary reads and writes. */
#include "os/block_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "os/path.h"

static int open_with(const char *path, int flags, bool direct) {
    if (direct) {
        int descriptor = open(path, flags | O_DIRECT, 0666);
        if (descriptor >= 0 || errno != EINVAL) return descriptor;
    }
    return open(path, flags, 0666);
}

lethe_status lethe_os_block_create(const char *path, bool direct, lethe_os_block_file *out) {
    *out = (lethe_os_block_file){.descriptor = -1};
    if (lethe_os_is_faulted(LETHE_OS_OPEN)) return lethe_os_status_from_errno();
    out->descriptor = open_with(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, direct);
    return out->descriptor >= 0 ? LETHE_OK : lethe_os_status_from_errno();
}

lethe_status lethe_os_block_open(const char *path, bool direct, bool writes,
                                 lethe_os_block_file *out) {
    *out = (lethe_os_block_file){.descriptor = -1};
    if (lethe_os_is_faulted(LETHE_OS_OPEN)) return lethe_os_status_from_errno();
    /* O_NONBLOCK: opening a pipe that nobody writes to would wait for ever. */
    int flags = (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK;
    int descriptor = open_with(path, flags, direct);
    if (descriptor < 0) return lethe_os_status_from_errno();
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(descriptor);
        errno = EINVAL;
        return LETHE_EINVAL;
    }
    out->descriptor = descriptor;
    out->size_bytes = (uint64_t)status.st_size;
    return LETHE_OK;
}

lethe_status lethe_os_block_write(const lethe_os_block_file *file, uint64_t offset,
                                  const void *data, size_t size) {
    const char *from = data;
    while (size > 0) {
        if (lethe_os_is_faulted(LETHE_OS_WRITE)) return lethe_os_status_from_errno();
        ssize_t done = pwrite(file->descriptor, from, size, (off_t)offset);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return lethe_os_status_from_errno();
        from += done;
        offset += (uint64_t)done;
        size -= (size_t)done;
    }
    return LETHE_OK;
}

lethe_status lethe_os_block_read(const lethe_os_block_file *file, uint64_t offset, void *data,
                                 size_t size) {
    char *to = data;
    while (size > 0) {
        if (lethe_os_is_faulted(LETHE_OS_READ)) return lethe_os_status_from_errno();
        ssize_t got = pread(file->descriptor, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return lethe_os_status_from_errno();
        if (got == 0) return LETHE_ECORRUPT;
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return LETHE_OK;
}

lethe_status lethe_os_block_send(const lethe_os_block_file *file, uint64_t offset, uint64_t size) {
    if (lethe_os_is_faulted(LETHE_OS_SEND)) return lethe_os_status_from_errno();
    if (sync_file_range(file->descriptor, (off_t)offset, (off_t)size, SYNC_FILE_RANGE_WRITE) == 0)
        return LETHE_OK;
    /* Only a disk that fails is an error. A file system or a sandbox may not know the call. */
    bool is_failure = errno == EIO || errno == ENOSPC || errno == EDQUOT;
    return is_failure ? lethe_os_status_from_errno() : LETHE_OK;
}

lethe_status lethe_os_block_sync(const lethe_os_block_file *file) {
    if (lethe_os_is_faulted(LETHE_OS_SYNC) || fdatasync(file->descriptor) != 0) {
        return lethe_os_status_from_errno();
    }
    return LETHE_OK;
}

lethe_status lethe_os_block_truncate(const lethe_os_block_file *file, uint64_t size) {
    if (lethe_os_is_faulted(LETHE_OS_WRITE) || ftruncate(file->descriptor, (off_t)size) != 0) {
        return lethe_os_status_from_errno();
    }
    return LETHE_OK;
}

void lethe_os_block_close(lethe_os_block_file *file) {
    if (file->descriptor >= 0) close(file->descriptor);
    file->descriptor = -1;
}

bool lethe_os_block_is_at(const lethe_os_block_file *file, const char *path, uint64_t *size_bytes) {
    struct stat opened, named;
    *size_bytes = 0;
    if (fstat(file->descriptor, &opened) != 0) return false;
    *size_bytes = (uint64_t)opened.st_size;
    return stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

lethe_status lethe_os_block_link(const lethe_os_block_file *file, const char *path,
                                 const char *link) {
    char opened[LETHE_OS_PATH_BYTES], *real;
    if (lethe_os_path(opened, "/proc/self/fd/%d", file->descriptor) && access(opened, R_OK) == 0)
        return lethe_os_link(opened, link);
    lethe_status status = lethe_os_real_path(path, &real);
    if (status == LETHE_OK) status = lethe_os_link(real, link);
    free(real);
    return status;
}

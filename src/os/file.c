/* os/file.c - reading a file whole, and replacing one so that a crash leaves the old or the new.
 *
 * A replacement is written to NAME.XXXXXX.tmp in the same folder, synced, and renamed: rename is
 * atomic within a file system. The folder is synced too, or a power cut could undo the rename.
 * A symbolic link is followed first, so that the file it points to is replaced, not the link.
 * Devices, pipes and folders are refused: renaming over /dev/null would be remembered. */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct lethe_os_replacement {
    int descriptor;
    char *path;      /* the file to replace, links resolved */
    char *temporary; /* where it is written */
};

static lethe_os_fault_hook fault_hook;

void lethe_os_set_fault_hook(lethe_os_fault_hook hook) {
    fault_hook = hook;
}

int lethe_os_is_faulted(lethe_os_operation operation) {
    if (fault_hook == NULL) return 0;
    int error = fault_hook(operation);
    if (error != 0) errno = error;
    return error != 0;
}

lethe_status lethe_os_status_from_errno(void) {
    switch (errno) {
    case ENOENT:
        return LETHE_ENOTFOUND;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return LETHE_ENOSPACE;
    case ENOMEM:
        return LETHE_ENOMEM;
    default:
        return LETHE_EIO;
    }
}

lethe_status lethe_os_reader_open(const char *path, lethe_os_reader *out) {
    *out = (lethe_os_reader){.descriptor = -1};
    if (lethe_os_is_faulted(LETHE_OS_OPEN)) return lethe_os_status_from_errno();
    /* O_NONBLOCK: opening a pipe that nobody writes to would wait for ever. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return lethe_os_status_from_errno();
    struct stat stat;
    if (fstat(descriptor, &stat) != 0) {
        lethe_status status = lethe_os_status_from_errno();
        close(descriptor);
        return status;
    }
    if (!S_ISREG(stat.st_mode)) {
        close(descriptor);
        errno = S_ISDIR(stat.st_mode) ? EISDIR : EINVAL;
        return LETHE_EINVAL;
    }
    out->descriptor = descriptor;
    out->size_bytes = (uint64_t)stat.st_size;
    return LETHE_OK;
}

lethe_status lethe_os_reader_read(lethe_os_reader *reader, void *data, size_t size) {
    char *to = data;
    while (size > 0) {
        if (lethe_os_is_faulted(LETHE_OS_READ)) return lethe_os_status_from_errno();
        ssize_t got = read(reader->descriptor, to, size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return lethe_os_status_from_errno();
        if (got == 0) return LETHE_ECORRUPT;
        to += got;
        size -= (size_t)got;
    }
    return LETHE_OK;
}

void lethe_os_reader_close(lethe_os_reader *reader) {
    if (reader->descriptor >= 0) close(reader->descriptor);
    reader->descriptor = -1;
}

static char *concatenate(const char *a, const char *b) {
    size_t size = strlen(a) + strlen(b) + 1;
    char *joined = malloc(size);
    if (joined != NULL) snprintf(joined, size, "%s%s", a, b);
    return joined;
}

static void free_replacement(lethe_os_replacement *replacement) {
    free(replacement->path);
    free(replacement->temporary);
    free(replacement);
}

/* Finds what is to be replaced and the mode its successor should have. */
static lethe_status resolve(const char *path, char **resolved, mode_t *mode) {
    *resolved = NULL;
    struct stat stat_of;
    if (stat(path, &stat_of) == 0) {
        if (!S_ISREG(stat_of.st_mode)) {
            errno = S_ISDIR(stat_of.st_mode) ? EISDIR : EINVAL;
            return LETHE_EINVAL;
        }
        *mode = stat_of.st_mode & 07777;
        *resolved = realpath(path, NULL);
        return *resolved != NULL ? LETHE_OK : lethe_os_status_from_errno();
    }
    if (errno != ENOENT) return lethe_os_status_from_errno();
    mode_t mask = umask(0);
    umask(mask);
    *mode = 0666 & ~mask;
    *resolved = concatenate(path, "");
    return *resolved != NULL ? LETHE_OK : LETHE_ENOMEM;
}

lethe_status lethe_os_replace_begin(const char *path, lethe_os_replacement **out) {
    *out = NULL;
    lethe_os_replacement *replacement = calloc(1, sizeof *replacement);
    if (replacement == NULL) return LETHE_ENOMEM;
    replacement->descriptor = -1;
    mode_t mode = 0;
    lethe_status status = resolve(path, &replacement->path, &mode);
    if (status == LETHE_OK) {
        replacement->temporary = concatenate(replacement->path, ".XXXXXX.tmp");
        if (replacement->temporary == NULL) status = LETHE_ENOMEM;
    }
    if (status == LETHE_OK && lethe_os_is_faulted(LETHE_OS_OPEN))
        status = lethe_os_status_from_errno();
    if (status == LETHE_OK) {
        replacement->descriptor = mkostemps(replacement->temporary, 4, O_CLOEXEC);
        if (replacement->descriptor < 0) status = lethe_os_status_from_errno();
    }
    if (status != LETHE_OK) {
        free_replacement(replacement);
        return status;
    }
    (void)fchmod(replacement->descriptor,
                 mode); /* a file system without modes is no reason to fail */
    *out = replacement;
    return LETHE_OK;
}

lethe_status lethe_os_replace_write(lethe_os_replacement *replacement, const void *data,
                                    size_t size) {
    const char *from = data;
    while (size > 0) {
        if (lethe_os_is_faulted(LETHE_OS_WRITE)) return lethe_os_status_from_errno();
        ssize_t done = write(replacement->descriptor, from, size);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return lethe_os_status_from_errno();
        from += done;
        size -= (size_t)done;
    }
    return LETHE_OK;
}

/* Makes the rename itself durable. Some file systems can't sync a folder (EINVAL): they need not. */
static lethe_status sync_folder_of(const char *path) {
    char *folder = concatenate(path, "");
    if (folder == NULL) return LETHE_ENOMEM;
    char *slash = strrchr(folder, '/');
    const char *name = slash == NULL ? "." : slash == folder ? "/" : folder;
    if (slash != NULL) *slash = slash == folder ? '/' : '\0';
    if (slash == folder) folder[1] = '\0';
    lethe_status status = LETHE_OK;
    int descriptor =
        lethe_os_is_faulted(LETHE_OS_OPEN) ? -1 : open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
        status = lethe_os_status_from_errno();
    } else {
        if (lethe_os_is_faulted(LETHE_OS_SYNC) || (fsync(descriptor) != 0 && errno != EINVAL)) {
            status = lethe_os_status_from_errno();
        }
        close(descriptor);
    }
    free(folder);
    return status;
}

lethe_status lethe_os_replace_commit(lethe_os_replacement *replacement) {
    lethe_status status = LETHE_OK;
    if (lethe_os_is_faulted(LETHE_OS_SYNC) || fsync(replacement->descriptor) != 0) {
        status = lethe_os_status_from_errno();
    }
    if (status == LETHE_OK && (lethe_os_is_faulted(LETHE_OS_RENAME) ||
                               rename(replacement->temporary, replacement->path) != 0)) {
        status = lethe_os_status_from_errno();
    }
    if (status != LETHE_OK) {
        lethe_os_replace_abort(replacement);
        return status;
    }
    close(replacement->descriptor);
    status = sync_folder_of(replacement->path);
    free_replacement(replacement);
    return status;
}

void lethe_os_replace_abort(lethe_os_replacement *replacement) {
    int error = errno;
    close(replacement->descriptor);
    unlink(replacement->temporary);
    free_replacement(replacement);
    errno = error;
}

/* os/file.c - reading a file whole, and replacing one so that a crash leaves the old or the new.
 *
 * A replacement is written to NAME.XXXXXX.tmp in the same folder, synced, and renamed: rename is
 * atomic within a file system. The folder is synced too, or a power cut could undo the rename.
 * A symbolic link is followed first, so that the file it points to is replaced, not the link.
 * The mode of a new file is left to the system, which applies the process's umask. Reading the
 * umask would mean changing it, for all threads.
 * Devices, pipes and folders are refused: a rename over /dev/null would replace the device. */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/sync.h"

enum { NAME_DIGITS = 6, NAME_ATTEMPTS = 100 };

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

lethe_status lethe_os_read_text(const char *path, char **out) {
    lethe_os_reader reader;
    *out = NULL;
    lethe_status status = lethe_os_reader_open(path, &reader);
    if (status != LETHE_OK) return status;
    size_t size = (size_t)reader.size_bytes;
    char *text = malloc(size + 1);
    status = text == NULL ? LETHE_ENOMEM : lethe_os_reader_read(&reader, text, size);
    lethe_os_reader_close(&reader);
    if (status != LETHE_OK) {
        free(text);
        return status;
    }
    text[size] = '\0';
    *out = text;
    return LETHE_OK;
}

bool lethe_os_exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}

bool lethe_os_remove(const char *path) {
    return unlink(path) == 0 || errno == ENOENT;
}

lethe_status lethe_os_link(const char *target, const char *path) {
    return symlink(target, path) == 0 ? LETHE_OK : lethe_os_status_from_errno();
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

/* Finds what is to be replaced, and the mode of what is there. */
static lethe_status resolve(const char *path, char **resolved, bool *exists, mode_t *mode) {
    *resolved = NULL;
    struct stat stat_of;
    *exists = stat(path, &stat_of) == 0;
    if (*exists) {
        if (!S_ISREG(stat_of.st_mode)) {
            errno = S_ISDIR(stat_of.st_mode) ? EISDIR : EINVAL;
            return LETHE_EINVAL;
        }
        *mode = stat_of.st_mode & 07777;
        *resolved = realpath(path, NULL);
        return *resolved != NULL ? LETHE_OK : lethe_os_status_from_errno();
    }
    if (errno != ENOENT) return lethe_os_status_from_errno();
    *resolved = concatenate(path, "");
    return *resolved != NULL ? LETHE_OK : LETHE_ENOMEM;
}

/* Makes a file that nobody has yet at path.XXXXXX.tmp, with random digits. */
static lethe_status make_temporary(lethe_os_replacement *replacement, mode_t mode) {
    replacement->temporary = concatenate(replacement->path, ".XXXXXX.tmp");
    if (replacement->temporary == NULL) return LETHE_ENOMEM;
    if (lethe_os_is_faulted(LETHE_OS_OPEN)) return lethe_os_status_from_errno();
    char *digits = replacement->temporary + strlen(replacement->path) + 1;
    for (int i = 0; i < NAME_ATTEMPTS && replacement->descriptor < 0; i++) {
        static const char alphabet[] = "0123456789abcdefghijklmnopqrstuv";
        unsigned char random[NAME_DIGITS];
        lethe_status status = lethe_os_random(random, sizeof random);
        if (status != LETHE_OK) return status;
        for (int j = 0; j < NAME_DIGITS; j++)
            digits[j] = alphabet[random[j] % 32];
        replacement->descriptor =
            open(replacement->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (replacement->descriptor < 0 && errno != EEXIST) break;
    }
    return replacement->descriptor >= 0 ? LETHE_OK : lethe_os_status_from_errno();
}

lethe_status lethe_os_replace_begin(const char *path, lethe_os_replacement **out) {
    *out = NULL;
    lethe_os_replacement *replacement = calloc(1, sizeof *replacement);
    if (replacement == NULL) return LETHE_ENOMEM;
    replacement->descriptor = -1;
    bool exists = false;
    mode_t mode = 0;
    lethe_status status = resolve(path, &replacement->path, &exists, &mode);
    if (status == LETHE_OK) status = make_temporary(replacement, exists ? 0600 : 0666);
    if (status != LETHE_OK) {
        free_replacement(replacement);
        return status;
    }
    /* A file system without modes is no reason to fail. */
    if (exists) (void)fchmod(replacement->descriptor, mode);
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

/* Syncs and renames. Errors: nothing was renamed. */
static lethe_status put_in_place(const lethe_os_replacement *replacement) {
    if (lethe_os_is_faulted(LETHE_OS_SYNC) || fsync(replacement->descriptor) != 0 ||
        lethe_os_is_faulted(LETHE_OS_RENAME) ||
        rename(replacement->temporary, replacement->path) != 0) {
        return lethe_os_status_from_errno();
    }
    return LETHE_OK;
}

lethe_status lethe_os_replace_commit(lethe_os_replacement *replacement, bool *is_in_place) {
    /* Opened before the rename, so that only the sync itself can fail after it. */
    int folder;
    lethe_status status = lethe_os_sync_open_parent(replacement->path, &folder);
    if (status == LETHE_OK) status = put_in_place(replacement);
    *is_in_place = status == LETHE_OK;
    if (status != LETHE_OK) {
        lethe_os_replace_abort(replacement);
    } else {
        close(replacement->descriptor);
        free_replacement(replacement);
        status = lethe_os_sync_names(folder);
    }
    lethe_os_sync_close(folder);
    return status;
}

void lethe_os_replace_abort(lethe_os_replacement *replacement) {
    int error = errno;
    close(replacement->descriptor);
    unlink(replacement->temporary);
    free_replacement(replacement);
    errno = error;
}

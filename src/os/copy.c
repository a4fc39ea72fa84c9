/* os/copy.c - copying a folder file by file, through the kernel where it can (copy_file_range). */
#include "os/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "os/folder.h"
#include "os/sync.h"

enum { PIECE_BYTES = 1 << 16 };

static bool write_all(int descriptor, const char *data, size_t size) {
    while (size > 0) {
        ssize_t done = write(descriptor, data, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        data += done;
        size -= (size_t)done;
    }
    return true;
}

/* Copies what is left by hand, up to where reading finds the end. */
static bool copy_by_hand(int from, int to) {
    char piece[PIECE_BYTES];
    for (;;) {
        ssize_t got = read(from, piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got == 0;
        if (!write_all(to, piece, (size_t)got)) return false;
    }
}

static bool copy_bytes(int from, int to) {
    for (;;) {
        ssize_t done = copy_file_range(from, NULL, to, NULL, (size_t)1 << 30, 0);
        if (done > 0 || (done < 0 && errno == EINTR)) continue;
        /* Some file systems answer 0 when they can't copy: only a read shows whether the file ends
         * here. */
        if (done < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO)) return false;
        return copy_by_hand(from, to);
    }
}

static lethe_status copy_file(int from_folder, int to_folder, const char *name) {
    int from = openat(from_folder, name, O_RDONLY | O_CLOEXEC);
    if (from < 0) return lethe_os_status_from_errno();
    int to = openat(to_folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool fine = to >= 0 && copy_bytes(from, to) && fsync(to) == 0;
    int error = errno;
    close(from);
    if (to >= 0 && close(to) != 0 && fine) {
        error = errno;
        fine = false;
    }
    errno = error;
    return fine ? LETHE_OK : lethe_os_status_from_errno();
}

/* A folder that is being copied. */
struct copying {
    int from, to;
    lethe_status status; /* the first that went wrong */
};

static void copy_entry(void *context, const char *name) {
    struct copying *copying = context;
    struct stat information;
    if (copying->status != LETHE_OK) return;
    if (fstatat(copying->from, name, &information, AT_SYMLINK_NOFOLLOW) != 0) {
        copying->status = lethe_os_status_from_errno();
    } else if (S_ISREG(information.st_mode)) {
        copying->status = copy_file(copying->from, copying->to, name);
    }
}

static int open_folder(const char *path, lethe_status *status) {
    if (*status != LETHE_OK) return -1;
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) *status = lethe_os_status_from_errno();
    return descriptor;
}

lethe_status lethe_os_folder_copy(const char *from, const char *to) {
    struct copying copying = {.status = LETHE_OK};
    copying.from = open_folder(from, &copying.status);
    if (copying.status == LETHE_OK) copying.status = lethe_os_folder_make(to);
    copying.to = open_folder(to, &copying.status);
    if (copying.status == LETHE_OK) {
        lethe_status status = lethe_os_folder_each(from, copy_entry, &copying);
        if (copying.status == LETHE_OK) copying.status = status;
    }
    if (copying.status == LETHE_OK) copying.status = lethe_os_sync_names(copying.to);
    if (copying.from >= 0) close(copying.from);
    if (copying.to >= 0) close(copying.to);
    return copying.status;
}

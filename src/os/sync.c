/* os/sync.c - making the names in a folder durable. */
#include "os/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "os/file.h"
#include "os/path.h"

/* Whether this error of a folder's sync says that the file system has none. */
static bool is_without_sync(int error) {
    return error == EINVAL || error == ENOTSUP;
}

lethe_status lethe_os_sync_open(const char *folder, int *descriptor) {
    *descriptor = -1;
    if (!lethe_os_is_faulted(LETHE_OS_OPEN))
        *descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *descriptor >= 0 ? LETHE_OK : lethe_os_status_from_errno();
}

lethe_status lethe_os_sync_open_parent(const char *path, int *descriptor) {
    char parent[LETHE_OS_PATH_BYTES];
    *descriptor = -1;
    return lethe_os_path_parent(parent, path) ? lethe_os_sync_open(parent, descriptor) : LETHE_EIO;
}

lethe_status lethe_os_sync_names(int descriptor) {
    if (descriptor < 0) return LETHE_OK;
    if (lethe_os_is_faulted(LETHE_OS_SYNC)) return lethe_os_status_from_errno();
    if (fsync(descriptor) == 0 || is_without_sync(errno)) return LETHE_OK;
    return lethe_os_status_from_errno();
}

void lethe_os_sync_close(int descriptor) {
    int error = errno;
    if (descriptor >= 0) close(descriptor);
    errno = error;
}

/* Syncs what was opened with this status. */
static lethe_status sync_opened(lethe_status status, int descriptor) {
    if (status == LETHE_OK) status = lethe_os_sync_names(descriptor);
    lethe_os_sync_close(descriptor);
    return status;
}

lethe_status lethe_os_sync_folder(const char *folder) {
    int descriptor;
    lethe_status status = lethe_os_sync_open(folder, &descriptor);
    return sync_opened(status, descriptor);
}

lethe_status lethe_os_sync_parent(const char *path) {
    int descriptor;
    lethe_status status = lethe_os_sync_open_parent(path, &descriptor);
    if (status != LETHE_OK && errno == EACCES) return LETHE_OK;
    return sync_opened(status, descriptor);
}

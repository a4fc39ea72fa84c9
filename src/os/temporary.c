/* os/temporary.c - folders that processes make for a moment.
 *
 * IDEA    Whoever makes a folder holds a lock of it (flock), which ends with the process however
 *         that ends. A folder of this user that nobody holds was left by a process that was killed.
 * I1      A folder is removed only by who holds its lock. Between making a folder and locking it,
 *         another process may take it for a remains: then it is gone when the lock is there, and
 *         another is made.
 * WHY     Process numbers do not say who is alive: they are given again, and processes in
 *         containers may share the place without knowing each other's.
 * LIMIT   Anybody may write to the place. So links are not followed, and what belongs to somebody
 *         else is left alone. */
#include "os/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "os/folder.h"
#include "os/path.h"

static const char PREFIX[] = "lethe-open-";
enum { ATTEMPTS = 100 };

static const char *place(void) {
    const char *parent = "/dev/shm";
    if (access(parent, W_OK | X_OK) != 0) parent = getenv("TMPDIR");
    return parent != NULL && parent[0] != '\0' ? parent : "/tmp";
}

/* Opens and locks a folder that belongs to this user and is still there; -1 if that can't be. */
static int claim(const char *path) {
    struct stat opened, named;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return -1;
    bool is_ours = flock(folder, LOCK_EX | LOCK_NB) == 0 && fstat(folder, &opened) == 0 &&
                   lstat(path, &named) == 0 && opened.st_dev == named.st_dev &&
                   opened.st_ino == named.st_ino && opened.st_uid == geteuid();
    if (is_ours) return folder;
    close(folder);
    return -1;
}

/* Of a folder whose lock is held. */
static void remove_claimed(const char *path) {
    static const char *const inner[] = {"data", "ledger"};
    char folder[LETHE_OS_PATH_BYTES];
    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++)
        if (lethe_os_path(folder, "%s/%s", path, inner[i])) lethe_os_folder_remove(folder);
    lethe_os_folder_remove(path);
}

static void remove_remains(const char *parent) {
    DIR *entries = opendir(parent);
    if (entries == NULL) return;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char path[LETHE_OS_PATH_BYTES];
        if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) != 0) continue;
        if (!lethe_os_path(path, "%s/%s", parent, entry->d_name)) continue;
        int folder = claim(path);
        if (folder < 0) continue;
        remove_claimed(path);
        close(folder);
    }
    closedir(entries);
}

lethe_status lethe_os_temporary_make(lethe_os_temporary *out) {
    const char *parent = place();
    *out = (lethe_os_temporary){.path = ""};
    remove_remains(parent);
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        char path[LETHE_OS_PATH_BYTES];
        if (!lethe_os_path(path, "%s/%sXXXXXX", parent, PREFIX)) return LETHE_EIO;
        if (mkdtemp(path) == NULL) return lethe_os_status_from_errno();
        int folder = claim(path);
        if (folder < 0) {
            (void)rmdir(path);
            continue;
        }
        memcpy(out->path, path, sizeof path);
        out->descriptor = folder;
        return LETHE_OK;
    }
    return LETHE_EIO;
}

void lethe_os_temporary_remove(lethe_os_temporary *temporary) {
    if (temporary->path[0] == '\0') return;
    remove_claimed(temporary->path);
    close(temporary->descriptor);
    *temporary = (lethe_os_temporary){.path = ""};
}

/* preload_shadow.c - the synced image: what a power cut would leave on the disk.
 *
 * The folder LETHE_FAULT_SHADOW gets, each time that a file is synced, a copy of it as f-INODE, and each time that a
 * folder is synced, the list of its entries as d-INODE: a line "INODE f|d NAME" each. From these the folder can be built
 * as it would be after a power cut: overwrites, renames and removals that were not synced are undone.
 * Inodes must not be used again, as it is in tmpfs. A shadow that can't be written ends the process: a test would
 * be wrong without it. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"

static const char *shadow(void) {
    return getenv("LETHE_FAULT_SHADOW");
}

bool lethe_shadow_is_wanted(void) {
    return shadow() != NULL;
}

static void put(int to, const char *data, size_t size) {
    while (size > 0) {
        long wrote = syscall(SYS_write, to, data, size);
        if (wrote <= 0) abort();
        data += wrote;
        size -= (size_t)wrote;
    }
}

static void copy_file(int to, int descriptor) {
    char link[64];
    static char data[1 << 16]; /* the caller has the journal's lock */
    /* The descriptor may be open for writing only. */
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int from = (int)syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0);
    if (from < 0) abort();
    long got;
    while ((got = syscall(SYS_read, from, data, sizeof data)) > 0)
        put(to, data, (size_t)got);
    if (got < 0) abort();
    close(from);
}

static void list_folder(int to, const char *path) {
    DIR *folder = opendir(path);
    if (folder == NULL) abort();
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char line[NAME_MAX + 32];
        int size = snprintf(line, sizeof line, "%llu %c %s\n", (unsigned long long)entry->d_ino,
                            entry->d_type == DT_DIR ? 'd' : 'f', entry->d_name);
        put(to, line, (size_t)size);
    }
    closedir(folder);
}

void lethe_shadow_sync(int descriptor, const char *path) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) abort();
    bool is_folder = S_ISDIR(status.st_mode);
    char temporary[PATH_MAX], final[PATH_MAX];
    snprintf(temporary, sizeof temporary, "%s/new", shadow());
    snprintf(final, sizeof final, "%s/%c-%llu", shadow(), is_folder ? 'd' : 'f',
             (unsigned long long)status.st_ino);
    int to = (int)syscall(SYS_openat, AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                          0666);
    if (to < 0) abort();
    if (is_folder) {
        list_folder(to, path);
    } else {
        copy_file(to, descriptor);
    }
    close(to);
    if (rename(temporary, final) != 0) abort();
}

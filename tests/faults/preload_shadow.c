/* preload_shadow.c - the synced image: what a power cut would leave on the disk.
 *
 * The folder LETHE_FAULT_SHADOW gets, each time that a file is synced, a copy of it as f-INODE,
 * and each time that a folder is synced, the list of its entries as d-INODE: a line "INODE f|d
 * NAME" each. From these the folder can be built as it would be after a power cut: overwrites,
 * renames and removals that were not synced are undone. A sync that fails loses what was not
 * synced before, as it is in Linux: readers still see it, and later syncs know nothing of it.
 * From then on l-INODE is what the disk would get of the file: the last copy, and the blocks
 * that were written since. Inodes must not be used again, as it is in tmpfs. A shadow that can't
 * be written ends the process: a test would be wrong without it. */
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

enum { BLOCK_BYTES = 4096 };

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

static int open_file(const char *path, int flags) {
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0666);
}

/* The file of a descriptor, which may be open for writing only. */
static int open_to_read(int descriptor) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int from = open_file(link, O_RDONLY);
    if (from < 0) abort();
    return from;
}

static void copy_file(int to, int from) {
    static char data[1 << 16]; /* the caller has the journal's lock */
    long got;
    while ((got = syscall(SYS_read, from, data, sizeof data)) > 0)
        put(to, data, (size_t)got);
    if (got < 0) abort();
    close(from);
}

static void name_copy(char path[PATH_MAX], char kind, const struct stat *status) {
    snprintf(path, PATH_MAX, "%s/%c-%llu", shadow(), kind, (unsigned long long)status->st_ino);
}

/* What the disk gets of a file that lost something; -1: it lost nothing. */
static int open_lost(int descriptor, struct stat *status) {
    char path[PATH_MAX];
    if (fstat(descriptor, status) != 0) abort();
    name_copy(path, 'l', status);
    return open_file(path, O_RDWR);
}

void lethe_shadow_lose(int descriptor) {
    struct stat status;
    char path[PATH_MAX];
    if (fstat(descriptor, &status) != 0) abort();
    if (!S_ISREG(status.st_mode)) return;
    name_copy(path, 'f', &status);
    int from = open_file(path, O_RDONLY);
    name_copy(path, 'l', &status);
    int to = open_file(path, O_RDWR | O_CREAT | O_TRUNC);
    if (to < 0) abort();
    if (from >= 0) copy_file(to, from);
    close(to);
}

void lethe_shadow_wrote(int descriptor, off_t offset, size_t size) {
    struct stat status;
    int to = open_lost(descriptor, &status);
    if (to < 0) return;
    int from = open_to_read(descriptor);
    off_t end = offset + (off_t)size;
    for (off_t at = offset / BLOCK_BYTES * BLOCK_BYTES; at < end; at += BLOCK_BYTES) {
        char data[BLOCK_BYTES];
        long got = syscall(SYS_pread64, from, data, sizeof data, at);
        if (got < 0 || syscall(SYS_pwrite64, to, data, (size_t)got, at) != got) abort();
    }
    close(from);
    close(to);
}

static void copy_synced(int to, int descriptor) {
    struct stat status;
    int from = open_lost(descriptor, &status);
    if (from >= 0 && ftruncate(from, status.st_size) != 0) abort();
    copy_file(to, from >= 0 ? from : open_to_read(descriptor));
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
        copy_synced(to, descriptor);
    }
    close(to);
    if (rename(temporary, final) != 0) abort();
}

/* os/folder.c - folders and what is in them. */
#include "os/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "os/sync.h"

/* What is done with an entry of an open folder. */
typedef void (*visit_entry)(void *context, int folder, const char *name);

static bool is_no_entry(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Visits all entries, and closes the folder. A folder that can't be read to its end is not one with
 * fewer entries. Keeps errno on failure. */
static lethe_status visit_all(DIR *folder, visit_entry visit, void *context) {
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(folder)) != NULL)
        if (!is_no_entry(entry->d_name)) visit(context, dirfd(folder), entry->d_name);
    lethe_status status = errno == 0 ? LETHE_OK : lethe_os_status_from_errno();
    int error = errno;
    closedir(folder);
    errno = error;
    return status;
}

static lethe_status visit_folder(const char *path, visit_entry visit, void *context) {
    DIR *folder = opendir(path);
    return folder != NULL ? visit_all(folder, visit, context) : lethe_os_status_from_errno();
}

static void see_entry(void *context, int folder, const char *name) {
    lethe_os_folder_state *state = context;
    (void)folder, (void)name;
    *state = LETHE_OS_FILLED;
}

lethe_status lethe_os_folder_look(const char *path, lethe_os_folder_state *out) {
    *out = LETHE_OS_MISSING;
    DIR *folder = opendir(path);
    if (folder == NULL) {
        if (errno == ENOENT) return LETHE_OK;
        if (errno != ENOTDIR) return lethe_os_status_from_errno();
        *out = LETHE_OS_NO_FOLDER;
        return LETHE_OK;
    }
    *out = LETHE_OS_EMPTY;
    return visit_all(folder, see_entry, out);
}

lethe_status lethe_os_folder_make(const char *path) {
    /* One that exists may have been made by a call whose sync failed. */
    return mkdir(path, 0777) == 0 || errno == EEXIST ? lethe_os_sync_parent(path)
                                                     : lethe_os_status_from_errno();
}

lethe_status lethe_os_folder_rename(const char *from, const char *to) {
    if (rename(from, to) != 0) return lethe_os_status_from_errno();
    return lethe_os_sync_parent(to);
}

static void remove_entry(void *context, int folder, const char *name) {
    (void)context;
    (void)unlinkat(folder, name, 0);
}

void lethe_os_folder_remove(const char *path) {
    lethe_status status = visit_folder(path, remove_entry, NULL);
    (void)status; /* the folder stays then */
    (void)rmdir(path);
}

void lethe_os_folder_remove_empty(const char *path) {
    (void)rmdir(path);
}

static void add_bytes(void *context, int folder, const char *name) {
    uint64_t *total = context;
    struct stat status;
    if (fstatat(folder, name, &status, 0) == 0) *total += (uint64_t)status.st_size;
}

uint64_t lethe_os_folder_bytes(const char *path) {
    uint64_t total = 0;
    lethe_status status = visit_folder(path, add_bytes, &total);
    return status == LETHE_OK ? total : 0;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* Adds up, so that the order in which entries come does not matter. */
static void add_fingerprint(void *context, int folder, const char *name) {
    uint64_t *sum = context;
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    uint64_t hash = mix(1, status.st_ino);
    for (const char *letter = name; *letter != '\0'; letter++)
        hash = mix(hash, (unsigned char)*letter);
    /* A folder's own size and time say only what its entries do. */
    if (S_ISREG(status.st_mode)) {
        hash = mix(hash, (uint64_t)status.st_size);
        hash = mix(hash, (uint64_t)status.st_mtim.tv_sec);
        hash = mix(hash, (uint64_t)status.st_mtim.tv_nsec);
    }
    *sum += hash;
}

uint64_t lethe_os_folder_fingerprint(const char *path) {
    uint64_t sum = 1;
    lethe_status status = visit_folder(path, add_fingerprint, &sum);
    return status == LETHE_OK ? sum : 0;
}

/* A visitor who needs only the name. */
struct visitor {
    void (*visit)(void *context, const char *name);
    void *context;
};

static void show_name(void *context, int folder, const char *name) {
    const struct visitor *visitor = context;
    (void)folder;
    visitor->visit(visitor->context, name);
}

lethe_status lethe_os_folder_each(const char *path, void (*visit)(void *context, const char *name),
                                  void *context) {
    struct visitor visitor = {.visit = visit, .context = context};
    return visit_folder(path, show_name, &visitor);
}

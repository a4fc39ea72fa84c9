/* os/folder.c - folders, and who may write into one.
 *
 * WHY     A claim is a lock of the open file (flock), which ends with the process however that
 *         ends: after a crash nothing is left to clean up, and a process number that was given
 *         to somebody else means nothing. The text in the file is only for the message. */
#include "os/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "os/sync.h"

bool lethe_os_path(char out[LETHE_OS_PATH_BYTES], const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it has just been started. */
    int size = vsnprintf(out, LETHE_OS_PATH_BYTES, format, arguments);
    va_end(arguments);
    bool fits = size > 0 && size < LETHE_OS_PATH_BYTES;
    if (!fits) errno = ENAMETOOLONG;
    return fits;
}

static bool is_no_entry(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Shows all entries. A folder that can't be read to its end is not one with fewer entries. Keeps
 * errno on failure. */
static lethe_status each_entry(DIR *folder, void (*visit)(void *context, const char *name),
                               void *context) {
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (entry == NULL) return errno == 0 ? LETHE_OK : lethe_os_status_from_errno();
        if (!is_no_entry(entry->d_name)) visit(context, entry->d_name);
    }
}

static void see_entry(void *context, const char *name) {
    lethe_os_folder_state *state = context;
    (void)name;
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
    lethe_status status = each_entry(folder, see_entry, out);
    closedir(folder);
    return status;
}

lethe_status lethe_os_folder_make(const char *path) {
    /* One that is there may be what a call made whose sync failed. */
    return mkdir(path, 0777) == 0 || errno == EEXIST ? lethe_os_sync_parent(path)
                                                     : lethe_os_status_from_errno();
}

lethe_status lethe_os_folder_rename(const char *from, const char *to) {
    if (rename(from, to) != 0) return lethe_os_status_from_errno();
    return lethe_os_sync_parent(to);
}

void lethe_os_folder_remove(const char *path) {
    DIR *folder = opendir(path);
    if (folder == NULL) return;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (!is_no_entry(entry->d_name)) (void)unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
    (void)rmdir(path);
}

uint64_t lethe_os_folder_bytes(const char *path, const char *suffix) {
    DIR *folder = opendir(path);
    if (folder == NULL) return 0;
    uint64_t total = 0;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        size_t size = strlen(entry->d_name), ending = strlen(suffix);
        struct stat status;
        if (size < ending || strcmp(entry->d_name + size - ending, suffix) != 0) continue;
        if (fstatat(dirfd(folder), entry->d_name, &status, 0) != 0) continue;
        total += (uint64_t)status.st_size;
    }
    closedir(folder);
    return total;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

struct fingerprint {
    int folder;
    uint64_t sum; /* whatever order the entries come in */
};

static void add_entry(void *context, const char *name) {
    struct fingerprint *fingerprint = context;
    struct stat status;
    if (fstatat(fingerprint->folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    uint64_t hash = mix(1, status.st_ino);
    for (const char *letter = name; *letter != '\0'; letter++)
        hash = mix(hash, (unsigned char)*letter);
    /* A folder's own size and time say only what its entries do. */
    if (S_ISREG(status.st_mode)) {
        hash = mix(hash, (uint64_t)status.st_size);
        hash = mix(hash, (uint64_t)status.st_mtim.tv_sec);
        hash = mix(hash, (uint64_t)status.st_mtim.tv_nsec);
    }
    fingerprint->sum += hash;
}

uint64_t lethe_os_folder_fingerprint(const char *path) {
    DIR *folder = opendir(path);
    if (folder == NULL) return 0;
    struct fingerprint fingerprint = {.folder = dirfd(folder), .sum = 1};
    lethe_status status = each_entry(folder, add_entry, &fingerprint);
    closedir(folder);
    return status == LETHE_OK ? fingerprint.sum : 0;
}

lethe_status lethe_os_folder_each(const char *path, void (*visit)(void *context, const char *name),
                                  void *context) {
    DIR *folder = opendir(path);
    if (folder == NULL) return lethe_os_status_from_errno();
    lethe_status status = each_entry(folder, visit, context);
    closedir(folder);
    return status;
}

bool lethe_os_exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}

void lethe_os_remove(const char *path) {
    (void)unlink(path);
}

/* Writes who we are into the claimed file. That it may fail costs a message its detail. */
static void sign(int descriptor) {
    char host[128] = "?", name[64] = "?", text[256];
    (void)gethostname(host, sizeof host - 1);
    int source = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    if (source >= 0) {
        ssize_t got = read(source, name, sizeof name - 1);
        if (got > 0) name[got - 1] = '\0';
        close(source);
    }
    int length =
        snprintf(text, sizeof text, "process %ld (%s) on %s\n", (long)getpid(), name, host);
    if (length <= 0 || ftruncate(descriptor, 0) != 0) return;
    if (pwrite(descriptor, text, (size_t)length, 0) < 0) return;
}

/* Reads who holds the file. */
static void read_holder(int descriptor, char *holder, size_t size) {
    ssize_t got = pread(descriptor, holder, size - 1, 0);
    holder[got > 0 ? got : 0] = '\0';
    holder[strcspn(holder, "\n")] = '\0';
    if (holder[0] == '\0') (void)snprintf(holder, size, "another process");
}

lethe_status lethe_os_claim_take(const char *path, lethe_os_claim *out, char *holder,
                                 size_t holder_size) {
    *out = (lethe_os_claim){.descriptor = -1};
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) return lethe_os_status_from_errno();
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        lethe_status status = errno == EWOULDBLOCK ? LETHE_EBUSY : LETHE_EIO;
        if (status == LETHE_EBUSY) read_holder(descriptor, holder, holder_size);
        close(descriptor);
        return status;
    }
    sign(descriptor);
    out->descriptor = descriptor;
    return LETHE_OK;
}

lethe_status lethe_os_claim_share(const char *path, lethe_os_claim *out, char *holder,
                                  size_t holder_size) {
    *out = (lethe_os_claim){.descriptor = -1, .is_shared = true};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return errno == ENOENT ? LETHE_OK : lethe_os_status_from_errno();
    if (flock(descriptor, LOCK_SH | LOCK_NB) != 0) {
        lethe_status status = errno == EWOULDBLOCK ? LETHE_EBUSY : LETHE_EIO;
        if (status == LETHE_EBUSY) read_holder(descriptor, holder, holder_size);
        close(descriptor);
        return status;
    }
    out->descriptor = descriptor;
    return LETHE_OK;
}

lethe_status lethe_os_real_path(const char *path, char **out) {
    *out = realpath(path, NULL);
    return *out != NULL ? LETHE_OK : lethe_os_status_from_errno();
}

/* Of path, or of what there is of it. */
static lethe_status real_beginning(const char *path, char **out) {
    char parent[4096];
    size_t size = strlen(path);
    *out = NULL;
    if (size >= sizeof parent) {
        errno = ENAMETOOLONG;
        return LETHE_EIO;
    }
    memcpy(parent, path, size + 1);
    lethe_status status = lethe_os_real_path(parent, out);
    while (status == LETHE_ENOTFOUND && strcmp(parent, ".") != 0) {
        char *slash = strrchr(parent, '/');
        if (slash == parent) slash++;
        if (slash == NULL) {
            strcpy(parent, ".");
        } else {
            *slash = '\0';
        }
        status = lethe_os_real_path(parent, out);
    }
    return status;
}

lethe_status lethe_os_is_within(const char *path, const char *folder, bool *out) {
    char *inner, *outer = NULL;
    *out = false;
    lethe_status status = real_beginning(path, &inner);
    if (status == LETHE_OK) status = lethe_os_real_path(folder, &outer);
    if (status == LETHE_OK) {
        size_t size = strlen(outer);
        *out = strncmp(inner, outer, size) == 0 &&
               (inner[size] == '\0' || inner[size] == '/' || outer[size - 1] == '/');
    }
    free(inner);
    free(outer);
    return status;
}

lethe_status lethe_os_link(const char *target, const char *path) {
    return symlink(target, path) == 0 ? LETHE_OK : lethe_os_status_from_errno();
}

void lethe_os_claim_give(lethe_os_claim *claim) {
    if (claim->descriptor < 0) return;
    if (!claim->is_shared) (void)ftruncate(claim->descriptor, 0) /* nobody holds it now */;
    close(claim->descriptor);
    claim->descriptor = -1;
}

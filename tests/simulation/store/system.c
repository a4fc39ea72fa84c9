/* simulation/store/system.c - the calls of a POSIX system on the simulated disk, with faults.
 *
 * IDEA    Descriptors are places in one table; each belongs to a process, and is closed with it.
 *         Every call is a point where another thread may run, takes its time, and may be told to
 *         fail.
 * I1      What a call did before it was told to fail stays: half of a write, the first part of a
 *         copy.
 * I2      The identity of the boot and the name of the process are files, as on Linux: they are
 *         made at the start and on each reboot.
 * LIMIT   One user, no links, no permissions: nothing in src/os depends on them but for
 *         messages. */
#include "simulation/store/system.h"

#include <errno.h>

#include "simulation/store/disk.h"
#include "simulation/store/machine.h"
#include "simulation/store/verdict.h"

enum { DESCRIPTORS = 2048, FIRST = 100, ARMED = 8 };

struct opened {
    struct disk_node *node;
    uint64_t offset;
    unsigned process;
    bool writes;
    char *path; /* of a folder, for the calls that begin there */
};

struct armed {
    enum system_operation operation;
    uint64_t countdown, stall_us; /* stall_us: no fault, but slow */
    int error;
};

static struct {
    struct system_habits habits;
    struct opened opened[DESCRIPTORS];
    struct armed armed[ARMED];
    unsigned armed_count, faults;
    uint64_t temporary;
} all;

void system_start(struct system_habits habits) {
    memset(&all, 0, sizeof all);
    all.habits = habits;
}

void system_arm(enum system_operation operation, uint64_t countdown, int error) {
    if (all.armed_count == ARMED) return;
    all.armed[all.armed_count++] =
        (struct armed){.operation = operation, .countdown = countdown, .error = error};
}

void system_arm_stall(uint64_t countdown, uint64_t duration_us) {
    if (all.armed_count == ARMED) return;
    all.armed[all.armed_count++] =
        (struct armed){.operation = SYSTEM_SYNC, .countdown = countdown, .stall_us = duration_us};
}

void system_disarm(void) {
    all.armed_count = 0;
}

unsigned system_faults(void) {
    return all.faults;
}

/* Passes a point, lets the time go by, and says whether this operation fails. */
static int begin(enum system_operation operation) {
    machine_point();
    uint64_t longest = operation == SYSTEM_SYNC ? all.habits.sync_us : all.habits.access_us;
    uint64_t time_us = longest > 0 ? test_random_below(machine_random(), longest + 1) : 0;
    int error = 0;
    for (unsigned i = 0; i < all.armed_count; i++) {
        struct armed *armed = &all.armed[i];
        if (armed->operation != operation || armed->countdown == 0 || --armed->countdown > 0)
            continue;
        if (armed->stall_us > 0) {
            time_us = armed->stall_us;
            verdict_tell("        the disk takes %llu ms", (unsigned long long)time_us / 1000);
            continue;
        }
        error = armed->error;
        all.faults++;
        verdict_tell("        operation %d fails: %s", operation, strerror(error));
    }
    if (time_us > 0) machine_sleep(time_us);
    return error;
}

/* What lies within a sector is read and written at once, on every file system that matters. */
enum { AT_ONCE_BYTES = 512 };

static bool is_interrupted(size_t size) {
    uint32_t one_in = all.habits.interrupted_one_in;
    return one_in > 0 && size > AT_ONCE_BYTES && test_random_below(machine_random(), one_in) == 0;
}

/* How much of a read or write is done at once. */
static size_t cut_short(size_t size) {
    uint32_t one_in = all.habits.short_one_in;
    if (one_in == 0 || size <= AT_ONCE_BYTES || test_random_below(machine_random(), one_in) > 0)
        return size;
    return 1 + (size_t)test_random_below(machine_random(), size - 1);
}

static int fail(int error) {
    errno = error;
    return -1;
}

/* --- descriptors --- */

static struct opened *opened_of(int descriptor) {
    if (descriptor < FIRST || descriptor >= FIRST + DESCRIPTORS) return NULL;
    struct opened *opened = &all.opened[descriptor - FIRST];
    if (opened->node == NULL || opened->process != machine_process()) return NULL;
    return opened;
}

static int take_descriptor(struct disk_node *node, bool writes, const char *path) {
    for (int i = 0; i < DESCRIPTORS; i++) {
        if (all.opened[i].node != NULL) continue;
        all.opened[i] = (struct opened){.node = node,
                                        .process = machine_process(),
                                        .writes = writes,
                                        .path = node->is_folder ? strdup(path) : NULL};
        node->opened++;
        return FIRST + i;
    }
    verdict_fail("descriptors", "more than %d files are open", DESCRIPTORS);
}

static void close_opened(struct opened *opened) {
    int descriptor = FIRST + (int)(opened - all.opened);
    if (opened->node->locked_by == (unsigned)descriptor + 1) opened->node->locked_by = 0;
    if (opened->node->opened > 0) opened->node->opened--;
    free(opened->path);
    *opened = (struct opened){0};
}

void system_end_process(unsigned process) {
    for (int i = 0; i < DESCRIPTORS; i++) {
        if (all.opened[i].node != NULL && all.opened[i].process == process)
            close_opened(&all.opened[i]);
    }
}

int system_open(const char *path, int flags, ...) {
    int error = begin(SYSTEM_OPEN);
    if (error != 0) return fail(error);
    struct disk_node *node;
    error = disk_find(path, &node);
    if (error == 0 && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return fail(EEXIST);
    if (error == ENOENT && (flags & O_CREAT) != 0) {
        if (disk_used_bytes() >= disk_settings()->capacity_bytes) return fail(ENOSPC);
        error = disk_make(path, false, &node);
    } else if (error == 0 && (flags & O_TRUNC) != 0) {
        disk_truncate(node, 0);
    }
    if (error != 0) return fail(error);
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    if (node->is_folder && writes) return fail(EISDIR);
    if (!node->is_folder && (flags & O_DIRECTORY) != 0) return fail(ENOTDIR);
    return take_descriptor(node, writes, path);
}

static char *join(int folder, const char *name) {
    const struct opened *opened = opened_of(folder);
    if (opened == NULL || opened->path == NULL) return NULL;
    size_t size = strlen(opened->path) + strlen(name) + 2;
    char *path = malloc(size);
    if (path != NULL) (void)snprintf(path, size, "%s/%s", opened->path, name);
    return path;
}

int system_openat(int folder, const char *name, int flags, ...) {
    char *path = join(folder, name);
    if (path == NULL) return fail(EBADF);
    int descriptor = system_open(path, flags, 0666);
    free(path);
    return descriptor;
}

int system_close(int descriptor) {
    struct opened *opened = opened_of(descriptor);
    if (opened == NULL) return fail(EBADF);
    close_opened(opened);
    machine_point();
    return 0;
}

/* --- bytes --- */

ssize_t system_pread(int descriptor, void *data, size_t size, off_t offset) {
    if (is_interrupted(size)) return fail(EINTR);
    int error = begin(SYSTEM_READ);
    const struct opened *opened = opened_of(descriptor);
    if (opened == NULL) return fail(EBADF);
    if (error != 0) return fail(error);
    if (opened->node->is_folder) return fail(EISDIR);
    return (ssize_t)disk_read(opened->node, (uint64_t)offset, data, cut_short(size));
}

ssize_t system_pwrite(int descriptor, const void *data, size_t size, off_t offset) {
    if (is_interrupted(size)) return fail(EINTR);
    int error = begin(SYSTEM_WRITE);
    const struct opened *opened = opened_of(descriptor);
    if (opened == NULL || !opened->writes) return fail(EBADF);
    if (error != 0) {
        /* A part may have been written by then. */
        size_t part = (size_t)test_random_below(machine_random(), size + 1);
        if (size <= AT_ONCE_BYTES) part = 0;
        (void)disk_write(opened->node, (uint64_t)offset, data, part);
        return fail(error);
    }
    size_t done = disk_write(opened->node, (uint64_t)offset, data, cut_short(size));
    return done == 0 && size > 0 ? fail(ENOSPC) : (ssize_t)done;
}

ssize_t system_read(int descriptor, void *data, size_t size) {
    struct opened *opened = opened_of(descriptor);
    if (opened == NULL) return fail(EBADF);
    ssize_t done = system_pread(descriptor, data, size, (off_t)opened->offset);
    if (done > 0) opened->offset += (uint64_t)done;
    return done;
}

ssize_t system_write(int descriptor, const void *data, size_t size) {
    struct opened *opened = opened_of(descriptor);
    if (opened == NULL) return fail(EBADF);
    ssize_t done = system_pwrite(descriptor, data, size, (off_t)opened->offset);
    if (done > 0) opened->offset += (uint64_t)done;
    return done;
}

ssize_t system_copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t size,
                               unsigned flags) {
    (void)from_offset, (void)to_offset, (void)flags;
    unsigned char piece[4096];
    ssize_t got = system_read(from, piece, size < sizeof piece ? size : sizeof piece);
    if (got <= 0) return got;
    ssize_t done = system_write(to, piece, (size_t)got);
    struct opened *opened = opened_of(from);
    if (done < got && opened != NULL) opened->offset -= (uint64_t)(got - (done > 0 ? done : 0));
    return done;
}

int system_fsync(int descriptor) {
    int error = begin(SYSTEM_SYNC);
    const struct opened *opened = opened_of(descriptor);
    if (opened == NULL) return fail(EBADF);
    if (error != 0) {
        disk_fail_sync(opened->node, machine_random());
        return fail(error);
    }
    disk_sync(opened->node);
    machine_point();
    return 0;
}

int system_ftruncate(int descriptor, off_t size) {
    int error = begin(SYSTEM_WRITE);
    const struct opened *opened = opened_of(descriptor);
    if (opened == NULL || !opened->writes) return fail(EBADF);
    if (error != 0) return fail(error);
    disk_truncate(opened->node, (uint64_t)size);
    return 0;
}

/* --- names --- */

static void fill_stat(const struct disk_node *node, struct stat *out) {
    *out = (struct stat){.st_mode = node->is_folder ? S_IFDIR | 0777 : S_IFREG | 0666,
                         .st_size = (off_t)node->seen.size,
                         .st_mtim = {.tv_sec = (time_t)(node->written_ms / 1000),
                                     .tv_nsec = (long)(node->written_ms % 1000 * 1000000)},
                         .st_ino = node->number,
                         .st_uid = geteuid()};
}

int system_fstat(int descriptor, struct stat *out) {
    const struct opened *opened = opened_of(descriptor);
    if (opened == NULL) return fail(EBADF);
    fill_stat(opened->node, out);
    return 0;
}

int system_stat(const char *path, struct stat *out) {
    struct disk_node *node;
    int error = disk_find(path, &node);
    if (error != 0) return fail(error);
    fill_stat(node, out);
    return 0;
}

int system_fstatat(int folder, const char *name, struct stat *out, int flags) {
    (void)flags;
    char *path = join(folder, name);
    if (path == NULL) return fail(EBADF);
    int result = system_stat(path, out);
    free(path);
    return result;
}

int system_access(const char *path, int mode) {
    (void)mode;
    struct disk_node *node;
    int error = disk_find(path, &node);
    return error == 0 ? 0 : fail(error);
}

int system_rename(const char *from, const char *to) {
    int error = begin(SYSTEM_RENAME);
    if (error == 0) error = disk_rename(from, to);
    machine_point();
    return error == 0 ? 0 : fail(error);
}

int system_unlink(const char *path) {
    int error = begin(SYSTEM_REMOVE);
    if (error == 0) error = disk_remove(path, false);
    return error == 0 ? 0 : fail(error);
}

int system_unlinkat(int folder, const char *name, int flags) {
    char *path = join(folder, name);
    if (path == NULL) return fail(EBADF);
    int result = (flags & AT_REMOVEDIR) != 0 ? system_rmdir(path) : system_unlink(path);
    free(path);
    return result;
}

int system_symlink(const char *target, const char *path) {
    struct disk_node *node;
    int error = begin(SYSTEM_OPEN);
    if (error == 0) error = disk_find(target, &node);
    if (error == 0) error = disk_link(node, path);
    return error == 0 ? 0 : fail(error);
}

int system_mkdir(const char *path, mode_t mode) {
    (void)mode;
    struct disk_node *node;
    int error = begin(SYSTEM_OPEN);
    if (error == 0) error = disk_make(path, true, &node);
    return error == 0 ? 0 : fail(error);
}

int system_rmdir(const char *path) {
    int error = begin(SYSTEM_REMOVE);
    if (error == 0) error = disk_remove(path, true);
    return error == 0 ? 0 : fail(error);
}

/* A folder's names as they were when it was opened: what changes meanwhile may be shown or not. */
struct system_folder {
    int descriptor;
    size_t next, count;
    struct dirent *entries;
};

struct system_folder *system_opendir(const char *path) {
    int descriptor = system_open(path, O_RDONLY | O_DIRECTORY);
    if (descriptor < 0) return NULL;
    const struct disk_list *names = &opened_of(descriptor)->node->names;
    struct system_folder *folder = machine_allocate(sizeof *folder);
    folder->descriptor = descriptor;
    folder->count = names->count;
    folder->entries = machine_allocate((folder->count + 1) * sizeof *folder->entries);
    size_t turn = names->count > 0 ? (size_t)test_random_below(machine_random(), names->count) : 0;
    for (size_t i = 0; i < names->count; i++) { /* in no order that anybody may rely on */
        const struct disk_entry *entry = &names->entries[(i + turn) % names->count];
        (void)snprintf(folder->entries[i].d_name, sizeof folder->entries[0].d_name, "%.200s",
                       entry->name);
        folder->entries[i].d_type = entry->node->is_folder ? DT_DIR : DT_REG;
    }
    return folder;
}

struct dirent *system_readdir(struct system_folder *folder) {
    return folder->next < folder->count ? &folder->entries[folder->next++] : NULL;
}

int system_closedir(struct system_folder *folder) {
    int result = system_close(folder->descriptor);
    machine_release(folder->entries);
    machine_release(folder);
    return result;
}

int system_dirfd(struct system_folder *folder) {
    return folder->descriptor;
}

mode_t system_umask(mode_t mask) {
    (void)mask;
    return 022;
}

int system_flock(int descriptor, int operation) {
    machine_point();
    const struct opened *opened = opened_of(descriptor);
    if (opened == NULL) return fail(EBADF);
    unsigned own = (unsigned)descriptor + 1;
    if ((operation & LOCK_UN) != 0) {
        if (opened->node->locked_by == own) opened->node->locked_by = 0;
        return 0;
    }
    if (opened->node->locked_by != 0 && opened->node->locked_by != own) return fail(EWOULDBLOCK);
    opened->node->locked_by = own;
    return 0;
}

static void fill_in(char *letters) {
    char number[8];
    (void)snprintf(number, sizeof number, "%06u", (unsigned)(++all.temporary % 1000000));
    memcpy(letters, number, 6);
}

int system_mkostemps(char *path, int suffix_size, int flags) {
    fill_in(path + strlen(path) - (size_t)suffix_size - 6);
    return system_open(path, flags | O_RDWR | O_CREAT | O_EXCL, 0600);
}

char *system_mkdtemp(char *path) {
    fill_in(path + strlen(path) - 6);
    return system_mkdir(path, 0700) == 0 ? path : NULL;
}

char *system_realpath(const char *path, char *out) {
    (void)out;
    return strdup(path);
}

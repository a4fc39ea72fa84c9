/* simulation/store/system.h - the calls of the operating system that src/os makes, on the simulated
 * machine and disk.
 *
 * The files of src/os are compiled a second time with this header in front of them: its macros
 * turn what they call into what follows. So the simulator runs the product's own src/os, with
 * short writes and interrupted calls and all, and nothing of it is written twice. */
#ifndef LETHE_SIMULATION_STORE_SYSTEM_H
#define LETHE_SIMULATION_STORE_SYSTEM_H

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* What can be made to fail. */
enum system_operation {
    SYSTEM_OPEN,
    SYSTEM_READ,
    SYSTEM_WRITE,
    SYSTEM_SYNC,
    SYSTEM_RENAME,
    SYSTEM_REMOVE,
    SYSTEM_OPERATIONS
};

struct system_habits {
    uint64_t sync_us, access_us; /* that one takes at most */
    uint32_t short_one_in;       /* reads and writes that do a part; 0: none */
    uint32_t interrupted_one_in; /* calls that return EINTR first; 0: none */
};

void system_start(struct system_habits habits);
/* The countdown-th operation of this kind from now on fails with this errno, once. */
void system_arm(enum system_operation operation, uint64_t countdown, int error);
/* The countdown-th sync takes so long. */
void system_arm_stall(uint64_t countdown, uint64_t duration_us);
void system_disarm(void);
/* How many armed faults have come so far. */
unsigned system_faults(void);
/* Closes what a process had open. */
void system_end_process(unsigned process);

int system_open(const char *path, int flags, ...);
int system_openat(int folder, const char *name, int flags, ...);
int system_close(int descriptor);
ssize_t system_read(int descriptor, void *data, size_t size);
ssize_t system_write(int descriptor, const void *data, size_t size);
ssize_t system_pread(int descriptor, void *data, size_t size, off_t offset);
ssize_t system_pwrite(int descriptor, const void *data, size_t size, off_t offset);
int system_fsync(int descriptor);
int system_ftruncate(int descriptor, off_t size);
int system_fstat(int descriptor, struct stat *out);
int system_stat(const char *path, struct stat *out);
int system_fstatat(int folder, const char *name, struct stat *out, int flags);
int system_access(const char *path, int mode);
int system_rename(const char *from, const char *to);
int system_unlink(const char *path);
int system_unlinkat(int folder, const char *name, int flags);
/* What a link leads to is found once, when it is made. */
int system_symlink(const char *target, const char *path);
int system_mkdir(const char *path, mode_t mode);
int system_rmdir(const char *path);
struct system_folder;
struct system_folder *system_opendir(const char *path);
struct dirent *system_readdir(struct system_folder *folder);
int system_closedir(struct system_folder *folder);
int system_dirfd(struct system_folder *folder);
mode_t system_umask(mode_t mask);
int system_flock(int descriptor, int operation);
int system_mkostemps(char *path, int suffix_size, int flags);
char *system_mkdtemp(char *path);
char *system_realpath(const char *path, char *out);
ssize_t system_copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t size,
                               unsigned flags);
ssize_t system_getrandom(void *data, size_t size, unsigned flags);
int system_clock_gettime(clockid_t clock, struct timespec *out);

int system_nanosleep(const struct timespec *duration);

int system_mutex_init(pthread_mutex_t *mutex);
int system_mutex_lock(pthread_mutex_t *mutex);
int system_mutex_unlock(pthread_mutex_t *mutex);
int system_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int system_condition_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                               const struct timespec *until);
int system_condition_wake(pthread_cond_t *condition);
int system_thread_create(pthread_t *thread, void *(*main)(void *context), void *context);
int system_thread_join(pthread_t thread);

#ifdef SIMULATION_REPLACES_SYSTEM
#include <liburing.h>
/* A system without io_uring: threads read in its place. */
#define io_uring_queue_init(entries, ring, flags) ((void)(ring), -38)
#define open(...) system_open(__VA_ARGS__)
#define openat(...) system_openat(__VA_ARGS__)
#define close(descriptor) system_close(descriptor)
#define read(descriptor, data, size) system_read(descriptor, data, size)
#define write(descriptor, data, size) system_write(descriptor, data, size)
#define pread(descriptor, data, size, offset) system_pread(descriptor, data, size, offset)
#define pwrite(descriptor, data, size, offset) system_pwrite(descriptor, data, size, offset)
#define fsync(descriptor) system_fsync(descriptor)
#define fdatasync(descriptor) system_fsync(descriptor)
#define ftruncate(descriptor, size) system_ftruncate(descriptor, size)
#define fstat(descriptor, out) system_fstat(descriptor, out)
#define stat(path, out) system_stat(path, out)
#define lstat(path, out) system_stat(path, out)
#define fstatat(folder, name, out, flags) system_fstatat(folder, name, out, flags)
#define access(path, mode) system_access(path, mode)
#define rename(from, to) system_rename(from, to)
#define unlink(path) system_unlink(path)
#define unlinkat(folder, name, flags) system_unlinkat(folder, name, flags)
#define symlink(target, path) system_symlink(target, path)
#define mkdir(path, mode) system_mkdir(path, mode)
#define rmdir(path) system_rmdir(path)
#define DIR struct system_folder
#define opendir(path) system_opendir(path)
#define readdir(folder) system_readdir(folder)
#define closedir(folder) system_closedir(folder)
#define dirfd(folder) system_dirfd(folder)
#define flock(descriptor, operation) system_flock(descriptor, operation)
#define mkostemps(path, suffix_size, flags) system_mkostemps(path, suffix_size, flags)
#define mkdtemp(path) system_mkdtemp(path)
/* Paths mean the same wherever we are. */
#define getcwd(out, size) ((void)(out), (char *)NULL)
#define realpath(path, out) system_realpath(path, out)
/* CPUs. */
#define sysconf(name) ((void)(name), 2L)
#define copy_file_range(from, from_offset, to, to_offset, size, flags) \
    system_copy_file_range(from, from_offset, to, to_offset, size, flags)
#define fchmod(descriptor, mode) ((void)(mode), 0)
#define umask(mask) system_umask(mask)
#define getrandom(data, size, flags) system_getrandom(data, size, flags)
#define clock_gettime(clock, out) system_clock_gettime(clock, out)
#define nanosleep(duration, left) system_nanosleep(duration)
#define pthread_sigmask(how, set, before) ((void)(set), 0)
#define pthread_create(thread, attributes, main, context) \
    system_thread_create(thread, main, context)
#define pthread_join(thread, result) system_thread_join(thread)
#define pthread_mutex_init(mutex, attributes) system_mutex_init(mutex)
#define pthread_mutex_destroy(mutex) ((void)(mutex), 0)
#define pthread_mutex_lock(mutex) system_mutex_lock(mutex)
#define pthread_mutex_unlock(mutex) system_mutex_unlock(mutex)
#define pthread_condattr_init(attributes) ((void)(attributes), 0)
#define pthread_condattr_setclock(attributes, clock) ((void)(attributes), 0)
#define pthread_condattr_destroy(attributes) ((void)(attributes), 0)
#define pthread_cond_init(condition, attributes) ((void)(condition), (void)(attributes), 0)
#define pthread_cond_destroy(condition) ((void)(condition), 0)
#define pthread_cond_wait(condition, mutex) system_condition_wait(condition, mutex)
#define pthread_cond_timedwait(condition, mutex, until) \
    system_condition_timedwait(condition, mutex, until)
#define pthread_cond_broadcast(condition) system_condition_wake(condition)
#define pthread_cond_signal(condition) system_condition_wake(condition)
#endif

#endif

/* bench/count_process.c - processes, what they cost, and what they leave on disk; see
 * count_process.h. */
#include "count_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "folder.h"
#include "frame.h"

static volatile sig_atomic_t caught;

static void note_signal(int number) {
    caught = number;
}

static void set_signals(void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler}; /* waiting is to be interrupted */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void count_catch_signals(void) {
    set_signals(note_signal);
}

/* Asks the system to kill this process when its parent ends, however that ends. */
static void die_with_parent(pid_t parent) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent) _exit(1);
}

static pid_t fork_child(void) {
    fflush(NULL); /* or the child would print it again */
    pid_t parent = getpid(), child = fork();
    bench_require(child >= 0, "starting a process");
    if (child == 0) {
        set_signals(SIG_DFL);
        die_with_parent(parent);
    }
    return child;
}

pid_t count_start(const char *const *words, const char *output) {
    return count_start_with(words, -1, output);
}

pid_t count_start_with(const char *const *words, int input, const char *output) {
    pid_t child = fork_child();
    if (child > 0) return child;
    int file = open(output != NULL ? output : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool reads = input < 0 || dup2(input, STDIN_FILENO) >= 0;
    if (reads && file >= 0 && dup2(file, STDOUT_FILENO) >= 0) {
        char *copies[32] = {NULL};
        for (size_t i = 0; i + 1 < sizeof copies / sizeof copies[0] && words[i] != NULL; i++)
            copies[i] = strdup(words[i]);
        execvp(copies[0], copies);
    }
    fprintf(stderr, "lethe-bench: cannot run %s: %s\n", words[0], strerror(errno));
    _exit(127);
}

static double seconds_of(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static struct count_cost cost_of(const struct rusage *usage, double started) {
    return (struct count_cost){
        .seconds = bench_now() - started,
        .cpu_seconds = seconds_of(usage->ru_utime) + seconds_of(usage->ru_stime),
        .memory_mib = (double)usage->ru_maxrss / 1024,
    };
}

struct count_cost count_wait(pid_t child, double started, const char *name) {
    int status;
    struct rusage usage;
    while (wait4(child, &status, 0, &usage) < 0) {
        bench_require(errno == EINTR, "waiting for a process");
        if (caught != 0) kill(child, SIGKILL);
    }
    if (caught != 0) exit(128 + caught);
    struct count_cost cost = cost_of(&usage, started);
    bench_require(WIFEXITED(status) && WEXITSTATUS(status) == 0, name);
    return cost;
}

struct count_cost count_run(const char *const *words, const char *output) {
    double started = bench_now();
    return count_wait(count_start(words, output), started, words[0]);
}

pid_t count_branch(void (*run)(void *context), void *context) {
    pid_t child = fork_child();
    if (child > 0) return child;
    run(context);
    _exit(0);
}

struct count_cost count_fork(void (*run)(void *context), void *context, const char *name) {
    double started = bench_now();
    return count_wait(count_branch(run, context), started, name);
}

struct count_cost count_cost_now(double started) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return cost_of(&usage, started);
}

void *count_shared(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bench_require(memory != MAP_FAILED, "allocating shared memory");
    return memory;
}

bool count_find_command(const char *name, char path[COUNT_PATH_BYTES]) {
    const char *folders = getenv("PATH");
    while (folders != NULL && *folders != '\0') {
        size_t length = strcspn(folders, ":");
        snprintf(path, COUNT_PATH_BYTES, "%.*s/%s", (int)length, folders, name);
        if (access(path, X_OK) == 0) return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* What is left when the program ends. */
static char folder_to_remove[COUNT_PATH_BYTES];
static pid_t owner;

static void clean_up(void) {
    if (getpid() == owner) bench_folder_remove(folder_to_remove);
}

void count_folder_make(char *path, size_t size) {
    bench_folder_make(path, size);
    snprintf(folder_to_remove, sizeof folder_to_remove, "%s", path);
    if (owner != getpid()) bench_require(atexit(clean_up) == 0, "preparing to clean up");
    owner = getpid();
    count_catch_signals();
}

void count_folder_renew(const char *path) {
    bench_folder_remove(path);
    bench_require(mkdir(path, 0700) == 0, "making a folder");
}

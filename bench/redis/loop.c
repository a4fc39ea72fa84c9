/* loop.c - how long a server's main thread works between two waits for its clients.
 *
 * Preloaded into redis-server, it replaces epoll_wait. The CPU time that the thread has used since
 * it last waited is a pause that every client saw, whatever else the machine was doing. The file
 * that LOOP_FILE names holds the longest pause, the number of pauses above five milliseconds (of
 * all, and of those with page faults), and their sum. Another process reads them and sets them to
 * zero. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct shared {
    uint64_t longest_ns, over_5ms, faulting_longest_ns, faulting_over_5ms, sum_ns;
};

static struct shared *shared;
static pid_t owner; /* the thread that waits first is the main one */
static int (*real_wait)(int, struct epoll_event *, int, int);

static uint64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)(usage.ru_minflt + usage.ru_majflt);
}

static void start(void) {
    const char *path = getenv("LOOP_FILE");
    int file = path != NULL ? open(path, O_RDWR) : -1;
    void *map = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) shared = map;
    if (file >= 0) close(file);
    owner = gettid();
    real_wait = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
}

static void note(uint64_t used_ns, uint64_t *longest_ns, uint64_t *over_5ms) {
    if (used_ns > *longest_ns) *longest_ns = used_ns;
    if (used_ns > 5000000) ++*over_5ms;
}

int epoll_wait(int descriptor, struct epoll_event *events, int most, int timeout_ms) {
    static __thread uint64_t woken_ns, faults_before;
    if (real_wait == NULL) start();
    if (shared != NULL && woken_ns != 0 && gettid() == owner) {
        uint64_t used_ns = cpu_ns() - woken_ns;
        shared->sum_ns += used_ns;
        note(used_ns, &shared->longest_ns, &shared->over_5ms);
        if (faults() > faults_before)
            note(used_ns, &shared->faulting_longest_ns, &shared->faulting_over_5ms);
    }
    int count = real_wait(descriptor, events, most, timeout_ms);
    faults_before = faults();
    woken_ns = cpu_ns();
    return count;
}

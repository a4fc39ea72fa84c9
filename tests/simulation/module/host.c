/* simulation/module/host.c - the clocks and names that the module finds through the C library.
 *
 * The program's own clock_gettime, gethostname and fopen are found before those of the C
 * library, by the copies of lethe.so too. Outside of a server's code they are the real ones. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "server.h"

host hosts[MOST_HOSTS];
int64_t true_us;

/* So that every clock has a plausible past. */
static const int64_t EPOCH_MS = INT64_C(1700000000000);

int64_t host_wall_ms(const host *of) {
    return EPOCH_MS + true_us / 1000 + of->wall_ahead_ms;
}

int64_t host_since_start_us(const host *of) {
    return true_us - of->off_ms * 1000 + 60000000;
}

static struct timespec timespec_of(int64_t us) {
    return (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
}

int clock_gettime(clockid_t clock, struct timespec *out) {
    if (current == NULL) return (int)syscall(SYS_clock_gettime, clock, out);
    bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    *out =
        timespec_of(is_wall ? host_wall_ms(current->at) * 1000 : host_since_start_us(current->at));
    return 0;
}

int gethostname(char *name, size_t size) {
    snprintf(name, size, "host-%d", current != NULL ? (int)(current->at - hosts) : 0);
    return 0;
}

FILE *fopen(const char *path, const char *mode) {
    static char text[64];
    static FILE *(*real)(const char *, const char *);
    if (real == NULL) real = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
    if (current == NULL) return real(path, mode);
    int number = (int)(current->at - hosts);
    if (strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) {
        snprintf(text, sizeof text, "start-%d-%u\n", number, current->at->starts);
    } else if (strcmp(path, "/etc/machine-id") == 0) {
        snprintf(text, sizeof text, "machine-%d\n", number);
    } else {
        return NULL;
    }
    return fmemopen(text, strlen(text), "r");
}

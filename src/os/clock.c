/* os/clock.c - clocks and randomness of Linux. */
#include "os/clock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static uint64_t milliseconds_of(clockid_t clock) {
    struct timespec now = {0};
    (void)clock_gettime(clock, &now); /* fails only for clocks that don't exist */
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t lethe_os_wall_ms(void) {
    return milliseconds_of(CLOCK_REALTIME);
}

uint64_t lethe_os_boot_ms(void) {
    return milliseconds_of(CLOCK_BOOTTIME);
}

void lethe_os_pause_ms(uint64_t pause_ms) {
    struct timespec left = {.tv_sec = (time_t)(pause_ms / 1000),
                            .tv_nsec = (long)(pause_ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

static unsigned digit_of(char letter) {
    return isdigit((unsigned char)letter) ? (unsigned)(letter - '0')
                                          : (unsigned)(tolower((unsigned char)letter) - 'a') + 10;
}

void lethe_os_boot_id(unsigned char out[16]) {
    memset(out, 0, 16);
    char text[64] = "";
    int descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    ssize_t got = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    size_t nibble = 0;
    for (ssize_t i = 0; i < got && nibble < 32; i++) {
        if (!isxdigit((unsigned char)text[i])) continue;
        out[nibble / 2] = (unsigned char)(out[nibble / 2] << 4 | digit_of(text[i]));
        nibble++;
    }
    if (nibble < 32) memset(out, 0, 16);
}

lethe_status lethe_os_random(void *data, size_t size) {
    unsigned char *bytes = data;
    while (size > 0) {
        ssize_t got = getrandom(bytes, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return LETHE_EIO;
        bytes += got;
        size -= (size_t)got;
    }
    return LETHE_OK;
}

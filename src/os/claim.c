/* os/claim.c - which process may write into a folder.
 *
 * WHY     A claim is a lock of the open file (flock), which ends with the process however that
 *         ends. After a crash nothing is left to clean up, and it does not matter that another
 *         process may get the same number. The text in the file is for the message.
 * I1      Whoever holds a claim has signed the file, except for a moment after taking it. Whoever
 *         only looks holds a shared lock for a moment, and has not signed.
 * I2      A process that was killed leaves its signature. So a signature counts only while a
 *         process of that number lives on the host that it names.
 * I3      Whoever finds the file locked, and no signature that counts, waits a little: neither
 *         looking nor signing takes long.
 * LIMIT   A signature of another host, over a shared file system or from another container, always
 *         counts. So does that of a process whose number another one has got meanwhile. Then a
 *         look at the wrong moment keeps a writer out once. */
#include "os/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"

/* Of those who hold the lock and have not signed. */
enum { PAUSE_MS = 2, LONGEST_LOOK_MS = 2000 };
enum { HOST_BYTES = 128, SIGNATURE_BYTES = 256 };
static const char SIGNED_BY[] = "process ";

/* Writes which process we are into the claimed file. If that fails, a message lacks a detail. */
static void sign(int descriptor) {
    char host[HOST_BYTES] = "?", name[64] = "?", text[SIGNATURE_BYTES];
    (void)gethostname(host, sizeof host - 1);
    int source = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    if (source >= 0) {
        ssize_t got = read(source, name, sizeof name - 1);
        if (got > 0) name[got - 1] = '\0';
        close(source);
    }
    int length =
        snprintf(text, sizeof text, "%s%ld (%s) on %s\n", SIGNED_BY, (long)getpid(), name, host);
    if (length <= 0 || ftruncate(descriptor, 0) != 0) return;
    if (pwrite(descriptor, text, (size_t)length, 0) < 0) return;
}

/* Reads which process holds the file. */
static void read_holder(int descriptor, char *holder, size_t size) {
    ssize_t got = pread(descriptor, holder, size - 1, 0);
    holder[got > 0 ? got : 0] = '\0';
    holder[strcspn(holder, "\n")] = '\0';
    if (holder[0] == '\0') (void)snprintf(holder, size, "another process");
}

/* Whether the file has a signature, and nothing shows that its process has ended (I2). */
static bool is_signed(int descriptor) {
    char text[SIGNATURE_BYTES], host[HOST_BYTES] = "?", *end;
    ssize_t got = pread(descriptor, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    if (strncmp(text, SIGNED_BY, sizeof SIGNED_BY - 1) != 0) return text[0] != '\0';
    long number = strtol(text + sizeof SIGNED_BY - 1, &end, 10);
    (void)gethostname(host, sizeof host - 1);
    /* A name of a process may have anything in it: the host is at the end. */
    size_t size = strcspn(end, "\n"), host_size = strlen(host);
    end[size] = '\0';
    bool is_here = size > host_size + 4 && memcmp(end + size - host_size - 4, " on ", 4) == 0 &&
                   strcmp(end + size - host_size, host) == 0;
    return number <= 0 || !is_here || kill((pid_t)number, 0) == 0 || errno != ESRCH;
}

/* Locks an open file, and waits for those who have not signed it. */
static lethe_status lock(int descriptor) {
    for (int waited_ms = 0; flock(descriptor, LOCK_EX | LOCK_NB) != 0; waited_ms += PAUSE_MS) {
        if (errno != EWOULDBLOCK) return LETHE_EIO;
        if (is_signed(descriptor) || waited_ms >= LONGEST_LOOK_MS) return LETHE_EBUSY;
        lethe_os_pause_ms(PAUSE_MS);
    }
    return LETHE_OK;
}

lethe_status lethe_os_claim_take(const char *path, lethe_os_claim *out, char *holder,
                                 size_t holder_size) {
    *out = (lethe_os_claim){.descriptor = -1};
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) return lethe_os_status_from_errno();
    lethe_status status = lock(descriptor);
    if (status == LETHE_OK) {
        sign(descriptor);
        out->descriptor = descriptor;
        return LETHE_OK;
    }
    if (status == LETHE_EBUSY) read_holder(descriptor, holder, holder_size);
    close(descriptor);
    return status;
}

bool lethe_os_claim_is_held(const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return errno != ENOENT;
    bool is_held = flock(descriptor, LOCK_SH | LOCK_NB) != 0;
    close(descriptor);
    return is_held;
}

bool lethe_os_claim_is_at(const lethe_os_claim *claim, const char *path) {
    struct stat claimed, named;
    if (fstat(claim->descriptor, &claimed) != 0) return true;
    if (stat(path, &named) != 0) return errno != ENOENT && errno != ENOTDIR;
    return claimed.st_dev == named.st_dev && claimed.st_ino == named.st_ino;
}

void lethe_os_claim_give(lethe_os_claim *claim) {
    if (claim->descriptor < 0) return;
    (void)ftruncate(claim->descriptor, 0) /* nobody holds it now */;
    close(claim->descriptor);
    claim->descriptor = -1;
}

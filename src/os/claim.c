/* os/claim.c - which process may write into a folder.
 *
 * WHY     A claim is a lock of the open file (flock), which ends with the process however that
 *         ends. After a crash nothing is left to clean up, and it does not matter that another
 *         process may get the same number. The text in the file is only for the message. */
#include "os/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "os/file.h"

/* Writes which process we are into the claimed file. If that fails, a message lacks a detail. */
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

/* Reads which process holds the file. */
static void read_holder(int descriptor, char *holder, size_t size) {
    ssize_t got = pread(descriptor, holder, size - 1, 0);
    holder[got > 0 ? got : 0] = '\0';
    holder[strcspn(holder, "\n")] = '\0';
    if (holder[0] == '\0') (void)snprintf(holder, size, "another process");
}

/* Locks an open file, or closes it. */
static lethe_status lock(int descriptor, int operation, lethe_os_claim *out, char *holder,
                         size_t holder_size) {
    if (flock(descriptor, operation | LOCK_NB) != 0) {
        lethe_status status = errno == EWOULDBLOCK ? LETHE_EBUSY : LETHE_EIO;
        if (status == LETHE_EBUSY) read_holder(descriptor, holder, holder_size);
        close(descriptor);
        return status;
    }
    out->descriptor = descriptor;
    return LETHE_OK;
}

lethe_status lethe_os_claim_take(const char *path, lethe_os_claim *out, char *holder,
                                 size_t holder_size) {
    *out = (lethe_os_claim){.descriptor = -1};
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) return lethe_os_status_from_errno();
    lethe_status status = lock(descriptor, LOCK_EX, out, holder, holder_size);
    if (status == LETHE_OK) sign(descriptor);
    return status;
}

lethe_status lethe_os_claim_share(const char *path, lethe_os_claim *out, char *holder,
                                  size_t holder_size) {
    *out = (lethe_os_claim){.descriptor = -1, .is_shared = true};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return errno == ENOENT ? LETHE_OK : lethe_os_status_from_errno();
    return lock(descriptor, LOCK_SH, out, holder, holder_size);
}

void lethe_os_claim_give(lethe_os_claim *claim) {
    if (claim->descriptor < 0) return;
    if (!claim->is_shared) (void)ftruncate(claim->descriptor, 0) /* nobody holds it now */;
    close(claim->descriptor);
    claim->descriptor = -1;
}

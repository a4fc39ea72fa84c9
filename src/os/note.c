/* os/note.c - a number in a file.
 *
 * LAYOUT  16 bytes: the number, little-endian, and its complement. They lie in one sector, which a
 *         disk writes as a whole. */
#include "os/note.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/bytes.h"
#include "os/file.h"

enum { NOTE_BYTES = 16 };

static void encode(uint64_t number, unsigned char out[NOTE_BYTES]) {
    lethe_put_u64(out, number);
    lethe_put_u64(out + 8, ~number);
}

lethe_status lethe_os_note_read(const char *path, uint64_t *out) {
    *out = 0;
    if (lethe_os_is_faulted(LETHE_OS_READ)) return LETHE_EIO;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return errno == ENOENT ? LETHE_OK : LETHE_EIO;
    unsigned char found[NOTE_BYTES + 1] = {0}, expected[NOTE_BYTES], nothing[NOTE_BYTES] = {0};
    ssize_t got = read(descriptor, found, sizeof found);
    close(descriptor);
    if (got < 0) return LETHE_EIO;
    /* A file of zeros is what a power cut leaves of one that was just made. */
    if (got == 0 || (got == NOTE_BYTES && memcmp(found, nothing, NOTE_BYTES) == 0)) return LETHE_OK;
    uint64_t number = lethe_get_u64(found);
    encode(number, expected);
    if (got != NOTE_BYTES || memcmp(found, expected, NOTE_BYTES) != 0) return LETHE_ECORRUPT;
    *out = number;
    return LETHE_OK;
}

lethe_status lethe_os_note_open(const char *path, lethe_os_note *out) {
    out->descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (out->descriptor >= 0) return LETHE_OK;
    return errno == ENOSPC || errno == EDQUOT ? LETHE_ENOSPACE : LETHE_EIO;
}

void lethe_os_note_write(lethe_os_note *note, uint64_t number) {
    unsigned char bytes[NOTE_BYTES];
    encode(number, bytes);
    ssize_t written = pwrite(note->descriptor, bytes, sizeof bytes, 0);
    (void)written;
}

void lethe_os_note_close(lethe_os_note *note) {
    if (note->descriptor < 0) return;
    (void)fsync(note->descriptor);
    close(note->descriptor);
    note->descriptor = -1;
}

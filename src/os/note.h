/* os/note.h - a number in a file, overwritten in place and never waited for.
 *
 * It survives the process at once, and the machine as soon as the kernel has written it back. */
#ifndef LETHE_OS_NOTE_H
#define LETHE_OS_NOTE_H

#include <stdint.h>

#include "lethe/status.h"

typedef struct lethe_os_note {
    int descriptor; /* -1: none */
} lethe_os_note;

/* Reads the number; 0 when there is no file, or nothing in it yet.
 * Errors: LETHE_ECORRUPT (something else is in it), LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_note_read(const char *path, uint64_t *out);

/* Opens the file to write, and makes it if it is not there. Errors: LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_note_open(const char *path, lethe_os_note *out);
/* Cost: a system call. A failure leaves the number that was there. */
void lethe_os_note_write(lethe_os_note *note, uint64_t number);
/* Waits for the disk, and closes. */
void lethe_os_note_close(lethe_os_note *note);

#endif

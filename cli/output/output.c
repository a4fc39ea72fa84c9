/* output.c - checked writing to standard output.
 *
 * I1      A failure is reported once, and the exit code says so, even if it shows only when the
 *         stream is closed. */
#include "output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frame/interrupt.h"
#include "say/message.h"

static char buffer[1 << 16];
static bool has_failed;

/* If one of the three descriptors is closed, the next file opened would take its number, and a
 * message meant for the user would be written into that file. Fill the gaps with something
 * that refuses what the stream is for, so that using it is an error as it should be. */
static void fill_closed_descriptors(void) {
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (fcntl(descriptor, F_GETFD) != -1) continue;
        int opened = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
        (void)opened; /* the lowest free number: this one */
    }
}

void output_begin(void) {
    fill_closed_descriptors();
    signal(SIGPIPE, SIG_DFL); /* some parents leave it ignored */
    signal(SIGXFSZ, SIG_IGN); /* a limit on file size is then an error like a full disk */
    if (!isatty(STDOUT_FILENO)) setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

static int fail_write(int error) {
    if (has_failed) return EXIT_ENVIRONMENT;
    has_failed = true;
    return message_fail(EXIT_ENVIRONMENT,
                        "cannot write to standard output: %s; the output is incomplete",
                        strerror(error != 0 ? error : EIO));
}

void output_reported(void) {
    has_failed = true;
}

int output_write(const void *data, size_t size) {
    errno = 0;
    if (fwrite(data, 1, size, stdout) == size) return EXIT_DONE;
    return fail_write(errno);
}

int output_flush(void) {
    errno = 0;
    if (fflush(stdout) == 0) return EXIT_DONE;
    return fail_write(errno);
}

int output_fail(const char *attempt, const char *name, bool *has_no_reader) {
    int error = errno != 0 ? errno : EIO;
    *has_no_reader = error == EPIPE;
    if (*has_no_reader) return EXIT_ENVIRONMENT; /* a signal says so at the end */
    if (error == EINTR && interrupt_requested()) {
        return message_fail(interrupt_code(), "interrupted while nobody read the lines");
    }
    bool lacks_folder = error == ENOENT || error == ENOTDIR;
    return message_fail(EXIT_ENVIRONMENT, "cannot %s %s: %s; %s", attempt, name, strerror(error),
                        lacks_folder
                            ? "make the folder that it is to be in, or choose another place"
                            : "make room or choose another place");
}

void output_outlive_reader(void) {
    signal(SIGPIPE, SIG_IGN);
}

void output_end_with_reader(void) {
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

int output_end(int code) {
    errno = 0;
    bool failed = ferror(stdout) != 0;
    /* Some file systems report a full disk only when the file is closed. */
    if (fclose(stdout) != 0) failed = true;
    if (!failed) return code;
    int failure = fail_write(errno);
    return code == EXIT_DONE || code == EXIT_NEGATIVE ? failure : code;
}

/* inputs.c - opens input files and tells why one cannot be opened. */
#include "inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"
#include "message.h"

/* A name can be 4096 bytes long. */
enum { TEXT_BYTES = 4096 + 512 };

static bool is_standard_input(const char *path) {
    return strcmp(path, "-") == 0;
}

const char *inputs_name(const char *path) {
    return is_standard_input(path) ? "standard input" : path;
}

void inputs_explain(const char *path, int error, char *text, size_t size) {
    const char *advice = "check the device";
    if (error == ENOENT || error == ENOTDIR) advice = "check the name";
    if (error == EISDIR) advice = "name the files in it";
    if (error == EACCES || error == EPERM) advice = "check the permissions";
    snprintf(text, size, "cannot read %s: %s; %s", inputs_name(path), strerror(error), advice);
}

int inputs_fail(const char *path) {
    char text[TEXT_BYTES];
    inputs_explain(path, errno, text, sizeof text);
    return message_fail(EXIT_ENVIRONMENT, "%s", text);
}

static int status_of(const char *path, struct stat *out) {
    return is_standard_input(path) ? fstat(STDIN_FILENO, out) : stat(path, out);
}

/* What is left to read of a regular file, and whether it is one. Standard input may have been
 * read in part by whoever started us. */
static int look_at(const char *path, bool *is_regular, uint64_t *bytes) {
    struct stat status;
    bool standard = is_standard_input(path);
    if (status_of(path, &status) != 0) return inputs_fail(path);
    if (S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return inputs_fail(path);
    }
    /* Opening a pipe to try it would take it from the one who writes to it; asking does not. */
    if (!standard && access(path, R_OK) != 0) return inputs_fail(path);
    *is_regular = S_ISREG(status.st_mode);
    off_t position = standard && *is_regular ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    *bytes = status.st_size > position ? (uint64_t)(status.st_size - position) : 0;
    return EXIT_DONE;
}

int inputs_look(char *const *paths, size_t count, struct inputs *out) {
    static char standard[] = "-";
    static char *const only_standard[] = {standard};
    *out = (struct inputs){.paths = paths, .count = count};
    if (count == 0) {
        out->paths = only_standard;
        out->count = 1;
    }
    for (size_t i = 0; i < out->count; i++) {
        bool is_regular = false;
        uint64_t bytes = 0;
        int code = look_at(out->paths[i], &is_regular, &bytes);
        if (code != EXIT_DONE) return code;
        if (!is_regular && out->stream == NULL) out->stream = out->paths[i];
        out->bytes += bytes;
    }
    out->all_regular = out->stream == NULL;
    if (!out->all_regular) out->bytes = 0;
    return EXIT_DONE;
}

bool inputs_include(const struct inputs *inputs, const char *path) {
    struct stat wanted, status;
    if (stat(path, &wanted) != 0) return false;
    for (size_t i = 0; i < inputs->count; i++) {
        if (status_of(inputs->paths[i], &status) == 0 && status.st_dev == wanted.st_dev &&
            status.st_ino == wanted.st_ino) {
            return true;
        }
    }
    return false;
}

int inputs_open(const char *path, int *out_descriptor) {
    int descriptor = STDIN_FILENO;
    if (!is_standard_input(path)) {
        do {
            descriptor = open(path, O_RDONLY | O_CLOEXEC);
        } while (descriptor < 0 && errno == EINTR && !interrupt_requested());
        *out_descriptor = descriptor;
        if (descriptor < 0) return interrupt_requested() ? EXIT_DONE : inputs_fail(path);
    }
    (void)posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL); /* only advice: pipes refuse it */
    *out_descriptor = descriptor;
    return EXIT_DONE;
}

void inputs_close(int descriptor) {
    if (descriptor > STDIN_FILENO) close(descriptor);
}

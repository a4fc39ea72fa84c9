/* inputs.c - looks at input files, and explains why one cannot be read.
 *
 * WHY     A file is only opened here to see its first bytes, and only if it is regular: opening a
 *         pipe would let its writer start. Whoever reads it opens it again, and may find another
 *         file; so what is learned here is good for plans and for early messages, not more. */
#include "input/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/input.h"
#include "input/unpack.h"
#include "say/message.h"

bool inputs_is_standard(const char *path) {
    return strcmp(path, "-") == 0;
}

bool inputs_is_file(const char *path) {
    struct stat status;
    return !inputs_is_standard(path) && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

const char *inputs_name(const char *path) {
    return inputs_is_standard(path) ? "standard input" : path;
}

void inputs_explain(const char *path, int error, char *text, size_t size) {
    const char *advice = "check the device";
    if (error == ENOENT || error == ENOTDIR) advice = "check the name";
    if (error == EISDIR) advice = "name the files in it";
    if (error == EMFILE || error == ENFILE) {
        advice = "raise the limit of open files (ulimit -n), or name fewer files";
    }
    if (error == EACCES || error == EPERM) advice = "check the permissions";
    snprintf(text, size, "cannot read %s: %s; %s", inputs_name(path), strerror(error), advice);
}

static int fail(const char *path, int error) {
    struct input_failure failure;
    inputs_explain(path, error, failure.text, sizeof failure.text);
    return message_fail(EXIT_ENVIRONMENT, "%s", failure.text);
}

static int status_of(const char *path, struct stat *out) {
    return inputs_is_standard(path) ? fstat(STDIN_FILENO, out) : stat(path, out);
}

/* Whether a regular file is compressed, by its first bytes. */
static bool is_packed(const char *path, off_t position) {
    char first[PACKING_MAGIC_BYTES];
    bool is_standard = inputs_is_standard(path), is_open;
    int descriptor = is_standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return false; /* whoever reads it says why */
    ssize_t size = pread(descriptor, first, sizeof first, position);
    if (!is_standard) close(descriptor);
    return size > 0 && packing_recognise(first, (size_t)size, true, &is_open) != NULL;
}

/* Adds one to the others. Standard input may have been read in part by whoever started us. */
static int look_at(const char *path, struct inputs *inputs) {
    struct stat status;
    bool is_standard = inputs_is_standard(path);
    if (status_of(path, &status) != 0) return fail(path, errno);
    if (S_ISDIR(status.st_mode)) return fail(path, EISDIR);
    /* Opening a pipe would let its writer start; asking for access does not. */
    if (!is_standard && access(path, R_OK) != 0) return fail(path, errno);
    if (!S_ISREG(status.st_mode)) {
        if (inputs->stream == NULL) inputs->stream = path;
        return EXIT_DONE;
    }
    off_t position = is_standard ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    if (is_standard && position > 0) inputs->standard_at = (uint64_t)position;
    if (status.st_size > position) inputs->bytes += (uint64_t)(status.st_size - position);
    inputs->has_packed = inputs->has_packed || is_packed(path, position);
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
        int code = look_at(out->paths[i], out);
        if (code != EXIT_DONE) return code;
    }
    out->all_regular = out->stream == NULL;
    if (!out->all_regular) out->bytes = 0;
    return EXIT_DONE;
}

int inputs_look_followed(char *const *paths, size_t count, struct inputs *out) {
    *out = (struct inputs){.paths = paths, .count = count};
    if (count == 0) {
        return message_fail(EXIT_USAGE,
                            "--follow needs files; standard input is read until it ends "
                            "in any case, so leave --follow out");
    }
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        bool is_standard = inputs_is_standard(paths[i]);
        if (!is_standard && stat(paths[i], &status) != 0) {
            if (errno == ENOENT || errno == ENOTDIR) continue;
            return fail(paths[i], errno);
        }
        if (is_standard || !S_ISREG(status.st_mode)) {
            return message_fail(EXIT_USAGE,
                                "%s is not a regular file, and cannot be followed; a pipe is read "
                                "until it ends in any case, so leave --follow out",
                                inputs_name(paths[i]));
        }
        if (access(paths[i], R_OK) != 0) return fail(paths[i], errno);
    }
    return EXIT_DONE;
}

bool inputs_include(const struct inputs *inputs, const char *path) {
    struct stat wanted, status;
    bool is_there = stat(path, &wanted) == 0;
    for (size_t i = 0; i < inputs->count; i++) {
        if (!is_there && strcmp(inputs->paths[i], path) == 0) return true;
        if (is_there && status_of(inputs->paths[i], &status) == 0 &&
            status.st_dev == wanted.st_dev && status.st_ino == wanted.st_ino) {
            return true;
        }
    }
    return false;
}

int inputs_check_output(const struct inputs *inputs, const char *out) {
    if (!inputs_include(inputs, out)) return EXIT_DONE;
    return message_fail(EXIT_USAGE, "--out %s is one of the files to read; choose another name",
                        out);
}

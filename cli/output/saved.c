/* saved.c - looks at places that structures are saved to. */
#include "output/saved.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say/message.h"

/* The folder that path is in: all before its last slash. The caller frees it. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int saved_check(const char *what, const char *path) {
    if (strcmp(path, "-") == 0) {
        return message_fail(EXIT_USAGE, "--out - is not a file; name a file for the %s", what);
    }
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        char attempt[32];
        snprintf(attempt, sizeof attempt, "write the %s", what);
        errno = S_ISDIR(status.st_mode) ? EISDIR : 0;
        return message_fail_file(LETHE_EINVAL, attempt, path);
    }
    char *folder = folder_of(path);
    bool writable = folder != NULL && access(folder, W_OK | X_OK) == 0;
    int code = EXIT_DONE;
    if (!writable) {
        code = message_fail(EXIT_ENVIRONMENT,
                            "cannot write the %s %s: folder %s: %s; choose another place", what,
                            path, folder != NULL ? folder : "?", strerror(errno));
    }
    free(folder);
    return code;
}

static uint64_t folder_bytes(const char *path) {
    DIR *files = opendir(path);
    uint64_t sum = 0;
    const struct dirent *file;
    while (files != NULL && (file = readdir(files)) != NULL) {
        struct stat status;
        if (fstatat(dirfd(files), file->d_name, &status, 0) == 0 && S_ISREG(status.st_mode))
            sum += (uint64_t)status.st_size;
    }
    if (files != NULL) closedir(files);
    return sum;
}

uint64_t saved_bytes(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) return 0;
    return S_ISDIR(status.st_mode) ? folder_bytes(path) : (uint64_t)status.st_size;
}

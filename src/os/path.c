/* os/path.c - paths as text, and what they are called without links. */
#include "os/path.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/file.h"

bool lethe_os_path(char out[LETHE_OS_PATH_BYTES], const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it has just been started. */
    int size = vsnprintf(out, LETHE_OS_PATH_BYTES, format, arguments);
    va_end(arguments);
    bool fits = size > 0 && size < LETHE_OS_PATH_BYTES;
    if (!fits) errno = ENAMETOOLONG;
    return fits;
}

bool lethe_os_path_from_root(char out[LETHE_OS_PATH_BYTES], const char *path) {
    char here[LETHE_OS_PATH_BYTES];
    if (path[0] == '/' || getcwd(here, sizeof here) == NULL) return lethe_os_path(out, "%s", path);
    return lethe_os_path(out, "%s/%s", here, path);
}

bool lethe_os_path_parent(char out[LETHE_OS_PATH_BYTES], const char *path) {
    size_t size = strlen(path);
    if (size >= LETHE_OS_PATH_BYTES) {
        errno = ENAMETOOLONG;
        return false;
    }
    memmove(out, path, size + 1);
    while (size > 1 && out[size - 1] == '/')
        out[--size] = '\0';
    char *slash = strrchr(out, '/');
    if (slash == NULL) {
        memcpy(out, ".", sizeof ".");
    } else {
        slash[slash == out ? 1 : 0] = '\0';
    }
    return true;
}

lethe_status lethe_os_real_path(const char *path, char **out) {
    *out = realpath(path, NULL);
    return *out != NULL ? LETHE_OK : lethe_os_status_from_errno();
}

/* Of path, or of what exists of it. */
static lethe_status real_beginning(const char *path, char **out) {
    char beginning[LETHE_OS_PATH_BYTES];
    *out = NULL;
    if (!lethe_os_path(beginning, "%s", path)) return LETHE_EIO;
    lethe_status status = lethe_os_real_path(beginning, out);
    while (status == LETHE_ENOTFOUND && strcmp(beginning, ".") != 0) {
        if (!lethe_os_path_parent(beginning, beginning)) return LETHE_EIO;
        status = lethe_os_real_path(beginning, out);
    }
    return status;
}

lethe_status lethe_os_is_within(const char *path, const char *folder, bool *out) {
    char *inner, *outer = NULL;
    *out = false;
    lethe_status status = real_beginning(path, &inner);
    if (status == LETHE_OK) status = lethe_os_real_path(folder, &outer);
    if (status == LETHE_OK) {
        size_t size = strlen(outer);
        *out = strncmp(inner, outer, size) == 0 &&
               (inner[size] == '\0' || inner[size] == '/' || outer[size - 1] == '/');
    }
    free(inner);
    free(outer);
    return status;
}

/* program.c - see program.h. */
#include "frame/program.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "say/message.h"

#ifndef LETHE_LIBEXECDIR
#define LETHE_LIBEXECDIR "/usr/local/libexec/lethe"
#endif

enum { FOLDER_BYTES = 8192 };

/* The folder of the running program, or "" if it is not known. */
static void find_own_folder(char folder[FOLDER_BYTES]) {
    ssize_t length = readlink("/proc/self/exe", folder, FOLDER_BYTES - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash != NULL) *slash = '\0';
}

bool program_place(const char *name, size_t index, char path[PROGRAM_PATH_BYTES]) {
    char own[FOLDER_BYTES];
    find_own_folder(own);
    const struct place {
        const char *folder, *rest;
    } places[] = {{own, ""}, {own, "/../libexec/lethe"}, {LETHE_LIBEXECDIR, ""}};
    if (index >= sizeof places / sizeof places[0]) return false;
    snprintf(path, PROGRAM_PATH_BYTES, "%s%s/%s", places[index].folder, places[index].rest, name);
    return true;
}

int program_fail_missing(const char *name) {
    return message_fail(EXIT_ENVIRONMENT,
                        "%s is not installed: it is neither next to this program nor "
                        "in " LETHE_LIBEXECDIR "; build or install it",
                        name);
}

int program_become(const char *name, char *const *words, size_t count) {
    char path[PROGRAM_PATH_BYTES], **all = calloc(count + 2, sizeof *all);
    if (all == NULL) return message_fail(EXIT_ENVIRONMENT, "no memory is left");
    int error = ENOENT;
    all[0] = (char *)(uintptr_t)name; /* execv only reads it */
    if (count > 0) memcpy(all + 1, words, count * sizeof *all);
    for (size_t i = 0; (error == ENOENT || error == ENOTDIR) && program_place(name, i, path); i++) {
        execv(path, all);
        error = errno;
    }
    free(all);
    if (error == ENOENT || error == ENOTDIR) return program_fail_missing(name);
    return message_fail(EXIT_ENVIRONMENT, "cannot run %s: %s; install it again", path,
                        strerror(error));
}

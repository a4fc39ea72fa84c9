/* program.c - see program.h. */
#include "frame/program.h"

#include <stdio.h>
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

bool program_place(size_t index, char path[PROGRAM_PATH_BYTES]) {
    char own[FOLDER_BYTES];
    find_own_folder(own);
    const struct place {
        const char *folder, *rest;
    } places[] = {{own, "/" PROGRAM_BENCH},
                  {own, "/../libexec/lethe/" PROGRAM_BENCH},
                  {LETHE_LIBEXECDIR, "/" PROGRAM_BENCH}};
    if (index >= sizeof places / sizeof places[0]) return false;
    snprintf(path, PROGRAM_PATH_BYTES, "%s%s", places[index].folder, places[index].rest);
    return true;
}

int program_fail_missing(void) {
    return message_fail(
        EXIT_ENVIRONMENT, PROGRAM_BENCH
        " is not installed: it is neither next to this program nor in " LETHE_LIBEXECDIR
        "; build or install it");
}

/* temporary.c - temporary folders; see temporary.h.
 *
 * LIMIT   A process that is killed leaves its folder, as `sort` does. */
#include "output/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "say/message.h"

int temporary_make(const char *what, char path[TEMPORARY_BYTES]) {
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || parent[0] == '\0') parent = "/tmp";
    int size = snprintf(path, TEMPORARY_BYTES, "%s/lethe-%s-XXXXXX", parent, what);
    errno = ENAMETOOLONG;
    if (size < TEMPORARY_BYTES && mkdtemp(path) != NULL) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT,
                        "cannot make a folder in %s: %s; name another with TMPDIR", parent,
                        strerror(errno));
}

void temporary_remove(const char *path) {
    DIR *files = opendir(path);
    if (files == NULL) return;
    const struct dirent *file;
    while ((file = readdir(files)) != NULL) {
        if (strcmp(file->d_name, ".") == 0 || strcmp(file->d_name, "..") == 0) continue;
        (void)unlinkat(dirfd(files), file->d_name, 0);
    }
    closedir(files);
    (void)rmdir(path);
}

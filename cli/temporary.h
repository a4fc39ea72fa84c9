/* temporary.h - folders for a while, where `sort` has its own: in TMPDIR, or /tmp. */
#ifndef LETHE_CLI_TEMPORARY_H
#define LETHE_CLI_TEMPORARY_H

enum { TEMPORARY_BYTES = 2048 };

/* Makes an empty folder, with what it is for in its name. Returns EXIT_DONE, or EXIT_ENVIRONMENT after saying why. */
int temporary_make(const char *what, char path[TEMPORARY_BYTES]);

/* Removes a folder with its files; it must have no folders in it. What can't be removed is left. */
void temporary_remove(const char *path);

#endif

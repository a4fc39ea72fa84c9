/* temporary.h - temporary folders, in TMPDIR or /tmp as those of `sort`. */
#ifndef LETHE_CLI_OUTPUT_TEMPORARY_H
#define LETHE_CLI_OUTPUT_TEMPORARY_H

enum { TEMPORARY_BYTES = 2048 };

/* Makes an empty folder, whose name has `what` in it. Returns EXIT_DONE, or EXIT_ENVIRONMENT
 * after saying why. */
int temporary_make(const char *what, char path[TEMPORARY_BYTES]);

/* Removes a folder with its files; it must have no folders in it. What cannot be removed stays. */
void temporary_remove(const char *path);

#endif

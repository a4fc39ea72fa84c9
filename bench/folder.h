/* bench/folder.h - folders that a workload works in. */
#ifndef LETHE_BENCH_FOLDER_H
#define LETHE_BENCH_FOLDER_H

#include <stddef.h>
#include <stdint.h>

/* Makes an empty folder under LETHE_BENCH_FOLDER, TMPDIR or /tmp, and stores its path. Ends the
 * program if it cannot. */
void bench_folder_make(char *path, size_t size);
/* The size of all files in a folder. */
uint64_t bench_folder_bytes(const char *path);
/* Removes a folder with everything in it. */
void bench_folder_remove(const char *path);

#endif

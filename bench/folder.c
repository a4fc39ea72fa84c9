/* bench/folder.c - see folder.h. */
#include "folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "frame.h"

enum { OPEN_FOLDERS = 16 };

void bench_folder_make(char *path, size_t size) {
    const char *parent = getenv("LETHE_BENCH_FOLDER");
    if (parent == NULL || parent[0] == '\0') parent = getenv("TMPDIR");
    if (parent == NULL || parent[0] == '\0') parent = "/tmp";
    int length = snprintf(path, size, "%s/lethe-bench-XXXXXX", parent);
    bench_require(length > 0 && (size_t)length < size && mkdtemp(path) != NULL, "making a folder");
}

static uint64_t bytes_found; /* nftw takes no context */

static int add_file(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)path, (void)place;
    if (kind == FTW_F) bytes_found += (uint64_t)status->st_size;
    return 0;
}

uint64_t bench_folder_bytes(const char *path) {
    bytes_found = 0;
    bench_require(nftw(path, add_file, OPEN_FOLDERS, FTW_PHYS) == 0, "looking at a folder");
    return bytes_found;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status, (void)kind, (void)place;
    return remove(path);
}

void bench_folder_remove(const char *path) {
    (void)nftw(path, remove_entry, OPEN_FOLDERS, FTW_PHYS | FTW_DEPTH);
}

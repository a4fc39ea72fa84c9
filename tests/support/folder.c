/* tests/support/folder.c */
#include "support/folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void test_folder_make(struct test_folder *folder) {
    const char *parent = getenv("TMPDIR");
    (void)snprintf(folder->path, sizeof folder->path, "%s/lethe-test-XXXXXX",
                   parent != NULL && parent[0] != '\0' ? parent : "/tmp");
    if (mkdtemp(folder->path) == NULL) {
        perror(folder->path);
        abort();
    }
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *at) {
    (void)status, (void)type, (void)at;
    return remove(path);
}

void test_folder_remove_tree(const char *path) {
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void test_folder_remove(const struct test_folder *folder) {
    test_folder_remove_tree(folder->path);
}

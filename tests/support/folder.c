/* tests/support/folder.c */
#include "support/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
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

static void copy_file(int from_folder, int to_folder, const char *name) {
    char piece[65536];
    ssize_t got = 0;
    int from = openat(from_folder, name, O_RDONLY);
    int to = openat(to_folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    while (from >= 0 && to >= 0 && (got = read(from, piece, sizeof piece)) > 0)
        if (write(to, piece, (size_t)got) != got) abort();
    if (from < 0 || to < 0 || got < 0) abort();
    close(from);
    close(to);
}

void test_folder_copy(const char *from, const char *to) {
    (void)mkdir(to, 0777);
    DIR *source = opendir(from), *target = opendir(to);
    if (source == NULL || target == NULL) abort();
    for (const struct dirent *entry; (entry = readdir(source)) != NULL;) {
        struct stat status;
        if (fstatat(dirfd(source), entry->d_name, &status, 0) != 0) abort();
        if (S_ISREG(status.st_mode)) copy_file(dirfd(source), dirfd(target), entry->d_name);
    }
    closedir(source);
    closedir(target);
}

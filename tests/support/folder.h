/* tests/support/folder.h - a folder of its own for a test, gone afterwards. */
#ifndef LETHE_TESTS_SUPPORT_FOLDER_H
#define LETHE_TESTS_SUPPORT_FOLDER_H

struct test_folder {
    char path[256];
};

/* Makes an empty folder under TMPDIR. */
void test_folder_make(struct test_folder *folder);
/* Removes it with all that is in it. */
void test_folder_remove(const struct test_folder *folder);
/* Empties a folder of any name, and removes it. */
void test_folder_remove_tree(const char *path);
/* Copies the files of a folder, without the folders in it, into one that is made if need be. */
void test_folder_copy(const char *from, const char *to);

#endif

/* tests/support/structures.h - a sample of every structure, and forged files, for the tests that
 * run over every row of structures/structure.h. */
#ifndef LETHE_TESTS_SUPPORT_STRUCTURES_H
#define LETHE_TESTS_SUPPORT_STRUCTURES_H

#include "structures/structure.h"
#include "support/folder.h"

enum { SAMPLE_KEYS = 60 };

/* The times of a sample: its keys were added from FIRST on, and all are remembered at NOW. */
#define SAMPLE_FIRST_MS UINT64_C(1000000)
#define SAMPLE_NOW_MS UINT64_C(1004000)

/* A small structure with SAMPLE_KEYS keys, where it can have keys. A structure that lives in a
 * folder gets a new one under this folder, which may be NULL for the others. Allocations that fail
 * are reported, and *out is then NULL. */
lethe_status sample_try(const struct structure *row, const struct test_folder *folder,
                        const lethe_allocator *allocator, void **out);
/* The same; fails the test on an error. */
void *sample_make(const struct structure *row, const struct test_folder *folder);
/* Key number n, with the seed of the object. */
lethe_hash sample_hash(const struct structure *row, const void *object, uint64_t n);

/* The bytes that an object is saved as; the caller frees the writer. */
void sample_save(const struct structure *row, const void *object, lethe_memory_writer *writer);
lethe_status sample_load(const struct structure *row, const void *data, size_t size,
                         const lethe_allocator *allocator, void **out);

/* Puts a payload into a frame that is right. */
void forge_frame(const char *type, uint16_t version, const void *payload, size_t size,
                 lethe_memory_writer *writer);
/* Loads a frame, which it frees, with an allocator that counts. Fails the test if the result is not
 * NULL on an error, or anything leaks. If it loads and `use` is not NULL, that is called with the
 * object. */
lethe_status forge_load_frame(const struct structure *row, lethe_memory_writer *frame,
                              size_t *peak_bytes, void (*use)(void *object));
/* The same for a payload, under a frame that is right. */
lethe_status forge_load(const struct structure *row, uint16_t version, const void *payload,
                        size_t size, size_t *peak_bytes, void (*use)(void *object));

/* A saved structure: a sample of a row that can be saved, or a golden file. */
struct specimen {
    const struct structure *row;
    /* The row's name, or the file's. */
    char name[256];
    uint16_t version;
    unsigned char *data;
    size_t size;
};

struct specimens {
    struct specimen *all;
    size_t count;
};

/* A sample of every row, and every golden file that a row loads. */
struct specimens specimens_gather(void);
void specimens_free(struct specimens *specimens);

/* The loop of all tests over the table. */
#define EACH_STRUCTURE(row)                                                                     \
    for (const struct structure *const *row##_at = structures, *row; (row = *row##_at) != NULL; \
         row##_at++)

#endif

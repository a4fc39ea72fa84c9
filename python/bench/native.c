/* python/bench/native.c - the C library's own speed, on the arrays that Python has.
 *
 * IDEA    bench.py loads this library and hands it the same keys as it hands the package: what a C
 *         program would write, in a loop over pieces of 4096 keys. Both are measured in one
 *         process, by the CPU time of the thread. */
#include <string.h>
#include <time.h>

#include "lethe/window.h"
#include "structures/structure.h"

enum { PIECE = 4096 };

/* Where the keys are: integers of 8 bytes, fixed bytes of `width` each, or, with offsets, pieces of
 * data. */
struct native_keys {
    const char *data;
    const int64_t *offsets;
    size_t width;
    size_t count;
};

LETHE_API void *native_make(const char *name, uint64_t capacity, double error);
LETHE_API void native_free(const char *name, void *object);
LETHE_API double native_run(const char *name, const char *operation, void *object,
                            const struct native_keys *keys, void *results);

static const struct structure *find(const char *name) {
    for (const struct structure *const *row = structures; *row != NULL; row++)
        if (strcmp((*row)->name, name) == 0) return *row;
    return NULL;
}

void *native_make(const char *name, uint64_t capacity, double error) {
    void *made = NULL;
    struct structure_plan plan = {.capacity = capacity, .error = error};
    return structure_make(find(name), &plan, &made) == LETHE_OK ? made : NULL;
}

void native_free(const char *name, void *object) {
    find(name)->free(object);
}

static void hash(const struct native_keys *keys, uint64_t seed, size_t first, size_t count,
                 lethe_hash *out) {
    lethe_bytes pieces[PIECE];
    if (keys->offsets == NULL && keys->width == 8) {
        lethe_hash_u64_batch(seed, (const uint64_t *)(const void *)keys->data + first, count, out);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = first + i;
        pieces[i] = keys->offsets == NULL
                        ? (lethe_bytes){keys->data + at * keys->width, keys->width}
                        : (lethe_bytes){keys->data + keys->offsets[at],
                                        (size_t)(keys->offsets[at + 1] - keys->offsets[at])};
    }
    lethe_hash_batch(seed, pieces, count, out);
}

static lethe_status run_piece(const struct structure *row, const char *operation, void *object,
                              const lethe_hash *hashes, size_t count, char *results, size_t first) {
    if (strcmp(operation, "add") == 0) return row->add(object, hashes, count, 1000);
    if (strcmp(operation, "test") == 0)
        return row->test(object, hashes, count, 1000, (uint8_t *)results + first);
    if (strcmp(operation, "count") == 0)
        return row->count(object, hashes, count, 1000, (uint64_t *)(void *)results + first);
    return lethe_window_add_and_test_batch(object, hashes, count, 1000, (uint8_t *)results + first);
}

double native_run(const char *name, const char *operation, void *object,
                  const struct native_keys *keys, void *results) {
    const struct structure *row = find(name);
    lethe_hash hashes[PIECE];
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    uint64_t seed = row->seed(object);
    for (size_t first = 0; first < keys->count; first += PIECE) {
        size_t left = keys->count - first, count = left < PIECE ? left : PIECE;
        hash(keys, seed, first, count, hashes);
        if (run_piece(row, operation, object, hashes, count, results, first) != LETHE_OK) return -1;
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

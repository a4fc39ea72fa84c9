/* tests/support/store.h - stores in tests: opening, closing, one operation at a time, and what a
 * kill leaves.
 *
 * Every function fails the test that calls it when the store reports an error, except the two
 * whose names contain `try`. */
#ifndef LETHE_TESTS_SUPPORT_STORE_H
#define LETHE_TESTS_SUPPORT_STORE_H

#include "lethe/store.h"
#include "support/folder.h"

/* The bytes of a string, without its zero. */
lethe_bytes test_text(const char *string);

/* Opens a store. */
lethe_status test_store_try_open(const char *path, lethe_store_options options, lethe_store **out,
                                 lethe_detail *detail);
/* Opens a store that has nothing to report, or one whose report goes to *detail. */
lethe_store *test_store_open(const char *path, lethe_store_options options);
lethe_store *test_store_open_noting(const char *path, lethe_store_options options,
                                    lethe_detail *detail);
lethe_store *test_store_open_reader(const char *path);
void test_store_close(lethe_store *store);

/* Applies one operation of one change, and waits until it is durable. */
lethe_status test_store_try_apply(lethe_store *store, const char *id, const char *key,
                                  int64_t delta, uint64_t time_ms, uint8_t *outcome);
lethe_outcome test_store_apply(lethe_store *store, const char *id, const char *key, int64_t delta,
                               uint64_t time_ms);
/* The same, of 1 to the counter "k". */
lethe_outcome test_store_add(lethe_store *store, const char *id, uint64_t time_ms);

/* An operation of one change. */
struct test_event {
    const char *id, *key;
    int64_t delta;
    uint64_t time_ms;
};

/* Submits up to 4096 events in one call, without waiting until they are durable. */
void test_store_submit(lethe_store *store, const struct test_event *events, size_t count,
                       uint8_t *outcomes);
lethe_outcome test_store_submit_one(lethe_store *store, const char *id, const char *key,
                                    int64_t delta, uint64_t time_ms);

/* Submits operations: an odd number of them prepared, so that half of a model's calls take the
 * shorter way to the same answers. */
void test_store_submit_either(lethe_store *store, const lethe_operation *operations, size_t count,
                              uint8_t *outcomes, uint64_t *ticket);

/* A counter's value, 0 when it does not exist. */
int64_t test_store_value(lethe_store *store, const char *key);
lethe_store_stats test_store_stats(lethe_store *store);

/* Fails unless lethe_store_explain says these words. */
void test_store_explains(lethe_store *store, const char *words);

/* Makes the folder `to` as a kill at this moment would leave `from`: a copy of all files. */
void test_store_kill(const struct test_folder *from, struct test_folder *to);

#endif

/* Goal: inserting, looking up, merging in two threads, checkpoints and walks at once give the same
 *       answers as one after the other: what was inserted before a lookup began is found by it.
 * Method: threads that run against each other for a fixed amount of work; meant for the thread
 *         sanitizer. */
#include "support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "lethe/cascade.h"
#include "support/folder.h"
#include "support/reports.h"

enum { BATCH = 2000, KEYS = 240000 };

static lethe_cascade *cascade;
static atomic_uint_fast64_t inserted;
static atomic_bool ends;

static void hash_keys(uint64_t first, size_t count, lethe_hash *out) {
    for (size_t i = 0; i < count; i++)
        out[i] = lethe_hash_u64(LETHE_DEFAULT_SEED, first + i);
}

static void require(bool condition) {
    if (!condition) abort();
}

static void *insert(void *context) {
    (void)context;
    lethe_hash hashes[BATCH];
    uint8_t present[BATCH];
    for (uint64_t first = 0; first < KEYS; first += BATCH) {
        hash_keys(first, BATCH, hashes);
        require(lethe_cascade_add_and_test_batch(cascade, hashes, BATCH, 0, present, NULL) ==
                LETHE_OK);
        for (int i = 0; i < BATCH; i++)
            require(present[i] == 0);
        atomic_store(&inserted, first + BATCH);
    }
    atomic_store(&ends, true);
    return NULL;
}

static void *work(void *context) {
    (void)context;
    bool more = true;
    while (!atomic_load(&ends) || more) {
        require(lethe_cascade_work(cascade, 0, 10000, &more) == LETHE_OK);
        if (!more) usleep(100);
    }
    return NULL;
}

static void *look_up(void *context) {
    uint64_t state = (uintptr_t)context;
    lethe_hash hashes[BATCH];
    uint8_t present[BATCH];
    while (!atomic_load(&ends)) {
        uint64_t end = atomic_load(&inserted);
        if (end < BATCH) continue;
        state = state * UINT64_C(6364136223846793005) + 1;
        uint64_t first = (state >> 33) % (end - BATCH + 1);
        hash_keys(first, BATCH, hashes);
        require(lethe_cascade_test_batch(cascade, hashes, BATCH, 0, present) == LETHE_OK);
        for (int i = 0; i < BATCH; i++)
            require(present[i] == 1);
        (void)cascade_stats(cascade, 0);
    }
    return NULL;
}

static bool count_one(void *context, uint64_t fingerprint, uint64_t count) {
    (void)fingerprint;
    *(uint64_t *)context += count;
    return true;
}

static void *checkpoint(void *context) {
    (void)context;
    for (uint64_t i = 1; !atomic_load(&ends); i++) {
        uint64_t least = atomic_load(&inserted), sum = 0;
        require(lethe_cascade_checkpoint(cascade, i, &i, sizeof i) == LETHE_OK);
        require(lethe_cascade_sync(cascade) == LETHE_OK);
        require(lethe_cascade_each(cascade, 0, count_one, &sum) == LETHE_OK);
        require(sum >= least);
    }
    return NULL;
}

static void all_at_once(lethe_cascade_durability durability) {
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_cascade_options options = LETHE_OPTIONS(
        lethe_cascade_options, .capacity = 1000000, .error = 1e-10, .memory_bytes = 1 << 20,
        .level_filter_bytes = 200000, .durability = durability);
    assert_ok(lethe_cascade_open(folder.path, &options, &cascade, NULL));
    atomic_store(&inserted, 0);
    atomic_store(&ends, false);
    pthread_t threads[6];
    void *(*const mains[6])(void *) = {insert, work, work, look_up, look_up, checkpoint};
    for (uintptr_t i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, mains[i], (void *)(i + 1)), 0);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    uint64_t sum = 0;
    assert_ok(lethe_cascade_each(cascade, 0, count_one, &sum));
    assert_int_equal(sum, KEYS);
    assert_ok(lethe_cascade_checkpoint(cascade, 1, NULL, 0));
    assert_ok(lethe_cascade_close(cascade, NULL));
    assert_ok(lethe_cascade_open(folder.path, &options, &cascade, NULL));
    sum = 0;
    assert_ok(lethe_cascade_each(cascade, 0, count_one, &sum));
    assert_int_equal(sum, KEYS);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

static void threads_share_a_logged_cascade(void **state) {
    (void)state;
    all_at_once(LETHE_CASCADE_LOGGED);
}

static void threads_share_a_checkpointed_cascade(void **state) {
    (void)state;
    all_at_once(LETHE_CASCADE_CHECKPOINTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_a_logged_cascade),
        cmocka_unit_test(threads_share_a_checkpointed_cascade),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

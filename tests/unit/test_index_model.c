/* Goal:   an index finds what was added, with the entry that was added last, until it is too old,
 *         and nothing else; whatever its sizes are, in memory and in files; a file that is damaged
 *         or can't be read is an error, and so is memory that is not there.
 * Method: random ids, some of which differ in their last bits only, against an array; small tails,
 *         so that hundreds of merges happen, in a thread of the index and without one; every
 *         allocation fails once; reads that lie. */
#include "support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/tunables.h"
#include "engine/ids/index.h"
#include "engine/ids/index_internal.h"
#include "support/folder.h"
#include "support/heap.h"
#include "support/random.h"

enum { WINDOW_MS = 8000, KEPT_MS = 8125, MOST = 6000 };

struct model_entry {
    lethe_log_id id;
    lethe_index_entry entry;
    bool is_added;
};

static struct model_entry model[MOST];
static struct test_folder folder;

/* Reads are true, wrong in one bit, or fail; unless those of the test's own thread are spared. */
static enum { TRUE_READS, WRONG_READS, NO_READS } reads;
static bool spares_own;
static pthread_t own;
lethe_status __real_lethe_os_block_read(const lethe_os_block_file *file, uint64_t offset,
                                        void *data, size_t size);
lethe_status __wrap_lethe_os_block_read(const lethe_os_block_file *file, uint64_t offset,
                                        void *data, size_t size);
lethe_status __wrap_lethe_os_block_read(const lethe_os_block_file *file, uint64_t offset,
                                        void *data, size_t size) {
    bool spared = spares_own && pthread_equal(own, pthread_self());
    if (reads == NO_READS && !spared) return LETHE_EIO;
    lethe_status status = __real_lethe_os_block_read(file, offset, data, size);
    if (reads == WRONG_READS && !spared && size > 0) ((unsigned char *)data)[size / 2] ^= 4;
    return status;
}

/* Neighbours share all of their bits but the last two bytes', or all but those of the middle. */
static lethe_log_id id_of(uint64_t seed, unsigned number) {
    lethe_hash hash = lethe_hash_u64(seed, number / 4);
    lethe_log_id id = {.low = hash.low, .high = (uint16_t)hash.high};
    if (number % 4 == 1) id.high ^= 0x100;
    if (number % 4 == 2) id.high ^= 1;
    if (number % 4 == 3) id.low ^= UINT64_C(1) << 40;
    return id;
}

static lethe_index *make(const lethe_allocator *allocator) {
    lethe_index *index;
    lethe_index_options options = {.window_ms = WINDOW_MS,
                                   .kept_ms = KEPT_MS,
                                   .folder = folder.path,
                                   .allocator = allocator,
                                   .is_alone = allocator != NULL};
    assert_ok(lethe_index_new(&options, &index));
    return index;
}

static void expect(lethe_index *index, uint64_t seed, unsigned number, uint64_t clock_ms) {
    const struct model_entry *expected = &model[number];
    lethe_index_entry entry;
    bool found;
    assert_ok(lethe_index_find(index, id_of(seed, number), &entry, &found));
    bool is_old = expected->is_added && expected->entry.clock_ms + KEPT_MS < clock_ms;
    if (expected->is_added && !found && !is_old)
        fail_msg("seed %llu: id %u is not found", (unsigned long long)seed, number);
    if (!found) return;
    assert_true(expected->is_added);
    assert_int_equal(entry.clock_ms, expected->entry.clock_ms);
    assert_int_equal(entry.digest, expected->entry.digest);
}

/* The most runs that an index may have, of thousands of tails: those that wait for the next merge,
 * and a few of each level, for each stretch of time that is merged with no other. */
enum { MOST_RUNS = 160 };

static void try_seed(uint64_t seed) {
    struct test_random random = {.state = seed};
    memset(model, 0, sizeof model);
    lethe_tune.index_tail_ids = 1 + test_random_below(&random, seed % 3 == 0 ? 300 : 20);
    lethe_tune.index_memory_bytes = seed % 2 == 0 ? 0 : 1 << 14;
    lethe_tune.index_ahead_bytes = 1 + test_random_below(&random, 400);
    /* Slow: an id in a few steps of time; fast: thousands within an eighth of W. */
    uint64_t slowness = seed % 4 < 2 ? 8 : 1 + test_random_below(&random, 400);
    unsigned ids = 4 + (unsigned)test_random_below(&random, MOST - 4);
    uint64_t clock_ms = UINT64_C(1600000000000);
    lethe_index *index = make(NULL);
    for (unsigned step = 0; step < 12000; step++) {
        if (test_random_below(&random, slowness + 1) == 0) clock_ms++;
        if (test_random_below(&random, 3000) == 0) clock_ms += WINDOW_MS;
        if (test_random_below(&random, 9000) == 0) clock_ms += UINT64_C(1) << 33;
        unsigned number = (unsigned)test_random_below(&random, ids);
        if (test_random_below(&random, 3) == 0) {
            expect(index, seed, number, clock_ms);
            continue;
        }
        lethe_index_entry entry = {.clock_ms = clock_ms,
                                   .digest = (uint32_t)test_random_next(&random)};
        assert_ok(lethe_index_add(index, id_of(seed, number), entry));
        model[number] = (struct model_entry){.entry = entry, .is_added = true};
        if (test_random_below(&random, 100) == 0) lethe_index_expire(index, clock_ms);
        assert_true(lethe_index_run_count(index) < MOST_RUNS || slowness < 8);
    }
    for (unsigned number = 0; number < ids; number++)
        expect(index, seed, number, clock_ms);
    lethe_index_expire(index, clock_ms + KEPT_MS + 1);
    assert_int_equal(lethe_index_run_count(index), 0);
    lethe_index_free(index);
}

static void an_index_is_a_map(void **state) {
    (void)state;
    for (lethe_tune.index_threads = 0; lethe_tune.index_threads < 2; lethe_tune.index_threads++) {
        for (uint64_t seed = 1; seed <= 24; seed++)
            try_seed(seed);
    }
}

/* Adds ids, all at one time, so that many merges happen. */
static lethe_status add_many(lethe_index *index, unsigned count) {
    lethe_status status = LETHE_OK;
    for (unsigned i = 0; i < count && status == LETHE_OK; i++)
        status = lethe_index_add(index, id_of(1, i), (lethe_index_entry){.clock_ms = 5000});
    return status;
}

static void runs_become_few(void **state) {
    (void)state;
    lethe_tune.index_tail_ids = 16;
    lethe_tune.index_memory_bytes = 1 << 20;
    for (lethe_tune.index_threads = 0; lethe_tune.index_threads < 2; lethe_tune.index_threads++) {
        lethe_index *index = make(NULL);
        assert_ok(add_many(index, MOST));
        /* Of 375 tails; a thread that is late has the user wait at four times as many. */
        size_t most = lethe_tune.index_threads == 0 ? 24 : 24 + 4 * 17;
        assert_true(lethe_index_run_count(index) <= most);
        assert_true(lethe_index_bytes(index) < (uint64_t)MOST * 40);
        assert_true(lethe_index_memory_bytes(index) <= lethe_index_bytes(index));
        lethe_index_free(index);
    }
}

static void files_are_not_believed(void **state) {
    (void)state;
    lethe_tune.index_tail_ids = 16;
    lethe_tune.index_memory_bytes = 0;
    lethe_tune.index_threads = 0;
    lethe_index *index = make(NULL);
    assert_ok(add_many(index, 2000));
    lethe_index_entry entry;
    bool found;
    const lethe_status expected[] = {LETHE_OK, LETHE_ECORRUPT, LETHE_EIO};
    for (unsigned i = 0; i < 3; i++) {
        reads = i;
        assert_int_equal(lethe_index_find(index, id_of(1, 0), &entry, &found), expected[i]);
    }
    for (unsigned i = 1; i < 3; i++) { /* merges read too */
        reads = i;
        lethe_index *other = make(NULL);
        assert_int_equal(add_many(other, 2000), expected[i]);
        lethe_index_free(other);
    }
    reads = TRUE_READS;
    lethe_index_free(index);
}

/* What goes wrong in the thread comes to light soon after. */
static void a_thread_tells_what_failed(void **state) {
    (void)state;
    lethe_tune.index_tail_ids = 16;
    lethe_tune.index_memory_bytes = 0;
    lethe_tune.index_threads = 1;
    spares_own = true;
    own = pthread_self();
    const lethe_status expected[] = {LETHE_OK, LETHE_ECORRUPT, LETHE_EIO};
    for (unsigned i = 1; i < 3; i++) {
        reads = i;
        lethe_index *index = make(NULL);
        lethe_status status = LETHE_OK;
        for (unsigned round = 0; round < 100 && status == LETHE_OK; round++)
            status = add_many(index, 2000);
        assert_int_equal(status, expected[i]);
        lethe_index_free(index);
        reads = TRUE_READS;
    }
    spares_own = false;
}

/* A merge for which there is no memory waits; all else is an error. */
static void memory_may_fail_at_any_time(void **state) {
    (void)state;
    enum { COUNT = 700 };
    lethe_tune.index_tail_ids = 32;
    for (unsigned form = 0; form < 2; form++) {
        lethe_tune.index_memory_bytes = form == 0 ? 0 : 1 << 20;
        bool failed = true;
        for (size_t n = 0; failed; n++) {
            struct test_heap heap;
            test_heap_init(&heap, n);
            lethe_index_options options = {.window_ms = WINDOW_MS,
                                           .kept_ms = KEPT_MS,
                                           .folder = folder.path,
                                           .allocator = &heap.allocator,
                                           .is_alone = true};
            lethe_index *index;
            lethe_status status = lethe_index_new(&options, &index);
            assert_true((index != NULL) == (status == LETHE_OK));
            if (status == LETHE_OK) status = add_many(index, COUNT);
            assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
            for (unsigned i = 0; i < COUNT && status == LETHE_OK; i++) {
                lethe_index_entry entry;
                bool found;
                status = lethe_index_find(index, id_of(1, i), &entry, &found);
                if (status == LETHE_OK) assert_true(found);
            }
            assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
            failed = heap.allocations > n;
            lethe_index_free(index);
            assert_int_equal(heap.live_bytes, 0);
        }
    }
}

/* What a process that was killed may have left is removed, and nothing is left. */
static void nothing_is_left_in_the_folder(void **state) {
    (void)state;
    char path[600];
    snprintf(path, sizeof path, "%s/index.tmp", folder.path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    lethe_tune.index_tail_ids = 16;
    lethe_tune.index_memory_bytes = 0;
    lethe_index *index = make(NULL);
    assert_null(fopen(path, "r"));
    assert_ok(add_many(index, 2000));
    assert_null(fopen(path, "r"));
    lethe_index_free(index);
}

static int set_up(void **state) {
    (void)state;
    test_folder_make(&folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_is_a_map),
        cmocka_unit_test(runs_become_few),
        cmocka_unit_test(files_are_not_believed),
        cmocka_unit_test(a_thread_tells_what_failed),
        cmocka_unit_test(memory_may_fail_at_any_time),
        cmocka_unit_test(nothing_is_left_in_the_folder),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

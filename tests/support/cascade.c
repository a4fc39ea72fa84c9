/* tests/support/cascade.c */
#include "support/cascade.h"

#include "support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/tunables.h"

enum { BATCH = 1000 };

const lethe_cascade_options test_cascade_options =
    LETHE_OPTIONS(lethe_cascade_options, .capacity = 1000000, .error = 1e-10,
                  .memory_bytes = 1 << 20, .growth = 2);

void test_cascade_tune(void) {
    lethe_tune.cascade_table_homes = 1024;
    lethe_tune.cascade_log_file_bytes = 16384;
    /* Failing syncs are a hook's doing: real ones would only cost time. */
    if (access("/dev/shm", W_OK | X_OK) == 0) (void)setenv("TMPDIR", "/dev/shm", 0);
}

lethe_hash test_cascade_key_of(unsigned range, uint64_t n) {
    lethe_hash hash = lethe_hash_u64(LETHE_DEFAULT_SEED, n);
    hash.high = (uint64_t)range << 62 | hash.high >> 2;
    return hash;
}

lethe_hash test_cascade_key(uint64_t n) {
    return test_cascade_key_of(n % 4, n);
}

void test_cascade_insert(lethe_cascade *cascade, uint64_t first, size_t count) {
    lethe_hash hashes[BATCH];
    while (count > 0) {
        size_t some = count < BATCH ? count : BATCH, done;
        for (size_t i = 0; i < some; i++)
            hashes[i] = test_cascade_key(first + i);
        assert_ok(lethe_cascade_add_batch(cascade, hashes, some, 0, &done));
        assert_int_equal(done, some);
        first += some;
        count -= some;
    }
}

void test_cascade_assert_has(lethe_cascade *cascade, uint64_t end) {
    lethe_hash hashes[BATCH];
    uint64_t counts[BATCH];
    for (uint64_t first = 0; first < end + BATCH; first += BATCH) {
        for (size_t i = 0; i < BATCH; i++)
            hashes[i] = test_cascade_key(first + i);
        assert_ok(lethe_cascade_count_batch(cascade, hashes, BATCH, 0, counts));
        for (size_t i = 0; i < BATCH; i++)
            assert_int_equal(counts[i], first + i < end);
    }
}

void test_cascade_work(lethe_cascade *cascade) {
    bool more = true;
    while (more)
        assert_ok(lethe_cascade_work(cascade, 0, 0, &more));
}

void test_cascade_copy(const char *from, const char *to) {
    char command[2048];
    int size = snprintf(command, sizeof command, "rm -rf '%s' && cp -r '%s' '%s'", to, from, to);
    assert_true(size > 0 && size < (int)sizeof command);
    assert_int_equal(system(command), 0);
}

void test_cascade_flip(const char *path, uint64_t offset) {
    int file = open(path, O_RDWR);
    unsigned char byte;
    assert_int_equal(pread(file, &byte, 1, (off_t)offset), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(file, &byte, 1, (off_t)offset), 1);
    close(file);
}

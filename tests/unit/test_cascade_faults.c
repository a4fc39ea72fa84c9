/* Goal: whatever fails or is damaged, a cascade says so, loses nothing that it acknowledged, and
 *       never gives a wrong answer.
 * Method: the n-th allocation, read, write, sync or rename fails, once or from then on; the disk
 *         is full and has room again; every file is flipped, cut, removed, exchanged with
 *         another or with another store's. Keys acknowledged before must be there after, in the
 *         same process and in the next. */
#include "support/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/cascade/manifest.h"
#include "lethe/cascade.h"
#include "os/file.h"
#include "support/folder.h"
#include "support/heap.h"
#include "support/random.h"

enum { BATCH = 5000 };

static const lethe_cascade_options small =
    LETHE_OPTIONS(lethe_cascade_options, .capacity = 1000000, .error = 1e-10,
                  .memory_bytes = 1 << 20, .growth = 2);

/* A text that lasts until eight more are made. */
__attribute__((format(printf, 1, 2))) static const char *text(const char *format, ...) {
    static char texts[8][4096];
    static unsigned next;
    char *out = texts[next++ % 8];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(out, sizeof texts[0], format, arguments);
    va_end(arguments);
    return out;
}

static void hash_keys(uint64_t first, size_t count, lethe_hash *out) {
    for (size_t i = 0; i < count; i++)
        out[i] = lethe_hash_u64(LETHE_DEFAULT_SEED, first + i);
}

static lethe_status insert(lethe_cascade *cascade, uint64_t first, size_t count, size_t *done) {
    static lethe_hash hashes[BATCH];
    hash_keys(first, count, hashes);
    return lethe_cascade_add_batch(cascade, hashes, count, 0, done);
}

/* All keys below end are there once, and some above are not. */
static void assert_has(lethe_cascade *cascade, uint64_t end) {
    static lethe_hash hashes[BATCH];
    static uint64_t counts[BATCH];
    for (uint64_t first = 0; first < end + BATCH; first += BATCH) {
        hash_keys(first, BATCH, hashes);
        assert_ok(lethe_cascade_count_batch(cascade, hashes, BATCH, 0, counts));
        for (size_t i = 0; i < BATCH; i++)
            assert_int_equal(counts[i], first + i < end);
    }
}

static void work(lethe_cascade *cascade) {
    bool more = true;
    while (more)
        assert_ok(lethe_cascade_work(cascade, 0, 20000, &more));
}

/* --- failing operations --- */

static struct {
    lethe_os_operation operation;
    bool any, persists;
    unsigned long at, seen;
    int error;
} fault;

static int meet_fault(lethe_os_operation operation) {
    if (!fault.any && operation != fault.operation) return 0;
    unsigned long number = fault.seen++;
    return number == fault.at || (fault.persists && number > fault.at) ? fault.error : 0;
}

/* Inserts, merges, checkpoints and looks up, with a fault; returns how many keys are in. */
static uint64_t go_on(lethe_cascade *cascade, bool *met) {
    uint64_t end = 0;
    for (int i = 0; i < 40; i++) {
        size_t done;
        bool more;
        lethe_status status = insert(cascade, end, BATCH, &done);
        assert_true(status == LETHE_OK ? done == BATCH : done <= BATCH);
        end += done;
        *met |= status != LETHE_OK;
        *met |= lethe_cascade_work(cascade, 0, 30000, &more) != LETHE_OK;
        if (i % 10 == 9) *met |= lethe_cascade_checkpoint(cascade, end, NULL, 0) != LETHE_OK;
    }
    return end;
}

static void try_fault(unsigned long at, int error, bool persists) {
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_cascade *cascade;
    lethe_cascade_options options = small;
    options.durability = at % 2 == 0 ? LETHE_CASCADE_LOGGED : LETHE_CASCADE_SYNCED;
    assert_ok(lethe_cascade_open(folder.path, &options, &cascade, NULL));
    fault.any = true;
    fault.at = at;
    fault.seen = 0;
    fault.error = error;
    fault.persists = persists;
    lethe_os_set_fault_hook(meet_fault);
    bool met = false;
    uint64_t end = go_on(cascade, &met);
    lethe_os_set_fault_hook(NULL);
    assert_has(cascade, end);
    lethe_status closed = lethe_cascade_close(cascade, NULL);
    assert_true(closed == LETHE_OK || met);
    assert_ok(lethe_cascade_open(folder.path, &options, &cascade, NULL));
    assert_has(cascade, end);
    work(cascade);
    assert_has(cascade, end);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

static void each_failing_operation_loses_nothing(void **state) {
    (void)state;
    for (unsigned long at = 0; at < 400; at += at < 16 ? TEST_SIZED(1, 3) : TEST_SIZED(29, 67)) {
        try_fault(at, EIO, false);
        try_fault(at, at % 3 == 0 ? EIO : ENOSPC, true);
    }
}

/* Such a write may be lost, and no later sync has to say so. */
static void a_write_that_could_not_begin_is_a_failed_sync(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_cascade *cascade;
    assert_ok(lethe_cascade_open(folder.path, &small, &cascade, NULL));
    memset(&fault, 0, sizeof fault);
    fault.operation = LETHE_OS_SEND;
    fault.error = EIO;
    lethe_os_set_fault_hook(meet_fault);
    uint64_t end = 0;
    for (; fault.seen == 0 && end < 100 * (uint64_t)BATCH; end += BATCH)
        assert_ok(insert(cascade, end, BATCH, NULL));
    assert_true(fault.seen > 0);
    assert_int_equal(insert(cascade, end, BATCH, NULL), LETHE_EIO);
    assert_int_equal(lethe_cascade_checkpoint(cascade, end, NULL, 0), LETHE_EIO);
    lethe_os_set_fault_hook(NULL);
    assert_int_equal(lethe_cascade_close(cascade, NULL), LETHE_EIO);
    assert_ok(lethe_cascade_open(folder.path, &small, &cascade, NULL));
    assert_has(cascade, end);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

static void a_full_disk_stops_insertions_and_room_lets_them_go_on(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_cascade *cascade;
    assert_ok(lethe_cascade_open(folder.path, &small, &cascade, NULL));
    uint64_t end = 0;
    size_t done;
    for (int i = 0; i < 20; i++, end += BATCH)
        assert_ok(insert(cascade, end, BATCH, NULL));
    memset(&fault, 0, sizeof fault);
    fault.operation = LETHE_OS_WRITE;
    fault.error = ENOSPC;
    fault.persists = true;
    lethe_os_set_fault_hook(meet_fault);
    lethe_status status = LETHE_OK;
    bool more;
    assert_int_equal(lethe_cascade_work(cascade, 0, 1000000, &more), LETHE_ENOSPACE);
    for (int i = 0; i < 100 && status == LETHE_OK; i++) {
        status = insert(cascade, end, BATCH, &done);
        end += done;
    }
    assert_int_equal(status, LETHE_ENOSPACE);
    assert_has(cascade, end);
    lethe_os_set_fault_hook(NULL);
    for (int i = 0; i < 20; i++, end += BATCH)
        assert_ok(insert(cascade, end, BATCH, NULL));
    work(cascade);
    assert_has(cascade, end);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

static void each_failed_allocation_is_reported(void **state) {
    (void)state;
    bool went_through = false;
    for (size_t at = 0; !went_through; at += at < 50 ? TEST_SIZED(1, 7) : TEST_SIZED(37, 67)) {
        struct test_folder folder;
        test_folder_make(&folder);
        struct test_heap heap;
        test_heap_init(&heap, at);
        lethe_cascade_options options = small;
        options.allocator = &heap.allocator;
        options.level_filter_bytes = 100000;
        lethe_cascade *cascade;
        lethe_status status = lethe_cascade_open(folder.path, &options, &cascade, NULL);
        assert_true((cascade != NULL) == (status == LETHE_OK));
        assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
        if (cascade != NULL) {
            bool met = false;
            uint64_t end = go_on(cascade, &met);
            went_through = !met;
            heap.fail_at = SIZE_MAX;
            assert_has(cascade, end);
            assert_ok(lethe_cascade_close(cascade, NULL));
            assert_ok(lethe_cascade_open(folder.path, &small, &cascade, NULL));
            assert_has(cascade, end);
            assert_ok(lethe_cascade_close(cascade, NULL));
        }
        assert_int_equal(heap.live_bytes, 0);
        test_folder_remove(&folder);
    }
}

/* --- damage --- */

enum { STORED = 150000 };

static void make_store(const char *path, uint64_t seed) {
    lethe_cascade *cascade;
    lethe_cascade_options options = small;
    options.seed = seed;
    assert_ok(lethe_cascade_open(path, &options, &cascade, NULL));
    static lethe_hash hashes[BATCH];
    for (uint64_t first = 0; first < STORED; first += BATCH) {
        hash_keys(first, BATCH, hashes);
        assert_ok(lethe_cascade_add_batch(cascade, hashes, BATCH, 0, NULL));
    }
    assert_ok(lethe_cascade_close(cascade, NULL));
}

static bool ignore(void *context, uint64_t fingerprint, uint64_t count) {
    (void)fingerprint;
    *(uint64_t *)context += count;
    return true;
}

/* The store gives an error somewhere, or is as it should be. Returns whether it gave one. */
static bool judge_store(const char *path) {
    static lethe_hash hashes[BATCH];
    static uint8_t present[BATCH];
    lethe_cascade *cascade;
    lethe_cascade_options options =
        LETHE_OPTIONS(lethe_cascade_options, .memory_bytes = 1 << 20, .must_exist = true);
    lethe_status status = lethe_cascade_open(path, &options, &cascade, NULL);
    if (status != LETHE_OK) {
        assert_null(cascade);
        assert_true(status == LETHE_ECORRUPT || status == LETHE_EVERSION || status == LETHE_ETYPE ||
                    status == LETHE_ENOTFOUND);
        return true;
    }
    uint64_t sum = 0;
    lethe_status walked = lethe_cascade_each(cascade, 0, ignore, &sum);
    assert_true(walked == LETHE_ECORRUPT || (walked == LETHE_OK && sum == STORED));
    for (uint64_t first = 0; first < STORED; first += BATCH) {
        hash_keys(first, BATCH, hashes);
        status = lethe_cascade_test_batch(cascade, hashes, BATCH, 0, present);
        assert_true(status == LETHE_OK || status == LETHE_ECORRUPT);
        if (status != LETHE_OK) continue;
        for (size_t i = 0; i < BATCH; i++)
            assert_int_equal(present[i], 1);
    }
    bool more;
    status = lethe_cascade_work(cascade, 0, 1000000, &more);
    assert_true(status == LETHE_OK || status == LETHE_ECORRUPT);
    assert_ok(lethe_cascade_close(cascade, NULL));
    return walked != LETHE_OK;
}

static void copy_store(const char *from, const char *to) {
    assert_int_equal(system(text("rm -rf '%s' && cp -r '%s' '%s'", to, from, to)), 0);
}

/* The names of files in a store, except for the claim. */
static unsigned list_files(const char *path, char names[][300], unsigned room) {
    unsigned count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "claim") == 0) continue;
        assert_true(count < room);
        snprintf(names[count++], 300, "%s", entry->d_name);
    }
    closedir(folder);
    return count;
}

static void flip(const char *path, off_t offset) {
    int file = open(path, O_RDWR);
    unsigned char byte;
    assert_int_equal(pread(file, &byte, 1, offset), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(file, &byte, 1, offset), 1);
    close(file);
}

/* Whether damage to a file must be noticed: of the log a part is in runs by now, and not looked
 * at. */
static bool must_be_noticed(const char *name) {
    return strncmp(name, "log-", 4) != 0;
}

static void damage_file(const char *original, const char *trial, const char *name,
                        const char *other) {
    static struct test_random random = {.state = 5};
    struct stat status;
    assert_int_equal(stat(text("%s/%s", original, name), &status), 0);
    char path[1024];
    snprintf(path, sizeof path, "%s", text("%s/%s", trial, name));
    for (int i = 0; i < 4 && status.st_size > 0; i++) {
        copy_store(original, trial);
        flip(path, (off_t)test_random_below(&random, (uint64_t)status.st_size));
        assert_true(judge_store(trial) || !must_be_noticed(name));
    }
    copy_store(original, trial);
    assert_int_equal(truncate(path, status.st_size / 2), 0);
    assert_true(judge_store(trial) || !must_be_noticed(name));
    copy_store(original, trial);
    assert_int_equal(unlink(path), 0);
    assert_true(judge_store(trial) || !must_be_noticed(name));
    /* Exchanged with another run, which may be as long. */
    copy_store(original, trial);
    assert_int_equal(system(text("cp '%s/%s' '%s'", original, other, path)), 0);
    assert_true(judge_store(trial) || !must_be_noticed(name));
}

static void damage_of_any_file_is_noticed(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    char original[300], foreign[300], trial[300], names[64][300];
    snprintf(original, sizeof original, "%s/original", folder.path);
    snprintf(foreign, sizeof foreign, "%s/foreign", folder.path);
    snprintf(trial, sizeof trial, "%s/trial", folder.path);
    make_store(original, LETHE_DEFAULT_SEED);
    make_store(foreign, LETHE_DEFAULT_SEED);
    copy_store(original, trial);
    assert_false(judge_store(trial));
    unsigned count = list_files(original, names, 64);
    assert_true(count > 6);
    for (unsigned i = 0; i < count; i++)
        damage_file(original, trial, names[i], names[(i + 1) % count]);
    /* The other store's file of the same name: same keys, same seed, another identity. */
    count = list_files(foreign, names, 64);
    for (unsigned i = 0; i < count; i++) {
        copy_store(original, trial);
        assert_int_equal(system(text("cp '%s/%s' '%s/'", foreign, names[i], trial)), 0);
        (void)judge_store(trial);
    }
    test_folder_remove(&folder);
}

/* --- refusals --- */

static void a_full_cascade_refuses_where_it_should(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_cascade_options options = small;
    options.capacity = 100000;
    options.refuse_over_capacity = true;
    lethe_cascade *cascade;
    assert_ok(lethe_cascade_open(folder.path, &options, &cascade, NULL));
    lethe_status status = LETHE_OK;
    uint64_t end = 0;
    for (int i = 0; i < 100 && status == LETHE_OK; i++) {
        size_t done;
        status = insert(cascade, end, BATCH, &done);
        end += done;
    }
    assert_int_equal(status, LETHE_EFULL);
    assert_in_range(end, 95000, 100000);
    assert_has(cascade, end);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

/* Goal: fingerprints that are no hashes, and equal ones by the million, cost no more than they
 *       should. */
static void hostile_hashes_are_taken(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_cascade *cascade;
    assert_ok(lethe_cascade_open(folder.path, &small, &cascade, NULL));
    static lethe_hash hashes[BATCH];
    static uint64_t counts[BATCH];
    for (uint64_t i = 0; i < 20; i++) { /* all in a row */
        for (size_t j = 0; j < BATCH; j++)
            hashes[j].high = (i * BATCH + j) << 11;
        assert_ok(lethe_cascade_add_batch(cascade, hashes, BATCH, 0, NULL));
    }
    for (size_t j = 0; j < BATCH; j++)
        hashes[j].high = UINT64_MAX;
    for (int i = 0; i < 200; i++) /* a million of one */
        assert_ok(lethe_cascade_add_batch(cascade, hashes, BATCH, 0, NULL));
    assert_ok(lethe_cascade_count_batch(cascade, hashes, BATCH, 0, counts));
    assert_int_equal(counts[0], 200 * BATCH);
    assert_int_equal(counts[BATCH - 1], 200 * BATCH);
    work(cascade);
    assert_ok(lethe_cascade_close(cascade, NULL));
    assert_ok(lethe_cascade_open(folder.path, &small, &cascade, NULL));
    work(cascade);
    uint64_t sum = 0;
    assert_ok(lethe_cascade_each(cascade, 0, ignore, &sum));
    assert_int_equal(sum, 220 * BATCH);
    assert_ok(lethe_cascade_remove_batch(cascade, hashes, BATCH, 0, NULL));
    assert_ok(lethe_cascade_count_batch(cascade, hashes, 1, 0, counts));
    assert_int_equal(counts[0], 199 * BATCH);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_cascade_refuses_where_it_should),
        cmocka_unit_test(hostile_hashes_are_taken),
        cmocka_unit_test(a_full_disk_stops_insertions_and_room_lets_them_go_on),
        cmocka_unit_test(each_failing_operation_loses_nothing),
        cmocka_unit_test(a_write_that_could_not_begin_is_a_failed_sync),
        cmocka_unit_test(each_failed_allocation_is_reported),
        cmocka_unit_test(damage_of_any_file_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

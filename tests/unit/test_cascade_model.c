/* Goal: against an exact multiset, whatever insertions, removals, merges, checkpoints, reopenings
 *       and changes of options come in between, counts are exact, a walk shows all and nothing
 *       else, and a checkpointed cascade comes back as it was at the checkpoint; against exact
 *       times, a window forgets what it must and nothing earlier.
 * Method: random schedules with fixed seeds, on the least memory, so that runs of several levels
 *         come to be; fingerprints so long that no two keys share one.
 *
 * test_cascade_model [SEEDS [FIRST]] runs that many schedules of each kind. */
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/cascade.h"
#include "support/folder.h"
#include "support/random.h"
#include "support/reports.h"

enum { KEYS = 1 << 17, MAX_BATCH = 30000 };

static uint64_t seeds_to_run = 6, first_seed = 1;

struct schedule {
    struct test_random random;
    struct test_folder folder;
    lethe_cascade_options options;
    lethe_cascade *cascade;
    uint32_t counts[KEYS];
    uint32_t kept[KEYS]; /* at the last checkpoint */
    uint64_t kept_sequence;
    uint64_t hot;
    uint64_t times[KEYS]; /* of the last insertion, plus one */
    uint64_t now_ms;
    lethe_hash hashes[MAX_BATCH];
    uint32_t keys[MAX_BATCH];
    uint8_t present[MAX_BATCH];
    uint64_t found[MAX_BATCH];
};

static uint64_t below(struct schedule *schedule, uint64_t range) {
    return test_random_below(&schedule->random, range);
}

/* Fills a batch with random keys, a part of them repeated or from a small set. */
static size_t choose(struct schedule *schedule) {
    size_t count = 1 + below(schedule, below(schedule, 3) == 0 ? 100 : MAX_BATCH);
    uint64_t range = below(schedule, 4) == 0 ? 50 : KEYS;
    for (size_t i = 0; i < count; i++) {
        schedule->keys[i] = (uint32_t)below(schedule, range);
        schedule->hashes[i] = lethe_hash_u64(schedule->options.seed, schedule->keys[i]);
    }
    return count;
}

static void work(struct schedule *schedule, unsigned steps) {
    bool more = true;
    for (unsigned i = 0; i < steps && more; i++)
        assert_ok(lethe_cascade_work(schedule->cascade, schedule->now_ms,
                                     1 + below(schedule, 40000), &more));
}

static void insert(struct schedule *schedule) {
    size_t count = choose(schedule), done;
    assert_ok(lethe_cascade_add_batch(schedule->cascade, schedule->hashes, count, 0, &done));
    assert_int_equal(done, count);
    for (size_t i = 0; i < count; i++)
        schedule->counts[schedule->keys[i]]++;
}

static void remove_some(struct schedule *schedule) {
    size_t count = choose(schedule), done;
    assert_ok(lethe_cascade_remove_batch(schedule->cascade, schedule->hashes, count, 0, &done));
    assert_int_equal(done, count);
    for (size_t i = 0; i < count; i++) {
        if (schedule->counts[schedule->keys[i]] > 0) schedule->counts[schedule->keys[i]]--;
    }
}

static void add_and_test(struct schedule *schedule) {
    size_t count = choose(schedule), done;
    assert_ok(lethe_cascade_add_and_test_batch(schedule->cascade, schedule->hashes, count, 0,
                                               schedule->present, &done));
    assert_int_equal(done, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t *exact = &schedule->counts[schedule->keys[i]];
        assert_int_equal(schedule->present[i], *exact > 0);
        if (*exact == 0) *exact = 1;
    }
}

static void compare(struct schedule *schedule) {
    size_t count = choose(schedule);
    assert_ok(
        lethe_cascade_count_batch(schedule->cascade, schedule->hashes, count, 0, schedule->found));
    assert_ok(
        lethe_cascade_test_batch(schedule->cascade, schedule->hashes, count, 0, schedule->present));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(schedule->found[i], schedule->counts[schedule->keys[i]]);
        assert_int_equal(schedule->present[i], schedule->found[i] > 0);
    }
}

struct walk {
    uint64_t last, entries, sum;
    bool has_last;
};

static bool step(void *context, uint64_t fingerprint, uint64_t count) {
    struct walk *walk = context;
    if (walk->has_last) assert_true(fingerprint > walk->last);
    walk->has_last = true;
    walk->last = fingerprint;
    walk->entries++;
    walk->sum += count;
    return true;
}

static void walk_over(struct schedule *schedule) {
    struct walk walk = {0};
    uint64_t entries = 0, sum = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        entries += schedule->counts[i] > 0;
        sum += schedule->counts[i];
    }
    assert_ok(lethe_cascade_each(schedule->cascade, 0, step, &walk));
    assert_int_equal(walk.entries, entries);
    assert_int_equal(walk.sum, sum);
}

static void checkpoint(struct schedule *schedule) {
    char note[32];
    int size = snprintf(note, sizeof note, "at %" PRIu64, ++schedule->kept_sequence);
    assert_ok(
        lethe_cascade_checkpoint(schedule->cascade, schedule->kept_sequence, note, (size_t)size));
    memcpy(schedule->kept, schedule->counts, sizeof schedule->kept);
}

static void open_it(struct schedule *schedule) {
    static const uint64_t memories[] = {1 << 20, 2 << 20, 4 << 20};
    schedule->options.memory_bytes = memories[below(schedule, 3)];
    schedule->options.growth = (uint32_t)(2 + below(schedule, 7));
    schedule->options.level_filter_bytes = below(schedule, 2) * 400000;
    schedule->options.direct = below(schedule, 2);
    schedule->options.reading = below(schedule, 2) == 0 ? LETHE_CASCADE_READ_THREADS : 0;
    schedule->options.read_depth = (uint32_t)(1 + below(schedule, 64));
    assert_ok(
        lethe_cascade_open(schedule->folder.path, &schedule->options, &schedule->cascade, NULL));
}

static void reopen(struct schedule *schedule) {
    assert_ok(lethe_cascade_close(schedule->cascade, NULL));
    if (schedule->options.durability == LETHE_CASCADE_CHECKPOINTED) {
        memcpy(schedule->counts, schedule->kept, sizeof schedule->kept);
    }
    open_it(schedule);
    uint64_t sequence;
    char note[LETHE_CASCADE_MAX_NOTE_BYTES], expected[32];
    size_t size;
    lethe_cascade_last_checkpoint(schedule->cascade, &sequence, note, &size);
    assert_int_equal(sequence, schedule->kept_sequence);
    int length = sequence == 0 ? 0 : snprintf(expected, sizeof expected, "at %" PRIu64, sequence);
    assert_int_equal(size, length);
    assert_memory_equal(note, expected, size);
}

static void run_set(uint64_t seed, lethe_cascade_durability durability, bool removes) {
    struct schedule *schedule = calloc(1, sizeof *schedule);
    assert_non_null(schedule);
    schedule->random.state = seed;
    schedule->options = LETHE_OPTIONS(lethe_cascade_options, .capacity = 1000000, .error = 1e-10,
                                      .seed = 1000 + seed, .durability = durability);
    test_folder_make(&schedule->folder);
    open_it(schedule);
    for (int i = 0; i < 60; i++) {
        switch (below(schedule, 10)) {
        case 0:
        case 1:
        case 2:
            insert(schedule);
            break;
        case 3:
            if (removes) {
                remove_some(schedule);
            } else {
                insert(schedule);
            }
            break;
        case 4:
        case 5:
            add_and_test(schedule);
            break;
        case 6:
            compare(schedule);
            break;
        case 7:
            work(schedule, (unsigned)below(schedule, 40));
            break;
        case 8:
            checkpoint(schedule);
            break;
        default:
            if (below(schedule, 3) == 0) reopen(schedule);
        }
    }
    work(schedule, 10000);
    walk_over(schedule);
    compare(schedule);
    lethe_cascade_stats stats = cascade_stats(schedule->cascade, 0);
    assert_true(stats.entries >= stats.memory_entries);
    reopen(schedule);
    walk_over(schedule);
    assert_ok(lethe_cascade_close(schedule->cascade, NULL));
    test_folder_remove(&schedule->folder);
    free(schedule);
}

static void run_each(void (*run)(uint64_t seed)) {
    for (uint64_t seed = first_seed; seed < first_seed + seeds_to_run; seed++) {
        print_message("seed %" PRIu64 "\n", seed);
        run(seed);
    }
}

static void run_logged(uint64_t seed) {
    run_set(seed, LETHE_CASCADE_LOGGED, seed % 2 == 0);
}

static void run_synced(uint64_t seed) {
    run_set(seed, LETHE_CASCADE_SYNCED, true);
}

static void run_checkpointed(uint64_t seed) {
    run_set(seed, LETHE_CASCADE_CHECKPOINTED, seed % 2 == 0);
}

static void counts_are_exact_when_logged(void **state) {
    (void)state;
    run_each(run_logged);
}

static void counts_are_exact_when_synced(void **state) {
    (void)state;
    run_each(run_synced);
}

static void a_checkpoint_comes_back_exactly(void **state) {
    (void)state;
    run_each(run_checkpointed);
}

/* Whether the model must, may or must not have a key at a time. */
static void judge_window(struct schedule *schedule) {
    uint64_t window = schedule->options.window_ms;
    size_t count = choose(schedule);
    assert_ok(lethe_cascade_test_batch(schedule->cascade, schedule->hashes, count, schedule->now_ms,
                                       schedule->present));
    for (size_t i = 0; i < count; i++) {
        uint64_t time = schedule->times[schedule->keys[i]];
        uint64_t age = time == 0 ? UINT64_MAX : schedule->now_ms - (time - 1);
        if (age <= window) assert_int_equal(schedule->present[i], 1);
        if (age > window + window / 4) assert_int_equal(schedule->present[i], 0);
    }
}

static void record(struct schedule *schedule) {
    size_t count = choose(schedule);
    bool tests = below(schedule, 2) == 0;
    if (tests) {
        assert_ok(lethe_cascade_add_and_test_batch(schedule->cascade, schedule->hashes, count,
                                                   schedule->now_ms, schedule->present, NULL));
    } else {
        assert_ok(lethe_cascade_add_batch(schedule->cascade, schedule->hashes, count,
                                          schedule->now_ms, NULL));
    }
    for (size_t i = 0; i < count; i++) {
        if (tests && schedule->present[i]) continue;
        schedule->times[schedule->keys[i]] = schedule->now_ms + 1;
    }
}

static void run_window(uint64_t seed) {
    struct schedule *schedule = calloc(1, sizeof *schedule);
    assert_non_null(schedule);
    schedule->random.state = seed;
    schedule->options = LETHE_OPTIONS(lethe_cascade_options, .capacity = 1000000, .error = 1e-10,
                                      .seed = 1000 + seed, .window_ms = 100000);
    schedule->now_ms = below(schedule, 1000000);
    test_folder_make(&schedule->folder);
    open_it(schedule);
    for (int i = 0; i < 80; i++) {
        switch (below(schedule, 8)) {
        case 0:
        case 1:
        case 2:
        case 3:
            record(schedule);
            break;
        case 4:
            judge_window(schedule);
            break;
        case 5:
            work(schedule, (unsigned)below(schedule, 40));
            break;
        case 6:
            schedule->now_ms += below(schedule, below(schedule, 4) == 0 ? 300000 : 30000);
            break;
        default:
            if (below(schedule, 3) == 0) reopen(schedule);
        }
    }
    judge_window(schedule);
    lethe_cascade_stats stats;
    size_t count = choose(schedule);
    schedule->now_ms += 200000;
    work(schedule, 10000);
    stats = cascade_stats(schedule->cascade, schedule->now_ms);
    assert_int_equal(stats.disk_bytes, 0); /* whole runs are dropped */
    assert_ok(lethe_cascade_test_batch(schedule->cascade, schedule->hashes, count, schedule->now_ms,
                                       schedule->present));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(schedule->present[i], 0);
    assert_int_equal(lethe_cascade_remove_batch(schedule->cascade, schedule->hashes, 1, 0, NULL),
                     LETHE_EINVAL);
    assert_ok(lethe_cascade_close(schedule->cascade, NULL));
    test_folder_remove(&schedule->folder);
    free(schedule);
}

static void a_window_keeps_its_promises(void **state) {
    (void)state;
    run_each(run_window);
}

int main(int argc, char **argv) {
    if (argc > 1) seeds_to_run = strtoull(argv[1], NULL, 10);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_exact_when_logged),
        cmocka_unit_test(counts_are_exact_when_synced),
        cmocka_unit_test(a_checkpoint_comes_back_exactly),
        cmocka_unit_test(a_window_keeps_its_promises),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

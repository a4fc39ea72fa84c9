/* Goal: whatever way the same additions and removals come to a quotient filter, it is the same
 *       filter to the last byte; and a failed allocation, at any of them, changes nothing that it
 *       holds.
 * Method: two filters that grow get the same keys with counts, one by batches of hashes and one
 *         by one; both are doubled, halved, absorbed, saved, loaded, mapped and copied at random
 *         moments. In the second test every call is made with a heap that fails first at its
 *         n-th allocation, n = 0, 1, ..., and is compared with the filter before. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lethe/quotient.h"
#include "support/heap.h"
#include "support/random.h"
#include "support/reports.h"

enum { MOST = 300, STEPS = 150, KEYS = 4000 };

static void save(const lethe_quotient *filter, lethe_memory_writer *writer) {
    *writer = (lethe_memory_writer){0};
    assert_ok(lethe_quotient_save(filter, lethe_sink_to_memory(writer)));
}

static void assert_same_bytes(const lethe_memory_writer *a, const lethe_memory_writer *b) {
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
}

static void load(const lethe_memory_writer *writer, const lethe_allocator *allocator,
                 lethe_quotient **out) {
    lethe_memory_reader reader = {.data = writer->data, .size = writer->size};
    assert_ok(lethe_quotient_load(lethe_source_from_memory(&reader), allocator, out));
}

struct pair {
    struct test_random random;
    lethe_quotient *batched, *single;
    uint64_t exact[KEYS]; /* how often each was added */
};

static uint64_t below(struct pair *pair, uint64_t range) {
    return test_random_below(&pair->random, range);
}

static lethe_hash hash_of(uint64_t key) {
    return lethe_hash_u64(LETHE_DEFAULT_SEED, key);
}

/* Few keys get most of it. */
static uint64_t choose_key(struct pair *pair) {
    return below(pair, 1 + below(pair, KEYS));
}

static void add_batch(struct pair *pair) {
    lethe_hash hashes[MOST];
    uint8_t added[MOST];
    size_t count = below(pair, MOST), i = 0;
    for (; i < count; i++) {
        uint64_t key = choose_key(pair);
        hashes[i] = hash_of(key);
        pair->exact[key]++;
    }
    assert_ok(lethe_quotient_add_batch(pair->batched, hashes, count, added));
    for (i = 0; i < count; i++) {
        assert_int_equal(added[i], 1);
        assert_ok(lethe_quotient_add_hash(pair->single, hashes[i], 1));
    }
}

/* One call with a count, or as many calls. */
static void add_counts(struct pair *pair) {
    for (uint64_t i = below(pair, MOST); i > 0; i--) {
        uint64_t key = choose_key(pair), count = 1 + below(pair, 6);
        pair->exact[key] += count;
        assert_ok(lethe_quotient_add(pair->batched, &key, sizeof key, count));
        for (; count > 0; count--)
            assert_ok(lethe_quotient_add_hash(pair->single, hash_of(key), 1));
    }
}

static void remove_batch(struct pair *pair) {
    lethe_hash hashes[MOST];
    uint8_t removed[MOST];
    size_t count = 0;
    for (uint64_t i = below(pair, MOST); i > 0; i--) {
        uint64_t key = choose_key(pair);
        if (pair->exact[key] == 0) continue;
        pair->exact[key]--;
        hashes[count++] = hash_of(key);
    }
    assert_ok(lethe_quotient_remove_batch(pair->batched, hashes, count, removed));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(removed[i], 1);
        assert_ok(lethe_quotient_remove_hash(pair->single, hashes[i], 1));
    }
}

static void remove_counts(struct pair *pair) {
    for (uint64_t i = below(pair, MOST); i > 0; i--) {
        uint64_t key = choose_key(pair);
        if (pair->exact[key] == 0) continue;
        uint64_t count = 1 + below(pair, pair->exact[key]);
        pair->exact[key] -= count;
        assert_ok(lethe_quotient_remove(pair->batched, &key, sizeof key, count));
        for (; count > 0; count--)
            assert_ok(lethe_quotient_remove_hash(pair->single, hash_of(key), 1));
    }
}

/* Another filter, of any size, into both. */
static void absorb(struct pair *pair) {
    lethe_quotient *other;
    lethe_quotient_shape shape = quotient_shape(pair->single);
    assert_ok(lethe_quotient_new(&LETHE_OPTIONS(lethe_quotient_options, .slots = shape.slots,
                                                .remainder_bits = shape.remainder_bits),
                                 &other));
    if (below(pair, 2) == 0) assert_ok(lethe_quotient_double(other));
    for (uint64_t i = below(pair, MOST); i > 0; i--) {
        uint64_t key = choose_key(pair), count = 1 + below(pair, 4);
        if (lethe_quotient_add(other, &key, sizeof key, count) == LETHE_OK)
            pair->exact[key] += count;
    }
    assert_ok(lethe_quotient_merge(pair->batched, other));
    assert_ok(lethe_quotient_merge(pair->single, other));
    lethe_quotient_free(other);
}

static void reload(lethe_quotient **filter) {
    lethe_memory_writer writer;
    save(*filter, &writer);
    lethe_quotient_free(*filter);
    load(&writer, NULL, filter);
    lethe_memory_writer_free(&writer);
}

static void replace_by_copy(lethe_quotient **filter) {
    lethe_quotient *copy;
    assert_ok(lethe_quotient_copy(*filter, &copy));
    lethe_quotient_free(*filter);
    *filter = copy;
}

/* A mapped filter answers as the one it was saved from, takes nothing, and its copy takes all. */
static void map(lethe_quotient **filter) {
    char path[] = "/tmp/lethe-quotient-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_ok(lethe_quotient_save_file(*filter, path, NULL));
    lethe_quotient_free(*filter);
    assert_ok(lethe_quotient_map_file(path, NULL, filter, NULL));
    unlink(path);
    assert_int_equal(lethe_quotient_add_hash(*filter, hash_of(1), 3), LETHE_EINVAL);
    replace_by_copy(filter);
}

/* Both to the same size, unless what they hold does not fit. */
static void resize(struct pair *pair) {
    bool doubles = quotient_shape(pair->single).slots < 4096 && below(pair, 2) == 0;
    lethe_status (*change)(lethe_quotient *) =
        doubles ? lethe_quotient_double : lethe_quotient_halve;
    lethe_status status = change(pair->batched);
    assert_true(status == LETHE_OK || (!doubles && status != LETHE_ENOMEM));
    assert_int_equal(change(pair->single), status);
}

/* When counts come at once or one by one, filters may double at other moments; else they are the
 * same. */
static void judge(const struct pair *pair) {
    uint64_t counts[KEYS], total = 0;
    static lethe_hash hashes[KEYS];
    for (uint64_t key = 0; key < KEYS; key++)
        hashes[key] = hash_of(key);
    lethe_quotient_count_batch(pair->batched, hashes, KEYS, counts);
    for (uint64_t key = 0; key < KEYS; key++) {
        assert_int_equal(counts[key], pair->exact[key]);
        total += pair->exact[key];
    }
    assert_int_equal(quotient_stats(pair->batched).total, total);
    assert_int_equal(quotient_stats(pair->single).total, total);
    lethe_memory_writer first, second;
    save(pair->batched, &first);
    save(pair->single, &second);
    assert_same_bytes(&first, &second);
    lethe_memory_writer_free(&first);
    lethe_memory_writer_free(&second);
}

static void step(struct pair *pair) {
    uint64_t chance = below(pair, 100);
    lethe_quotient **either = below(pair, 2) == 0 ? &pair->batched : &pair->single;
    if (chance < 25) {
        add_batch(pair);
    } else if (chance < 40) {
        add_counts(pair);
    } else if (chance < 60) {
        remove_batch(pair);
    } else if (chance < 72) {
        remove_counts(pair);
    } else if (chance < 78) {
        absorb(pair);
    } else if (chance < 86) {
        reload(either);
    } else if (chance < 90) {
        map(either);
    } else if (chance < 95) {
        replace_by_copy(either);
    } else {
        resize(pair);
    }
    judge(pair);
}

/* Fingerprints are long enough that no two keys share one. */
static void batches_and_single_calls_make_the_same_filter(void **state) {
    (void)state;
    static const uint32_t widths[] = {33, 40, 47};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        static struct pair pair;
        pair = (struct pair){.random = {seed}};
        lethe_quotient_options options =
            LETHE_OPTIONS(lethe_quotient_options, .slots = 64 * seed,
                          .remainder_bits = widths[seed % 3], .grow_to = 1 << 20);
        assert_ok(lethe_quotient_new(&options, &pair.batched));
        assert_ok(lethe_quotient_new(&options, &pair.single));
        for (int i = 0; i < STEPS; i++)
            step(&pair);
        lethe_quotient_free(pair.batched);
        lethe_quotient_free(pair.single);
    }
}

/* One call of each kind; `other` is what is absorbed. */
static lethe_status call(lethe_quotient *filter, unsigned kind, const lethe_quotient *other) {
    lethe_hash hashes[40];
    for (size_t i = 0; i < 40; i++)
        hashes[i] = hash_of(1000000 + i / 4);
    switch (kind) {
    case 0:
        return lethe_quotient_add_hash(filter, hashes[0], 1);
    case 1:
        return lethe_quotient_add_hash(filter, hashes[0], 2);
    case 2:
        return lethe_quotient_add_hash(filter, hashes[0], 100);
    case 3:
        return lethe_quotient_double(filter);
    case 4:
        return lethe_quotient_merge(filter, other);
    default:
        return lethe_quotient_add_batch(filter, hashes, 1, NULL);
    }
}

static void a_failed_allocation_changes_nothing(void **state) {
    (void)state;
    enum { KINDS = 6, ROOMS = 4 };
    for (unsigned variant = 0; variant < KINDS * ROOMS * 2; variant++) {
        unsigned kind = variant % KINDS, room = variant / KINDS % ROOMS;
        bool has_counts = variant / (KINDS * ROOMS) != 0;
        lethe_quotient *filter, *other;
        lethe_quotient_options options = LETHE_OPTIONS(lethe_quotient_options, .slots = 128,
                                                       .remainder_bits = 40, .grow_to = 1 << 20);
        assert_ok(lethe_quotient_new(&options, &filter));
        assert_ok(lethe_quotient_new(&options, &other));
        assert_ok(lethe_quotient_add_hash(other, hash_of(5), 7));
        if (has_counts) assert_ok(lethe_quotient_add_hash(filter, hash_of(5), 9));
        uint64_t limit = options.slots - options.slots / 20;
        for (uint64_t key = 10; quotient_stats(filter).slots_used + room < limit; key++)
            assert_ok(lethe_quotient_add_hash(filter, hash_of(key), 1));
        lethe_memory_writer before, after;
        save(filter, &before);
        lethe_status status = LETHE_ENOMEM;
        for (size_t n = 0; status != LETHE_OK; n++) {
            struct test_heap heap;
            test_heap_init(&heap, SIZE_MAX);
            lethe_quotient *copy;
            load(&before, &heap.allocator, &copy);
            heap.fail_at = heap.allocations + n;
            status = call(copy, kind, other);
            heap.fail_at = SIZE_MAX;
            assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
            if (status == LETHE_ENOMEM && quotient_shape(copy).slots == options.slots) {
                save(copy, &after);
                assert_same_bytes(&before, &after);
                lethe_memory_writer_free(&after);
            } else {
                /* It may have doubled; then it can be read back all the same. */
                reload(&copy);
                uint64_t added = status == LETHE_OK && kind != 3;
                assert_true(quotient_stats(copy).total >= quotient_stats(filter).total + added);
            }
            if (status == LETHE_ENOMEM)
                assert_int_equal(quotient_stats(copy).total, quotient_stats(filter).total);
            lethe_quotient_free(copy);
            assert_int_equal(heap.live_blocks, 0);
        }
        lethe_memory_writer_free(&before);
        lethe_quotient_free(filter);
        lethe_quotient_free(other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_and_single_calls_make_the_same_filter),
        cmocka_unit_test(a_failed_allocation_changes_nothing),
    };
    return cmocka_run_group_tests_name("quotient_differential", tests, NULL, NULL);
}

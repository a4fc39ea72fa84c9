/* Goal: against an exact set, no key that was added is ever missing, whatever was done in
 *       between. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "lethe/bloom.h"
#include "support/model_set.h"
#include "support/random.h"
#include "support/reports.h"

enum { KEYS = 4000, ROUNDS = 300, MAX_BATCH = 700 };

struct subject {
    lethe_bloom *filter;
    struct model_set model;
    uint64_t seed;
    uint64_t false_positives, absent_tests;
};

static lethe_hash hash_of(const struct subject *subject, uint64_t key) {
    return lethe_hash_u64(subject->seed, key);
}

static void judge(struct subject *subject, uint64_t key, bool answer) {
    if (model_set_has(&subject->model, key)) {
        assert_true(answer);
    } else {
        subject->absent_tests++;
        subject->false_positives += answer;
    }
}

static void do_batch(struct subject *subject, struct test_random *random, int kind) {
    lethe_hash hashes[MAX_BATCH];
    uint64_t keys[MAX_BATCH];
    uint8_t present[MAX_BATCH];
    size_t count = test_random_below(random, MAX_BATCH);
    for (size_t i = 0; i < count; i++) {
        keys[i] = 1 + test_random_below(random, KEYS);
        hashes[i] = hash_of(subject, keys[i]);
    }
    if (kind == 0) {
        lethe_bloom_add_batch(subject->filter, hashes, count);
    } else if (kind == 1) {
        lethe_bloom_test_batch(subject->filter, hashes, count, present);
    } else {
        lethe_bloom_add_and_test_batch(subject->filter, hashes, count, present);
    }
    for (size_t i = 0; i < count; i++) {
        /* In order: a key that repeats within the batch is found the second time. */
        if (kind != 0) judge(subject, keys[i], present[i]);
        /* The same answer, even if it is wrong. */
        if (kind == 1)
            assert_int_equal(present[i], lethe_bloom_test_hash(subject->filter, hashes[i]));
        if (kind != 1) model_set_add(&subject->model, keys[i]);
    }
}

static void do_single(struct subject *subject, struct test_random *random) {
    for (int i = 0; i < 50; i++) {
        uint64_t key = 1 + test_random_below(random, KEYS);
        switch (test_random_below(random, 3)) {
        case 0:
            lethe_bloom_add(subject->filter, &key, sizeof key);
            model_set_add(&subject->model, key);
            break;
        case 1:
            judge(subject, key, lethe_bloom_test(subject->filter, &key, sizeof key));
            break;
        default:
            judge(subject, key, lethe_bloom_add_and_test(subject->filter, &key, sizeof key));
            model_set_add(&subject->model, key);
        }
    }
}

/* Field by field: structures have padding. */
static void assert_same_stats(const lethe_bloom *a, const lethe_bloom *b) {
    lethe_bloom_shape shape = bloom_shape(a), other = bloom_shape(b);
    lethe_bloom_stats first = bloom_stats(a), second = bloom_stats(b);
    assert_int_equal(shape.layout, other.layout);
    assert_int_equal(shape.bits, other.bits);
    assert_int_equal(shape.hashes, other.hashes);
    assert_int_equal(shape.seed, other.seed);
    assert_int_equal(shape.capacity, other.capacity);
    assert_true(shape.error == other.error);
    assert_int_equal(first.additions, second.additions);
    assert_int_equal(first.bits_set, second.bits_set);
    assert_true(first.error_estimate == second.error_estimate);
}

static void do_copy(struct subject *subject) {
    lethe_bloom *copy;
    assert_ok(lethe_bloom_copy(subject->filter, &copy));
    lethe_bloom_clear(subject->filter);
    lethe_bloom_free(subject->filter);
    subject->filter = copy;
}

static void do_save_and_load(struct subject *subject) {
    lethe_memory_writer writer = {0};
    assert_ok(lethe_bloom_save(subject->filter, lethe_sink_to_memory(&writer)));
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    lethe_bloom *loaded;
    assert_ok(lethe_bloom_load(lethe_source_from_memory(&reader), NULL, &loaded));
    assert_same_stats(subject->filter, loaded);
    lethe_bloom_free(subject->filter);
    subject->filter = loaded;
    lethe_memory_writer_free(&writer);
}

static void do_union(struct subject *subject, struct test_random *random) {
    lethe_bloom *other;
    assert_ok(lethe_bloom_copy(subject->filter, &other));
    lethe_bloom_clear(other);
    for (int i = 0; i < 50; i++) {
        uint64_t key = 1 + test_random_below(random, KEYS);
        lethe_bloom_add_hash(other, hash_of(subject, key));
        model_set_add(&subject->model, key);
    }
    assert_ok(lethe_bloom_merge(subject->filter, other));
    lethe_bloom_free(other);
}

static void run_model(lethe_bloom_options options, uint64_t seed) {
    struct test_random random = {seed};
    struct subject subject = {0};
    options.seed = seed;
    assert_ok(lethe_bloom_new(&options, &subject.filter));
    subject.seed = seed;
    for (int round = 0; round < ROUNDS; round++) {
        switch (test_random_below(&random, 10)) {
        case 0:
            do_copy(&subject);
            break;
        case 1:
            do_save_and_load(&subject);
            break;
        case 2:
            do_union(&subject, &random);
            break;
        case 3:
            lethe_bloom_clear(subject.filter);
            model_set_free(&subject.model);
            break;
        case 4:
        case 5:
            do_single(&subject, &random);
            break;
        case 6:
            do_batch(&subject, &random, 0);
            break;
        case 7:
        case 8:
            do_batch(&subject, &random, 1);
            break;
        default:
            do_batch(&subject, &random, 2);
        }
    }
    /* A tiny filter says yes to everything; one with room must not. */
    if (options.bits == 0) assert_true(subject.false_positives * 20 < subject.absent_tests);
    lethe_bloom_free(subject.filter);
    model_set_free(&subject.model);
}

/* Method: 40 seeds of 300 random steps each over sizes from absurd to ample. */
static void added_keys_are_never_missing(void **state) {
    (void)state;
    const lethe_bloom_options options[] = {
        LETHE_OPTIONS(lethe_bloom_options, .bits = 1, .hashes = 1),
        LETHE_OPTIONS(lethe_bloom_options, .bits = 6250, .hashes = 5),
        LETHE_OPTIONS(lethe_bloom_options, .bits = 65, .hashes = 64),
        LETHE_OPTIONS(lethe_bloom_options, .capacity = KEYS, .error = 0.01),
        LETHE_OPTIONS(lethe_bloom_options, .capacity = KEYS, .error = 1e-9),
        LETHE_OPTIONS(lethe_bloom_options, .layout = LETHE_BLOOM_BLOCKED, .bits = 512,
                      .hashes = 32),
        LETHE_OPTIONS(lethe_bloom_options, .layout = LETHE_BLOOM_BLOCKED, .bits = 512 * 77,
                      .hashes = 8),
        LETHE_OPTIONS(lethe_bloom_options, .layout = LETHE_BLOOM_BLOCKED, .capacity = KEYS,
                      .error = 0.01),
        LETHE_OPTIONS(lethe_bloom_options, .layout = LETHE_BLOOM_BLOCKED, .capacity = KEYS,
                      .error = 1e-7),
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        for (uint64_t seed = 1; seed <= 40; seed++)
            run_model(options[i], seed);
    }
}

static void unlike_filters_are_not_combined(void **state) {
    (void)state;
    const lethe_bloom_options options[] = {
        LETHE_OPTIONS(lethe_bloom_options, .bits = 1024, .hashes = 8),
        LETHE_OPTIONS(lethe_bloom_options, .bits = 1025, .hashes = 8),
        LETHE_OPTIONS(lethe_bloom_options, .bits = 1024, .hashes = 7),
        LETHE_OPTIONS(lethe_bloom_options, .bits = 1024, .hashes = 8, .seed = 5),
        LETHE_OPTIONS(lethe_bloom_options, .layout = LETHE_BLOOM_BLOCKED, .bits = 1024,
                      .hashes = 8),
    };
    lethe_bloom *first;
    assert_ok(lethe_bloom_new(&options[0], &first));
    lethe_bloom_add(first, "a", 1);
    lethe_bloom *before;
    assert_ok(lethe_bloom_copy(first, &before));
    for (size_t i = 1; i < sizeof options / sizeof options[0]; i++) {
        lethe_bloom *other;
        double both;
        assert_ok(lethe_bloom_new(&options[i], &other));
        lethe_bloom_add(other, "b", 1);
        assert_int_equal(lethe_bloom_merge(first, other), LETHE_EMISMATCH);
        assert_int_equal(lethe_bloom_intersection_estimate(first, other, &both), LETHE_EMISMATCH);
        lethe_bloom_free(other);
    }
    assert_same_stats(before, first);
    assert_false(lethe_bloom_test(first, "b", 1));
    lethe_bloom_free(before);
    lethe_bloom_free(first);
}

static void empty_batches_and_keys_are_fine(void **state) {
    (void)state;
    for (int layout = 0; layout < 2; layout++) {
        lethe_bloom *filter;
        lethe_bloom_options options =
            LETHE_OPTIONS(lethe_bloom_options, .layout = (lethe_bloom_layout)layout);
        assert_ok(lethe_bloom_new(&options, &filter));
        lethe_bloom_add_batch(filter, NULL, 0);
        lethe_bloom_test_batch(filter, NULL, 0, NULL);
        assert_false(lethe_bloom_test(filter, NULL, 0));
        lethe_bloom_add(filter, NULL, 0);
        assert_true(lethe_bloom_test(filter, "", 0));
        lethe_bloom_free(filter);
    }
    lethe_bloom_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(added_keys_are_never_missing),
        cmocka_unit_test(unlike_filters_are_not_combined),
        cmocka_unit_test(empty_batches_and_keys_are_fine),
    };
    return cmocka_run_group_tests_name("bloom_model", tests, NULL, NULL);
}

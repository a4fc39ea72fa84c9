/* Goal: blocks without a header lose no key, read the same on every machine, and survive any
 *       bytes. */
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filter/bloom/probe.h"
#include "filter/gaussian/bell.h"
#include "lethe/packed.h"
#include "support/golden.h"
#include "support/random.h"
#include "support/statistics.h"

enum { MOST_KEYS = 400 };

static const lethe_packed_options settings[] = {
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_BLOOM),
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_BLOOM, .bits_per_key = 1),
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_BLOOM, .bits_per_key = 100),
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_BLOCKED),
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_BLOCKED, .bits_per_key = 40),
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN),
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN, .slot_bits = 1),
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN, .bits_per_key = 20.5,
                  .slot_bits = 3, .hashes = 5),
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN, .bits_per_key = 40,
                  .slot_bits = 4),
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN, .bits_per_key = 1,
                  .slot_bits = 4, .hashes = 12),
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN, .bits_per_key = 100,
                  .slot_bits = 2, .hashes = 12),
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_QUOTIENT),
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_QUOTIENT, .bits_per_key = 3),
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_QUOTIENT, .bits_per_key = 13.7),
    LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_QUOTIENT, .bits_per_key = 80),
};
enum { SETTINGS = sizeof settings / sizeof settings[0] };

static lethe_packed *make(const lethe_packed_options *options) {
    lethe_packed *packed;
    assert_ok(lethe_packed_new(options, &packed));
    return packed;
}

/* A block of its own exact size, at an odd address, so that a sanitizer sees a byte too far. */
struct block {
    unsigned char *allocated, *bytes;
    size_t size;
};

static struct block build(const lethe_packed *packed, const lethe_hash *hashes, size_t count) {
    struct block block = {.size = lethe_packed_size(packed, count)};
    assert_true(block.size >= 9);
    block.allocated = malloc(block.size + 1);
    block.bytes = block.allocated + 1;
    memset(block.bytes, 0xa5, block.size);
    lethe_packed_build(packed, hashes, count, block.bytes, block.size);
    return block;
}

static void draw(struct test_random *random, lethe_hash *hashes, size_t count) {
    for (size_t i = 0; i < count; i++)
        hashes[i] = (lethe_hash){test_random_next(random), test_random_next(random)};
}

/* Method: blocks of every number of keys up to 400, under the object that made them and under
 *         another one of the same kind. */
static void no_key_is_lost(void **state) {
    (void)state;
    struct test_random random = {1};
    lethe_hash hashes[MOST_KEYS];
    for (size_t s = 0; s < SETTINGS; s++) {
        lethe_packed *packed = make(&settings[s]);
        lethe_packed *other = make(
            &LETHE_OPTIONS(lethe_packed_options, .kind = settings[s].kind, .bits_per_key = 17));
        for (size_t count = 0; count <= MOST_KEYS; count += count < 64 ? 1 : 37) {
            draw(&random, hashes, count);
            struct block block = build(packed, hashes, count);
            for (size_t i = 0; i < count; i++) {
                assert_true(lethe_packed_test(packed, hashes[i], block.bytes, block.size));
                assert_true(lethe_packed_test(other, hashes[i], block.bytes, block.size));
            }
            free(block.allocated);
        }
        lethe_packed_free(packed);
        lethe_packed_free(other);
    }
}

/* The definition, slot by slot: an array of m slots, each a number of its own. */
struct model {
    unsigned *slots;
    uint64_t count;
    struct lethe_gaussian_rule rule;
};

/* Adds, or tells whether the hash would be found; also whether the underlying Bloom filter finds
 * it. */
static bool model_visit(struct model *model, lethe_hash hash, bool adds, bool *in_bloom) {
    bool found = true;
    *in_bloom = true;
    for (uint32_t i = 1; i <= model->rule.hashes; i++) {
        uint64_t middle = lethe_bloom_next_position(&hash.low, hash.high, model->count);
        for (uint64_t slot = 0; slot < model->count; slot++) {
            uint64_t distance = slot > middle ? slot - middle : middle - slot;
            unsigned level = (unsigned)lethe_gaussian_level(&model->rule, i, (uint32_t)distance);
            if (model->slots[slot] >= level) continue;
            found = false;
            if (distance == 0) *in_bloom = false;
            if (adds) model->slots[slot] = level;
        }
    }
    return found;
}

/* Method: block and model agree on every absent key, and neither knows one that the Bloom filter
 * under it does not (Lemma 2). */
static void blocks_agree_with_the_definition(void **state) {
    (void)state;
    struct test_random random = {2};
    lethe_hash hashes[64];
    uint64_t contradicted = 0;
    for (uint32_t slot_bits = 1; slot_bits <= 4; slot_bits++) {
        for (uint32_t k = 1; k <= 12; k++) {
            lethe_packed_options options = LETHE_OPTIONS(
                lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN, .slot_bits = slot_bits,
                .hashes = k, .bits_per_key = 1.5 * k * slot_bits);
            lethe_packed *packed = make(&options);
            size_t count = 1 + test_random_below(&random, 64);
            draw(&random, hashes, count);
            struct block block = build(packed, hashes, count);
            struct model model = {.count = (block.size - 1) * 8 / slot_bits,
                                  .rule = {.hashes = k, .slot_bits = slot_bits}};
            model.slots = calloc(model.count, sizeof *model.slots);
            bool in_bloom;
            for (size_t i = 0; i < count; i++)
                model_visit(&model, hashes[i], true, &in_bloom);
            for (int i = 0; i < 3000; i++) {
                lethe_hash hash;
                draw(&random, &hash, 1);
                bool expected = model_visit(&model, hash, false, &in_bloom);
                assert_int_equal(lethe_packed_test(packed, hash, block.bytes, block.size),
                                 expected);
                assert_true(in_bloom || !expected);
                contradicted += in_bloom && !expected;
            }
            free(model.slots);
            free(block.allocated);
            lethe_packed_free(packed);
        }
    }
    assert_true(contradicted > 500);
}

/* Method: block and definition agree: a key is found when one of the same bucket has the same r
 *         bits. Blocks of more buckets than are built at once, too. */
static void quotient_blocks_agree_with_the_definition(void **state) {
    (void)state;
    struct test_random random = {5};
    static const size_t counts[] = {0, 1, 2, 17, 100, 1023, 1024, 3000};
    static const double bits[] = {3, 4.5, 7, 10, 21};
    lethe_hash *hashes = malloc(3000 * sizeof *hashes);
    uint64_t found = 0;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0] * 5; c++) {
        size_t count = counts[c / 5];
        lethe_packed *packed = make(&LETHE_OPTIONS(
            lethe_packed_options, .kind = LETHE_PACKED_QUOTIENT, .bits_per_key = bits[c % 5]));
        draw(&random, hashes, count);
        struct block block = build(packed, hashes, count);
        unsigned r = block.bytes[block.size - 1];
        uint64_t total = (block.size - 1) * 8;
        uint64_t buckets = lethe_multiply_high(total, UINT64_MAX / (r + 2));
        assert_true(count == 0 || r == (total / count > 58 ? 56 : total / count - 2));
        for (int i = 0; i < 2000; i++) {
            lethe_hash hash;
            draw(&random, &hash, 1);
            bool expected = false;
            for (size_t k = 0; k < count; k++)
                expected |= lethe_multiply_high(hashes[k].high, buckets) ==
                                lethe_multiply_high(hash.high, buckets) &&
                            hashes[k].low >> (64 - r) == hash.low >> (64 - r);
            assert_int_equal(lethe_packed_test(packed, hash, block.bytes, block.size), expected);
            found += expected;
        }
        free(block.allocated);
        lethe_packed_free(packed);
    }
    assert_true(found > 500);
    free(hashes);
}

/* Goal: the rates are those of the kinds: ten bits a key, a hundred keys a block. */
static void errors_are_as_expected(void **state) {
    (void)state;
    static const struct {
        lethe_packed_options options;
        double least, most;
    } cases[] = {
        {LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_BLOOM), 0.007, 0.010},
        {LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_BLOCKED), 0.009,
         0.017}, /* two lines of 512 bits for 100 keys */
        {LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN, .slot_bits = 1), 0.007,
         0.010},
        {LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN), 0.02, 0.09},
        {LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN, .bits_per_key = 40,
                       .slot_bits = 4),
         0.0005, 0.005},
        {LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_QUOTIENT), 0.0034,
         0.0040}, /* r = 8 */
        {LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_QUOTIENT, .bits_per_key = 10.9),
         0.0031, 0.0037},
        {LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_QUOTIENT, .bits_per_key = 4),
         0.20, 0.25},
    };
    struct test_random random = {3};
    lethe_hash hashes[100];
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        lethe_packed *packed = make(&cases[c].options);
        uint64_t passed = 0, asked = 0;
        for (int times = 0; times < 200; times++) {
            draw(&random, hashes, 100);
            struct block block = build(packed, hashes, 100);
            for (int i = 0; i < 5000; i++, asked++) {
                lethe_hash hash;
                draw(&random, &hash, 1);
                passed += lethe_packed_test(packed, hash, block.bytes, block.size);
            }
            free(block.allocated);
        }
        print_message("setting %zu, k = %u: %.5f\n", c, lethe_packed_hashes(packed),
                      (double)passed / (double)asked);
        assert_true(rate_is_at_most(passed, asked, cases[c].most));
        assert_true(rate_is_at_least(passed, asked, cases[c].least));
        lethe_packed_free(packed);
    }
}

/* Goal: any bytes get an answer, and what can't be a block the careful one. */
static void any_bytes_are_answered(void **state) {
    (void)state;
    struct test_random random = {4};
    for (size_t s = 0; s < SETTINGS; s++) {
        lethe_packed *packed = make(&settings[s]);
        for (int times = 0; times < 20000; times++) {
            size_t size = test_random_below(&random, times % 2 == 0 ? 20 : 300);
            unsigned char *bytes = malloc(size + 1);
            for (size_t i = 0; i < size; i++)
                bytes[i] = (unsigned char)test_random_next(&random);
            lethe_hash hash;
            draw(&random, &hash, 1);
            bool answer = lethe_packed_test(packed, hash, bytes, size);
            if (size < 9) assert_true(answer);
            if (size >= 9) {
                bytes[size - 1] = times % 4 < 2 ? 0 : 63;
                assert_true(lethe_packed_test(packed, hash, bytes, size));
            }
            free(bytes);
        }
        /* Too small to hold anything: nothing is written beyond, and the answer is the careful
         * one. */
        for (size_t size = 0; size < 9; size++) {
            unsigned char *bytes = malloc(size + 1);
            lethe_hash hash = {1, 2};
            lethe_packed_build(packed, &hash, 1, bytes, size);
            assert_true(lethe_packed_test(packed, (lethe_hash){3, 4}, bytes, size));
            free(bytes);
        }
        lethe_packed_free(packed);
    }
}

/* Goal: the bells are the same wherever exp() is right to a few units in the last place.
 * Method: no value that is rounded down to a step lies nearer to the next than a billionth. */
static void no_value_lies_near_a_step(void **state) {
    (void)state;
    double nearest = 1;
    for (uint32_t slot_bits = 2; slot_bits <= LETHE_PACKED_MAX_SLOT_BITS; slot_bits++) {
        double top = lethe_gaussian_top(slot_bits), last = slot_bits == 2 ? 1.4 : 2.0;
        for (uint32_t k = 2; k <= LETHE_PACKED_MAX_GAUSSIAN_HASHES; k++) {
            for (uint32_t hash = 1; hash <= k; hash++) {
                double width = 0.3 + (last - 0.3) * (hash - 1) / (k - 1);
                for (uint32_t distance = 1; distance <= 7; distance++) {
                    double steps = top * exp(-(double)(distance * distance) / (2 * width * width));
                    double above = fabs(steps - round(steps));
                    if (round(steps) > 0) nearest = fmin(nearest, above);
                }
            }
        }
    }
    print_message("nearest to a step: %g\n", nearest);
    assert_true(nearest > 1e-9);
}

/* Method: the bytes of a few keys, once written and kept. */
static void the_bytes_are_golden(void **state) {
    (void)state;
    static const struct {
        const char *name;
        lethe_packed_options options;
    } cases[] = {
        {"packed-bloom-v1.bin", LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_BLOOM)},
        {"packed-blocked-v1.bin",
         LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_BLOCKED)},
        {"packed-gaussian-v1.bin",
         LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN, .slot_bits = 4)},
        {"packed-quotient-v1.bin",
         LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_QUOTIENT)},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        lethe_packed *packed = make(&cases[c].options);
        lethe_hash hashes[26];
        for (char key = 'a'; key <= 'z'; key++)
            hashes[key - 'a'] = lethe_packed_hash(packed, &key, 1);
        struct block block = build(packed, hashes, 26);
        golden_check(cases[c].name, block.bytes, block.size);
        free(block.allocated);
        lethe_packed_free(packed);
    }
}

static void bad_options_are_refused(void **state) {
    (void)state;
    const lethe_packed_options bad[] = {
        LETHE_OPTIONS(lethe_packed_options, .kind = (lethe_packed_kind)4),
        LETHE_OPTIONS(lethe_packed_options, .kind = (lethe_packed_kind)-1),
        LETHE_OPTIONS(lethe_packed_options, .bits_per_key = 0.5),
        LETHE_OPTIONS(lethe_packed_options, .bits_per_key = -1),
        LETHE_OPTIONS(lethe_packed_options, .bits_per_key = 1025),
        LETHE_OPTIONS(lethe_packed_options, .bits_per_key = NAN),
        LETHE_OPTIONS(lethe_packed_options, .bits_per_key = INFINITY),
        LETHE_OPTIONS(lethe_packed_options, .hashes = 33),
        LETHE_OPTIONS(lethe_packed_options, .slot_bits = 2),
        LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_BLOCKED, .hashes = 7),
        LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_BLOCKED, .hashes = 40),
        LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN, .hashes = 13),
        LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN, .hashes = UINT32_MAX),
        LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN, .slot_bits = 5),
        LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_GAUSSIAN, .slot_bits = UINT32_MAX),
        LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_QUOTIENT, .bits_per_key = 2.9),
        LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_QUOTIENT, .hashes = 2),
        LETHE_OPTIONS(lethe_packed_options, .kind = LETHE_PACKED_QUOTIENT, .slot_bits = 2),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        lethe_packed *packed = (lethe_packed *)&packed;
        assert_int_equal(lethe_packed_new(&bad[i], &packed), LETHE_EINVAL);
        assert_null(packed);
    }
    lethe_packed *packed = make(NULL);
    assert_int_equal(lethe_packed_hashes(packed), 7);
    assert_int_equal(lethe_packed_size(packed, SIZE_MAX), 0);
    assert_int_equal(lethe_packed_size(packed, 0), 9);
    lethe_packed_free(packed);
    lethe_packed_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_key_is_lost),
        cmocka_unit_test(blocks_agree_with_the_definition),
        cmocka_unit_test(quotient_blocks_agree_with_the_definition),
        cmocka_unit_test(errors_are_as_expected),
        cmocka_unit_test(any_bytes_are_answered),
        cmocka_unit_test(no_value_lies_near_a_step),
        cmocka_unit_test(the_bytes_are_golden),
        cmocka_unit_test(bad_options_are_refused),
    };
    return cmocka_run_group_tests_name("packed", tests, NULL, NULL);
}

/* Goal:   the bytes of a saved filter stay what they are, its saved bells are used, and fields that
 *         lie are refused.
 * Method: golden files; fields forged one by one. test_structures_*.c have what all structures
 *         share: damage, other types and versions, files, lengths. */
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "lethe/gaussian.h"
#include "support/golden.h"
#include "support/reports.h"
#include "support/structures.h"

static lethe_status load_bytes(const void *data, size_t size, const lethe_allocator *allocator,
                               lethe_gaussian **out) {
    lethe_memory_reader reader = {.data = data, .size = size};
    return lethe_gaussian_load(lethe_source_from_memory(&reader), allocator, out);
}

static const struct {
    const char *name;
    lethe_gaussian_options options;
} samples[] = {
    {"gaussian-packed-v1.bin",
     LETHE_OPTIONS(lethe_gaussian_options, .capacity = 100, .error = 0.01)},
    {"gaussian-published-v1.bin",
     LETHE_OPTIONS(lethe_gaussian_options, .slots = 301, .hashes = 5, .slot_bits = 3,
                   .spacing = LETHE_GAUSSIAN_SPACING_PUBLISHED)},
    {"gaussian-float-v1.bin",
     LETHE_OPTIONS(lethe_gaussian_options, .slots = 301, .hashes = 3, .slot_bits = 32)},
    {"gaussian-double-v1.bin",
     LETHE_OPTIONS(lethe_gaussian_options, .slots = 201, .hashes = 3, .slot_bits = 64,
                   .exponential = LETHE_GAUSSIAN_EXPONENTIAL_SCHRAUDOLPH, .deviation_cap = 1.5,
                   .spacing = LETHE_GAUSSIAN_SPACING_PUBLISHED)},
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

static lethe_gaussian *make_sample(size_t sample) {
    lethe_gaussian *filter;
    assert_ok(lethe_gaussian_new(&samples[sample].options, &filter));
    for (char key = 'a'; key <= 'z'; key++)
        lethe_gaussian_add(filter, &key, 1);
    return filter;
}

static lethe_memory_writer save_sample(size_t sample) {
    lethe_gaussian *filter = make_sample(sample);
    lethe_memory_writer writer = {0};
    assert_ok(lethe_gaussian_save(filter, lethe_sink_to_memory(&writer)));
    lethe_gaussian_free(filter);
    return writer;
}

/* Method: the bytes of version 1, once written and kept: what we write must be the same, and what
 *         we read
 * from them must answer alike. */
static void the_bytes_are_golden(void **state) {
    (void)state;
    for (size_t sample = 0; sample < SAMPLES; sample++) {
        lethe_memory_writer writer = save_sample(sample);
        golden_check(samples[sample].name, writer.data, writer.size);
        lethe_memory_writer_free(&writer);

        size_t size;
        void *golden = golden_read(samples[sample].name, &size);
        lethe_gaussian *filter, *fresh = make_sample(sample);
        assert_ok(load_bytes(golden, size, NULL, &filter));
        for (char key = 'a'; key <= 'z'; key++)
            assert_true(lethe_gaussian_test(filter, &key, 1));
        for (uint64_t i = 0; i < 1000; i++) {
            lethe_hash hash = lethe_hash_u64(1, i);
            assert_int_equal(lethe_gaussian_test_hash(filter, hash),
                             lethe_gaussian_test_hash(fresh, hash));
        }
        assert_int_equal(gaussian_stats(filter).additions, 26);
        assert_ok(lethe_gaussian_merge(filter, fresh));
        lethe_gaussian_free(fresh);
        lethe_gaussian_free(filter);
        free(golden);
    }
}

/* Goal:   a pattern as small as a bell, saved and loaded, is enough to make a filter anew, byte for
 *         byte.
 * Method: each sample by way of its pattern. */
static void a_pattern_makes_the_same_filter(void **state) {
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        lethe_gaussian *sample = make_sample(i), *pattern, *loaded, *again;
        lethe_gaussian_shape shape = gaussian_shape(sample);
        uint64_t least = 2 * (uint64_t)shape.radius + 1;
        assert_ok(lethe_gaussian_new_like(sample, least, 0, 0, &pattern));
        lethe_memory_writer writer = {0};
        assert_ok(lethe_gaussian_save(pattern, lethe_sink_to_memory(&writer)));
        assert_ok(load_bytes(writer.data, writer.size, NULL, &loaded));
        lethe_memory_writer_free(&writer);
        assert_ok(
            lethe_gaussian_new_like(loaded, shape.slots, shape.capacity, shape.error, &again));
        for (char key = 'a'; key <= 'z'; key++)
            lethe_gaussian_add(again, &key, 1);
        assert_ok(lethe_gaussian_save(again, lethe_sink_to_memory(&writer)));
        lethe_memory_writer golden = save_sample(i);
        assert_int_equal(writer.size, golden.size);
        assert_memory_equal(writer.data, golden.data, golden.size);
        lethe_memory_writer_free(&writer);
        lethe_memory_writer_free(&golden);
        lethe_gaussian_free(again);

        const struct {
            uint64_t slots;
            double error;
        } bad[] = {{0, 0},
                   {least - 1, 0},
                   {(UINT64_C(1) << 40) + 1, 0},
                   {UINT64_MAX, 0},
                   {shape.slots, NAN},
                   {shape.slots, -0.1},
                   {shape.slots, 1.1}};
        for (size_t j = 0; j < sizeof bad / sizeof bad[0]; j++) {
            assert_int_equal(lethe_gaussian_new_like(loaded, bad[j].slots, 0, bad[j].error, &again),
                             LETHE_EINVAL);
            assert_null(again);
        }
        lethe_gaussian_free(loaded);
        lethe_gaussian_free(pattern);
        lethe_gaussian_free(sample);
    }
}

/* Goal: a filter goes by the bells it was saved with, not by those that this machine would make.
 * Method: a file whose bells are one step lower than the rule has them, under a correct
 *         checksum. */
static void saved_bells_are_used(void **state) {
    (void)state;
    lethe_gaussian *filter = make_sample(0);
    uint32_t k = gaussian_shape(filter).hashes;
    double before = lethe_gaussian_bell(filter, k, 1);
    lethe_memory_writer writer = {0};
    assert_ok(lethe_gaussian_save(filter, lethe_sink_to_memory(&writer)));
    lethe_gaussian_free(filter);
    size_t payload = writer.size - 48;
    unsigned char *bytes = (unsigned char *)writer.data + 40;
    /* The last bell's level at distance 1: behind the fields, the radii and all bells before it. */
    uint64_t offset = 80 + 8 * k, radius = 0;
    for (uint32_t i = 0; i < k; i++) {
        offset += i > 0 ? 8 * (radius + 1) : 0;
        memcpy(&radius, bytes + 80 + 8 * (size_t)i, 8);
    }
    double lower = before * 15 - 1;
    memcpy(bytes + offset + 8, &lower, 8);

    lethe_memory_writer forged = {0};
    lethe_encoder *encoder;
    assert_ok(
        lethe_encoder_begin(lethe_sink_to_memory(&forged), "GAUS", 1, payload, NULL, &encoder));
    lethe_encoder_put_bytes(encoder, bytes, payload);
    assert_ok(lethe_encoder_end(encoder));
    assert_ok(load_bytes(forged.data, forged.size, NULL, &filter));
    assert_true(fabs(lethe_gaussian_bell(filter, k, 1) - (before - 1.0 / 15)) < 1e-12);
    for (char key = 'a'; key <= 'z'; key++)
        assert_true(lethe_gaussian_test(filter, &key, 1));
    lethe_gaussian *like;
    assert_ok(lethe_gaussian_new_like(filter, 5000, 0, 0, &like));
    assert_true(lethe_gaussian_bell(like, k, 1) == lethe_gaussian_bell(filter, k, 1));
    lethe_gaussian_free(like);
    lethe_gaussian_free(filter);
    lethe_memory_writer_free(&forged);
    lethe_memory_writer_free(&writer);
}

/* A payload of 17 slots of 4 bits and two bells, the second of radius 1, so that a test can lie
 * in it under a correct checksum. */
struct fields {
    uint32_t slot_bits, hashes;
    uint64_t slots, seed, capacity;
    double error;
    uint64_t additions;
    uint32_t spacing, exponential;
    double cap;
    uint64_t level_count, zero, radii[2];
    double levels[3];
    uint64_t words[2];
    size_t word_count;
};

static lethe_status load_forged(const struct fields *fields, size_t *peak_bytes) {
    lethe_memory_writer writer = {0};
    lethe_encoder *encoder;
    assert_ok(lethe_encoder_begin(lethe_sink_to_memory(&writer), "GAUS", 1,
                                  80 + 40 + 8 * fields->word_count, NULL, &encoder));
    lethe_encoder_put_u32(encoder, fields->slot_bits);
    lethe_encoder_put_u32(encoder, fields->hashes);
    lethe_encoder_put_u64(encoder, fields->slots);
    lethe_encoder_put_u64(encoder, fields->seed);
    lethe_encoder_put_u64(encoder, fields->capacity);
    lethe_encoder_put_f64(encoder, fields->error);
    lethe_encoder_put_u64(encoder, fields->additions);
    lethe_encoder_put_u32(encoder, fields->spacing);
    lethe_encoder_put_u32(encoder, fields->exponential);
    lethe_encoder_put_f64(encoder, fields->cap);
    lethe_encoder_put_u64(encoder, fields->level_count);
    lethe_encoder_put_u64(encoder, fields->zero);
    lethe_encoder_put_words(encoder, fields->radii, 2);
    for (size_t i = 0; i < 3; i++)
        lethe_encoder_put_f64(encoder, fields->levels[i]);
    lethe_encoder_put_words(encoder, fields->words, fields->word_count);
    assert_ok(lethe_encoder_end(encoder));
    return forge_load_frame(&structure_gaussian, &writer, peak_bytes, NULL);
}

/* Goal: fields that lie are refused, and can't make the loader allocate more than the file
 *       holds. */
static void fields_that_lie_are_refused(void **state) {
    (void)state;
    const struct fields good = {.slot_bits = 4,
                                .hashes = 2,
                                .slots = 17,
                                .seed = 1,
                                .error = 0.5,
                                .level_count = 3,
                                .radii = {0, 1},
                                .levels = {15, 15, 7},
                                .word_count = 2};
    size_t peak_bytes;
    assert_ok(load_forged(&good, &peak_bytes));
    enum { LIES = 32 };
    struct fields lies[LIES];
    for (size_t i = 0; i < LIES; i++)
        lies[i] = good;
    size_t n = 0;
    lies[n++].slot_bits = 0;
    lies[n++].slot_bits = 9;
    lies[n++].slot_bits = 32; /* then there would be more words */
    lies[n++].hashes = 0;
    lies[n++].hashes = 65;
    lies[n++].slots = 0;
    lies[n++].slots = 2; /* smaller than a bell */
    lies[n++].slots = 33;
    lies[n++].slots = (UINT64_C(1) << 40) + 1;
    lies[n++].slots = UINT64_MAX;
    lies[n++].seed = 0;
    lies[n++].error = 1.5;
    lies[n++].error = NAN;
    lies[n++].spacing = 2;
    lies[n++].exponential = 2;
    lies[n++].cap = NAN;
    lies[n++].cap = -1;
    lies[n++].cap = INFINITY;
    lies[n++].level_count = 4;
    lies[n++].zero = 1;
    lies[n++].radii[0] = UINT64_MAX;
    lies[n++].radii[1] = 193;
    lies[n++].levels[0] = 14;
    lies[n++].levels[2] = 15; /* full beside the middle: the Bloom filter underneath would lie */
    lies[n++].levels[2] = 0;
    lies[n++].levels[2] = 7.5;
    lies[n++].levels[2] = NAN;
    lies[n++].levels[2] = -1;
    lies[n++].words[1] = 16; /* behind the last slot */
    lies[n++].word_count = 1;
    lies[n].radii[0] = 1; /* not within the next bell */
    lies[n++].radii[1] = 0;
    lies[n++].slots = UINT64_C(1) << 40;
    assert_int_equal(n, LIES);
    for (size_t i = 0; i < LIES; i++) {
        assert_int_equal(load_forged(&lies[i], &peak_bytes), LETHE_ECORRUPT);
        assert_true(peak_bytes < 16384);
    }
}

/* Goal: slots that are numbers hold only what can be there. */
static void values_that_lie_are_refused(void **state) {
    (void)state;
    static const double lies[] = {-0.0, -1, 1.5, INFINITY, NAN};
    for (size_t i = 0; i < 5; i++) {
        struct fields fields = {.slot_bits = 64,
                                .hashes = 2,
                                .slots = 2,
                                .seed = 1,
                                .level_count = 3,
                                .radii = {0, 1},
                                .levels = {1, 1, 0.5},
                                .word_count = 2};
        size_t peak_bytes;
        /* Two slots are fewer than a bell has. */
        assert_int_equal(load_forged(&fields, &peak_bytes), LETHE_ECORRUPT);
        fields.radii[0] = 0;
        fields.slot_bits = 32;
        fields.slots = 3;
        float numbers[4] = {1, 0.25F, 0, 0};
        memcpy(fields.words, numbers, sizeof numbers);
        assert_ok(load_forged(&fields, &peak_bytes));
        numbers[1] = (float)lies[i];
        memcpy(fields.words, numbers, sizeof numbers);
        assert_int_equal(load_forged(&fields, &peak_bytes), LETHE_ECORRUPT);
        numbers[1] = 0;
        numbers[3] = 0.5F; /* behind the last slot */
        memcpy(fields.words, numbers, sizeof numbers);
        assert_int_equal(load_forged(&fields, &peak_bytes), LETHE_ECORRUPT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_golden),
        cmocka_unit_test(a_pattern_makes_the_same_filter),
        cmocka_unit_test(saved_bells_are_used),
        cmocka_unit_test(fields_that_lie_are_refused),
        cmocka_unit_test(values_that_lie_are_refused),
    };
    return cmocka_run_group_tests_name("gaussian_format", tests, NULL, NULL);
}

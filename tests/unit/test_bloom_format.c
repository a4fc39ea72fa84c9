/* Goal:   the bytes of a saved filter stay what they are, and fields that lie are refused.
 * Method: golden files; fields forged one by one. test_structures_format.c and _hostile.c have
 *         what all structures share: damage, other types, files. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "lethe/bloom.h"
#include "support/golden.h"
#include "support/reports.h"
#include "support/structures.h"

static lethe_status load_bytes(const void *data, size_t size, const lethe_allocator *allocator,
                               lethe_bloom **out) {
    lethe_memory_reader reader = {.data = data, .size = size};
    return lethe_bloom_load(lethe_source_from_memory(&reader), allocator, out);
}

static lethe_bloom *make_sample(lethe_bloom_layout layout) {
    lethe_bloom *filter;
    lethe_bloom_options options =
        LETHE_OPTIONS(lethe_bloom_options, .layout = layout, .capacity = 100, .error = 0.01);
    assert_ok(lethe_bloom_new(&options, &filter));
    for (char key = 'a'; key <= 'z'; key++)
        lethe_bloom_add(filter, &key, 1);
    return filter;
}

/* Method: the bytes of version 1, once written and kept: what we write must be the same, and
 *         what we read from them must answer alike. */
static void the_bytes_are_golden(void **state) {
    (void)state;
    static const char *const names[] = {"bloom-classic-v1.bin", "bloom-blocked-v1.bin"};
    for (int layout = 0; layout < 2; layout++) {
        lethe_bloom *filter = make_sample((lethe_bloom_layout)layout);
        lethe_memory_writer writer = {0};
        assert_ok(lethe_bloom_save(filter, lethe_sink_to_memory(&writer)));
        golden_check(names[layout], writer.data, writer.size);
        lethe_bloom_free(filter);
        lethe_memory_writer_free(&writer);

        size_t size;
        void *golden = golden_read(names[layout], &size);
        assert_ok(load_bytes(golden, size, NULL, &filter));
        for (char key = 'a'; key <= 'z'; key++)
            assert_true(lethe_bloom_test(filter, &key, 1));
        assert_false(lethe_bloom_test(filter, "absent", 6));
        assert_int_equal(bloom_stats(filter).additions, 26);
        lethe_bloom_free(filter);
        free(golden);
    }
}

/* The fields of a payload, so that a test can lie in them under a correct checksum. */
struct fields {
    uint32_t layout, hashes;
    uint64_t bits, seed, capacity;
    double error;
    uint64_t additions, zero;
    size_t words;
    uint64_t last_word;
};

static lethe_status load_forged(const struct fields *fields, size_t *peak_bytes) {
    lethe_memory_writer writer = {0};
    lethe_encoder *encoder;
    assert_ok(lethe_encoder_begin(lethe_sink_to_memory(&writer), "BLOM", 1, 56 + 8 * fields->words,
                                  NULL, &encoder));
    lethe_encoder_put_u32(encoder, fields->layout);
    lethe_encoder_put_u32(encoder, fields->hashes);
    lethe_encoder_put_u64(encoder, fields->bits);
    lethe_encoder_put_u64(encoder, fields->seed);
    lethe_encoder_put_u64(encoder, fields->capacity);
    lethe_encoder_put_f64(encoder, fields->error);
    lethe_encoder_put_u64(encoder, fields->additions);
    lethe_encoder_put_u64(encoder, fields->zero);
    for (size_t i = 0; i < fields->words; i++)
        lethe_encoder_put_u64(encoder, i + 1 == fields->words ? fields->last_word : 0);
    assert_ok(lethe_encoder_end(encoder));
    return forge_load_frame(&structure_bloom, &writer, peak_bytes, NULL);
}

/* Goal: fields that lie are refused, and can't make the loader allocate more than the file
 *       holds. */
static void fields_that_lie_are_refused(void **state) {
    (void)state;
    const struct fields good = {.hashes = 3, .bits = 130, .seed = 1, .error = 0.5, .words = 3};
    size_t peak_bytes;
    assert_ok(load_forged(&good, &peak_bytes));
    struct fields lies[12];
    for (size_t i = 0; i < 12; i++)
        lies[i] = good;
    lies[0].layout = 2;
    lies[1].hashes = 0;
    lies[2].hashes = 65;
    lies[3].bits = 0;
    lies[4].bits = UINT64_MAX;
    lies[5].bits = UINT64_C(1) << 47;
    lies[6].seed = 0;
    lies[7].error = 1e300;
    lies[8].zero = 1;
    lies[9].last_word = 4; /* bit 130, beyond m */
    lies[10].words = 4;
    lies[11].layout = 1; /* blocked, but 130 bits are no whole line */
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(load_forged(&lies[i], &peak_bytes), LETHE_ECORRUPT);
        assert_true(peak_bytes < 16384);
    }
    struct fields not_a_number = good;
    memset(&not_a_number.error, 0xff, sizeof not_a_number.error);
    assert_int_equal(load_forged(&not_a_number, &peak_bytes), LETHE_ECORRUPT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_golden),
        cmocka_unit_test(fields_that_lie_are_refused),
    };
    return cmocka_run_group_tests_name("bloom_format", tests, NULL, NULL);
}

/* Goal: a frame comes back as it was written, and nothing else is taken for one. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "support/golden.h"
#include "support/heap.h"
#include "support/random.h"

enum { WORDS = 2000 };

/* Writes a frame of mixed fields into writer. */
static lethe_status write_sample(lethe_memory_writer *writer, size_t words,
                                 const lethe_allocator *allocator) {
    uint64_t numbers[WORDS];
    struct test_random random = {4};
    for (size_t i = 0; i < words; i++)
        numbers[i] = test_random_next(&random);
    lethe_encoder *encoder;
    lethe_status status = lethe_encoder_begin(lethe_sink_to_memory(writer), "TEST", 3,
                                              4 + 8 + 8 + 8 * words + 4, allocator, &encoder);
    if (status != LETHE_OK) return status;
    lethe_encoder_put_u32(encoder, 0x01020304);
    lethe_encoder_put_u64(encoder, UINT64_C(0x1122334455667788));
    lethe_encoder_put_f64(encoder, -0.75);
    lethe_encoder_put_words(encoder, numbers, words);
    lethe_encoder_put_u32(encoder, 5);
    return lethe_encoder_end(encoder);
}

/* Reads it; LETHE_OK only when every field is as written. */
static lethe_status read_sample(const void *data, size_t size, size_t words) {
    lethe_memory_reader reader = {.data = data, .size = size};
    lethe_decoder *decoder;
    lethe_status status =
        lethe_decoder_begin(lethe_source_from_memory(&reader), "TEST", 3, NULL, &decoder);
    if (status != LETHE_OK) return status;
    uint64_t numbers[WORDS];
    uint32_t first = lethe_decoder_get_u32(decoder);
    uint64_t second = lethe_decoder_get_u64(decoder);
    double third = lethe_decoder_get_f64(decoder);
    lethe_decoder_get_words(decoder, numbers, words);
    uint32_t last = lethe_decoder_get_u32(decoder);
    assert_int_equal(lethe_decoder_version(decoder), 3);
    status = lethe_decoder_end(decoder);
    if (status != LETHE_OK) return status;
    struct test_random random = {4};
    for (size_t i = 0; i < words; i++)
        assert_int_equal(numbers[i], test_random_next(&random));
    assert_int_equal(first, 0x01020304);
    assert_int_equal(second, UINT64_C(0x1122334455667788));
    assert_true(third == -0.75);
    assert_int_equal(last, 5);
    return LETHE_OK;
}

static void frames_come_back(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 7, 509, 510, 511, 512, 1300, WORDS};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        lethe_memory_writer writer = {0};
        assert_ok(write_sample(&writer, sizes[i], NULL));
        assert_int_equal(writer.size, LETHE_FRAME_OVERHEAD_BYTES + 24 + 8 * sizes[i]);
        assert_ok(read_sample(writer.data, writer.size, sizes[i]));
        lethe_memory_writer_free(&writer);
    }
}

static void the_bytes_are_golden(void **state) {
    (void)state;
    lethe_memory_writer writer = {0};
    assert_ok(write_sample(&writer, 3, NULL));
    golden_check("codec-v1.bin", writer.data, writer.size);
    lethe_memory_writer_free(&writer);
}

/* Method: every bit of a small frame flipped; every length short of the whole; bytes after it. */
static void any_damage_is_noticed(void **state) {
    (void)state;
    lethe_memory_writer writer = {0};
    assert_ok(write_sample(&writer, 4, NULL));
    unsigned char *bytes = writer.data;
    for (size_t bit = 0; bit < 8 * writer.size; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(read_sample(bytes, writer.size, 4), LETHE_ECORRUPT);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    for (size_t size = 0; size < writer.size; size++)
        assert_int_equal(read_sample(bytes, size, 4), LETHE_ECORRUPT);
    unsigned char *longer = calloc(1, writer.size + 1);
    memcpy(longer, bytes, writer.size);
    assert_int_equal(read_sample(longer, writer.size + 1, 4), LETHE_ECORRUPT);
    free(longer);
    lethe_memory_writer_free(&writer);
}

static void other_types_and_newer_versions_are_told_apart(void **state) {
    (void)state;
    lethe_memory_writer writer = {0};
    assert_ok(write_sample(&writer, 1, NULL));
    lethe_decoder *decoder;
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    lethe_source source = lethe_source_from_memory(&reader);
    assert_int_equal(lethe_decoder_begin(source, "ELSE", 3, NULL, &decoder), LETHE_ETYPE);
    assert_null(decoder);
    reader.position = 0;
    assert_int_equal(lethe_decoder_begin(source, "TEST", 2, NULL, &decoder), LETHE_EVERSION);
    assert_null(decoder);
    lethe_memory_writer_free(&writer);
}

/* Goal: a reader that asks for more than there is gets zeros and an error, at once. */
static void reading_too_much_is_an_error(void **state) {
    (void)state;
    lethe_memory_writer writer = {0};
    assert_ok(write_sample(&writer, 0, NULL));
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    lethe_decoder *decoder;
    assert_ok(lethe_decoder_begin(lethe_source_from_memory(&reader), "TEST", 3, NULL, &decoder));
    assert_int_equal(lethe_decoder_left(decoder), 24);
    uint64_t words[4] = {1, 1, 1, 1};
    lethe_decoder_get_words(decoder, words, 4);
    assert_int_equal(words[0] | words[3], 0);
    assert_int_equal(lethe_decoder_status(decoder), LETHE_ECORRUPT);
    assert_int_equal(lethe_decoder_get_u64(decoder), 0);
    assert_int_equal(lethe_decoder_end(decoder), LETHE_ECORRUPT);
    lethe_memory_writer_free(&writer);
}

/* Goal: a frame that is not read to its end is not trusted. */
static void reading_too_little_is_an_error(void **state) {
    (void)state;
    lethe_memory_writer writer = {0};
    assert_ok(write_sample(&writer, 3, NULL));
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    lethe_decoder *decoder;
    assert_ok(lethe_decoder_begin(lethe_source_from_memory(&reader), "TEST", 3, NULL, &decoder));
    assert_int_equal(lethe_decoder_get_u32(decoder), 0x01020304);
    assert_int_equal(lethe_decoder_end(decoder), LETHE_ECORRUPT);
    lethe_memory_writer_free(&writer);
}

static int writes_left;

static lethe_status write_until_full(void *context, const void *data, size_t size) {
    (void)context, (void)data, (void)size;
    return writes_left-- > 0 ? LETHE_OK : LETHE_ENOSPACE;
}

/* Method: a sink that fails at its n-th write, until it never does. */
static void every_failed_write_is_reported(void **state) {
    (void)state;
    lethe_status status = LETHE_ENOSPACE;
    int failures = 0;
    for (int n = 0; status != LETHE_OK; n++) {
        writes_left = n;
        lethe_encoder *encoder;
        lethe_sink sink = {.write = write_until_full};
        status = lethe_encoder_begin(sink, "TEST", 1, 8 * 1000, NULL, &encoder);
        if (status == LETHE_OK) {
            for (uint64_t i = 0; i < 1000; i++)
                lethe_encoder_put_u64(encoder, i);
            status = lethe_encoder_end(encoder);
        }
        failures += status == LETHE_ENOSPACE;
    }
    assert_true(failures >= 3);
}

static void a_failed_allocation_is_reported(void **state) {
    (void)state;
    struct test_heap heap;
    test_heap_init(&heap, 0);
    lethe_memory_writer writer = {0};
    assert_int_equal(write_sample(&writer, 1, &heap.allocator), LETHE_ENOMEM);
    lethe_memory_writer_free(&writer);
    assert_int_equal(heap.live_blocks, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_back),
        cmocka_unit_test(the_bytes_are_golden),
        cmocka_unit_test(any_damage_is_noticed),
        cmocka_unit_test(other_types_and_newer_versions_are_told_apart),
        cmocka_unit_test(reading_too_much_is_an_error),
        cmocka_unit_test(reading_too_little_is_an_error),
        cmocka_unit_test(every_failed_write_is_reported),
        cmocka_unit_test(a_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests_name("codec", tests, NULL, NULL);
}

/* Goal:   the bytes of a saved sketch and of an export stay what they are, exports answer alike,
 *         and fields that lie are refused.
 * Method: golden files; fields forged one by one; each failed allocation of applying an export.
 *         test_structures_*.c have what all structures share: damage, other types and versions,
 *         files, lengths. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "lethe/sketch.h"
#include "support/golden.h"
#include "support/heap.h"
#include "support/reports.h"
#include "support/structures.h"

static lethe_status load_bytes(const void *data, size_t size, const lethe_allocator *allocator,
                               bool as_export, lethe_sketch **out) {
    lethe_memory_reader reader = {.data = data, .size = size};
    lethe_source source = lethe_source_from_memory(&reader);
    return as_export ? lethe_sketch_import(source, allocator, out)
                     : lethe_sketch_load(source, allocator, out);
}

static void save_bytes(const lethe_sketch *sketch, bool as_export, lethe_memory_writer *writer) {
    *writer = (lethe_memory_writer){0};
    lethe_sink sink = lethe_sink_to_memory(writer);
    assert_ok(as_export ? lethe_sketch_export(sketch, sink) : lethe_sketch_save(sketch, sink));
}

/* Each kind once, with each size of counters, with and without DS parts and kept keys. */
static const struct sample {
    const char *name;
    lethe_sketch_options options;
} samples[] = {
    {"sketch-count-min-v1.bin", {.kind = LETHE_SKETCH_COUNT_MIN, .width = 13, .depth = 3}},
    {"sketch-conservative-v1.bin",
     {.kind = LETHE_SKETCH_CONSERVATIVE,
      .width = 13,
      .depth = 3,
      .counter_bits = 8,
      .removal = LETHE_SKETCH_REMOVAL_COUNT_MIN,
      .top = 5}},
    {"sketch-count-v1.bin",
     {.kind = LETHE_SKETCH_COUNT, .width = 13, .depth = 5, .counter_bits = 64}},
    {"sketch-log-v1.bin", {.kind = LETHE_SKETCH_LOG, .width = 13, .depth = 2}},
    {"sketch-fid-v1.bin",
     {.kind = LETHE_SKETCH_FID, .width = 13, .depth = 6, .counter_bits = 16, .top = 40}},
    {"sketch-fid-v2.bin", {.kind = LETHE_SKETCH_FID, .width = 13, .depth = 2, .is_depth = 5}},
    {"sketch-log-v2.bin",
     {.kind = LETHE_SKETCH_LOG,
      .width = 13,
      .depth = 2,
      .removal = LETHE_SKETCH_REMOVAL_SUBTRACTION}},
};

enum { SAMPLES = sizeof samples / sizeof samples[0], FID_SAMPLE = 4, FID_DEPTHS_SAMPLE = 5 };

static lethe_sketch *make_sample(const struct sample *sample) {
    lethe_sketch *sketch;
    lethe_sketch_options options = sample->options;
    options.size = sizeof options;
    assert_ok(lethe_sketch_new(&options, &sketch));
    for (char key = 'a'; key <= 'z'; key++)
        assert_ok(lethe_sketch_add(sketch, &key, 1, (uint64_t)(key - 'a') + 1));
    assert_ok(lethe_sketch_add(sketch, "a longer key", 12, 30));
    assert_ok(lethe_sketch_add(sketch, "", 0, 3));
    return sketch;
}

/* Method: the bytes of version 1, once written and kept: what we write must be the same, and
 *         what we read from them must answer alike. */
static void the_bytes_are_golden(void **state) {
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        lethe_sketch *sketch = make_sample(&samples[i]), *loaded;
        lethe_memory_writer writer;
        save_bytes(sketch, false, &writer);
        golden_check(samples[i].name, writer.data, writer.size);
        lethe_memory_writer_free(&writer);
        size_t size;
        void *golden = golden_read(samples[i].name, &size);
        assert_ok(load_bytes(golden, size, NULL, false, &loaded));
        for (char key = 'a'; key <= 'z'; key++) {
            assert_int_equal(sketch_count(loaded, &key, 1).count,
                             sketch_count(sketch, &key, 1).count);
        }
        assert_int_equal(sketch_stats(loaded).total, 26 * 27 / 2 + 33);
        lethe_sketch_free(loaded);
        lethe_sketch_free(sketch);
        free(golden);
    }
}

/* An export answers as the whole does, and can do nothing else. */
static void an_export_answers_alike(void **state) {
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        lethe_sketch *sketch = make_sample(&samples[i]), *reader, *copy;
        lethe_memory_writer writer, again;
        save_bytes(sketch, true, &writer);
        if (i == FID_SAMPLE) golden_check("sketch-export-v1.bin", writer.data, writer.size);
        if (i == FID_DEPTHS_SAMPLE) golden_check("sketch-export-v2.bin", writer.data, writer.size);
        assert_ok(load_bytes(writer.data, writer.size, NULL, true, &reader));
        assert_int_equal(load_bytes(writer.data, writer.size, NULL, false, &copy), LETHE_ETYPE);
        for (char key = 'a'; key <= 'z'; key++) {
            assert_int_equal(sketch_count(reader, &key, 1).count,
                             sketch_count(sketch, &key, 1).count);
        }
        lethe_sketch_stats stats = sketch_stats(reader), whole = sketch_stats(sketch);
        assert_true(stats.query_only && stats.total == whole.total);
        assert_true(stats.error_above == whole.error_above);
        assert_int_equal(lethe_sketch_add(reader, "a", 1, 1), LETHE_EINVAL);
        assert_int_equal(lethe_sketch_remove(reader, "a", 1, 1), LETHE_EINVAL);
        assert_int_equal(lethe_sketch_merge(reader, sketch), LETHE_EINVAL);
        assert_int_equal(lethe_sketch_merge(sketch, reader), LETHE_EINVAL);
        assert_int_equal(lethe_sketch_save(reader, lethe_sink_to_memory(&again)), LETHE_EINVAL);
        save_bytes(reader, true, &again);
        assert_int_equal(again.size, writer.size);
        assert_memory_equal(again.data, writer.data, writer.size);
        lethe_memory_writer_free(&again);
        assert_ok(lethe_sketch_copy(reader, &copy));
        lethe_sketch_free(copy);
        lethe_sketch_free(reader);
        lethe_sketch_free(sketch);
        lethe_memory_writer_free(&writer);
    }
}

static lethe_status apply_bytes(lethe_sketch *sketch, const void *data, size_t size) {
    lethe_memory_reader reader = {.data = data, .size = size};
    return lethe_sketch_apply(sketch, lethe_source_from_memory(&reader));
}

/* A later export replaces an earlier one; what does not fit or is damaged changes nothing. */
static void only_what_fits_is_applied(void **state) {
    (void)state;
    lethe_sketch *sketch = make_sample(&samples[FID_SAMPLE]), *other = make_sample(&samples[0]),
                 *reader;
    lethe_memory_writer first, second, foreign, now;
    save_bytes(sketch, true, &first);
    assert_ok(lethe_sketch_add(sketch, "a", 1, 100));
    save_bytes(sketch, true, &second);
    save_bytes(other, true, &foreign);
    assert_ok(load_bytes(first.data, first.size, NULL, true, &reader));
    assert_int_equal(apply_bytes(sketch, first.data, first.size), LETHE_EINVAL);
    assert_int_equal(apply_bytes(reader, foreign.data, foreign.size), LETHE_EMISMATCH);
    ((unsigned char *)second.data)[second.size - 9] ^= 1;
    assert_int_equal(apply_bytes(reader, second.data, second.size), LETHE_ECORRUPT);
    save_bytes(reader, true, &now);
    assert_memory_equal(now.data, first.data, first.size);
    ((unsigned char *)second.data)[second.size - 9] ^= 1;
    assert_ok(apply_bytes(reader, second.data, second.size));
    assert_true(sketch_count(reader, "a", 1).count >= 101);
    lethe_memory_writer_free(&now);
    save_bytes(reader, true, &now);
    assert_memory_equal(now.data, second.data, second.size);
    lethe_memory_writer *writers[] = {&first, &second, &foreign, &now};
    for (int i = 0; i < 4; i++)
        lethe_memory_writer_free(writers[i]);
    lethe_sketch_free(sketch);
    lethe_sketch_free(other);
    lethe_sketch_free(reader);
}

/* The fields of a payload, so that a test can lie in them under a correct checksum. */
struct fields {
    uint16_t version;
    uint32_t kind, bits, depth, removal;
    uint64_t width, is_width, seed, total, random;
    uint32_t top, listed;
    uint64_t is_depth; /* in version 2 */
    size_t words;      /* after the fields, all zero but the last */
    uint64_t last_word;
};

static lethe_status load_forged(const struct fields *fields, size_t *peak_bytes) {
    lethe_memory_writer writer = {0};
    lethe_encoder *encoder;
    size_t field_bytes = fields->version > 1 ? 72 : 64;
    assert_ok(lethe_encoder_begin(lethe_sink_to_memory(&writer), "SKCH", fields->version,
                                  field_bytes + 8 * fields->words, NULL, &encoder));
    lethe_encoder_put_u32(encoder, fields->kind);
    lethe_encoder_put_u32(encoder, fields->bits);
    lethe_encoder_put_u32(encoder, fields->depth);
    lethe_encoder_put_u32(encoder, fields->removal);
    lethe_encoder_put_u64(encoder, fields->width);
    lethe_encoder_put_u64(encoder, fields->is_width);
    lethe_encoder_put_u64(encoder, fields->seed);
    lethe_encoder_put_u64(encoder, fields->total);
    lethe_encoder_put_u64(encoder, fields->random);
    lethe_encoder_put_u32(encoder, fields->top);
    lethe_encoder_put_u32(encoder, fields->listed);
    if (fields->version > 1) lethe_encoder_put_u64(encoder, fields->is_depth);
    for (size_t i = 0; i < fields->words; i++)
        lethe_encoder_put_u64(encoder, i + 1 == fields->words ? fields->last_word : 0);
    assert_ok(lethe_encoder_end(encoder));
    return forge_load_frame(&structure_count_min, &writer, peak_bytes, NULL);
}

/* Goal: fields that lie are refused, and can't make the loader allocate more than the file
 *       holds. */
static void fields_that_lie_are_refused(void **state) {
    (void)state;
    /* Five counters of 16 bits, twice: three words. */
    const struct fields good = {
        .version = 1, .bits = 16, .depth = 2, .removal = 1, .width = 5, .seed = 1, .words = 3};
    size_t peak_bytes;
    assert_ok(load_forged(&good, &peak_bytes));
    struct fields lies[24];
    for (size_t i = 0; i < 24; i++)
        lies[i] = good;
    lies[0].kind = 5;
    lies[1].kind = UINT32_MAX;
    lies[2].bits = 0;
    lies[3].bits = 24;
    lies[4].depth = 0;
    lies[5].depth = 33;
    lies[6].removal = 0;
    lies[7].removal = 2; /* count-min has no DS part */
    lies[8].removal = 4;
    lies[9].width = 0;
    lies[10].width = UINT64_MAX;
    lies[11].width = LETHE_SKETCH_MAX_WIDTH;
    lies[12].is_width = 1; /* only FID has an IS part */
    lies[13].seed = 0;
    lies[14].random = 1; /* only log draws numbers */
    lies[15].top = LETHE_SKETCH_MAX_TOP + 1;
    lies[16].listed = 1; /* without top */
    lies[17].words = 4;
    lies[18].words = 2;
    lies[19].last_word = UINT64_C(1) << 40; /* behind the last counter */
    lies[20].kind = LETHE_SKETCH_COUNT;
    lies[20].last_word = 0x8000; /* -32768 is below -max */
    lies[21].top = 3;            /* a listed key that is not there */
    lies[21].listed = 1;
    lies[22] = lies[21]; /* a key longer than what is left */
    lies[22].words = 6;
    lies[22].last_word = 9;
    lies[23] = lies[21]; /* one that is only promised: what is left is no key */
    lies[23].words = 7;
    lies[23].last_word = 1;
    for (size_t i = 0; i < 24; i++) {
        assert_int_equal(load_forged(&lies[i], &peak_bytes), LETHE_ECORRUPT);
        assert_true(peak_bytes < 16384);
    }
    struct fields many = good; /* room for many keys takes none before they come */
    many.top = LETHE_SKETCH_MAX_TOP;
    assert_ok(load_forged(&many, &peak_bytes));
    assert_true(peak_bytes < 16384);
    struct fields log_of_32 = good;
    log_of_32.kind = LETHE_SKETCH_LOG;
    log_of_32.bits = 32;
    log_of_32.words = 5;
    assert_int_equal(load_forged(&log_of_32, &peak_bytes), LETHE_ECORRUPT);
}

/* Goal:   version 2 is for what version 1 cannot say, and for nothing else.
 * Method: a FID sketch of 4 counters in FQ and 9 in IS, each of one byte, and lies about it. */
static void version_2_is_only_for_what_needs_it(void **state) {
    (void)state;
    const struct fields good = {.version = 2,
                                .kind = LETHE_SKETCH_FID,
                                .bits = 8,
                                .depth = 1,
                                .removal = 1,
                                .width = 4,
                                .is_width = 3,
                                .is_depth = 3,
                                .seed = 1,
                                .words = 3};
    size_t peak_bytes;
    assert_ok(load_forged(&good, &peak_bytes));
    struct fields lies[6];
    for (size_t i = 0; i < 6; i++)
        lies[i] = good;
    lies[0].is_depth = 0;
    lies[1].is_depth = 33;
    lies[2].is_depth = 2; /* the IS part is longer */
    lies[3].is_depth = 1; /* as deep as FQ: version 1 says that */
    lies[3].words = 2;
    lies[4].kind = LETHE_SKETCH_COUNT_MIN; /* which has no IS part */
    lies[4].is_width = 0;
    lies[4].words = 1;
    lies[5].kind = LETHE_SKETCH_LOG; /* without a DS part: version 1 */
    lies[5].is_width = lies[5].is_depth = 0;
    lies[5].words = 1;
    for (size_t i = 0; i < 6; i++) {
        if (load_forged(&lies[i], &peak_bytes) != LETHE_ECORRUPT) fail_msg("lie %zu", i);
        assert_true(peak_bytes < 16384);
    }
    struct fields log_with_ds = lies[5];
    log_with_ds.removal = LETHE_SKETCH_REMOVAL_SUBTRACTION;
    log_with_ds.words = 2;
    assert_ok(load_forged(&log_with_ds, &peak_bytes));
    log_with_ds.removal = LETHE_SKETCH_REMOVAL_COUNT_MIN;
    assert_int_equal(load_forged(&log_with_ds, &peak_bytes), LETHE_ECORRUPT);
    log_with_ds.removal = LETHE_SKETCH_REMOVAL_SUBTRACTION;
    log_with_ds.version = 1;
    assert_int_equal(load_forged(&log_with_ds, &peak_bytes), LETHE_ECORRUPT);
}

/* Goal: each failed allocation of saving, exporting, loading, importing and applying is
 *       survived. */
static void each_failed_allocation_is_survived(void **state) {
    (void)state;
    lethe_sketch *sketch = make_sample(&samples[FID_SAMPLE]), *loaded;
    lethe_memory_writer whole, part;
    save_bytes(sketch, false, &whole);
    save_bytes(sketch, true, &part);
    lethe_sketch_free(sketch);
    for (int as_export = 0; as_export < 2; as_export++) {
        lethe_status status = LETHE_ENOMEM;
        lethe_memory_writer *writer = as_export ? &part : &whole;
        size_t n = 0;
        for (; status != LETHE_OK; n++) {
            struct test_heap heap;
            test_heap_init(&heap, n);
            status = load_bytes(writer->data, writer->size, &heap.allocator, as_export, &loaded);
            assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
            assert_true((loaded != NULL) == (status == LETHE_OK));
            if (loaded != NULL) {
                /* From here on every allocation fails. */
                lethe_memory_writer unused = {0};
                heap.fail_at = heap.allocations;
                lethe_sink sink = lethe_sink_to_memory(&unused);
                assert_int_equal(as_export ? lethe_sketch_export(loaded, sink)
                                           : lethe_sketch_save(loaded, sink),
                                 LETHE_ENOMEM);
                heap.fail_at = heap.allocations;
                if (as_export)
                    assert_int_equal(apply_bytes(loaded, part.data, part.size), LETHE_ENOMEM);
                lethe_memory_writer_free(&unused);
            }
            lethe_sketch_free(loaded);
            assert_int_equal(heap.live_blocks, 0);
        }
        assert_true(n > 3);
    }
    lethe_memory_writer_free(&whole);
    lethe_memory_writer_free(&part);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_golden),
        cmocka_unit_test(an_export_answers_alike),
        cmocka_unit_test(only_what_fits_is_applied),
        cmocka_unit_test(fields_that_lie_are_refused),
        cmocka_unit_test(version_2_is_only_for_what_needs_it),
        cmocka_unit_test(each_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("sketch_format", tests, NULL, NULL);
}

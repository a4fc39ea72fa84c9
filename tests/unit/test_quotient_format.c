/* Goal:   the bytes of a saved filter stay what they are, tables that lie are refused, and mapped
 *         filters answer alike.
 * Method: golden files; payloads forged bit by bit; files that are mapped. test_structures_*.c
 *         have what all structures share: damage, other types and versions, files, lengths. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "filter/quotient/quotient.h"
#include "support/folder.h"
#include "support/golden.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/structures.h"

enum { FIELD_BYTES = 88 };

static lethe_status load_bytes(const void *data, size_t size, const lethe_allocator *allocator,
                               lethe_quotient **out) {
    lethe_memory_reader reader = {.data = data, .size = size};
    return lethe_quotient_load(lethe_source_from_memory(&reader), allocator, out);
}

/* Letters, up to four times each, pairs of letters once, and a crowd in the middle block, more
 * than it has slots. */
static lethe_quotient *make_sample(uint32_t bits) {
    lethe_quotient *filter;
    lethe_quotient_options options =
        LETHE_OPTIONS(lethe_quotient_options, .slots = 192, .remainder_bits = bits);
    assert_ok(lethe_quotient_new(&options, &filter));
    for (char key = 'a'; key <= 'z'; key++)
        assert_ok(lethe_quotient_add(filter, &key, 1, (uint64_t)(key - 'a') % 4 + 1));
    for (unsigned i = 0; i < 80; i++) {
        char key[2] = {(char)('a' + i % 26), (char)('a' + i / 26)};
        assert_ok(lethe_quotient_add(filter, key, 2, 1));
    }
    for (uint64_t i = 0; i < 40; i++)
        assert_ok(lethe_quotient_add_fingerprint(filter, ((90 + i) << bits) + i % 32, 1));
    unsigned carried = 0;
    for (unsigned block = 0; block < 8; block++)
        carried += filter->table.carry[block];
    assert_true(carried > 0);
    return filter;
}

/* Method: the bytes of version 1, once written and kept: what we write must be the same, and what
 *         we read
 * from them must answer alike. */
static void the_bytes_are_golden(void **state) {
    (void)state;
    static const char *const names[] = {"quotient-8-v1.bin", "quotient-21-v1.bin"};
    static const uint32_t widths[] = {8, 21};
    for (int i = 0; i < 2; i++) {
        lethe_quotient *filter = make_sample(widths[i]);
        lethe_memory_writer writer = {0};
        assert_ok(lethe_quotient_save(filter, lethe_sink_to_memory(&writer)));
        golden_check(names[i], writer.data, writer.size);
        lethe_quotient_free(filter);
        lethe_memory_writer_free(&writer);

        size_t size;
        void *golden = golden_read(names[i], &size);
        assert_ok(load_bytes(golden, size, NULL, &filter));
        for (char key = 'a'; key <= 'z'; key++)
            assert_int_equal(lethe_quotient_count(filter, &key, 1), (key - 'a') % 4 + 1);
        assert_int_equal(lethe_quotient_test(filter, "absent", 6), 0);
        assert_int_equal(quotient_stats(filter).total, 63 + 80 + 40);
        lethe_quotient_free(filter);
        free(golden);
    }
}

static lethe_status load_forged(const unsigned char *payload, size_t size, size_t *peak_bytes) {
    return forge_load(&structure_quotient, 1, payload, size, peak_bytes, NULL);
}

/* Goal: a table that this library would not have made is refused, whichever bit of it lies, and so
 *       are fields that lie.
 * Method: under a correct checksum, each bit of a payload is flipped. Those of seed and plan may be
 *         anything,
 * and a remainder may become another that is in order, but nothing else may. */
static void payloads_that_lie_are_refused(void **state) {
    (void)state;
    lethe_quotient *filter = make_sample(8);
    lethe_memory_writer writer = {0};
    assert_ok(lethe_quotient_save(filter, lethe_sink_to_memory(&writer)));
    size_t size = writer.size - LETHE_FRAME_OVERHEAD_BYTES, peak_bytes;
    unsigned char *payload = (unsigned char *)writer.data + LETHE_FRAME_HEADER_BYTES;
    assert_ok(load_forged(payload, size, &peak_bytes));
    size_t remainders = FIELD_BYTES, marks = remainders + (size_t)8 * 64;
    unsigned accepted = 0;
    for (size_t bit = 0; bit < 8 * size; bit++) {
        size_t byte = bit / 8;
        payload[byte] ^= (unsigned char)(1 << bit % 8);
        lethe_status status = load_forged(payload, size, &peak_bytes);
        assert_true(status == LETHE_OK || status == LETHE_ECORRUPT);
        assert_true(peak_bytes < 65536);
        bool is_free = (byte >= 16 && byte < 48) || (byte >= remainders && byte < marks);
        bool is_count = byte >= size - 16 * filter->counts.used;
        assert_true(status == LETHE_ECORRUPT || is_free || is_count);
        accepted += status == LETHE_OK;
        payload[byte] ^= (unsigned char)(1 << bit % 8);
    }
    assert_true(accepted > 0);
    static const uint64_t sizes[] = {
        0, 1, 63, 65, 128, UINT64_C(1) << 41, UINT64_MAX & ~UINT64_C(63)};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        memcpy(payload, &sizes[i], 8);
        assert_int_equal(load_forged(payload, size, &peak_bytes), LETHE_ECORRUPT);
        assert_true(peak_bytes < 65536);
    }
    lethe_quotient_free(filter);
    lethe_memory_writer_free(&writer);
}

/* Goal: a mapped filter answers as the one that was saved, refuses to change, merges and copies. */
static void a_mapped_file_is_a_filter(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    char path[300];
    snprintf(path, sizeof path, "%s/filter", folder.path);
    static const uint32_t widths[] = {1, 8, 13, 16, 40};
    for (size_t w = 0; w < 5; w++) {
        lethe_quotient *filter, *mapped, *copy;
        lethe_quotient_options options =
            LETHE_OPTIONS(lethe_quotient_options, .slots = 6400, .remainder_bits = widths[w]);
        assert_ok(lethe_quotient_new(&options, &filter));
        struct test_random random = {.state = w};
        while (lethe_quotient_add_hash(filter, (lethe_hash){.high = test_random_next(&random)},
                                       1 + test_random_below(&random, 3)) == LETHE_OK) {
        }
        assert_ok(lethe_quotient_save_file(filter, path, NULL));
        assert_ok(lethe_quotient_map_file(path, NULL, &mapped, NULL));
        assert_ok(lethe_quotient_save_file(filter, path, NULL)); /* replaced: the mapping stays */
        random.state = w;
        for (int i = 0; i < 20000; i++) {
            lethe_hash hash = {.high = test_random_next(&random)};
            assert_int_equal(lethe_quotient_count_hash(mapped, hash),
                             lethe_quotient_count_hash(filter, hash));
        }
        assert_true(quotient_stats(mapped).read_only);
        assert_int_equal(lethe_quotient_add(mapped, "a", 1, 1), LETHE_EINVAL);
        assert_int_equal(lethe_quotient_remove(mapped, "a", 1, 1), LETHE_EINVAL);
        assert_int_equal(lethe_quotient_clear(mapped), LETHE_EINVAL);
        assert_int_equal(lethe_quotient_double(mapped), LETHE_EINVAL);
        assert_int_equal(lethe_quotient_halve(mapped), LETHE_EINVAL);
        assert_int_equal(lethe_quotient_merge(mapped, filter), LETHE_EINVAL);
        assert_int_equal(lethe_quotient_add_batch(mapped, &(lethe_hash){0}, 1, NULL), LETHE_EINVAL);
        assert_ok(lethe_quotient_copy(mapped, &copy));
        assert_memory_equal(copy->table.remainders, filter->table.remainders,
                            filter->shape.memory_bytes);
        assert_ok(lethe_quotient_clear(copy));
        lethe_quotient_free(copy);
        if (widths[w] > 2) {
            const lethe_quotient *two[] = {mapped, filter};
            assert_ok(lethe_quotient_new_merged(two, 2, &copy));
            assert_int_equal(quotient_stats(copy).total, 2 * quotient_stats(filter).total);
            lethe_quotient_free(copy);
        }
        lethe_quotient_free(mapped);
        lethe_quotient_free(filter);
    }
    lethe_quotient *mapped;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 5000, SEEK_SET), 0);
    fputc(0x5a ^ fgetc(file), file);
    fclose(file);
    assert_int_equal(lethe_quotient_map_file(path, NULL, &mapped, NULL), LETHE_ECORRUPT);
    file = fopen(path, "wb"); /* empty */
    fclose(file);
    assert_int_equal(lethe_quotient_map_file(path, NULL, &mapped, NULL), LETHE_ECORRUPT);
    assert_int_equal(lethe_quotient_map_file(folder.path, NULL, &mapped, NULL), LETHE_EINVAL);
    assert_int_equal(lethe_quotient_map_file("/no/such/file", NULL, &mapped, NULL),
                     LETHE_ENOTFOUND);
    assert_null(mapped);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_golden),
        cmocka_unit_test(payloads_that_lie_are_refused),
        cmocka_unit_test(a_mapped_file_is_a_filter),
    };
    return cmocka_run_group_tests_name("quotient_format", tests, NULL, NULL);
}

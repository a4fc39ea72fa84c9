/* Goal:   the bytes of a saved window stay what they are, and fields that lie are refused.
 * Method: golden files; fields forged one by one. test_structures_*.c have what all structures
 *         share: damage, other types and versions, files, lengths. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/codec.h"
#include "lethe/window.h"
#include "support/golden.h"
#include "support/reports.h"
#include "support/structures.h"
#include "window/chain.h"

enum { WINDOW_MS = 14000, SAMPLE_IDS = 100 };

static lethe_hash hash_of(uint64_t id) {
    return lethe_hash_u64(LETHE_DEFAULT_SEED, id);
}

static lethe_status load_bytes(const void *data, size_t size, const lethe_allocator *allocator,
                               lethe_window **out) {
    lethe_memory_reader reader = {.data = data, .size = size};
    return lethe_window_load(lethe_source_from_memory(&reader), allocator, out);
}

/* Some ids of each of twenty periods: five of these have expired. */
static lethe_window *make_sample(lethe_window_kind kind, uint32_t stripes) {
    lethe_window *window;
    lethe_window_options options =
        LETHE_OPTIONS(lethe_window_options, .kind = kind, .window_ms = WINDOW_MS, .error = 0.001,
                      .capacity = 50, .stripes = stripes);
    assert_ok(lethe_window_new(&options, &window));
    for (uint64_t id = 0; id < SAMPLE_IDS; id++)
        assert_ok(lethe_window_add(window, hash_of(id), 1000000 + id * 200));
    return window;
}

static void save(const lethe_window *window, lethe_memory_writer *writer) {
    *writer = (lethe_memory_writer){0};
    assert_ok(lethe_window_save(window, lethe_sink_to_memory(writer)));
}

/* Method: the bytes of each version, once written and kept: what we write must be the same as the
 *         latest, and what we read
 * from them must answer alike. The last was written when the sweep took 63 periods for a lap. */
static void the_bytes_are_golden(void **state) {
    (void)state;
    static const char *const names[] = {"window-quotient-v2.bin", "window-bloom-v2.bin",
                                        "window-quotient-laps-v1.bin", "window-bloom-v1.bin",
                                        "window-quotient-v1.bin"};
    for (int i = 0; i < 5; i++) {
        int kind = i % 2;
        lethe_window *window = make_sample((lethe_window_kind)kind, 0);
        lethe_memory_writer writer;
        save(window, &writer);
        if (i < 2) golden_check(names[i], writer.data, writer.size);
        lethe_window_free(window);
        lethe_memory_writer_free(&writer);

        size_t size;
        void *golden = golden_read(names[i], &size);
        assert_ok(load_bytes(golden, size, NULL, &window));
        uint64_t now_ms = 1000000 + (SAMPLE_IDS - 1) * 200;
        for (uint64_t id = SAMPLE_IDS - WINDOW_MS / 200; id < SAMPLE_IDS; id++)
            assert_int_equal(lethe_window_test(window, hash_of(id), now_ms),
                             LETHE_ANSWER_DUPLICATE);
        assert_int_equal(lethe_window_test(window, hash_of(5), now_ms), LETHE_ANSWER_FRESH);
        lethe_window_stats stats = window_stats(window, now_ms);
        assert_int_equal(stats.kind, kind);
        assert_int_equal(stats.window_ms, WINDOW_MS);
        assert_int_equal(stats.clock_ms, now_ms);
        lethe_window_free(window);
        free(golden);
    }
}

/* Goal: a window goes through a file and back, and is the same. */
static void a_file_keeps_it_all(void **state) {
    (void)state;
    char path[] = "/tmp/lethe-window-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    for (int kind = 0; kind < 2; kind++) {
        lethe_window *window = make_sample((lethe_window_kind)kind, 4), *loaded;
        assert_ok(lethe_window_save_file(window, path, NULL));
        assert_ok(lethe_window_load_file(path, NULL, &loaded, NULL));
        lethe_memory_writer first, second;
        save(window, &first);
        save(loaded, &second);
        assert_int_equal(first.size, second.size);
        assert_memory_equal(first.data, second.data, first.size);
        lethe_memory_writer_free(&first);
        lethe_memory_writer_free(&second);
        lethe_window_free(window);
        lethe_window_free(loaded);
    }
    remove(path);
    lethe_window *window = (lethe_window *)path;
    assert_int_not_equal(lethe_window_load_file(path, NULL, &window, NULL), LETHE_OK);
    assert_null(window);
}

/* Puts a payload under a right checksum and loads it; peak_bytes is what that allocated. */
static lethe_status load_payload(const unsigned char *payload, size_t size, size_t *peak_bytes) {
    return forge_load(&structure_window, 2, payload, size, peak_bytes, NULL);
}

/* Where the fields of a payload of one stripe of the quotient kind are: docs/format/window.md. */
enum {
    KIND = 0,
    STRIPES = 4,
    WINDOW = 8,
    ERROR = 16,
    SLACK = 24,
    CAPACITY = 32,
    SEED = 48,
    POLICY = 56,
    REFRESH = 60,
    ZERO = 64,
    STRIPE_SIZE = 72,
    CLOCK = 80,
    CAPPED = 128,
    PARTS = 136,
    REPEATS = 144,
    BITS = 152,
    BLOCK_BYTES = 160,
    GENERATIONS = 168,
    SLABS = 176,
    BLOCKS = 184,
    PART_CAPACITY = 192,
    PERIOD = 200,
    SWEEP = 208,
    ALLOCATED = 216,
    MAP = 224,
    FIRST_BLOCK = 232,
    HEAD = FIRST_BLOCK + 54, /* of a block of 64 bytes for 27 entries */
    AGES = FIRST_BLOCK + 56
};

static size_t sample_payload(unsigned char **payload) {
    lethe_window *window = make_sample(LETHE_WINDOW_QUOTIENT, 0);
    lethe_memory_writer writer;
    save(window, &writer);
    size_t size = writer.size - LETHE_FRAME_OVERHEAD_BYTES;
    *payload = malloc(size);
    assert_non_null(*payload);
    memcpy(*payload, (unsigned char *)writer.data + LETHE_FRAME_HEADER_BYTES, size);
    lethe_window_free(window);
    lethe_memory_writer_free(&writer);
    return size;
}

static lethe_status load_with(size_t at, uint64_t value, size_t width) {
    unsigned char *payload;
    size_t size = sample_payload(&payload), peak_bytes;
    memcpy(payload + at, &value, width);
    lethe_status status = load_payload(payload, size, &peak_bytes);
    assert_true(peak_bytes < 65536);
    free(payload);
    return status;
}

/* Goal: fields that lie are refused, and can't make the loader allocate more than the file
 *       holds. */
static void fields_that_lie_are_refused(void **state) {
    (void)state;
    static const struct {
        size_t at;
        uint64_t value;
        size_t width;
    } lies[] = {
        {KIND, 2, 4},
        {KIND, 1, 4},
        {STRIPES, 3, 4},
        {STRIPES, 2, 4},
        {STRIPES, 128, 4},
        {WINDOW, 0, 8},
        {WINDOW, 999, 8},
        {WINDOW, UINT64_MAX, 8},
        {ERROR, 0, 8},
        {ERROR, UINT64_MAX, 8}, /* not a number */
        {SLACK, 0, 8},
        {SLACK, UINT64_MAX, 8},
        {SLACK, UINT64_C(0x3f947ae147ae147b), 8}, /* 0.02: another number of generations */
        {CAPACITY, UINT64_MAX, 8},
        {SEED, 0, 8},
        {POLICY, 2, 4},
        {REFRESH, 2, 4},
        {ZERO, 1, 8},
        {STRIPE_SIZE, 0, 8},
        {STRIPE_SIZE, UINT64_MAX, 8},
        {CLOCK, UINT64_MAX, 8},
        {CLOCK, 0, 8}, /* not the period of the part */
        {CAPPED, 2, 8},
        {PARTS, 0, 8},
        {PARTS, 2, 8},
        {PARTS, UINT64_MAX, 8},
        {REPEATS, UINT64_MAX, 8},
        {BITS, 0, 8},
        {BITS, 58, 8},
        {BITS, UINT64_C(1) << 32 | 16, 8},
        {BLOCK_BYTES, 0, 8},
        {BLOCK_BYTES, 48, 8},
        {BLOCK_BYTES, 128, 8},
        {BLOCK_BYTES, UINT64_C(1) << 32 | 64, 8},
        {GENERATIONS, 0, 8},
        {GENERATIONS, 29, 8},
        {SLABS, 0, 8},
        {SLABS, UINT64_MAX, 8},
        {SLABS, UINT64_C(1) << 20, 8},
        {BLOCKS, 0, 8},
        {BLOCKS, 1, 8},
        {BLOCKS, 1000, 8},
        {BLOCKS, UINT64_MAX, 8},
        {PART_CAPACITY, 0, 8},
        {PART_CAPACITY, 1000000, 8},
        {PART_CAPACITY, UINT64_MAX, 8},
        {PERIOD, 0, 8},
        {SWEEP, UINT64_MAX, 8},
        {ALLOCATED, 0, 8},
        {ALLOCATED, 2, 8},
        {ALLOCATED, UINT64_MAX, 8},
        {MAP, 0, 8},
        {MAP, 2, 8},
        {MAP, 3, 8},
        {HEAD, 27 << 3, 1},    /* a slot that is not there */
        {AGES, UINT64_MAX, 8}, /* 64 entries in a block of 27 */
        {AGES, (UINT64_C(1) << 28) - 1, 8},
        {AGES, UINT64_C(1) << 31, 8}, /* an entry older than can be */
    };
    assert_ok(load_with(STRIPES, 0, 4));
    assert_ok(load_with(BITS, 16, 8));
    assert_ok(load_with(BLOCK_BYTES, 64, 8));
    assert_ok(load_with(AGES, 1, 8));
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        lethe_status status = load_with(lies[i].at, lies[i].value, lies[i].width);
        if (status != LETHE_ECORRUPT) fail_msg("lie %zu: status %d", i, status);
    }
}

/* A list of slabs far longer than the data asks for memory that is not there. */
static void allocation_is_bounded_by_the_file(void **state) {
    (void)state;
    unsigned char *payload;
    size_t size = sample_payload(&payload), peak_bytes;
    const uint64_t slabs = 2000, allocated = 0, blocks = 32768, capacity = UINT64_C(50000000);
    unsigned char *forged = calloc(1, MAP + slabs / 8 + 8);
    assert_non_null(forged);
    memcpy(forged, payload, MAP);
    memcpy(forged + SLABS, &slabs, 8);
    memcpy(forged + BLOCKS, &blocks, 8);
    memcpy(forged + PART_CAPACITY, &capacity, 8);
    memcpy(forged + ALLOCATED, &allocated, 8);
    size_t forged_size = MAP + (slabs + 63) / 64 * 8;
    uint64_t stripe_size = forged_size - CLOCK;
    memcpy(forged + STRIPE_SIZE, &stripe_size, 8);
    /* That is a large empty part, as one that was hinted would be: fine, but a list and no
     * more. */
    assert_ok(load_payload(forged, forged_size, &peak_bytes));
    assert_true(peak_bytes < 65536);
    free(forged);
    free(payload);
    (void)size;
}

/* A bit of the file for each slab that is not there, and a pointer in memory: of one part that is
 * little, but a file may have many. */
static void lists_are_bounded_together(void **state) {
    (void)state;
    enum { MOST_PARTS = 4, PART_BYTES = MAP - BITS };
    const uint64_t slabs = UINT64_C(1) << 22, allocated = 0, blocks = 32768,
                   capacity = UINT64_C(1) << 36, part_bytes = PART_BYTES + slabs / 8;
    unsigned char *payload;
    size_t size = sample_payload(&payload), peak_bytes;
    unsigned char *forged = calloc(1, BITS + MOST_PARTS * part_bytes);
    assert_non_null(forged);
    memcpy(forged, payload, BITS);
    memcpy(payload + SLABS, &slabs, 8);
    memcpy(payload + BLOCKS, &blocks, 8);
    memcpy(payload + PART_CAPACITY, &capacity, 8);
    memcpy(payload + ALLOCATED, &allocated, 8);
    for (uint64_t parts = 1; parts <= MOST_PARTS; parts++) {
        memcpy(forged + BITS + (parts - 1) * part_bytes, payload + BITS, PART_BYTES);
        memcpy(forged + PARTS, &parts, 8);
        size_t forged_size = BITS + parts * part_bytes;
        uint64_t stripe_size = forged_size - CLOCK;
        memcpy(forged + STRIPE_SIZE, &stripe_size, 8);
        lethe_status status = load_payload(forged, forged_size, &peak_bytes);
        assert_int_equal(status, parts == 1 ? LETHE_OK : LETHE_ECORRUPT);
        assert_true(peak_bytes < 9 * slabs);
    }
    free(forged);
    free(payload);
    (void)size;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_golden),
        cmocka_unit_test(a_file_keeps_it_all),
        cmocka_unit_test(fields_that_lie_are_refused),
        cmocka_unit_test(allocation_is_bounded_by_the_file),
        cmocka_unit_test(lists_are_bounded_together),
    };
    return cmocka_run_group_tests_name("window_format", tests, NULL, NULL);
}

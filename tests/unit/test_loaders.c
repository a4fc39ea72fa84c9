/* Goal:   no file makes its loader take time out of proportion to its length, whoever wrote it.
 * Method: files whose fingerprints or keys were chosen to fall on few places of a hash table
 *         with a fixed function, and files whose sizes don't fit what they hold. CPU time is
 *         compared with that of an ordinary file as long, with a margin of 20: what is quadratic
 *         takes hundreds of times as long. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/codec.h"
#include "filter/cascade/table.h"
#include "lethe/hash.h"
#include "lethe/quotient.h"
#include "lethe/sketch.h"
#include "lethe/window.h"
#include "support/reports.h"

/* What measuring may be wrong by, and a page fault or two. */
#define LEAST_SECONDS 0.02
#define MARGIN 20

static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void assert_in_proportion(double chosen_seconds, double ordinary_seconds) {
    if (chosen_seconds <= MARGIN * ordinary_seconds + LEAST_SECONDS) return;
    fail_msg("%.3f s, and an ordinary one %.3f s", chosen_seconds, ordinary_seconds);
}

static int compare_numbers(const void *a, const void *b) {
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

/* The number by which 0x9e3779b97f4a7c15 must be multiplied to give one. */
static uint64_t inverse_of_golden_ratio(void) {
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t inverse = golden;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - golden * inverse;
    return inverse;
}

enum { FINGERPRINTS = 30000, REMAINDER_BITS = 40 };

/* Loads a filter of fingerprints that are there three times each, and returns how long that
 * took. Chosen ones begin at one place if that is the upper part of (f ^ f >> 32) times the
 * golden ratio. */
static double load_counts(bool is_chosen) {
    static uint64_t fingerprints[FINGERPRINTS];
    lethe_quotient *filter, *loaded;
    assert_ok(lethe_quotient_new(
        &LETHE_OPTIONS(lethe_quotient_options, .slots = 1 << 16, .remainder_bits = REMAINDER_BITS),
        &filter));
    uint64_t most = quotient_shape(filter).max_fingerprint, next = 1;
    for (size_t i = 0; i < FINGERPRINTS; next++) {
        uint64_t scattered = next * inverse_of_golden_ratio();
        uint64_t fingerprint =
            is_chosen ? scattered ^ scattered >> 32 : lethe_hash_u64(1, next).low >> 8;
        if (fingerprint <= most) fingerprints[i++] = fingerprint;
    }
    qsort(fingerprints, FINGERPRINTS, sizeof fingerprints[0], compare_numbers);
    for (size_t i = 0; i < FINGERPRINTS; i++)
        assert_ok(lethe_quotient_add_fingerprint(filter, fingerprints[i], 3));
    lethe_memory_writer writer = {0};
    assert_ok(lethe_quotient_save(filter, lethe_sink_to_memory(&writer)));
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    double start = cpu_seconds();
    assert_ok(lethe_quotient_load(lethe_source_from_memory(&reader), NULL, &loaded));
    double seconds = cpu_seconds() - start;
    assert_int_equal(quotient_stats(loaded).counted, FINGERPRINTS);
    lethe_quotient_free(filter);
    lethe_quotient_free(loaded);
    lethe_memory_writer_free(&writer);
    return seconds;
}

static void counts_of_chosen_fingerprints_load_in_time(void **state) {
    (void)state;
    double ordinary_seconds = load_counts(false);
    assert_in_proportion(load_counts(true), ordinary_seconds);
}

enum { TOP = 1 << 14, KEPT = 2 * TOP, KEPT_SLOTS = 2 * KEPT };

/* The same for a sketch and its list of keys. Chosen keys have hashes whose lower bits are much
 * alike. */
static double load_top(bool is_chosen) {
    lethe_sketch *sketch, *loaded;
    assert_ok(lethe_sketch_new(
        &LETHE_OPTIONS(lethe_sketch_options, .top = TOP, .memory_bytes = 1 << 16), &sketch));
    double start = cpu_seconds();
    for (uint64_t key = 0, kept = 0; kept < KEPT; key++) {
        uint64_t high = lethe_hash_u64(LETHE_DEFAULT_SEED, key).high;
        if (is_chosen && (high & (KEPT_SLOTS - 1)) >= 1024) continue;
        assert_ok(lethe_sketch_add(sketch, &key, sizeof key, 1));
        kept++;
    }
    lethe_memory_writer writer = {0};
    assert_ok(lethe_sketch_save(sketch, lethe_sink_to_memory(&writer)));
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    start = cpu_seconds();
    assert_ok(lethe_sketch_load(lethe_source_from_memory(&reader), NULL, &loaded));
    double seconds = cpu_seconds() - start;
    lethe_sketch_free(sketch);
    lethe_sketch_free(loaded);
    lethe_memory_writer_free(&writer);
    return seconds;
}

static void a_list_of_chosen_keys_loads_in_time(void **state) {
    (void)state;
    double ordinary_seconds = load_top(false);
    assert_in_proportion(load_top(true), ordinary_seconds);
}

/* Removals of words that have not been added are what a table of a cascade keeps beside its
 * words. A log that is replayed may have any. */
static double fill_extras(bool is_chosen) {
    enum { HOMES = 1 << 19, WORDS = 30000, BITS = 62 };
    struct lethe_cascade_table table;
    uint64_t slots = lethe_cascade_table_slots(HOMES);
    uint64_t *memory = malloc(slots * sizeof *memory);
    assert_non_null(memory);
    lethe_cascade_table_init(&table, (struct lethe_cascade_words){.bits = BITS, .tag_bits = 1},
                             HOMES, memory, NULL);
    double start = cpu_seconds();
    for (uint64_t next = 1, done = 0; done < WORDS; next++) {
        /* Odd, and in their product with the golden ratio bits 20 to 40 are nearly zero. */
        uint64_t product = lethe_hash_u64(1, next).low & ~(UINT64_C(0xfffff) << 20);
        uint64_t word =
            is_chosen ? product * inverse_of_golden_ratio() : lethe_hash_u64(2, next).low;
        if (is_chosen && (word & 1) == 0) continue;
        word = (word & ((UINT64_C(1) << BITS) - 1)) & ~UINT64_C(1);
        if (is_chosen && (word | 1) * UINT64_C(0x9e3779b97f4a7c15) >> 20 & 0xfffff) continue;
        lethe_status status = lethe_cascade_table_apply(&table, word, true);
        assert_ok(status);
        done++;
    }
    double seconds = cpu_seconds() - start;
    lethe_cascade_table_drop(&table);
    free(memory);
    return seconds;
}

static void chosen_removals_are_replayed_in_time(void **state) {
    (void)state;
    double ordinary_seconds = fill_extras(false);
    assert_in_proportion(fill_extras(true), ordinary_seconds);
}

/* Payload of a window of one part without entries that says it has so many tiny slabs, all
 * of them there. */
static size_t tiny_slabs(uint64_t slabs, unsigned char **payload) {
    enum { SLABS = 176, BLOCKS = 184, CAPACITY = 192, ALLOCATED = 216, MAP = 224, CLOCK = 80 };
    lethe_window *window;
    assert_ok(lethe_window_new(
        &LETHE_OPTIONS(lethe_window_options, .window_ms = 60000, .error = 1e-3), &window));
    lethe_memory_writer writer = {0};
    assert_ok(lethe_window_save(window, lethe_sink_to_memory(&writer)));
    uint64_t block_bytes, blocks = 2;
    const unsigned char *sample = (unsigned char *)writer.data + LETHE_FRAME_HEADER_BYTES;
    memcpy(&block_bytes, sample + 160, 8);
    size_t map_bytes = slabs / 64 * 8;
    size_t size = MAP + map_bytes + slabs * blocks * block_bytes;
    *payload = calloc(1, size);
    assert_non_null(*payload);
    memcpy(*payload, sample, MAP);
    memcpy(*payload + SLABS, &slabs, 8);
    memcpy(*payload + BLOCKS, &blocks, 8);
    memcpy(*payload + CAPACITY, &slabs, 8);
    memcpy(*payload + ALLOCATED, &slabs, 8);
    uint64_t stripe_bytes = size - CLOCK;
    memcpy(*payload + CLOCK - 8, &stripe_bytes, 8);
    memset(*payload + MAP, 0xff, map_bytes);
    lethe_window_free(window);
    lethe_memory_writer_free(&writer);
    return size;
}

/* Slabs have 2 MiB and more. A list of far smaller ones is not a window's, and is refused
 * before it is made. */
static void a_window_of_tiny_slabs_is_refused(void **state) {
    (void)state;
    unsigned char *payload;
    size_t size = tiny_slabs(1 << 16, &payload);
    lethe_memory_writer writer = {0};
    lethe_encoder *encoder;
    assert_ok(lethe_encoder_begin(lethe_sink_to_memory(&writer), "WIND", 2, size, NULL, &encoder));
    lethe_encoder_put_bytes(encoder, payload, size);
    assert_ok(lethe_encoder_end(encoder));
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    lethe_window *loaded;
    assert_int_equal(lethe_window_load(lethe_source_from_memory(&reader), NULL, &loaded),
                     LETHE_ECORRUPT);
    lethe_memory_writer_free(&writer);
    free(payload);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_chosen_fingerprints_load_in_time),
        cmocka_unit_test(a_list_of_chosen_keys_loads_in_time),
        cmocka_unit_test(chosen_removals_are_replayed_in_time),
        cmocka_unit_test(a_window_of_tiny_slabs_is_refused),
    };
    return cmocka_run_group_tests_name("loaders", tests, NULL, NULL);
}

/* Goal:   the bytes of a saved forgetful filter stay what they are, and broken invariants are
 *         refused.
 * Method: golden files; fields forged one by one. test_structures_*.c have what all structures
 *         share: damage, other types and versions, files, lengths. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "lethe/forgetful.h"
#include "support/golden.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/structures.h"

enum { HEAD_BYTES = 208 };

static lethe_status load_bytes(const void *data, size_t size, const lethe_allocator *allocator,
                               lethe_forgetful **out) {
    lethe_memory_reader reader = {.data = data, .size = size};
    return lethe_forgetful_load(lethe_source_from_memory(&reader), allocator, out);
}

static lethe_hash hash_of(uint64_t key) {
    return lethe_hash_u64(LETHE_DEFAULT_SEED, key);
}

/* A filter of any setting with a few periods behind it. */
static lethe_forgetful *make_sample(int setting) {
    lethe_forgetful *filter;
    lethe_forgetful_options options =
        LETHE_OPTIONS(lethe_forgetful_options, .window_ms = 10000, .error = 0.01);
    if (setting == 1) {
        options = LETHE_OPTIONS(lethe_forgetful_options, .setting = LETHE_FORGETFUL_PAPER,
                                .bits = 300, .hashes = 3, .past = 2, .period_ms = 2000,
                                .salted = true, .adapt = 1, .window_ms = 6000);
    }
    if (setting == 2) {
        options = LETHE_OPTIONS(lethe_forgetful_options, .setting = LETHE_FORGETFUL_PRINTED,
                                .bits = 300, .hashes = 3, .period_ms = 2000, .adapt = 3);
    }
    assert_ok(lethe_forgetful_new(&options, &filter));
    for (uint64_t key = 0; key < 60; key++)
        assert_ok(lethe_forgetful_add(filter, hash_of(key), 1000 + key * 50));
    forgetful_work(filter, 3950, 8);
    return filter;
}

/* Method: the bytes of version 1, once written and kept: what we write must be the same, and what
 * we read from them must answer alike. */
static void the_bytes_are_golden(void **state) {
    (void)state;
    static const char *const names[] = {"forgetful-elastic-v1.bin", "forgetful-paper-v1.bin",
                                        "forgetful-printed-v1.bin"};
    for (int setting = 0; setting < 3; setting++) {
        lethe_forgetful *filter = make_sample(setting);
        lethe_memory_writer writer = {0};
        assert_ok(lethe_forgetful_save(filter, lethe_sink_to_memory(&writer)));
        golden_check(names[setting], writer.data, writer.size);
        lethe_memory_writer_free(&writer);

        size_t size;
        void *golden = golden_read(names[setting], &size);
        lethe_forgetful *loaded;
        assert_ok(load_bytes(golden, size, NULL, &loaded));
        for (uint64_t key = 0; key < 60; key++)
            assert_true(lethe_forgetful_test(loaded, hash_of(key), 3950));
        /* They go on alike: same answers, same sizes, same salts. */
        for (uint64_t key = 100; key < 3000; key++) {
            lethe_answer a, b;
            assert_ok(lethe_forgetful_add_and_test(filter, hash_of(key), 3000 + key * 3, &a));
            assert_ok(lethe_forgetful_add_and_test(loaded, hash_of(key), 3000 + key * 3, &b));
            assert_int_equal(a, b);
        }
        lethe_forgetful_stats a = forgetful_stats(filter, 0), b = forgetful_stats(loaded, 0);
        assert_int_equal(a.filters, b.filters);
        assert_int_equal(a.fresh, b.fresh);
        assert_true(a.error_estimate == b.error_estimate);
        lethe_forgetful_free(filter);
        lethe_forgetful_free(loaded);
        free(golden);
    }
}

static lethe_memory_writer saved(const lethe_forgetful *filter) {
    lethe_memory_writer writer = {0};
    assert_ok(lethe_forgetful_save(filter, lethe_sink_to_memory(&writer)));
    return writer;
}

/* A burst, a trickle or a pause, the same for both; they answer alike. */
static void load_both(lethe_forgetful *filter, lethe_forgetful *loaded, struct test_random *random,
                      uint64_t *now_ms) {
    uint64_t ids = test_random_below(random, 3) == 0 ? 20000 : 300;
    uint64_t pace = test_random_below(random, 4);
    if (test_random_below(random, 8) == 0) *now_ms += test_random_below(random, 25000);
    for (uint64_t i = 0; i < ids; i++) {
        lethe_hash id = hash_of(test_random_next(random));
        lethe_answer a, b;
        *now_ms += pace == 0 ? 0 : i % (20 * pace) == 0;
        lethe_status status = lethe_forgetful_add_and_test(filter, id, *now_ms, &a);
        assert_int_equal(lethe_forgetful_add_and_test(loaded, id, *now_ms, &b), status);
        assert_int_equal(a, b);
    }
}

/* Method: random loads under small caps; a filter that is loaded now and then, and one that never
 * was, have the same bytes after each. */
static void a_loaded_filter_goes_on_alike_under_a_cap(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= TEST_SIZED(16, 4); seed++) {
        struct test_random random = {seed};
        lethe_forgetful *filter, *loaded;
        lethe_forgetful_options options =
            LETHE_OPTIONS(lethe_forgetful_options, .window_ms = 10000, .error = 1e-4,
                          .max_memory_bytes = (64 + test_random_below(&random, 400)) << 10,
                          .policy = seed % 2 == 0 ? LETHE_POLICY_REFUSE : LETHE_POLICY_DEGRADE);
        assert_ok(lethe_forgetful_new(&options, &filter));
        assert_ok(lethe_forgetful_new(&options, &loaded));
        uint64_t now_ms = 1000;
        for (int step = 0; step < 40; step++) {
            load_both(filter, loaded, &random, &now_ms);
            lethe_memory_writer one = saved(filter), other = saved(loaded);
            assert_int_equal(one.size, other.size);
            assert_memory_equal(one.data, other.data, one.size);
            lethe_forgetful_free(loaded);
            assert_ok(load_bytes(other.data, other.size, NULL, &loaded));
            lethe_memory_writer_free(&one);
            lethe_memory_writer_free(&other);
        }
        lethe_forgetful_free(filter);
        lethe_forgetful_free(loaded);
    }
}

/* Loads a payload under a frame that is right. */
static lethe_status load_payload(const unsigned char *payload, size_t size) {
    size_t peak_bytes;
    lethe_status status = forge_load(&structure_forgetful, 1, payload, size, &peak_bytes, NULL);
    assert_true(peak_bytes < 3 * size + 65536);
    return status;
}

/* The sample's payload, whole. */
static unsigned char *payload_of(int setting, size_t *size) {
    lethe_forgetful *filter = make_sample(setting);
    lethe_memory_writer writer = {0};
    assert_ok(lethe_forgetful_save(filter, lethe_sink_to_memory(&writer)));
    *size = writer.size - LETHE_FRAME_OVERHEAD_BYTES;
    unsigned char *payload = malloc(*size);
    assert_non_null(payload);
    memcpy(payload, (char *)writer.data + LETHE_FRAME_HEADER_BYTES, *size);
    lethe_memory_writer_free(&writer);
    lethe_forgetful_free(filter);
    return payload;
}

struct lie {
    int setting;
    size_t at;
    uint32_t value;
};

/* Goal: lies that would break an invariant are refused, each by its own check. */
static void broken_invariants_are_refused(void **state) {
    (void)state;
    const size_t member = HEAD_BYTES;
    const struct lie lies[] = {
        {0, 0, 3},           /* setting */
        {0, 4, 2},           /* policy */
        {0, 8, 999},         /* window */
        {0, 80, 0},          /* elastic and not salted */
        {0, 84, 1},          /* reserved */
        {0, 96, 16},         /* a flag from the future */
        {0, 100, 4097},      /* members */
        {0, 100, 0},         /* open, but no members */
        {0, 160, 1},         /* N in the elastic setting */
        {0, 164, 1},         /* reserved */
        {0, 184, 1},         /* reserved */
        {0, member + 8, 0},  /* no hashes */
        {0, member + 8, 65}, /* too many */
        {0, member + 12, 0}, /* own ids without a neighbour */
        {0, member + 12, 2}, /* neither true nor false */
        {0, member + 16, 2}, /* an even salt */
        {0, member + 24, 0}, /* fewer ids than own ids */
        {0, member + 48, 0}, /* ends before it begins */
        {0, member + 64, 1}, /* reserved */
        {1, 160, 0},         /* N = 0 */
        {1, 160, 4000},      /* more than there are members */
        {1, 168, 999},       /* a period that does not adapt and differs */
        {1, member, 299},    /* another m than the rest */
        {1, member + 8, 4},  /* another k */
        {1, 96, 1},          /* open, in the paper's setting */
        {2, 8, 4000},        /* printed, with a window */
        {2, 80, 1},          /* printed and salted */
        {2, member + 16, 3}, /* the same, in a member */
        {2, member, 299},    /* another m than the rest */
    };
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        size_t size;
        unsigned char *payload = payload_of(lies[i].setting, &size);
        assert_ok(load_payload(payload, size));
        memcpy(payload + lies[i].at, &lies[i].value, 4);
        if (load_payload(payload, size) != LETHE_ECORRUPT) fail_msg("lie %zu was believed", i);
        free(payload);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_golden),
        cmocka_unit_test(a_loaded_filter_goes_on_alike_under_a_cap),
        cmocka_unit_test(broken_invariants_are_refused),
    };
    return cmocka_run_group_tests_name("forgetful_format", tests, NULL, NULL);
}

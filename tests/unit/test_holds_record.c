/* Goal:   the records of holds are read back as they were written, their bytes never change, and no
 *         bytes that are not theirs are believed. A store that never had one writes what it wrote.
 * Method: round trips at the edges; golden files; each field that can be wrong, each length. */
#include "support/test.h"

#include <string.h>

#include "engine/claims/record.h"
#include "engine/holds/record.h"
#include "support/golden.h"

static const char key[LETHE_KEY_LIMIT_BYTES] = "a key";

static const lethe_hold_record samples[] = {
    {.state = LETHE_HOLD_IS_OPEN,
     .deadline_ms = 1000,
     .wall_ms = 1700000000000,
     .amount = 60,
     .max = -100,
     .key = {key, 5}},
    {.state = LETHE_HOLD_IS_SETTLED,
     .place = 8,
     .number = UINT64_MAX,
     .deadline_ms = UINT64_MAX - 1,
     .ended_ms = 7,
     .wall_ms = 2,
     .amount = INT64_MAX,
     .max = INT64_MAX,
     .actual = INT64_MAX,
     .key = {key, LETHE_KEY_LIMIT_BYTES}},
    {.state = LETHE_HOLD_IS_RELEASED, .number = 1, .ended_ms = 3, .amount = 1, .key = {key, 1}},
    {.state = LETHE_HOLD_IS_LAPSED, .number = 1, .amount = 1, .key = {key, 1}},
};

static void holds_come_back(void **state) {
    (void)state;
    static const char *const names[] = {"hold-open-v1.bin", "hold-settled-v1.bin"};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        unsigned char bytes[LETHE_HOLD_RECORD_LIMIT_BYTES];
        lethe_hold_record back;
        size_t size = lethe_hold_store(bytes, &samples[i]);
        if (i < 2) golden_check(names[i], bytes, size);
        assert_ok(lethe_hold_load((lethe_bytes){bytes, size}, &back));
        assert_int_equal(back.key.size, samples[i].key.size);
        assert_memory_equal(back.key.data, samples[i].key.data, back.key.size);
        back.key = samples[i].key;
        assert_memory_equal(&back, &samples[i], sizeof back);
        for (size_t cut = 0; cut < size; cut++)
            assert_int_equal(lethe_hold_load((lethe_bytes){bytes, cut}, &back), LETHE_ECORRUPT);
    }
}

static void no_other_bytes_are_believed(void **state) {
    (void)state;
    /* Which byte of which sample, and what it can't be. */
    static const struct {
        unsigned sample, at;
        unsigned char byte;
        lethe_status status;
    } wrong[] = {
        {0, 0, 0, LETHE_ECORRUPT},    {0, 0, 2, LETHE_EVERSION},    {0, 1, 0, LETHE_ECORRUPT},
        {0, 1, 5, LETHE_ECORRUPT},    {0, 1, 3, LETHE_ECORRUPT},    {0, 2, 9, LETHE_ECORRUPT},
        {0, 3, 1, LETHE_ECORRUPT},    {0, 4, 6, LETHE_ECORRUPT},    {0, 4, 0, LETHE_ECORRUPT},
        {0, 6, 1, LETHE_ECORRUPT},    {0, 8, 1, LETHE_ECORRUPT},    {0, 24, 1, LETHE_ECORRUPT},
        {0, 40, 0, LETHE_ECORRUPT},   {0, 47, 128, LETHE_ECORRUPT}, {0, 56, 1, LETHE_ECORRUPT},
        {1, 63, 255, LETHE_ECORRUPT}, {2, 8, 0, LETHE_ECORRUPT},    {2, 56, 1, LETHE_ECORRUPT},
        {3, 24, 1, LETHE_ECORRUPT}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        unsigned char bytes[LETHE_HOLD_RECORD_LIMIT_BYTES];
        lethe_hold_record back;
        size_t size = lethe_hold_store(bytes, &samples[wrong[i].sample]);
        bytes[wrong[i].at] = wrong[i].byte;
        lethe_status status = lethe_hold_load((lethe_bytes){bytes, size}, &back);
        if (status != wrong[i].status) fail_msg("wrong byte %zu: status %d", i, status);
    }
}

static const lethe_claims_record all = {.clock_ms = 5000,
                                        .boot_ms = 700000,
                                        .wall_ms = 1700000000000,
                                        .boot_id = "0123456789abcde",
                                        .opened = {1, 1},
                                        .done = {1, 1},
                                        .replies = {1, 1},
                                        .reply_limit_bytes = 4096,
                                        .holds = {.placed = 9,
                                                  .open_count = 4,
                                                  .ended_count = 3,
                                                  .forced = 2,
                                                  .ended = {5, 8},
                                                  .digest = UINT64_MAX}};

static void the_record_about_all_comes_back(void **state) {
    (void)state;
    lethe_memory_writer writer;
    lethe_claims_record back;
    assert_ok(lethe_claims_encode(&all, &writer));
    golden_check("claims-v2.bin", writer.data, writer.size);
    assert_ok(lethe_claims_decode((lethe_bytes){writer.data, writer.size}, &back));
    assert_memory_equal(&back, &all, sizeof all);
    for (size_t i = 0; i < writer.size; i++) {
        ((unsigned char *)writer.data)[i] ^= 1;
        assert_int_not_equal(lethe_claims_decode((lethe_bytes){writer.data, writer.size}, &back),
                             LETHE_OK);
        ((unsigned char *)writer.data)[i] ^= 1;
    }
    lethe_memory_writer_free(&writer);
    lethe_claims_record wrong = all; /* more holds than places in the queue */
    wrong.holds.ended_count = 4;
    assert_ok(lethe_claims_encode(&wrong, &writer));
    assert_int_equal(lethe_claims_decode((lethe_bytes){writer.data, writer.size}, &back),
                     LETHE_ECORRUPT);
    lethe_memory_writer_free(&writer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_come_back),
        cmocka_unit_test(no_other_bytes_are_believed),
        cmocka_unit_test(the_record_about_all_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

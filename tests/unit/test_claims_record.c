/* Goal:   the records of claims are read back as they were written, their bytes never change, and
 *         no bytes that are not theirs are believed; the clock of claims never runs ahead.
 * Method: round trips at the edges; golden files; each byte altered and cut off; clocks before and
 *         after every kind of restart. */
#include "support/test.h"

#include <string.h>

#include "engine/claims/claims.h"
#include "support/golden.h"
#include "support/random.h"

static const char token[LETHE_TOKEN_LIMIT_BYTES] = "a token";
static const char print[LETHE_FINGERPRINT_LIMIT_BYTES] = "a print";

static const lethe_claim_record open_claim = {
    .number = 7, .moment_ms = 1000, .token = {token, 7}, .fingerprint = {print, 0}};
static const lethe_claim_record done_claim = {
    .is_done = true,
    .number = UINT64_MAX,
    .moment_ms = UINT64_MAX - 1,
    .reply_number = 3,
    .reply_bytes = LETHE_REPLY_LIMIT_BYTES,
    .token = {token, LETHE_TOKEN_LIMIT_BYTES},
    .fingerprint = {print, LETHE_FINGERPRINT_LIMIT_BYTES}};

static const lethe_claims_record all = {.clock_ms = 5000,
                                        .boot_ms = 700000,
                                        .wall_ms = 1700000000000,
                                        .boot_id = "0123456789abcde",
                                        .opened = {3, 9},
                                        .done = {1, 4},
                                        .replies = {2, 4},
                                        .open_count = 6,
                                        .done_count = 3,
                                        .reply_bytes = 2048,
                                        .reply_limit_bytes = 4096,
                                        .digest = UINT64_MAX,
                                        .holds = {.ended = {1, 1}}};

static void assert_same_bytes(lethe_bytes one, lethe_bytes other) {
    assert_int_equal(one.size, other.size);
    assert_int_equal(memcmp(one.data, other.data, one.size), 0);
}

static void claims_come_back(void **state) {
    (void)state;
    const lethe_claim_record *const claims[] = {&open_claim, &done_claim};
    static const char *const names[] = {"claim-open-v1.bin", "claim-done-v1.bin"};
    for (size_t i = 0; i < 2; i++) {
        unsigned char bytes[LETHE_CLAIM_RECORD_LIMIT_BYTES];
        lethe_claim_record back;
        size_t size = lethe_claim_store(bytes, claims[i]);
        golden_check(names[i], bytes, size);
        assert_ok(lethe_claim_load((lethe_bytes){bytes, size}, &back));
        assert_int_equal(back.is_done, claims[i]->is_done);
        assert_true(back.number == claims[i]->number && back.moment_ms == claims[i]->moment_ms);
        assert_true(back.reply_number == claims[i]->reply_number &&
                    back.reply_bytes == claims[i]->reply_bytes);
        assert_same_bytes(back.token, claims[i]->token);
        assert_same_bytes(back.fingerprint, claims[i]->fingerprint);
        for (size_t cut = 0; cut < size; cut++)
            assert_int_equal(lethe_claim_load((lethe_bytes){bytes, cut}, &back), LETHE_ECORRUPT);
        bytes[0]++;
        assert_int_equal(lethe_claim_load((lethe_bytes){bytes, size}, &back), LETHE_EVERSION);
    }
}

/* What is believed keeps all rules. */
static void no_other_bytes_are_believed(void **state) {
    (void)state;
    unsigned char bytes[LETHE_CLAIM_RECORD_LIMIT_BYTES];
    struct test_random random = {1};
    size_t size = lethe_claim_store(bytes, &open_claim);
    for (unsigned i = 0; i < 20000; i++) {
        unsigned char altered[LETHE_CLAIM_RECORD_LIMIT_BYTES];
        lethe_claim_record claim;
        memcpy(altered, bytes, size);
        for (unsigned j = 0; j < 3; j++)
            altered[test_random_below(&random, size)] = (unsigned char)test_random_next(&random);
        if (lethe_claim_load((lethe_bytes){altered, size}, &claim) != LETHE_OK) continue;
        assert_true(claim.token.size >= 1 && claim.token.size + claim.fingerprint.size == 7);
        assert_true((claim.reply_number == 0) == (claim.reply_bytes == 0));
        assert_true(claim.is_done || claim.reply_bytes == 0);
        unsigned char again[LETHE_CLAIM_RECORD_LIMIT_BYTES];
        assert_int_equal(lethe_claim_store(again, &claim), size);
        assert_memory_equal(again, altered, size);
    }
}

static void entries_come_back(void **state) {
    (void)state;
    static char id[LETHE_ID_LIMIT_BYTES + 1] = "an id";
    unsigned char bytes[LETHE_CLAIM_ENTRY_LIMIT_BYTES + 1];
    lethe_claim_entry back,
        entry = {
            .moment_ms = 9, .reply_number = 2, .reply_bytes = 5, .id = {id, LETHE_ID_LIMIT_BYTES}};
    size_t size = lethe_claim_entry_store(bytes, &entry);
    assert_ok(lethe_claim_entry_load((lethe_bytes){bytes, size}, &back));
    assert_same_bytes(back.id, entry.id);
    assert_int_equal(lethe_claim_entry_load((lethe_bytes){bytes, size + 1}, &back), LETHE_ECORRUPT);
    entry.id.size = 5;
    size = lethe_claim_entry_store(bytes, &entry);
    golden_check("claim-entry-v1.bin", bytes, size);
    assert_ok(lethe_claim_entry_load((lethe_bytes){bytes, size}, &back));
    assert_true(back.moment_ms == 9 && back.reply_number == 2 && back.reply_bytes == 5);
    for (size_t cut = 0; cut <= LETHE_CLAIM_ENTRY_FIXED_BYTES; cut++)
        assert_int_equal(lethe_claim_entry_load((lethe_bytes){bytes, cut}, &back), LETHE_ECORRUPT);
    entry.reply_number = 0; /* a reply of 5 bytes that is nowhere */
    size = lethe_claim_entry_store(bytes, &entry);
    assert_int_equal(lethe_claim_entry_load((lethe_bytes){bytes, size}, &back), LETHE_ECORRUPT);
}

static void the_record_about_all_comes_back(void **state) {
    (void)state;
    lethe_memory_writer writer;
    lethe_claims_record back;
    assert_ok(lethe_claims_encode(&all, &writer));
    golden_check("claims-v1.bin", writer.data, writer.size);
    assert_ok(lethe_claims_decode((lethe_bytes){writer.data, writer.size}, &back));
    assert_int_equal(memcmp(&back, &all, sizeof all), 0);
    for (size_t i = 0; i < writer.size; i++) {
        ((unsigned char *)writer.data)[i] ^= 1;
        assert_int_not_equal(lethe_claims_decode((lethe_bytes){writer.data, writer.size}, &back),
                             LETHE_OK);
        ((unsigned char *)writer.data)[i] ^= 1;
        assert_int_not_equal(lethe_claims_decode((lethe_bytes){writer.data, i}, &back), LETHE_OK);
    }
    lethe_memory_writer_free(&writer);
    lethe_claims_record wrong = all; /* more claims than places in the queue */
    wrong.open_count = 7;
    assert_ok(lethe_claims_encode(&wrong, &writer));
    assert_int_equal(lethe_claims_decode((lethe_bytes){writer.data, writer.size}, &back),
                     LETHE_ECORRUPT);
    lethe_memory_writer_free(&writer);
}

/* What has passed since `all` was written, when the machine's clocks show this. */
static uint64_t passed(uint64_t boot_ms, int64_t wall_by_ms, char boot_id) {
    lethe_claims_clocks clocks = {.boot_ms = boot_ms,
                                  .wall_ms = all.wall_ms + (uint64_t)wall_by_ms};
    memcpy(clocks.boot_id, all.boot_id, 16);
    if (boot_id == '\0')
        memset(clocks.boot_id, 0, 16);
    else
        clocks.boot_id[0] = (unsigned char)boot_id;
    return lethe_claims_carry_on(&all, &clocks) - all.clock_ms;
}

static void the_clock_never_runs_ahead(void **state) {
    (void)state;
    /* The machine runs on: the wall clock does not matter. */
    assert_int_equal(passed(all.boot_ms + 50, 50, '0'), 50);
    assert_int_equal(passed(all.boot_ms + 50, -100000, '0'), 50);
    assert_int_equal(passed(all.boot_ms + 50, 100000, '0'), 50);
    /* It was restarted: what it has been up for has passed, however long it was off. */
    assert_int_equal(passed(20, 100000, '1'), 20);
    assert_int_equal(passed(20, -100000, '1'), 0);
    assert_int_equal(passed(all.boot_ms + 50, 100000, '1'), 100000);
    assert_int_equal(passed(20, 100000, '0'), 20);
    /* Another machine, which was up all the time. */
    assert_int_equal(passed(all.boot_ms * 100, 300, '1'), 300);
    /* It is not known which. */
    assert_int_equal(passed(all.boot_ms + 50, 100000, '\0'), 50);
    assert_int_equal(passed(20, 100000, '\0'), 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_come_back),
        cmocka_unit_test(no_other_bytes_are_believed),
        cmocka_unit_test(entries_come_back),
        cmocka_unit_test(the_record_about_all_comes_back),
        cmocka_unit_test(the_clock_never_runs_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

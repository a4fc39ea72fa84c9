/* Goal:   calls about claims with wrong arguments, and calls that find no memory, change nothing.
 * Method: tables of wrong calls; allocations that fail in turn, of the call and of its commit. */
#include "support/test.h"

#include <string.h>

#include "lethe/claims.h"
#include "support/heap.h"
#include "support/refusals.h"
#include "support/store.h"

enum { WINDOW_MS = 60000, LEASE_MS = 1000000 };

static const lethe_store_options usual = {.window_ms = WINDOW_MS, .create = true};
static struct test_folder folder;

static int setup(void **state) {
    (void)state;
    test_folder_make(&folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static lethe_claims_stats stats_of(lethe_store *store) {
    lethe_claims_stats stats = LETHE_INIT(lethe_claims_stats);
    assert_ok(lethe_claims_info(store, &stats));
    return stats;
}

static bool see(void *context, const lethe_claim *claim) {
    (void)claim;
    (*(unsigned *)context)++;
    return true;
}

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    static char large[LETHE_REPLY_LIMIT_BYTES + 1];
    const lethe_bytes id = test_text("i"), token = test_text("t"), none = {0}, half = {NULL, 1};
    const lethe_bytes long_id = {large, 1025}, long_token = {large, 256}, long_print = {large, 256};
    lethe_claim claim = LETHE_INIT(lethe_claim), unsized = {0};
    lethe_claim_answer answer;
    lethe_claims_stats no_stats = {0};
    lethe_operation operation = {0};
    uint8_t outcome;
    unsigned seen = 0;
    lethe_store *store = test_store_open(folder.path, usual);
    REFUSED(lethe_claim_begin(NULL, id, token, none, LEASE_MS, &answer, &claim));
    REFUSED(lethe_claim_begin(store, id, token, none, LEASE_MS, NULL, &claim));
    REFUSED(lethe_claim_begin(store, id, token, none, LEASE_MS, &answer, &unsized));
    REFUSED(lethe_claim_begin(store, none, token, none, LEASE_MS, &answer, &claim));
    REFUSED(lethe_claim_begin(store, half, token, none, LEASE_MS, &answer, &claim));
    REFUSED(lethe_claim_begin(store, long_id, token, none, LEASE_MS, &answer, &claim));
    test_store_explains(store, "1 to 1024 bytes");
    REFUSED(lethe_claim_begin(store, id, none, none, LEASE_MS, &answer, &claim));
    REFUSED(lethe_claim_begin(store, id, half, none, LEASE_MS, &answer, &claim));
    REFUSED(lethe_claim_begin(store, id, long_token, none, LEASE_MS, &answer, &claim));
    test_store_explains(store, "1 to 255 bytes");
    REFUSED(lethe_claim_begin(store, id, token, half, LEASE_MS, &answer, &claim));
    REFUSED(lethe_claim_begin(store, id, token, long_print, LEASE_MS, &answer, &claim));
    test_store_explains(store, "255 bytes at most");
    REFUSED(lethe_claim_begin(store, id, token, none, 0, &answer, &claim));
    test_store_explains(store, "1 millisecond to 30 days");
    REFUSED(lethe_claim_begin(store, id, token, none, LETHE_LEASE_LIMIT_MS + 1, &answer, &claim));
    REFUSED(lethe_claim_begin(store, id, token, none, UINT64_MAX, &answer, &claim));
    REFUSED(lethe_claim_renew(store, id, token, 0, &answer));
    REFUSED(lethe_claim_renew(store, id, token, UINT64_C(100) * 365 * 86400000, &answer));
    REFUSED(lethe_claim_renew(store, id, token, 1, NULL));
    REFUSED(lethe_claim_renew(NULL, id, token, 1, &answer));
    REFUSED(lethe_claim_done(store, id, token, (lethe_bytes){large, sizeof large}, &answer));
    test_store_explains(store, "1,048,576 bytes at most");
    REFUSED(lethe_claim_done(store, id, token, half, &answer));
    REFUSED(lethe_claim_done(store, id, token, none, NULL));
    REFUSED(lethe_claim_done(NULL, id, token, none, &answer));
    REFUSED(lethe_claim_done_with(store, id, token, none, NULL, 1, &outcome, NULL, &answer));
    REFUSED(lethe_claim_done_with(store, id, token, none, &operation, 1, NULL, NULL, &answer));
    REFUSED(
        lethe_claim_done_with(store, id, token, none, &operation, 70000, &outcome, NULL, &answer));
    REFUSED(lethe_claim_abort(store, id, token, NULL));
    REFUSED(lethe_claim_abort(store, none, token, &answer));
    REFUSED(lethe_claim_abort(NULL, id, token, &answer));
    REFUSED(lethe_claim_get(NULL, id, &claim));
    REFUSED(lethe_claim_get(store, id, NULL));
    REFUSED(lethe_claim_get(store, id, &unsized));
    REFUSED(lethe_claim_get(store, none, &claim));
    REFUSED(lethe_claims_each(NULL, none, see, &seen));
    REFUSED(lethe_claims_each(store, none, NULL, &seen));
    REFUSED(lethe_claims_each(store, half, see, &seen));
    REFUSED(lethe_claims_each(store, (lethe_bytes){large, 1025}, see, &seen));
    REFUSED(lethe_claims_limit(NULL, 1));
    REFUSED(lethe_claims_info(NULL, &no_stats));
    REFUSED(lethe_claims_info(store, NULL));
    REFUSED(lethe_claims_info(store, &no_stats));
    lethe_claim_free(NULL);
    lethe_claim_free(&unsized);
    assert_string_equal(lethe_claim_answer_name((lethe_claim_answer)77), "?");
    assert_string_equal(lethe_claim_answer_name(LETHE_CLAIM_UNKNOWN), "unknown");
    assert_ok(lethe_claims_each(store, none, see, &seen));
    assert_int_equal(seen, 0);
    /* A reader changes nothing. */
    lethe_store *reader = test_store_open_reader(folder.path);
    REFUSED(lethe_claim_begin(reader, id, token, none, LEASE_MS, &answer, &claim));
    test_store_explains(reader, "open it to write");
    REFUSED(lethe_claims_limit(reader, 1));
    test_store_close(reader);
    test_store_close(store);
}

/* Calls that may find no memory: a first claim, its completion, and another one to begin it. */
static char long_reply[20000];

static lethe_status call(unsigned which, lethe_store *store, lethe_claim_answer *answer,
                         lethe_claim *claim) {
    lethe_bytes id = test_text("i"), token = test_text("t"), none = {0};
    if (which == 1)
        return lethe_claim_done(store, id, token, (lethe_bytes){long_reply, sizeof long_reply},
                                answer);
    return lethe_claim_begin(store, id, token, none, LEASE_MS, answer, which == 2 ? claim : NULL);
}

/* Goal:   a call that finds no memory has changed nothing, whether it or its commit asked. */
static void failed_allocations_change_nothing(void **state) {
    (void)state;
    static const lethe_claim_answer expected[] = {LETHE_CLAIM_NEW, LETHE_CLAIM_RECORDED,
                                                  LETHE_CLAIM_DONE};
    unsigned failures = 0;
    for (unsigned which = 0; which < 3; which++) {
        lethe_status status = LETHE_ENOMEM;
        for (size_t n = 0; status != LETHE_OK; n++) {
            struct test_heap heap;
            test_heap_init(&heap, SIZE_MAX);
            lethe_store_options options = usual;
            options.allocator = &heap.allocator;
            lethe_store *store = test_store_open(folder.path, options);
            lethe_claim claim = LETHE_INIT(lethe_claim);
            lethe_claim_answer answer = LETHE_CLAIM_UNKNOWN;
            heap.fail_at = heap.allocations + n;
            status = call(which, store, &answer, &claim);
            heap.fail_at = SIZE_MAX;
            assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
            if (status == LETHE_OK) assert_int_equal(answer, expected[which]);
            if (status != LETHE_OK) assert_null(claim.memory);
            if (status == LETHE_OK && which == 2)
                assert_int_equal(claim.reply.size, sizeof long_reply);
            lethe_claim_free(&claim);
            lethe_status closed = lethe_store_close(store, NULL);
            assert_true(closed == LETHE_OK || status != LETHE_OK);
            assert_int_equal(heap.live_bytes, 0);
            store = test_store_open(folder.path, usual);
            unsigned reached = status == LETHE_OK ? which + 1 : which;
            assert_int_equal(stats_of(store).open, reached == 1);
            assert_int_equal(stats_of(store).done, reached >= 2);
            test_store_close(store);
            failures += status != LETHE_OK;
        }
    }
    assert_true(failures >= 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(wrong_arguments_are_refused),
        TEST(failed_allocations_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

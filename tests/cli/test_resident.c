/* Goal:   each line is new just once, here or elsewhere, whenever the memory is full.
 * Method: ids with duplicates are asked about in batches of many sizes; what is unknown goes to an
 *         exact set, as to a cascade. Answers are compared with an exact set of all ids. Memory for
 *         a few of the ids, for most, and for all. The error is so small that none is expected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dedup/resident.h"
#include "lethe/hash.h"
#include "support/random.h"

enum { IDS = 2000000, ASKED = 3000000, MOST = 40000 };

static void check(uint64_t memory_bytes, bool fills) {
    struct test_random random = {.state = 5};
    struct resident *resident = resident_new(memory_bytes, 1e-11, 0, 7);
    assert_non_null(resident);
    uint8_t *all = calloc(IDS, 1), *elsewhere = calloc(IDS, 1), *answers = malloc(MOST);
    lethe_hash *hashes = malloc(MOST * sizeof *hashes);
    uint32_t *ids = malloc(MOST * sizeof *ids);
    assert_true(all != NULL && elsewhere != NULL && answers != NULL && hashes != NULL &&
                ids != NULL);
    uint64_t kept = 0;
    for (size_t done = 0; done < ASKED;) {
        size_t count = 1 + test_random_below(&random, MOST);
        /* Ids of one batch are near each other, so that many come twice in it. */
        uint64_t first = test_random_below(&random, IDS - MOST);
        for (size_t i = 0; i < count; i++) {
            ids[i] = (uint32_t)(first + test_random_below(&random, MOST));
            hashes[i] = lethe_hash_u64(7, ids[i]);
        }
        bool was_full = resident_is_full(resident);
        resident_ask(resident, hashes, count, answers);
        for (size_t i = 0; i < count; i++) {
            bool is_present = answers[i] == RESIDENT_PRESENT;
            assert_false(was_full && answers[i] == RESIDENT_NEW);
            if (answers[i] == RESIDENT_UNKNOWN) {
                assert_true(resident_is_full(resident));
                is_present = elsewhere[ids[i]];
                elsewhere[ids[i]] = 1;
            }
            kept += answers[i] == RESIDENT_NEW;
            assert_int_equal(is_present, all[ids[i]]);
            all[ids[i]] = 1;
        }
        done += count;
    }
    struct resident_facts facts = resident_facts_of(resident);
    assert_int_equal(resident_is_full(resident), fills);
    assert_true(facts.entries >= kept && facts.memory_bytes <= memory_bytes);
    assert_true(kept * 20 > (fills ? memory_bytes : 0)); /* memory is used */
    resident_free(resident);
    free(all);
    free(elsewhere);
    free(answers);
    free(hashes);
    free(ids);
}

static void each_line_is_new_once(void **state) {
    (void)state;
    check((uint64_t)1 << 20, true);
    check((uint64_t)5 << 20, true);
    check((uint64_t)64 << 20, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_line_is_new_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

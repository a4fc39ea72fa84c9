/* Goal:   the names of a once-table are found and scanned at the same cost whoever chose them.
 * Method: names that all are in one bucket under the table's own seed, beside ordinary ones;
 *         every name is added, found, scanned and removed, and the longest list of a bucket is
 *         measured. The server's functions are those of C. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "lethe/hash.h"
#include "once/counters.h"
#include "support/random.h"
#include "support/server_functions.h"

struct redis_api redis;

static void random_bytes(unsigned char *bytes, size_t size) {
    static struct test_random random = {1};
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)test_random_next(&random);
}

enum { NAMES = 2000, SEED = 4711, LONGEST = 16 };

/* Number i of the names; chosen ones have the lowest 11 bits of their hash in common. */
static void make_names(uint64_t names[NAMES], bool is_chosen) {
    uint64_t next = 0;
    for (size_t i = 0; i < NAMES; next++) {
        if (is_chosen && (lethe_hash_bytes(SEED, &next, sizeof next).low & 2047) != 0) continue;
        names[i++] = next;
    }
}

static void count_one(void *context, struct counter *counter) {
    ++*(size_t *)context;
    counter->value++;
}

/* Scans all; returns the most counters that one step visited. */
static size_t scan(const struct counters *counters) {
    size_t most = 0;
    uint64_t cursor = 0;
    do {
        size_t visited = 0;
        cursor = counters_scan(counters, cursor, count_one, &visited);
        if (visited > most) most = visited;
    } while (cursor != 0);
    return most;
}

static void run(bool is_chosen) {
    static uint64_t names[NAMES];
    struct counters counters;
    make_names(names, is_chosen);
    counters_init(&counters, SEED);
    for (size_t i = 0; i < NAMES; i++)
        assert_int_equal(counters_add(&counters, (char *)&names[i], sizeof names[i])->value, 0);
    assert_int_equal(counters.count, NAMES);
    assert_true(scan(&counters) <= LONGEST);
    for (size_t i = 0; i < NAMES; i++) {
        const struct counter *found = counters_find(&counters, (char *)&names[i], sizeof names[i]);
        assert_non_null(found);
        assert_int_equal(found->value, 1);
        assert_true(counters_remove(&counters, (char *)&names[i], sizeof names[i]));
        assert_null(counters_find(&counters, (char *)&names[i], sizeof names[i]));
    }
    assert_int_equal(counters.count, 0);
    counters_drop(&counters);
}

static void chosen_names_cost_no_more(void **state) {
    (void)state;
    run(false);
    run(true);
}

int main(void) {
    use_functions_of_c(random_bytes);
    const struct CMUnitTest tests[] = {cmocka_unit_test(chosen_names_cost_no_more)};
    return cmocka_run_group_tests_name("module_counters", tests, NULL, NULL);
}

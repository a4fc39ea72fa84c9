/* Goal:   a guess is made for the table of the last two operations and no other, and nobody looks
 *         at a table once recent_forget has returned.
 * Method: sequences of tables; then another thread that releases the table as soon as the first one
 *         looks at it, which takes its time. To hash an id stands for all looking. */
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "once/once.h"
#include "once/recent.h"

enum { ROUNDS = 5, LOOK_MS = 20 };

static bool is_slow;
static atomic_bool is_looking, is_released;
static unsigned looks, looks_too_late;

/* What recent.c calls. */
lethe_hash once_hash(const struct once *table, const redis_string *id) {
    (void)table;
    (void)id;
    atomic_store(&is_looking, true);
    looks++;
    for (int i = 0; i < LOOK_MS && is_slow; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    if (atomic_load(&is_released)) looks_too_late++;
    return (lethe_hash){1, 2};
}

static bool is_guessed(uint64_t seed) {
    struct guess guess = recent_expect(NULL);
    return guess.is_made && guess.seed == seed && guess.id.low == 1 && guess.id.high == 2;
}

static void two_in_a_row_make_a_guess(void **state) {
    (void)state;
    static struct once one = {.seed = 1}, other = {.seed = 2};
    assert_false(recent_expect(NULL).is_made);
    recent_note(&one);
    assert_false(recent_expect(NULL).is_made);
    recent_note(&one);
    assert_true(is_guessed(1));
    recent_note(&one);
    assert_true(is_guessed(1));
    recent_note(&other);
    assert_false(recent_expect(NULL).is_made);
    recent_note(&one);
    assert_false(recent_expect(NULL).is_made);
    recent_note(&one);
    recent_forget(&other);
    assert_true(is_guessed(1));
    recent_forget(&one);
    assert_false(recent_expect(NULL).is_made);
}

static void *release(void *table) {
    while (!atomic_load(&is_looking))
        sched_yield();
    recent_forget(table);
    atomic_store(&is_released, true);
    return NULL;
}

static void a_released_table_is_not_looked_at(void **state) {
    (void)state;
    is_slow = true;
    for (int round = 0; round < ROUNDS; round++) {
        static struct once table = {.seed = 7};
        atomic_store(&is_looking, false);
        atomic_store(&is_released, false);
        recent_note(&table);
        recent_note(&table);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, release, &table), 0);
        while (recent_expect(NULL).is_made) {
            /* until it is forgotten */
        }
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_true(looks >= ROUNDS);
    assert_int_equal(looks_too_late, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_in_a_row_make_a_guess),
        cmocka_unit_test(a_released_table_is_not_looked_at),
    };
    return cmocka_run_group_tests_name("module_recent", tests, NULL, NULL);
}

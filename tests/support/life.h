/* tests/support/life.h - the life of a store on a machine whose clocks the test sets: time that
 * passes, restarts of the machine, kills, backups.
 *
 * A program that uses it is linked with --wrap for lethe_os_boot_ms, lethe_os_wall_ms and
 * lethe_os_boot_id: LETHE_MACHINE_WRAPS in tests/CMakeLists.txt. */
#ifndef LETHE_TESTS_SUPPORT_LIFE_H
#define LETHE_TESTS_SUPPORT_LIFE_H

#include "support/random.h"
#include "support/store.h"

/* What the clocks of the machine show, and how often it was started. */
struct test_machine {
    uint64_t boot_ms, wall_ms;
    unsigned boots;
};
extern struct test_machine test_machine;

struct test_life {
    struct test_random random;
    struct test_folder folder;
    lethe_store *store;
    lethe_store_options options;
    /* True time; the clock of claims, which may be behind. */
    uint64_t true_ms, clock_ms;
};

/* Makes the store, with the options' window, on a machine that has just been set to wall_ms. */
void test_life_begin(struct test_life *life, lethe_store_options options, uint64_t seed,
                     uint64_t wall_ms);
/* Closes the store. The folder is the caller's to remove. */
void test_life_end(struct test_life *life);

static inline uint64_t test_life_below(struct test_life *life, uint64_t range) {
    return test_random_below(&life->random, range);
}
/* Time passes on all clocks. */
void test_life_pass(struct test_life *life, uint64_t ms);

/* The store is closed for a while of at most so long. */
void test_life_reopen(struct test_life *life, uint64_t most_ms);
/* A restart of the machine: what it was off for does not count. step_wall may set the wall clock
 * meanwhile. */
void test_life_reboot(struct test_life *life, void (*step_wall)(struct test_life *life));
/* Goes on with the store as of this moment, beside the writer: what a kill leaves. In the same
 * boot. */
void test_life_go_on_from_backup(struct test_life *life);

/* "KIND-NUMBER". */
lethe_bytes test_name(char out[20], const char *kind, unsigned number);
/* The number of "KIND-NUMBER". */
unsigned test_number_of(lethe_bytes name, const char *kind);

#endif

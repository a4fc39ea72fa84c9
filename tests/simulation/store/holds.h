/* simulation/store/holds.h - what is known of a store's holds, and what it shows of them. */
#ifndef LETHE_SIMULATION_STORE_HOLDS_H
#define LETHE_SIMULATION_STORE_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/holds.h"

enum { HOLD_IDS = 6, HOLD_KEYS = 2, HOLD_GUESSES = 24 };

/* What a hold may be. Times are true ones: a call was decided between two of them. */
struct hold_guess {
    lethe_hold_state state; /* open also if the lease has ended */
    unsigned key;
    int64_t amount, max, actual;
    uint64_t least_ms, most_ms; /* the end of the lease, or when it was settled or released */
    uint64_t boots;             /* when that was decided */
};

/* What all of them may be together, with the counters that they are of. */
struct holds_guess {
    struct hold_guess each[HOLD_IDS];
    int64_t values[HOLD_KEYS];
};

struct holds_model {
    /* The store is at one of these: several where a call did not return. None: nothing is known. */
    struct holds_guess guesses[HOLD_GUESSES];
    size_t count;
    bool has_begun;
    uint64_t takes;
};

/* What a store says of each. */
struct holds_shown {
    uint64_t from_ms, to_ms;
    lethe_hold each[HOLD_IDS]; /* without their bytes */
    unsigned keys[HOLD_IDS];
    int64_t values[HOLD_KEYS];
};

/* --- holds_guess.c --- */

struct world;

/* Asks a store; runs in its process. */
lethe_status holds_look(lethe_store *store, struct holds_shown *shown);
/* Whether so much time may have passed, or must have, since what the guess says; and whether the
 * hold may be forgotten, or must be. */
bool hold_may_be_past(const struct hold_guess *guess, uint64_t after_ms, uint64_t to_ms);
bool hold_must_be_past(const struct hold_guess *guess, uint64_t after_ms, uint64_t from_ms);
bool hold_may_be_old(const struct world *world, const struct hold_guess *guess, uint64_t to_ms);
bool hold_must_be_old(const struct world *world, const struct hold_guess *guess, uint64_t from_ms);
/* Adds what the store may be at. */
void holds_add_guess(struct holds_model *holds, const struct holds_guess *guess);
void holds_describe(const struct holds_guess *guess, unsigned id, char *out, size_t size);

#endif

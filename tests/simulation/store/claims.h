/* simulation/store/claims.h - what is known of a store's claims, and what it shows of them. */
#ifndef LETHE_SIMULATION_STORE_CLAIMS_H
#define LETHE_SIMULATION_STORE_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/claims.h"

/* Clocks are cut off to milliseconds, here and there. */
enum { CLAIM_BLUR_MS = 3 };
enum { CLAIM_IDS = 6, CLAIM_TOKENS = 3, CLAIM_GUESSES = 8 };

/* What a claim may be. Times are true ones: a call was decided between two of them. */
struct claim_guess {
    enum { CLAIM_NONE, CLAIM_OPEN, CLAIM_DONE } kind;
    unsigned token;
    uint64_t reply;             /* which, from 1 on */
    uint64_t least_ms, most_ms; /* the end of the lease, or when it was done */
    uint64_t boots;             /* when that was decided */
    uint64_t completions;       /* that were counted, in all */
};

struct claims_model {
    /* A claim is one of these: several where a call did not return. None: nothing is known. */
    struct claim_guess guesses[CLAIM_IDS][CLAIM_GUESSES];
    size_t counts[CLAIM_IDS];
    bool has_begun;
    uint64_t replies, races;
    /* Of all that there were. */
    uint64_t least_window_ms, most_window_ms;
};

/* What a store says of each. */
struct claims_shown {
    uint64_t from_ms, to_ms;
    lethe_claim_state states[CLAIM_IDS];
    unsigned tokens[CLAIM_IDS];
    uint64_t replies[CLAIM_IDS];
    int64_t completions[CLAIM_IDS];
};

/* Names an id, a token, a key: "work-3". */
lethe_bytes claims_name(char out[32], const char *kind, uint64_t number);

struct world;
/* Lets several ask for a claim at once. */
void claims_race(struct world *world);

/* Asks a store; runs in its process. */
lethe_status claims_look(lethe_store *store, struct claims_shown *shown);

#endif

/* take.h - what the parts of `lethe take` and `lethe give-up` share. */
#ifndef LETHE_CLI_TAKE_TAKE_H
#define LETHE_CLI_TAKE_TAKE_H

#include "store/store.h"
#include "take/bounds.h"

struct taking {
    /* The store's folder, or the table's name and servers, for messages. */
    const char *folder;
    lethe_bytes id, key;
    const char *amount; /* as it was written */
    struct bounds bounds;

    /* What became of it, and how the counter stands under the bound that matters most. */
    lethe_outcome outcome;
    lethe_limit limit;
    struct store_printing printing;
};

/* Whether one limit says more than another: one that refuses, and of these the one that does so
 * for longest, or else the one that leaves least. */
bool take_is_nearer(const lethe_limit *one, const lethe_limit *other);

/* Reads what a new store is made with, of the options in OPTIONS_LIMITS_STORE. */
int take_read_store(const struct arguments *arguments, lethe_store_options *options);
/* Reads an amount by a scale. */
int take_read_amount(const char *text, unsigned scale, int64_t *out);

/* take_redis.c: the same in a server. */
int take_redis(const struct arguments *arguments, struct taking *taking);
/* outcomes[i] becomes LETHE_OUTCOME_APPLIED or LETHE_OUTCOME_DUPLICATE. */
int give_up_redis(const struct arguments *arguments, const lethe_bytes *ids, size_t count,
                  uint8_t *outcomes);

#endif

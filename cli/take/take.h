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

/* Reads an amount by a scale. */
int take_read_amount(const char *text, unsigned scale, int64_t *out);

/* take_redis.c: the same in a server. */
int take_redis(const struct arguments *arguments, struct taking *taking);
/* outcomes[i] becomes LETHE_OUTCOME_APPLIED or LETHE_OUTCOME_DUPLICATE. */
int give_up_redis(const struct arguments *arguments, const lethe_bytes *ids, size_t count,
                  uint8_t *outcomes);

#endif

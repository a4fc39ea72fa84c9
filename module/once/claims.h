/* module/once/claims.h - claims: work that is to be done once, with its answer kept.
 *
 * claims.c has the essay. All times are the table's own clock, which a change has moved to the
 * present. */
#ifndef LETHE_MODULE_ONCE_CLAIMS_H
#define LETHE_MODULE_ONCE_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "once/records_save.h"
#include "once/slice.h"

struct effect;
struct once;
struct once_section;

/* How long a lease may be: the longest window. */
#define LEASE_MOST_MS UINT64_C(2592000000)
enum {
    CLAIM_ID_MOST = 65535,
    CLAIM_TOKEN_MOST = 255,
    CLAIM_FINGERPRINT_MOST = 255,
    /* Of the command that ONCE.CALL has called. */
    CLAIM_HASH_BYTES = 16
};

/* In saved values and effects. */
enum claim_state {
    CLAIM_RUNNING = 1,
    CLAIM_DONE = 2, /* and its reply is there */
    CLAIM_GONE = 3  /* done, and its reply was not kept or has been dropped */
};

/* What a claim is, without its place in a table. */
struct claim_facts {
    uint8_t state;
    /* Made by ONCE.CALL: the fingerprint is the hash of its command, and there is no token. */
    bool is_call;
    /* Running: the lease is over from this moment on. Done: the moment after. W runs from here. */
    uint64_t until_ms;
    struct slice id, token, fingerprint, reply;
};

struct claim {
    struct record head;
    /* In the order in which they were done, those whose replies take memory. */
    struct claim *older, *newer;
    uint64_t until_ms;
    char *reply;
    uint32_t reply_size;
    uint8_t state;
    bool is_call;
    uint8_t token_size, fingerprint_size;
    /* The token and the fingerprint. */
    char bytes[];
};

struct claims {
    struct records records;
    /* Memory of the claims and their replies. */
    uint64_t bytes;
    struct claim *oldest, *newest;
    uint64_t running, replies, reply_bytes;
    /* Replies that were dropped, or not kept at all, since the table was made or loaded here. */
    uint64_t dropped;
};

/* The claim of that id, unless it is over. */
struct claim *claims_find(const struct once *table, struct slice id);
struct claim_facts claim_facts_of(const struct claim *claim);
/* Whether the lease still runs. */
bool claim_is_held(const struct once *table, const struct claim *claim);

/* Makes the claim of that id what the facts say, and appends that. What they point to may belong to
 * the claim that is replaced. Cost: O(log n). */
void claims_set(struct once *table, struct effect *effect, const struct claim_facts *facts);
/* Removes it, and appends that. */
void claims_remove(struct once *table, struct effect *effect, struct claim *claim);
/* Makes facts of a claim that is running those of one that is done now. */
void claim_complete(struct once *table, struct claim_facts *facts, bool is_kept,
                    struct slice reply);
/* Makes room for a reply by dropping the oldest ones, and appends that. False when it can't be
 * kept, because it is too large, or may_grow is false. */
bool claims_make_room(struct once *table, struct effect *effect, size_t size, bool may_grow);

/* --- Saving and repeating: claims_save.c */

extern const struct once_section claims_section;

/* Without an effect, for what is repeated or loaded. */
void claims_put(struct once *table, const struct claim_facts *facts);
void claims_take_out(struct once *table, struct claim *claim);
/* The replies of the n oldest claims that are not over. */
void claims_drop_replies(struct once *table, uint32_t count);
/* A claim as bytes: its head is followed by id, token, fingerprint and reply. */
extern const struct record_kind claim_kind;
void claim_write(const struct claim_facts *facts, struct record_bytes *out);

#endif

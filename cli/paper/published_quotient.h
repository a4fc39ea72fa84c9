/* paper/published_quotient.h - the quotient filter as its paper prints it, to be compared with
 * ours.
 *
 * A fingerprint of q + r bits is split: its quotient, the upper q bits, says in which slot its
 * remainder belongs, its canonical slot. Remainders are kept in ascending order, so one may be
 * pushed to a later slot. Three bits in each slot say which is whose:
 *
 *   is_occupied      this is the canonical slot of a remainder, which may be stored elsewhere
 *   is_continuation  the remainder here has the same quotient as the one before it
 *   is_shifted       the remainder here is not in its canonical slot
 *
 * Remainders of one quotient form a run, and a cluster is a sequence of runs of which only the
 * first is in its canonical slot: to find anything, one goes back to the start of its cluster.
 *
 * A filter is a multiset. In a cascade that removes, a fourth bit makes an entry a tombstone: it is
 * the lowest bit of what a slot stores, so that it sorts after what it cancels.
 *
 * Slots are packed, r + 3 bits each, or r + 4. A few slots come after the last quotient, so that
 * nothing wraps round and a filter can be read and written from one end to the other. */
#ifndef LETHE_CLI_PAPER_PUBLISHED_QUOTIENT_H
#define LETHE_CLI_PAPER_PUBLISHED_QUOTIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

struct published_shape {
    unsigned quotient_bits;  /* 1..40 */
    unsigned remainder_bits; /* 1..48 */
    bool has_tombstones;
};

/* An entry is fingerprint << has_tombstones, plus one if it is a tombstone. */
uint64_t published_fingerprint(const struct published_shape *shape, lethe_hash hash);
unsigned published_slot_bits(const struct published_shape *shape);
uint64_t published_slots(const struct published_shape *shape); /* those after the last included */
uint64_t published_words(const struct published_shape *shape); /* of 64 bits, for all slots */

struct published_quotient;

/* An empty filter, or NULL when there is no memory. */
struct published_quotient *published_quotient_new(const struct published_shape *shape);
void published_quotient_free(struct published_quotient *filter); /* takes NULL */
void published_quotient_clear(struct published_quotient *filter);

/* Fetches the slot that an insertion of the entry will look at first. */
void published_quotient_prefetch(const struct published_quotient *filter, uint64_t entry);
/* False when there is no slot left. */
bool published_quotient_insert(struct published_quotient *filter, uint64_t entry);
/* Takes one of the entry's copies out; false when there is none. */
bool published_quotient_remove(struct published_quotient *filter, uint64_t entry);
/* How often the fingerprint is there, less its tombstones. */
int64_t published_quotient_balance(const struct published_quotient *filter, uint64_t fingerprint);
uint64_t published_quotient_count(const struct published_quotient *filter); /* entries */
size_t published_quotient_bytes(const struct published_quotient *filter);

/* All slots, for who reads them in order: published_words() of them and one more. */
const uint64_t *published_quotient_words(const struct published_quotient *filter);

/* What Figure 1 shows of a slot. */
struct published_slot {
    bool is_occupied, is_continuation, is_shifted, is_empty;
    uint64_t remainder;
};
struct published_slot published_quotient_slot(const struct published_quotient *filter,
                                              uint64_t index);

#endif

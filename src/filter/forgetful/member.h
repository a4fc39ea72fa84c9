/* filter/forgetful/member.h - one Bloom filter of a forgetful filter: bits, salt and two periods.
 *
 * A member takes ids during two periods: while it is the newest (its own period), then while it
 * is the second. Ids of its own period are also in its older neighbour, those of the second in
 * the newer. */
#ifndef LETHE_FILTER_FORGETFUL_MEMBER_H
#define LETHE_FILTER_FORGETFUL_MEMBER_H

#include <stdbool.h>

#include "filter/bloom/bloom.h"
#include "filter/bloom/probe.h"

struct member {
    /* Classical: range is m. */
    struct lethe_bloom_bits bits;
    uint64_t bits_set;
    /* Odd; 1 means no salt. */
    uint64_t salt;

    /* Ids added to it in both periods, and in its own period. */
    uint64_t ids;
    uint64_t own_ids;
    /* When the first and the last id of its own period were added. */
    uint64_t first_ms, last_ms;
    /* Whether the older neighbour contains the ids of its own period too. */
    bool is_paired;

    /* Elastic: the limit of its error, the number of set bits that reaches it, and the number of
     * set bits with about half of its ids. */
    double limit;
    uint64_t limit_bits;
    uint64_t half_bits;
};

/* Makes an empty member without a limit. NULL if out of memory. */
struct member *lethe_member_new(uint64_t bits, uint32_t hashes, uint64_t salt,
                                const lethe_allocator *allocator);
void lethe_member_free(struct member *member, const lethe_allocator *allocator);
/* An independent copy; NULL if out of memory. */
struct member *lethe_member_copy(const struct member *member, const lethe_allocator *allocator);
/* Empties it and gives it another salt. */
void lethe_member_reuse(struct member *member, uint64_t salt);

uint64_t lethe_member_words(const struct member *member);
/* The bytes that it has allocated. */
uint64_t lethe_member_bytes(const struct member *member);
/* The bytes that a member of that many bits allocates. */
uint64_t lethe_member_bytes_for(uint64_t bits);

/* Sets the limits for an error of at most limit. */
void lethe_member_set_limit(struct member *member, double limit);
/* Counts the set bits of a member whose words were filled by a loader. */
void lethe_member_count_bits(struct member *member);

/* The probability that a fresh id passes: exact, from the bits; or by Equation 1, from ids. */
double lethe_member_error(const struct member *member);
double lethe_member_expected_error(const struct member *member);

static inline bool lethe_member_test(const struct member *member, lethe_hash hash) {
    uint64_t state = hash.low * member->salt;
    for (uint32_t i = 0; i < member->bits.hashes; i++) {
        uint64_t position = lethe_bloom_next_position(&state, hash.high, member->bits.range);
        if ((member->bits.words[position / 64] >> (position % 64) & 1) == 0) return false;
    }
    return true;
}

static inline void lethe_member_add(struct member *member, lethe_hash hash) {
    uint64_t state = hash.low * member->salt;
    for (uint32_t i = 0; i < member->bits.hashes; i++) {
        uint64_t position = lethe_bloom_next_position(&state, hash.high, member->bits.range);
        uint64_t *word = &member->bits.words[position / 64];
        member->bits_set += ~*word >> (position % 64) & 1;
        *word |= UINT64_C(1) << (position % 64);
    }
    member->ids++;
}

/* Prefetches the words that adding the hash will touch. */
static inline void lethe_member_prefetch(const struct member *member, lethe_hash hash) {
    uint64_t state = hash.low * member->salt;
    for (uint32_t i = 0; i < member->bits.hashes; i++) {
        uint64_t position = lethe_bloom_next_position(&state, hash.high, member->bits.range);
        __builtin_prefetch(&member->bits.words[position / 64], 1);
    }
}

#endif

/* filter/forgetful/member.h - one Bloom filter of a forgetful one: bits, salt, and its two periods.
 *
 * Ids go into it during two periods: as the newest filter (its own period), then as the second.
 * Those of its own period are in its older neighbour as well; those of the second in the newer. */
#ifndef LETHE_FILTER_FORGETFUL_MEMBER_H
#define LETHE_FILTER_FORGETFUL_MEMBER_H

#include <stdbool.h>

#include "filter/bloom/bloom.h"
#include "filter/bloom/probe.h"

struct member {
    struct lethe_bloom_bits bits; /* classical: range is m */
    uint64_t salt;                /* odd; 1 is none */
    uint64_t bits_set;
    uint64_t ids;               /* recorded into it in both periods */
    uint64_t own_ids;           /* of them in its own period */
    uint64_t first_ms, last_ms; /* when those were recorded, from and to */
    bool is_paired;             /* the older neighbour holds the ids of its own period too */
    /* Elastic: with more set than this its error is above its limit, */
    double limit;
    uint64_t limit_bits;
    uint64_t half_bits; /* and with this many set about half of its ids are in. */
};

/* NULL when out of memory. The limits are as of a filter that may fill up. */
struct member *lethe_member_new(uint64_t bits, uint32_t hashes, uint64_t salt,
                                const lethe_allocator *allocator);
void lethe_member_free(struct member *member, const lethe_allocator *allocator);
/* An independent copy, or NULL. */
struct member *lethe_member_copy(const struct member *member, const lethe_allocator *allocator);
/* Empties it and gives it another salt. */
void lethe_member_reuse(struct member *member, uint64_t salt);

uint64_t lethe_member_words(const struct member *member);
/* What it has allocated. */
uint64_t lethe_member_bytes(const struct member *member);
/* What a member of so many bits would. */
uint64_t lethe_member_bytes_for(uint64_t bits);

/* Sets the limits for an error of at most limit. */
void lethe_member_set_limit(struct member *member, double limit);
/* Counts the bits that are set, of a member whose words were filled from outside. */
void lethe_member_count_bits(struct member *member);

/* The probability that a fresh id passes: exactly, from the bits; or by Equation 1, from ids. */
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

/* Asks for the words that adding will touch. */
static inline void lethe_member_prefetch(const struct member *member, lethe_hash hash) {
    uint64_t state = hash.low * member->salt;
    for (uint32_t i = 0; i < member->bits.hashes; i++) {
        uint64_t position = lethe_bloom_next_position(&state, hash.high, member->bits.range);
        __builtin_prefetch(&member->bits.words[position / 64], 1);
    }
}

#endif

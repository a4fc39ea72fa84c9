/* filter/packed/quotient.c - the quotient filter without a header; packed.c has the layout.
 *
 * IDEA    All keys of a block are known when it is built, so no slot stays empty. One half of a
 *         key's hash names its bucket, and r bits of the other half, its remainder, are stored; the
 *         remainders lie in the order of their buckets, and how many each bucket has is written in
 *         unary.
 * LAYOUT  From the first bit on: for each of B buckets as many ones as it has keys, then a zero.
 *         From the last bit backwards: the remainders, r bits each. Between them are no bits, or a
 *         few zeros.
 * I1      B = T / (r + 2) for an array of T bits, about, and never more: so B need not be stored, n
 *         keys with r = T / n - 2 always fit, and bits that are too few for one more in every
 *         remainder go into buckets.
 * WHY     With r + 2 bits per key the error is 2^-r: half that of a Bloom filter at 10 bits, a
 *         quarter at 13. An answer needs one place in the array.
 * LIMIT   The counts are read from the beginning, a word for about 32 keys, so blocks should have
 *         at most a few thousand keys. With fewer than 7 bits per key a Bloom filter has a smaller
 *         error.
 * PAPER   Bender et al., Don't Thrash: How to Cache Your Hash on Flash, 2012; the unary counts are
 *         Elias's (1974). */
#include <string.h>

#include "filter/packed/quotient_test.inc.h"

enum { SECTION_BUCKETS = 1024 };

uint32_t lethe_packed_one_hash(const lethe_packed_options *options) {
    (void)options;
    return 1;
}

/* The bits that each of count remainders can have in an array; 0 when there is no room for one. */
unsigned lethe_packed_quotient_note(const lethe_packed *packed, size_t count, size_t array_bytes) {
    (void)packed;
    uint64_t bits = (uint64_t)array_bytes * 8;
    uint64_t share = count == 0 ? bits : bits / count;
    if (share <= BITS_BESIDE) return 0;
    if (share > MOST_REMAINDER_BITS + BITS_BESIDE) return MOST_REMAINDER_BITS;
    return (unsigned)share - BITS_BESIDE;
}

void lethe_packed_make_shares(lethe_packed *packed) {
    for (unsigned bits = 0; bits <= MOST_REMAINDER_BITS; bits++)
        packed->shares[bits] = UINT64_MAX / (bits + BITS_BESIDE);
}

static void write_remainder(unsigned char *array, size_t array_bytes, uint64_t slot,
                            unsigned remainder_bits, uint64_t remainder) {
    struct field field =
        field_at(array_bytes, (uint64_t)array_bytes * 8 - (slot + 1) * remainder_bits);
    uint64_t word = lethe_gaussian_read(array + field.offset);
    lethe_gaussian_write(array + field.offset, word | remainder << field.shift);
}

/* Counts and remainders of those buckets of a section that there are; slots[i] is first how many
 * keys bucket i has, and then where its next remainder goes. */
static void build_section(const lethe_hash *hashes, size_t count, unsigned char *array,
                          size_t array_bytes, unsigned remainder_bits, uint64_t buckets,
                          uint64_t first, uint64_t *next_slot) {
    uint64_t slots[SECTION_BUCKETS];
    uint64_t section = buckets - first < SECTION_BUCKETS ? buckets - first : SECTION_BUCKETS;
    memset(slots, 0, (size_t)section * sizeof slots[0]);
    for (size_t i = 0; i < count; i++) {
        uint64_t bucket = lethe_multiply_high(hashes[i].high, buckets) - first;
        if (bucket < section) slots[bucket]++;
    }
    for (uint64_t bucket = 0; bucket < section; bucket++) {
        uint64_t keys = slots[bucket], position = first + bucket + *next_slot;
        slots[bucket] = *next_slot;
        *next_slot += keys;
        for (; keys > 0; keys--, position++)
            array[position / 8] |= (unsigned char)(1U << position % 8);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t bucket = lethe_multiply_high(hashes[i].high, buckets) - first;
        if (bucket >= section) continue;
        write_remainder(array, array_bytes, slots[bucket]++, remainder_bits,
                        hashes[i].low >> (WORD_BITS - remainder_bits));
    }
}

void lethe_packed_quotient_build(const lethe_packed *packed, const lethe_hash *hashes, size_t count,
                                 unsigned char *array, size_t array_bytes) {
    unsigned remainder_bits = lethe_packed_quotient_note(packed, count, array_bytes);
    if (remainder_bits == 0) return;
    uint64_t buckets = buckets_in(packed, (uint64_t)array_bytes * 8, remainder_bits);
    uint64_t next_slot = 0;
    for (uint64_t first = 0; first < buckets; first += SECTION_BUCKETS)
        build_section(hashes, count, array, array_bytes, remainder_bits, buckets, first,
                      &next_slot);
}

const struct lethe_packed_operations lethe_packed_quotient = OPERATIONS;

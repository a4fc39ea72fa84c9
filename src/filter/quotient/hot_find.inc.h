/* filter/quotient/hot_find.inc.h - finding a fingerprint: its block, its bucket's slots, its place
 * among them. A part of hot.inc.h. */
#include "core/bits.h"
#include "core/inline.h"
#include "filter/quotient/fields.h"
#include "filter/quotient/quotient.h"

/* Where a fingerprint belongs. */
struct place {
    uint64_t block;
    unsigned bucket;
    uint64_t remainder;
};

/* A bucket's slots, counted from its block's first; both are where it would begin when it has
 * none. */
struct run {
    unsigned start, end;
};

LETHE_INLINE struct place place_of(uint64_t fingerprint, unsigned bits) {
    uint64_t quotient = fingerprint >> bits;
    return (struct place){
        .block = quotient / LETHE_QUOTIENT_BLOCK,
        .bucket = (unsigned)(quotient % LETHE_QUOTIENT_BLOCK),
        .remainder = fingerprint & lethe_fields_below(bits),
    };
}

LETHE_INLINE unsigned char *block_fields(const struct lethe_quotient_table *table, uint64_t block,
                                         unsigned bits) {
    return table->remainders + block * (8 * (uint64_t)bits);
}

/* Finds a bucket whose slots all lie in its own block; false when they may not.
 *
 * starts has a bit where each run of the block's own buckets begins, and one where the next would:
 * after what was carried in, and after each end. An end in the last slot gives none, and selecting
 * one too many gives 64, which is right. */
LETHE_INLINE bool find_near(const struct lethe_quotient_marks *marks, unsigned carry,
                            unsigned bucket, struct run *run) {
    uint64_t own = marks->ends & ~lethe_fields_below(carry & 63);
    unsigned before = lethe_popcount64(marks->occupied & lethe_fields_below(bucket));
    unsigned has = (unsigned)(marks->occupied >> bucket) & 1;
    if (__builtin_expect(carry >= 64 || before + has > lethe_popcount64(own), 0)) return false;
    uint64_t starts = own << 1 | UINT64_C(1) << carry;
    run->start = lethe_select64(starts, before);
    run->end = lethe_select64(starts, before + has);
    return true;
}

/* The slot, counted from the block's first, of end number index, from 0, at slot `from` or
 * later. */
static unsigned find_end(const struct lethe_quotient_table *table, uint64_t block, unsigned from,
                         unsigned index) {
    uint64_t at = block + from / 64, last = lethe_quotient_all_blocks(table) - 1;
    uint64_t ends = table->marks[at].ends & ~lethe_fields_below(from % 64);
    for (;;) {
        unsigned count = lethe_popcount64(ends);
        if (index < count || at == last) break;
        index -= count;
        ends = table->marks[++at].ends;
    }
    return (unsigned)(at - block) * 64 + lethe_select64(ends, index);
}

/* As find_near, wherever the bucket's entries lie. */
static struct run find_far(const struct lethe_quotient_table *table, uint64_t block,
                           unsigned bucket) {
    const struct lethe_quotient_marks *marks = &table->marks[block];
    unsigned carry = table->carry[block];
    unsigned before = lethe_popcount64(marks->occupied & lethe_fields_below(bucket));
    struct run run;
    run.start = before == 0 ? carry : find_end(table, block, carry, before - 1) + 1;
    run.end = marks->occupied >> bucket & 1 ? find_end(table, block, carry, before) + 1 : run.start;
    return run;
}

/* A remainder's place in its run: how many are smaller, and how many are equal. */
struct rank {
    unsigned smaller, equal;
};

LETHE_INLINE struct rank rank_in_order(const struct lethe_quotient_table *table, struct place place,
                                       struct run run, unsigned bits) {
    uint64_t first = place.block * LETHE_QUOTIENT_BLOCK;
    struct rank rank = {0, 0};
    for (unsigned slot = run.start; slot < run.end; slot++) {
        uint64_t remainder = lethe_fields_get(table->remainders, bits, first + slot);
        if (remainder > place.remainder) break;
        rank.smaller += remainder < place.remainder;
        rank.equal += remainder == place.remainder;
    }
    return rank;
}

/* How many are equal. Looks at the first four whether the run has them or not, so that its length,
 * which nobody can guess, decides nothing; one in hundreds is longer. */
LETHE_INLINE unsigned equal_of_few(const struct lethe_quotient_table *table, struct place place,
                                   struct run run, unsigned bits) {
    enum { FEW = 4 };
    uint64_t first = place.block * LETHE_QUOTIENT_BLOCK + run.start;
    unsigned length = run.end - run.start, equal = 0;
    if (__builtin_expect(length > FEW, 0)) return rank_in_order(table, place, run, bits).equal;
    for (unsigned i = 0; i < FEW; i++) {
        uint64_t remainder = lethe_fields_get(table->remainders, bits, first + i);
        equal += (i < length) & (remainder == place.remainder);
    }
    return equal;
}

#if defined(__AVX2__)

/* A bit for each of a block's 64 fields, from vectors of ones and zeros. */
LETHE_INLINE uint64_t mask_of_bytes(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

LETHE_INLINE __m256i bytes_of_shorts(__m256i low, __m256i high) {
    return _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);
}

/* The fields that are equal to value, and those that are not above it; r is 8 or 16. */
LETHE_INLINE void compare_block(const unsigned char *block, uint64_t value, unsigned bits,
                                uint64_t *equal, uint64_t *not_above) {
    __m256i same[4] = {0}, below[4] = {0};
    for (unsigned i = 0; i < bits / 4; i++) {
        __m256i fields = lethe_fields_vector(block + 32 * (size_t)i);
        __m256i wanted =
            bits == 8 ? _mm256_set1_epi8((char)value) : _mm256_set1_epi16((short)value);
        __m256i least =
            bits == 8 ? _mm256_min_epu8(fields, wanted) : _mm256_min_epu16(fields, wanted);
        same[i] =
            bits == 8 ? _mm256_cmpeq_epi8(fields, wanted) : _mm256_cmpeq_epi16(fields, wanted);
        below[i] = bits == 8 ? _mm256_cmpeq_epi8(fields, least) : _mm256_cmpeq_epi16(fields, least);
    }
    if (bits == 8) {
        *equal = mask_of_bytes(same[0], same[1]);
        *not_above = mask_of_bytes(below[0], below[1]);
    } else {
        *equal =
            mask_of_bytes(bytes_of_shorts(same[0], same[1]), bytes_of_shorts(same[2], same[3]));
        *not_above =
            mask_of_bytes(bytes_of_shorts(below[0], below[1]), bytes_of_shorts(below[2], below[3]));
    }
}

#endif

/* The same for a run that is near. */
LETHE_INLINE struct rank rank_near(const struct lethe_quotient_table *table, struct place place,
                                   struct run run, unsigned bits) {
#if defined(__AVX2__)
    if (LETHE_FIELDS_ARE(bits, 8) || LETHE_FIELDS_ARE(bits, 16)) {
        uint64_t equal, not_above;
        compare_block(block_fields(table, place.block, bits), place.remainder, bits, &equal,
                      &not_above);
        uint64_t slots = lethe_fields_below(run.end) & ~lethe_fields_below(run.start);
        return (struct rank){lethe_popcount64(not_above & ~equal & slots),
                             lethe_popcount64(equal & slots)};
    }
#endif
    return rank_in_order(table, place, run, bits);
}

LETHE_NOINLINE unsigned copies_far(const struct lethe_quotient_table *table, struct place place,
                                   unsigned bits) {
    struct run run = find_far(table, place.block, place.bucket);
    return rank_in_order(table, place, run, bits).equal;
}

/* For one key alone, remainders that need not be looked at are memory that need not be waited for.
 * In a batch they were asked for long ago, and a guess less is worth more. */
LETHE_INLINE unsigned copies_of(const struct lethe_quotient_table *table, uint64_t fingerprint,
                                unsigned bits, bool is_alone) {
    struct place place = place_of(fingerprint, bits);
    struct run run;
    if (__builtin_expect(
            !find_near(&table->marks[place.block], table->carry[place.block], place.bucket, &run),
            0))
        return copies_far(table, place, bits);
    if (is_alone || LETHE_FIELDS_ARE(bits, 8) || LETHE_FIELDS_ARE(bits, 16) || bits > 16)
        return rank_near(table, place, run, bits).equal;
    return equal_of_few(table, place, run, bits);
}

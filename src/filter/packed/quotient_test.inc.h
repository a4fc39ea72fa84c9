/* filter/packed/quotient_test.inc.h - the test of quotient.c, compiled once for any CPU and once
 * for those whose select is one instruction. */
#ifndef LETHE_FILTER_PACKED_QUOTIENT_TEST_H
#define LETHE_FILTER_PACKED_QUOTIENT_TEST_H

#include "filter/packed/packed.h"

enum { MOST_REMAINDER_BITS = 56, BITS_BESIDE = 2, WORD_BITS = 64 };

/* In quotient.c, for both tables of operations. */
uint32_t lethe_packed_one_hash(const lethe_packed_options *options);
unsigned lethe_packed_quotient_note(const lethe_packed *packed, size_t count, size_t array_bytes);
void lethe_packed_quotient_build(const lethe_packed *packed, const lethe_hash *hashes, size_t count,
                                 unsigned char *array, size_t array_bytes);

static inline uint64_t buckets_in(const lethe_packed *packed, uint64_t bits,
                                  unsigned remainder_bits) {
    return lethe_multiply_high(bits, packed->shares[remainder_bits]);
}

/* A field that lies wholly in the array, wherever it begins. */
struct field {
    size_t offset;
    unsigned shift;
};

static inline struct field field_at(size_t array_bytes, uint64_t bit) {
    size_t offset = (size_t)(bit / 8);
    if (offset > array_bytes - LETHE_PACKED_WORD_BYTES)
        offset = array_bytes - LETHE_PACKED_WORD_BYTES;
    return (struct field){offset, (unsigned)(bit - (uint64_t)offset * 8)};
}

/* The position after zero number index, from 0; the number of bits when there are fewer. */
static inline uint64_t after_zero(const unsigned char *array, size_t array_bytes, uint64_t index) {
    size_t offset = 0;
    for (; offset + LETHE_PACKED_WORD_BYTES <= array_bytes; offset += LETHE_PACKED_WORD_BYTES) {
        uint64_t zeros = ~lethe_gaussian_read(array + offset);
        unsigned count = lethe_popcount64(zeros);
        if (index < count) return offset * 8 + lethe_select64_of(zeros, (unsigned)index) + 1;
        index -= count;
    }
    for (uint64_t position = offset * 8; position < (uint64_t)array_bytes * 8; position++) {
        bool is_zero = (array[position / 8] >> position % 8 & 1) == 0;
        if (is_zero && index-- == 0) return position + 1;
    }
    return (uint64_t)array_bytes * 8;
}

static inline bool test(const lethe_packed *packed, lethe_hash hash, const unsigned char *array,
                        size_t array_bytes, unsigned remainder_bits) {
    if (remainder_bits == 0 || remainder_bits > MOST_REMAINDER_BITS) return true;
    uint64_t bits = (uint64_t)array_bytes * 8;
    uint64_t bucket = lethe_multiply_high(hash.high, buckets_in(packed, bits, remainder_bits));
    uint64_t position = bucket == 0 ? 0 : after_zero(array, array_bytes, bucket - 1);
    uint64_t remainder = hash.low >> (WORD_BITS - remainder_bits);
    uint64_t mask = UINT64_MAX >> (WORD_BITS - remainder_bits);
    uint64_t end =
        bits - (position - bucket) * remainder_bits; /* of the bucket's first remainder */
    for (; position < bits; position++, end -= remainder_bits) {
        if ((array[position / 8] >> position % 8 & 1) == 0) return false;
        if (end > bits || end < remainder_bits) return true; /* no block that build wrote */
        struct field field = field_at(array_bytes, end - remainder_bits);
        uint64_t found = lethe_gaussian_read(array + field.offset) >> field.shift & mask;
        if (found == remainder) return true;
    }
    return true;
}

/* The initializer of the including file's operations. */
#define OPERATIONS                                                                          \
    {                                                                                       \
        .unit_bytes = 1, .bits_least = BITS_BESIDE + 1, .hashes_most = 1, .hashes_step = 1, \
        .best_hashes = lethe_packed_one_hash, .note = lethe_packed_quotient_note,           \
        .build = lethe_packed_quotient_build, .test = test                                  \
    }

#endif

/* filter/packed/packed.h - what the files of the headerless filters share.
 *
 * packed.c has the public functions; bloom.c, blocked.c, gaussian.c and quotient.c one kind
 * each. */
#ifndef LETHE_FILTER_PACKED_PACKED_H
#define LETHE_FILTER_PACKED_PACKED_H

#include "filter/gaussian/word.h"
#include "lethe/packed.h"

enum { LETHE_PACKED_WORD_BYTES = 8, LETHE_PACKED_NOTE_BYTES = 1 };

/* One kind. An array is all of a block but its note, and is at least a word. */
struct lethe_packed_operations {
    size_t unit_bytes;    /* an array is a multiple of this */
    uint32_t bits_least;  /* the fewest bits per key */
    uint32_t hashes_most; /* k is at most this */
    uint32_t hashes_step; /* and a multiple of this */
    uint32_t (*best_hashes)(const lethe_packed_options *options);
    /* Of a block of count keys with an array of that size; 0 when they have no room in it. */
    unsigned (*note)(const lethe_packed *packed, size_t count, size_t array_bytes);
    /* Adds all hashes to an array of zeros. */
    void (*build)(const lethe_packed *packed, const lethe_hash *hashes, size_t count,
                  unsigned char *array, size_t array_bytes);
    /* array_bytes is a multiple of unit_bytes; note is anything. */
    bool (*test)(const lethe_packed *packed, lethe_hash hash, const unsigned char *array,
                 size_t array_bytes, unsigned note);
};

extern const struct lethe_packed_operations lethe_packed_bloom;
extern const struct lethe_packed_operations lethe_packed_blocked;
extern const struct lethe_packed_operations lethe_packed_gaussian;
extern const struct lethe_packed_operations lethe_packed_quotient;
#if defined(__x86_64__)
extern const struct lethe_packed_operations lethe_packed_quotient_bmi2;
#endif

enum {
    LETHE_PACKED_BELLS = LETHE_PACKED_MAX_GAUSSIAN_HASHES,
    LETHE_PACKED_SHARES = 57 /* remainders of up to 56 bits */
};

struct lethe_packed_bell {
    struct lethe_gaussian_piece piece; /* its lowest field is the slot radius places before */
    int64_t radius;
};

struct lethe_packed {
    const struct lethe_packed_operations *operations;
    lethe_packed_options options;
    uint64_t shares[LETHE_PACKED_SHARES];    /* (2^64 - 1) / (r + 2), to divide by multiplying */
    uint64_t powers[LETHE_PACKED_BELLS + 1]; /* of the multiplier of probes */
    /* For each t and each k the bells 1..k, one after the other: those of k begin at k(k-1)/2. */
    struct lethe_packed_bell bells[LETHE_PACKED_MAX_SLOT_BITS]
                                  [LETHE_PACKED_BELLS * (LETHE_PACKED_BELLS + 1) / 2];
};

/* Fills powers and bells. */
void lethe_packed_make_bells(lethe_packed *packed);
/* Fills shares. */
void lethe_packed_make_shares(lethe_packed *packed);

/* ln 2 of the slots that a key has, 1 to most: the k that a plain Bloom filter errs least with. */
uint32_t lethe_packed_classic_hashes(double slots_per_key, uint32_t most);

#endif

/* core/bitvector.c - rank and select over a large bit vector.
 *
 * IDEA    Cut the vector into blocks of eight words (one cache line). For each block remember
 *         how many bits are set before it, and how many of its own are set before each word.
 * LAYOUT  index[2b]     set bits before block b
 *         index[2b + 1] seven counts of nine bits: field i is the set bits of words 0..i
 *         One more pair, index[2 * blocks], holds the total.
 * I1      Bits at and after `bits` are zero, so that counts need no mask.
 * WHY     Nine bits hold counts up to 511, and seven words have at most 448 set bits. A rank is
 *         one load of the pair and one popcount.
 * LIMIT   The index describes the bits of the moment it was built.
 * PAPER   S. Vigna, Broadword implementation of rank/select queries, 2008 ("rank9"). */
#include "core/bitvector.h"

#include <assert.h>
#include <string.h>

#include "core/allocator.h"
#include "core/bits.h"
#include "core/cpu.h"

enum { BLOCK_WORDS = 8, BLOCK_BITS = 512, COUNT_BITS = 9, COUNT_MASK = 511 };

#define MAX_BITS (UINT64_C(1) << 47)

lethe_status lethe_bitvector_init(lethe_bitvector *out, uint64_t bits,
                                  const lethe_allocator *allocator) {
    *out = (lethe_bitvector){0};
    if (bits == 0 || bits > MAX_BITS) return LETHE_EINVAL;
    lethe_bitvector vector = {
        .bits = bits, .blocks = (bits + BLOCK_BITS - 1) / BLOCK_BITS, .allocator = allocator};
    vector.words = lethe_alloc_zeroed(allocator, vector.blocks * BLOCK_WORDS * sizeof(uint64_t));
    vector.index = lethe_alloc_zeroed(allocator, (vector.blocks + 1) * 2 * sizeof(uint64_t));
    if (vector.words == NULL || vector.index == NULL) {
        lethe_bitvector_drop(&vector);
        return LETHE_ENOMEM;
    }
    *out = vector;
    return LETHE_OK;
}

void lethe_bitvector_drop(lethe_bitvector *vector) {
    lethe_release(vector->allocator, vector->words,
                  vector->blocks * BLOCK_WORDS * sizeof(uint64_t));
    lethe_release(vector->allocator, vector->index, (vector->blocks + 1) * 2 * sizeof(uint64_t));
    *vector = (lethe_bitvector){0};
}

void lethe_bitvector_index(lethe_bitvector *vector) {
    uint64_t total = 0;
    for (uint64_t block = 0; block < vector->blocks; block++) {
        const uint64_t *words = vector->words + block * BLOCK_WORDS;
        uint64_t counts = 0, sum = 0;
        for (unsigned i = 0; i < BLOCK_WORDS; i++) {
            sum += lethe_popcount64(words[i]);
            if (i < BLOCK_WORDS - 1) counts |= sum << (i * COUNT_BITS);
        }
        vector->index[2 * block] = total;
        vector->index[2 * block + 1] = counts;
        total += sum;
    }
    vector->index[2 * vector->blocks] = total;
}

/* Set bits of a block before its word number word, from the packed counts. */
static uint64_t before_word(uint64_t counts, unsigned word) {
    return word == 0 ? 0 : counts >> ((word - 1) * COUNT_BITS) & COUNT_MASK;
}

uint64_t lethe_bitvector_rank(const lethe_bitvector *vector, uint64_t position) {
    assert(position <= vector->bits);
    uint64_t block = position / BLOCK_BITS;
    uint64_t rank = vector->index[2 * block];
    if (position % BLOCK_BITS == 0) return rank; /* also the end of the last block */
    unsigned word = (unsigned)(position / 64 % BLOCK_WORDS);
    rank += before_word(vector->index[2 * block + 1], word);
    return rank + lethe_rank64(vector->words[position / 64], (unsigned)(position % 64));
}

#if defined(__x86_64__)
__attribute__((target("bmi,bmi2"))) static unsigned select_with_pdep(uint64_t word,
                                                                     unsigned index) {
    return (unsigned)__builtin_ia32_tzcnt_u64(__builtin_ia32_pdep_di(UINT64_C(1) << index, word));
}
#endif

/* word is known to have more than index set bits. */
static unsigned select_in_word(uint64_t word, unsigned index) {
#if defined(__x86_64__)
    if (lethe_cpu_has_fast_pdep()) return select_with_pdep(word, index);
#endif
    return lethe_select64_portable(word, index);
}

uint64_t lethe_bitvector_select(const lethe_bitvector *vector, uint64_t ordinal) {
    if (ordinal >= vector->index[2 * vector->blocks]) return vector->bits;
    /* The last block with no more than ordinal bits before it. */
    uint64_t low = 0, high = vector->blocks - 1;
    while (low < high) {
        uint64_t middle = high - (high - low) / 2;
        if (vector->index[2 * middle] <= ordinal) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    uint64_t left = ordinal - vector->index[2 * low];
    uint64_t counts = vector->index[2 * low + 1];
    unsigned word = 0;
    while (word < BLOCK_WORDS - 1 && before_word(counts, word + 1) <= left)
        word++;
    left -= before_word(counts, word);
    uint64_t bits = vector->words[low * BLOCK_WORDS + word];
    return low * BLOCK_BITS + (uint64_t)word * 64 + select_in_word(bits, (unsigned)left);
}

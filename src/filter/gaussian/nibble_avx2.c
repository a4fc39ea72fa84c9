/* filter/gaussian/nibble_avx2.c - narrow bells in slots of four bits, the default, with AVX.
 *
 * The word of a probe is loaded twice into a vector; the lower half keeps the even slots, the upper half the odd
 * ones. Then every slot has a byte of its own, and one instruction takes the larger of slot and level in
 * all of them. A bell has two such vectors, for even and for odd positions, in a word that begins as many whole
 * bytes before the position's byte as the bell needs: nothing is shifted, and the position itself is all that
 * a location has to be. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "filter/gaussian/gaussian.h"

static inline uint64_t locate(const struct lethe_gaussian_field *field,
                              const struct lethe_gaussian_bell *bell, uint64_t position) {
    (void)field;
    (void)bell;
    return position;
}

static inline unsigned char *word_at(const struct lethe_gaussian_field *field,
                                     const struct lethe_gaussian_bell *bell, uint64_t position) {
    return field->memory + bell->start + position / 2;
}

static inline const unsigned char *first_byte(const struct lethe_gaussian_field *field,
                                              const struct lethe_gaussian_bell *bell,
                                              uint64_t position) {
    return word_at(field, bell, position);
}

/* The even slots of a word in the lower half, the odd ones in the upper. */
static inline __m128i split(const unsigned char *word) {
    const __m128i halves =
        _mm_set_epi64x((long long)UINT64_C(0xf0f0f0f0f0f0f0f0), 0x0f0f0f0f0f0f0f0f);
    long long twice;
    memcpy(&twice, word, sizeof twice);
    return _mm_and_si128(_mm_set1_epi64x(twice), halves);
}

static inline __m128i levels_at(const struct lethe_gaussian_field *field,
                                const struct lethe_gaussian_bell *bell, uint64_t position) {
    const __m128i *levels = field->parts;
    return _mm_load_si128(levels + bell->parts + position % 2);
}

static inline bool covers_at(const struct lethe_gaussian_field *field,
                             const struct lethe_gaussian_bell *bell, uint64_t position) {
    __m128i slots = split(word_at(field, bell, position));
    __m128i below = _mm_subs_epu8(levels_at(field, bell, position), slots);
    return _mm_testz_si128(below, below);
}

static inline bool raise_at(const struct lethe_gaussian_field *field,
                            const struct lethe_gaussian_bell *bell, uint64_t position) {
    unsigned char *word = word_at(field, bell, position);
    __m128i slots = split(word), levels = levels_at(field, bell, position);
    __m128i raised = _mm_max_epu8(slots, levels);
    raised = _mm_or_si128(raised, _mm_unpackhi_epi64(raised, raised));
    long long together = _mm_cvtsi128_si64(raised);
    memcpy(word, &together, sizeof together);
    __m128i below = _mm_subs_epu8(levels, slots);
    return _mm_testz_si128(below, below);
}

#define LAST_BYTE 7
#define OPERATIONS lethe_gaussian_nibble_avx2
#include "filter/gaussian/loops.h"

#else
typedef int lethe_gaussian_nibble_avx2_is_for_x86;
#endif

/* filter/gaussian/pair_avx2.c - narrow bells in slots of two bits with AVX2: as nibble_avx2.c has those of four.
 *
 * The word of a probe is loaded four times, and each quarter keeps every fourth slot; a bell has a vector for
 * each of the four places that a slot can have in a byte. */
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
    return field->memory + bell->start + position / 4;
}

static inline const unsigned char *first_byte(const struct lethe_gaussian_field *field,
                                              const struct lethe_gaussian_bell *bell,
                                              uint64_t position) {
    return word_at(field, bell, position);
}

static inline __m256i split(const unsigned char *word) {
    const __m256i quarters =
        _mm256_setr_epi64x(0x0303030303030303, 0x0c0c0c0c0c0c0c0c, 0x3030303030303030,
                           (long long)UINT64_C(0xc0c0c0c0c0c0c0c0));
    long long all;
    memcpy(&all, word, sizeof all);
    return _mm256_and_si256(_mm256_set1_epi64x(all), quarters);
}

static inline __m256i levels_at(const struct lethe_gaussian_field *field,
                                const struct lethe_gaussian_bell *bell, uint64_t position) {
    const __m256i *levels = field->parts;
    return _mm256_load_si256(levels + bell->parts + position % 4);
}

static inline bool covers_at(const struct lethe_gaussian_field *field,
                             const struct lethe_gaussian_bell *bell, uint64_t position) {
    __m256i slots = split(word_at(field, bell, position));
    __m256i below = _mm256_subs_epu8(levels_at(field, bell, position), slots);
    return _mm256_testz_si256(below, below);
}

static inline bool raise_at(const struct lethe_gaussian_field *field,
                            const struct lethe_gaussian_bell *bell, uint64_t position) {
    unsigned char *word = word_at(field, bell, position);
    __m256i slots = split(word), levels = levels_at(field, bell, position);
    __m256i raised = _mm256_max_epu8(slots, levels);
    __m128i half =
        _mm_or_si128(_mm256_castsi256_si128(raised), _mm256_extracti128_si256(raised, 1));
    long long together = _mm_cvtsi128_si64(_mm_or_si128(half, _mm_unpackhi_epi64(half, half)));
    memcpy(word, &together, sizeof together);
    __m256i below = _mm256_subs_epu8(levels, slots);
    return _mm256_testz_si256(below, below);
}

#define LAST_BYTE 7
#define OPERATIONS lethe_gaussian_pair_avx2
#include "filter/gaussian/loops.h"

#else
typedef int lethe_gaussian_pair_avx2_is_for_x86;
#endif

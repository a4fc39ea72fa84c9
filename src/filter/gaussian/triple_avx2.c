/* filter/gaussian/triple_avx2.c - narrow bells in slots of three bits with AVX2: a lane for each
 * slot.
 *
 * These slots lie across bytes, so nibble_avx2.c's way is not theirs. The four bytes of a probe are
 * loaded into eight lanes; seven of them keep one slot each, and the last one whatever is around
 * the bell. Each slot is then compared where it lies. A bell has masks and levels for each of the
 * eight bits that it can begin at. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "filter/gaussian/gaussian.h"

static inline uint64_t locate(const struct lethe_gaussian_field *field,
                              const struct lethe_gaussian_bell *bell, uint64_t position) {
    (void)field;
    return position * 3 + bell->start;
}

static inline const unsigned char *first_byte(const struct lethe_gaussian_field *field,
                                              const struct lethe_gaussian_bell *bell,
                                              uint64_t location) {
    (void)bell;
    return field->memory + location / 8;
}

static inline const __m256i *lanes_at(const struct lethe_gaussian_field *field,
                                      const struct lethe_gaussian_bell *bell, uint64_t location) {
    const struct lethe_gaussian_lanes *lanes = field->parts;
    return (const __m256i *)(const void *)(lanes + bell->parts + location % 8);
}

static inline __m256i split(const unsigned char *bytes, const __m256i *lanes) {
    int word;
    memcpy(&word, bytes, sizeof word);
    return _mm256_and_si256(_mm256_set1_epi32(word), _mm256_load_si256(lanes));
}

static inline bool covers_at(const struct lethe_gaussian_field *field,
                             const struct lethe_gaussian_bell *bell, uint64_t location) {
    const __m256i *lanes = lanes_at(field, bell, location);
    __m256i slots = split(field->memory + location / 8, lanes);
    __m256i raised = _mm256_max_epu32(slots, _mm256_load_si256(lanes + 1));
    __m256i changed = _mm256_xor_si256(slots, raised);
    return _mm256_testz_si256(changed, changed);
}

static inline bool raise_at(const struct lethe_gaussian_field *field,
                            const struct lethe_gaussian_bell *bell, uint64_t location) {
    const __m256i *lanes = lanes_at(field, bell, location);
    unsigned char *bytes = field->memory + location / 8;
    __m256i slots = split(bytes, lanes);
    __m256i raised = _mm256_max_epu32(slots, _mm256_load_si256(lanes + 1));
    __m128i half =
        _mm_or_si128(_mm256_castsi256_si128(raised), _mm256_extracti128_si256(raised, 1));
    half = _mm_or_si128(half, _mm_unpackhi_epi64(half, half));
    half = _mm_or_si128(half, _mm_shuffle_epi32(half, 1));
    int word = _mm_cvtsi128_si32(half);
    memcpy(bytes, &word, sizeof word);
    __m256i changed = _mm256_xor_si256(slots, raised);
    return _mm256_testz_si256(changed, changed);
}

#define LAST_BYTE 3
#define OPERATIONS lethe_gaussian_triple_avx2
#include "filter/gaussian/loops.inc.h"

#else
typedef int lethe_gaussian_triple_avx2_is_for_x86;
#endif

/* filter/gaussian/pair_avx2.c - narrow bells in slots of two bits with AVX2. */
#if defined(__x86_64__)

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SLOTS_PER_BYTE 4
#define VECTOR __m256i
#define OF(name) _mm256_##name

/* Each quarter keeps every fourth slot of the word. */
static inline __m256i split(const unsigned char *word) {
    const __m256i quarters =
        _mm256_setr_epi64x(0x0303030303030303, 0x0c0c0c0c0c0c0c0c, 0x3030303030303030,
                           (long long)UINT64_C(0xc0c0c0c0c0c0c0c0));
    long long all;
    memcpy(&all, word, sizeof all);
    return _mm256_and_si256(_mm256_set1_epi64x(all), quarters);
}

static inline __m256i load(const __m256i *levels) {
    return _mm256_load_si256(levels);
}

static inline long long together(__m256i slots) {
    __m128i half = _mm_or_si128(_mm256_castsi256_si128(slots), _mm256_extracti128_si256(slots, 1));
    return _mm_cvtsi128_si64(_mm_or_si128(half, _mm_unpackhi_epi64(half, half)));
}

static inline bool is_zero(__m256i vector) {
    return _mm256_testz_si256(vector, vector);
}

#define OPERATIONS lethe_gaussian_pair_avx2
#include "filter/gaussian/byte_avx2.inc.h"

#else
typedef int lethe_gaussian_pair_avx2_is_for_x86;
#endif

/* filter/gaussian/nibble_avx2.c - narrow bells in slots of four bits, the default, with AVX. */
#if defined(__x86_64__)

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SLOTS_PER_BYTE 2
#define VECTOR __m128i
#define OF(name) _mm_##name

/* The even slots of a word in the lower half, the odd ones in the upper. */
static inline __m128i split(const unsigned char *word) {
    const __m128i halves =
        _mm_set_epi64x((long long)UINT64_C(0xf0f0f0f0f0f0f0f0), 0x0f0f0f0f0f0f0f0f);
    long long twice;
    memcpy(&twice, word, sizeof twice);
    return _mm_and_si128(_mm_set1_epi64x(twice), halves);
}

static inline __m128i load(const __m128i *levels) {
    return _mm_load_si128(levels);
}

static inline long long together(__m128i slots) {
    return _mm_cvtsi128_si64(_mm_or_si128(slots, _mm_unpackhi_epi64(slots, slots)));
}

static inline bool is_zero(__m128i vector) {
    return _mm_testz_si128(vector, vector);
}

#define OPERATIONS lethe_gaussian_nibble_avx2
#include "filter/gaussian/byte_avx2.inc.h"

#else
typedef int lethe_gaussian_nibble_avx2_is_for_x86;
#endif

/* sketch/hot_avx2.c - the operations of sketches with AVX2: positions of two keys at a time. */
#if defined(__x86_64__)

#include <immintrin.h>
#include <stddef.h>

#include "sketch/place.h"

/* In memory, a hash is the four 32-bit numbers that its rows use. The products have 64 bits, so the
 * even and the odd numbers are multiplied separately. */
static inline void place_many(const lethe_hash *hashes, size_t count, uint32_t width,
                              uint32_t first, uint32_t *at, size_t stride) {
    const __m256i widths = _mm256_set1_epi64x(width);
    const __m256i firsts = _mm256_broadcastsi128_si256(_mm_setr_epi32(
        (int)first, (int)(first + width), (int)(first + 2 * width), (int)(first + 3 * width)));
    size_t i = 0;
    for (; i + 2 <= count; i += 2) {
        __m256i bits = _mm256_loadu_si256((const __m256i *)(hashes + i));
        __m256i even = _mm256_mul_epu32(bits, widths);
        __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(bits, 32), widths);
        __m256i places = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
        places = _mm256_add_epi32(places, firsts);
        _mm_store_si128((__m128i *)(at + i * stride), _mm256_castsi256_si128(places));
        _mm_store_si128((__m128i *)(at + (i + 1) * stride), _mm256_extracti128_si256(places, 1));
    }
    if (i < count) lethe_place_rows(hashes[i], width, first, at + i * stride);
}

#define OPERATIONS lethe_sketch_avx2
#include "sketch/hot.inc.h"

#else
typedef int lethe_sketch_avx2_is_for_x86;
#endif

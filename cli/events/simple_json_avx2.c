/* simple_json_avx2.c - takes simple lines of JSON, 32 bytes at a time, where the CPU has AVX2. */
#include "events/simple.h"

#if defined(__x86_64__)

#include <immintrin.h>

static inline uint32_t find_half(const char *at, uint32_t *high) {
    const __m256i control = _mm256_set1_epi8(0x1f);
    __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)at);
    __m256i found =
        _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"')),
                                        _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\'))),
                        _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, control), control));
    *high = (uint32_t)_mm256_movemask_epi8(bytes);
    return (uint32_t)_mm256_movemask_epi8(found);
}

/* A bit for each of 64 bytes: whether it is a quote, a backslash or a control character; and in
 * *high, whether it is not ASCII. */
static inline uint64_t find_stops(const char *at, uint64_t *high) {
    uint32_t low_high, high_high;
    uint64_t stops = find_half(at, &low_high);
    stops |= (uint64_t)find_half(at + 32, &high_high) << 32;
    *high = low_high | (uint64_t)high_high << 32;
    return stops;
}

#define SIMPLE_JSON simple_json_avx2
#include "events/simple_json.inc.h"

#else
typedef int simple_json_avx2_is_for_x86;
#endif

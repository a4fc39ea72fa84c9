/* simple_avx2.c - takes simple lines, 32 bytes at a time, where the CPU has AVX2. */
#include "events/simple.h"

#if defined(__x86_64__)

#include <immintrin.h>

static inline uint32_t find_half(const char *at, const struct simple_rule *rule) {
    __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)at);
    __m256i found = _mm256_or_si256(
        _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\n')),
                        _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(rule->delimiter))),
        _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(rule->escape)));
    return (uint32_t)_mm256_movemask_epi8(found);
}

/* A bit for each of 64 bytes: whether it is a newline, a delimiter or an escape. */
static inline uint64_t find_stops(const char *at, const struct simple_rule *rule) {
    return find_half(at, rule) | (uint64_t)find_half(at + 32, rule) << 32;
}

#define SIMPLE simple_avx2
#include "events/simple.inc.h"

#else
typedef int simple_avx2_is_for_x86;
#endif

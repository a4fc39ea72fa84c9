/* scan_avx2.c - scans JSON, 32 bytes of a string at a time, where the CPU has AVX2. */
#include "events/scan.h"

#if defined(__x86_64__)

#include <immintrin.h>

/* The first byte from `at` on that ends plain text in a string: a quote, a backslash or a control
 * character. *high is not 0 if a byte before it is not ASCII. */
static inline const char *find_stop(const char *at, uint64_t *high) {
    const __m256i quote = _mm256_set1_epi8('"'), backslash = _mm256_set1_epi8('\\');
    const __m256i control = _mm256_set1_epi8(0x1f);
    for (;; at += sizeof(__m256i)) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)at);
        __m256i found = _mm256_or_si256(
            _mm256_or_si256(_mm256_cmpeq_epi8(bytes, quote), _mm256_cmpeq_epi8(bytes, backslash)),
            _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, control), control));
        uint32_t stops = (uint32_t)_mm256_movemask_epi8(found);
        uint32_t tops = (uint32_t)_mm256_movemask_epi8(bytes);
        if (stops == 0) {
            *high |= tops;
            continue;
        }
        *high |= tops & (stops - 1) & ~stops;
        return at + __builtin_ctz(stops);
    }
}

#define SCAN scan_avx2
#include "events/scan.inc.h"

#else
typedef int scan_avx2_is_for_x86;
#endif

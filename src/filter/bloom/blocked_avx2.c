/* filter/bloom/blocked_avx2.c - the blocked filter with AVX2: a line is two vectors of four
 * lanes. */
#if defined(__x86_64__)

#include <immintrin.h>
#include <stdbool.h>

#include "filter/bloom/blocked_layout.h"

struct masks {
    __m256i first, second;
};

static inline struct masks masks_of(uint64_t fields) {
    const __m256i shift_first = _mm256_setr_epi64x(16, 22, 28, 34);
    const __m256i shift_second = _mm256_setr_epi64x(40, 46, 52, 58);
    const __m256i mask = _mm256_set1_epi64x(FIELD_MASK), one = _mm256_set1_epi64x(1);
    __m256i all = _mm256_set1_epi64x((long long)fields);
    __m256i first = _mm256_and_si256(_mm256_srlv_epi64(all, shift_first), mask);
    __m256i second = _mm256_srlv_epi64(all, shift_second);
    second = _mm256_and_si256(second, mask);
    return (struct masks){_mm256_sllv_epi64(one, first), _mm256_sllv_epi64(one, second)};
}

static inline bool contains(__m256i first, __m256i second, struct masks masks) {
    __m256i missing = _mm256_or_si256(_mm256_andnot_si256(first, masks.first),
                                      _mm256_andnot_si256(second, masks.second));
    return _mm256_testz_si256(missing, missing);
}

static inline bool line_test(const uint64_t *line, uint64_t fields) {
    const __m256i *halves = (const __m256i *)line;
    return contains(_mm256_load_si256(halves), _mm256_load_si256(halves + 1), masks_of(fields));
}

static inline bool line_add(uint64_t *line, uint64_t fields) {
    __m256i *halves = (__m256i *)line;
    __m256i first = _mm256_load_si256(halves), second = _mm256_load_si256(halves + 1);
    struct masks masks = masks_of(fields);
    _mm256_store_si256(halves, _mm256_or_si256(first, masks.first));
    _mm256_store_si256(halves + 1, _mm256_or_si256(second, masks.second));
    return contains(first, second, masks);
}

#define OPERATIONS lethe_bloom_blocked_avx2
#include "filter/bloom/blocked_lines.inc.h"

#else
typedef int lethe_blocked_avx2_is_for_x86;
#endif

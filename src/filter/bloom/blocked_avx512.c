/* filter/bloom/blocked_avx512.c - the blocked filter with AVX-512: a line is one vector.
 *
 * The tests also compile this file with LETHE_EMULATE_AVX512, which takes the same intrinsics from
 * SIMDe, so that it is proved equal to the others on machines without AVX-512 too. */
#if defined(__x86_64__)

#if defined(LETHE_EMULATE_AVX512)
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#else
#include <immintrin.h>
#endif
#include <stdbool.h>

#include "filter/bloom/blocked_layout.h"

static inline __m512i mask_of(uint64_t fields) {
    const __m512i shifts = _mm512_set_epi64(58, 52, 46, 40, 34, 28, 22, 16);
    __m512i all = _mm512_set1_epi64((long long)fields);
    __m512i bits = _mm512_and_si512(_mm512_srlv_epi64(all, shifts), _mm512_set1_epi64(FIELD_MASK));
    return _mm512_sllv_epi64(_mm512_set1_epi64(1), bits);
}

static inline bool contains(__m512i line, __m512i mask) {
    __m512i missing = _mm512_andnot_si512(line, mask);
    return _mm512_test_epi64_mask(missing, missing) == 0;
}

static inline bool line_test(const uint64_t *line, uint64_t fields) {
    return contains(_mm512_load_si512(line), mask_of(fields));
}

static inline bool line_add(uint64_t *line, uint64_t fields) {
    __m512i old = _mm512_load_si512(line), mask = mask_of(fields);
    _mm512_store_si512(line, _mm512_or_si512(old, mask));
    return contains(old, mask);
}

#if defined(LETHE_EMULATE_AVX512)
#define OPERATIONS lethe_bloom_blocked_avx512_emulated
extern const struct lethe_bloom_operations OPERATIONS;
#else
#define OPERATIONS lethe_bloom_blocked_avx512
#endif
#include "filter/bloom/blocked_lines.inc.h"

#else
typedef int lethe_blocked_avx512_is_for_x86;
#endif

/* filter/gaussian/double_avx2.c - slots of double with AVX2, 4 at a time.
 *
 * The values of a bell are filled up with zeros to whole vectors: no slot is below zero, and the guard is long
 * enough to be read and written back beyond the last slot. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "filter/gaussian/gaussian.h"

enum { LANES = 4 };

static inline uint64_t locate(const struct lethe_gaussian_field *field,
                              const struct lethe_gaussian_bell *bell, uint64_t position) {
    (void)field;
    return position + bell->start;
}

static inline const unsigned char *first_byte(const struct lethe_gaussian_field *field,
                                              const struct lethe_gaussian_bell *bell,
                                              uint64_t location) {
    (void)bell;
    return field->memory + location * sizeof(double);
}

static inline bool covers_at(const struct lethe_gaussian_field *field,
                             const struct lethe_gaussian_bell *bell, uint64_t location) {
    const double *slots = (const double *)(const void *)field->memory + location;
    const double *values = (const double *)field->parts + bell->parts;
    for (uint32_t i = 0; i < bell->part_count; i += LANES) {
        __m256d below =
            _mm256_cmp_pd(_mm256_loadu_pd(slots + i), _mm256_loadu_pd(values + i), _CMP_LT_OQ);
        if (_mm256_movemask_pd(below) != 0) return false;
    }
    return true;
}

static inline bool raise_at(const struct lethe_gaussian_field *field,
                            const struct lethe_gaussian_bell *bell, uint64_t location) {
    double *slots = (double *)(void *)field->memory + location;
    const double *values = (const double *)field->parts + bell->parts;
    __m256d any = _mm256_setzero_pd();
    for (uint32_t i = 0; i < bell->part_count; i += LANES) {
        __m256d old = _mm256_loadu_pd(slots + i), asked = _mm256_loadu_pd(values + i);
        any = _mm256_or_pd(any, _mm256_cmp_pd(old, asked, _CMP_LT_OQ));
        _mm256_storeu_pd(slots + i, _mm256_max_pd(old, asked));
    }
    return _mm256_movemask_pd(any) == 0;
}

#define LAST_BYTE 31
#define OPERATIONS lethe_gaussian_double_avx2
#include "filter/gaussian/loops.h"

#else
typedef int lethe_gaussian_double_avx2_is_for_x86;
#endif

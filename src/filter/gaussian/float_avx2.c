/* filter/gaussian/float_avx2.c - slots of float with AVX2, 8 at a time.
 *
 * The values of a bell are filled up with zeros to whole vectors: no slot is below zero, and the guard is long
 * enough to be read and written back beyond the last slot. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "filter/gaussian/gaussian.h"

enum { LANES = 8 };

static inline uint64_t locate(const struct lethe_gaussian_field *field,
                              const struct lethe_gaussian_bell *bell, uint64_t position) {
    (void)field;
    return position + bell->start;
}

static inline const unsigned char *first_byte(const struct lethe_gaussian_field *field,
                                              const struct lethe_gaussian_bell *bell,
                                              uint64_t location) {
    (void)bell;
    return field->memory + location * sizeof(float);
}

static inline bool covers_at(const struct lethe_gaussian_field *field,
                             const struct lethe_gaussian_bell *bell, uint64_t location) {
    const float *slots = (const float *)(const void *)field->memory + location;
    const float *values = (const float *)field->parts + bell->parts;
    for (uint32_t i = 0; i < bell->part_count; i += LANES) {
        __m256 below =
            _mm256_cmp_ps(_mm256_loadu_ps(slots + i), _mm256_loadu_ps(values + i), _CMP_LT_OQ);
        if (_mm256_movemask_ps(below) != 0) return false;
    }
    return true;
}

static inline bool raise_at(const struct lethe_gaussian_field *field,
                            const struct lethe_gaussian_bell *bell, uint64_t location) {
    float *slots = (float *)(void *)field->memory + location;
    const float *values = (const float *)field->parts + bell->parts;
    __m256 any = _mm256_setzero_ps();
    for (uint32_t i = 0; i < bell->part_count; i += LANES) {
        __m256 old = _mm256_loadu_ps(slots + i), asked = _mm256_loadu_ps(values + i);
        any = _mm256_or_ps(any, _mm256_cmp_ps(old, asked, _CMP_LT_OQ));
        _mm256_storeu_ps(slots + i, _mm256_max_ps(old, asked));
    }
    return _mm256_movemask_ps(any) == 0;
}

#define LAST_BYTE 31
#define OPERATIONS lethe_gaussian_float_avx2
#include "filter/gaussian/loops.h"

#else
typedef int lethe_gaussian_float_avx2_is_for_x86;
#endif

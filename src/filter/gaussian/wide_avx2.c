/* filter/gaussian/wide_avx2.c - bells of several words in packed slots of 2, 4 or 8 bits, 32 bytes
 * at a time.
 *
 * These slots never lie across two bytes, so the arithmetic of word.h works byte by byte, in a
 * vector as well. A bell can begin at 8/t places within a byte; the table has it once for each, so
 * that nothing is shifted. Each place has part_count vectors. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "filter/gaussian/packed_place.inc.h"

static inline const struct lethe_gaussian_vector *
vectors_at(const struct lethe_gaussian_field *field, const struct lethe_gaussian_bell *bell,
           uint64_t location) {
    /* The places within a byte are 0, t, 2t...; for t = 2, 4 and 8 the division is a shift by 1, 2,
     * 3. */
    unsigned place = (unsigned)(location % 8) >> (field->slot_bits / 2 - field->slot_bits / 8);
    const struct lethe_gaussian_vector *vectors = field->parts;
    return vectors + bell->parts + (size_t)place * bell->part_count;
}

static inline __m256i below_in(__m256i slots, __m256i levels, __m256i tops) {
    __m256i low = _mm256_andnot_si256(tops, levels);
    __m256i difference = _mm256_sub_epi8(_mm256_or_si256(slots, tops), low);
    __m256i unequal = _mm256_xor_si256(slots, levels);
    __m256i reaches = _mm256_or_si256(_mm256_andnot_si256(levels, slots),
                                      _mm256_andnot_si256(unequal, difference));
    return _mm256_andnot_si256(reaches, tops);
}

static inline bool covers_at(const struct lethe_gaussian_field *field,
                             const struct lethe_gaussian_bell *bell, uint64_t location) {
    const struct lethe_gaussian_vector *vectors = vectors_at(field, bell, location);
    const unsigned char *bytes = field->memory + location / 8;
    for (uint32_t i = 0; i < bell->part_count; i++) {
        __m256i slots =
            _mm256_loadu_si256((const __m256i *)(bytes + (size_t)i * LETHE_GAUSSIAN_VECTOR_BYTES));
        __m256i below = below_in(slots, _mm256_loadu_si256((const __m256i *)vectors[i].levels),
                                 _mm256_loadu_si256((const __m256i *)vectors[i].tops));
        if (!_mm256_testz_si256(below, below)) return false;
    }
    return true;
}

static inline bool raise_at(const struct lethe_gaussian_field *field,
                            const struct lethe_gaussian_bell *bell, uint64_t location) {
    const struct lethe_gaussian_vector *vectors = vectors_at(field, bell, location);
    unsigned char *bytes = field->memory + location / 8;
    const __m128i shift = _mm_cvtsi32_si128((int)field->slot_bits - 1);
    __m256i changed = _mm256_setzero_si256();
    for (uint32_t i = 0; i < bell->part_count; i++) {
        __m256i *place = (__m256i *)(bytes + (size_t)i * LETHE_GAUSSIAN_VECTOR_BYTES);
        __m256i slots = _mm256_loadu_si256(place);
        __m256i levels = _mm256_loadu_si256((const __m256i *)vectors[i].levels);
        __m256i below =
            below_in(slots, levels, _mm256_loadu_si256((const __m256i *)vectors[i].tops));
        __m256i whole_fields =
            _mm256_or_si256(below, _mm256_sub_epi8(below, _mm256_srl_epi64(below, shift)));
        __m256i difference = _mm256_and_si256(_mm256_xor_si256(slots, levels), whole_fields);
        _mm256_storeu_si256(place, _mm256_xor_si256(slots, difference));
        changed = _mm256_or_si256(changed, below);
    }
    return _mm256_testz_si256(changed, changed);
}

#define LAST_BYTE 31
#define OPERATIONS lethe_gaussian_wide_avx2
#include "filter/gaussian/loops.inc.h"

#else
typedef int lethe_gaussian_wide_avx2_is_for_x86;
#endif

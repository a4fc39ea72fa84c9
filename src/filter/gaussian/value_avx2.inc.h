/* filter/gaussian/value_avx2.inc.h - slots that are floating-point numbers, with AVX2: 32 bytes at
 * a time.
 *
 * The including file defines VALUE and VECTOR, the types of a slot and of a vector of them,
 * OF(name), the intrinsic _mm256_name for that vector, and OPERATIONS.
 *
 * The values of a bell are filled up with zeros to whole vectors: no slot is below zero, and the
 * guard is long enough to be read and written back beyond the last slot. */
#include <immintrin.h>

#include "filter/gaussian/value_place.inc.h"

enum { LANES = 32 / sizeof(VALUE) };

static inline bool covers_at(const struct lethe_gaussian_field *field,
                             const struct lethe_gaussian_bell *bell, uint64_t location) {
    const VALUE *slots = (const VALUE *)(const void *)field->memory + location;
    const VALUE *values = (const VALUE *)field->parts + bell->parts;
    for (uint32_t i = 0; i < bell->part_count; i += LANES) {
        VECTOR below = OF(cmp)(OF(loadu)(slots + i), OF(loadu)(values + i), _CMP_LT_OQ);
        if (OF(movemask)(below) != 0) return false;
    }
    return true;
}

static inline bool raise_at(const struct lethe_gaussian_field *field,
                            const struct lethe_gaussian_bell *bell, uint64_t location) {
    VALUE *slots = (VALUE *)(void *)field->memory + location;
    const VALUE *values = (const VALUE *)field->parts + bell->parts;
    VECTOR any = OF(setzero)();
    for (uint32_t i = 0; i < bell->part_count; i += LANES) {
        VECTOR old = OF(loadu)(slots + i), asked = OF(loadu)(values + i);
        any = OF(or)(any, OF(cmp)(old, asked, _CMP_LT_OQ));
        OF(storeu)(slots + i, OF(max)(old, asked));
    }
    return OF(movemask)(any) == 0;
}

#define LAST_BYTE 31
#include "filter/gaussian/loops.inc.h"

/* core/sized.h - structs that start with their size, so that they can grow.
 *
 * The rule is in lethe/status.h under "Structs". Both functions take the size that the struct had
 * in its first version, as the end of the last field that it had then:
 *
 *     lethe_bloom_options taken;
 *     status = LETHE_TAKE(options, &taken, allocator);
 *     ...
 *     return LETHE_GIVE(&stats, out, distinct_estimate);
 *
 * A struct must not end in padding: a later field could lie there, where an older caller's bytes
 * are not zero. So these structs end with a field of eight bytes, or several that fill them. */
#ifndef LETHE_CORE_SIZED_H
#define LETHE_CORE_SIZED_H

#include <stddef.h>

#include "lethe/status.h"

/* Fills *ours from the caller's struct; NULL is all zeros. ours->size becomes ours_size. On error
 * *ours is all zeros. Errors: LETHE_EINVAL (theirs is smaller than first_size, or has nonzero bytes
 * where ours ends). */
LETHE_MUST_CHECK lethe_status lethe_sized_take(const void *theirs, void *ours, size_t ours_size,
                                               size_t first_size);

/* Whether a caller's struct can be filled: not NULL, and at least first_size bytes. For functions
 * that want to refuse before they work. */
LETHE_MUST_CHECK lethe_status lethe_sized_check(const void *theirs, size_t first_size);

/* Copies *ours to the caller's struct as far as both go; theirs->size stays as it is.
 * Errors: LETHE_EINVAL (theirs is NULL or smaller than first_size); then nothing is written. */
LETHE_MUST_CHECK lethe_status lethe_sized_give(const void *ours, void *theirs, size_t ours_size,
                                               size_t first_size);

/* The bytes of *object up to and including a field. */
#define LETHE_SIZE_WITH(object, field) \
    (offsetof(__typeof__(*(object)), field) + sizeof(__typeof__((object)->field)))

#define LETHE_TAKE(theirs, ours, last_field) \
    lethe_sized_take((theirs), (ours), sizeof *(ours), LETHE_SIZE_WITH((ours), last_field))
#define LETHE_GIVE(ours, theirs, last_field) \
    lethe_sized_give((ours), (theirs), sizeof *(ours), LETHE_SIZE_WITH((ours), last_field))

/* Defines TYPE_plan by TYPE_plan_options, which takes the options and computes the shape. */
#define LETHE_DEFINE_PLAN(type_, last_field_of_shape_)                                      \
    lethe_status type_##_plan(const type_##_options *options, type_##_shape *out) {         \
        type_##_options taken;                                                              \
        type_##_shape shape;                                                                \
        lethe_status status = type_##_plan_options(options, &taken, &shape);                \
        return status == LETHE_OK ? LETHE_GIVE(&shape, out, last_field_of_shape_) : status; \
    }

#endif

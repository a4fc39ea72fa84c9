/* core/allocator.h - allocation as the library itself does it: checked sizes, zeroed blocks. */
#ifndef LETHE_CORE_ALLOCATOR_H
#define LETHE_CORE_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"

/* Returns size zeroed bytes aligned to 64, or NULL. allocator NULL is the default one. */
void *lethe_alloc_zeroed(const lethe_allocator *allocator, size_t size);

/* Whether an allocator that a caller gave can be used: NULL, or both of its functions are there. */
bool lethe_allocator_is_usable(const lethe_allocator *allocator);

/* Releases a block of that size; takes NULL. */
void lethe_release(const lethe_allocator *allocator, void *block, size_t size);

/* *out = count * each as a size in bytes; false when that cannot be addressed. */
static inline bool lethe_size_multiply(uint64_t count, uint64_t each, size_t *out) {
    uint64_t product;
    if (__builtin_mul_overflow(count, each, &product) || product > PTRDIFF_MAX) return false;
    *out = (size_t)product;
    return true;
}

#endif

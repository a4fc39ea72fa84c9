/* lethe/allocator.h - where an object's memory comes from.
 *
 * Every object takes an allocator in its options; NULL is the default one. The object keeps the
 * pointer, so the allocator must outlive it. Adding to a structure and testing it allocate nothing,
 * unless the structure grows.
 *
 * The default allocator uses malloc for small blocks. For blocks of 2 MiB and more it maps memory
 * of its own and asks for huge pages, which save a TLB miss on each random access to a large
 * filter. Such memory is zero although nothing has written to it. */
#ifndef LETHE_ALLOCATOR_H
#define LETHE_ALLOCATOR_H

#include <stddef.h>

#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Both functions are needed: an allocator that lacks one is LETHE_EINVAL wherever it is used. */
typedef struct lethe_allocator {
    /* Passed to both functions. */
    void *context;
    /* Returns size bytes, all zero, aligned to 64 bytes, or NULL. size is never 0. */
    void *(*allocate_zeroed)(void *context, size_t size);
    /* Takes back what allocate_zeroed returned. size is what was asked for; block is never NULL. */
    void (*release)(void *context, void *block, size_t size);
} lethe_allocator;

/* The allocator that is used where an option is NULL. Static; thread-safe. */
LETHE_API const lethe_allocator *lethe_default_allocator(void);

#ifdef __cplusplus
}
#endif

#endif

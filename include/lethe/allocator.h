/* lethe/allocator.h - where an object's memory comes from.
 *
 * Every object takes an allocator in its options (NULL: the default one) and keeps the
 * pointer, so the allocator must outlive the object. Nothing is allocated on the paths
 * that add and test.
 *
 * The default allocator is malloc for small blocks. From 2 MiB up it maps memory of its
 * own and asks for huge pages, which spare a random access in a large filter its TLB miss;
 * such memory is zero without having been touched. */
#ifndef LETHE_ALLOCATOR_H
#define LETHE_ALLOCATOR_H

#include <stddef.h>

#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lethe_allocator {
    void *context; /* handed to both functions */
    /* Returns size bytes, all zero, aligned to 64 bytes, or NULL. size is never 0. */
    void *(*allocate_zeroed)(void *context, size_t size);
    /* Takes back what allocate_zeroed returned; size is what was asked for. block is never NULL. */
    void (*release)(void *context, void *block, size_t size);
} lethe_allocator;

/* The allocator used where an option is NULL. Static; thread-safe. */
LETHE_API const lethe_allocator *lethe_default_allocator(void);

#ifdef __cplusplus
}
#endif

#endif

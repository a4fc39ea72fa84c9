/* core/allocator.c - the default allocator and the two calls through which all others go.
 *
 * Blocks of 2 MiB and more are mapped straight from the system: they come zeroed without being
 * touched, can be backed by huge pages (a filter is read at random, and with 4 KiB pages each
 * read would miss the TLB as well as the cache), and go back to the system when released.
 * Smaller blocks are malloc's. Which of the two a block is follows from its size, so no header
 * is needed. */
#include "core/allocator.h"

#include <stdlib.h>
#include <string.h>

#include "os/memory.h"

enum { ALIGNMENT = 64, MAPPED_FROM_BYTES = 2 * 1024 * 1024 };

static void *default_allocate_zeroed(void *context, size_t size) {
    (void)context;
    if (size >= MAPPED_FROM_BYTES) return lethe_os_map(size);
    size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *block = aligned_alloc(ALIGNMENT, rounded);
    if (block != NULL) memset(block, 0, rounded);
    return block;
}

static void default_release(void *context, void *block, size_t size) {
    (void)context;
    if (size >= MAPPED_FROM_BYTES) {
        lethe_os_unmap(block, size);
    } else {
        free(block);
    }
}

static const lethe_allocator default_allocator = {
    .context = NULL,
    .allocate_zeroed = default_allocate_zeroed,
    .release = default_release,
};

const lethe_allocator *lethe_default_allocator(void) {
    return &default_allocator;
}

bool lethe_allocator_is_usable(const lethe_allocator *allocator) {
    return allocator == NULL || (allocator->allocate_zeroed != NULL && allocator->release != NULL);
}

void *lethe_alloc_zeroed(const lethe_allocator *allocator, size_t size) {
    if (allocator == NULL) allocator = &default_allocator;
    return allocator->allocate_zeroed(allocator->context, size);
}

void lethe_release(const lethe_allocator *allocator, void *block, size_t size) {
    if (block == NULL) return;
    if (allocator == NULL) allocator = &default_allocator;
    allocator->release(allocator->context, block, size);
}

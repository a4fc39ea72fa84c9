/* module/allocator.c - the windows' and filters' memory comes from the server.
 *
 * So it counts towards maxmemory, shows in INFO, and lies in small pages: the server turns huge pages off
 * for itself, because after a fork each write to one would copy two megabytes.
 *
 * The library wants 64-byte alignment and zeros. The server's allocator promises neither, so a block is
 * 64 bytes longer than asked for, and the byte before its aligned part tells how far it was moved. */
#include <string.h>

#include "frame.h"

enum { ALIGNMENT = 64 };

static void *allocate_zeroed(void *context, size_t size) {
    (void)context;
    if (size > SIZE_MAX - ALIGNMENT) return NULL;
    unsigned char *raw =
        redis.TryAlloc != NULL ? redis.TryAlloc(size + ALIGNMENT) : redis.Alloc(size + ALIGNMENT);
    if (raw == NULL) return NULL;
    /* At least one byte before it, at most 64: whatever raw is aligned to. */
    size_t shift = ALIGNMENT - (uintptr_t)raw % ALIGNMENT;
    unsigned char *block = raw + shift;
    block[-1] = (unsigned char)shift;
    memset(block, 0, size);
    return block;
}

static void release(void *context, void *block, size_t size) {
    (void)context;
    (void)size;
    unsigned char *bytes = block;
    redis.Free(bytes - bytes[-1]);
}

const lethe_allocator module_allocator = {
    .allocate_zeroed = allocate_zeroed,
    .release = release,
};

/* module/allocator.c - the windows' and filters' memory comes from the server.
 *
 * So it counts towards maxmemory, shows in INFO, and lies in small pages: the server turns huge pages off
 * for itself, because after a fork each write to one would copy two megabytes.
 *
 * The library wants 64-byte alignment and zeros. The server's allocator promises neither, so a block is
 * 64 bytes longer than asked for, and the byte before its aligned part tells how far it was moved.
 *
 * Large blocks are not written with zeros: the pages in them are handed back to the system, which gives
 * zeros when they are first touched. A window that begins a table touches many of its segments within one
 * command, and writing a segment takes a millisecond. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "frame.h"

enum { ALIGNMENT = 64, LARGE_BYTES = 256 * 1024 };

static void clear(unsigned char *block, size_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)block + page - 1) & ~(page - 1);
    uintptr_t to = ((uintptr_t)block + size) & ~(page - 1);
    size_t before = from - (uintptr_t)block;
    if (size < LARGE_BYTES || madvise(block + before, to - from, MADV_DONTNEED) != 0) {
        memset(block, 0, size);
        return;
    }
    memset(block, 0, before);
    memset(block + (to - (uintptr_t)block), 0, (uintptr_t)block + size - to);
}

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
    clear(block, size);
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

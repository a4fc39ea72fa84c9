/* module/server/allocator.c - the memory of windows, filters and sketches comes from the server.
 *
 * IDEA    So it counts towards maxmemory, shows in INFO, and lies in small pages: the server
 *         turns huge pages off for itself, because after a fork each write to one would copy two
 *         megabytes.
 * LAYOUT  The library wants blocks that are zero and aligned to 64 bytes. The server's allocator
 *         promises neither, so a block is 64 bytes longer than asked for, and the byte before
 *         its aligned part holds by how much it was moved.
 * WHY     Large blocks are not overwritten with zeros: their pages are handed back to the
 *         system, which supplies zeros when they are first touched. A window that begins a table
 *         touches many of its slabs within one command, and writing a slab takes a
 *         millisecond. Pages are also handed back when a block is released. That takes some time
 *         per page, but windows release only a few slabs at a time and may need many at once. */
#include "server/allocator.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/limits.h"
#include "server/redis_api.h"

enum { ALIGNMENT = 64, LARGE_BYTES = 256 * 1024 };

static uintptr_t page_bytes(void) {
    return (uintptr_t)sysconf(_SC_PAGESIZE);
}

/* What is allocated after a block, so that the page it ends in is its own. */
static size_t padding_of(size_t size) {
    return size >= LARGE_BYTES ? page_bytes() - 1 : 0;
}

/* Hands a block's pages back to the system, which supplies zeros when they are touched again:
 * all except the first, of which a part belongs to another block. *before becomes the number of
 * this block's bytes in that page. False when the block is not large, or the system did not take
 * the pages. */
static bool hand_back(unsigned char *block, size_t size, size_t *before) {
    uintptr_t page = page_bytes(), start = (uintptr_t)block;
    uintptr_t from = (start + page - 1) & ~(page - 1), to = (start + size + page - 1) & ~(page - 1);
    *before = from - start;
    return size >= LARGE_BYTES && madvise(block + *before, to - from, MADV_DONTNEED) == 0;
}

static void clear(unsigned char *block, size_t size) {
    size_t before;
    memset(block, 0, hand_back(block, size, &before) ? before : size);
}

static void *allocate_zeroed(void *context, size_t size) {
    (void)context;
    size_t more = ALIGNMENT + padding_of(size);
    if (size > SIZE_MAX - more || !limits_allow_block(size)) return NULL;
    unsigned char *raw =
        redis.TryAlloc != NULL ? redis.TryAlloc(size + more) : redis.Alloc(size + more);
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
    unsigned char *bytes = block;
    size_t before;
    (void)hand_back(bytes, size, &before);
    limits_note_release(size);
    redis.Free(bytes - bytes[-1]);
}

const lethe_allocator module_allocator = {
    .allocate_zeroed = allocate_zeroed,
    .release = release,
};

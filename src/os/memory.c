/* os/memory.c - anonymous mappings with huge pages.
 *
 * Transparent huge pages back only whole 2 MiB ranges at 2 MiB boundaries, and mmap promises no
 * more than 4 KiB, so a mapping is asked for with 2 MiB to spare and trimmed at both ends. The
 * advice is only advice: where it is refused, memory is merely slower. */
#include "os/memory.h"

#include <stdint.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES ((size_t)2 * 1024 * 1024)
#define SMALL_PAGE_BYTES ((size_t)4096)

static size_t mapped_size(size_t size) {
    return (size + SMALL_PAGE_BYTES - 1) / SMALL_PAGE_BYTES * SMALL_PAGE_BYTES;
}

void *lethe_os_map(size_t size) {
    if (size > PTRDIFF_MAX - 2 * HUGE_PAGE_BYTES) return NULL;
    size_t wanted = mapped_size(size);
    char *base = mmap(NULL, wanted + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return NULL;
    size_t before = (HUGE_PAGE_BYTES - (uintptr_t)base % HUGE_PAGE_BYTES) % HUGE_PAGE_BYTES;
    if (before > 0) munmap(base, before);
    munmap(base + before + wanted, HUGE_PAGE_BYTES - before);
#ifdef MADV_HUGEPAGE
    (void)madvise(base + before, wanted, MADV_HUGEPAGE);
#endif
    return base + before;
}

void lethe_os_unmap(void *block, size_t size) {
    munmap(block, mapped_size(size));
}

void lethe_os_populate(void *memory, size_t size) {
#ifdef MADV_POPULATE_WRITE
    size_t before = (SMALL_PAGE_BYTES - (uintptr_t)memory % SMALL_PAGE_BYTES) % SMALL_PAGE_BYTES;
    if (size < before + SMALL_PAGE_BYTES) return;
    size_t whole = (size - before) / SMALL_PAGE_BYTES * SMALL_PAGE_BYTES;
    (void)madvise((char *)memory + before, whole, MADV_POPULATE_WRITE);
#else
    (void)memory;
    (void)size;
#endif
}

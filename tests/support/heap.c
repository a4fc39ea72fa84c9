/* tests/support/heap.c - see heap.h. Every block is filled with rubbish when released. */
#include "support/heap.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static size_t rounded(size_t size) {
    return (size + 63) / 64 * 64;
}

static void *allocate_zeroed(void *context, size_t size) {
    struct test_heap *heap = context;
    if (heap->allocations++ == heap->fail_at) return NULL;
    void *block = aligned_alloc(64, rounded(size));
    if (block == NULL) return NULL;
    memset(block, 0, rounded(size));
    heap->live_blocks++;
    heap->live_bytes += size;
    size_t live_bytes = heap->live_bytes, peak_bytes = heap->peak_bytes;
    while (live_bytes > peak_bytes &&
           !atomic_compare_exchange_weak(&heap->peak_bytes, &peak_bytes, live_bytes)) {
    }
    return block;
}

static void release(void *context, void *block, size_t size) {
    struct test_heap *heap = context;
    memset(block, 0xdd, rounded(size));
    free(block);
    heap->live_blocks--;
    heap->live_bytes -= size;
}

void test_heap_init(struct test_heap *heap, size_t fail_at) {
    *heap = (struct test_heap){.fail_at = fail_at};
    heap->allocator =
        (lethe_allocator){.context = heap, .allocate_zeroed = allocate_zeroed, .release = release};
}

/* bench/heap.c - the default allocator, counted; see heap.h. */
#include "heap.h"

static void *allocate_zeroed(void *context, size_t size) {
    struct heap *heap = context;
    const lethe_allocator *inner = lethe_default_allocator();
    void *block = inner->allocate_zeroed(inner->context, size);
    if (block == NULL) return NULL;
    size_t live = atomic_fetch_add(&heap->live_bytes, size) + size;
    size_t peak = atomic_load(&heap->peak_bytes);
    while (peak < live && !atomic_compare_exchange_weak(&heap->peak_bytes, &peak, live)) {
    }
    return block;
}

static void release(void *context, void *block, size_t size) {
    struct heap *heap = context;
    const lethe_allocator *inner = lethe_default_allocator();
    inner->release(inner->context, block, size);
    atomic_fetch_sub(&heap->live_bytes, size);
}

void heap_init(struct heap *heap) {
    heap->allocator = (lethe_allocator){heap, allocate_zeroed, release};
    atomic_init(&heap->live_bytes, 0);
    atomic_init(&heap->peak_bytes, 0);
}

void heap_reset_peak(struct heap *heap) {
    atomic_store(&heap->peak_bytes, atomic_load(&heap->live_bytes));
}

/* engine/values/ranking.c - the n largest counters.
 *
 * IDEA    A heap of the n largest so far, with the smallest of them on top: what is visited next
 *         either ranks below it and is passed over, or takes its place. */
#include <stdlib.h>

#include "core/allocator.h"
#include "engine/values/walk.h"

struct ranked {
    int64_t value;
    uint64_t order; /* in which its key was visited */
    lethe_bytes key;
};

struct lethe_ranking {
    const lethe_allocator *allocator;
    struct ranked *heap;
    size_t n, count, heap_bytes;
    uint64_t visited;
    lethe_status status;
};

lethe_status lethe_ranking_new(size_t n, const lethe_allocator *allocator, lethe_ranking **out) {
    *out = NULL;
    size_t bytes;
    if (!lethe_size_multiply(n, sizeof(struct ranked), &bytes)) return LETHE_ENOMEM;
    lethe_ranking *ranking = lethe_alloc_zeroed(allocator, sizeof *ranking);
    if (ranking == NULL) return LETHE_ENOMEM;
    *ranking = (lethe_ranking){.allocator = allocator, .n = n, .heap_bytes = bytes};
    ranking->heap = lethe_alloc_zeroed(allocator, bytes);
    if (ranking->heap == NULL) {
        lethe_ranking_free(ranking);
        return LETHE_ENOMEM;
    }
    *out = ranking;
    return LETHE_OK;
}

static void free_key(lethe_ranking *ranking, size_t at) {
    lethe_bytes key = ranking->heap[at].key;
    lethe_release(ranking->allocator, (void *)(uintptr_t)key.data, key.size);
}

void lethe_ranking_free(lethe_ranking *ranking) {
    if (ranking == NULL) return;
    for (size_t i = 0; i < ranking->count; i++)
        free_key(ranking, i);
    lethe_release(ranking->allocator, ranking->heap, ranking->heap_bytes);
    lethe_release(ranking->allocator, ranking, sizeof *ranking);
}

static bool ranks_below(const struct ranked *a, const struct ranked *b) {
    return a->value != b->value ? a->value < b->value : a->order > b->order;
}

static void swap(struct ranked *heap, size_t a, size_t b) {
    struct ranked moved = heap[a];
    heap[a] = heap[b];
    heap[b] = moved;
}

static void sift_down(struct ranked *heap, size_t count, size_t at) {
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) return;
        if (child + 1 < count && ranks_below(&heap[child + 1], &heap[child])) child++;
        if (!ranks_below(&heap[child], &heap[at])) return;
        swap(heap, at, child);
        at = child;
    }
}

static void sift_up(struct ranked *heap, size_t at) {
    while (at > 0 && ranks_below(&heap[at], &heap[(at - 1) / 2])) {
        swap(heap, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

bool lethe_ranking_add(void *context, lethe_bytes key, int64_t value) {
    lethe_ranking *ranking = context;
    struct ranked candidate = {.value = value, .order = ranking->visited++};
    bool is_full = ranking->count == ranking->n;
    if (is_full && !ranks_below(&ranking->heap[0], &candidate)) return true;
    void *copy = lethe_alloc_zeroed(ranking->allocator, key.size);
    if (copy == NULL) {
        ranking->status = LETHE_ENOMEM;
        return false;
    }
    memcpy(copy, key.data, key.size);
    candidate.key = (lethe_bytes){.data = copy, .size = key.size};
    if (is_full) {
        free_key(ranking, 0);
        ranking->heap[0] = candidate;
        sift_down(ranking->heap, ranking->count, 0);
    } else {
        ranking->heap[ranking->count++] = candidate;
        sift_up(ranking->heap, ranking->count - 1);
    }
    return true;
}

static int by_rank(const void *left, const void *right) {
    return ranks_below(left, right) ? 1 : -1;
}

lethe_status lethe_ranking_visit(lethe_ranking *ranking, lethe_store_visit visit, void *context) {
    if (ranking->status != LETHE_OK) return ranking->status;
    qsort(ranking->heap, ranking->count, sizeof *ranking->heap, by_rank);
    for (size_t i = 0; i < ranking->count; i++) {
        if (!visit(context, ranking->heap[i].key, ranking->heap[i].value)) break;
    }
    return LETHE_OK;
}

/* module/server/scratch.c - memory that a command borrows and gives back. scratch.h has the
 * essay. */
#include "server/scratch.h"

#include <string.h>

enum { KEPT_BYTES = 1 << 20 };

void block_give(struct block *pool, struct block block) {
    if (block.capacity > pool->capacity && block.capacity <= KEPT_BYTES) {
        struct block smaller = *pool;
        *pool = block;
        block = smaller;
    }
    if (block.data != NULL) redis.Free(block.data);
}

static struct block pool;

void *scratch_take(struct scratch *scratch, size_t count, size_t size) {
    scratch->block = block_take(&pool);
    if (count * size > scratch->block.capacity) {
        if (scratch->block.data != NULL) redis.Free(scratch->block.data);
        scratch->block.capacity = 2 * count * size;
        scratch->block.data = redis.Alloc(scratch->block.capacity);
    }
    return scratch->block.data;
}

void scratch_give(struct scratch *scratch) {
    block_give(&pool, scratch->block);
    scratch->block = (struct block){NULL, 0};
}

/* Hashes first, for their alignment. */
static void take_items(struct items *items, size_t count) {
    items->count = count;
    items->hashes = scratch_take(&items->scratch, count, sizeof *items->hashes + 1);
    items->answers = (uint8_t *)(items->hashes + count);
}

void items_hash(struct items *items, uint64_t seed, redis_string **words, size_t count) {
    take_items(items, count);
    for (size_t i = 0; i < count; i++) {
        size_t size;
        const char *data = redis.StringPtrLen(words[i], &size);
        items->hashes[i] = lethe_hash_bytes(seed, data, size);
    }
}

void items_copy(struct items *items, const void *hashes, size_t count) {
    take_items(items, count);
    memcpy(items->hashes, hashes, count * sizeof *items->hashes);
}

void items_give(struct items *items) {
    scratch_give(&items->scratch);
}

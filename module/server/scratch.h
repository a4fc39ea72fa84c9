/* module/server/scratch.h - memory that a command borrows and gives back.
 *
 * IDEA    A command with many items needs arrays for their hashes and answers, and an effect
 *         needs a buffer. To allocate them for every command would cost more than what many
 *         commands do. So a pool keeps one block that nobody uses at the moment: a borrower
 *         takes it, and gives it back.
 * NESTING Commands nest only where ONCE.CALL runs another. Then the pool is empty, and the inner
 *         command allocates a block. The larger of the two is kept.
 * I1      Every block that was taken is given back once.
 * I2      A block of more than a mebibyte is released when it is given back. */
#ifndef LETHE_MODULE_SERVER_SCRATCH_H
#define LETHE_MODULE_SERVER_SCRATCH_H

#include <lethe/lethe.h>

#include "server/redis_api.h"

/* A block, or a pool with one block to spare. {0} is empty. */
struct block {
    unsigned char *data;
    size_t capacity;
};

/* Takes the pool's block, which may be empty. */
static inline struct block block_take(struct block *pool) {
    struct block taken = *pool;
    *pool = (struct block){NULL, 0};
    return taken;
}
/* Gives it back. */
void block_give(struct block *pool, struct block block);

/* Borrowed room for arrays. {0} has none. */
struct scratch {
    struct block block;
};
/* Room for count items of size bytes, aligned for any type and not cleared. */
void *scratch_take(struct scratch *scratch, size_t count, size_t size);
/* Takes {0}. */
void scratch_give(struct scratch *scratch);

/* The hashes of ids or items, with room for a byte of answer per item. {0} has none. */
struct items {
    lethe_hash *hashes;
    uint8_t *answers;
    size_t count;
    struct scratch scratch;
};
/* Hashes words. */
void items_hash(struct items *items, uint64_t seed, redis_string **words, size_t count);
/* Takes hashes over from an effect, where they are not aligned. */
void items_copy(struct items *items, const void *hashes, size_t count);
/* Takes {0}. */
void items_give(struct items *items);

#endif

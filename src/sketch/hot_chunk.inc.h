/* sketch/hot_chunk.inc.h - goes through a batch chunk by chunk; part of sketch/hot.inc.h.
 *
 * The positions of a chunk's counters are computed together and the counters are prefetched.
 * Meanwhile the previous chunk, whose counters have arrived by then, is worked on in order. A
 * single key is a chunk too, but nothing is fetched ahead for it, and its positions are in
 * registers where the depth is a constant. */
enum { CHUNK = 32, COMMON_DEPTH = 4, COUNT_DEPTH = 5, LARGE_BYTES = 1 << 20 };

/* The positions of the counters of a chunk's keys, stride apart; in the IS part is_stride. */
struct chunk {
    uint32_t *at, *is_at;
    size_t first, count, stride, is_stride;
};

/* Where the positions of so many keys are. */
#define POSITIONS(name, keys) _Alignas(32) uint32_t name[(keys)*LETHE_SKETCH_MAX_DEPTH]

LETHE_INLINE void place_part(const lethe_hash *hashes, size_t count, uint32_t width, uint32_t depth,
                             uint32_t *at, size_t stride) {
    place_many(hashes, count, width, 0, at, stride);
    lethe_hash mixed[CHUNK];
    for (uint32_t row = LETHE_PLACE_ROWS; row < depth; row += LETHE_PLACE_ROWS) {
        if (depth - row == 1) { /* one row needs a quarter of a hash */
            for (size_t i = 0; i < count; i++)
                at[i * stride + row] = lethe_place_row(
                    lethe_place_group(hashes[i], row / LETHE_PLACE_ROWS), width, row * width);
            break;
        }
        for (size_t i = 0; i < count; i++)
            mixed[i] = lethe_place_group(hashes[i], row / LETHE_PLACE_ROWS);
        place_many(mixed, count, width, row * width, at + row, stride);
    }
}

LETHE_INLINE void place_one(lethe_hash hash, uint32_t width, uint32_t depth, uint32_t *at) {
    lethe_place_rows(hash, width, 0, at);
    for (uint32_t row = LETHE_PLACE_ROWS; row < depth; row += LETHE_PLACE_ROWS)
        lethe_place_rows(lethe_place_group(hash, row / LETHE_PLACE_ROWS), width, row * width,
                         at + row);
}

/* Whether prefetching counters pays. What fits in the second-level cache is there as fast as it can
 * be prefetched; but all parts of a sketch have to fit, beside the keys if the caller has those. */
LETHE_INLINE bool is_large(const struct lethe_sketch_core *core,
                           const struct lethe_sketch_batch *batch, uint32_t depth, unsigned size,
                           uint32_t is_depth, bool with_ds) {
    uint64_t counters = (uint64_t)core->width * depth * (with_ds ? 2 : 1);
    if (is_depth > 0) counters += (uint64_t)core->is_width * is_depth;
    return counters << size > (batch->has_keys ? LARGE_BYTES / 2 : LARGE_BYTES);
}

LETHE_INLINE void prefetch_part(const void *cells, const uint32_t *at, size_t count, size_t stride,
                                uint32_t depth, unsigned size) {
    for (size_t i = 0; i < count; i++) {
        for (uint32_t row = 0; row < depth; row++)
            __builtin_prefetch((const char *)cells + ((size_t)at[i * stride + row] << size));
    }
}

/* Places come in whole groups of rows. */
LETHE_INLINE size_t stride_of(uint32_t depth) {
    return (size_t)(depth + LETHE_PLACE_ROWS - 1) / LETHE_PLACE_ROWS * LETHE_PLACE_ROWS;
}

/* Computes the positions of the counters of a chunk's keys, and prefetches them. Here and below, an
 * is_depth of 0 means that the operation has no IS part. */
LETHE_INLINE void prepare(const struct lethe_sketch_core *core,
                          const struct lethe_sketch_batch *batch, struct chunk *chunk, size_t first,
                          uint32_t depth, unsigned size, uint32_t is_depth, bool with_ds) {
    chunk->first = first;
    chunk->count = batch->count - first < CHUNK ? batch->count - first : CHUNK;
    chunk->stride = stride_of(depth);
    const lethe_hash *hashes = batch->hashes + first;
    place_part(hashes, chunk->count, core->width, depth, chunk->at, chunk->stride);
    bool fetches = is_large(core, batch, depth, size, is_depth, with_ds);
    if (fetches) {
        prefetch_part(core->cells, chunk->at, chunk->count, chunk->stride, depth, size);
        if (with_ds) prefetch_part(core->ds, chunk->at, chunk->count, chunk->stride, depth, size);
    }
    if (is_depth == 0) return;
    chunk->is_stride = stride_of(is_depth);
    place_part(hashes, chunk->count, core->is_width, is_depth, chunk->is_at, chunk->is_stride);
    if (fetches)
        prefetch_part(core->is, chunk->is_at, chunk->count, chunk->is_stride, is_depth, size);
}

/* What is done to the keys of a chunk. */
#define CHUNK_ARGUMENTS                                                     \
    struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch, \
        const struct chunk *chunk, uint32_t depth, unsigned size, uint32_t is_depth, bool with_ds
typedef void chunk_work(CHUNK_ARGUMENTS);

/* Works through a batch, one chunk after the chunk that is being fetched. */
LETHE_INLINE void drive(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch,
                        chunk_work *work, uint32_t depth, unsigned size, uint32_t is_depth,
                        bool with_ds) {
    POSITIONS(first, CHUNK);
    POSITIONS(second, CHUNK);
    POSITIONS(first_is, CHUNK);
    POSITIONS(second_is, CHUNK);
    struct chunk chunks[2] = {{.at = first, .is_at = first_is}, {.at = second, .is_at = second_is}};
    /* One round more than there are chunks. This way the two inlined functions are in the machine
     * code once. */
    for (size_t next = 0; next < batch->count + CHUNK; next += CHUNK) {
        struct chunk *coming = &chunks[next / CHUNK % 2], *here = &chunks[1 - next / CHUNK % 2];
        if (next < batch->count) prepare(core, batch, coming, next, depth, size, is_depth, with_ds);
        if (next > 0) work(core, batch, here, depth, size, is_depth, with_ds);
    }
}

/* A single key: its weight, and where the results go, as in a batch. */
struct one {
    lethe_hash hash;
    uint64_t weight;
    uint64_t *count;
    uint8_t *flag;
};

/* Works on a single key. at and is_at have room for its positions, of whole groups of rows. */
LETHE_INLINE void drive_one(struct lethe_sketch_core *core, const struct one *one, uint32_t *at,
                            uint32_t *is_at, chunk_work *work, uint32_t depth, unsigned size,
                            uint32_t is_depth, bool with_ds) {
    const struct chunk chunk = {.at = at,
                                .is_at = is_at,
                                .count = 1,
                                .stride = stride_of(depth),
                                .is_stride = stride_of(is_depth)};
    const struct lethe_sketch_batch batch = {.hashes = &one->hash,
                                             .weights = &one->weight,
                                             .count = 1,
                                             .counts = one->count,
                                             .flags = one->flag};
    place_one(one->hash, core->width, depth, at);
    if (is_depth > 0) place_one(one->hash, core->is_width, is_depth, is_at);
    work(core, &batch, &chunk, depth, size, is_depth, with_ds);
}

LETHE_INLINE uint64_t weight_of(const struct lethe_sketch_batch *batch, size_t i) {
    return batch->weights != NULL ? batch->weights[i] : 1;
}

LETHE_INLINE void add_total(struct lethe_sketch_core *core, uint64_t weight) {
    core->total = grown(core->total, weight, 3);
}

/* Adds the weights of a whole batch to the total, so that the loops over keys need not. */
LETHE_INLINE void add_batch_total(struct lethe_sketch_core *core,
                                  const struct lethe_sketch_batch *batch) {
    if (batch->weights == NULL) {
        add_total(core, batch->count);
        return;
    }
    for (size_t i = 0; i < batch->count; i++)
        add_total(core, batch->weights[i]);
}

LETHE_INLINE void subtract_total(struct lethe_sketch_core *core, uint64_t weight) {
    if (core->total != UINT64_MAX) core->total = core->total > weight ? core->total - weight : 0;
}

LETHE_INLINE void report(const struct lethe_sketch_batch *batch, size_t i, uint64_t count,
                         bool flag) {
    if (batch->counts != NULL) batch->counts[i] = count;
    if (batch->flags != NULL) batch->flags[i] = flag;
}

/* window/part_batch.inc.h - operations on many ids, with their cache misses overlapped.
 *
 * Part of the template window/part_hot.inc.h, which includes it. A batch computes the blocks of
 * each id and prefetches them AHEAD ids before it works on that id. */
/* The places of the next ids of a batch, whose blocks are being fetched. */
struct pipeline {
    struct place places[AHEAD];
};

LETHE_INLINE void pipeline_fill(const struct lethe_queue_shape *shape, const lethe_part *part,
                                const lethe_hash *ids, size_t count, struct pipeline *pipeline) {
    for (size_t i = 0; i < count && i < AHEAD; i++)
        pipeline->places[i] = prefetch(shape, part, &ids[i]);
}

/* Returns the place of id number i, and prefetches the place of id number i + AHEAD. */
LETHE_INLINE struct place pipeline_next(const struct lethe_queue_shape *shape,
                                        const lethe_part *part, const lethe_hash *ids, size_t count,
                                        size_t i, struct pipeline *pipeline) {
    struct place *slot = &pipeline->places[i % AHEAD], place = *slot;
    if (i + AHEAD < count) *slot = prefetch(shape, part, &ids[i + AHEAD]);
    return place;
}

/* The older parts of a chain, which are only read. Most of the time there are none. */
LETHE_INLINE void prefetch_older(lethe_part *const *parts, unsigned count, const lethe_hash *ids,
                                 size_t id_count, size_t i) {
    for (unsigned t = 1; t < count && i < id_count; t++)
        (void)prefetch(&parts[t]->shape.queue, parts[t], &ids[i]);
}

LETHE_INLINE bool test_older(lethe_part *const *parts, unsigned count, const lethe_hash *id,
                             uint64_t period) {
    for (unsigned t = 1; t < count; t++) {
        if (parts[t]->operations->test(parts[t], *id, period)) return true;
    }
    return false;
}

LETHE_INLINE void test_batch_with(const struct hot *hot, lethe_part *const *parts, unsigned count,
                                  const lethe_hash *ids, size_t id_count, uint64_t period,
                                  uint8_t *answers) {
    const struct lethe_queue_shape *shape = shape_of(hot, parts[0]);
    struct pipeline pipeline;
    pipeline_fill(shape, parts[0], ids, id_count, &pipeline);
    for (size_t i = 0; i < AHEAD; i++)
        prefetch_older(parts, count, ids, id_count, i);
    for (size_t i = 0; i < id_count; i++) {
        struct place place = pipeline_next(shape, parts[0], ids, id_count, i, &pipeline);
        prefetch_older(parts, count, ids, id_count, i + AHEAD);
        answers[i] =
            test_at(hot, parts[0], &place, period) || test_older(parts, count, &ids[i], period);
    }
}

LETHE_INLINE size_t add_and_test_batch_with(const struct hot *hot, lethe_part *const *parts,
                                            unsigned count, const lethe_hash *ids, size_t id_count,
                                            uint64_t period, uint8_t *answers,
                                            lethe_part_result *result) {
    const struct lethe_queue_shape *shape = shape_of(hot, parts[0]);
    struct pipeline pipeline;
    pipeline_fill(shape, parts[0], ids, id_count, &pipeline);
    for (size_t i = 0; i < AHEAD; i++)
        prefetch_older(parts, count, ids, id_count, i);
    for (size_t i = 0; i < id_count; i++) {
        struct place place = pipeline_next(shape, parts[0], ids, id_count, i, &pipeline);
        prefetch_older(parts, count, ids, id_count, i + AHEAD);
        lethe_part_result found = LETHE_PART_IS_DUPLICATE;
        if (count == 1 || !test_older(parts, count, &ids[i], period))
            found = add_and_test_at(hot, parts[0], &ids[i], &place, period);
        if (__builtin_expect(found > LETHE_PART_IS_DUPLICATE, 0)) {
            *result = found;
            return i;
        }
        answers[i] = (uint8_t)found;
    }
    *result = LETHE_PART_ADDED;
    return id_count;
}

LETHE_INLINE size_t add_batch_with(const struct hot *hot, lethe_part *part, const lethe_hash *ids,
                                   size_t id_count, uint64_t period, uint64_t *inserted,
                                   lethe_part_result *result) {
    const struct lethe_queue_shape *shape = shape_of(hot, part);
    struct pipeline pipeline;
    uint64_t count = 0;
    size_t done = 0;
    *result = LETHE_PART_ADDED;
    pipeline_fill(shape, part, ids, id_count, &pipeline);
    for (; done < id_count; done++) {
        struct place place = pipeline_next(shape, part, ids, id_count, done, &pipeline);
        *result = add_at(hot, part, &ids[done], &place, period, &count);
        if (__builtin_expect(*result != LETHE_PART_ADDED, 0)) break;
    }
    *inserted = count;
    return done;
}

/* window/table_batch.inc.h - operations on many ids, with their cache misses overlapped.
 *
 * Part of the template window/table_hot.inc.h, which includes it. A batch computes the blocks of
 * each id and prefetches them AHEAD ids before it works on that id. */
/* The places of the next ids of a batch, whose blocks are being fetched. */
struct pipeline {
    struct place places[AHEAD];
};

LETHE_INLINE void pipeline_fill(const struct lethe_queue_shape *shape, const lethe_table *table,
                                const lethe_hash *ids, size_t count, struct pipeline *pipeline) {
    for (size_t i = 0; i < count && i < AHEAD; i++)
        pipeline->places[i] = prefetch(shape, table, &ids[i]);
}

/* Returns the place of id number i, and prefetches the place of id number i + AHEAD. */
LETHE_INLINE struct place pipeline_next(const struct lethe_queue_shape *shape,
                                        const lethe_table *table, const lethe_hash *ids,
                                        size_t count, size_t i, struct pipeline *pipeline) {
    struct place *slot = &pipeline->places[i % AHEAD], place = *slot;
    if (i + AHEAD < count) *slot = prefetch(shape, table, &ids[i + AHEAD]);
    return place;
}

/* The older tables of a chain, which are only read. Most of the time there are none. */
LETHE_INLINE void prefetch_older(lethe_table *const *tables, unsigned count, const lethe_hash *ids,
                                 size_t id_count, size_t i) {
    for (unsigned t = 1; t < count && i < id_count; t++)
        (void)prefetch(&tables[t]->shape.queue, tables[t], &ids[i]);
}

LETHE_INLINE bool test_older(lethe_table *const *tables, unsigned count, const lethe_hash *id,
                             uint64_t period) {
    for (unsigned t = 1; t < count; t++) {
        if (tables[t]->operations->test(tables[t], *id, period)) return true;
    }
    return false;
}

LETHE_INLINE void test_batch_with(const struct hot *hot, lethe_table *const *tables, unsigned count,
                                  const lethe_hash *ids, size_t id_count, uint64_t period,
                                  uint8_t *answers) {
    const struct lethe_queue_shape *shape = shape_of(hot, tables[0]);
    struct pipeline pipeline;
    pipeline_fill(shape, tables[0], ids, id_count, &pipeline);
    for (size_t i = 0; i < AHEAD; i++)
        prefetch_older(tables, count, ids, id_count, i);
    for (size_t i = 0; i < id_count; i++) {
        struct place place = pipeline_next(shape, tables[0], ids, id_count, i, &pipeline);
        prefetch_older(tables, count, ids, id_count, i + AHEAD);
        answers[i] =
            test_at(hot, tables[0], &place, period) || test_older(tables, count, &ids[i], period);
    }
}

LETHE_INLINE size_t add_and_test_batch_with(const struct hot *hot, lethe_table *const *tables,
                                            unsigned count, const lethe_hash *ids, size_t id_count,
                                            uint64_t period, uint8_t *answers,
                                            lethe_table_result *result) {
    const struct lethe_queue_shape *shape = shape_of(hot, tables[0]);
    struct pipeline pipeline;
    pipeline_fill(shape, tables[0], ids, id_count, &pipeline);
    for (size_t i = 0; i < AHEAD; i++)
        prefetch_older(tables, count, ids, id_count, i);
    for (size_t i = 0; i < id_count; i++) {
        struct place place = pipeline_next(shape, tables[0], ids, id_count, i, &pipeline);
        prefetch_older(tables, count, ids, id_count, i + AHEAD);
        lethe_table_result found = LETHE_TABLE_IS_DUPLICATE;
        if (count == 1 || !test_older(tables, count, &ids[i], period))
            found = add_and_test_at(hot, tables[0], &ids[i], &place, period);
        if (__builtin_expect(found > LETHE_TABLE_IS_DUPLICATE, 0)) {
            *result = found;
            return i;
        }
        answers[i] = (uint8_t)found;
    }
    *result = LETHE_TABLE_ADDED;
    return id_count;
}

LETHE_INLINE size_t add_batch_with(const struct hot *hot, lethe_table *table, const lethe_hash *ids,
                                   size_t id_count, uint64_t period, uint64_t *inserted,
                                   lethe_table_result *result) {
    const struct lethe_queue_shape *shape = shape_of(hot, table);
    struct pipeline pipeline;
    uint64_t count = 0;
    size_t done = 0;
    *result = LETHE_TABLE_ADDED;
    pipeline_fill(shape, table, ids, id_count, &pipeline);
    for (; done < id_count; done++) {
        struct place place = pipeline_next(shape, table, ids, id_count, done, &pipeline);
        *result = add_at(hot, table, &ids[done], &place, period, &count);
        if (__builtin_expect(*result != LETHE_TABLE_ADDED, 0)) break;
    }
    *inserted = count;
    return done;
}

/* window/part_batch.inc.h - operations on many ids, with their cache misses overlapped.
 *
 * Part of the template window/part_hot.inc.h, which includes it. A batch computes the blocks of
 * each id and prefetches them AHEAD ids before it works on that id. What the loop needs of the part
 * is kept outside of it: the map, how many entries it has room for, and how many were put. */
/* The next ids of a batch, whose blocks are being fetched. */
struct pipeline {
    struct map map;
    struct {
        unsigned char *first, *second;
    } blocks[AHEAD];
};

LETHE_INLINE void pipeline_ask(const struct lethe_queue_shape *shape, struct pipeline *pipeline,
                               const lethe_hash *ids, size_t i) {
    struct place place = prefetch(shape, &pipeline->map, &ids[i]);
    pipeline->blocks[i % AHEAD].first = place.first;
    pipeline->blocks[i % AHEAD].second = place.second;
}

LETHE_INLINE void pipeline_fill(const struct lethe_queue_shape *shape, const lethe_part *part,
                                const lethe_hash *ids, size_t count, struct pipeline *pipeline) {
    pipeline->map = map_of(part);
    for (size_t i = 0; i < count && i < AHEAD; i++)
        pipeline_ask(shape, pipeline, ids, i);
}

/* Returns the place of id number i, and prefetches the place of id number i + AHEAD. */
LETHE_INLINE struct place pipeline_next(const struct lethe_queue_shape *shape,
                                        const lethe_hash *ids, size_t count, size_t i,
                                        struct pipeline *pipeline) {
    struct place place = {
        .first = pipeline->blocks[i % AHEAD].first,
        .second = pipeline->blocks[i % AHEAD].second,
        .remainder = ids[i].low & pipeline->map.remainder_mask,
    };
    if (i + AHEAD < count) pipeline_ask(shape, pipeline, ids, i + AHEAD);
    return place;
}

/* The older parts of a chain, which are only read. Most of the time there are none. */
LETHE_INLINE void prefetch_older(lethe_part *const *parts, unsigned count, const lethe_hash *ids,
                                 size_t id_count, size_t i) {
    for (unsigned t = 1; t < count && i < id_count; t++) {
        struct map map = map_of(parts[t]);
        (void)prefetch(&parts[t]->shape.queue, &map, &ids[i]);
    }
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
        struct place place = pipeline_next(shape, ids, id_count, i, &pipeline);
        prefetch_older(parts, count, ids, id_count, i + AHEAD);
        answers[i] =
            test_at(hot, parts[0], &place, period) || test_older(parts, count, &ids[i], period);
    }
}

/* Looks for ids in count parts and puts those that are in none of them into the first; *put is how
 * many. An id that is there is a duplicate, or, if answers is NULL, becomes the youngest of its
 * block. Returns the number of ids dealt with; if that is not all, *result is the reason. */
LETHE_INLINE size_t write_batch(const struct hot *hot, lethe_part *const *parts, unsigned count,
                                const lethe_hash *ids, size_t id_count, uint64_t period,
                                uint8_t *answers, uint64_t *put, lethe_part_result *result) {
    lethe_part *part = parts[0];
    const struct lethe_queue_shape *shape = shape_of(hot, part);
    const uint64_t room = room_of(part);
    struct pipeline pipeline;
    lethe_part_result outcome = LETHE_PART_ADDED;
    uint64_t added = 0;
    size_t i = 0;
    pipeline_fill(shape, part, ids, id_count, &pipeline);
    for (size_t j = 0; j < AHEAD; j++)
        prefetch_older(parts, count, ids, id_count, j);
    for (; i < id_count; i++) {
        struct place place = pipeline_next(shape, ids, id_count, i, &pipeline);
        prefetch_older(parts, count, ids, id_count, i + AHEAD);
        if (answers != NULL) answers[i] = LETHE_PART_IS_DUPLICATE;
        if (test_older(parts, count, &ids[i], period)) continue;
        if (!ensure_exists(shape, part, &ids[i], &place)) {
            outcome = LETHE_PART_NO_MEMORY;
            break;
        }
        struct found found = look(hot, part, &place, period);
        if (found.block != NULL) {
            if (answers == NULL) refresh_entry(part, found, place.remainder, period);
            continue;
        }
        outcome = added < room ? put_at(hot, part, &ids[i], &place, period) : LETHE_PART_IS_FULL;
        if (__builtin_expect(outcome != LETHE_PART_ADDED, 0)) break;
        if (answers != NULL) answers[i] = LETHE_PART_ADDED;
        added++;
    }
    count_in(part, period, added);
    *put = added;
    *result = outcome;
    return i;
}

LETHE_INLINE size_t add_and_test_batch_with(const struct hot *hot, lethe_part *const *parts,
                                            unsigned count, const lethe_hash *ids, size_t id_count,
                                            uint64_t period, uint8_t *answers,
                                            lethe_part_result *result) {
    uint64_t put;
    /* Knowing the number removes the loops over older parts. */
    return count == 1
               ? write_batch(hot, parts, 1, ids, id_count, period, answers, &put, result)
               : write_batch(hot, parts, count, ids, id_count, period, answers, &put, result);
}

LETHE_INLINE size_t add_batch_with(const struct hot *hot, lethe_part *part, const lethe_hash *ids,
                                   size_t id_count, uint64_t period, uint64_t *inserted,
                                   lethe_part_result *result) {
    return write_batch(hot, &part, 1, ids, id_count, period, NULL, inserted, result);
}

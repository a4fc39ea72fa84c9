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

LETHE_INLINE void ask_group_with(const struct hot *hot, const lethe_part *part,
                                 const lethe_hash *ids, unsigned count,
                                 struct lethe_part_group *group) {
    const struct lethe_queue_shape *shape = shape_of(hot, part);
    const unsigned bytes = lethe_queue_first_look_bytes(shape);
    const struct map map = map_of(part);
    for (unsigned i = 0; i < count; i++) {
        struct place place = place_of(shape, &map, &ids[i]);
        group->first[i] = place.first;
        group->second[i] = place.second;
        for (unsigned at = 0; at < bytes; at += LINE_BYTES) {
            __builtin_prefetch(place.first + at);
            __builtin_prefetch(place.second + at);
        }
    }
}

LETHE_INLINE uint32_t test_group_with(const struct hot *hot, const lethe_part *part,
                                      const lethe_hash *ids, unsigned count,
                                      const struct lethe_part_group *group, uint64_t period) {
    const uint64_t remainder_mask = part->remainder_mask;
    uint32_t known = 0;
    for (unsigned i = 0; i < count; i++) {
        struct place place = {
            .first = group->first[i],
            .second = group->second[i],
            .remainder = ids[i].low & remainder_mask,
        };
        known |= (uint32_t)test_at(hot, part, &place, period) << i;
    }
    return known;
}

/* Which of the next ids are in older parts of a chain. Nothing writes to these during a batch, so
 * they can be looked at part by part: what is known of a part stays in registers, and while one is
 * looked at, the lines of the next are on their way. */
LETHE_NOINLINE uint32_t known_to_older(lethe_part *const *parts, unsigned part_count,
                                       const lethe_hash *ids, size_t left, uint64_t period) {
    unsigned count = left < LETHE_PART_GROUP ? (unsigned)left : LETHE_PART_GROUP;
    struct lethe_part_group groups[2];
    uint32_t known = 0;
    parts[1]->operations->ask_group(parts[1], ids, count, &groups[1]);
    for (unsigned i = 1; i < part_count; i++) {
        const lethe_part *next = i + 1 < part_count ? parts[i + 1] : NULL;
        if (next != NULL) next->operations->ask_group(next, ids, count, &groups[(i + 1) % 2]);
        known |= parts[i]->operations->test_group(parts[i], ids, count, &groups[i % 2], period);
    }
    return known;
}

/* Whether id number i is in an older part. Asks for a group of them at a time; most of the time
 * there is no older part. */
LETHE_INLINE bool is_in_older(lethe_part *const *parts, unsigned part_count, const lethe_hash *ids,
                              size_t id_count, size_t i, uint64_t period, uint32_t *known) {
    if (part_count == 1) return false;
    unsigned at = i % LETHE_PART_GROUP;
    if (at == 0) *known = known_to_older(parts, part_count, ids + i, id_count - i, period);
    return *known >> at & 1;
}

LETHE_INLINE void test_batch_with(const struct hot *hot, lethe_part *const *parts, unsigned count,
                                  const lethe_hash *ids, size_t id_count, uint64_t period,
                                  uint8_t *answers) {
    const struct lethe_queue_shape *shape = shape_of(hot, parts[0]);
    struct pipeline pipeline;
    pipeline_fill(shape, parts[0], ids, id_count, &pipeline);
    uint32_t known = 0;
    for (size_t i = 0; i < id_count; i++) {
        struct place place = pipeline_next(shape, ids, id_count, i, &pipeline);
        bool is_old = is_in_older(parts, count, ids, id_count, i, period, &known);
        answers[i] = is_old || test_at(hot, parts[0], &place, period);
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
    uint32_t known = 0;
    for (; i < id_count; i++) {
        struct place place = pipeline_next(shape, ids, id_count, i, &pipeline);
        if (answers != NULL) answers[i] = LETHE_PART_IS_DUPLICATE;
        if (is_in_older(parts, count, ids, id_count, i, period, &known)) continue;
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

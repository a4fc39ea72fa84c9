/* sketch/hot_least.inc.h - the kinds whose answer is the least counter; part of
 * sketch/hot.inc.h. */

LETHE_INLINE uint64_t grow_cell(void *cells, uint32_t at, uint64_t weight, unsigned size) {
    uint64_t value = grown(lethe_cell_get(cells, at, size), weight, size);
    lethe_cell_set(cells, at, size, value);
    return value;
}

/* Adds weight to all counters of a key and returns the least of them. */
LETHE_INLINE uint64_t grow_counters(void *cells, const uint32_t *at, uint64_t weight,
                                    uint32_t depth, unsigned size) {
    uint64_t least = UINT64_MAX;
    FOR_EACH_ROW(row, depth, least = least_of(least, grow_cell(cells, at[row], weight, size)));
    return least;
}

/* count-min: every counter of the key grows. */

LETHE_INLINE void count_min_add_chunk(CHUNK_ARGUMENTS) {
    (void)is_depth, (void)with_ds;
    void *const cells = core->cells; /* no store below changes it, which the compiler cannot know */
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride;
        uint64_t weight = weight_of(batch, chunk->first + i);
        uint64_t least = grow_counters(cells, at, weight, depth, size);
        if (batch->counts != NULL) batch->counts[chunk->first + i] = least;
    }
}

LETHE_INLINE void count_min_remove_chunk(CHUNK_ARGUMENTS) {
    (void)is_depth, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride;
        uint64_t weight = weight_of(batch, chunk->first + i);
        uint64_t least = least_counter(core->cells, at, depth, size);
        bool right = least == lethe_cell_full(size) || least >= weight;
        if (right) {
            for (uint32_t row = 0; row < depth; row++)
                lethe_cell_set(core->cells, at[row], size,
                               shrunk(lethe_cell_get(core->cells, at[row], size), weight, size));
            subtract_total(core, weight);
            least = shrunk(least, weight, size);
        }
        report(batch, chunk->first + i, least, right);
    }
}

LETHE_INLINE void least_count_chunk(CHUNK_ARGUMENTS) {
    (void)is_depth, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        uint64_t least = least_counter(core->cells, chunk->at + i * chunk->stride, depth, size);
        batch->counts[chunk->first + i] = least;
        if (batch->flags != NULL) batch->flags[chunk->first + i] = least == lethe_cell_full(size);
    }
}

/* conservative and FID: only the smallest counters of the key rise, and in FID at most to the
 * estimate of the IS part. Adding a weight at once gives the same result as that many single
 * additions: they would raise the smallest counters one by one, up to the estimate of the IS
 * part, which rises too. */

/* Adds to the IS part and returns its new estimate, or UINT64_MAX if it is full and knows
 * nothing. */
LETHE_INLINE uint64_t is_add(void *is, const uint32_t *at, uint64_t weight, uint32_t is_depth,
                             unsigned size) {
    uint64_t least = grow_counters(is, at, weight, is_depth, size);
    return least == lethe_cell_full(size) ? UINT64_MAX : least;
}

/* Raises one counter to target, if it is below, and its DS counter by the rest of weight. */
LETHE_INLINE void raise_cell(void *cells, void *ds, bool ds_is_count_min, uint32_t at,
                             uint64_t target, uint64_t weight, unsigned size, bool with_ds) {
    uint64_t old = lethe_cell_get(cells, at, size);
    uint64_t value = old < target ? target : old;
    lethe_cell_set(cells, at, size, value);
    if (!with_ds) return;
    uint64_t more = ds_is_count_min ? weight : weight - (value - old);
    lethe_cell_set(ds, at, size, grown(lethe_cell_get(ds, at, size), more, size));
}

LETHE_INLINE void raise_add_chunk(CHUNK_ARGUMENTS) {
    /* No store below changes these, which the compiler cannot know. */
    void *const cells = core->cells, *const ds = core->ds, *const is = core->is;
    const bool ds_is_count_min = core->ds_is_count_min;
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride;
        uint64_t weight = weight_of(batch, chunk->first + i);
        uint64_t least = least_counter(cells, at, depth, size);
        uint64_t target = grown(least, weight, size);
        if (is_depth > 0) {
            const uint32_t *is_at = chunk->is_at + i * chunk->is_stride;
            target = least_of(target, is_add(is, is_at, weight, is_depth, size));
        }
        FOR_EACH_ROW(
            row, depth,
            raise_cell(cells, ds, ds_is_count_min, at[row], target, weight, size, with_ds));
        if (batch->counts != NULL)
            batch->counts[chunk->first + i] = target > least ? target : least;
    }
}

/* Subtracts weight from one counter of the DS part, and the rest from the counter of the FQ
 * part. A full DS counter may stand for any excess, so then the FQ part keeps its value. */
LETHE_INLINE uint64_t lower_cell(struct lethe_sketch_core *core, uint32_t at, uint64_t weight,
                                 unsigned size) {
    uint64_t value = lethe_cell_get(core->cells, at, size),
             support = lethe_cell_get(core->ds, at, size);
    if (support == lethe_cell_full(size)) return value;
    if (core->ds_is_count_min) {
        support = support > weight ? support - weight : 0;
        lethe_cell_set(core->ds, at, size, support);
        if (value != lethe_cell_full(size) && value > support) value = support;
    } else {
        uint64_t taken = least_of(support, weight);
        lethe_cell_set(core->ds, at, size, support - taken);
        if (value != lethe_cell_full(size)) value -= weight - taken;
    }
    lethe_cell_set(core->cells, at, size, value);
    return value;
}

LETHE_INLINE void raise_remove_chunk(CHUNK_ARGUMENTS) {
    (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride,
                       *is_at = is_depth > 0 ? chunk->is_at + i * chunk->is_stride : NULL;
        uint64_t weight = weight_of(batch, chunk->first + i);
        uint64_t least = least_counter(core->cells, at, depth, size);
        bool right = least == lethe_cell_full(size) || least >= weight;
        if (is_depth > 0 && right) {
            uint64_t threshold = least_counter(core->is, is_at, is_depth, size);
            right = threshold == lethe_cell_full(size) || threshold >= weight;
        }
        if (right) {
            for (uint32_t row = 0; row < is_depth; row++)
                lethe_cell_set(core->is, is_at[row], size,
                               shrunk(lethe_cell_get(core->is, is_at[row], size), weight, size));
            least = UINT64_MAX;
            for (uint32_t row = 0; row < depth; row++)
                least = least_of(least, lower_cell(core, at[row], weight, size));
            subtract_total(core, weight);
        }
        report(batch, chunk->first + i, least, right);
    }
}

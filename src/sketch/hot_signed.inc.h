/* sketch/hot_signed.inc.h - the count sketch; part of sketch/hot.inc.h.
 *
 * A counter moves up or down by the key's sign in its row. It goes from -max to max, and stays
 * at either end. The answer is the median over the rows. */

LETHE_INLINE int64_t get_signed(const void *cells, uint32_t at, unsigned size) {
    uint64_t value = lethe_cell_get(cells, at, size);
    unsigned unused = 64 - (8u << size);
    return (int64_t)(value << unused) >> unused;
}

LETHE_INLINE int64_t signed_full(unsigned size) {
    return (int64_t)(lethe_cell_full(size) >> 1);
}

LETHE_INLINE int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}

LETHE_INLINE int64_t greater(int64_t a, int64_t b) {
    return a > b ? a : b;
}

LETHE_INLINE int64_t moved(int64_t value, uint64_t weight, bool up, unsigned size) {
    int64_t end = signed_full(size);
    if (size < 3) {
        /* Below 64 bits nothing overflows, so that no branch is needed. */
        int64_t step = (int64_t)least_of(weight, 2 * (uint64_t)end);
        int64_t sum = greater(lesser(up ? value + step : value - step, end), -end);
        return value == end || value == -end ? value : sum;
    }
    if (value == end || value == -end) return value;
    /* The distance to the end; unsigned, so that it does not overflow with 64 bits either. */
    uint64_t room = up ? (uint64_t)end - (uint64_t)value : (uint64_t)end + (uint64_t)value;
    if (weight >= room) return up ? end : -end;
    return up ? (int64_t)((uint64_t)value + weight) : (int64_t)((uint64_t)value - weight);
}

LETHE_INLINE int64_t middle_of(int64_t low, int64_t high) {
    return (low >> 1) + (high >> 1) + (low & high & 1);
}

/* Four values form two pairs. The middle two of the four are the greater of the pairs' minima
 * and the lesser of the pairs' maxima. No branch depends on the values, since none could be
 * predicted. */
LETHE_INLINE int64_t median(int64_t *values, uint32_t count) {
    if (count == 4 || count == 5) {
        int64_t low = greater(lesser(values[0], values[1]), lesser(values[2], values[3]));
        int64_t high = lesser(greater(values[0], values[1]), greater(values[2], values[3]));
        if (count == 4) return middle_of(low, high);
        return greater(lesser(low, high), lesser(greater(low, high), values[4]));
    }
    for (uint32_t i = 1; i < count; i++) {
        int64_t value = values[i];
        uint32_t to = i;
        for (; to > 0 && values[to - 1] > value; to--)
            values[to] = values[to - 1];
        values[to] = value;
    }
    if (count % 2 == 1) return values[count / 2];
    return middle_of(values[count / 2 - 1], values[count / 2]);
}

/* One counter as its row's sign says; *is_full becomes true if it is full. */
LETHE_INLINE int64_t signed_value(const void *cells, uint32_t at, bool up, unsigned size,
                                  bool *is_full) {
    int64_t value = get_signed(cells, at, size), end = signed_full(size);
    *is_full |= value == end || value == -end;
    return up ? value : -value;
}

/* The estimate of a key, and whether one of its counters is full. */
LETHE_INLINE uint64_t signed_estimate(const struct lethe_sketch_core *core, const uint32_t *at,
                                      uint32_t signs, uint32_t depth, unsigned size,
                                      bool *is_full) {
    int64_t values[LETHE_SKETCH_MAX_DEPTH];
    values[0] = 0; /* a depth is never 0, which the compiler cannot know */
    bool full = false;
    FOR_EACH_ROW(row, depth,
                 values[row] = signed_value(core->cells, at[row], signs >> row & 1, size, &full));
    *is_full = full;
    int64_t estimate = median(values, depth);
    return estimate > 0 ? (uint64_t)estimate : 0;
}

LETHE_INLINE int64_t move_cell(void *cells, uint32_t at, uint64_t weight, bool up, unsigned size) {
    int64_t value = moved(get_signed(cells, at, size), weight, up, size);
    lethe_cell_set(cells, at, size, (uint64_t)value);
    return value;
}

/* Moves a key's counters up or down by weight, in each row as its sign says. */
LETHE_INLINE void signed_move(struct lethe_sketch_core *core, const uint32_t *at, uint32_t signs,
                              uint64_t weight, uint32_t depth, unsigned size) {
    void *const cells = core->cells;
    FOR_EACH_ROW(row, depth, move_cell(cells, at[row], weight, signs >> row & 1, size));
}

LETHE_INLINE void signed_add_chunk(CHUNK_ARGUMENTS) {
    (void)is_depth, (void)with_ds;
    void *const cells = core->cells;
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride;
        uint32_t signs = lethe_place_signs(batch->hashes[chunk->first + i]);
        uint64_t weight = weight_of(batch, chunk->first + i);
        int64_t values[LETHE_SKETCH_MAX_DEPTH];
        values[0] = 0; /* a depth is never 0, which the compiler cannot know */
        FOR_EACH_ROW(row, depth,
                     values[row] = move_cell(cells, at[row], weight, signs >> row & 1, size));
        if (batch->counts == NULL) continue;
        FOR_EACH_ROW(row, depth, values[row] = signs >> row & 1 ? values[row] : -values[row]);
        int64_t estimate = median(values, depth);
        batch->counts[chunk->first + i] = estimate > 0 ? (uint64_t)estimate : 0;
    }
}

/* An estimate may be below the truth, so only what exceeds all that was added can't be right. */
LETHE_INLINE void signed_remove_chunk(CHUNK_ARGUMENTS) {
    (void)is_depth, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride;
        uint32_t signs = lethe_place_signs(batch->hashes[chunk->first + i]);
        uint64_t weight = weight_of(batch, chunk->first + i);
        bool right = weight <= core->total, is_full;
        if (right) {
            signed_move(core, at, ~signs, weight, depth, size);
            subtract_total(core, weight);
        }
        report(batch, chunk->first + i, signed_estimate(core, at, signs, depth, size, &is_full),
               right);
    }
}

LETHE_INLINE void signed_count_chunk(CHUNK_ARGUMENTS) {
    (void)is_depth, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        uint32_t signs = lethe_place_signs(batch->hashes[chunk->first + i]);
        bool is_full;
        uint64_t estimate =
            signed_estimate(core, chunk->at + i * chunk->stride, signs, depth, size, &is_full);
        report(batch, chunk->first + i, estimate, is_full);
    }
}

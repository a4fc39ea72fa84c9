/* sketch/hot_log.inc.h - the log sketch; part of sketch/hot.inc.h.
 *
 * Conservative, on levels (scale.h). Each addition draws one random number for the levels that it
 * raises, whether it needs it or not. So a batch draws the same numbers as single calls.
 *
 * The DS part holds levels too. What stands there is, on average, how far the counter's value is
 * below what a count-min sketch would have. An addition raises the least counters by its weight on
 * average, so their DS counters stay; a higher counter rises by less, and its DS counter rises by
 * the rest, min(weight, value - least value). A removal takes from the DS counter first, and the
 * rest from the counter itself, each by a chance that makes the expected value exact. So the
 * estimate stays right on average, but errs to both sides: a removal is refused only if no key can
 * have that weight. */

/* Changes the level of a counter by a weight, up or down, on average. */
LETHE_INLINE void change_level(struct lethe_sketch_core *core, void *cells, uint32_t at,
                               double weight, unsigned size) {
    uint64_t level = lethe_cell_get(cells, at, size), full = lethe_cell_full(size);
    if (level == full || weight == 0) return;
    double chance = lethe_scale_chance(&core->random);
    lethe_cell_set(cells, at, size,
                   weight > 0 ? lethe_scale_raise(core->scale, level, weight, chance, full)
                              : lethe_scale_lower(core->scale, level, -weight, chance));
}

LETHE_INLINE void log_add_chunk(CHUNK_ARGUMENTS) {
    (void)is_depth;
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride;
        uint64_t level = least_counter(core->cells, at, depth, size);
        double weight = (double)weight_of(batch, chunk->first + i);
        double chance = lethe_scale_chance(&core->random);
        uint64_t target =
            lethe_scale_raise(core->scale, level, weight, chance, lethe_cell_full(size));
        for (uint32_t row = 0; row < depth && (with_ds || target != level); row++) {
            uint64_t old = lethe_cell_get(core->cells, at[row], size);
            if (with_ds && old > level) {
                double above =
                    lethe_scale_value(core->scale, old) - lethe_scale_value(core->scale, level);
                change_level(core, core->ds, at[row], above < weight ? above : weight, size);
            }
            if (old < target) lethe_cell_set(core->cells, at[row], size, target);
        }
        if (batch->counts != NULL)
            batch->counts[chunk->first + i] = lethe_scale_count(core->scale, target);
    }
}

LETHE_INLINE void log_remove_chunk(CHUNK_ARGUMENTS) {
    (void)is_depth, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride;
        uint64_t weight = weight_of(batch, chunk->first + i);
        bool right = core->total >= weight;
        for (uint32_t row = 0; row < depth && right; row++) {
            uint64_t support = lethe_cell_get(core->ds, at[row], size);
            if (support == lethe_cell_full(size)) continue; /* it may stand for any excess */
            double spare = lethe_scale_value(core->scale, support), wanted = (double)weight;
            change_level(core, core->ds, at[row], spare < wanted ? -spare : -wanted, size);
            if (spare < wanted) change_level(core, core->cells, at[row], spare - wanted, size);
        }
        if (right) subtract_total(core, weight);
        uint64_t level = least_counter(core->cells, at, depth, size);
        report(batch, chunk->first + i, lethe_scale_count(core->scale, level), right);
    }
}

LETHE_INLINE void log_count_chunk(CHUNK_ARGUMENTS) {
    (void)is_depth, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        uint64_t level = least_counter(core->cells, chunk->at + i * chunk->stride, depth, size);
        report(batch, chunk->first + i, lethe_scale_count(core->scale, level),
               level == lethe_cell_full(size));
    }
}

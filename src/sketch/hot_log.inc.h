/* sketch/hot_log.inc.h - the log sketch; part of sketch/hot.inc.h.
 *
 * Conservative, on levels (scale.h). Each addition draws exactly one random number, whether it
 * needs it or not. So a batch draws the same numbers as single calls. */

LETHE_INLINE void log_add_chunk(struct lethe_sketch_core *core,
                                const struct lethe_sketch_batch *batch, const struct chunk *chunk,
                                uint32_t depth, unsigned size, bool with_is, bool with_ds) {
    (void)with_is, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride;
        uint64_t level = least_counter(core->cells, at, depth, size);
        double chance = lethe_scale_chance(&core->random);
        uint64_t target =
            lethe_scale_raise(core->scale, level, (double)weight_of(batch, chunk->first + i),
                              chance, lethe_cell_full(size));
        for (uint32_t row = 0; row < depth && target != level; row++) {
            if (lethe_cell_get(core->cells, at[row], size) < target)
                lethe_cell_set(core->cells, at[row], size, target);
        }
        if (batch->counts != NULL)
            batch->counts[chunk->first + i] = lethe_scale_count(core->scale, target);
    }
}

LETHE_INLINE void log_count_chunk(struct lethe_sketch_core *core,
                                  const struct lethe_sketch_batch *batch, const struct chunk *chunk,
                                  uint32_t depth, unsigned size, bool with_is, bool with_ds) {
    (void)with_is, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        uint64_t level = least_counter(core->cells, chunk->at + i * chunk->stride, depth, size);
        report(batch, chunk->first + i, lethe_scale_count(core->scale, level),
               level == lethe_cell_full(size));
    }
}

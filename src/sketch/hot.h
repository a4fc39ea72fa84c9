/* sketch/hot.h - the operations on counters, written once for every instruction set.
 *
 * The including file first defines, for its instruction set,
 *   static inline void place_many(const lethe_hash *hashes, size_t count, uint32_t width,
 *                                 uint32_t first, uint32_t *at, size_t stride);
 * which stores the positions of four rows for each hash, stride apart, and OPERATIONS, the name of the
 * table that this file ends with.
 *
 * IDEA    A batch goes in chunks. The positions of a chunk are computed at once, which is where SIMD
 *         helps, and its counters are asked for; meanwhile the chunk before it, whose counters have
 *         arrived, is worked on in order. What differs between kinds is that work alone.
 * I1      Each counter of the part that answers goes from its old value to its new one in one store, and
 *         both are at least the frequency of every key of that counter, the smaller one around the
 *         call: that is what readers rely on (lethe/sketch.h, Threads).
 * I2      FID, conservative with a DS part: FQ <= DS as a count-min sketch, counter by counter, as
 *         long as neither is full. Subtraction keeps the difference.
 * WHY     Sizes of counters and the common depth of four are constants here, after inlining: one
 *         source, and no loop or switch left in the machine code. */
#include <stdatomic.h>

#include "core/bits.h"
#include "sketch/place.h"
#include "sketch/scale.h"
#include "sketch/sketch.h"

#ifdef LETHE_FAST_BUILD /* sanitizers: a hundred copies of all this would take minutes to compile */
#define INLINE static inline
#else
#define INLINE static inline __attribute__((always_inline))
#endif

enum { CHUNK = 32, COMMON_DEPTH = 4, LARGE_BYTES = 1 << 20 };

/* The positions of a chunk's keys, stride apart. */
struct chunk {
    _Alignas(32) uint32_t at[CHUNK * LETHE_SKETCH_MAX_DEPTH];
    _Alignas(32) uint32_t is_at[CHUNK * LETHE_SKETCH_MAX_DEPTH];
    size_t first, count, stride;
};

/* Counters, size being a constant: the logarithm of their bytes. */

INLINE uint64_t get(const void *cells, uint32_t at, unsigned size) {
    switch (size) {
    case 0:
        return atomic_load_explicit((const _Atomic(uint8_t) *)cells + at, memory_order_relaxed);
    case 1:
        return atomic_load_explicit((const _Atomic(uint16_t) *)cells + at, memory_order_relaxed);
    case 2:
        return atomic_load_explicit((const _Atomic(uint32_t) *)cells + at, memory_order_relaxed);
    default:
        return atomic_load_explicit((const _Atomic(uint64_t) *)cells + at, memory_order_relaxed);
    }
}

INLINE void set(void *cells, uint32_t at, unsigned size, uint64_t value) {
    switch (size) {
    case 0:
        atomic_store_explicit((_Atomic(uint8_t) *)cells + at, (uint8_t)value, memory_order_relaxed);
        break;
    case 1:
        atomic_store_explicit((_Atomic(uint16_t) *)cells + at, (uint16_t)value,
                              memory_order_relaxed);
        break;
    case 2:
        atomic_store_explicit((_Atomic(uint32_t) *)cells + at, (uint32_t)value,
                              memory_order_relaxed);
        break;
    default:
        atomic_store_explicit((_Atomic(uint64_t) *)cells + at, value, memory_order_relaxed);
        break;
    }
}

INLINE uint64_t full(unsigned size) {
    return UINT64_MAX >> (64 - (8u << size));
}

/* value + weight, or full. */
INLINE uint64_t grown(uint64_t value, uint64_t weight, unsigned size) {
    uint64_t sum = value + weight;
    bool is_full = size == 3 ? sum < value : sum > full(size) || sum < value;
    return is_full ? full(size) : sum;
}

/* value - weight; a full counter stays. The caller knows that it is not below weight. */
INLINE uint64_t shrunk(uint64_t value, uint64_t weight, unsigned size) {
    return value == full(size) ? value : value - weight;
}

INLINE uint64_t least_of(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

INLINE uint64_t least_counter(const void *cells, const uint32_t *at, uint32_t depth,
                              unsigned size) {
    uint64_t least = UINT64_MAX;
    for (uint32_t row = 0; row < depth; row++)
        least = least_of(least, get(cells, at[row], size));
    return least;
}

/* Chunks. */

INLINE void place_part(const lethe_hash *hashes, size_t count, uint32_t width, uint32_t depth,
                       uint32_t *at, size_t stride) {
    place_many(hashes, count, width, 0, at, stride);
    lethe_hash mixed[CHUNK];
    for (uint32_t row = LETHE_PLACE_ROWS; row < depth; row += LETHE_PLACE_ROWS) {
        for (size_t i = 0; i < count; i++)
            mixed[i] = lethe_place_group(hashes[i], row / LETHE_PLACE_ROWS);
        place_many(mixed, count, width, row * width, at + row, stride);
    }
}

/* Whether a part is worth prefetching: what lies in the second-level cache comes as fast as it can be
 * asked for. */
INLINE bool is_large(uint32_t width, uint32_t depth, unsigned size) {
    return (uint64_t)width * depth << size > LARGE_BYTES;
}

INLINE void prefetch_part(const void *cells, const struct chunk *chunk, const uint32_t *at,
                          uint32_t depth, unsigned size) {
    for (size_t i = 0; i < chunk->count; i++) {
        for (uint32_t row = 0; row < depth; row++)
            __builtin_prefetch((const char *)cells + ((size_t)at[i * chunk->stride + row] << size));
    }
}

/* Computes where the counters of the chunk's keys lie, and asks for them. */
INLINE void prepare(const struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch,
                    struct chunk *chunk, size_t first, uint32_t depth, unsigned size, bool with_is,
                    bool with_ds) {
    chunk->first = first;
    chunk->count = batch->count - first < CHUNK ? batch->count - first : CHUNK;
    chunk->stride = (size_t)(depth + LETHE_PLACE_ROWS - 1) / LETHE_PLACE_ROWS * LETHE_PLACE_ROWS;
    const lethe_hash *hashes = batch->hashes + first;
    place_part(hashes, chunk->count, core->width, depth, chunk->at, chunk->stride);
    if (is_large(core->width, depth, size)) {
        prefetch_part(core->cells, chunk, chunk->at, depth, size);
        if (with_ds) prefetch_part(core->ds, chunk, chunk->at, depth, size);
    }
    if (!with_is) return;
    place_part(hashes, chunk->count, core->is_width, depth, chunk->is_at, chunk->stride);
    if (is_large(core->is_width, depth, size))
        prefetch_part(core->is, chunk, chunk->is_at, depth, size);
}

typedef void chunk_work(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch,
                        const struct chunk *chunk, uint32_t depth, unsigned size, bool with_is,
                        bool with_ds);

/* Works through a batch, a chunk behind what is being fetched. */
INLINE void drive(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch,
                  chunk_work *work, uint32_t depth, unsigned size, bool with_is, bool with_ds) {
    struct chunk chunks[2];
    if (batch->count == 0) return;
    prepare(core, batch, &chunks[0], 0, depth, size, with_is, with_ds);
    unsigned now = 0;
    for (size_t next = CHUNK; next < batch->count; next += CHUNK) {
        prepare(core, batch, &chunks[1 - now], next, depth, size, with_is, with_ds);
        work(core, batch, &chunks[now], depth, size, with_is, with_ds);
        now = 1 - now;
    }
    work(core, batch, &chunks[now], depth, size, with_is, with_ds);
}

INLINE uint64_t weight_of(const struct lethe_sketch_batch *batch, size_t i) {
    return batch->weights != NULL ? batch->weights[i] : 1;
}

INLINE void count_total(struct lethe_sketch_core *core, uint64_t weight) {
    core->total = grown(core->total, weight, 3);
}

/* What a batch adds to the total, told before so that the loops need not. */
INLINE void count_batch(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch) {
    if (batch->weights == NULL) {
        count_total(core, batch->count);
        return;
    }
    for (size_t i = 0; i < batch->count; i++)
        count_total(core, batch->weights[i]);
}

INLINE void uncount_total(struct lethe_sketch_core *core, uint64_t weight) {
    if (core->total != UINT64_MAX) core->total = core->total > weight ? core->total - weight : 0;
}

INLINE void report(const struct lethe_sketch_batch *batch, size_t i, uint64_t count, bool flag) {
    if (batch->counts != NULL) batch->counts[i] = count;
    if (batch->flags != NULL) batch->flags[i] = flag;
}

/* count-min: every counter grows. */

INLINE void count_min_add_chunk(struct lethe_sketch_core *core,
                                const struct lethe_sketch_batch *batch, const struct chunk *chunk,
                                uint32_t depth, unsigned size, bool with_is, bool with_ds) {
    (void)with_is, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride;
        uint64_t weight = weight_of(batch, chunk->first + i), least = UINT64_MAX;
        for (uint32_t row = 0; row < depth; row++) {
            uint64_t value = grown(get(core->cells, at[row], size), weight, size);
            set(core->cells, at[row], size, value);
            least = least_of(least, value);
        }
        if (batch->counts != NULL) batch->counts[chunk->first + i] = least;
    }
}

INLINE void count_min_remove_chunk(struct lethe_sketch_core *core,
                                   const struct lethe_sketch_batch *batch,
                                   const struct chunk *chunk, uint32_t depth, unsigned size,
                                   bool with_is, bool with_ds) {
    (void)with_is, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride;
        uint64_t weight = weight_of(batch, chunk->first + i);
        uint64_t least = least_counter(core->cells, at, depth, size);
        bool right = least == full(size) || least >= weight;
        if (right) {
            for (uint32_t row = 0; row < depth; row++)
                set(core->cells, at[row], size,
                    shrunk(get(core->cells, at[row], size), weight, size));
            uncount_total(core, weight);
            least = shrunk(least, weight, size);
        }
        report(batch, chunk->first + i, least, right);
    }
}

INLINE void least_query_chunk(struct lethe_sketch_core *core,
                              const struct lethe_sketch_batch *batch, const struct chunk *chunk,
                              uint32_t depth, unsigned size, bool with_is, bool with_ds) {
    (void)with_is, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        uint64_t least = least_counter(core->cells, chunk->at + i * chunk->stride, depth, size);
        batch->counts[chunk->first + i] = least;
        if (batch->flags != NULL) batch->flags[chunk->first + i] = least == full(size);
    }
}

/* conservative and FID: the smallest counters rise, in FID to at most what the IS part says. A
 * weight at once gives what as many single additions would: they raise the smallest one by one, and stop
 * at the IS part's estimate, which rises with them. */

/* Adds to the IS part; its estimate after that, or UINT64_MAX where it is full and says nothing. */
INLINE uint64_t is_add(struct lethe_sketch_core *core, const uint32_t *at, uint64_t weight,
                       uint32_t depth, unsigned size) {
    uint64_t least = UINT64_MAX;
    for (uint32_t row = 0; row < depth; row++) {
        uint64_t value = grown(get(core->is, at[row], size), weight, size);
        set(core->is, at[row], size, value);
        least = least_of(least, value);
    }
    return least == full(size) ? UINT64_MAX : least;
}

INLINE void raise_add_chunk(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch,
                            const struct chunk *chunk, uint32_t depth, unsigned size, bool with_is,
                            bool with_ds) {
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride;
        uint64_t weight = weight_of(batch, chunk->first + i);
        uint64_t least = least_counter(core->cells, at, depth, size);
        uint64_t target = grown(least, weight, size);
        if (with_is) {
            const uint32_t *is_at = chunk->is_at + i * chunk->stride;
            target = least_of(target, is_add(core, is_at, weight, depth, size));
        }
        for (uint32_t row = 0; row < depth; row++) {
            uint64_t old = get(core->cells, at[row], size);
            uint64_t value = old < target ? target : old;
            set(core->cells, at[row], size, value);
            if (!with_ds) continue;
            uint64_t more = core->ds_is_count_min ? weight : weight - (value - old);
            set(core->ds, at[row], size, grown(get(core->ds, at[row], size), more, size));
        }
        if (batch->counts != NULL)
            batch->counts[chunk->first + i] = target > least ? target : least;
    }
}

/* Takes weight from one counter of the DS part and what it leaves open from the FQ part's. Where DS
 * is full it may stand for any excess, so the FQ part keeps what it has. */
INLINE uint64_t lower_cell(struct lethe_sketch_core *core, uint32_t at, uint64_t weight,
                           unsigned size) {
    uint64_t value = get(core->cells, at, size), support = get(core->ds, at, size);
    if (support == full(size)) return value;
    if (core->ds_is_count_min) {
        support = support > weight ? support - weight : 0;
        set(core->ds, at, size, support);
        if (value != full(size) && value > support) value = support;
    } else {
        uint64_t taken = least_of(support, weight);
        set(core->ds, at, size, support - taken);
        if (value != full(size)) value -= weight - taken;
    }
    set(core->cells, at, size, value);
    return value;
}

INLINE void raise_remove_chunk(struct lethe_sketch_core *core,
                               const struct lethe_sketch_batch *batch, const struct chunk *chunk,
                               uint32_t depth, unsigned size, bool with_is, bool with_ds) {
    (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride,
                       *is_at = chunk->is_at + i * chunk->stride;
        uint64_t weight = weight_of(batch, chunk->first + i);
        uint64_t least = least_counter(core->cells, at, depth, size);
        bool right = least == full(size) || least >= weight;
        if (with_is && right) {
            uint64_t threshold = least_counter(core->is, is_at, depth, size);
            right = threshold == full(size) || threshold >= weight;
        }
        if (right) {
            for (uint32_t row = 0; with_is && row < depth; row++)
                set(core->is, is_at[row], size,
                    shrunk(get(core->is, is_at[row], size), weight, size));
            least = UINT64_MAX;
            for (uint32_t row = 0; row < depth; row++)
                least = least_of(least, lower_cell(core, at[row], weight, size));
            uncount_total(core, weight);
        }
        report(batch, chunk->first + i, least, right);
    }
}

/* count: a counter moves by the key's sign in its row, from -max to max, and stays at either end. */

INLINE int64_t get_signed(const void *cells, uint32_t at, unsigned size) {
    uint64_t value = get(cells, at, size);
    unsigned unused = 64 - (8u << size);
    return (int64_t)(value << unused) >> unused;
}

INLINE int64_t signed_full(unsigned size) {
    return (int64_t)(full(size) >> 1);
}

INLINE int64_t moved(int64_t value, uint64_t weight, bool up, unsigned size) {
    int64_t end = signed_full(size);
    if (value == end || value == -end) return value;
    /* The distance to the end, without overflow also for 64 bits. */
    uint64_t room = up ? (uint64_t)end - (uint64_t)value : (uint64_t)end + (uint64_t)value;
    if (weight >= room) return up ? end : -end;
    return up ? (int64_t)((uint64_t)value + weight) : (int64_t)((uint64_t)value - weight);
}

INLINE int64_t middle_of(int64_t low, int64_t high) {
    return (low >> 1) + (high >> 1) + (low & high & 1);
}

INLINE int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}

INLINE int64_t greater(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* The middle two of four values are the greater of two pairs' lesser ones and the lesser of their
 * greater ones. No branch depends on the values, which are as random as can be. */
INLINE int64_t median(int64_t *values, uint32_t count) {
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

/* The estimate of a key, and whether one of its counters is full. */
INLINE uint64_t count_estimate(const struct lethe_sketch_core *core, const uint32_t *at,
                               uint32_t signs, uint32_t depth, unsigned size, bool *is_full) {
    int64_t values[LETHE_SKETCH_MAX_DEPTH], end = signed_full(size);
    *is_full = false;
    for (uint32_t row = 0; row < depth; row++) {
        int64_t value = get_signed(core->cells, at[row], size);
        *is_full |= value == end || value == -end;
        values[row] = signs >> row & 1 ? value : -value;
    }
    int64_t estimate = median(values, depth);
    return estimate > 0 ? (uint64_t)estimate : 0;
}

/* Moves a key's counters up by weight, or down. */
INLINE void count_move(struct lethe_sketch_core *core, const uint32_t *at, uint32_t signs,
                       uint64_t weight, uint32_t depth, unsigned size) {
    for (uint32_t row = 0; row < depth; row++) {
        int64_t value = get_signed(core->cells, at[row], size);
        value = moved(value, weight, signs >> row & 1, size);
        set(core->cells, at[row], size, (uint64_t)value);
    }
}

INLINE void count_add_chunk(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch,
                            const struct chunk *chunk, uint32_t depth, unsigned size, bool with_is,
                            bool with_ds) {
    (void)with_is, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride;
        uint32_t signs = lethe_place_signs(batch->hashes[chunk->first + i]);
        count_move(core, at, signs, weight_of(batch, chunk->first + i), depth, size);
        bool is_full;
        if (batch->counts != NULL)
            batch->counts[chunk->first + i] =
                count_estimate(core, at, signs, depth, size, &is_full);
    }
}

/* An estimate may be below the truth, so only what exceeds all that was added can't be right. */
INLINE void count_remove_chunk(struct lethe_sketch_core *core,
                               const struct lethe_sketch_batch *batch, const struct chunk *chunk,
                               uint32_t depth, unsigned size, bool with_is, bool with_ds) {
    (void)with_is, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride;
        uint32_t signs = lethe_place_signs(batch->hashes[chunk->first + i]);
        uint64_t weight = weight_of(batch, chunk->first + i);
        bool right = weight <= core->total, is_full;
        if (right) {
            count_move(core, at, ~signs, weight, depth, size);
            uncount_total(core, weight);
        }
        report(batch, chunk->first + i, count_estimate(core, at, signs, depth, size, &is_full),
               right);
    }
}

INLINE void count_query_chunk(struct lethe_sketch_core *core,
                              const struct lethe_sketch_batch *batch, const struct chunk *chunk,
                              uint32_t depth, unsigned size, bool with_is, bool with_ds) {
    (void)with_is, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        uint32_t signs = lethe_place_signs(batch->hashes[chunk->first + i]);
        bool is_full;
        uint64_t estimate =
            count_estimate(core, chunk->at + i * chunk->stride, signs, depth, size, &is_full);
        report(batch, chunk->first + i, estimate, is_full);
    }
}

/* log: conservative, on levels. Each addition draws one random number, whatever it does with it, so
 * that a batch draws the same as single calls. */

INLINE void log_add_chunk(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch,
                          const struct chunk *chunk, uint32_t depth, unsigned size, bool with_is,
                          bool with_ds) {
    (void)with_is, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        const uint32_t *at = chunk->at + i * chunk->stride;
        uint64_t level = least_counter(core->cells, at, depth, size);
        double chance = lethe_scale_chance(&core->random);
        uint64_t target = lethe_scale_raise(
            core->scale, level, (double)weight_of(batch, chunk->first + i), chance, full(size));
        for (uint32_t row = 0; row < depth && target != level; row++) {
            if (get(core->cells, at[row], size) < target) set(core->cells, at[row], size, target);
        }
        if (batch->counts != NULL)
            batch->counts[chunk->first + i] = lethe_scale_count(core->scale, target);
    }
}

INLINE void log_query_chunk(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch,
                            const struct chunk *chunk, uint32_t depth, unsigned size, bool with_is,
                            bool with_ds) {
    (void)with_is, (void)with_ds;
    for (size_t i = 0; i < chunk->count; i++) {
        uint64_t level = least_counter(core->cells, chunk->at + i * chunk->stride, depth, size);
        report(batch, chunk->first + i, lethe_scale_count(core->scale, level), level == full(size));
    }
}

/* The tables: each operation for each size of counters, with the common depth known and without. */

INLINE void drive_any(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch,
                      chunk_work *work, unsigned size, bool with_is, bool with_ds) {
    if (core->depth == COMMON_DEPTH) {
        drive(core, batch, work, COMMON_DEPTH, size, with_is, with_ds);
    } else {
        drive(core, batch, work, core->depth, size, with_is, with_ds);
    }
}

/* A query writes nothing to the core; it shares the frame with what does. It looks only at what a
 * writer never changes. */
#define QUERY(name, work, size)                                    \
    static void name(const struct lethe_sketch_core *core,         \
                     const struct lethe_sketch_batch *batch) {     \
        struct lethe_sketch_core reading = {.cells = core->cells,  \
                                            .width = core->width,  \
                                            .depth = core->depth,  \
                                            .scale = core->scale}; \
        drive_any(&reading, batch, work, size, false, false);      \
    }
#define CHANGE(name, work, size, with_is, with_ds)                                             \
    static void name(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch) { \
        drive_any(core, batch, work, size, with_is, with_ds);                                  \
    }
#define ADD(name, work, size, with_is, with_ds)                                                \
    static void name(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch) { \
        count_batch(core, batch);                                                              \
        drive_any(core, batch, work, size, with_is, with_ds);                                  \
    }
/* With or without a DS part, as the sketch was made. */
#define ADD_RAISING(name, size, with_is)                                                       \
    static void name(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch) { \
        count_batch(core, batch);                                                              \
        if (core->ds != NULL) {                                                                \
            drive_any(core, batch, raise_add_chunk, size, with_is, true);                      \
        } else {                                                                               \
            drive_any(core, batch, raise_add_chunk, size, with_is, false);                     \
        }                                                                                      \
    }

#define OPERATIONS_OF_SIZE(size)                                                \
    ADD(count_min_add_##size, count_min_add_chunk, size, false, false)          \
    CHANGE(count_min_remove_##size, count_min_remove_chunk, size, false, false) \
    QUERY(least_query_##size, least_query_chunk, size)                          \
    ADD_RAISING(conservative_add_##size, size, false)                           \
    CHANGE(conservative_remove_##size, raise_remove_chunk, size, false, true)   \
    ADD_RAISING(fid_add_##size, size, true)                                     \
    CHANGE(fid_remove_##size, raise_remove_chunk, size, true, true)             \
    ADD(count_add_##size, count_add_chunk, size, false, false)                  \
    CHANGE(count_remove_##size, count_remove_chunk, size, false, false)         \
    QUERY(count_query_##size, count_query_chunk, size)

OPERATIONS_OF_SIZE(0)
OPERATIONS_OF_SIZE(1)
OPERATIONS_OF_SIZE(2)
OPERATIONS_OF_SIZE(3)
ADD(log_add_0, log_add_chunk, 0, false, false)
ADD(log_add_1, log_add_chunk, 1, false, false)
QUERY(log_query_0, log_query_chunk, 0)
QUERY(log_query_1, log_query_chunk, 1)

#define ROW(kind, query, size) \
    { kind##_add_##size, kind##_remove_##size, query##_query_##size }
#define ROWS(kind, query) \
    { ROW(kind, query, 0), ROW(kind, query, 1), ROW(kind, query, 2), ROW(kind, query, 3) }

lethe_sketch_operations_table OPERATIONS = {
    [LETHE_SKETCH_COUNT_MIN] = ROWS(count_min, least),
    [LETHE_SKETCH_CONSERVATIVE] = ROWS(conservative, least),
    [LETHE_SKETCH_COUNT] = ROWS(count, count),
    [LETHE_SKETCH_LOG] = {{log_add_0, NULL, log_query_0}, {log_add_1, NULL, log_query_1}},
    [LETHE_SKETCH_FID] = ROWS(fid, least),
};

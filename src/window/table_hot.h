/* window/table_hot.h - the operations on entries, written once and compiled for each instruction set.
 *
 * The including file defines OPERATIONS, the name of the table of functions at the end. Functions
 * take the number of age planes as an argument: four, for nearly all windows, is handed down as a
 * constant from the top, which unrolls every loop over planes. */
#include "window/table.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* How many ids ahead a batch asks for memory. */
enum { AHEAD = 12, USUAL_PLANES = 4 };

/* One of an id's two blocks. */
struct spot {
    uint64_t *unary;
    uint32_t *planes;
    unsigned char *remainders;
    uint8_t *stamp; /* the period, modulo 256, in which the block was last written */
};

/* Where an id belongs. Segment and blocks come from the high half of its hash, bucket and remainder
 * from the low half, whose upper six bits are left to stripes. */
struct place {
    uint64_t segment_index;
    uint64_t remainder;
    unsigned bucket;
    bool exists; /* whether its segment does, and so the spots */
    struct spot first, second;
};

ALWAYS_INLINE struct spot spot_of(const lethe_table *table, const unsigned char *segment,
                                  uint64_t block, unsigned planes) {
    /* As numbers, since a segment may not exist: then these are not used. */
    uintptr_t base = (uintptr_t)segment, head = base + block * (8 + 4 * ((planes + 1) & ~1U));
    return (struct spot){
        .unary = (uint64_t *)head,
        .planes = (uint32_t *)(head + 8),
        .remainders = (unsigned char *)(base + table->remainders_at +
                                        block * table->shape.remainder_bits * 4),
        .stamp = (uint8_t *)(base + table->stamps_at + block),
    };
}

ALWAYS_INLINE struct place place_of(const lethe_table *table, lethe_hash id, unsigned planes) {
    uint64_t index = lethe_multiply_high(id.high, table->shape.segments);
    uint64_t first = ((id.high & UINT32_MAX) * table->shape.blocks) >> 32;
    uint64_t scrambled = (id.high * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    uint64_t second = (scrambled * table->shape.blocks) >> 32;
    unsigned char *segment = table->segments[index];
    return (struct place){
        .segment_index = index,
        .remainder = id.low & table->remainder_mask,
        .bucket = (unsigned)(id.low >> LETHE_TABLE_MAX_REMAINDER_BITS) % LETHE_BLOCK_BUCKETS,
        .exists = segment != NULL,
        .first = spot_of(table, segment, first, planes),
        .second = spot_of(table, segment, second, planes),
    };
}

/* The age of a slot's entry in period; above generations it has expired. */
static inline uint64_t age_of(const lethe_table *table, const struct spot *spot, unsigned slot,
                              uint64_t period) {
    unsigned planes = table->shape.planes;
    unsigned value = lethe_block_get_planes(spot->planes, planes, slot);
    unsigned at_stamp = (*spot->stamp - value) & ((1U << planes) - 1);
    return at_stamp + (uint64_t)(uint8_t)((uint8_t)period - *spot->stamp);
}

/* Whether the run's entry number index holds the remainder, if it has so many. */
ALWAYS_INLINE bool matches(const lethe_table *table, const struct place *place,
                           const struct spot *spot, struct lethe_block_run run, unsigned index) {
    uint64_t remainder = lethe_block_remainder(spot->remainders, table->shape.remainder_bits,
                                               table->remainder_mask, run.start + index);
    return (remainder == place->remainder) & (index < run.count);
}

/* Whether an entry of the run, alive or expired, matches. Most buckets have no more than two entries:
 * these are compared without a branch, since their number can't be guessed. The second of a bucket in the
 * last slot is read from beyond, and not counted. */
ALWAYS_INLINE bool might_match(const lethe_table *table, const struct place *place,
                               const struct spot *spot, struct lethe_block_run run) {
    unsigned bits = table->shape.remainder_bits, at = run.start * bits, next = at + bits;
    uint64_t first = lethe_block_load(spot->remainders + at / 8) >> (at % 8);
    uint64_t second = lethe_block_load(spot->remainders + next / 8) >> (next % 8);
    bool match = (((first ^ place->remainder) & table->remainder_mask) == 0) & (run.count > 0);
    match |= (((second ^ place->remainder) & table->remainder_mask) == 0) & (run.count > 1);
    for (unsigned i = 2; i < run.count; i++)
        match |= matches(table, place, spot, run, i);
    return match;
}

/* The slot of a living entry that matches, or 32. */
static unsigned find_in(const lethe_table *table, const struct place *place,
                        const struct spot *spot, uint64_t period) {
    struct lethe_block_run run = lethe_block_find(*spot->unary, place->bucket);
    for (unsigned i = 0; i < run.count; i++) {
        if (!matches(table, place, spot, run, i)) continue;
        if (age_of(table, spot, run.start + i, period) <= table->shape.generations)
            return run.start + i;
    }
    return LETHE_BLOCK_SLOTS;
}

/* The block that has a living entry that matches, and its slot; NULL when none has. */
static const struct spot *locate(const lethe_table *table, const struct place *place,
                                 uint64_t period, unsigned *slot) {
    if (!place->exists) return NULL;
    *slot = find_in(table, place, &place->first, period);
    if (*slot < LETHE_BLOCK_SLOTS) return &place->first;
    *slot = find_in(table, place, &place->second, period);
    return *slot < LETHE_BLOCK_SLOTS ? &place->second : NULL;
}

/* How many living entries of a block match. */
static unsigned count_in_block(const lethe_table *table, const struct place *place,
                               const struct spot *spot, uint64_t period) {
    struct lethe_block_run run = lethe_block_find(*spot->unary, place->bucket);
    unsigned count = 0;
    for (unsigned i = 0; i < run.count; i++) {
        if (!matches(table, place, spot, run, i)) continue;
        count += age_of(table, spot, run.start + i, period) <= table->shape.generations;
    }
    return count;
}

/* The slots whose entries expire between a block's stamp and elapsed periods later. */
static inline uint32_t expired_slots(const lethe_table *table, const struct spot *spot,
                                     unsigned elapsed, unsigned planes) {
    unsigned used = lethe_block_used(*spot->unary), generations = table->shape.generations;
    uint32_t used_mask = (uint32_t)((UINT64_C(1) << used) - 1);
    if (elapsed > generations) return used_mask;
    uint32_t expired = 0;
    /* What was this old when the block was stamped is too old now. */
    for (unsigned age = generations - elapsed + 1; age <= generations; age++) {
        unsigned value = (*spot->stamp - age) & ((1U << planes) - 1);
        expired |= lethe_block_match_planes(spot->planes, planes, value);
    }
    return expired & used_mask;
}

/* Drops what has expired and stamps the block with the period. */
static void purge(const lethe_table *table, const struct spot *spot, uint64_t period) {
    unsigned elapsed = (uint8_t)((uint8_t)period - *spot->stamp), planes = table->shape.planes;
    if (elapsed == 0) return;
    uint32_t expired = expired_slots(table, spot, elapsed, planes);
    *spot->stamp = (uint8_t)period;
    if (expired == 0) return;
    lethe_block_drop(spot->unary, spot->planes, planes, spot->remainders,
                     table->shape.remainder_bits, expired);
}

/* Purges a block that was not written in this period; run is then found again. Each block is purged
 * once a period, whichever of its ids comes first. */
ALWAYS_INLINE void refresh_block(const lethe_table *table, const struct spot *spot, uint64_t period,
                                 unsigned bucket, struct lethe_block_run *run) {
    if (__builtin_expect(*spot->stamp == (uint8_t)period, 1)) return;
    purge(table, spot, period);
    *run = lethe_block_find(*spot->unary, bucket);
}

/* Adds an entry whose runs in both blocks are known. */
ALWAYS_INLINE lethe_table_result insert_at(lethe_table *table, lethe_hash id,
                                           const struct place *place, struct lethe_block_run first,
                                           struct lethe_block_run second, uint64_t period,
                                           unsigned planes) {
    if (table->alive >= table->shape.capacity) return LETHE_TABLE_IS_FULL;
    /* Only what is alive counts when the emptier block is chosen. */
    refresh_block(table, &place->first, period, place->bucket, &first);
    refresh_block(table, &place->second, period, place->bucket, &second);
    unsigned used_first = lethe_block_used(*place->first.unary);
    unsigned used_second = lethe_block_used(*place->second.unary);
    bool take_second = used_second < used_first;
    struct spot spot = take_second ? place->second : place->first;
    struct lethe_block_run run = take_second ? second : first;
    unsigned used = take_second ? used_second : used_first;
    unsigned value = (unsigned)period & ((1U << planes) - 1);
    if (__builtin_expect(used == LETHE_BLOCK_SLOTS, 0)) {
        if (!lethe_table_add_stray(table, id, period)) return LETHE_TABLE_IS_FULL;
    } else {
        lethe_block_insert(spot.unary, spot.planes, planes, spot.remainders,
                           table->shape.remainder_bits, run, used, place->remainder, value);
    }
    table->alive++;
    table->recorded[value]++;
    return LETHE_TABLE_ADDED;
}

/* Makes the id's segment if it is not there yet. */
ALWAYS_INLINE bool ensure_exists(lethe_table *table, lethe_hash id, struct place *place,
                                 unsigned planes) {
    if (__builtin_expect(place->exists, 1)) return true;
    if (!lethe_table_ensure_segment(table, place->segment_index)) return false;
    *place = place_of(table, id, planes);
    return true;
}

ALWAYS_INLINE bool is_stray(const lethe_table *table, lethe_hash id, uint64_t period) {
    return table->strays > 0 && lethe_table_find_stray(table, id, period) != NULL;
}

ALWAYS_INLINE bool check_with(const lethe_table *table, lethe_hash id, uint64_t period,
                              unsigned planes) {
    struct place place = place_of(table, id, planes);
    if (!place.exists) return false;
    struct lethe_block_run first = lethe_block_find(*place.first.unary, place.bucket);
    struct lethe_block_run second = lethe_block_find(*place.second.unary, place.bucket);
    unsigned slot;
    bool in_first = might_match(table, &place, &place.first, first);
    bool in_second = might_match(table, &place, &place.second, second);
    return ((in_first || in_second) && locate(table, &place, period, &slot) != NULL) ||
           is_stray(table, id, period);
}

/* known says that another table has the id already. */
ALWAYS_INLINE lethe_table_result check_and_insert_with(lethe_table *table, lethe_hash id,
                                                       uint64_t period, bool known,
                                                       bool *is_duplicate, unsigned planes) {
    struct place place = place_of(table, id, planes);
    if (!ensure_exists(table, id, &place, planes)) return LETHE_TABLE_NO_MEMORY;
    struct lethe_block_run first = lethe_block_find(*place.first.unary, place.bucket);
    struct lethe_block_run second = lethe_block_find(*place.second.unary, place.bucket);
    *is_duplicate = known;
    bool in_first = might_match(table, &place, &place.first, first);
    bool in_second = might_match(table, &place, &place.second, second);
    if (in_first || in_second) {
        struct place copy = place; /* so that the original can stay in registers */
        unsigned slot;
        *is_duplicate |= locate(table, &copy, period, &slot) != NULL;
    }
    if (*is_duplicate || is_stray(table, id, period)) {
        *is_duplicate = true;
        return LETHE_TABLE_ADDED;
    }
    return insert_at(table, id, &place, first, second, period, planes);
}

static bool check(const lethe_table *table, lethe_hash id, uint64_t period) {
    if (table->shape.planes == USUAL_PLANES) return check_with(table, id, period, USUAL_PLANES);
    return check_with(table, id, period, table->shape.planes);
}

static lethe_table_result insert(lethe_table *table, lethe_hash id, uint64_t period) {
    unsigned planes = table->shape.planes;
    struct place place = place_of(table, id, planes);
    if (!ensure_exists(table, id, &place, planes)) return LETHE_TABLE_NO_MEMORY;
    return insert_at(table, id, &place, lethe_block_find(*place.first.unary, place.bucket),
                     lethe_block_find(*place.second.unary, place.bucket), period, planes);
}

/* Counts an entry of that age out of the table's records. */
static void uncount(lethe_table *table, uint64_t period, uint64_t age) {
    table->alive--;
    table->recorded[(period - age) & ((1U << table->shape.planes) - 1)]--;
}

static void count_in(lethe_table *table, uint64_t period) {
    table->alive++;
    table->recorded[period & ((1U << table->shape.planes) - 1)]++;
}

static bool refresh_stray(lethe_table *table, lethe_hash id, uint64_t period) {
    struct lethe_table_stray *stray = lethe_table_find_stray(table, id, period);
    if (stray == NULL) return false;
    uncount(table, period, period + 1 - stray->period);
    count_in(table, period);
    stray->period = period + 1;
    return true;
}

static bool remove_stray(lethe_table *table, lethe_hash id, uint64_t period) {
    struct lethe_table_stray *stray = lethe_table_find_stray(table, id, period);
    if (stray == NULL) return false;
    uncount(table, period, period + 1 - stray->period);
    stray->key = 0; /* keeps its place, so that searches pass on */
    return true;
}

static bool refresh(lethe_table *table, lethe_hash id, uint64_t period) {
    struct place place = place_of(table, id, table->shape.planes);
    unsigned slot;
    const struct spot *spot = locate(table, &place, period, &slot);
    if (spot == NULL) return refresh_stray(table, id, period);
    uint64_t age = age_of(table, spot, slot, period);
    if (age == 0) return true;
    purge(table, spot, period); /* moves entries, so the slot is found again */
    slot = find_in(table, &place, spot, period);
    unsigned value = (unsigned)period & ((1U << table->shape.planes) - 1);
    lethe_block_set_planes(spot->planes, table->shape.planes, slot, value);
    uncount(table, period, age);
    count_in(table, period);
    return true;
}

static unsigned count_matches(const lethe_table *table, lethe_hash id, uint64_t period) {
    struct place place = place_of(table, id, table->shape.planes);
    if (!place.exists) return 0;
    unsigned count = count_in_block(table, &place, &place.first, period);
    if (place.first.unary != place.second.unary)
        count += count_in_block(table, &place, &place.second, period);
    return count + is_stray(table, id, period);
}

static bool remove_one(lethe_table *table, lethe_hash id, uint64_t period) {
    struct place place = place_of(table, id, table->shape.planes);
    unsigned slot;
    const struct spot *spot = locate(table, &place, period, &slot);
    if (spot == NULL) return remove_stray(table, id, period);
    uncount(table, period, age_of(table, spot, slot, period));
    lethe_block_drop(spot->unary, spot->planes, table->shape.planes, spot->remainders,
                     table->shape.remainder_bits, UINT32_C(1) << slot);
    return true;
}

/* Asks for a block's head and for the remainders that will be compared, or moved by an insert: from
 * where the bucket's would be in a block as full as most, to the end. Always inlined, since gcc takes a
 * function that only prefetches for one without effect, and drops its calls. */
ALWAYS_INLINE void prefetch_spot(const struct spot *spot, unsigned bucket, unsigned bits,
                                 unsigned planes) {
    __builtin_prefetch(spot->unary, 1);
    __builtin_prefetch(spot->planes + planes - 1, 1);
    __builtin_prefetch(spot->remainders + (size_t)bucket * bits / 8 * 7 / 8, 1);
    __builtin_prefetch(spot->remainders + (size_t)4 * bits - 1, 1);
    __builtin_prefetch(spot->stamp, 1);
}

ALWAYS_INLINE void prefetch(const lethe_table *table, lethe_hash id, unsigned planes) {
    struct place place = place_of(table, id, planes);
    if (!place.exists) return;
    prefetch_spot(&place.first, place.bucket, table->shape.remainder_bits, planes);
    prefetch_spot(&place.second, place.bucket, table->shape.remainder_bits, planes);
}

/* Even alone it pays to ask for everything first, so that nothing waits for anything else. */
static lethe_table_result check_and_insert(lethe_table *table, lethe_hash id, uint64_t period,
                                           bool *is_duplicate) {
    unsigned planes = table->shape.planes;
    prefetch(table, id, planes);
    if (planes == USUAL_PLANES)
        return check_and_insert_with(table, id, period, false, is_duplicate, USUAL_PLANES);
    return check_and_insert_with(table, id, period, false, is_duplicate, planes);
}

static void check_batch(lethe_table *const *tables, unsigned count, const lethe_hash *ids,
                        size_t id_count, uint64_t period, uint8_t *answers) {
    for (size_t i = 0; i < id_count + AHEAD; i++) {
        for (unsigned t = 0; t < count && i < id_count; t++)
            prefetch(tables[t], ids[i], tables[t]->shape.planes);
        if (i < AHEAD) continue;
        bool is_duplicate = false;
        for (unsigned t = 0; t < count && !is_duplicate; t++)
            is_duplicate = check(tables[t], ids[i - AHEAD], period);
        answers[i - AHEAD] = is_duplicate;
    }
}

ALWAYS_INLINE size_t check_and_insert_batch_with(lethe_table *const *tables, unsigned count,
                                                 const lethe_hash *ids, size_t id_count,
                                                 uint64_t period, uint8_t *answers,
                                                 lethe_table_result *result, unsigned planes) {
    *result = LETHE_TABLE_ADDED;
    for (size_t i = 0; i < id_count + AHEAD; i++) {
        for (unsigned t = 0; t < count && i < id_count; t++)
            prefetch(tables[t], ids[i], planes);
        if (i < AHEAD) continue;
        lethe_hash id = ids[i - AHEAD];
        bool is_duplicate = false;
        for (unsigned t = 1; t < count && !is_duplicate; t++)
            is_duplicate = check(tables[t], id, period);
        *result = check_and_insert_with(tables[0], id, period, is_duplicate, &is_duplicate, planes);
        if (*result != LETHE_TABLE_ADDED) return i - AHEAD;
        answers[i - AHEAD] = is_duplicate;
    }
    return id_count;
}

/* All tables of a chain have the same number of planes. */
static size_t check_and_insert_batch(lethe_table *const *tables, unsigned count,
                                     const lethe_hash *ids, size_t id_count, uint64_t period,
                                     uint8_t *answers, lethe_table_result *result) {
    unsigned planes = tables[0]->shape.planes;
    if (planes == USUAL_PLANES) {
        return check_and_insert_batch_with(tables, count, ids, id_count, period, answers, result,
                                           USUAL_PLANES);
    }
    return check_and_insert_batch_with(tables, count, ids, id_count, period, answers, result,
                                       planes);
}

static void sweep(lethe_table *table, uint64_t first, uint64_t count, uint64_t period) {
    for (uint64_t i = first; i < first + count; i++) {
        unsigned char *segment = table->segments[i / table->shape.blocks];
        if (segment == NULL) continue;
        struct spot spot = spot_of(table, segment, i % table->shape.blocks, table->shape.planes);
        purge(table, &spot, period);
    }
}

const struct lethe_table_operations OPERATIONS = {
    .check = check,
    .check_and_insert = check_and_insert,
    .insert = insert,
    .refresh = refresh,
    .count_matches = count_matches,
    .remove = remove_one,
    .check_batch = check_batch,
    .check_and_insert_batch = check_and_insert_batch,
    .sweep = sweep,
};

/* filter/quotient/hot_change.inc.h - adding a fingerprint and removing one. A part of hot.inc.h,
 * after hot_find.inc.h. */

/* Whether all slots of a block are used. Without anything carried on, the last slot, if used, ends
 * a run. */
LETHE_INLINE bool is_full(const struct lethe_quotient_table *table, uint64_t block) {
    return table->carry[block + 1] != 0 || table->marks[block].ends >> 63 != 0;
}

/* How many slots of a block are used from which nothing is carried on. */
LETHE_INLINE unsigned used_slots(uint64_t ends) {
    return ends != 0 ? 64 - (unsigned)__builtin_clzll(ends) : 0;
}

/* Whether one more entry of a block's buckets finds a free slot, here or in the blocks that
 * follow. */
static bool has_room(const struct lethe_quotient_table *table, uint64_t block) {
    for (unsigned chain = 0; is_full(table, block); block++, chain++) {
        if (chain == LETHE_QUOTIENT_MAX_CHAIN ||
            table->carry[block + 1] == LETHE_QUOTIENT_MAX_CARRY)
            return false;
    }
    return true;
}

/* Inserts a field at slot, counted from the block's first, and moves all up to the first free slot
 * one on. */
static void insert_field(struct lethe_quotient_table *table, uint64_t block, unsigned slot,
                         uint64_t value, unsigned bits) {
    for (block += slot / 64, slot %= 64;; block++, slot = 0) {
        unsigned char *fields = block_fields(table, block, bits);
        uint64_t last = lethe_fields_get(fields, bits, 63);
        bool full = is_full(table, block);
        lethe_fields_insert(fields, bits, slot, 64, value);
        if (!full) return;
        value = last;
    }
}

/* The same for the ends, and counts one more in each block whose beginning something is carried
 * over. The ends decide which blocks are full, so they are moved last. */
static void insert_end(struct lethe_quotient_table *table, uint64_t block, unsigned slot,
                       uint64_t end) {
    uint64_t home = block;
    for (block += slot / 64, slot %= 64;; block++, slot = 0) {
        bool full = is_full(table, block);
        uint64_t last = table->marks[block].ends >> 63;
        table->marks[block].ends = lethe_fields_insert_bit(table->marks[block].ends, slot, end);
        if (!full) break;
        end = last;
    }
    while (home < block)
        table->carry[++home]++;
}

LETHE_NOINLINE enum lethe_quotient_outcome add_far(struct lethe_quotient_table *table,
                                                   struct place place, unsigned bits) {
    struct run run = find_far(table, place.block, place.bucket);
    struct rank rank = rank_in_order(table, place, run, bits);
    if (rank.equal == 2) return LETHE_QUOTIENT_MANY;
    if (!has_room(table, place.block)) return LETHE_QUOTIENT_CROWDED;
    insert_field(table, place.block, run.start + rank.smaller, place.remainder, bits);
    insert_end(table, place.block, run.start, run.start == run.end);
    table->marks[place.block].occupied |= UINT64_C(1) << place.bucket;
    return rank.equal == 0 ? LETHE_QUOTIENT_FIRST : LETHE_QUOTIENT_SECOND;
}

/* A longer run has one more zero before its end, wherever the new remainder goes. */
LETHE_INLINE enum lethe_quotient_outcome add_one(struct lethe_quotient_table *table,
                                                 uint64_t fingerprint, unsigned bits) {
    struct place place = place_of(fingerprint, bits);
    struct lethe_quotient_marks *marks = &table->marks[place.block];
    struct run run;
    if (__builtin_expect(is_full(table, place.block) ||
                             !find_near(marks, table->carry[place.block], place.bucket, &run),
                         0))
        return add_far(table, place, bits);
    struct rank rank = rank_near(table, place, run, bits);
    if (__builtin_expect(rank.equal == 2, 0)) return LETHE_QUOTIENT_MANY;
    lethe_fields_insert(block_fields(table, place.block, bits), bits, run.start + rank.smaller,
                        used_slots(marks->ends), place.remainder);
    marks->ends = lethe_fields_insert_bit(marks->ends, run.start, run.start == run.end);
    marks->occupied |= UINT64_C(1) << place.bucket;
    return rank.equal == 0 ? LETHE_QUOTIENT_FIRST : LETHE_QUOTIENT_SECOND;
}

/* Takes a field out at slot and moves all that follow one back, as far as entries were carried
 * on. */
static void drop_field(struct lethe_quotient_table *table, uint64_t block, unsigned slot,
                       unsigned bits) {
    for (block += slot / 64, slot %= 64;; block++, slot = 0) {
        bool carries = table->carry[block + 1] != 0;
        uint64_t next =
            carries ? lethe_fields_get(block_fields(table, block + 1, bits), bits, 0) : 0;
        lethe_fields_drop(block_fields(table, block, bits), bits, slot, next);
        if (!carries) return;
    }
}

static void drop_end(struct lethe_quotient_table *table, uint64_t block, unsigned slot) {
    uint64_t home = block;
    for (block += slot / 64, slot %= 64;; block++, slot = 0) {
        bool carries = table->carry[block + 1] != 0;
        uint64_t next = carries ? table->marks[block + 1].ends & 1 : 0;
        table->marks[block].ends = lethe_fields_drop_bit(table->marks[block].ends, slot, next);
        if (!carries) break;
    }
    while (home < block)
        table->carry[++home]--;
}

LETHE_NOINLINE unsigned remove_far(struct lethe_quotient_table *table, struct place place,
                                   unsigned bits) {
    struct run run = find_far(table, place.block, place.bucket);
    struct rank rank = rank_in_order(table, place, run, bits);
    if (rank.equal == 0) return 0;
    drop_field(table, place.block, run.start + rank.smaller, bits);
    drop_end(table, place.block, run.start);
    if (run.end - run.start == 1)
        table->marks[place.block].occupied &= ~(UINT64_C(1) << place.bucket);
    return rank.equal;
}

LETHE_INLINE unsigned remove_one(struct lethe_quotient_table *table, uint64_t fingerprint,
                                 unsigned bits) {
    struct place place = place_of(fingerprint, bits);
    struct lethe_quotient_marks *marks = &table->marks[place.block];
    struct run run;
    if (__builtin_expect(table->carry[place.block + 1] != 0 ||
                             !find_near(marks, table->carry[place.block], place.bucket, &run),
                         0))
        return remove_far(table, place, bits);
    struct rank rank = rank_near(table, place, run, bits);
    if (rank.equal == 0) return 0;
    uint64_t only = run.end - run.start == 1;
    marks->ends = lethe_fields_drop_bit(marks->ends, run.start, 0);
    marks->occupied &= ~(only << place.bucket);
    lethe_fields_drop(block_fields(table, place.block, bits), bits, run.start + rank.smaller, 0);
    return rank.equal;
}

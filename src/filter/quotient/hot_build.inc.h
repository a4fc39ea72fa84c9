/* filter/quotient/hot_build.inc.h - a block's fingerprints in order, and a table made from
 * fingerprints in order. A part of hot.inc.h, after hot_find.inc.h and hot_change.inc.h. */

/* How many entries have their bucket in a block. */
LETHE_INLINE unsigned homed_in(const struct lethe_quotient_table *table, uint64_t block) {
    unsigned carried_on = table->carry[block + 1];
    uint64_t ends = table->marks[block].ends;
    unsigned used = carried_on != 0 ? 64 + carried_on : used_slots(ends);
    return used - table->carry[block];
}

/* The ends of 64 slots from any slot on. */
LETHE_INLINE uint64_t ends_from(const struct lethe_quotient_table *table, uint64_t slot) {
    const struct lethe_quotient_marks *marks = &table->marks[slot / 64];
    unsigned shift = slot % 64;
    return marks[0].ends >> shift | (shift != 0 ? marks[1].ends << (64 - shift) : 0);
}

/* An end takes the lowest bit off those of the buckets: occupied & (occupied - 1), and without an
 * end occupied & (occupied - 0). No branch depends on the lengths of runs. */
LETHE_INLINE size_t decode_block(const struct lethe_quotient_table *table, uint64_t block,
                                 uint64_t *out, unsigned bits) {
    uint64_t occupied = table->marks[block].occupied;
    unsigned count = homed_in(table, block);
    uint64_t slot = block * LETHE_QUOTIENT_BLOCK + table->carry[block];
    uint64_t first = (block * LETHE_QUOTIENT_BLOCK) << bits;
    for (unsigned done = 0; done < count;) {
        uint64_t ends = ends_from(table, slot);
        unsigned step = count - done < 64 ? count - done : 64;
        for (unsigned i = 0; i < step; i++, ends >>= 1) {
            uint64_t bucket = lethe_trailing_zeros64(occupied);
            out[done + i] =
                first + (bucket << bits) + lethe_fields_get(table->remainders, bits, slot + i);
            occupied &= occupied - (ends & 1);
        }
        done += step;
        slot += step;
    }
    return count;
}

static size_t count_repeated(const uint64_t *fingerprints, size_t count, size_t *thrice) {
    size_t twice = 0, more = 0;
    for (size_t i = 1; i < count; i++)
        twice += fingerprints[i] == fingerprints[i - 1];
    for (size_t i = 2; i < count; i++)
        more += fingerprints[i] == fingerprints[i - 2];
    *thrice = more;
    return twice;
}

/* Ends the builder's block and goes on to a later one: what was carried over each beginning is
 * known now, and append has seen to it that it is not too much. */
static void enter_block(struct lethe_quotient_builder *builder, uint64_t block) {
    while (builder->block < block) {
        uint64_t start = ++builder->block * LETHE_QUOTIENT_BLOCK;
        if (builder->slot <= start) {
            builder->block = block;
            builder->slot = block * LETHE_QUOTIENT_BLOCK;
        } else {
            builder->table->carry[builder->block] = (uint8_t)(builder->slot - start);
        }
    }
}

/* Puts the fields of fingerprints into free slots from slot on. */
LETHE_INLINE void put_fields(struct lethe_quotient_table *table, uint64_t slot,
                             const uint64_t *fingerprints, size_t count, unsigned bits) {
    if (LETHE_FIELDS_ARE(bits, 8)) {
        unsigned char *to = table->remainders + slot; /* known not to be the table itself */
        for (size_t i = 0; i < count; i++)
            to[i] = (unsigned char)fingerprints[i];
        return;
    }
    uint64_t at = slot * bits, mask = lethe_fields_below(bits);
    unsigned char *word = table->remainders + at / 64 * 8;
    unsigned shift = at % 64;
    uint64_t pending = lethe_fields_load(word);
    for (size_t i = 0; i < count; i++) {
        uint64_t field = fingerprints[i] & mask;
        pending |= field << shift;
        shift += bits;
        if (shift >= 64) {
            lethe_fields_store(word, pending);
            word += 8;
            shift -= 64;
            pending = shift != 0 ? field >> (bits - shift) : 0;
        }
    }
    if (shift != 0) lethe_fields_store(word, pending);
}

/* Puts the marks of up to 64 fingerprints of one block. The last one's run is ended; append takes
 * that back when more comes. */
LETHE_INLINE void put_marks(struct lethe_quotient_table *table, uint64_t block, uint64_t slot,
                            const uint64_t *fingerprints, size_t count, unsigned bits) {
    uint64_t occupied = 0, ends = UINT64_C(1) << (count - 1);
    for (size_t i = 0; i < count; i++)
        occupied |= UINT64_C(1) << (fingerprints[i] >> bits) % 64;
    for (size_t i = 0; i + 1 < count; i++)
        ends |= (uint64_t)(fingerprints[i] >> bits != fingerprints[i + 1] >> bits) << i;
    table->marks[block].occupied |= occupied;
    unsigned shift = slot % 64;
    table->marks[slot / 64].ends |= ends << shift;
    if (shift != 0) table->marks[slot / 64 + 1].ends |= ends >> (64 - shift);
}

LETHE_INLINE void append_piece(struct lethe_quotient_builder *builder, uint64_t block,
                               const uint64_t *fingerprints, size_t count, unsigned bits) {
    struct lethe_quotient_table *table = builder->table;
    uint64_t slot = builder->slot, quotient = fingerprints[0] >> bits;
    if (slot > 0 && builder->last_quotient == quotient)
        table->marks[(slot - 1) / 64].ends &= ~(UINT64_C(1) << (slot - 1) % 64);
    put_fields(table, slot, fingerprints, count, bits);
    put_marks(table, block, slot, fingerprints, count, bits);
    builder->slot += count;
    builder->last_quotient = fingerprints[count - 1] >> bits;
}

LETHE_INLINE void append_all(struct lethe_quotient_builder *builder, const uint64_t *fingerprints,
                             size_t count, unsigned bits) {
    for (size_t i = 0; i < count && !builder->is_crowded;) {
        uint64_t block = (fingerprints[i] >> bits) / LETHE_QUOTIENT_BLOCK;
        uint64_t next = (block + 1) * LETHE_QUOTIENT_BLOCK;
        enter_block(builder, block);
        size_t end = i, most = count - i < 64 ? count : i + 64;
        while (end < most && fingerprints[end] >> bits < next)
            end++;
        builder->is_crowded =
            builder->slot + (end - i) > block * LETHE_QUOTIENT_BLOCK + LETHE_QUOTIENT_MAX_HOMED;
        if (!builder->is_crowded) append_piece(builder, block, fingerprints + i, end - i, bits);
        i = end;
    }
}

static void finish_building(struct lethe_quotient_builder *builder) {
    enter_block(builder, lethe_quotient_all_blocks(builder->table) - 1);
}

/* filter/gaussian/table.c - the bells of a filter as tables.
 *
 * The levels of all bells, one after the other, for distances 0 to the radius, are saved with a
 * filter and make it the same filter on another machine. Everything else here is derived from them,
 * in the form that the operations need:
 *   narrow         nothing more: each bell has its one piece of a word
 *   wide           pieces of words, see wide_pieces.inc.h
 *   wide, AVX2     vectors of levels and top bits for each place in a byte where a bell can begin
 *   float, double  the values from one end of the bell to the other, filled up with zeros to whole
 *                  vectors */
#include <string.h>

#include "core/allocator.h"
#include "core/cpu.h"
#include "filter/bloom/probe.h"
#include "filter/gaussian/gaussian.h"
#include "filter/gaussian/wide_pieces.inc.h"

/* A word at a byte address can begin up to seven bits before the bell. */
enum { LINE_BYTES = 64, NARROW_BITS = 57, FLOATS_IN_VECTOR = 8, DOUBLES_IN_VECTOR = 4 };

size_t lethe_gaussian_guard_bytes(uint32_t slot_bits, uint32_t radius) {
    size_t bytes = ((size_t)radius * slot_bits + 7) / 8 + LINE_BYTES;
    return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

lethe_status lethe_gaussian_table_init(const uint32_t *radii, uint32_t hashes, uint32_t slot_bits,
                                       const lethe_allocator *allocator,
                                       struct lethe_gaussian_table *out) {
    *out = (struct lethe_gaussian_table){.hashes = hashes, .slot_bits = slot_bits};
    for (uint32_t i = 0; i < hashes; i++)
        out->level_count += radii[i] + 1;
    struct lethe_gaussian_table table = *out;
    table.bells = lethe_alloc_zeroed(allocator, hashes * sizeof *table.bells);
    table.levels = lethe_alloc_zeroed(allocator, table.level_count * sizeof *table.levels);
    if (table.bells == NULL || table.levels == NULL) {
        lethe_gaussian_table_drop(&table, allocator);
        *out = (struct lethe_gaussian_table){0};
        return LETHE_ENOMEM;
    }
    uint32_t levels = 0;
    uint64_t power = 1;
    for (uint32_t i = 0; i < hashes; i++) {
        power *= LETHE_BLOOM_MULTIPLIER;
        table.bells[i].radius = radii[i];
        table.bells[i].levels = levels;
        table.bells[i].power = power;
        table.levels[levels] = lethe_gaussian_top(slot_bits);
        levels += radii[i] + 1;
    }
    *out = table;
    return LETHE_OK;
}

void lethe_gaussian_table_drop(struct lethe_gaussian_table *table,
                               const lethe_allocator *allocator) {
    lethe_release(allocator, table->bells, table->hashes * sizeof *table->bells);
    lethe_release(allocator, table->levels, table->level_count * sizeof *table->levels);
    lethe_release(allocator, table->parts, table->parts_bytes);
    *table = (struct lethe_gaussian_table){0};
}

void lethe_gaussian_table_fill(const struct lethe_gaussian_rule *rule,
                               struct lethe_gaussian_table *table) {
    for (uint32_t i = 0; i < table->hashes; i++) {
        double *levels = table->levels + table->bells[i].levels;
        for (uint32_t distance = 0; distance <= table->bells[i].radius; distance++)
            levels[distance] = lethe_gaussian_level(rule, i + 1, distance);
    }
}

static double level_at(const struct lethe_gaussian_table *table, uint32_t bell, uint32_t distance) {
    const struct lethe_gaussian_bell *asked = &table->bells[bell];
    return distance <= asked->radius ? table->levels[asked->levels + distance] : 0;
}

static bool is_level(double level, uint32_t slot_bits) {
    double top = lethe_gaussian_top(slot_bits);
    /* Written so that a NaN is refused as well. */
    if (!(level > 0 && level < top)) return false;
    if (slot_bits == LETHE_GAUSSIAN_FLOAT_BITS) return (double)(float)level == level;
    return slot_bits == LETHE_GAUSSIAN_DOUBLE_BITS || (double)(uint32_t)level == level;
}

bool lethe_gaussian_table_is_valid(const struct lethe_gaussian_table *table) {
    for (uint32_t i = 0; i < table->hashes; i++) {
        if (level_at(table, i, 0) != lethe_gaussian_top(table->slot_bits)) return false;
        for (uint32_t distance = 1; distance <= table->bells[i].radius; distance++) {
            double level = level_at(table, i, distance);
            if (!is_level(level, table->slot_bits)) return false;
            if (level > level_at(table, i, distance - 1)) return false;
            if (i + 1 < table->hashes && level > level_at(table, i + 1, distance)) return false;
        }
    }
    return true;
}

/* The slots of a bell from number first on, as many as there are up to count, as fields of a
 * word. */
static struct lethe_gaussian_piece make_piece(const struct lethe_gaussian_table *table,
                                              uint32_t bell, uint32_t first, uint32_t count) {
    struct lethe_gaussian_piece piece = {0};
    uint32_t radius = table->bells[bell].radius;
    for (uint32_t i = 0; i < count && first + i <= 2 * radius; i++) {
        uint32_t slot = first + i;
        uint32_t distance = slot > radius ? slot - radius : radius - slot;
        uint64_t level = (uint64_t)level_at(table, bell, distance);
        piece.levels |= level << i * table->slot_bits;
        piece.tops |= UINT64_C(1) << (i * table->slot_bits + table->slot_bits - 1);
    }
    return piece;
}

static bool is_narrow(const struct lethe_gaussian_table *table, uint32_t radius) {
    /* Slots of 2, 4, 6 and 8 bits begin at even bits of a byte, but 57 is not more to any of
     * them. */
    return (2 * radius + 1) * table->slot_bits <= NARROW_BITS;
}

static bool is_whole_in_bytes(uint32_t slot_bits) {
    return slot_bits == 2 || slot_bits == 4 || slot_bits == 8;
}

/* The bytes that a bell needs before the byte of its middle, when it may begin anywhere in that
 * byte. */
static uint32_t bytes_before(const struct lethe_gaussian_table *table, uint32_t bell) {
    return (table->bells[bell].radius * table->slot_bits + 7) / 8;
}

/* Whether every bell, with whole bytes before its middle, fits a word. */
static bool is_split(const struct lethe_gaussian_table *table) {
    uint32_t bits = table->slot_bits;
    for (uint32_t i = 0; i < table->hashes; i++) {
        uint32_t before = 8 * bytes_before(table, i);
        if (before + 8 + table->bells[i].radius * bits > 64) return false;
    }
    return bits == 2 || bits == 4;
}

/* Whether every bell has a lane for each slot, and one is left for what is around. */
static bool is_in_lanes(const struct lethe_gaussian_table *table) {
    for (uint32_t i = 0; i < table->hashes; i++) {
        if (2 * table->bells[i].radius + 1 >= LETHE_GAUSSIAN_LANES) return false;
    }
    return table->slot_bits == 3;
}

static const struct lethe_gaussian_operations *choose(const struct lethe_gaussian_table *table,
                                                      bool narrow) {
    uint32_t bits = table->slot_bits;
#if defined(__x86_64__)
    if (lethe_cpu() >= LETHE_CPU_AVX2) {
        if (bits == LETHE_GAUSSIAN_FLOAT_BITS) return &lethe_gaussian_float_avx2;
        if (bits == LETHE_GAUSSIAN_DOUBLE_BITS) return &lethe_gaussian_double_avx2;
        if (narrow && is_split(table)) {
            return bits == 4 ? &lethe_gaussian_nibble_avx2 : &lethe_gaussian_pair_avx2;
        }
        if (narrow && is_in_lanes(table)) return &lethe_gaussian_triple_avx2;
        if (narrow) return &lethe_gaussian_narrow_avx2;
        if (is_whole_in_bytes(bits)) return &lethe_gaussian_wide_avx2;
    }
#endif
    if (bits == LETHE_GAUSSIAN_FLOAT_BITS) return &lethe_gaussian_float_scalar;
    if (bits == LETHE_GAUSSIAN_DOUBLE_BITS) return &lethe_gaussian_double_scalar;
    return narrow ? &lethe_gaussian_narrow_scalar : &lethe_gaussian_wide_scalar;
}

static uint32_t round_up(uint32_t count, uint32_t unit) {
    return (count + unit - 1) / unit * unit;
}

/* Gives every bell its place among the parts, part_of a bell at a time, times of them each. */
static uint32_t place_parts(struct lethe_gaussian_table *table,
                            uint32_t (*count_of)(const struct lethe_gaussian_table *table,
                                                 uint32_t slots),
                            uint32_t times) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < table->hashes; i++) {
        struct lethe_gaussian_bell *bell = &table->bells[i];
        bell->parts = next;
        bell->part_count = count_of(table, 2 * bell->radius + 1);
        next += bell->part_count * times;
    }
    return next;
}

static uint32_t pieces_of(const struct lethe_gaussian_table *table, uint32_t slots) {
    uint32_t each = lethe_gaussian_piece_slots(table->slot_bits);
    return (slots + each - 1) / each;
}

static uint32_t vectors_of(const struct lethe_gaussian_table *table, uint32_t slots) {
    /* Up to a slot less than a byte comes before the first one. */
    uint32_t bits = slots * table->slot_bits + 8 - table->slot_bits;
    return round_up(bits, 8 * LETHE_GAUSSIAN_VECTOR_BYTES) / (8 * LETHE_GAUSSIAN_VECTOR_BYTES);
}

static uint32_t values_of(const struct lethe_gaussian_table *table, uint32_t slots) {
    bool is_float = table->slot_bits == LETHE_GAUSSIAN_FLOAT_BITS;
    return round_up(slots, is_float ? FLOATS_IN_VECTOR : DOUBLES_IN_VECTOR);
}

static lethe_status allocate(struct lethe_gaussian_table *table, size_t count, size_t each,
                             const lethe_allocator *allocator) {
    table->parts = lethe_alloc_zeroed(allocator, count * each);
    if (table->parts == NULL) return LETHE_ENOMEM;
    table->parts_bytes = count * each;
    return LETHE_OK;
}

static lethe_status make_pieces(struct lethe_gaussian_table *table,
                                const lethe_allocator *allocator) {
    size_t count = place_parts(table, pieces_of, 1);
    lethe_status status = allocate(table, count, sizeof(struct lethe_gaussian_piece), allocator);
    if (status != LETHE_OK) return status;
    struct lethe_gaussian_piece *pieces = table->parts;
    uint32_t each = lethe_gaussian_piece_slots(table->slot_bits);
    for (uint32_t i = 0; i < table->hashes; i++) {
        for (uint32_t part = 0; part < table->bells[i].part_count; part++)
            pieces[table->bells[i].parts + part] = make_piece(table, i, part * each, each);
    }
    return LETHE_OK;
}

/* Writes one bell into its vectors, shifted by place slots within its first byte. */
static void fill_vectors(const struct lethe_gaussian_table *table, uint32_t bell, uint32_t place,
                         struct lethe_gaussian_vector *vectors) {
    uint32_t bits = table->slot_bits, radius = table->bells[bell].radius;
    for (uint32_t slot = 0; slot <= 2 * radius; slot++) {
        uint32_t distance = slot > radius ? slot - radius : radius - slot;
        unsigned level = (unsigned)level_at(table, bell, distance);
        uint32_t at = (slot + place) * bits;
        uint32_t byte = at / 8;
        struct lethe_gaussian_vector *vector = &vectors[byte / LETHE_GAUSSIAN_VECTOR_BYTES];
        byte %= LETHE_GAUSSIAN_VECTOR_BYTES;
        vector->levels[byte] |= (unsigned char)(level << at % 8);
        vector->tops[byte] |= (unsigned char)(1U << (at % 8 + bits - 1));
    }
}

static lethe_status make_vectors(struct lethe_gaussian_table *table,
                                 const lethe_allocator *allocator) {
    uint32_t places = 8 / table->slot_bits;
    size_t count = place_parts(table, vectors_of, places);
    lethe_status status = allocate(table, count, sizeof(struct lethe_gaussian_vector), allocator);
    if (status != LETHE_OK) return status;
    struct lethe_gaussian_vector *vectors = table->parts;
    for (uint32_t i = 0; i < table->hashes; i++) {
        for (uint32_t place = 0; place < places; place++)
            fill_vectors(table, i, place,
                         vectors + table->bells[i].parts +
                             (size_t)place * table->bells[i].part_count);
    }
    return LETHE_OK;
}

static uint32_t one_of(const struct lethe_gaussian_table *table, uint32_t slots) {
    (void)table;
    (void)slots;
    return 1;
}

/* For each place of the middle within its byte a vector of 8/t words, each with every (8/t)th slot
 * of the bell: see nibble_avx2.c. */
static lethe_status make_split(struct lethe_gaussian_table *table,
                               const lethe_allocator *allocator) {
    uint32_t bits = table->slot_bits, places = 8 / bits;
    size_t count = place_parts(table, one_of, places), each = places * sizeof(uint64_t);
    lethe_status status = allocate(table, count, each, allocator);
    if (status != LETHE_OK) return status;
    unsigned char *vector = table->parts;
    for (uint32_t i = 0; i < table->hashes; i++) {
        uint32_t radius = table->bells[i].radius, before = bytes_before(table, i);
        size_t guard_bytes = (table->bells[i].start + (uint64_t)radius * bits) / 8;
        table->bells[i].start = guard_bytes - before;
        for (uint32_t place = 0; place < places; place++, vector += each) {
            for (uint32_t slot = 0; slot <= 2 * radius; slot++) {
                uint32_t distance = slot > radius ? slot - radius : radius - slot;
                unsigned level = (unsigned)level_at(table, i, distance);
                uint32_t at = 8 * before + (place + slot - radius) * bits;
                uint32_t part = at % 8 / bits;
                vector[part * sizeof(uint64_t) + at / 8] |= (unsigned char)(level << at % 8);
            }
        }
    }
    return LETHE_OK;
}

/* For each bit that a bell can begin at, a lane for each of its slots and one for the rest. */
static lethe_status make_lanes(struct lethe_gaussian_table *table,
                               const lethe_allocator *allocator) {
    uint32_t bits = table->slot_bits;
    size_t count = place_parts(table, one_of, 8);
    lethe_status status = allocate(table, count, sizeof(struct lethe_gaussian_lanes), allocator);
    if (status != LETHE_OK) return status;
    struct lethe_gaussian_lanes *next = table->parts;
    for (uint32_t i = 0; i < table->hashes; i++) {
        uint32_t radius = table->bells[i].radius;
        for (uint32_t place = 0; place < 8; place++, next++) {
            uint32_t around = UINT32_MAX;
            for (uint32_t slot = 0; slot <= 2 * radius; slot++) {
                uint32_t distance = slot > radius ? slot - radius : radius - slot;
                uint32_t at = place + slot * bits;
                next->masks[slot] = ((UINT32_C(1) << bits) - 1) << at;
                next->levels[slot] = (uint32_t)level_at(table, i, distance) << at;
                around &= ~next->masks[slot];
            }
            next->masks[LETHE_GAUSSIAN_LANES - 1] = around;
        }
    }
    return LETHE_OK;
}

static lethe_status make_values(struct lethe_gaussian_table *table,
                                const lethe_allocator *allocator) {
    bool is_float = table->slot_bits == LETHE_GAUSSIAN_FLOAT_BITS;
    size_t count = place_parts(table, values_of, 1);
    lethe_status status =
        allocate(table, count, is_float ? sizeof(float) : sizeof(double), allocator);
    if (status != LETHE_OK) return status;
    for (uint32_t i = 0; i < table->hashes; i++) {
        uint32_t radius = table->bells[i].radius;
        for (uint32_t slot = 0; slot <= 2 * radius; slot++) {
            double level = level_at(table, i, slot > radius ? slot - radius : radius - slot);
            size_t at = table->bells[i].parts + slot;
            if (is_float) {
                ((float *)table->parts)[at] = (float)level;
            } else {
                ((double *)table->parts)[at] = level;
            }
        }
    }
    return LETHE_OK;
}

static void place_bells(struct lethe_gaussian_table *table, uint32_t radius, bool narrow) {
    size_t guard_bytes = lethe_gaussian_guard_bytes(table->slot_bits, radius);
    for (uint32_t i = 0; i < table->hashes; i++) {
        struct lethe_gaussian_bell *bell = &table->bells[i];
        if (!lethe_gaussian_is_packed(table->slot_bits)) {
            bell->start = guard_bytes * 8 / table->slot_bits - bell->radius;
            continue;
        }
        bell->start = guard_bytes * 8 - (uint64_t)bell->radius * table->slot_bits;
        if (narrow) bell->piece = make_piece(table, i, 0, 2 * bell->radius + 1);
    }
}

lethe_status lethe_gaussian_table_finish(struct lethe_gaussian_table *table, uint32_t radius,
                                         const lethe_allocator *allocator) {
    bool narrow = lethe_gaussian_is_packed(table->slot_bits) && is_narrow(table, radius);
    table->operations = choose(table, narrow);
    place_bells(table, radius, narrow);
    if (!lethe_gaussian_is_packed(table->slot_bits)) return make_values(table, allocator);
#if defined(__x86_64__)
    if (table->operations == &lethe_gaussian_nibble_avx2 ||
        table->operations == &lethe_gaussian_pair_avx2) {
        return make_split(table, allocator);
    }
    if (table->operations == &lethe_gaussian_triple_avx2) return make_lanes(table, allocator);
#endif
    if (narrow) return LETHE_OK;
#if defined(__x86_64__)
    if (table->operations == &lethe_gaussian_wide_avx2) return make_vectors(table, allocator);
#endif
    return make_pieces(table, allocator);
}

/* filter/quotient/hot.h - all that touches the slots of a quotient filter, written once for every instruction set
 * and compiled for widths 8, 16 and any. quotient.c describes the layout and its invariants.
 *
 * The including file defines OPERATIONS, the name of the tables that this file ends with.
 *
 * NEAR and FAR. Nearly always a bucket's entries lie in their own block, and then two words, a byte and the
 * block's remainders are all that is looked at: "near". Entries that were carried into
 * later blocks, and additions to full blocks, are "far": the same in general, and kept out of line. */
#include "core/bits.h"
#include "filter/quotient/fields.h"
#include "filter/quotient/quotient.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline))

/* How many keys ahead a batch asks for memory: about as many as a core can wait for at once. */
enum { AHEAD = 16, LINE_BYTES = 64 };

/* Where a fingerprint belongs. */
struct place {
    uint64_t block;
    unsigned bucket;
    uint64_t remainder;
};

/* A bucket's slots, counted from its block's first; both are where it would begin when it has none. */
struct run {
    unsigned start, end;
};

static ALWAYS_INLINE struct place place_of(uint64_t fingerprint, unsigned bits) {
    uint64_t quotient = fingerprint >> bits;
    return (struct place){
        .block = quotient / LETHE_QUOTIENT_BLOCK,
        .bucket = (unsigned)(quotient % LETHE_QUOTIENT_BLOCK),
        .remainder = fingerprint & lethe_fields_below(bits),
    };
}

static ALWAYS_INLINE unsigned char *block_fields(const struct lethe_quotient_table *table,
                                                 uint64_t block, unsigned bits) {
    return table->remainders + block * (8 * (uint64_t)bits);
}

/* Finds a bucket whose slots all lie in its own block; false when they may not.
 *
 * starts has a bit where each run of the block's own buckets begins, and one where the next would: behind
 * what was carried in, and behind each end. An end in the last slot gives none, and selecting one too
 * many gives 64, which is right. */
static ALWAYS_INLINE bool find_near(const struct lethe_quotient_marks *marks, unsigned carry,
                                    unsigned bucket, struct run *run) {
    uint64_t own = marks->ends & ~lethe_fields_below(carry & 63);
    unsigned before = lethe_popcount64(marks->occupied & lethe_fields_below(bucket));
    unsigned has = (unsigned)(marks->occupied >> bucket) & 1;
    if (__builtin_expect(carry >= 64 || before + has > lethe_popcount64(own), 0)) return false;
    uint64_t starts = own << 1 | UINT64_C(1) << carry;
    run->start = lethe_select64(starts, before);
    run->end = lethe_select64(starts, before + has);
    return true;
}

/* The slot, counted from the block's first, of end number index, from 0, at slot `from` or later. */
static unsigned find_end(const struct lethe_quotient_table *table, uint64_t block, unsigned from,
                         unsigned index) {
    uint64_t at = block + from / 64, last = lethe_quotient_all_blocks(table) - 1;
    uint64_t ends = table->marks[at].ends & ~lethe_fields_below(from % 64);
    for (;;) {
        unsigned count = lethe_popcount64(ends);
        if (index < count || at == last) break;
        index -= count;
        ends = table->marks[++at].ends;
    }
    return (unsigned)(at - block) * 64 + lethe_select64(ends, index);
}

/* As find_near, wherever the bucket's entries lie. */
static struct run find_far(const struct lethe_quotient_table *table, uint64_t block,
                           unsigned bucket) {
    const struct lethe_quotient_marks *marks = &table->marks[block];
    unsigned carry = table->carry[block];
    unsigned before = lethe_popcount64(marks->occupied & lethe_fields_below(bucket));
    struct run run;
    run.start = before == 0 ? carry : find_end(table, block, carry, before - 1) + 1;
    run.end = marks->occupied >> bucket & 1 ? find_end(table, block, carry, before) + 1 : run.start;
    return run;
}

/* A remainder's place in its run: how many are smaller, and how many are equal. */
struct rank {
    unsigned smaller, equal;
};

static ALWAYS_INLINE struct rank rank_in_order(const struct lethe_quotient_table *table,
                                               struct place place, struct run run, unsigned bits) {
    uint64_t first = place.block * LETHE_QUOTIENT_BLOCK;
    struct rank rank = {0, 0};
    for (unsigned slot = run.start; slot < run.end; slot++) {
        uint64_t remainder = lethe_fields_get(table->remainders, bits, first + slot);
        if (remainder > place.remainder) break;
        rank.smaller += remainder < place.remainder;
        rank.equal += remainder == place.remainder;
    }
    return rank;
}

/* How many are equal. Looks at the first four whether the run has them or not, so that its length, which nobody can
 * guess, decides nothing; one in hundreds is longer. */
static ALWAYS_INLINE unsigned equal_of_few(const struct lethe_quotient_table *table,
                                           struct place place, struct run run, unsigned bits) {
    enum { FEW = 4 };
    uint64_t first = place.block * LETHE_QUOTIENT_BLOCK + run.start;
    unsigned length = run.end - run.start, equal = 0;
    if (__builtin_expect(length > FEW, 0)) return rank_in_order(table, place, run, bits).equal;
    for (unsigned i = 0; i < FEW; i++) {
        uint64_t remainder = lethe_fields_get(table->remainders, bits, first + i);
        equal += (i < length) & (remainder == place.remainder);
    }
    return equal;
}

#if defined(__AVX2__)

/* A bit for each of a block's 64 fields, from vectors of ones and zeros. */
static ALWAYS_INLINE uint64_t mask_of_bytes(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

static ALWAYS_INLINE __m256i bytes_of_shorts(__m256i low, __m256i high) {
    return _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);
}

/* The fields that are equal to value, and those that are not above it; r is 8 or 16. */
static ALWAYS_INLINE void compare_block(const unsigned char *block, uint64_t value, unsigned bits,
                                        uint64_t *equal, uint64_t *not_above) {
    __m256i same[4] = {0}, below[4] = {0};
    for (unsigned i = 0; i < bits / 4; i++) {
        __m256i fields = lethe_fields_vector(block + 32 * (size_t)i);
        __m256i wanted =
            bits == 8 ? _mm256_set1_epi8((char)value) : _mm256_set1_epi16((short)value);
        __m256i least =
            bits == 8 ? _mm256_min_epu8(fields, wanted) : _mm256_min_epu16(fields, wanted);
        same[i] =
            bits == 8 ? _mm256_cmpeq_epi8(fields, wanted) : _mm256_cmpeq_epi16(fields, wanted);
        below[i] = bits == 8 ? _mm256_cmpeq_epi8(fields, least) : _mm256_cmpeq_epi16(fields, least);
    }
    if (bits == 8) {
        *equal = mask_of_bytes(same[0], same[1]);
        *not_above = mask_of_bytes(below[0], below[1]);
    } else {
        *equal =
            mask_of_bytes(bytes_of_shorts(same[0], same[1]), bytes_of_shorts(same[2], same[3]));
        *not_above =
            mask_of_bytes(bytes_of_shorts(below[0], below[1]), bytes_of_shorts(below[2], below[3]));
    }
}

#endif

/* The same for a run that is near. */
static ALWAYS_INLINE struct rank rank_near(const struct lethe_quotient_table *table,
                                           struct place place, struct run run, unsigned bits) {
#if defined(__AVX2__)
    if (LETHE_FIELDS_ARE(bits, 8) || LETHE_FIELDS_ARE(bits, 16)) {
        uint64_t equal, not_above;
        compare_block(block_fields(table, place.block, bits), place.remainder, bits, &equal,
                      &not_above);
        uint64_t slots = lethe_fields_below(run.end) & ~lethe_fields_below(run.start);
        return (struct rank){lethe_popcount64(not_above & ~equal & slots),
                             lethe_popcount64(equal & slots)};
    }
#endif
    return rank_in_order(table, place, run, bits);
}

static NEVER_INLINE unsigned copies_far(const struct lethe_quotient_table *table,
                                        struct place place, unsigned bits) {
    struct run run = find_far(table, place.block, place.bucket);
    return rank_in_order(table, place, run, bits).equal;
}

/* For one key alone, remainders that need not be looked at are memory that need not be waited for. In a batch they were
 * asked for long ago, and a guess less is worth more. */
static ALWAYS_INLINE unsigned copies_of(const struct lethe_quotient_table *table,
                                        uint64_t fingerprint, unsigned bits, bool is_alone) {
    struct place place = place_of(fingerprint, bits);
    struct run run;
    if (__builtin_expect(
            !find_near(&table->marks[place.block], table->carry[place.block], place.bucket, &run),
            0))
        return copies_far(table, place, bits);
    if (is_alone || LETHE_FIELDS_ARE(bits, 8) || LETHE_FIELDS_ARE(bits, 16) || bits > 16)
        return rank_near(table, place, run, bits).equal;
    return equal_of_few(table, place, run, bits);
}

/* Whether all slots of a block are used. Without anything carried on, the last slot, if used, ends a run. */
static ALWAYS_INLINE bool is_full(const struct lethe_quotient_table *table, uint64_t block) {
    return table->carry[block + 1] != 0 || table->marks[block].ends >> 63 != 0;
}

/* How many slots of a block are used from which nothing is carried on. */
static ALWAYS_INLINE unsigned used_slots(uint64_t ends) {
    return ends != 0 ? 64 - (unsigned)__builtin_clzll(ends) : 0;
}

/* Whether one more entry of a block's buckets finds a free slot, here or in the blocks that follow. */
static bool has_room(const struct lethe_quotient_table *table, uint64_t block) {
    for (unsigned chain = 0; is_full(table, block); block++, chain++) {
        if (chain == LETHE_QUOTIENT_MAX_CHAIN ||
            table->carry[block + 1] == LETHE_QUOTIENT_MAX_CARRY)
            return false;
    }
    return true;
}

/* Inserts a field at slot, counted from the block's first, and moves all up to the first free slot one on. */
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

/* The same for the ends, and counts one more in each block whose beginning something is carried over. The ends
 * decide which blocks are full, so they are moved last. */
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

static NEVER_INLINE enum lethe_quotient_outcome add_far(struct lethe_quotient_table *table,
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
static ALWAYS_INLINE enum lethe_quotient_outcome add_one(struct lethe_quotient_table *table,
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

/* Takes a field out at slot and moves all that follow one back, as far as entries were carried on. */
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

static NEVER_INLINE unsigned remove_far(struct lethe_quotient_table *table, struct place place,
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

static ALWAYS_INLINE unsigned remove_one(struct lethe_quotient_table *table, uint64_t fingerprint,
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

/* Asks for a block's marks and, where they are a line or two, its remainders, so that neither waits for the other.
 * Batches ask twice: when the marks are there, for just those lines of wide remainders that will be needed. */
static ALWAYS_INLINE void prefetch(const struct lethe_quotient_table *table, uint64_t fingerprint,
                                   unsigned bits, int for_writing) {
    struct place place = place_of(fingerprint, bits);
    const unsigned char *fields = block_fields(table, place.block, bits);
    if (for_writing) {
        __builtin_prefetch(&table->marks[place.block], 1);
    } else {
        __builtin_prefetch(&table->marks[place.block]);
    }
    if (bits > 16) return;
    for (unsigned at = 0; at < 8 * bits; at += LINE_BYTES)
        __builtin_prefetch(fields + at);
    if (bits % 8 != 0) __builtin_prefetch(fields + 8 * (size_t)bits - 1);
}

static ALWAYS_INLINE void prefetch_wide(const struct lethe_quotient_table *table,
                                        uint64_t fingerprint, unsigned bits, int for_writing) {
    if (bits <= 16) return;
    struct place place = place_of(fingerprint, bits);
    const struct lethe_quotient_marks *marks = &table->marks[place.block];
    struct run run;
    if (!find_near(marks, table->carry[place.block], place.bucket, &run)) return;
    const unsigned char *fields = block_fields(table, place.block, bits);
    unsigned end = for_writing ? used_slots(marks->ends) + 1 : run.end;
    for (unsigned at = run.start * bits / 8; at < end * bits / 8; at += LINE_BYTES)
        __builtin_prefetch(fields + at);
    __builtin_prefetch(fields + end * bits / 8);
}

static ALWAYS_INLINE size_t add_many(struct lethe_quotient_table *table,
                                     const uint64_t *fingerprints, size_t count, size_t *seconds,
                                     unsigned bits) {
    for (size_t i = 0; i < AHEAD && i < count; i++)
        prefetch(table, fingerprints[i], bits, 1);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) prefetch(table, fingerprints[i + AHEAD], bits, 1);
        if (i + AHEAD / 2 < count) prefetch_wide(table, fingerprints[i + AHEAD / 2], bits, 1);
        enum lethe_quotient_outcome outcome = add_one(table, fingerprints[i], bits);
        if (__builtin_expect(outcome != LETHE_QUOTIENT_FIRST, 0)) {
            if (outcome != LETHE_QUOTIENT_SECOND) return i;
            ++*seconds;
        }
    }
    return count;
}

static ALWAYS_INLINE void test_many(const struct lethe_quotient_table *table,
                                    const uint64_t *fingerprints, size_t count, uint8_t *present,
                                    unsigned bits) {
    for (size_t i = 0; i < AHEAD && i < count; i++)
        prefetch(table, fingerprints[i], bits, 0);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) prefetch(table, fingerprints[i + AHEAD], bits, 0);
        if (i + AHEAD / 2 < count) prefetch_wide(table, fingerprints[i + AHEAD / 2], bits, 0);
        present[i] = copies_of(table, fingerprints[i], bits, false) != 0;
    }
}

/* How many entries have their bucket in a block. */
static ALWAYS_INLINE unsigned homed_in(const struct lethe_quotient_table *table, uint64_t block) {
    unsigned carried_on = table->carry[block + 1];
    uint64_t ends = table->marks[block].ends;
    unsigned used = carried_on != 0 ? 64 + carried_on : used_slots(ends);
    return used - table->carry[block];
}

/* The ends of 64 slots from any slot on. */
static ALWAYS_INLINE uint64_t ends_from(const struct lethe_quotient_table *table, uint64_t slot) {
    const struct lethe_quotient_marks *marks = &table->marks[slot / 64];
    unsigned shift = slot % 64;
    return marks[0].ends >> shift | (shift != 0 ? marks[1].ends << (64 - shift) : 0);
}

/* An end takes the lowest bit off those of the buckets: occupied & (occupied - 1), and without an end
 * occupied & (occupied - 0). No branch depends on the lengths of runs. */
static ALWAYS_INLINE size_t decode_block(const struct lethe_quotient_table *table, uint64_t block,
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

/* Ends the builder's block and goes on to a later one: what was carried over each beginning is known now, and
 * append has seen to it that it is not too much. */
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
static ALWAYS_INLINE void put_fields(struct lethe_quotient_table *table, uint64_t slot,
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

/* Puts the marks of up to 64 fingerprints of one block. The last one's run is ended; append takes that back when
 * more comes. */
static ALWAYS_INLINE void put_marks(struct lethe_quotient_table *table, uint64_t block,
                                    uint64_t slot, const uint64_t *fingerprints, size_t count,
                                    unsigned bits) {
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

static ALWAYS_INLINE void append_piece(struct lethe_quotient_builder *builder, uint64_t block,
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

static ALWAYS_INLINE void append_all(struct lethe_quotient_builder *builder,
                                     const uint64_t *fingerprints, size_t count, unsigned bits) {
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

/* The table of operations for one width; `bits` is a constant, or the table's own. */
#define DEFINE_OPERATIONS(NAME, BITS)                                                             \
    static unsigned NAME##_copies(const struct lethe_quotient_table *table,                       \
                                  uint64_t fingerprint) {                                         \
        return copies_of(table, fingerprint, BITS, true);                                         \
    }                                                                                             \
    static enum lethe_quotient_outcome NAME##_add(struct lethe_quotient_table *table,             \
                                                  uint64_t fingerprint) {                         \
        return add_one(table, fingerprint, BITS);                                                 \
    }                                                                                             \
    static unsigned NAME##_remove(struct lethe_quotient_table *table, uint64_t fingerprint) {     \
        return remove_one(table, fingerprint, BITS);                                              \
    }                                                                                             \
    static size_t NAME##_add_batch(struct lethe_quotient_table *table,                            \
                                   const uint64_t *fingerprints, size_t count, size_t *seconds) { \
        return add_many(table, fingerprints, count, seconds, BITS);                               \
    }                                                                                             \
    static void NAME##_test_batch(const struct lethe_quotient_table *table,                       \
                                  const uint64_t *fingerprints, size_t count, uint8_t *present) { \
        test_many(table, fingerprints, count, present, BITS);                                     \
    }                                                                                             \
    static size_t NAME##_decode(const struct lethe_quotient_table *table, uint64_t block,         \
                                uint64_t *out) {                                                  \
        return decode_block(table, block, out, BITS);                                             \
    }                                                                                             \
    static void NAME##_append(struct lethe_quotient_builder *builder,                             \
                              const uint64_t *fingerprints, size_t count) {                       \
        struct lethe_quotient_table *table = builder->table;                                      \
        (void)table;                                                                              \
        append_all(builder, fingerprints, count, BITS);                                           \
    }

#define OPERATIONS_OF(NAME)                                                                      \
    {                                                                                            \
        .copies = NAME##_copies, .add = NAME##_add, .remove = NAME##_remove,                     \
        .add_batch = NAME##_add_batch, .test_batch = NAME##_test_batch, .decode = NAME##_decode, \
        .append = NAME##_append, .repeated = count_repeated, .finish = finish_building,          \
    }

DEFINE_OPERATIONS(any, table->bits)
DEFINE_OPERATIONS(bytes, 8)
DEFINE_OPERATIONS(shorts, 16)

const struct lethe_quotient_operations OPERATIONS[LETHE_QUOTIENT_WIDTHS] = {
    [LETHE_QUOTIENT_ANY_WIDTH] = OPERATIONS_OF(any),
    [LETHE_QUOTIENT_8_BITS] = OPERATIONS_OF(bytes),
    [LETHE_QUOTIENT_16_BITS] = OPERATIONS_OF(shorts),
};

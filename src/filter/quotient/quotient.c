/* filter/quotient/quotient.c - the public quotient filter: makes filters, counts and grows. What
 * touches slots is in hot.inc.h, and batches are in batch.c.
 *
 * IDEA    A fingerprint is split. Its high part, the quotient, says where it belongs, and only its
 *         low part, the remainder, is stored. Fingerprints are kept in ascending order. A block has
 *         64 buckets, one for each quotient, and 64 slots. The entries of a block are in its slots
 *         without gaps, those of earlier blocks first. Entries that do not fit are carried into the
 *         next block, where they come first.
 * LAYOUT  remainders  8r bytes per block: slot s of the table is bits s * r to s * r + r - 1
 *         marks       16 bytes per block: occupied, which of its buckets have entries; ends, which
 *                     of its slots hold the last entry of a bucket
 *         carry       1 byte per block: how many entries of earlier blocks are in it and later ones
 *         After the blocks that have buckets come five more, for what the last ones carry.
 *         An example with blocks of 4, where buckets 0, 0, 2 | 4, 4, 5, 6, 7 | 9 have entries:
 *           occupied 1010|1111|0100     Block 0 has three entries, one slot free. Block 1 has five,
 *           ends     0110|0111|1100     so one is carried: it is in block 2, before block 2's own
 *           carry    0   |0   |1        entry.
 * I1      Entries are in the order of their fingerprints: buckets ascend, and so do the remainders
 *         in a bucket.
 * I2      carry[i+1] = max(0, carry[i] + entries of block i's buckets - 64), and at most 255. So
 *         the place of an entry depends on what is there, not on how it came there, and equal
 *         contents are equal bytes.
 * I3      Free slots are zero, and so are their ends.
 * I4      A fingerprint is in the table once or twice. If it was added three times or more, it is
 *         there twice, and counts.c knows how often it was added.
 * I5      At most 95% of the slots are used.
 * WHY     An operation almost always finds its bucket in its own block, by rank and select in the
 *         two words of marks, followed by one comparison of the whole block. Adding moves at most a
 *         block (two vectors for 8-bit remainders), and one or two neighbours when blocks are full.
 *         The published quotient filter leaves free slots where they are, so that each entry is as
 *         near to its quotient as possible. Then an addition must look for the next free slot bit
 *         by bit and move everything before it. Here the free slots of a block are all at its end,
 *         and are found at once. The published layout with the same marks was tried: it added at
 *         less than half the speed. These marks take 2.125 bits per slot. The three published bits
 *         per slot take more; one at a time they are faster up to half load, and six times slower
 *         at 95% (`lethe paper qf`). A second-level table for entries that do not fit, as in a
 *         prefix filter, was considered: at 95% load it takes more than the 0.125 bits of the
 *         carries, and reading in order or merging would have to join two orders.
 * LIMIT   A carry is at most 255, and an addition moves at most 512 blocks. At 95% load,
 *         fingerprints that are spread like those of a hash come near neither limit (a carry of 255
 *         has a probability of 1e-11 per block). Fingerprints chosen by an adversary do, and get
 *         LETHE_EFULL. A removal moves as many blocks as were carried over.
 * PAPER   docs/papers.md#the-quotient-filter */
#include "filter/quotient/quotient.h"

#include <string.h>

#include "core/allocator.h"
#include "core/bits.h"
#include "core/cpu.h"
#include "core/sized.h"

static const struct lethe_quotient_operations *operations_for(uint32_t bits) {
    const struct lethe_quotient_operations *set = lethe_quotient_portable;
#if defined(__x86_64__)
    if (lethe_cpu() >= LETHE_CPU_AVX2 && lethe_cpu_has_fast_pdep()) set = lethe_quotient_avx2;
#endif
    return &set[bits == 8    ? LETHE_QUOTIENT_8_BITS
                : bits == 16 ? LETHE_QUOTIENT_16_BITS
                             : LETHE_QUOTIENT_ANY_WIDTH];
}

void lethe_quotient_place_table(const lethe_quotient_shape *shape, unsigned char *bytes,
                                struct lethe_quotient_table *out) {
    *out = (struct lethe_quotient_table){
        .remainders = bytes,
        .blocks = shape->slots / LETHE_QUOTIENT_BLOCK,
        .bits = shape->remainder_bits,
    };
    uint64_t blocks = lethe_quotient_all_blocks(out);
    unsigned char *marks = bytes + blocks * 8 * shape->remainder_bits;
    out->marks = (struct lethe_quotient_marks *)(void *)marks;
    out->carry = marks + blocks * sizeof *out->marks;
}

static size_t memory_bytes(const lethe_quotient *filter) {
    return (size_t)filter->shape.memory_bytes + (size_t)2 * LETHE_QUOTIENT_MARGIN_BYTES;
}

lethe_status lethe_quotient_from_shape(const lethe_quotient_shape *shape,
                                       const lethe_allocator *allocator, bool with_table,
                                       lethe_quotient **out) {
    *out = NULL;
    lethe_quotient *filter = lethe_alloc_zeroed(allocator, sizeof *filter);
    if (filter == NULL) return LETHE_ENOMEM;
    *filter = (lethe_quotient){
        .operations = operations_for(shape->remainder_bits),
        .max_fingerprint = shape->max_fingerprint,
        .limit = shape->slots - shape->slots / 20,
        .shape = *shape,
        .allocator = allocator,
    };
    filter->shape.size = sizeof filter->shape;
    if (with_table) {
        filter->memory = lethe_alloc_zeroed(allocator, memory_bytes(filter));
        if (filter->memory == NULL) {
            lethe_quotient_free(filter);
            return LETHE_ENOMEM;
        }
        lethe_quotient_place_table(shape, filter->memory + LETHE_QUOTIENT_MARGIN_BYTES,
                                   &filter->table);
    }
    *out = filter;
    return LETHE_OK;
}

lethe_status lethe_quotient_new(const lethe_quotient_options *options, lethe_quotient **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_quotient_options taken;
    lethe_quotient_shape shape;
    lethe_status status = lethe_quotient_plan_options(options, &taken, &shape);
    if (status != LETHE_OK) return status;
    return lethe_quotient_from_shape(&shape, taken.allocator, true, out);
}

lethe_status lethe_quotient_copy(const lethe_quotient *filter, lethe_quotient **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (filter == NULL) return LETHE_EINVAL;
    lethe_status status = lethe_quotient_from_shape(&filter->shape, filter->allocator, true, out);
    if (status != LETHE_OK) return status;
    lethe_quotient *copy = *out;
    status = lethe_quotient_counts_copy(&filter->counts, filter->allocator, &copy->counts);
    if (status != LETHE_OK) {
        lethe_quotient_free(copy);
        *out = NULL;
        return status;
    }
    memcpy(copy->table.remainders, filter->table.remainders, filter->shape.memory_bytes);
    copy->slots_used = filter->slots_used;
    copy->distinct = filter->distinct;
    copy->total = filter->total;
    copy->missed_removals = filter->missed_removals;
    copy->doublings = filter->doublings;
    return LETHE_OK;
}

void lethe_quotient_free(lethe_quotient *filter) {
    if (filter == NULL) return;
    const lethe_allocator *allocator = filter->allocator;
    lethe_quotient_counts_drop(&filter->counts, allocator);
    lethe_release(allocator, filter->memory, memory_bytes(filter));
    lethe_os_mapping_close(&filter->mapping);
    lethe_release(allocator, filter, sizeof *filter);
}

lethe_status lethe_quotient_clear(lethe_quotient *filter) {
    if (!lethe_quotient_is_writable(filter)) return LETHE_EINVAL;
    memset(filter->table.remainders, 0, filter->shape.memory_bytes);
    lethe_quotient_counts_drop(&filter->counts, filter->allocator);
    filter->slots_used = filter->distinct = filter->total = 0;
    return LETHE_OK;
}

uint64_t lethe_quotient_seed(const lethe_quotient *filter) {
    return filter != NULL ? filter->shape.seed : 0;
}

lethe_status lethe_quotient_get_shape(const lethe_quotient *filter, lethe_quotient_shape *out) {
    if (filter == NULL) return LETHE_EINVAL;
    return LETHE_GIVE(&filter->shape, out, memory_bytes);
}

lethe_status lethe_quotient_info(const lethe_quotient *filter, lethe_quotient_stats *out) {
    if (filter == NULL) return LETHE_EINVAL;
    lethe_quotient_stats stats = LETHE_OPTIONS(
        lethe_quotient_stats, .distinct = filter->distinct, .total = filter->total,
        .slots_used = filter->slots_used,
        .load = (double)filter->slots_used / (double)filter->shape.slots,
        .error_estimate = (double)filter->distinct / ((double)filter->max_fingerprint + 1),
        .counted = filter->counts.used,
        .memory_bytes =
            sizeof *filter + memory_bytes(filter) + lethe_quotient_counts_bytes(&filter->counts),
        .missed_removals = filter->missed_removals, .doublings = filter->doublings,
        .read_only = !lethe_quotient_is_writable(filter));
    return LETHE_GIVE(&stats, out, missed_removals);
}

uint64_t lethe_quotient_fingerprint(const lethe_quotient *filter, lethe_hash hash) {
    return filter != NULL ? lethe_quotient_fingerprint_of(filter, hash) : 0;
}

/* Puts what other holds in the place of what filter held, and frees that. */
static void take_over(lethe_quotient *filter, lethe_quotient *other) {
    other->missed_removals = filter->missed_removals;
    other->doublings = filter->doublings;
    lethe_quotient before = *filter;
    *filter = *other;
    *other = before;
    lethe_quotient_free(other);
}

static lethe_status resize(lethe_quotient *filter, lethe_quotient_shape shape) {
    const lethe_quotient *only = filter;
    lethe_quotient *resized;
    lethe_status status = lethe_quotient_rebuild(&only, 1, &shape, filter->allocator, &resized);
    if (status == LETHE_OK) take_over(filter, resized);
    return status;
}

lethe_status lethe_quotient_merge(lethe_quotient *filter, const lethe_quotient *other) {
    if (!lethe_quotient_is_writable(filter)) return LETHE_EINVAL;
    lethe_quotient *merged;
    lethe_status status =
        lethe_quotient_new_merged((const lethe_quotient *[]){filter, other}, 2, &merged);
    if (status == LETHE_OK) take_over(filter, merged);
    return status;
}

lethe_status lethe_quotient_double(lethe_quotient *filter) {
    if (!lethe_quotient_is_writable(filter) || filter->shape.remainder_bits == 1 ||
        filter->shape.slots > LETHE_QUOTIENT_MAX_SLOTS / 2)
        return LETHE_EINVAL;
    lethe_status status = resize(filter, lethe_quotient_doubled(&filter->shape));
    if (status == LETHE_OK) filter->doublings++;
    return status;
}

lethe_status lethe_quotient_halve(lethe_quotient *filter) {
    if (!lethe_quotient_is_writable(filter) ||
        filter->shape.remainder_bits == LETHE_QUOTIENT_MAX_REMAINDER_BITS ||
        filter->table.blocks % 2 != 0)
        return LETHE_EINVAL;
    return resize(filter, lethe_quotient_halved(&filter->shape));
}

/* There was no room: makes some if that is allowed. A filter that is far from full is not doubled:
 * what crowds there would crowd in a larger one as well. */
static lethe_status grow(lethe_quotient *filter) {
    bool may_grow = filter->shape.remainder_bits > 1 &&
                    filter->slots_used > filter->shape.slots / 4 * 3 &&
                    0.9 * (double)filter->shape.slots < (double)filter->shape.grow_to;
    return may_grow ? lethe_quotient_double(filter) : LETHE_EFULL;
}

/* Adds one copy more, which the fingerprint does not have twice yet. */
static lethe_status add_copy(lethe_quotient *filter, uint64_t fingerprint) {
    for (;;) {
        if (filter->slots_used < filter->limit) {
            enum lethe_quotient_outcome outcome =
                filter->operations->add(&filter->table, fingerprint);
            if (outcome != LETHE_QUOTIENT_CROWDED) {
                filter->slots_used++;
                filter->distinct += outcome == LETHE_QUOTIENT_FIRST;
                return LETHE_OK;
            }
        }
        lethe_status status = grow(filter);
        if (status != LETHE_OK) return status;
    }
}

/* Takes `copies` copies out, all that are there or the second one. */
static void remove_copies(lethe_quotient *filter, uint64_t fingerprint, unsigned copies) {
    for (; copies > 0; copies--) {
        unsigned had = filter->operations->remove(&filter->table, fingerprint);
        filter->slots_used--;
        filter->distinct -= had == 1;
    }
}

uint64_t lethe_quotient_count_of(const lethe_quotient *filter, uint64_t fingerprint) {
    unsigned copies = filter->operations->copies(&filter->table, fingerprint);
    return copies < 2 ? copies : 2 + lethe_quotient_uncopied(&filter->counts, fingerprint);
}

/* Copies come first and the count last: a copy may double the filter, and what is reserved for the
 * count must be in the table of counts that it has then. */
lethe_status lethe_quotient_add_some(lethe_quotient *filter, uint64_t fingerprint, uint64_t count) {
    uint64_t before = lethe_quotient_count_of(filter, fingerprint);
    if (count > UINT64_MAX - before) return LETHE_EFULL;
    uint64_t after = before + count;
    unsigned copies = before < 2 ? (unsigned)before : 2, added = 0;
    lethe_status status = LETHE_OK;
    for (; status == LETHE_OK && copies < 2 && copies < after; copies++) {
        status = add_copy(filter, fingerprint);
        added += status == LETHE_OK;
    }
    if (status == LETHE_OK && after > 2)
        status = lethe_quotient_counts_reserve(&filter->counts, filter->allocator);
    if (status != LETHE_OK) {
        remove_copies(filter, fingerprint, added);
        return status;
    }
    if (after > 2) lethe_quotient_counts_set(&filter->counts, fingerprint, after);
    filter->total = lethe_quotient_sum(filter->total, count);
    return LETHE_OK;
}

lethe_status lethe_quotient_add_fingerprint(lethe_quotient *filter, uint64_t fingerprint,
                                            uint64_t count) {
    if (!lethe_quotient_is_writable(filter) || count == 0 || fingerprint > filter->max_fingerprint)
        return LETHE_EINVAL;
    if (count > 1 || filter->slots_used >= filter->limit)
        return lethe_quotient_add_some(filter, fingerprint, count);
    enum lethe_quotient_outcome outcome = filter->operations->add(&filter->table, fingerprint);
    if (outcome > LETHE_QUOTIENT_SECOND) return lethe_quotient_add_some(filter, fingerprint, 1);
    filter->slots_used++;
    filter->distinct += outcome == LETHE_QUOTIENT_FIRST;
    filter->total = lethe_quotient_sum(filter->total, 1);
    return LETHE_OK;
}

bool lethe_quotient_test_fingerprint(const lethe_quotient *filter, uint64_t fingerprint) {
    return filter != NULL && fingerprint <= filter->max_fingerprint &&
           filter->operations->copies(&filter->table, fingerprint) != 0;
}

uint64_t lethe_quotient_count_fingerprint(const lethe_quotient *filter, uint64_t fingerprint) {
    if (filter == NULL) return 0;
    return fingerprint <= filter->max_fingerprint ? lethe_quotient_count_of(filter, fingerprint)
                                                  : 0;
}

lethe_status lethe_quotient_remove_fingerprint(lethe_quotient *filter, uint64_t fingerprint,
                                               uint64_t count) {
    if (!lethe_quotient_is_writable(filter) || count == 0 || fingerprint > filter->max_fingerprint)
        return LETHE_EINVAL;
    uint64_t before = lethe_quotient_count_of(filter, fingerprint);
    if (before < count) {
        filter->missed_removals++;
        return LETHE_ENOTFOUND;
    }
    uint64_t after = before - count;
    if (before > 2) lethe_quotient_counts_set(&filter->counts, fingerprint, after > 2 ? after : 0);
    if (after < 2)
        remove_copies(filter, fingerprint, (unsigned)((before < 2 ? before : 2) - after));
    /* A sum that once was too large to hold is not known any more. */
    if (filter->total != UINT64_MAX) filter->total -= count;
    return LETHE_OK;
}

lethe_status lethe_quotient_add_hash(lethe_quotient *filter, lethe_hash hash, uint64_t count) {
    return lethe_quotient_add_fingerprint(filter, lethe_quotient_fingerprint(filter, hash), count);
}

bool lethe_quotient_test_hash(const lethe_quotient *filter, lethe_hash hash) {
    if (filter == NULL) return false;
    uint64_t fingerprint = lethe_quotient_fingerprint_of(filter, hash);
    return filter->operations->copies(&filter->table, fingerprint) != 0;
}

uint64_t lethe_quotient_count_hash(const lethe_quotient *filter, lethe_hash hash) {
    if (filter == NULL) return 0;
    return lethe_quotient_count_of(filter, lethe_quotient_fingerprint_of(filter, hash));
}

lethe_status lethe_quotient_remove_hash(lethe_quotient *filter, lethe_hash hash, uint64_t count) {
    uint64_t fingerprint = lethe_quotient_fingerprint(filter, hash);
    return lethe_quotient_remove_fingerprint(filter, fingerprint, count);
}

/* The hash of a key under the filter's seed. */
static lethe_hash hash_of(const lethe_quotient *filter, const void *key, size_t size) {
    return lethe_hash_bytes(lethe_quotient_seed(filter), key, size);
}

lethe_status lethe_quotient_add(lethe_quotient *filter, const void *key, size_t size,
                                uint64_t count) {
    return lethe_quotient_add_hash(filter, hash_of(filter, key, size), count);
}

bool lethe_quotient_test(const lethe_quotient *filter, const void *key, size_t size) {
    return lethe_quotient_test_hash(filter, hash_of(filter, key, size));
}

uint64_t lethe_quotient_count(const lethe_quotient *filter, const void *key, size_t size) {
    return lethe_quotient_count_hash(filter, hash_of(filter, key, size));
}

lethe_status lethe_quotient_remove(lethe_quotient *filter, const void *key, size_t size,
                                   uint64_t count) {
    return lethe_quotient_remove_hash(filter, hash_of(filter, key, size), count);
}

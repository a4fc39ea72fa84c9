/* filter/quotient/counts.c - the counts of fingerprints that were added three times and more.
 *
 * IDEA    Most fingerprints are there once, a few in a hundred or thousand twice by accident, and
 *         the slots say so by themselves. What is repeated on purpose is kept here, exactly: a hash
 *         table from fingerprint to count, with open addressing and linear probing.
 * LAYOUT  a power of two of places, 16 bytes each; count 0 is a free one. At most three quarters
 *         are used.
 * I1      From a fingerprint's first place to where it lies no place is free: removing closes the
 *         gap.
 * I2      Which place is a fingerprint's first follows from the process's own salt, so nobody can
 *         choose fingerprints, in a file or by adding them, that all begin at one place. Nothing
 *         else depends on it: what is saved is sorted.
 * WHY     Counters among the remainders, as in other quotient filters, would make each comparison
 *         of a block a parse of it, and take more slots than a table for the narrow remainders that
 *         filters mostly have. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/allocator.h"
#include "core/bits.h"
#include "core/salt.h"
#include "filter/quotient/quotient.h"

enum { FIRST_PLACES = 64 };

static uint64_t first_place(const struct lethe_quotient_counts *counts, uint64_t fingerprint) {
    return lethe_multiply_high(lethe_hash_u64(lethe_salt(), fingerprint).low, counts->places);
}

/* Where the fingerprint is, or the free place where it would be. */
static lethe_quotient_entry *find(const struct lethe_quotient_counts *counts,
                                  uint64_t fingerprint) {
    uint64_t place = first_place(counts, fingerprint);
    while (counts->entries[place].count != 0 && counts->entries[place].fingerprint != fingerprint)
        place = (place + 1) & (counts->places - 1);
    return &counts->entries[place];
}

uint64_t lethe_quotient_counts_get(const struct lethe_quotient_counts *counts,
                                   uint64_t fingerprint) {
    return counts->places != 0 ? find(counts, fingerprint)->count : 0;
}

static lethe_status resize(struct lethe_quotient_counts *counts, uint64_t places,
                           const lethe_allocator *allocator) {
    size_t bytes;
    if (!lethe_size_multiply(places, sizeof(lethe_quotient_entry), &bytes)) return LETHE_ENOMEM;
    struct lethe_quotient_counts larger = {.places = places, .used = counts->used};
    larger.entries = lethe_alloc_zeroed(allocator, bytes);
    if (larger.entries == NULL) return LETHE_ENOMEM;
    for (uint64_t i = 0; i < counts->places; i++) {
        if (counts->entries[i].count != 0)
            *find(&larger, counts->entries[i].fingerprint) = counts->entries[i];
    }
    lethe_quotient_counts_drop(counts, allocator);
    *counts = larger;
    return LETHE_OK;
}

lethe_status lethe_quotient_counts_reserve(struct lethe_quotient_counts *counts,
                                           const lethe_allocator *allocator) {
    if (counts->places == 0) return resize(counts, FIRST_PLACES, allocator);
    if (counts->used + 1 <= counts->places / 4 * 3) return LETHE_OK;
    return resize(counts, 2 * counts->places, allocator);
}

/* Frees a place; entries after it that would no longer be found move into it, and so on. */
static void close_gap(struct lethe_quotient_counts *counts, uint64_t gap) {
    uint64_t mask = counts->places - 1;
    for (uint64_t next = (gap + 1) & mask; counts->entries[next].count != 0;
         next = (next + 1) & mask) {
        uint64_t first = first_place(counts, counts->entries[next].fingerprint);
        if (((next - first) & mask) < ((next - gap) & mask)) continue;
        counts->entries[gap] = counts->entries[next];
        gap = next;
    }
    counts->entries[gap] = (lethe_quotient_entry){0};
}

void lethe_quotient_counts_set(struct lethe_quotient_counts *counts, uint64_t fingerprint,
                               uint64_t count) {
    assert(count == 0 || counts->used < counts->places);
    if (counts->places == 0) return; /* there is nothing to take out */
    lethe_quotient_entry *entry = find(counts, fingerprint);
    bool had = entry->count != 0;
    if (count != 0) {
        *entry = (lethe_quotient_entry){fingerprint, count};
        counts->used += !had;
    } else if (had) {
        close_gap(counts, (uint64_t)(entry - counts->entries));
        counts->used--;
    }
}

static int compare_entries(const void *a, const void *b) {
    uint64_t first = ((const lethe_quotient_entry *)a)->fingerprint;
    uint64_t second = ((const lethe_quotient_entry *)b)->fingerprint;
    return (first > second) - (first < second);
}

void lethe_quotient_counts_sorted(const struct lethe_quotient_counts *counts,
                                  lethe_quotient_entry *out) {
    uint64_t used = 0;
    for (uint64_t i = 0; i < counts->places; i++) {
        if (counts->entries[i].count != 0) out[used++] = counts->entries[i];
    }
    if (used > 1) qsort(out, used, sizeof *out, compare_entries);
}

lethe_status lethe_quotient_counts_copy(const struct lethe_quotient_counts *from,
                                        const lethe_allocator *allocator,
                                        struct lethe_quotient_counts *out) {
    *out = (struct lethe_quotient_counts){0};
    if (from->used == 0) return LETHE_OK;
    struct lethe_quotient_counts copy = {.places = from->places, .used = from->used};
    size_t bytes = (size_t)lethe_quotient_counts_bytes(from);
    copy.entries = lethe_alloc_zeroed(allocator, bytes);
    if (copy.entries == NULL) return LETHE_ENOMEM;
    memcpy(copy.entries, from->entries, bytes);
    *out = copy;
    return LETHE_OK;
}

void lethe_quotient_counts_drop(struct lethe_quotient_counts *counts,
                                const lethe_allocator *allocator) {
    lethe_release(allocator, counts->entries, (size_t)lethe_quotient_counts_bytes(counts));
    *counts = (struct lethe_quotient_counts){0};
}

uint64_t lethe_quotient_counts_bytes(const struct lethe_quotient_counts *counts) {
    return counts->places * sizeof(lethe_quotient_entry);
}

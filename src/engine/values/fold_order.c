/* engine/values/fold_order.c - sorting the counters of a fold, in place.
 *
 * IDEA    What all keys begin with says nothing about their order. The eight bytes after it nearly
 *         always decide it: they are put beside the record as a number that sorts as they do, and
 *         the numbers are sorted byte by byte, the first byte first, each swap moving an entry to
 *         its bucket.
 * WHY     The user waits for the fold at the end of a run. Comparing keys in their records costs
 *         two cache misses per comparison, and a sort with a copy would double a fold's memory. */
#include "engine/values/fold_order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256, FEW = 48 };

/* By the keys themselves. */
static int by_key(const void *left, const void *right) {
    const lethe_tally_record *a = ((const lethe_folding *)left)->record;
    const lethe_tally_record *b = ((const lethe_folding *)right)->record;
    size_t size = a->key_size < b->key_size ? a->key_size : b->key_size;
    int order = memcmp(a->key, b->key, size);
    if (order != 0) return order;
    return (a->key_size > b->key_size) - (a->key_size < b->key_size);
}

static bool is_before(const lethe_folding *a, const lethe_folding *b) {
    if (a->prefix != b->prefix) return a->prefix < b->prefix;
    return by_key(a, b) < 0;
}

static void sort_few(lethe_folding *foldings, size_t count) {
    for (size_t i = 1; i < count; i++) {
        lethe_folding moving = foldings[i];
        size_t at = i;
        for (; at > 0 && is_before(&moving, &foldings[at - 1]); at--)
            foldings[at] = foldings[at - 1];
        foldings[at] = moving;
    }
}

/* Moves each entry to the bucket of one byte of its prefix. ends[b] becomes where bucket b ends. */
static void distribute(lethe_folding *foldings, size_t count, unsigned shift,
                       size_t ends[BUCKETS]) {
    size_t next[BUCKETS], sizes[BUCKETS] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++)
        sizes[foldings[i].prefix >> shift & 0xff]++;
    for (size_t i = 0; i < BUCKETS; i++) {
        next[i] = sum;
        ends[i] = sum += sizes[i];
    }
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        while (next[bucket] < ends[bucket]) {
            lethe_folding *from = &foldings[next[bucket]];
            size_t home = from->prefix >> shift & 0xff;
            lethe_folding *to = &foldings[next[home]++];
            if (to == from) continue;
            lethe_folding moved = *from;
            *from = *to;
            *to = moved;
        }
    }
}

/* The bytes of the prefix above shift are equal. Recursion ends after eight bytes. */
static void sort_from(lethe_folding *foldings, size_t count, unsigned shift) {
    if (count <= FEW) {
        sort_few(foldings, count);
        return;
    }
    size_t ends[BUCKETS], begin = 0;
    distribute(foldings, count, shift, ends);
    for (size_t i = 0; i < BUCKETS; begin = ends[i++]) {
        if (ends[i] - begin < 2) continue;
        if (shift > 0) {
            sort_from(foldings + begin, ends[i] - begin, shift - 8);
        } else {
            qsort(foldings + begin, ends[i] - begin, sizeof *foldings, by_key);
        }
    }
}

/* How many bytes all keys begin with. */
static size_t common_size(const lethe_folding *foldings, size_t count) {
    const lethe_tally_record *first = foldings[0].record;
    size_t common = first->key_size;
    for (size_t i = 1; i < count && common > 0; i++) {
        if (i + 8 < count) __builtin_prefetch(foldings[i + 8].record);
        const lethe_tally_record *record = foldings[i].record;
        if (record->key_size < common) common = record->key_size;
        while (memcmp(first->key, record->key, common) != 0)
            common--;
    }
    return common;
}

/* A key that ends within the eight bytes is padded with zeros, which may make it equal to a longer
 * one. The keys themselves decide then. */
static uint64_t prefix_of(const lethe_tally_record *record, size_t common) {
    unsigned char bytes[8] = {0};
    size_t size = record->key_size - common;
    memcpy(bytes, record->key + common, size < sizeof bytes ? size : sizeof bytes);
    uint64_t prefix = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        prefix = prefix << 8 | bytes[i];
    return prefix;
}

void lethe_fold_order(lethe_folding *foldings, size_t count) {
    if (count < 2) return;
    size_t common = common_size(foldings, count);
    for (size_t i = 0; i < count; i++) {
        if (i + 8 < count) __builtin_prefetch(foldings[i + 8].record);
        foldings[i].prefix = prefix_of(foldings[i].record, common);
    }
    sort_from(foldings, count, 56);
}

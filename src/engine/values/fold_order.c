/* engine/values/fold_order.c - sorting the counters of a fold, in place.
 *
 * IDEA    What all keys begin with says nothing about their order. The eight bytes after it nearly
 *         always decide it: they are put beside the record as a number that sorts as they do, and
 *         the numbers are sorted byte by byte, the first byte first, each swap moving an entry to
 *         its bucket. Many that are equal in these eight bytes are sorted in the same way by those
 *         after them.
 *         To be sorted by two threads, they are split first, at the middle one of a few.
 * WHY     The user waits for the fold at the end of a run. Comparing keys in their records costs
 *         two cache misses per comparison, and a sort with a copy would double a fold's memory. */
#include "engine/values/fold_order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256, FEW = 48, PREFIX_BYTES = 8 };
/* So many times eight bytes, to limit the recursion. */
enum { DEPTH = 4 };
/* Those whose middle one all are split at; as a rule it is within 2% of the middle of all. */
enum { SAMPLE = 1023 };

static void order_by_next(lethe_folding *foldings, size_t count, unsigned depth, size_t least);

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

/* Where in the keys the prefixes are, and how often they may still be taken again. */
struct level {
    size_t common;
    unsigned depth;
};

/* The bits in which prefixes differ. Keys of buckets agree in a few bytes after those that all
 * begin with: this is one loop for all of these. */
static uint64_t find_differences(const lethe_folding *foldings, size_t count) {
    uint64_t differ = 0;
    for (size_t i = 1; i < count; i++)
        differ |= foldings[i].prefix ^ foldings[0].prefix;
    return differ;
}

/* The bytes of the prefix above shift are equal. Recursion ends after eight bytes. */
static void sort_from(lethe_folding *foldings, size_t count, unsigned shift, struct level level) {
    if (count <= FEW) {
        sort_few(foldings, count);
        return;
    }
    size_t ends[BUCKETS], begin = 0;
    if (foldings[0].prefix >> shift == foldings[count - 1].prefix >> shift) {
        uint64_t differ = find_differences(foldings, count); /* perhaps all agree */
        if (differ == 0) {
            order_by_next(foldings, count, level.depth, level.common + PREFIX_BYTES);
            return;
        }
        shift = (63 - (unsigned)__builtin_clzll(differ)) & ~7U;
    }
    distribute(foldings, count, shift, ends);
    for (size_t i = 0; i < BUCKETS; begin = ends[i++]) {
        if (ends[i] - begin < 2) continue;
        if (shift > 0) {
            sort_from(foldings + begin, ends[i] - begin, shift - 8, level);
        } else {
            order_by_next(foldings + begin, ends[i] - begin, level.depth,
                          level.common + PREFIX_BYTES);
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
    unsigned char bytes[PREFIX_BYTES] = {0};
    size_t size = record->key_size - common;
    memcpy(bytes, record->key + common, size < sizeof bytes ? size : sizeof bytes);
    uint64_t prefix = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        prefix = prefix << 8 | bytes[i];
    return prefix;
}

/* Orders keys that should have `least` bytes in common. Where one ended before that, and zeros
 * stood for the rest of it, they are compared. */
static void order_by_next(lethe_folding *foldings, size_t count, unsigned depth, size_t least) {
    size_t common = depth > 0 && count > FEW ? common_size(foldings, count) : 0;
    if (depth == 0 || common < least || count <= FEW) {
        qsort(foldings, count, sizeof *foldings, by_key);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (i + 8 < count) __builtin_prefetch(foldings[i + 8].record);
        foldings[i].prefix = prefix_of(foldings[i].record, common);
    }
    sort_from(foldings, count, 56, (struct level){.common = common, .depth = depth - 1});
}

void lethe_fold_order(lethe_folding *foldings, size_t count) {
    if (count > 1) order_by_next(foldings, count, DEPTH, 0);
}

/* The key in the middle of a few that lie far apart. */
static lethe_folding find_middle(const lethe_folding *foldings, size_t count) {
    lethe_folding sample[SAMPLE] = {0};
    size_t taken = count < SAMPLE ? count : SAMPLE;
    for (size_t i = 0; i < taken; i++)
        sample[i] = foldings[i * count / taken];
    qsort(sample, taken, sizeof *sample, by_key);
    return sample[taken / 2];
}

size_t lethe_fold_split(lethe_folding *foldings, size_t count) {
    if (count < 2) return 0;
    lethe_folding middle = find_middle(foldings, count);
    size_t begin = 0, end = count;
    for (;;) { /* those before begin are lower, those from end on are not */
        while (begin < end && by_key(&foldings[begin], &middle) < 0)
            begin++;
        while (begin < end && by_key(&foldings[end - 1], &middle) >= 0)
            end--;
        if (begin == end) return begin;
        lethe_folding moved = foldings[begin];
        foldings[begin++] = foldings[--end];
        foldings[end] = moved;
    }
}

/* opencl/kernels/sketch.cl - the queries of all kinds of sketches, and the additions of count-min.
 *
 * A work item per key: the positions of its counters as in sketch/place.h, depth loads, and the
 * least of them, or the median. A counter has 2^size bytes, size being 0 to 3. */

typedef struct {
    ulong low, high;
} place_bits;

static ulong place_mix(ulong value) {
    value = (value ^ value >> 32) * 0xd6e8feb86659fd93UL;
    value = (value ^ value >> 32) * 0xd6e8feb86659fd93UL;
    return value ^ value >> 32;
}

/* The 128 bits that rows 4 * group to 4 * group + 3 use. */
static place_bits place_group(ulong2 hash, uint group) {
    place_bits bits = {hash.x, hash.y};
    if (group == 0) return bits;
    bits.low = place_mix((hash.x ^ rotate(hash.y, 23UL)) + group * 0x9e3779b97f4a7c15UL);
    bits.high = place_mix((hash.y + hash.x) ^ group * 0xd1342543de82ef95UL);
    return bits;
}

/* The position of a key's counter in a row, counted from the first counter of all. */
static ulong place_in_row(place_bits bits, uint row, ulong width) {
    ulong word = row % 4 < 2 ? bits.low : bits.high;
    ulong x = row % 2 == 0 ? word & 0xffffffffUL : word >> 32;
    return row * width + (x * width >> 32);
}

static uint place_signs(ulong2 hash) {
    return (uint)((hash.x ^ rotate(hash.y, 29UL)) * 0x9fb21c651e98df25UL >> 32);
}

static ulong cell_at(__global const uchar *cells, ulong at, uint size) {
    switch (size) {
    case 0:
        return cells[at];
    case 1:
        return ((__global const ushort *)cells)[at];
    case 2:
        return ((__global const uint *)cells)[at];
    default:
        return ((__global const ulong *)cells)[at];
    }
}

static ulong full_of(uint size) {
    return ULONG_MAX >> (64 - (8u << size));
}

/* values has the number that each level of a log sketch stands for; of other kinds it is not
 * used. */
__kernel void count_least(__global const uchar *cells, ulong width, uint depth, uint size,
                          __global const ulong2 *hashes, ulong count, uint is_log,
                          __global const ulong *values, __global ulong *counts,
                          __global uchar *saturated) {
    size_t key = get_global_id(0);
    if (key >= count) return;
    ulong2 hash = hashes[key];
    place_bits bits = place_group(hash, 0);
    ulong least = ULONG_MAX;
    for (uint row = 0; row < depth; row++) {
        if (row % 4 == 0) bits = place_group(hash, row / 4);
        least = min(least, cell_at(cells, place_in_row(bits, row, width), size));
    }
    saturated[key] = least == full_of(size);
    counts[key] = is_log ? values[least] : least;
}

static long signed_cell(__global const uchar *cells, ulong at, uint size) {
    uint unused = 64 - (8u << size);
    return (long)(cell_at(cells, at, size) << unused) >> unused;
}

/* Sorts the values, and takes the middle one or the mean of two, rounded down. */
static long median_of(long *values, uint count) {
    for (uint i = 1; i < count; i++) {
        long value = values[i];
        uint to = i;
        for (; to > 0 && values[to - 1] > value; to--)
            values[to] = values[to - 1];
        values[to] = value;
    }
    if (count % 2 == 1) return values[count / 2];
    return hadd(values[count / 2 - 1], values[count / 2]);
}

__kernel void count_signed(__global const uchar *cells, ulong width, uint depth, uint size,
                           __global const ulong2 *hashes, ulong count, __global ulong *counts,
                           __global uchar *saturated) {
    size_t key = get_global_id(0);
    if (key >= count) return;
    ulong2 hash = hashes[key];
    place_bits bits = place_group(hash, 0);
    uint signs = place_signs(hash);
    long values[32], end = (long)(full_of(size) >> 1);
    bool is_full = false;
    for (uint row = 0; row < depth; row++) {
        if (row % 4 == 0) bits = place_group(hash, row / 4);
        long value = signed_cell(cells, place_in_row(bits, row, width), size);
        is_full |= value == end || value == -end;
        values[row] = signs >> row & 1 ? value : -value;
    }
    long estimate = median_of(values, depth);
    counts[key] = estimate > 0 ? (ulong)estimate : 0;
    saturated[key] = is_full;
}

/* value + weight, or full. */
static ulong grown(ulong value, ulong weight, uint size) {
    ulong full = full_of(size);
    return weight > full - value ? full : value + weight;
}

/* Counters that do not fill a word of 32 bits share it: the word is exchanged as a whole, if
 * nobody else has changed it meanwhile. */
static void grow_cell(__global uchar *cells, ulong at, uint size, ulong weight) {
    ulong byte = at << size;
    volatile __global uint *word = (volatile __global uint *)(cells + (byte & ~3UL));
    uint shift = (uint)(byte & 3) * 8, mask = (uint)full_of(size) << shift;
    for (uint old = *word;;) {
        uint cell = (uint)grown((old & mask) >> shift, weight, size) << shift;
        uint found = atomic_cmpxchg(word, old, (old & ~mask) | cell);
        if (found == old) return;
        old = found;
    }
}

#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
static void grow_wide_cell(__global uchar *cells, ulong at, ulong weight) {
    volatile __global ulong *cell = (volatile __global ulong *)cells + at;
    for (ulong old = *cell;;) {
        ulong found = atom_cmpxchg(cell, old, grown(old, weight, 3));
        if (found == old) return;
        old = found;
    }
}
#else
static void grow_wide_cell(__global uchar *cells, ulong at, ulong weight) {
    (void)cells, (void)at, (void)weight; /* the host refuses such sketches on this device */
}
#endif

__kernel void add_count_min(__global uchar *cells, ulong width, uint depth, uint size,
                            __global const ulong2 *hashes, ulong count, uint is_weighted,
                            __global const ulong *weights) {
    size_t key = get_global_id(0);
    if (key >= count) return;
    ulong2 hash = hashes[key];
    ulong weight = is_weighted ? weights[key] : 1;
    place_bits bits = place_group(hash, 0);
    for (uint row = 0; row < depth; row++) {
        if (row % 4 == 0) bits = place_group(hash, row / 4);
        ulong at = place_in_row(bits, row, width);
        if (size == 3) {
            grow_wide_cell(cells, at, weight);
        } else {
            grow_cell(cells, at, size, weight);
        }
    }
}

/* opencl/kernels/gaussian.cl - the Gaussian Bloom filter: positions, insertion, test, extraction.
 *
 * Slots lie as in a saved filter: packed slots of `bits` bits densely, floats and doubles as they
 * are. Numbers from 0 to 1 without a sign are in the same order as their bits, taken as whole
 * numbers. So levels and slots are whole numbers here, whatever they stand for, and nothing is ever
 * rounded.
 *
 * levels has the bells one after the other; that of hash function i, from 0, is levels[firsts[i]]
 * to levels[firsts[i + 1] - 1], by distance. Beyond its end a bell is 0.
 *
 * In an insertion a work item owns a group of slots: eight packed ones, which are `bits` whole
 * bytes, or one float or double. It alone reads and writes them. */

/* A work item per hash function of every key. */
__kernel void find_places(__global const ulong2 *hashes, ulong count, uint functions,
                          __global const ulong *powers, ulong slots, __global ulong *places) {
    size_t item = get_global_id(0);
    if (item >= count * functions) return;
    ulong2 hash = hashes[item / functions];
    places[item] = mul_hi(hash.x * powers[item % functions] + hash.y, slots);
}

static ulong level_at(__global const ulong *levels, __global const ulong *firsts, uint function,
                      ulong distance) {
    ulong first = firsts[function];
    return distance < firsts[function + 1] - first ? levels[first + distance] : 0;
}

/* The buffer is longer than the slots, so that the last one can be read with the byte after it. */
static ulong slot_at(__global const uchar *slots, ulong slot, uint bits) {
    if (bits == 64) return ((__global const ulong *)slots)[slot];
    if (bits == 32) return ((__global const uint *)slots)[slot];
    ulong bit = slot * bits;
    uint two = slots[bit >> 3] | (uint)slots[(bit >> 3) + 1] << 8;
    return two >> (bit & 7) & ((1u << bits) - 1);
}

static uint group_slots(uint bits) {
    return bits > 8 ? 1 : 8;
}

static void load_group(__global const uchar *slots, ulong group, uint bits, ulong group_of[8]) {
    if (bits > 8) {
        group_of[0] = slot_at(slots, group, bits);
        return;
    }
    ulong word = 0;
    for (uint i = 0; i < bits; i++)
        word |= (ulong)slots[group * bits + i] << 8 * i;
    for (uint i = 0; i < 8; i++)
        group_of[i] = word >> i * bits & ((1u << bits) - 1);
}

static void store_group(__global uchar *slots, ulong group, uint bits, const ulong group_of[8]) {
    if (bits == 64) {
        ((__global ulong *)slots)[group] = group_of[0];
        return;
    }
    if (bits == 32) {
        ((__global uint *)slots)[group] = (uint)group_of[0];
        return;
    }
    ulong word = 0;
    for (uint i = 0; i < 8; i++)
        word |= group_of[i] << i * bits;
    for (uint i = 0; i < bits; i++)
        slots[group * bits + i] = (uchar)(word >> 8 * i);
}

/* Raises a group of slots, which begins at first, to one bell. There are no slots from range on. */
static void raise_group(ulong group_of[8], ulong first, uint count, ulong range, ulong place,
                        uint function, __global const ulong *levels, __global const ulong *firsts) {
    for (uint i = 0; i < count && first + i < range; i++) {
        ulong level = level_at(levels, firsts, function, abs_diff(first + i, place));
        group_of[i] = max(group_of[i], level);
    }
}

/* The whole form: every slot looks at every bell. */
__kernel void insert_whole(__global uchar *slots, ulong range, uint bits,
                           __global const ulong *places, ulong place_count, uint functions,
                           __global const ulong *levels, __global const ulong *firsts) {
    ulong group = get_global_id(0);
    uint count = group_slots(bits);
    ulong first = group * count;
    if (first >= range) return;
    ulong group_of[8];
    load_group(slots, group, bits, group_of);
    for (ulong p = 0; p < place_count; p += functions) {
        for (uint i = 0; i < functions; i++)
            raise_group(group_of, first, count, range, places[p + i], i, levels, firsts);
    }
    store_group(slots, group, bits, group_of);
}

/* The local form first sorts the positions into lists, one for each tile of slots. The order within
 * a list does not matter: the largest level is the same in any order. 0 ends a list. */
__kernel void link_places(__global const ulong *places, ulong place_count, ulong tile,
                          volatile __global uint *heads, __global uint *nexts) {
    size_t p = get_global_id(0);
    if (p >= place_count) return;
    nexts[p] = atomic_xchg(&heads[places[p] / tile], (uint)p + 1);
}

/* Then a slot looks at the lists of the tiles from which a bell can reach it. */
__kernel void insert_local(__global uchar *slots, ulong range, uint bits,
                           __global const ulong *places, uint functions,
                           __global const ulong *levels, __global const ulong *firsts, ulong radius,
                           ulong tile, __global const uint *heads, __global const uint *nexts) {
    ulong group = get_global_id(0);
    uint count = group_slots(bits);
    ulong first = group * count;
    if (first >= range) return;
    ulong from = (first > radius ? first - radius : 0) / tile;
    ulong to = min(first + count - 1 + radius, range - 1) / tile;
    bool is_empty = true;
    for (ulong t = from; t <= to; t++)
        is_empty &= heads[t] == 0;
    if (is_empty) return;
    ulong group_of[8];
    load_group(slots, group, bits, group_of);
    for (ulong t = from; t <= to; t++) {
        for (uint p = heads[t]; p != 0; p = nexts[p - 1])
            raise_group(group_of, first, count, range, places[p - 1], (p - 1) % functions, levels,
                        firsts);
    }
    store_group(slots, group, bits, group_of);
}

/* Whether no slot around place is below the bell, from the middle outwards. */
static bool covers(__global const uchar *slots, ulong range, uint bits, ulong place, uint function,
                   __global const ulong *levels, __global const ulong *firsts) {
    ulong first = firsts[function], count = firsts[function + 1] - first;
    for (ulong distance = 0; distance < count; distance++) {
        ulong level = levels[first + distance];
        if (place >= distance && slot_at(slots, place - distance, bits) < level) return false;
        if (place + distance < range && slot_at(slots, place + distance, bits) < level)
            return false;
    }
    return true;
}

/* A work item per key. The last bell is the widest, and is contradicted soonest. */
__kernel void test_keys(__global const uchar *slots, ulong range, uint bits,
                        __global const ulong2 *hashes, ulong count, uint functions,
                        __global const ulong *powers, __global const ulong *levels,
                        __global const ulong *firsts, __global uchar *present) {
    size_t key = get_global_id(0);
    if (key >= count) return;
    ulong2 hash = hashes[key];
    uchar found = 1;
    for (uint i = functions; found && i-- > 0;) {
        ulong place = mul_hi(hash.x * powers[i] + hash.y, range);
        found = covers(slots, range, bits, place, i, levels, firsts);
    }
    present[key] = found;
}

/* The underlying Bloom filter: a work item per 64 slots, which are a word of bits. */
__kernel void extract_bits(__global const uchar *slots, ulong range, uint bits, ulong full,
                           __global ulong *words) {
    ulong word = get_global_id(0);
    if (word * 64 >= range) return;
    ulong found = 0;
    for (uint i = 0; i < 64 && word * 64 + i < range; i++)
        found |= (ulong)(slot_at(slots, word * 64 + i, bits) == full) << i;
    words[word] = found;
}

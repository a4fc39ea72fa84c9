/* opencl/kernels/hash.cl - XXH3-128 with a seed, for keys of every size: a work item per key.
 *
 * The same function as lethe_hash_bytes, from the specification of XXH3. Keys lie one after the
 * other; key i is the bytes from offsets[i] to offsets[i + 1] - 1.
 *
 * The secret is 24 words, which are read at any byte. For keys of more than 240 bytes the seed is
 * added to its even words and subtracted from its odd ones. secret_at takes both at once, so no
 * second copy of the secret is needed. */

typedef struct {
    ulong low, high;
} pair;

__constant ulong SECRET[24] = {
    0xbe4ba423396cfeb8UL, 0x1cad21f72c81017cUL, 0xdb979083e96dd4deUL, 0x1f67b3b7a4a44072UL,
    0x78e5c0cc4ee679cbUL, 0x2172ffcc7dd05a82UL, 0x8e2443f7744608b8UL, 0x4c263a81e69035e0UL,
    0xcb00c391bb52283cUL, 0xa32e531b8b65d088UL, 0x4ef90da297486471UL, 0xd8acdea946ef1938UL,
    0x3f349ce33f76faa8UL, 0x1d4f0bc7c7bbdcf9UL, 0x3159b4cd4be0518aUL, 0x647378d9c97e9fc8UL,
    0xc3ebd33483acc5eaUL, 0xeb6313faffa081c5UL, 0x49daf0b751dd0d17UL, 0x9e68d429265516d3UL,
    0xfca1477d58be162bUL, 0xce31d07ad1b8f88fUL, 0x280416958f3acb45UL, 0x7e404bbbcafbd7afUL,
};
#define SECRET_BYTES 192

#define PRIME32_1 0x9e3779b1UL
#define PRIME32_2 0x85ebca77UL
#define PRIME32_3 0xc2b2ae3dUL
#define PRIME64_1 0x9e3779b185ebca87UL
#define PRIME64_2 0xc2b2ae3d27d4eb4fUL
#define PRIME64_3 0x165667b19e3779f9UL
#define PRIME64_4 0x85ebca77c2b2ae63UL
#define PRIME64_5 0x27d4eb2f165667c5UL
#define MIX_1 0x165667919e3779f9UL
#define MIX_2 0x9fb21c651e98df25UL

static ulong read64(__global const uchar *at) {
    return as_ulong(vload8(0, at));
}

static uint read32(__global const uchar *at) {
    return as_uint(vload4(0, at));
}

static ulong secret_word(uint word, ulong seed) {
    return word % 2 == 0 ? SECRET[word] + seed : SECRET[word] - seed;
}

static ulong secret_at(uint byte, ulong seed) {
    uint shift = byte % 8 * 8;
    ulong first = secret_word(byte / 8, seed);
    return shift == 0 ? first : first >> shift | secret_word(byte / 8 + 1, seed) << (64 - shift);
}

static uint swap32(uint value) {
    return as_uint(as_uchar4(value).s3210);
}

static ulong swap64(ulong value) {
    return as_ulong(as_uchar8(value).s76543210);
}

/* The halves of the product of two words, xored. */
static ulong folded(ulong a, ulong b) {
    return a * b ^ mul_hi(a, b);
}

static ulong finish(ulong value) {
    value = (value ^ value >> 37) * MIX_1;
    return value ^ value >> 32;
}

/* The finish of XXH64, for the shortest keys. */
static ulong finish_short(ulong value) {
    value = (value ^ value >> 33) * PRIME64_2;
    value = (value ^ value >> 29) * PRIME64_3;
    return value ^ value >> 32;
}

static pair hash_0(ulong seed) {
    pair hash;
    hash.low = finish_short(seed ^ secret_at(64, 0) ^ secret_at(72, 0));
    hash.high = finish_short(seed ^ secret_at(80, 0) ^ secret_at(88, 0));
    return hash;
}

static pair hash_1_to_3(__global const uchar *key, ulong size, ulong seed) {
    uint first = key[0], middle = key[size >> 1], last = key[size - 1];
    uint low = first << 16 | middle << 24 | last | (uint)size << 8;
    uint high = rotate(swap32(low), 13u);
    ulong start = secret_at(0, 0), next = secret_at(8, 0);
    pair hash;
    hash.low = finish_short(low ^ ((start ^ start >> 32) & 0xffffffffUL) + seed);
    hash.high = finish_short(high ^ ((next ^ next >> 32) & 0xffffffffUL) - seed);
    return hash;
}

static pair hash_4_to_8(__global const uchar *key, ulong size, ulong seed) {
    seed ^= (ulong)swap32((uint)seed) << 32;
    ulong input = read32(key) + ((ulong)read32(key + size - 4) << 32);
    ulong keyed = input ^ (secret_at(16, 0) ^ secret_at(24, 0)) + seed;
    ulong factor = PRIME64_1 + (size << 2);
    pair hash;
    hash.low = keyed * factor;
    hash.high = mul_hi(keyed, factor) + (hash.low << 1);
    hash.low ^= hash.high >> 3;
    hash.low = (hash.low ^ hash.low >> 35) * MIX_2;
    hash.low ^= hash.low >> 28;
    hash.high = finish(hash.high);
    return hash;
}

static pair hash_9_to_16(__global const uchar *key, ulong size, ulong seed) {
    ulong low = read64(key), high = read64(key + size - 8);
    ulong mixed = low ^ high ^ (secret_at(32, 0) ^ secret_at(40, 0)) - seed;
    high ^= (secret_at(48, 0) ^ secret_at(56, 0)) + seed;
    ulong lower = mixed * PRIME64_1 + ((size - 1) << 54);
    ulong upper = mul_hi(mixed, PRIME64_1) + high + (high & 0xffffffffUL) * (PRIME32_2 - 1);
    lower ^= swap64(upper);
    pair hash;
    hash.low = finish(lower * PRIME64_2);
    hash.high = finish(mul_hi(lower, PRIME64_2) + upper * PRIME64_2);
    return hash;
}

static ulong mix_16(__global const uchar *at, uint secret, ulong seed) {
    return folded(read64(at) ^ secret_at(secret, 0) + seed,
                  read64(at + 8) ^ secret_at(secret + 8, 0) - seed);
}

static pair mix_32(pair sum, __global const uchar *one, __global const uchar *two, uint secret,
                   ulong seed) {
    sum.low = sum.low + mix_16(one, secret, seed) ^ read64(two) + read64(two + 8);
    sum.high = sum.high + mix_16(two, secret + 16, seed) ^ read64(one) + read64(one + 8);
    return sum;
}

static pair finish_middle(pair sum, ulong size, ulong seed) {
    pair hash;
    hash.low = finish(sum.low + sum.high);
    hash.high =
        -finish(sum.low * PRIME64_1 + sum.high * PRIME64_4 + (size - seed) * PRIME64_2);
    return hash;
}

static pair hash_17_to_128(__global const uchar *key, ulong size, ulong seed) {
    pair sum = {size * PRIME64_1, 0};
    for (uint i = (uint)(size - 1) / 32 + 1; i-- > 0;)
        sum = mix_32(sum, key + 16 * i, key + size - 16 * (i + 1), 32 * i, seed);
    return finish_middle(sum, size, seed);
}

static pair hash_129_to_240(__global const uchar *key, ulong size, ulong seed) {
    pair sum = {size * PRIME64_1, 0};
    for (uint i = 0; i < 4; i++)
        sum = mix_32(sum, key + 32 * i, key + 32 * i + 16, 32 * i, seed);
    sum.low = finish(sum.low);
    sum.high = finish(sum.high);
    for (uint i = 4; i < (uint)size / 32; i++)
        sum = mix_32(sum, key + 32 * i, key + 32 * i + 16, 3 + 32 * (i - 4), seed);
    sum = mix_32(sum, key + size - 16, key + size - 32, 103, -seed);
    return finish_middle(sum, size, seed);
}

/* A stripe of 64 bytes. */
static void accumulate(ulong sums[8], __global const uchar *at, uint secret, ulong seed) {
    for (uint i = 0; i < 8; i++) {
        ulong value = read64(at + 8 * i);
        ulong keyed = value ^ secret_at(secret + 8 * i, seed);
        sums[i ^ 1] += value;
        sums[i] += (keyed & 0xffffffffUL) * (keyed >> 32);
    }
}

static ulong merged(const ulong sums[8], uint secret, ulong seed, ulong start) {
    for (uint i = 0; i < 8; i += 2)
        start += folded(sums[i] ^ secret_at(secret + 8 * i, seed),
                        sums[i + 1] ^ secret_at(secret + 8 * i + 8, seed));
    return finish(start);
}

static pair hash_long(__global const uchar *key, ulong size, ulong seed) {
    ulong sums[8] = {PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3,
                     PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1};
    /* Blocks of 16 stripes; the last stripe of all is the last 64 bytes, with its own secret. */
    ulong stripes = (size - 1) / 64;
    for (ulong n = 0; n < stripes; n++) {
        accumulate(sums, key + 64 * n, 8 * (uint)(n % 16), seed);
        if (n % 16 != 15) continue;
        for (uint i = 0; i < 8; i++) {
            ulong mixed = sums[i] ^ sums[i] >> 47 ^ secret_at(SECRET_BYTES - 64 + 8 * i, seed);
            sums[i] = mixed * PRIME32_1;
        }
    }
    accumulate(sums, key + size - 64, SECRET_BYTES - 64 - 7, seed);
    pair hash;
    hash.low = merged(sums, 11, seed, size * PRIME64_1);
    hash.high = merged(sums, SECRET_BYTES - 64 - 11, seed, ~(size * PRIME64_2));
    return hash;
}

static pair hash_key(__global const uchar *key, ulong size, ulong seed) {
    if (size == 0) return hash_0(seed);
    if (size <= 3) return hash_1_to_3(key, size, seed);
    if (size <= 8) return hash_4_to_8(key, size, seed);
    if (size <= 16) return hash_9_to_16(key, size, seed);
    if (size <= 128) return hash_17_to_128(key, size, seed);
    if (size <= 240) return hash_129_to_240(key, size, seed);
    return hash_long(key, size, seed);
}

__kernel void hash_keys(__global const uchar *bytes, __global const ulong *offsets, ulong count,
                        ulong seed, __global ulong2 *hashes) {
    size_t key = get_global_id(0);
    if (key >= count) return;
    ulong first = offsets[key];
    pair hash = hash_key(bytes + first, offsets[key + 1] - first, seed);
    hashes[key] = (ulong2)(hash.low, hash.high);
}

/* bench/keys.c - generated keys; see keys.h. */
#include "keys.h"

#include <stdlib.h>

#include "frame.h"

uint64_t keys_scramble(uint64_t value) {
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

uint64_t *keys_make(uint64_t seed, uint64_t first, size_t count) {
    uint64_t *keys = malloc(count * sizeof *keys);
    bench_require(keys != NULL, "allocating keys");
    for (size_t i = 0; i < count; i++)
        keys[i] = keys_scramble(seed + first + i);
    return keys;
}

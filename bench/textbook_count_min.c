/* bench/textbook_count_min.c - the plain Count-Min sketch; see textbook_count_min.h. */
#include "textbook_count_min.h"

/* 64-bit FNV-1a with the row as a seed, and a last mixing step, without which the remainder of keys
 * that differ in one byte would be poor. */
static uint64_t hash_of(const void *key, size_t size, uint64_t seed) {
    const unsigned char *bytes = key;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ seed * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

void textbook_add(struct textbook *sketch, const void *key, size_t size) {
    for (uint32_t row = 0; row < sketch->depth; row++)
        sketch->counters[row * sketch->width + hash_of(key, size, row) % sketch->width]++;
}

uint32_t textbook_query(const struct textbook *sketch, const void *key, size_t size) {
    uint32_t least = UINT32_MAX;
    for (uint32_t row = 0; row < sketch->depth; row++) {
        uint32_t count =
            sketch->counters[row * sketch->width + hash_of(key, size, row) % sketch->width];
        if (count < least) least = count;
    }
    return least;
}

/* core/bytes.h - numbers as they lie in files and records.
 *
 * Formats are little-endian, except keys that must sort as bytes, which are big-endian. The place
 * need not be aligned. */
#ifndef LETHE_CORE_BYTES_H
#define LETHE_CORE_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/bits.h"

static inline uint16_t lethe_get_u16(const void *from) {
    const unsigned char *bytes = from;
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline void lethe_put_u16(void *to, uint16_t value) {
    unsigned char *bytes = to;
    bytes[0] = (unsigned char)value;
    bytes[1] = (unsigned char)(value >> 8);
}

static inline uint64_t lethe_get_u64(const void *from) {
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return lethe_little_endian64(value);
}

static inline void lethe_put_u64(void *to, uint64_t value) {
    value = lethe_little_endian64(value);
    memcpy(to, &value, sizeof value);
}

static inline uint32_t lethe_get_u32(const void *from) {
    const unsigned char *bytes = from;
    return lethe_get_u16(bytes) | (uint32_t)lethe_get_u16(bytes + 2) << 16;
}

static inline void lethe_put_u32(void *to, uint32_t value) {
    unsigned char *bytes = to;
    lethe_put_u16(bytes, (uint16_t)value);
    lethe_put_u16(bytes + 2, (uint16_t)(value >> 16));
}

/* Big-endian: larger numbers sort after smaller ones, byte by byte. */
static inline uint64_t lethe_get_sorted_u64(const void *from) {
    return __builtin_bswap64(lethe_get_u64(from));
}

static inline void lethe_put_sorted_u64(void *to, uint64_t value) {
    lethe_put_u64(to, __builtin_bswap64(value));
}

static inline void lethe_put_sorted_u32(void *to, uint32_t value) {
    lethe_put_u32(to, __builtin_bswap32(value));
}

/* Whether so many bytes are the same. As memcmp, without its call where they are 8 to 16, as keys
 * often are. */
static inline bool lethe_same_bytes(const void *a, const void *b, size_t size) {
    const char *one = a, *other = b;
    if (size < 8 || size > 16) return memcmp(a, b, size) == 0;
    uint64_t first, last, other_first, other_last;
    memcpy(&first, one, 8);
    memcpy(&last, one + size - 8, 8);
    memcpy(&other_first, other, 8);
    memcpy(&other_last, other + size - 8, 8);
    return ((first ^ other_first) | (last ^ other_last)) == 0;
}

/* Copies so many bytes. As memcpy, without its call where they are 8 to 16. */
static inline void lethe_copy_bytes(void *to, const void *from, size_t size) {
    if (size < 8 || size > 16) {
        memcpy(to, from, size);
        return;
    }
    uint64_t first, last;
    memcpy(&first, from, 8);
    memcpy(&last, (const char *)from + size - 8, 8);
    memcpy(to, &first, 8);
    memcpy((char *)to + size - 8, &last, 8);
}

#endif

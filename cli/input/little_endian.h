/* little_endian.h - numbers in the bytes of marks and notes: little-endian, on whatever machine. */
#ifndef LETHE_CLI_INPUT_LITTLE_ENDIAN_H
#define LETHE_CLI_INPUT_LITTLE_ENDIAN_H

#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

/* Writes the low `bytes` bytes of a number, up to 8. Returns where the next one goes. */
static inline unsigned char *put_number(unsigned char *at, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        *at++ = (unsigned char)(value >> (8 * i));
    }
    return at;
}

/* The low half comes first. */
static inline unsigned char *put_hash(unsigned char *at, lethe_hash hash) {
    return put_number(put_number(at, hash.low, 8), hash.high, 8);
}

/* Reads a number, and moves *at past it. */
static inline uint64_t get_number(const unsigned char **at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        value |= (uint64_t) * (*at)++ << (8 * i);
    }
    return value;
}

static inline lethe_hash get_hash(const unsigned char **at) {
    lethe_hash hash;
    hash.low = get_number(at, 8);
    hash.high = get_number(at, 8);
    return hash;
}

#endif

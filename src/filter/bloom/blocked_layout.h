/* filter/bloom/blocked_layout.h - where a key's bits lie within a line; blocked.c says why. */
#ifndef LETHE_FILTER_BLOOM_BLOCKED_LAYOUT_H
#define LETHE_FILTER_BLOOM_BLOCKED_LAYOUT_H

#include <stdint.h>

enum { LANES = 8, FIELD_BITS = 6, FIELD_MASK = 63, FIRST_FIELD = 16 };

/* Which bit of lane number lane a round of fields asks for. */
static inline unsigned field(uint64_t fields, unsigned lane) {
    return (unsigned)(fields >> (FIRST_FIELD + FIELD_BITS * lane)) & FIELD_MASK;
}

/* The fields of the next round of eight bits. */
static inline uint64_t next_fields(uint64_t fields) {
    return (fields ^ fields >> 32) * UINT64_C(0x9fb21c651e98df25);
}

#endif

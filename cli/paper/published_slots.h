/* paper/published_slots.h - slots of a published quotient filter, wherever they are: finding an
 * entry and reading entries in order are the same in memory and on disk.
 *
 * Who has the slots says how word i of 64 bits is fetched. The function is a constant in each
 * caller, so that the compiler makes plain array accesses of it where there is an array. */
#ifndef LETHE_CLI_PAPER_PUBLISHED_SLOTS_H
#define LETHE_CLI_PAPER_PUBLISHED_SLOTS_H

#include "paper/published_quotient.h"

enum { SLOT_OCCUPIED = 1, SLOT_CONTINUATION = 2, SLOT_SHIFTED = 4, SLOT_FLAGS = 7, FLAG_BITS = 3 };

#define PUBLISHED_INLINE static inline __attribute__((always_inline))

typedef uint64_t published_word(void *context, uint64_t index);

PUBLISHED_INLINE unsigned value_bits(const struct published_shape *shape) {
    return shape->remainder_bits + shape->has_tombstones;
}

PUBLISHED_INLINE uint64_t low_bits(unsigned bits) {
    return (UINT64_C(1) << bits) - 1;
}

/* The bits of a slot: its flags, and what it stores above them. */
PUBLISHED_INLINE uint64_t slot_at(published_word *word, void *context, unsigned slot_bits,
                                  uint64_t index) {
    uint64_t bit = index * slot_bits, at = bit / 64;
    unsigned shift = bit % 64;
    uint64_t low = word(context, at) >> shift;
    if (shift + slot_bits > 64) low |= word(context, at + 1) << (64 - shift);
    return low & low_bits(slot_bits);
}

/* Stores a slot at a bit of an array. */
PUBLISHED_INLINE void slot_store(uint64_t *words, unsigned slot_bits, uint64_t bit, uint64_t slot) {
    uint64_t at = bit / 64, mask = low_bits(slot_bits);
    unsigned shift = bit % 64;
    words[at] = (words[at] & ~(mask << shift)) | slot << shift;
    if (shift + slot_bits > 64) {
        unsigned done = 64 - shift;
        words[at + 1] = (words[at + 1] & ~(mask >> done)) | slot >> done;
    }
}

/* The slot in which the run of a quotient begins, or would begin; the quotient's own slot is
 * occupied. Goes back to the start of the cluster, then passes as many runs as there are occupied
 * slots before the quotient. Zeros, which is what a failed read yields, end it too. */
PUBLISHED_INLINE uint64_t run_start(published_word *word, void *context, unsigned slot_bits,
                                    uint64_t quotient) {
    uint64_t canonical = quotient;
    while (slot_at(word, context, slot_bits, canonical) & SLOT_SHIFTED)
        canonical--;
    uint64_t start = canonical;
    while (canonical != quotient) {
        do {
            start++;
        } while (slot_at(word, context, slot_bits, start) & SLOT_CONTINUATION);
        do {
            canonical++;
        } while (canonical < quotient &&
                 !(slot_at(word, context, slot_bits, canonical) & SLOT_OCCUPIED));
    }
    return start;
}

/* How often a fingerprint is there, less its tombstones. */
PUBLISHED_INLINE int64_t balance_in(published_word *word, void *context,
                                    const struct published_shape *shape, uint64_t fingerprint) {
    unsigned slot_bits = value_bits(shape) + FLAG_BITS;
    uint64_t quotient = fingerprint >> shape->remainder_bits;
    uint64_t remainder = fingerprint & low_bits(shape->remainder_bits);
    if (!(slot_at(word, context, slot_bits, quotient) & SLOT_OCCUPIED)) return 0;
    uint64_t at = run_start(word, context, slot_bits, quotient);
    int64_t balance = 0;
    uint64_t slot = slot_at(word, context, slot_bits, at);
    do {
        uint64_t value = slot >> FLAG_BITS;
        uint64_t found = value >> shape->has_tombstones;
        if (found > remainder) break;
        if (found == remainder) balance += shape->has_tombstones && (value & 1) ? -1 : 1;
        slot = slot_at(word, context, slot_bits, ++at);
    } while (slot & SLOT_CONTINUATION);
    return balance;
}

/* Where reading in order has got to: the next slot, and the quotient of the run before it. */
struct published_cursor {
    uint64_t slot, quotient;
};

/* The next entry among the slots before `end`; false when there is none. A run's quotient is the
 * next occupied slot after that of the run before it, and a run that is not shifted is its own. */
PUBLISHED_INLINE bool cursor_next(published_word *word, void *context,
                                  const struct published_shape *shape, uint64_t end,
                                  struct published_cursor *cursor, uint64_t *entry) {
    unsigned slot_bits = value_bits(shape) + FLAG_BITS;
    for (; cursor->slot < end; cursor->slot++) {
        uint64_t slot = slot_at(word, context, slot_bits, cursor->slot);
        if (!(slot & SLOT_SHIFTED)) { /* of an empty slot too, before which nothing is needed */
            cursor->quotient = cursor->slot;
            if ((slot & SLOT_FLAGS) == 0) continue;
        } else if (!(slot & SLOT_CONTINUATION)) {
            do {
                cursor->quotient++;
            } while (!(slot_at(word, context, slot_bits, cursor->quotient) & SLOT_OCCUPIED));
        }
        *entry = cursor->quotient << value_bits(shape) | slot >> FLAG_BITS;
        cursor->slot++;
        return true;
    }
    return false;
}

#endif

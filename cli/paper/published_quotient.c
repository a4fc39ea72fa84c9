/* paper/published_quotient.c - the published quotient filter, in memory; see published_quotient.h.
 *
 * I1   is_occupied belongs to a slot and stays; the other flags belong to what is stored and move
 *      with it.
 * I2   A slot is empty if and only if its three flags are zero.
 * I3   The last slot of all is empty, so that going forward always ends.
 * LIMIT  A run that reaches beyond the slots after the last quotient: insertion is refused. */
#include "paper/published_quotient.h"

#include <stdlib.h>
#include <string.h>

#include "paper/published_slots.h"

enum { MOST_SPARE_BITS = 14 };

struct published_quotient {
    struct published_shape shape;
    unsigned slot_bits;
    uint64_t slots, count;
    uint64_t last_used; /* at least: removal does not lower it */
    uint64_t *words;
};

uint64_t published_fingerprint(const struct published_shape *shape, lethe_hash hash) {
    return hash.high >> (64 - shape->quotient_bits - shape->remainder_bits);
}

unsigned published_slot_bits(const struct published_shape *shape) {
    return value_bits(shape) + FLAG_BITS;
}

uint64_t published_slots(const struct published_shape *shape) {
    unsigned spare = shape->quotient_bits;
    if (spare > MOST_SPARE_BITS) spare = MOST_SPARE_BITS;
    return (UINT64_C(1) << shape->quotient_bits) + (UINT64_C(1) << spare) + 1;
}

uint64_t published_words(const struct published_shape *shape) {
    return (published_slots(shape) * published_slot_bits(shape) + 63) / 64;
}

struct published_quotient *published_quotient_new(const struct published_shape *shape) {
    struct published_quotient *filter = malloc(sizeof *filter);
    if (filter == NULL) return NULL;
    *filter = (struct published_quotient){
        .shape = *shape, .slot_bits = published_slot_bits(shape), .slots = published_slots(shape)};
    filter->words = calloc((size_t)published_words(shape) + 1, sizeof *filter->words);
    if (filter->words != NULL) return filter;
    free(filter);
    return NULL;
}

void published_quotient_free(struct published_quotient *filter) {
    if (filter == NULL) return;
    free(filter->words);
    free(filter);
}

void published_quotient_clear(struct published_quotient *filter) {
    memset(filter->words, 0, (size_t)published_words(&filter->shape) * sizeof *filter->words);
    filter->count = filter->last_used = 0;
}

uint64_t published_quotient_count(const struct published_quotient *filter) {
    return filter->count;
}

size_t published_quotient_bytes(const struct published_quotient *filter) {
    return ((size_t)published_words(&filter->shape) + 1) * sizeof *filter->words;
}

const uint64_t *published_quotient_words(const struct published_quotient *filter) {
    return filter->words;
}

static inline uint64_t word_of(void *words, uint64_t index) {
    return ((uint64_t *)words)[index];
}

static inline uint64_t get(const struct published_quotient *filter, uint64_t index) {
    return slot_at(word_of, filter->words, filter->slot_bits, index);
}

static inline void put(struct published_quotient *filter, uint64_t index, uint64_t slot) {
    slot_store(filter->words, filter->slot_bits, index * filter->slot_bits, slot);
}

static inline bool is_empty(uint64_t slot) {
    return (slot & SLOT_FLAGS) == 0;
}

struct published_slot published_quotient_slot(const struct published_quotient *filter,
                                              uint64_t index) {
    uint64_t slot = get(filter, index);
    return (struct published_slot){.is_occupied = slot & SLOT_OCCUPIED,
                                   .is_continuation = slot & SLOT_CONTINUATION,
                                   .is_shifted = slot & SLOT_SHIFTED,
                                   .is_empty = is_empty(slot),
                                   .remainder = slot >> FLAG_BITS >> filter->shape.has_tombstones};
}

int64_t published_quotient_balance(const struct published_quotient *filter, uint64_t fingerprint) {
    return balance_in(word_of, filter->words, &filter->shape, fingerprint);
}

/* Puts what is carried into a slot, and what was there into the next, up to an empty one. */
static void push_in(struct published_quotient *filter, uint64_t at, uint64_t carried) {
    for (;; at++) {
        uint64_t old = get(filter, at);
        put(filter, at, (old & SLOT_OCCUPIED) | carried);
        if (is_empty(old)) break;
        carried = (old & ~(uint64_t)SLOT_OCCUPIED) | SLOT_SHIFTED;
    }
    if (at > filter->last_used) filter->last_used = at;
}

/* The first slot of the quotient's run that stores this value or more, or the one after the run. */
static uint64_t place_in_run(const struct published_quotient *filter, uint64_t start,
                             uint64_t value) {
    uint64_t at = start;
    do {
        if (get(filter, at) >> FLAG_BITS >= value) break;
        at++;
    } while (get(filter, at) & SLOT_CONTINUATION);
    return at;
}

void published_quotient_prefetch(const struct published_quotient *filter, uint64_t entry) {
    uint64_t quotient = entry >> value_bits(&filter->shape);
    __builtin_prefetch(&filter->words[quotient * filter->slot_bits / 64], 1);
}

bool published_quotient_insert(struct published_quotient *filter, uint64_t entry) {
    unsigned bits = value_bits(&filter->shape);
    uint64_t quotient = entry >> bits, value = entry & low_bits(bits);
    uint64_t canonical = get(filter, quotient), carried = value << FLAG_BITS;
    if (filter->last_used + 2 >= filter->slots) return false;
    if (is_empty(canonical)) {
        push_in(filter, quotient, carried | SLOT_OCCUPIED);
        filter->count++;
        return true;
    }
    put(filter, quotient, canonical | SLOT_OCCUPIED);
    uint64_t start = run_start(word_of, filter->words, filter->slot_bits, quotient), at = start;
    if (canonical & SLOT_OCCUPIED) {
        at = place_in_run(filter, start, value);
        if (at > start) {
            carried |= SLOT_CONTINUATION;
        } else {
            put(filter, start, get(filter, start) | SLOT_CONTINUATION);
        }
    }
    if (at != quotient) carried |= SLOT_SHIFTED;
    push_in(filter, at, carried);
    filter->count++;
    return true;
}

/* Moves what follows a slot one back, as far as it is shifted. The quotient is that of the slot's
 * run; the slot that is left over becomes empty. */
static void pull_back(struct published_quotient *filter, uint64_t at, uint64_t quotient) {
    uint64_t next;
    for (; (next = get(filter, at + 1)) & SLOT_SHIFTED; at++) {
        if (!(next & SLOT_CONTINUATION)) {
            do {
                quotient++;
            } while (!(get(filter, quotient) & SLOT_OCCUPIED));
            if (quotient == at) next &= ~(uint64_t)SLOT_SHIFTED;
        }
        put(filter, at, (get(filter, at) & SLOT_OCCUPIED) | (next & ~(uint64_t)SLOT_OCCUPIED));
    }
    put(filter, at, get(filter, at) & SLOT_OCCUPIED);
}

bool published_quotient_remove(struct published_quotient *filter, uint64_t entry) {
    unsigned bits = value_bits(&filter->shape);
    uint64_t quotient = entry >> bits, value = entry & low_bits(bits);
    if (!(get(filter, quotient) & SLOT_OCCUPIED)) return false;
    uint64_t start = run_start(word_of, filter->words, filter->slot_bits, quotient);
    uint64_t at = place_in_run(filter, start, value), found = get(filter, at);
    if (found >> FLAG_BITS != value || (at > start && !(found & SLOT_CONTINUATION))) return false;
    uint64_t next = get(filter, at + 1);
    bool was_alone = at == start && !(next & SLOT_CONTINUATION);
    if (at == start && !was_alone) {
        /* The second becomes the first. In the canonical slot it will not be shifted. */
        uint64_t first = (found & SLOT_FLAGS) | (next >> FLAG_BITS << FLAG_BITS);
        put(filter, at, first);
        at++;
    }
    pull_back(filter, at, quotient);
    if (was_alone) put(filter, quotient, get(filter, quotient) & ~(uint64_t)SLOT_OCCUPIED);
    filter->count--;
    return true;
}

/* tests/support/model_set.c - open addressing, as plain as can be: it has to be right. */
#include "support/model_set.h"

#include <assert.h>
#include <stdlib.h>

static size_t slot_of(const struct model_set *set, uint64_t key) {
    size_t slot = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (set->capacity - 1);
    while (set->slots[slot] != 0 && set->slots[slot] != key)
        slot = (slot + 1) & (set->capacity - 1);
    return slot;
}

static void grow(struct model_set *set) {
    struct model_set larger = {.capacity = set->capacity == 0 ? 64 : 2 * set->capacity};
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    assert(larger.slots != NULL);
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->slots[i] != 0) model_set_add(&larger, set->slots[i]);
    }
    free(set->slots);
    *set = larger;
}

bool model_set_add(struct model_set *set, uint64_t key) {
    assert(key != 0);
    if (2 * set->count >= set->capacity) grow(set);
    size_t slot = slot_of(set, key);
    if (set->slots[slot] == key) return false;
    set->slots[slot] = key;
    set->count++;
    return true;
}

bool model_set_has(const struct model_set *set, uint64_t key) {
    return set->capacity > 0 && set->slots[slot_of(set, key)] == key;
}

void model_set_free(struct model_set *set) {
    free(set->slots);
    *set = (struct model_set){0};
}

/* tests/support/model_set.h - an exact set of 64-bit keys, to judge the approximate ones by. */
#ifndef LETHE_TESTS_SUPPORT_MODEL_SET_H
#define LETHE_TESTS_SUPPORT_MODEL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* {0} is an empty set. Keys are any value but 0. */
struct model_set {
    uint64_t *slots; /* 0 is empty */
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* Whether the key was not there before. */
bool model_set_add(struct model_set *set, uint64_t key);
bool model_set_has(const struct model_set *set, uint64_t key);
void model_set_free(struct model_set *set);

#endif

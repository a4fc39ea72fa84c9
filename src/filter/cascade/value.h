/* filter/cascade/value.h - what a run says about one fingerprint: cancel some older
 * insertions, then add some.
 *
 * IDEA    Seen from what is older, a sequence of insertions and removals is a function of the count
 *         x that it finds: max(x - removed, 0) + added. Such functions are closed under
 *         composition, so any history of a fingerprint is two numbers, and merging two runs
 *         composes them.
 * WHY     A tombstone that was a plain "-1" would cancel insertions newer than itself. */
#ifndef LETHE_CASCADE_VALUE_H
#define LETHE_CASCADE_VALUE_H

#include <stdbool.h>
#include <stdint.h>

struct lethe_cascade_value {
    uint64_t removed; /* older insertions that are cancelled, as far as there are any */
    uint64_t added;   /* then this many are added */
};

/* Addition that stays at the largest value. */
static inline uint64_t lethe_cascade_sum(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* First older, then newer. */
static inline struct lethe_cascade_value lethe_cascade_compose(struct lethe_cascade_value newer,
                                                               struct lethe_cascade_value older) {
    if (newer.removed <= older.added) {
        return (struct lethe_cascade_value){
            .removed = older.removed,
            .added = lethe_cascade_sum(older.added - newer.removed, newer.added)};
    }
    return (struct lethe_cascade_value){
        .removed = lethe_cascade_sum(older.removed, newer.removed - older.added),
        .added = newer.added};
}

static inline bool lethe_cascade_value_is_one(struct lethe_cascade_value value) {
    return value.removed == 0 && value.added == 1;
}

static inline bool lethe_cascade_value_is_none(struct lethe_cascade_value value) {
    return value.removed == 0 && value.added == 0;
}

#endif

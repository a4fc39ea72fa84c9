/* module/once/buckets.h - the buckets of one counter at one resolution: what was added in each
 * period. buckets.c has the essay. */
#ifndef LETHE_MODULE_ONCE_BUCKETS_H
#define LETHE_MODULE_ONCE_BUCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bucket {
    /* When its period began. */
    int64_t start_ms;
    int64_t value;
};

struct buckets {
    /* The first that is kept, how many there are, and the room for them. */
    uint32_t first, count, capacity;
    struct bucket each[];
};

/* The value of the bucket that began then; 0 if there is none. Takes NULL. Cost: O(log n), and
 * O(1) for the newest. */
int64_t buckets_value(const struct buckets *buckets, int64_t start_ms);
/* The place of the first bucket that began then or later; count if there is none. Takes NULL. */
uint32_t buckets_place(const struct buckets *buckets, int64_t start_ms);
static inline uint32_t buckets_count(const struct buckets *buckets) {
    return buckets != NULL ? buckets->count : 0;
}
static inline const struct bucket *buckets_at(const struct buckets *buckets, uint32_t place) {
    return &buckets->each[buckets->first + place];
}

/* How many buckets stay, and when the present period and the one before it began. */
struct retention {
    uint32_t keep;
    int64_t present_ms, before_ms;
};

/* Sets a bucket. If that makes more than are kept, the oldest goes, which may be this one; except
 * for those of the present and, if two or more are kept, of the period before.
 * *buckets may be NULL, and may move. Cost: O(1) amortised for the newest, O(n) for another. */
void buckets_set(struct buckets **buckets, struct bucket bucket, struct retention retention);
/* Whether a bucket that began then is not there and, if it were set, would be the one that goes.
 * Never that of the present. Takes NULL. Cost: O(log n). */
bool buckets_is_dropped(const struct buckets *buckets, int64_t start_ms,
                        struct retention retention);

/* Takes a bucket out, if there is one. */
void buckets_remove(struct buckets *buckets, int64_t start_ms);

#endif

/* module/once/counters.h - the counters of a once-table: a map from names to 64-bit integers.
 *
 * counters.c has the essay. Counters don't move in memory while they exist. */
#ifndef LETHE_MODULE_ONCE_COUNTERS_H
#define LETHE_MODULE_ONCE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "once/buckets.h"
#include "server/redis_api.h"

struct counter {
    /* In its bucket. */
    struct counter *next;
    int64_t value;
    uint32_t hash;
    uint32_t size;
    /* In a map with resolutions, pointers to the buckets at each of them follow the name. */
    char name[];
};

struct counters {
    /* Slabs of the array of buckets. */
    struct counter ***slabs;
    uint64_t slab_count, slab_capacity;
    uint64_t buckets;

    /* How many counters there are, and their memory with that of their buckets. */
    uint64_t count;
    uint64_t bytes;
    /* How many buckets of periods there are. */
    uint64_t periods;
    /* Of the hash of names. */
    uint64_t seed;
    /* At how many resolutions each counter has buckets; set while the map is empty. */
    uint32_t resolutions;
};

/* An empty map; nothing is allocated until there is a counter. */
void counters_init(struct counters *counters, uint64_t seed);
void counters_drop(struct counters *counters);

/* NULL when there is no such counter. Cost: O(1). */
struct counter *counters_find(const struct counters *counters, const char *name, size_t size);
/* Finds it, or makes it with the value 0. The size is below 2^32. */
struct counter *counters_add(struct counters *counters, const char *name, size_t size);
/* Removes it and its buckets. */
bool counters_remove(struct counters *counters, const char *name, size_t size);

/* Its buckets at a resolution; NULL if there are none. */
const struct buckets *counters_buckets(const struct counter *counter, uint32_t resolution);
/* buckets_set. */
void counters_set_bucket(struct counters *counters, struct counter *counter, uint32_t resolution,
                         struct bucket bucket, struct retention retention);

/* buckets_remove. */
void counters_remove_bucket(struct counters *counters, struct counter *counter, uint32_t resolution,
                            int64_t start_ms);

typedef void counters_visitor(void *context, struct counter *counter);
/* Visits a few counters and returns the next cursor, 0 at the end; cursor 0 begins. Every
 * counter that exists from the first call to the last is visited at least once, whatever else is
 * added and removed. */
uint64_t counters_scan(const struct counters *counters, uint64_t cursor, counters_visitor *visit,
                       void *context);
void counters_each(const struct counters *counters, counters_visitor *visit, void *context);

size_t counters_memory(const struct counters *counters);
/* Lets the server move counters to where memory is denser, beginning at a bucket. Returns the
 * next bucket, 0 at the end. */
uint64_t counters_defrag(struct counters *counters, redis_defrag *defrag, uint64_t bucket);

#endif

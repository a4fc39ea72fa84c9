/* module/once/counters.c - a hash table that grows and shrinks by one bucket at a time.
 *
 * IDEA    Linear hashing. With n buckets, 2^l <= n < 2^(l+1), a name whose hash is h is in
 *         bucket h mod 2^(l+1), or, if there is no such bucket yet, in h mod 2^l. To grow,
 *         bucket n - 2^l is split in two; to shrink, the last bucket is merged back. The table
 *         is never moved as a whole, so no command waits for that.
 * LAYOUT  The array of buckets is in slabs, so that it isn't moved either; a bucket is a
 *         list.
 * SCAN    A cursor is a bucket's number with its bits read from the highest down. In that order
 *         all buckets that a bucket may be split into come right after it, and buckets that were
 *         visited stay visited, whether the table grows or shrinks in between. Cursors are this
 *         server's own: where names lie depends on a salt that it draws for itself.
 * WHY     A table's seed comes with it, from whoever restores it. Without the salt, its names
 *         could be chosen so that all are in one bucket, and loading them would take time
 *         quadratic in their number.
 * PERIODS Where a table counts per period too, a counter's block ends with a pointer per
 *         resolution, after its name. Others have no such pointers and are as small as ever.
 *         Buckets of periods (buckets.h) have nothing to do with the buckets of this hash table.
 * MEMORY  A counter is 24 bytes and its name, and 8 bytes per resolution; a bucket of the table is
 *         8 bytes. buckets.c has the memory of periods. */
#include "once/counters.h"

#include <lethe/hash.h>
#include <string.h>

enum { SLAB_SHIFT = 7, SLAB_BUCKETS = 1 << SLAB_SHIFT, FEWEST_BUCKETS = 4 };

/* Drawn with the first table; 0 before. */
static uint64_t salt;

void counters_init(struct counters *counters, uint64_t seed) {
    while (salt == 0)
        redis.GetRandomBytes((unsigned char *)&salt, sizeof salt);
    *counters = (struct counters){.seed = seed};
}

static struct counter **bucket_at(const struct counters *counters, uint64_t index) {
    return &counters->slabs[index >> SLAB_SHIFT][index & (SLAB_BUCKETS - 1)];
}

/* The largest power of two that is not more than the number of buckets, less one. */
static uint64_t low_mask(const struct counters *counters) {
    return (UINT64_C(1) << (63 - __builtin_clzll(counters->buckets))) - 1;
}

static uint64_t index_of(const struct counters *counters, uint32_t hash) {
    uint64_t mask = low_mask(counters);
    uint64_t index = hash & (2 * mask + 1);
    return index < counters->buckets ? index : hash & mask;
}

static uint32_t hash_name(const struct counters *counters, const char *name, size_t size) {
    return (uint32_t)lethe_hash_bytes(counters->seed ^ salt, name, size).low;
}

/* --- Periods */

static size_t size_of_head(size_t name_size) {
    size_t alignment = _Alignof(struct buckets *), size = sizeof(struct counter) + name_size;
    return (size + alignment - 1) / alignment * alignment;
}

static struct buckets **periods_of(struct counter *counter) {
    return (struct buckets **)((char *)counter + size_of_head(counter->size));
}

const struct buckets *counters_buckets(const struct counter *counter, uint32_t resolution) {
    const char *end = (const char *)counter + size_of_head(counter->size);
    return ((struct buckets *const *)end)[resolution];
}

void counters_set_bucket(struct counters *counters, struct counter *counter, uint32_t resolution,
                         struct bucket bucket, struct retention retention) {
    struct buckets **buckets = &periods_of(counter)[resolution], *old = *buckets;
    uint32_t before = buckets_count(old);
    uint64_t bytes = old != NULL ? redis.MallocSize(old) : 0;
    buckets_set(buckets, bucket, retention);
    counters->periods += buckets_count(*buckets);
    counters->periods -= before;
    if (*buckets != old) counters->bytes += redis.MallocSize(*buckets) - bytes;
}

void counters_remove_bucket(struct counters *counters, struct counter *counter, uint32_t resolution,
                            int64_t start_ms) {
    struct buckets *buckets = periods_of(counter)[resolution];
    uint32_t before = buckets_count(buckets);
    buckets_remove(buckets, start_ms);
    counters->periods -= before - buckets_count(buckets);
}

static struct counter *new_counter(struct counters *counters, const char *name, size_t size) {
    size_t bytes = sizeof(struct counter) + size;
    if (counters->resolutions > 0)
        bytes = size_of_head(size) + counters->resolutions * sizeof(struct buckets *);
    struct counter *counter = redis.Alloc(bytes);
    *counter = (struct counter){.size = (uint32_t)size};
    if (size > 0) memcpy(counter->name, name, size);
    for (uint32_t i = 0; i < counters->resolutions; i++)
        periods_of(counter)[i] = NULL;
    counters->bytes += redis.MallocSize(counter);
    return counter;
}

static void free_counter(struct counters *counters, struct counter *counter) {
    for (uint32_t i = 0; i < counters->resolutions; i++) {
        struct buckets *buckets = periods_of(counter)[i];
        if (buckets == NULL) continue;
        counters->periods -= buckets->count;
        counters->bytes -= redis.MallocSize(buckets);
        redis.Free(buckets);
    }
    counters->bytes -= redis.MallocSize(counter);
    redis.Free(counter);
}

/* --- The hash table */

/* Makes room for one more bucket in the array. */
static void reserve_bucket(struct counters *counters) {
    if (counters->buckets < counters->slab_count * SLAB_BUCKETS) return;
    if (counters->slab_count == counters->slab_capacity) {
        counters->slab_capacity = 2 * counters->slab_capacity + 1;
        counters->slabs =
            redis.Realloc(counters->slabs, counters->slab_capacity * sizeof *counters->slabs);
    }
    size_t bytes = SLAB_BUCKETS * sizeof(struct counter *);
    struct counter **slab = redis.Alloc(bytes);
    memset(slab, 0, bytes);
    counters->slabs[counters->slab_count++] = slab;
}

static void split_one(struct counters *counters) {
    reserve_bucket(counters);
    uint64_t old = counters->buckets - (low_mask(counters) + 1);
    uint64_t created = counters->buckets++;
    struct counter **from = bucket_at(counters, old), **to = bucket_at(counters, created);
    while (*from != NULL) {
        struct counter *counter = *from;
        if (index_of(counters, counter->hash) == created) {
            *from = counter->next;
            counter->next = *to;
            *to = counter;
        } else {
            from = &counter->next;
        }
    }
}

static void merge_one(struct counters *counters) {
    uint64_t last = --counters->buckets;
    uint64_t into = last - (low_mask(counters) + 1);
    if (last == low_mask(counters) + 1) into = 0;
    struct counter **from = bucket_at(counters, last), **end = bucket_at(counters, into);
    while (*end != NULL)
        end = &(*end)->next;
    *end = *from;
    *from = NULL;
    if (counters->buckets == (counters->slab_count - 1) * SLAB_BUCKETS)
        redis.Free(counters->slabs[--counters->slab_count]);
}

void counters_drop(struct counters *counters) {
    for (uint64_t i = 0; i < counters->buckets; i++) {
        struct counter *counter = *bucket_at(counters, i);
        while (counter != NULL) {
            struct counter *next = counter->next;
            free_counter(counters, counter);
            counter = next;
        }
    }
    for (uint64_t i = 0; i < counters->slab_count; i++)
        redis.Free(counters->slabs[i]);
    redis.Free(counters->slabs);
    counters_init(counters, counters->seed);
}

/* The link that points to the counter, or the one at the end of its list. */
static struct counter **find_link(const struct counters *counters, uint32_t hash, const char *name,
                                  size_t size) {
    struct counter **link = bucket_at(counters, index_of(counters, hash));
    while (*link != NULL && ((*link)->hash != hash || (*link)->size != size ||
                             memcmp((*link)->name, name, size) != 0)) {
        link = &(*link)->next;
    }
    return link;
}

struct counter *counters_find(const struct counters *counters, const char *name, size_t size) {
    if (counters->count == 0) return NULL;
    return *find_link(counters, hash_name(counters, name, size), name, size);
}

struct counter *counters_add(struct counters *counters, const char *name, size_t size) {
    while (counters->buckets < FEWEST_BUCKETS) {
        reserve_bucket(counters);
        counters->buckets++;
    }
    uint32_t hash = hash_name(counters, name, size);
    struct counter **link = find_link(counters, hash, name, size);
    if (*link != NULL) return *link;
    struct counter *counter = new_counter(counters, name, size);
    counter->hash = hash;
    *link = counter;
    counters->count++;
    if (counters->count > counters->buckets) split_one(counters);
    return counter;
}

bool counters_remove(struct counters *counters, const char *name, size_t size) {
    if (counters->count == 0) return false;
    struct counter **link = find_link(counters, hash_name(counters, name, size), name, size);
    struct counter *counter = *link;
    if (counter == NULL) return false;
    *link = counter->next;
    counters->count--;
    free_counter(counters, counter);
    /* Four at a time, so that there are not more than four times as many buckets as counters for
     * long. */
    for (int i = 0;
         i < 4 && counters->buckets > FEWEST_BUCKETS && counters->count < counters->buckets / 4;
         i++) {
        merge_one(counters);
    }
    return true;
}

static uint64_t reverse_bits(uint64_t bits) {
    bits = __builtin_bswap64(bits);
    bits = (bits >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (bits & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
    bits = (bits >> 2 & UINT64_C(0x3333333333333333)) | (bits & UINT64_C(0x3333333333333333)) << 2;
    return (bits >> 1 & UINT64_C(0x5555555555555555)) | (bits & UINT64_C(0x5555555555555555)) << 1;
}

static void visit_bucket(const struct counters *counters, uint64_t index, counters_visitor *visit,
                         void *context) {
    for (struct counter *counter = *bucket_at(counters, index); counter != NULL;) {
        struct counter *next = counter->next;
        visit(context, counter);
        counter = next;
    }
}

uint64_t counters_scan(const struct counters *counters, uint64_t cursor, counters_visitor *visit,
                       void *context) {
    if (counters->count == 0) return 0;
    uint64_t mask = low_mask(counters), index = cursor & mask;
    visit_bucket(counters, index, visit, context);
    /* The bucket it has been split into, if it has. */
    if (index + mask + 1 < counters->buckets)
        visit_bucket(counters, index + mask + 1, visit, context);
    /* One more, counted from the highest bit of the mask down. */
    return reverse_bits(reverse_bits(cursor | ~mask) + 1);
}

void counters_each(const struct counters *counters, counters_visitor *visit, void *context) {
    for (uint64_t i = 0; i < counters->buckets; i++)
        visit_bucket(counters, i, visit, context);
}

size_t counters_memory(const struct counters *counters) {
    return counters->bytes + counters->slab_capacity * sizeof *counters->slabs +
           counters->slab_count * SLAB_BUCKETS * sizeof(struct counter *);
}

static void defrag_periods(struct buckets **buckets, redis_defrag *defrag) {
    struct buckets *moved = *buckets != NULL ? redis.DefragAlloc(defrag, *buckets) : NULL;
    if (moved != NULL) *buckets = moved;
}

uint64_t counters_defrag(struct counters *counters, redis_defrag *defrag, uint64_t bucket) {
    for (; bucket < counters->buckets; bucket++) {
        for (struct counter **link = bucket_at(counters, bucket); *link != NULL;
             link = &(*link)->next) {
            struct counter *moved = redis.DefragAlloc(defrag, *link);
            if (moved != NULL) *link = moved;
            for (uint32_t i = 0; i < counters->resolutions; i++)
                defrag_periods(&periods_of(*link)[i], defrag);
        }
        if (bucket % 64 == 63 && redis.DefragShouldStop(defrag)) return bucket + 1;
    }
    return 0;
}

/* module/once/buckets.c - an array in the order of time, whose oldest elements go first.
 *
 * IDEA    Operations nearly always belong to the newest bucket. It is at the end of an array, and
 *         what retention drops is at its beginning, so both are cheap: a bucket that goes only
 *         moves the beginning, and the array is moved down when its end is reached.
 * I1      Buckets are in the order of their starts, each start once.
 * I2      What is kept follows from what was set, and in which order. No clock is asked: master,
 *         replica and replayed log keep the same buckets.
 * WHY     The bucket of the present never goes, nor, where two or more are kept, that of the period
 *         before it. If a wall clock was wrong for a moment, its buckets lie in the future, and the
 *         present would otherwise be the oldest: it would be dropped with every operation, and a
 *         limit on it would not bind. A sliding limit needs the one before as well.
 * LATE    A hold may be settled long after its period. If its bucket has been dropped, it does not
 *         come back: it would take the place of a later one, on which a limit would not bind any
 *         more.
 * MEMORY  16 bytes per bucket; while buckets are added, up to half as much again. */
#include "once/buckets.h"

#include <string.h>

#include "server/redis_api.h"

enum { FEWEST = 2 };

uint32_t buckets_place(const struct buckets *buckets, int64_t start_ms) {
    if (buckets == NULL || buckets->count == 0) return 0;
    uint32_t low = 0, high = buckets->count;
    if (buckets_at(buckets, high - 1)->start_ms < start_ms) return high;
    if (buckets_at(buckets, high - 1)->start_ms == start_ms) return high - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (buckets_at(buckets, middle)->start_ms < start_ms) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const struct buckets *buckets, uint32_t place, int64_t start_ms) {
    return place < buckets_count(buckets) && buckets_at(buckets, place)->start_ms == start_ms;
}

int64_t buckets_value(const struct buckets *buckets, int64_t start_ms) {
    uint32_t place = buckets_place(buckets, start_ms);
    return is_at(buckets, place, start_ms) ? buckets_at(buckets, place)->value : 0;
}

/* Room for one more at the end. At most keep + 1 are ever there. */
static void reserve(struct buckets **buckets, uint32_t keep) {
    struct buckets *old = *buckets;
    if (old != NULL && old->first + old->count < old->capacity) return;
    if (old != NULL && old->first > old->capacity / 8) {
        memmove(old->each, old->each + old->first, old->count * sizeof old->each[0]);
        old->first = 0;
        return;
    }
    uint32_t count = buckets_count(old), capacity = count + count / 2 + 1;
    if (capacity < FEWEST) capacity = FEWEST;
    /* A quarter more than will be kept, so that the array is not moved down for every bucket. */
    uint32_t most = keep + keep / 4 + 2;
    if (capacity > most) capacity = most;
    if (capacity <= count) capacity = count + 1;
    struct buckets *larger = redis.Alloc(sizeof *larger + capacity * sizeof larger->each[0]);
    *larger = (struct buckets){.count = count, .capacity = capacity};
    if (old != NULL) memcpy(larger->each, old->each + old->first, count * sizeof old->each[0]);
    redis.Free(old);
    *buckets = larger;
}

static bool is_spared(int64_t start_ms, struct retention retention) {
    return start_ms == retention.present_ms ||
           (start_ms == retention.before_ms && retention.keep > 1);
}

/* Takes out one of one more than are kept. */
static void drop_oldest(struct buckets *buckets, struct retention retention) {
    struct bucket *each = buckets->each + buckets->first;
    uint32_t oldest = 0;
    while (is_spared(each[oldest].start_ms, retention))
        oldest++;
    memmove(each + 1, each, oldest * sizeof *each);
    buckets->first++;
    buckets->count--;
}

void buckets_remove(struct buckets *buckets, int64_t start_ms) {
    uint32_t place = buckets_place(buckets, start_ms);
    if (!is_at(buckets, place, start_ms)) return;
    struct bucket *each = buckets->each + buckets->first;
    if (place == 0) {
        buckets->first++;
    } else {
        memmove(each + place, each + place + 1, (buckets->count - place - 1) * sizeof *each);
    }
    buckets->count--;
}

bool buckets_is_dropped(const struct buckets *buckets, int64_t start_ms,
                        struct retention retention) {
    uint32_t place = buckets_place(buckets, start_ms);
    if (buckets_count(buckets) < retention.keep || is_at(buckets, place, start_ms)) return false;
    if (is_spared(start_ms, retention)) return false;
    for (uint32_t i = 0; i < place; i++) {
        if (!is_spared(buckets_at(buckets, i)->start_ms, retention)) return false;
    }
    return true;
}

void buckets_set(struct buckets **buckets, struct bucket bucket, struct retention retention) {
    uint32_t place = buckets_place(*buckets, bucket.start_ms);
    if (is_at(*buckets, place, bucket.start_ms)) {
        (*buckets)->each[(*buckets)->first + place].value = bucket.value;
        return;
    }
    if (buckets_is_dropped(*buckets, bucket.start_ms, retention)) return;
    reserve(buckets, retention.keep);
    struct buckets *grown = *buckets;
    struct bucket *at = grown->each + grown->first + place;
    memmove(at + 1, at, (grown->count - place) * sizeof *at);
    grown->count++;
    *at = bucket;
    if (grown->count > retention.keep) drop_oldest(grown, retention);
}

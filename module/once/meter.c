/* module/once/meter.c - what an operation changes: a counter's total, and its bucket at every
 * resolution.
 *
 * IDEA    A table that was made with PER counts what its totals count a second time, by the hour,
 *         say. An operation belongs to the period in which its master has applied it; except what
 *         settles a hold, which belongs to the period of the hold.
 * CLOCKS  There are two. Ids go by the table's own clock, which counts elapsed time and never
 *         steps. Buckets go by the wall clock of the master's host, since people ask for the hours
 *         of a clock. That one may step, also back; an operation then belongs to an earlier bucket
 *         again. It is read once per command, and carried in the effect: replicas, the log and a
 *         promoted master agree on what belongs where.
 * I1      A total is the sum of its buckets at any resolution, and of a rest: what retention has
 *         dropped, and what was settled in a bucket that it had dropped. The rest is not kept
 *         anywhere; it is the difference.
 * I2      All of an operation fits into 64 bits, its buckets included, or none of it is done. */
#include "once/once.h"

/* One bit more than a sum of two 64-bit integers needs. */
__extension__ typedef __int128 wide;

static bool fits(wide number) {
    return number >= INT64_MIN && number <= INT64_MAX;
}

void once_set_resolutions(struct once *table, const struct resolutions *resolutions) {
    table->resolutions = *resolutions;
    table->counters.resolutions = resolutions->count;
}

void once_set_wall(struct once *table, int64_t wall_ms) {
    table->wall = (struct once_wall){.now_ms = wall_ms, .at_ms = wall_ms};
    for (uint32_t i = 0; i < table->resolutions.count; i++) {
        int64_t start_ms = period_start(table->resolutions.each[i].period_ms, wall_ms);
        table->wall.presents_ms[i] = table->wall.starts_ms[i] = start_ms;
    }
}

void once_set_late(struct once *table, int64_t wall_ms) {
    struct once_wall *wall = &table->wall;
    wall->at_ms = wall_ms;
    wall->is_late = false;
    for (uint32_t i = 0; i < table->resolutions.count; i++) {
        wall->starts_ms[i] = period_start(table->resolutions.each[i].period_ms, wall_ms);
        if (wall->starts_ms[i] != wall->presents_ms[i]) wall->is_late = true;
    }
}

int64_t once_wall_now(void) {
    int64_t wall_ms = redis.Milliseconds();
    if (wall_ms < 0) return 0;
    return wall_ms < WALL_MOST_MS ? wall_ms : WALL_MOST_MS;
}

void once_begin_wall(struct once *table) {
    if (once_is_metered(table)) once_set_wall(table, once_wall_now());
}

int64_t once_bucket(const struct once *table, const struct counter *counter, uint32_t resolution) {
    if (counter == NULL) return 0;
    return buckets_value(counters_buckets(counter, resolution), table->wall.starts_ms[resolution]);
}

struct retention once_retention(const struct once *table, uint32_t resolution) {
    const struct resolution *of = &table->resolutions.each[resolution];
    int64_t present_ms = table->wall.presents_ms[resolution];
    return (struct retention){of->keep, present_ms, period_before(of->period_ms, present_ms)};
}

/* A counter that does not exist has the same in its buckets as in its total. */
bool once_can_add_to_buckets(const struct once *table, const struct counter *counter, int64_t value,
                             int64_t delta) {
    wide sum = (wide)value + delta;
    bool can = fits(sum);
    for (uint32_t i = 0; i < table->resolutions.count && can && counter != NULL; i++)
        can = fits(once_bucket(table, counter, i) + sum - counter->value);
    return can;
}

bool once_is_small(const struct once *table, const struct counter *counter, int64_t most) {
    if (counter == NULL) return true;
    bool is_small = counter->value < most && counter->value > -most;
    for (uint32_t i = 0; i < table->resolutions.count && is_small; i++) {
        int64_t value = once_bucket(table, counter, i);
        is_small = value < most && value > -most;
    }
    return is_small;
}

void once_add_to_buckets(struct once *table, struct effect *effect, struct counter *counter,
                         int64_t delta) {
    counter->value += delta;
    if (!table->wall.is_noted) once_note_wall(effect, table);
    table->wall.is_noted = true;
    once_note_counter(effect, counter);
    for (uint32_t i = 0; i < table->resolutions.count; i++) {
        struct bucket bucket = {table->wall.starts_ms[i], once_bucket(table, counter, i) + delta};
        counters_set_bucket(&table->counters, counter, i, bucket, once_retention(table, i));
    }
    once_note_buckets(effect, table, counter);
}

/* module/once/holds.c - holds: reserve now, settle when it is known how much it was.
 *
 * IDEA    A caller that does not know yet how much it will use sets the most of it aside, under a
 *         limit and for the time of a lease. Until then that much is held: it is not in the
 *         counter's value, but every limit counts it. SETTLE adds what it really was, RELEASE
 *         nothing, and both give the hold's amount free. If neither comes, the end of the lease
 *         does.
 * LAYOUT  A record for each hold (records.h), and a map of the same kind as the table's counters
 *         with the sums of what is held, in total and in each bucket. The sums are not saved and
 *         not replicated: they follow from the records.
 * I1      What is held of a counter is the sum of the amounts of its open holds, in total and in
 *         each bucket; the bucket is that of the hold's wall clock.
 * I2      For a limit, value + held <= max whenever HOLD, TAKE or SETTLE have just changed one of
 *         them under that limit; except by SETTLE with FORCE, which is counted.
 * I3      A lease is over at deadline_ms and never before: the clock counts whole milliseconds and
 *         lags behind by less than one, so the deadline is one more than the sum of both. Only the
 *         master's timer ends a lease, and says so in an effect. Until then the hold is open, on
 *         replicas and after a restart too.
 * I4      A hold ends once. How it ended stays known for W, to the last byte of its id: whoever
 *         settles again with the same amount gets the same answer, and with another one an error.
 * I5      What happens to a hold is replicated as the whole of what it is afterwards.
 * WHY     The id is not in the window, which may take one id for another. A hold must be found
 *         again, not only recognised.
 * LATE    After the end of its lease a hold keeps nothing free. To settle it then is to take anew:
 *         now, by the present bucket and what the limit leaves now.
 * MEMORY  104 bytes and the counter's name; 24 bytes and the id; 16 to 24 bytes of the map and the
 *         heap. Once for each counter of which something is held: 24 bytes and its name, and with
 *         PER 16 bytes for each bucket. Blocks of the allocator are rounded up. */
#include "once/holds.h"

#include <string.h>

#include "change/effect.h"
#include "once/once.h"

/* More buckets than any counter has holds. */
static const struct retention KEEP_ALL = {.keep = UINT32_C(1) << 30};

struct hold *holds_find(const struct once *table, struct slice id) {
    struct record *record = records_find(&table->holds.records, id.data, id.size);
    struct hold *hold = (struct hold *)record;
    bool is_there =
        hold != NULL && (hold->state == HOLD_OPEN || hold->head.due_ms > table->head.clock_ms);
    return is_there ? hold : NULL;
}

struct hold_facts hold_facts_of(const struct hold *hold) {
    const struct counter *entry = hold->head.entry;
    return (struct hold_facts){
        .state = hold->state,
        .amount = hold->amount,
        .most = hold->most,
        .period_ms = hold->period_ms,
        .wall_ms = hold->wall_ms,
        .deadline_ms = hold->deadline_ms,
        .until_ms = hold->until_ms,
        .actual = hold->actual,
        .id = {entry->name, entry->size},
        .counter = {hold->counter, hold->counter_size},
    };
}

uint64_t hold_left_ms(const struct hold_facts *facts, uint64_t now_ms) {
    if (facts->state != HOLD_OPEN || facts->deadline_ms <= now_ms) return 0;
    uint64_t left_ms = facts->deadline_ms - now_ms;
    return left_ms > 1 ? left_ms - 1 : 1; /* without the millisecond that it may take longer */
}

/* --- What is held */

bool holds_can_add(const struct once *table, struct slice counter, int64_t amount) {
    const struct counter *held = counters_find(&table->holds.held, counter.data, counter.size);
    return held == NULL || held->value <= INT64_MAX - amount;
}

static int64_t start_of(const struct once *table, uint32_t resolution, const struct hold *hold) {
    return period_start(table->resolutions.each[resolution].period_ms, hold->wall_ms);
}

void holds_add_up(struct once *table, const struct hold *hold) {
    struct counters *held = &table->holds.held;
    if (held->count == 0) held->resolutions = table->resolutions.count;
    struct counter *counter = counters_add(held, hold->counter, hold->counter_size);
    counter->value += hold->amount;
    for (uint32_t i = 0; i < table->resolutions.count; i++) {
        struct bucket bucket = {.start_ms = start_of(table, i, hold)};
        bucket.value = buckets_value(counters_buckets(counter, i), bucket.start_ms) + hold->amount;
        counters_set_bucket(held, counter, i, bucket, KEEP_ALL);
    }
    table->holds.open++;
}

static void take_held(struct once *table, const struct hold *hold) {
    struct counters *held = &table->holds.held;
    struct counter *counter = counters_find(held, hold->counter, hold->counter_size);
    table->holds.open--;
    counter->value -= hold->amount;
    if (counter->value == 0) {
        (void)counters_remove(held, hold->counter, hold->counter_size);
        return;
    }
    for (uint32_t i = 0; i < table->resolutions.count; i++) {
        struct bucket bucket = {.start_ms = start_of(table, i, hold)};
        bucket.value = buckets_value(counters_buckets(counter, i), bucket.start_ms) - hold->amount;
        if (bucket.value > 0) {
            counters_set_bucket(held, counter, i, bucket, KEEP_ALL);
        } else {
            counters_remove_bucket(held, counter, i, bucket.start_ms);
        }
    }
}

/* --- Holds */

static struct hold *make(const struct hold_facts *facts) {
    struct hold *hold = redis.Alloc(sizeof *hold + facts->counter.size);
    *hold = (struct hold){
        .amount = facts->amount,
        .most = facts->most,
        .period_ms = facts->period_ms,
        .wall_ms = facts->wall_ms,
        .deadline_ms = facts->deadline_ms,
        .until_ms = facts->until_ms,
        .actual = facts->actual,
        .counter_size = (uint32_t)facts->counter.size,
        .state = facts->state,
    };
    if (facts->counter.size > 0) memcpy(hold->counter, facts->counter.data, facts->counter.size);
    return hold;
}

/* When something is to be done with it: its lease ends, or it is forgotten. */
static uint64_t due_ms(const struct once *table, const struct hold *hold) {
    return hold->state == HOLD_OPEN ? hold->deadline_ms : hold->until_ms + table->window_ms;
}

void holds_take_out(struct once *table, struct hold *hold) {
    struct holds *holds = &table->holds;
    if (hold->state == HOLD_OPEN) take_held(table, hold);
    records_remove(&holds->records, &hold->head);
    holds->bytes -= redis.MallocSize(hold);
    redis.Free(hold);
}

const struct hold *holds_keep(struct once *table, const struct hold_facts *facts) {
    struct holds *holds = &table->holds;
    struct hold *hold = make(facts);
    hold->head.due_ms = due_ms(table, hold);
    records_replace(table, &hold_kind, facts->id, &hold->head);
    holds->bytes += redis.MallocSize(hold);
    return hold;
}

void holds_put(struct once *table, const struct hold_facts *facts) {
    const struct hold *hold = holds_keep(table, facts);
    if (hold->state == HOLD_OPEN) holds_add_up(table, hold);
}

void holds_set(struct once *table, struct effect *effect, const struct hold_facts *facts) {
    struct record_bytes bytes;
    hold_write(facts, &bytes);
    effect_u8(effect, 'H');
    effect_u64(effect, table->holds.forced);
    records_append(effect, &hold_kind, &bytes);
    holds_put(table, facts);
}

void hold_end(const struct once *table, struct hold_facts *facts, enum hold_state state) {
    facts->state = (uint8_t)state;
    facts->until_ms = table->head.clock_ms + 1;
}

void holds_expire(struct once *table, struct hold *hold) {
    take_held(table, hold);
    hold->state = HOLD_EXPIRED;
    hold->until_ms = table->head.clock_ms + 1;
    records_move(&table->holds.records, &hold->head, due_ms(table, hold));
}

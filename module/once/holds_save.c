/* module/once/holds_save.c - holds as bytes, in saved tables and in effects; and what is due.
 * docs/format/module.md has every byte.
 *
 * LAYOUT  A hold is a head of 65 bytes (state 1, amount 8, limit 8, period 8, wall clock 8,
 *         deadline 8, until 8, actual 8, sizes of id 4 and counter 4), then these two. A saved
 *         table has how often FORCE has passed a limit, 8, and the number of its holds, 8, first.
 * I1      A hold that is over is not saved (sections.c, I2). A loader takes none that commands
 *         could not have left. */
#include <stdlib.h>
#include <string.h>

#include "change/effect.h"
#include "once/holds.h"
#include "once/once.h"

/* How many leases the timer ends at once, and for how long: to end one costs more where many
 * buckets of its counter hold something. */
enum { ENDED_PER_TICK = 1000, ENDING_US = 1000, LOOKS_AFTER = 32 };

enum { HEAD_BYTES = 65, BODY_HEAD_BYTES = 16 };

/* --- A hold as bytes */

void hold_write(const struct hold_facts *facts, struct record_bytes *out) {
    uint32_t sizes[2] = {(uint32_t)facts->id.size, (uint32_t)facts->counter.size};
    unsigned char *head = out->head;
    head[0] = facts->state;
    memcpy(head + 1, &facts->amount, 8);
    memcpy(head + 9, &facts->most, 8);
    memcpy(head + 17, &facts->period_ms, 8);
    memcpy(head + 25, &facts->wall_ms, 8);
    memcpy(head + 33, &facts->deadline_ms, 8);
    memcpy(head + 41, &facts->until_ms, 8);
    memcpy(head + 49, &facts->actual, 8);
    memcpy(head + 57, sizes, 8);
    out->slices[0] = facts->id;
    out->slices[1] = facts->counter;
}

static void write_record(const struct record *record, struct record_bytes *out) {
    struct hold_facts facts = hold_facts_of((const struct hold *)record);
    hold_write(&facts, out);
}

/* Everything except where the bytes are. */
static struct hold_facts read_head(const unsigned char *head) {
    uint32_t sizes[2];
    struct hold_facts facts = {.state = head[0]};
    memcpy(&facts.amount, head + 1, 8);
    memcpy(&facts.most, head + 9, 8);
    memcpy(&facts.period_ms, head + 17, 8);
    memcpy(&facts.wall_ms, head + 25, 8);
    memcpy(&facts.deadline_ms, head + 33, 8);
    memcpy(&facts.until_ms, head + 41, 8);
    memcpy(&facts.actual, head + 49, 8);
    memcpy(sizes, head + 57, 8);
    facts.id.size = sizes[0];
    facts.counter.size = sizes[1];
    return facts;
}

static bool is_head(const struct hold_facts *facts) {
    const uint64_t most_ms = VALUE_MAX_TIME_MS + LEASE_MOST_MS + 1;
    bool has_times = facts->wall_ms >= 0 && facts->wall_ms <= WALL_MOST_MS &&
                     facts->deadline_ms > 0 && facts->deadline_ms <= most_ms &&
                     facts->until_ms > 0 && facts->until_ms <= most_ms;
    bool is_open = facts->state == HOLD_OPEN;
    return facts->state >= HOLD_OPEN && facts->state <= HOLD_EXPIRED && has_times &&
           facts->amount > 0 && facts->actual >= 0 &&
           (facts->state == HOLD_SETTLED || facts->actual == 0) &&
           (!is_open || facts->until_ms == facts->deadline_ms) && facts->id.size > 0 &&
           facts->id.size <= HOLD_ID_MOST;
}

static size_t body_size(const unsigned char *head) {
    struct hold_facts facts = read_head(head);
    return facts.id.size + facts.counter.size;
}

/* The rest of a hold, which has come from bytes. */
static void place(struct hold_facts *facts, const char *data) {
    facts->id.data = data;
    facts->counter.data = data + facts->id.size;
}

static bool has_period(const struct once *table, const struct hold_facts *facts) {
    return facts->period_ms == 0 || resolutions_find(&table->resolutions, facts->period_ms) >= 0;
}

/* Whether it belongs into the table. */
static bool fits(const struct once *table, const struct hold_facts *facts) {
    return has_period(table, facts) &&
           (facts->state != HOLD_OPEN || holds_can_add(table, facts->counter, facts->amount));
}

/* --- Saving */

/* An open hold whose lease is over stays until its end has been said. */
static bool is_over(const struct once *table, const struct record *record) {
    return ((const struct hold *)record)->state != HOLD_OPEN &&
           record->due_ms <= table->head.clock_ms;
}

static uint64_t saved_bytes(const struct once *table) {
    struct records_size size = records_measure(table, &hold_kind);
    bool is_used = size.count > 0 || table->holds.forced > 0;
    return is_used ? BODY_HEAD_BYTES + size.bytes : 0;
}

static lethe_status save(const struct once *table, lethe_sink sink) {
    uint64_t head[2] = {table->holds.forced, records_measure(table, &hold_kind).count};
    lethe_status status = sink.write(sink.context, head, sizeof head);
    if (status != LETHE_OK) return status;
    return records_save(table, &hold_kind, NULL, sink);
}

/* --- Loading */

/* One that commands could have left, as of the table's clock. */
static bool is_possible(const struct once *table, const unsigned char *head) {
    struct hold_facts facts = read_head(head);
    uint64_t now_ms = table->head.clock_ms;
    if (!is_head(&facts) || facts.deadline_ms > now_ms + 1 + LEASE_MOST_MS) return false;
    return facts.state == HOLD_OPEN ||
           (facts.until_ms <= now_ms + 1 && facts.until_ms + table->window_ms > now_ms);
}

static bool load_hold(struct once *table, const unsigned char *head, const char *body) {
    struct hold_facts facts = read_head(head);
    place(&facts, body);
    if (!has_period(table, &facts) || holds_find(table, facts.id) != NULL) return false;
    holds_keep(table, &facts);
    return true;
}

static int compare_walls(const void *one, const void *other) {
    int64_t a = (*(struct hold *const *)one)->wall_ms, b = (*(struct hold *const *)other)->wall_ms;
    return (a > b) - (a < b);
}

/* The holds come in any order. To add up what is held by the order of time appends each bucket;
 * otherwise one could move all that are there. False if a sum does not fit into 64 bits. */
static bool add_up(struct once *table) {
    const struct records *records = &table->holds.records;
    size_t count = 0, all = records_count(records);
    struct hold **open = redis.Alloc((all + 1) * sizeof(struct hold *));
    for (size_t i = 0; i < all; i++) {
        struct hold *hold = (struct hold *)records->heap[i];
        if (hold->state == HOLD_OPEN) open[count++] = hold;
    }
    qsort(open, count, sizeof(struct hold *), compare_walls);
    bool fit = true;
    for (size_t i = 0; i < count && fit; i++) {
        struct slice counter = {open[i]->counter, open[i]->counter_size};
        fit = holds_can_add(table, counter, open[i]->amount);
        if (fit) holds_add_up(table, open[i]);
    }
    redis.Free(open);
    return fit;
}

static lethe_status load(struct once *table, struct chunk_reader *reader, uint64_t bytes) {
    lethe_source source = chunk_reader_source(reader);
    uint64_t count;
    if (bytes < BODY_HEAD_BYTES) return LETHE_ECORRUPT;
    lethe_status status = source.read(source.context, &table->holds.forced, 8);
    if (status == LETHE_OK) status = source.read(source.context, &count, sizeof count);
    if (status == LETHE_OK && count == 0 && table->holds.forced == 0) return LETHE_ECORRUPT;
    if (status == LETHE_OK) status = records_load(table, &hold_kind, count, reader);
    return status == LETHE_OK && !add_up(table) ? LETHE_ECORRUPT : status;
}

static void take_out(struct once *table, struct record *record) {
    holds_take_out(table, (struct hold *)record);
}

const struct record_kind hold_kind = {
    .place = offsetof(struct once, holds.records),
    .head_size = HEAD_BYTES,
    .slice_count = 2,
    .is_over = is_over,
    .take_out = take_out,
    .write = write_record,
    .body_size = body_size,
    .is_possible = is_possible,
    .load = load_hold,
};

/* --- Digests and memory */

static void digest(const struct once *table, redis_digest *digest) {
    records_digest(table, &hold_kind, digest);
    if (table->holds.forced == 0) return;
    redis.DigestAddLongLong(digest, (long long)table->holds.forced);
    redis.DigestEndSequence(digest);
}

static size_t memory(const struct once *table) {
    const struct holds *holds = &table->holds;
    return holds->bytes + records_memory(&holds->records) + counters_memory(&holds->held);
}

static size_t allocations(const struct once *table) {
    const struct holds *holds = &table->holds;
    uint64_t held = holds->held.count * (1 + table->resolutions.count);
    return (size_t)(2 * records_count(&holds->records) + held);
}

/* --- Effects */

static bool repeat_hold(struct once *table, struct effect_reader *reader, bool apply) {
    uint64_t forced = effect_read_u64(reader);
    const unsigned char *head;
    const char *body;
    if (!records_read(reader, &hold_kind, &head, &body)) return false;
    struct hold_facts facts = read_head(head);
    /* No command sets two. They would be checked one by one, and might not fit together. */
    if (!is_head(&facts) || (reader->seen & SEEN_HOLD) != 0) return false;
    reader->seen |= SEEN_HOLD;
    place(&facts, body);
    /* A table that the effect makes is not there yet while the effect is only checked; one that a
     * hold makes has no periods. */
    if (!apply) return table == NULL ? facts.period_ms == 0 : fits(table, &facts);
    if (!fits(table, &facts)) return false;
    table->holds.forced = forced;
    holds_put(table, &facts);
    return true;
}

static bool repeat_expiry(struct once *table, struct effect_reader *reader, bool apply) {
    struct slice id;
    if (!records_read_id(reader, &id)) return false;
    struct hold *hold = apply ? holds_find(table, id) : NULL;
    if (hold != NULL && hold->state == HOLD_OPEN) holds_expire(table, hold);
    return true;
}

static bool repeat(struct once *table, uint8_t code, struct effect_reader *reader, bool apply,
                   bool *is_known) {
    *is_known = code == 'H' || code == 'h';
    if (code == 'H') return repeat_hold(table, reader, apply);
    return code == 'h' && repeat_expiry(table, reader, apply);
}

/* --- Time */

/* What is over is in the way of what is due. */
static void end_due(struct once *table, struct effect *effect) {
    struct record *record;
    uint64_t end_us = redis.MonotonicMicroseconds() + ENDING_US;
    for (unsigned i = 0; i < ENDED_PER_TICK; i++) {
        if (i % LOOKS_AFTER == LOOKS_AFTER - 1 && redis.MonotonicMicroseconds() >= end_us) return;
        record = records_due(&table->holds.records, table->head.clock_ms);
        if (record == NULL) return;
        struct hold *hold = (struct hold *)record;
        if (hold->state != HOLD_OPEN) {
            holds_take_out(table, hold);
            continue;
        }
        effect_u8(effect, 'h');
        effect_u32(effect, record->entry->size);
        effect_bytes(effect, record->entry->name, record->entry->size);
        holds_expire(table, hold);
    }
}

static void init(struct once *table) {
    records_init(&table->holds.records, table->seed);
    counters_init(&table->holds.held, table->seed);
}

static void release(void *context, struct record *record) {
    (void)context;
    redis.Free(record);
}

static void drop(struct once *table) {
    records_drop(&table->holds.records, release, NULL);
    counters_drop(&table->holds.held);
}

const struct once_section holds_section = {
    .tag = 2,
    .kind = &hold_kind,
    .init = init,
    .drop = drop,
    .saved_bytes = saved_bytes,
    .save = save,
    .load = load,
    .digest = digest,
    .memory = memory,
    .allocations = allocations,
    .repeat = repeat,
    .end_due = end_due,
};

/* module/once/table.c - the once-table as a data type: how it is made, saved, measured and
 * forgets.
 *
 * IDEA    One key holds many counters and one window of ids. An operation's counters are changed
 *         if its id is fresh, and the id is remembered: the server runs one command at a time,
 *         so both happen or neither, and both are in the same snapshot, log and replication
 *         stream. effects.c has what a replica repeats.
 *         A table that was made with PER also has buckets (meter.c), which are saved after their
 *         counter. Claims and holds are in sections of their own (sections.c). A table that
 *         uses none of these has the bytes that it always had.
 * I1      The window's clock is the table's after every effect. */
#include "once/once.h"

#include "command/options.h"
#include "server/limits.h"
#include "types.h"
#include "value/registry.h"

static redis_type *handle;
VALUE_TYPE_LOADER(once_type)

/* --- Making one */

static lethe_window_stats window_stats(const lethe_window *window, uint64_t now_ms) {
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    (void)lethe_window_info(window, now_ms, &stats);
    return stats;
}

/* How many records that are over are released after a change, and by the timer. */
enum { GIVEN_BACK_PER_CHANGE = 4, GIVEN_BACK_PER_TICK = 1000 };

/* Many effects have the same time, and no second one moves the window's clock. What a period's
 * beginning allocates is not what a client asks for, and no limit holds for it: none does on
 * replicas, and their windows would differ. */
void once_follow(struct once *table) {
    bool more;
    if (table->window_clock_ms == table->head.clock_ms) return;
    limits_lift();
    (void)lethe_window_work(table->window, table->head.clock_ms, 0, &more);
    limits_restore();
    table->window_clock_ms = table->head.clock_ms;
}

/* After every effect, here and on replicas (I1). */
static void complete(void *value) {
    struct once *table = value;
    once_follow(table);
    table->last_set = NULL;
    if (once_has_records(table)) sections_give_back(table, GIVEN_BACK_PER_CHANGE);
}

void once_fill(struct once *table, lethe_window *window) {
    lethe_window_stats stats = window_stats(window, 0);
    table->window = window;
    table->window_clock_ms = UINT64_MAX;
    table->seed = stats.seed;
    table->window_ms = stats.window_ms;
    table->period_ms = stats.period_ms;
    table->is_forgetful = stats.kind == LETHE_WINDOW_FORGETFUL;
    counters_init(&table->counters, stats.seed);
    sections_init(table);
}

/* A window of the forgetful kind has no cap here. A copy of it, in a replica or after a restart,
 * may need another amount of memory than the original, and would refuse an id that the original has
 * taken: a duplicate would be applied. */
static lethe_status make(void *value, const void *options) {
    const struct once_options *all = options;
    const lethe_window_options *wanted = &all->window;
    if (wanted->kind == LETHE_WINDOW_FORGETFUL && wanted->max_memory_bytes > 0) return LETHE_EINVAL;
    lethe_window *window;
    lethe_status status = lethe_window_new(wanted, &window);
    if (status != LETHE_OK) return status;
    once_fill(value, window);
    once_set_resolutions(value, &all->resolutions);
    return LETHE_OK;
}

/* Warns in the log, at most once a minute, that an eviction forgets. */
static void warn_of_eviction(redis_context *context) {
    static uint64_t warned_us;
    uint64_t now_us = redis.MonotonicMicroseconds();
    bool is_recent = warned_us != 0 && now_us - warned_us < 60000000;
    if (is_recent || (redis.GetContextFlags(context) & REDIS_FLAG_EVICT) == 0) return;
    warned_us = now_us;
    redis.Log(
        context, "warning",
        "maxmemory-policy may evict once-tables. An evicted table has forgotten all ids, and "
        "duplicates of operations would be applied again: use noeviction, or volatile-* and no "
        "expiry on tables.");
}

/* --- Forgetting */

/* To give one slab back takes half a millisecond. How many filters are freed at once. */
enum { WORK_SLABS = 2, WORK_FILTERS = 4 };

/* A window visits all its blocks in 31 periods, half a mebibyte whenever its clock moves. */
#define PIECE_OF_A_LAP ((uint64_t)31 << 19)

/* Which filters of the forgetful kind are dropped shows in what is saved, so it happens in effects
 * only. */
static void let_time_pass(void *value) {
    struct once *table = value;
    unsigned budget = table->is_forgetful ? WORK_FILTERS : 0;
    (void)lethe_window_work(table->window, table->head.clock_ms, budget, &table->has_more);
}

/* No time passes: only memory of what was forgotten is given back, a few slabs at a time. */
static void give_back(void *value) {
    struct once *table = value;
    bool more;
    sections_give_back(table, GIVEN_BACK_PER_TICK);
    if (table->is_forgetful) return;
    (void)lethe_window_work(table->window, table->head.clock_ms, WORK_SLABS, &more);
}

static bool is_due(const void *value, uint64_t now_ms) {
    const struct once *table = value;
    if (sections_are_due(table, now_ms)) return true;
    lethe_window_stats stats = window_stats(table->window, table->head.clock_ms);
    if (table->is_forgetful) {
        bool is_past = now_ms - stats.clock_ms >= table->period_ms || table->has_more;
        return stats.parts > 0 && is_past;
    }
    /* A large window's clock is moved more often, so that it never has much to do at once. */
    uint64_t pieces = 1 + stats.memory_bytes / PIECE_OF_A_LAP;
    bool is_late = now_ms / table->period_ms != stats.clock_ms / table->period_ms ||
                   now_ms - stats.clock_ms >= table->period_ms / pieces;
    return (stats.ids > 0 || stats.parts > 1) && is_late;
}

static void end_due(void *value, struct effect *effect) {
    sections_end_due(value, effect);
}

static void drop(void *value) {
    struct once *table = value;
    lethe_window_free(table->window);
    counters_drop(&table->counters);
    sections_drop(table);
}

/* --- What the server wants to know */

static size_t memory(const void *value) {
    const struct once *table = value;
    return window_stats(table->window, table->head.clock_ms).memory_bytes +
           counters_memory(&table->counters) + sections_memory(table);
}

static size_t allocations(const void *value) {
    const struct once *table = value;
    uint64_t bytes = window_stats(table->window, table->head.clock_ms).memory_bytes;
    uint64_t blocks = table->counters.count * (1 + table->resolutions.count);
    return blocks + table->counters.slab_count + sections_allocations(table) +
           effort_of_bytes(bytes);
}

struct digesting {
    redis_digest *digest;
    uint32_t resolutions;
};

static void digest_counter(void *context, struct counter *counter) {
    const struct digesting *digesting = context;
    redis_digest *digest = digesting->digest;
    redis.DigestAddStringBuffer(digest, counter->name, counter->size);
    redis.DigestAddLongLong(digest, counter->value);
    for (uint32_t i = 0; i < digesting->resolutions; i++) {
        const struct buckets *buckets = counters_buckets(counter, i);
        for (uint32_t place = 0; place < buckets_count(buckets); place++) {
            redis.DigestAddLongLong(digest, buckets_at(buckets, place)->start_ms);
            redis.DigestAddLongLong(digest, buckets_at(buckets, place)->value);
        }
        redis.DigestAddLongLong(digest, buckets_count(buckets));
    }
    redis.DigestEndSequence(digest);
}

static void digest_resolutions(const struct resolutions *resolutions, redis_digest *digest) {
    for (uint32_t i = 0; i < resolutions->count; i++) {
        redis.DigestAddLongLong(digest, (long long)resolutions->each[i].period_ms);
        redis.DigestAddLongLong(digest, resolutions->each[i].keep);
        redis.DigestEndSequence(digest);
    }
}

static void tally(const void *value, struct tally *out) {
    const struct once *table = value;
    lethe_window_stats stats = window_stats(table->window, value_time(&table->head));
    *out = (struct tally){.tables = 1,
                          .fresh = stats.fresh,
                          .duplicates = stats.duplicates,
                          .refused = stats.refused,
                          .strained = stats.strain != 0};
}

static lethe_status save_window(const void *window, lethe_sink sink) {
    return lethe_window_save(window, sink);
}

/* The window's saved bytes are every fingerprint with its period, the clock, the seed and the
 * options. */
static void digest(const void *value, redis_digest *digest) {
    const struct once *table = value;
    digest_saved(save_window, table->window, digest);
    redis.DigestEndSequence(digest);
    digest_resolutions(&table->resolutions, digest);
    struct digesting digesting = {digest, table->resolutions.count};
    counters_each(&table->counters, digest_counter, &digesting);
    sections_digest(table, digest);
}

static int defrag(void *value, redis_defrag *defrag) {
    struct once *table = value;
    unsigned long cursor = 0;
    if (redis.DefragCursorGet(defrag, &cursor) != REDIS_OK) cursor = 0;
    cursor = counters_defrag(&table->counters, defrag, cursor);
    if (cursor != 0) redis.DefragCursorSet(defrag, cursor);
    return cursor != 0;
}

const struct value_type once_type = {
    .name = "lethe-onc",
    VALUE_TYPE_PREFIX("ONCE"),
    .noun = "table",
    .item = "id",
    .value_bytes = sizeof(struct once),
    .grows_in_pieces = true,
    .handle = &handle,
    .commands = {once_commands, once_meter_commands, once_limit_commands, once_claim_commands,
                 once_hold_commands},
    .create_word = "CREATE",
    .options = once_options,
    .default_options = once_default_options,
    .contradiction = once_contradiction,
    .write_more = once_write_more,
    .planned_bytes = window_planned_bytes,
    .make = make,
    .on_made = warn_of_eviction,
    .repeat = once_repeat,
    .complete = complete,
    .info_fields = once_info_fields,
    .gather_facts = once_gather_facts,
    .tally = tally,
    .load_from_snapshot = load_from_snapshot,
    .save = once_save,
    .version_of = once_version,
    .load = once_load,
    .drop = drop,
    .memory = memory,
    .allocations = allocations,
    .digest = digest,
    .defrag = defrag,
    .let_time_pass = let_time_pass,
    .is_due = is_due,
    .end_due = end_due,
    .give_back = give_back,
};

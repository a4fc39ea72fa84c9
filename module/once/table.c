/* module/once/table.c - the once-table as a data type: how it is made, saved, measured and
 * forgets.
 *
 * IDEA    One key holds many counters and one window of ids. An operation's counters are changed
 *         if its id is fresh, and the id is remembered: the server runs one command at a time,
 *         so both happen or neither, and both are in the same snapshot, log and replication
 *         stream. effects.c has what a replica repeats.
 * I1      The window's clock is the table's after every effect. */
#include "once/once.h"

#include <string.h>

#include "command/options.h"
#include "server/allocator.h"
#include "types.h"

static redis_type *handle;
VALUE_TYPE_LOADER(once_type)

/* --- Making one */

static lethe_window_stats window_stats(const lethe_window *window, uint64_t now_ms) {
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    (void)lethe_window_info(window, now_ms, &stats);
    return stats;
}

/* After every effect, here and on replicas (I1). */
static void complete(void *value) {
    struct once *table = value;
    bool more;
    (void)lethe_window_work(table->window, table->head.clock_ms, 0, &more);
}

static void fill(struct once *table, lethe_window *window) {
    lethe_window_stats stats = window_stats(window, 0);
    table->window = window;
    table->seed = stats.seed;
    table->period_ms = stats.period_ms;
    table->is_forgetful = stats.kind == LETHE_WINDOW_FORGETFUL;
    counters_init(&table->counters, stats.seed);
}

/* A window of the forgetful kind has no cap here. A copy of it, in a replica or after a restart,
 * may need another amount of memory than the original, and would refuse an id that the original has
 * taken: a duplicate would be applied. */
static lethe_status make(void *value, const void *options) {
    const lethe_window_options *wanted = options;
    if (wanted->kind == LETHE_WINDOW_FORGETFUL && wanted->max_memory_bytes > 0) return LETHE_EINVAL;
    lethe_window *window;
    lethe_status status = lethe_window_new(options, &window);
    if (status == LETHE_OK) fill(value, window);
    return status;
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
    if (table->is_forgetful) return;
    (void)lethe_window_work(table->window, table->head.clock_ms, WORK_SLABS, &more);
}

static bool is_due(const void *value, uint64_t now_ms) {
    const struct once *table = value;
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

/* --- Saving and loading */

struct saving {
    lethe_sink sink;
    lethe_status status;
};

static void save_counter(void *context, struct counter *counter) {
    struct saving *saving = context;
    unsigned char head[12];
    memcpy(head, &counter->size, 4);
    memcpy(head + 4, &counter->value, 8);
    if (saving->status == LETHE_OK)
        saving->status = saving->sink.write(saving->sink.context, head, sizeof head);
    if (saving->status == LETHE_OK)
        saving->status = saving->sink.write(saving->sink.context, counter->name, counter->size);
}

static lethe_status save(const void *value, lethe_sink sink) {
    const struct once *table = value;
    uint64_t head[2] = {table->seed, table->counters.count};
    struct saving saving = {.sink = sink, .status = sink.write(sink.context, head, sizeof head)};
    if (saving.status == LETHE_OK) counters_each(&table->counters, save_counter, &saving);
    return saving.status == LETHE_OK ? lethe_window_save(table->window, sink) : saving.status;
}

static lethe_status load_counters(struct counters *counters, uint64_t count,
                                  struct chunk_reader *reader) {
    lethe_source source = chunk_reader_source(reader);
    for (uint64_t i = 0; i < count; i++) {
        unsigned char head[12];
        lethe_status status = source.read(source.context, head, sizeof head);
        if (status != LETHE_OK) return status;
        uint32_t size;
        int64_t value;
        memcpy(&size, head, 4);
        memcpy(&value, head + 4, 8);
        if (size > reader->left) return LETHE_ECORRUPT;
        char *name = redis.Alloc((size_t)size + 1);
        status = source.read(source.context, name, size);
        uint64_t before = counters->count;
        if (status == LETHE_OK) counters_add(counters, name, size)->value = value;
        redis.Free(name);
        if (status != LETHE_OK) return status;
        if (counters->count == before) return LETHE_ECORRUPT; /* twice the same name */
    }
    return LETHE_OK;
}

static lethe_status load(void *value, lethe_source source) {
    struct once *table = value;
    struct chunk_reader *reader = source.context;
    uint64_t head[2];
    lethe_status status = source.read(source.context, head, sizeof head);
    if (status != LETHE_OK) return status;
    struct counters counters;
    counters_init(&counters, head[0]);
    lethe_window *window = NULL;
    status = load_counters(&counters, head[1], reader);
    if (status == LETHE_OK)
        status = lethe_window_load(chunk_reader_source(reader), &module_allocator, &window);
    if (status == LETHE_OK) {
        fill(table, window); /* from here on both belong to the table */
        table->counters = counters;
        lethe_window_stats stats = window_stats(window, 0);
        bool is_ours = table->seed == head[0] && stats.clock_ms == table->head.clock_ms;
        return is_ours ? LETHE_OK : LETHE_ECORRUPT;
    }
    counters_drop(&counters);
    return status;
}

static void drop(void *value) {
    struct once *table = value;
    lethe_window_free(table->window);
    counters_drop(&table->counters);
}

/* --- What the server wants to know */

static size_t memory(const void *value) {
    const struct once *table = value;
    return window_stats(table->window, table->head.clock_ms).memory_bytes +
           counters_memory(&table->counters);
}

static size_t allocations(const void *value) {
    const struct once *table = value;
    uint64_t bytes = window_stats(table->window, table->head.clock_ms).memory_bytes;
    return table->counters.count + table->counters.slab_count + effort_of_bytes(bytes);
}

static void digest_counter(void *context, struct counter *counter) {
    redis.DigestAddStringBuffer(context, counter->name, counter->size);
    redis.DigestAddLongLong(context, counter->value);
    redis.DigestEndSequence(context);
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
    counters_each(&table->counters, digest_counter, digest);
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
    .commands = {once_commands},
    .create_word = "CREATE",
    .options = once_options,
    .default_options = window_options_default,
    .planned_bytes = window_planned_bytes,
    .make = make,
    .on_made = warn_of_eviction,
    .repeat = once_repeat,
    .complete = complete,
    .info_fields = once_info_fields,
    .gather_facts = once_gather_facts,
    .load_from_snapshot = load_from_snapshot,
    .save = save,
    .load = load,
    .drop = drop,
    .memory = memory,
    .allocations = allocations,
    .digest = digest,
    .defrag = defrag,
    .let_time_pass = let_time_pass,
    .is_due = is_due,
    .give_back = give_back,
};

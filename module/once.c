/* module/once.c - the once-table as a data type: how it is made, saved, repeated and forgotten.
 *
 * IDEA    One key holds many counters and one window of operation ids. A command's counters are changed
 *         if its id is fresh, and remembered with it: the server runs one command at a time, so both happen
 *         or neither, and both are in the same snapshot, log and replication stream.
 * EFFECT  What a replica repeats, in order (docs/format/module.md):
 *           C  make the table with these options
 *           T  ask the window about ids, with what the master's window answered; t: about one
 *           F  take an id back
 *           S  set a counter; s: one with a short name     D  remove a counter
 *           W  only let time pass
 *         A duplicate sends a T as well. It changes nothing, but the replication offset moves: so a
 *         client that is told "duplicate" and then waits for replicas (WAIT) waits for the original too,
 *         which came before. Without it the original could still die with its master.
 * I1      The calls to the window, their order and their times are the same on master and replica; so are
 *         then the bytes of the window.
 * I2      Where a replica's window answers differently all the same (it ran out of memory, say), the
 *         master's answer is brought about: fresh ids are recorded, refused ones are not.
 * I3      Counters are set to the master's values. */
#include "once.h"

#include <string.h>

static redis_type *handle;

/* --- Making one */

/* After every effect, here and on replicas: the window's clock is the table's, whatever the effect was. */
static void complete(void *value) {
    struct once *table = value;
    (void)lethe_window_work(table->window, table->head.clock_ms, 0);
}

static void fill(struct once *table, lethe_window *window) {
    lethe_window_stats stats = lethe_window_info(window, 0);
    table->window = window;
    table->seed = stats.seed;
    table->period_ms = stats.period_ms;
    counters_init(&table->counters, stats.seed);
}

static lethe_status make(void *value, const void *options) {
    lethe_window *window;
    lethe_status status = lethe_window_new(options, &window);
    if (status == LETHE_OK) fill(value, window);
    return status;
}

/* Says in the log, once a minute at most, that evictions forget. */
static void warn_of_eviction(redis_context *context) {
    static uint64_t warned_us;
    uint64_t now_us = redis.MonotonicMicroseconds();
    bool is_recent = warned_us != 0 && now_us - warned_us < 60000000;
    if (is_recent || (redis.GetContextFlags(context) & REDIS_FLAG_EVICT) == 0) return;
    warned_us = now_us;
    redis.Log(context, "warning",
              "maxmemory-policy may evict once-tables. An evicted table has forgotten all ids, and "
              "copies of operations would be applied again: use noeviction, or volatile-* and no "
              "expiry on tables.");
}

/* --- Changing one */

lethe_hash once_hash(const struct once *table, const redis_string *id) {
    size_t size;
    const char *data = redis.StringPtrLen(id, &size);
    return lethe_hash_bytes(table->seed, data, size);
}

/* One id goes another way than many, so a replica must be told as many at once. */
static void ask_window(struct once *table, const lethe_hash *ids, size_t count, uint8_t *answers) {
    uint64_t now_ms = table->head.clock_ms;
    if (count == 1) {
        lethe_window_answer answer;
        (void)!lethe_window_check_and_record(table->window, ids[0], now_ms, &answer);
        answers[0] = (uint8_t)answer;
    } else {
        (void)!lethe_window_check_and_record_batch(table->window, ids, count, now_ms, answers);
    }
}

void once_note_try(const lethe_hash *ids, size_t count, const uint8_t *answers) {
    if (count == 1) {
        unsigned char step[2 + sizeof *ids] = {'t', answers[0]};
        memcpy(step + 2, ids, sizeof *ids);
        effect_bytes(step, sizeof step);
        return;
    }
    effect_u8('T');
    effect_u32((uint32_t)count);
    effect_bytes(answers, count);
    effect_bytes(ids, count * sizeof *ids);
}

void once_try(struct once *table, const lethe_hash *ids, size_t count, uint8_t *answers) {
    ask_window(table, ids, count, answers);
    once_note_try(ids, count, answers);
}

lethe_status once_forget(struct once *table, lethe_hash id) {
    lethe_status status = lethe_window_forget(table->window, id, table->head.clock_ms);
    effect_u8('F');
    effect_hash(id);
    return status;
}

/* Small numbers of either sign in few bytes: seven bits each, the lowest first, the upper bit saying that more follow; the
 * sign is in the lowest bit of all. */
static size_t write_short(int64_t value, unsigned char *out) {
    uint64_t rest = (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
    size_t size = 0;
    for (; rest > 127; rest >>= 7)
        out[size++] = (unsigned char)(rest | 128);
    out[size++] = (unsigned char)rest;
    return size;
}

static bool read_short(struct effect_reader *reader, int64_t *out) {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = effect_read_u8(reader);
        uint64_t bits = (uint64_t)(byte & 127) << shift;
        if (bits >> shift != (byte & 127)) return false;
        number |= bits;
        if (byte > 127) continue;
        *out = (int64_t)(number >> 1 ^ -(number & 1));
        return reader->is_valid;
    }
    return false;
}

void once_note_counter(const struct counter *counter) {
    if (counter->size <= UINT8_MAX) {
        unsigned char step[2 + UINT8_MAX + 10];
        step[0] = 's';
        step[1] = (unsigned char)counter->size;
        memcpy(step + 2, counter->name, counter->size);
        size_t size = 2 + counter->size;
        size += write_short(counter->value, step + size);
        effect_bytes(step, size);
        return;
    }
    effect_u8('S');
    effect_u64((uint64_t)counter->value);
    effect_u32(counter->size);
    effect_bytes(counter->name, counter->size);
}

void once_note_removal(const char *name, size_t size) {
    effect_u8('D');
    effect_u32((uint32_t)size);
    effect_bytes(name, size);
}

/* --- Repeating what a master did */

/* Brings about what the master's window answered (I2). */
static void settle(struct once *table, lethe_hash id, uint8_t wanted, uint8_t got) {
    uint64_t now_ms = table->head.clock_ms;
    if (wanted == got) return;
    if (wanted == LETHE_FRESH) (void)!lethe_window_record(table->window, id, now_ms);
    if (wanted == LETHE_REFUSED && got == LETHE_FRESH)
        (void)!lethe_window_forget(table->window, id, now_ms);
}

static void repeat_tries(struct once *table, const unsigned char *data, uint32_t count,
                         const uint8_t *wanted) {
    /* Hashes first, for their alignment; the bytes they come from have none. */
    lethe_hash *ids = scratch(count, sizeof *ids + 1);
    uint8_t *answers = (uint8_t *)(ids + count);
    memcpy(ids, data, (size_t)count * sizeof *ids);
    ask_window(table, ids, count, answers);
    for (uint32_t i = 0; i < count; i++)
        settle(table, ids[i], wanted[i], answers[i]);
}

static bool repeat_try(struct once *table, struct effect_reader *reader, bool apply) {
    uint32_t count = effect_read_u32(reader);
    const uint8_t *wanted = effect_read_bytes(reader, count);
    const unsigned char *data = effect_read_bytes(reader, (size_t)count * sizeof(lethe_hash));
    if (data == NULL || !apply) return data != NULL && count > 0;
    repeat_tries(table, data, count, wanted);
    return true;
}

static bool repeat_one_try(struct once *table, struct effect_reader *reader, bool apply) {
    const uint8_t *wanted = effect_read_bytes(reader, 1);
    const unsigned char *data = effect_read_bytes(reader, sizeof(lethe_hash));
    if (data != NULL && apply) repeat_tries(table, data, 1, wanted);
    return data != NULL;
}

static bool repeat_counter(struct once *table, struct effect_reader *reader, bool is_set,
                           bool apply) {
    int64_t value = is_set ? (int64_t)effect_read_u64(reader) : 0;
    uint32_t size = effect_read_u32(reader);
    const char *name = effect_read_bytes(reader, size);
    if (name == NULL || !apply) return name != NULL;
    if (is_set) {
        counters_add(&table->counters, name, size)->value = value;
    } else {
        (void)counters_remove(&table->counters, name, size);
    }
    return true;
}

static bool repeat_short_counter(struct once *table, struct effect_reader *reader, bool apply) {
    uint8_t size = effect_read_u8(reader);
    const char *name = effect_read_bytes(reader, size);
    int64_t value;
    if (name == NULL || !read_short(reader, &value)) return false;
    if (apply) counters_add(&table->counters, name, size)->value = value;
    return true;
}

static bool repeat(void *value, uint8_t code, struct effect_reader *reader, bool apply) {
    struct once *table = value;
    switch (code) {
    case 'T':
        return repeat_try(table, reader, apply);
    case 't':
        return repeat_one_try(table, reader, apply);
    case 's':
        return repeat_short_counter(table, reader, apply);
    case 'F': {
        lethe_hash id = effect_read_hash(reader);
        if (apply) (void)!lethe_window_forget(table->window, id, table->head.clock_ms);
        return true;
    }
    case 'S':
    case 'D':
        return repeat_counter(table, reader, code == 'S', apply);
    default:
        return false;
    }
}

/* --- Forgetting */

/* Giving one back takes half a millisecond. */
enum { WORK_SEGMENTS = 2 };

/* A window visits all its blocks in 31 periods, half a mebibyte whenever its clock moves. */
#define PIECE_OF_A_LAP ((uint64_t)31 << 19)

/* No time passes: only memory of what was forgotten goes back, a few segments at once. */
static void give_back(void *value) {
    struct once *table = value;
    (void)lethe_window_work(table->window, table->head.clock_ms, WORK_SEGMENTS);
}

static bool is_due(const void *value, uint64_t now_ms) {
    const struct once *table = value;
    lethe_window_stats stats = lethe_window_info(table->window, table->head.clock_ms);
    /* A large window is told the time more often, so that it need not do much at once. */
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
        lethe_window_stats stats = lethe_window_info(window, 0);
        bool is_ours = stats.kind == LETHE_WINDOW_QUOTIENT && table->seed == head[0] &&
                       stats.clock_ms == table->head.clock_ms;
        return is_ours ? LETHE_OK : LETHE_ECORRUPT;
    }
    counters_drop(&counters);
    return status;
}

static void *load_from_snapshot(redis_io *io, int version) {
    return value_from_snapshot(&once_type, io, version);
}

static void drop(void *value) {
    struct once *table = value;
    lethe_window_free(table->window);
    counters_drop(&table->counters);
}

/* --- What the server wants to know */

static size_t memory(const void *value) {
    const struct once *table = value;
    return lethe_window_info(table->window, table->head.clock_ms).memory_bytes +
           counters_memory(&table->counters);
}

static size_t allocations(const void *value) {
    const struct once *table = value;
    uint64_t bytes = lethe_window_info(table->window, table->head.clock_ms).memory_bytes;
    return table->counters.count + table->counters.segment_count + effort_of_bytes(bytes);
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
    lethe_hash hash;
    lethe_status status = hash_of_saved(save_window, table->window, &hash);
    redis.DigestAddLongLong(digest, status);
    redis.DigestAddStringBuffer(digest, (const char *)&hash, sizeof hash);
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
    .value_bytes = sizeof(struct once),
    .grows_in_pieces = true,
    .handle = &handle,
    .commands = {once_commands},
    VALUE_TYPE_WINDOW_OPTIONS("CREATE"),
    .make = make,
    .on_made = warn_of_eviction,
    .repeat = repeat,
    .complete = complete,
    .info = once_info,
    .load_from_snapshot = load_from_snapshot,
    .save = save,
    .load = load,
    .drop = drop,
    .memory = memory,
    .allocations = allocations,
    .digest = digest,
    .defrag = defrag,
    .let_time_pass = complete,
    .is_due = is_due,
    .give_back = give_back,
};

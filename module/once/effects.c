/* module/once/effects.c - what happens to a once-table, and the steps by which replicas repeat
 * it.
 *
 * STEPS   In the order of an effect (docs/format/module.md):
 *           C  make the table with these options
 *           T  ask the window about ids, with what the master's window answered; t: about one
 *           F  take an id back
 *           R  make room for an id that is not added
 *           S  set a counter; s: one with a short name     D  remove a counter
 *           P  count per these periods too                 w  it is that time by a wall clock
 *           l  what is added belongs to that time, by a wall clock
 *           b  set the buckets of the time of w or l, of the counter that was set last
 *           W  only let time pass
 * I1      The calls to the window, their order and their times are the same on master and
 *         replica; so the bytes of the window are the same.
 * I2      Where a replica's window answers differently (because it ran out of memory, say), the
 *         master's answer is enforced: fresh ids are recorded, refused ones are not.
 * I3      Counters and buckets are set to the master's values, and a bucket belongs to the period
 *         of the master's wall clock.
 * I4      A window of the forgetful kind takes no id back. An id that is not to stay never enters
 *         it: a master makes room for an id and adds it when its operation is done, and a replica
 *         only makes room where its master refused an id or did not add it.
 * I5      A window refuses an id at its cap, which a replica's has too, or because no memory could
 *         be had, and nothing is changed then. So a replica gets no memory either while it repeats
 *         a refusal, and counts the same. Only the beginning of a period gets what it needs, on
 *         both: so time passes before an id is asked about.
 * WHY     A duplicate sends a T as well. It changes nothing, but it moves the replication
 *         offset: a client that gets "duplicate" and then waits for replicas (WAIT) waits for
 *         the original too, which came before. Otherwise the original could still be lost with
 *         its master. */
#include <string.h>

#include "once/once.h"
#include "server/limits.h"
#include "server/scratch.h"

/* --- Changing */

/* A window of the forgetful kind allocates nothing only because time passes. */
static void follow(struct once *table) {
    if (!table->is_forgetful) once_follow(table);
}

static void ask_batch(struct once *table, const lethe_hash *ids, size_t count, uint8_t *answers) {
    (void)!lethe_window_add_and_test_batch(table->window, ids, count, table->head.clock_ms,
                                           answers);
}

/* A single id takes another path than a batch, so a replica must ask about as many at once. */
static void ask_window(struct once *table, const lethe_hash *ids, size_t count, uint8_t *answers) {
    if (count == 1) {
        lethe_answer answer;
        (void)!lethe_window_add_and_test(table->window, ids[0], table->head.clock_ms, &answer);
        answers[0] = (uint8_t)answer;
    } else {
        ask_batch(table, ids, count, answers);
    }
}

static void note_try(struct effect *effect, const lethe_hash *ids, size_t count,
                     const uint8_t *answers) {
    if (effect->is_silent) return;
    if (count == 1) {
        unsigned char step[2 + sizeof *ids] = {'t', answers[0]};
        memcpy(step + 2, ids, sizeof *ids);
        effect_bytes(effect, step, sizeof step);
        return;
    }
    effect_u8(effect, 'T');
    effect_u32(effect, (uint32_t)count);
    effect_bytes(effect, answers, count);
    effect_bytes(effect, ids, count * sizeof *ids);
}

void once_try(struct once *table, struct effect *effect, const lethe_hash *ids, size_t count,
              uint8_t *answers) {
    follow(table);
    ask_window(table, ids, count, answers);
    note_try(effect, ids, count, answers);
}

lethe_status once_forget(struct once *table, struct effect *effect, lethe_hash id) {
    follow(table);
    lethe_status status = lethe_window_remove(table->window, id, table->head.clock_ms);
    effect_u8(effect, 'F');
    effect_hash(effect, id);
    return status;
}

uint8_t once_begin(struct once *table, struct effect *effect, lethe_hash id) {
    uint8_t answer = LETHE_ANSWER_FRESH;
    if (!table->is_forgetful || once_is_duplicate(table, id)) {
        once_try(table, effect, &id, 1, &answer);
    } else if (lethe_window_make_room(table->window, id, table->head.clock_ms) != LETHE_OK) {
        answer = LETHE_ANSWER_REFUSED;
        note_try(effect, &id, 1, &answer);
    }
    return answer;
}

void once_end(struct once *table, struct effect *effect, lethe_hash id, bool is_done) {
    uint8_t answer;
    if (!table->is_forgetful) {
        if (!is_done) (void)!once_forget(table, effect, id);
    } else if (is_done) {
        once_try(table, effect, &id, 1, &answer);
    } else {
        effect_u8(effect, 'R');
        effect_hash(effect, id);
    }
}

/* Small numbers of either sign in few bytes: seven bits per byte, the lowest first; the upper
 * bit says that more follow, and the sign is in the lowest bit of all. */
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

void once_note_counter(struct effect *effect, const struct counter *counter) {
    if (effect->is_silent) return;
    if (counter->size <= UINT8_MAX) {
        unsigned char step[2 + UINT8_MAX + 10];
        step[0] = 's';
        step[1] = (unsigned char)counter->size;
        memcpy(step + 2, counter->name, counter->size);
        size_t size = 2 + counter->size;
        size += write_short(counter->value, step + size);
        effect_bytes(effect, step, size);
        return;
    }
    effect_u8(effect, 'S');
    effect_u64(effect, (uint64_t)counter->value);
    effect_u32(effect, counter->size);
    effect_bytes(effect, counter->name, counter->size);
}

void once_note_wall(struct effect *effect, const struct once *table) {
    effect_u8(effect, 'w');
    effect_u64(effect, (uint64_t)table->wall.now_ms);
    if (!table->wall.is_late) return;
    effect_u8(effect, 'l');
    effect_u64(effect, (uint64_t)table->wall.at_ms);
}

void once_note_buckets(struct effect *effect, const struct once *table,
                       const struct counter *counter) {
    unsigned char step[2 + RESOLUTIONS_LIMIT * 10] = {'b', (uint8_t)table->resolutions.count};
    size_t size = 2;
    for (uint32_t i = 0; i < table->resolutions.count; i++)
        size += write_short(once_bucket(table, counter, i), step + size);
    effect_bytes(effect, step, size);
}

void once_note_removal(struct effect *effect, const char *name, size_t size) {
    effect_u8(effect, 'D');
    effect_u32(effect, (uint32_t)size);
    effect_bytes(effect, name, size);
}

/* --- Repeating what a master did */

/* Brings about what the master's window answered (I2). */
static void settle(struct once *table, lethe_hash id, uint8_t wanted, uint8_t got) {
    uint64_t now_ms = table->head.clock_ms;
    if (wanted == got) return;
    if (wanted == LETHE_ANSWER_FRESH) (void)!lethe_window_add(table->window, id, now_ms);
    if (wanted == LETHE_ANSWER_REFUSED && got == LETHE_ANSWER_FRESH)
        (void)!lethe_window_remove(table->window, id, now_ms);
}

/* Repeats that the master's window refused an id (I4, I5). */
static void repeat_refusal(struct once *table, lethe_hash id, bool is_single) {
    uint8_t answer = LETHE_ANSWER_REFUSED;
    follow(table);
    limits_deny(true);
    if (table->is_forgetful) {
        (void)!lethe_window_make_room(table->window, id, table->head.clock_ms);
    } else if (is_single) {
        ask_window(table, &id, 1, &answer);
    } else {
        ask_batch(table, &id, 1, &answer);
    }
    limits_deny(false);
    settle(table, id, LETHE_ANSWER_REFUSED, answer);
}

/* A batch stops at each id that is refused, and continues after it: so it is the same in pieces. */
static void repeat_tries(struct once *table, const unsigned char *data, uint32_t count,
                         const uint8_t *wanted) {
    struct items ids;
    items_copy(&ids, data, count);
    for (uint32_t from = 0, to; from < count; from = to) {
        const uint8_t *refused = memchr(wanted + from, LETHE_ANSWER_REFUSED, count - from);
        to = refused != NULL ? (uint32_t)(refused - wanted) : count;
        if (count == 1 && to == 1) {
            ask_window(table, ids.hashes, 1, ids.answers);
        } else if (to > from) {
            ask_batch(table, ids.hashes + from, to - from, ids.answers + from);
        }
        for (uint32_t i = from; i < to; i++)
            settle(table, ids.hashes[i], wanted[i], ids.answers[i]);
        if (to < count) repeat_refusal(table, ids.hashes[to++], count == 1);
    }
    items_give(&ids);
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

static void set_counter(struct once *table, const char *name, size_t size, int64_t value) {
    table->last_set = counters_add(&table->counters, name, size);
    table->last_set->value = value;
}

static bool repeat_counter(struct once *table, struct effect_reader *reader, bool is_set,
                           bool apply) {
    int64_t value = is_set ? (int64_t)effect_read_u64(reader) : 0;
    uint32_t size = effect_read_u32(reader);
    const char *name = effect_read_bytes(reader, size);
    reader->seen = is_set ? reader->seen | SEEN_COUNTER : reader->seen & ~(uint32_t)SEEN_COUNTER;
    if (name == NULL || !apply) return name != NULL;
    table->last_set = NULL;
    if (is_set) {
        set_counter(table, name, size, value);
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
    reader->seen |= SEEN_COUNTER;
    if (apply) set_counter(table, name, size, value);
    return true;
}

/* Only of a table that was just made: what is there, or comes before it in the effect, has no room
 * for buckets. */
static bool repeat_resolutions(struct once *table, struct effect_reader *reader, bool apply) {
    struct resolutions resolutions;
    if (!once_read_more(reader, &resolutions)) return false;
    bool is_empty = table == NULL || (!once_is_metered(table) && table->counters.count == 0 &&
                                      records_count(&table->holds.records) == 0);
    bool may_be = is_empty && reader->seen == 0;
    if (may_be && apply) once_set_resolutions(table, &resolutions);
    return may_be;
}

static bool repeat_wall(struct once *table, struct effect_reader *reader, bool apply) {
    uint64_t wall_ms = effect_read_u64(reader);
    if (!reader->is_valid || wall_ms > WALL_MOST_MS) return false;
    reader->seen |= SEEN_WALL;
    if (apply) once_set_wall(table, (int64_t)wall_ms);
    return true;
}

/* Only after the present, by which buckets are dropped. */
static bool repeat_late(struct once *table, struct effect_reader *reader, bool apply) {
    uint64_t wall_ms = effect_read_u64(reader);
    bool has_present = (reader->seen & SEEN_WALL) != 0;
    if (!reader->is_valid || wall_ms > WALL_MOST_MS || !has_present) return false;
    if (apply) once_set_late(table, (int64_t)wall_ms);
    return true;
}

static bool repeat_buckets(struct once *table, struct effect_reader *reader, bool apply) {
    uint8_t count = effect_read_u8(reader);
    int64_t values[RESOLUTIONS_LIMIT];
    bool has_place = (reader->seen & SEEN_WALL) != 0 && (reader->seen & SEEN_COUNTER) != 0;
    if (!has_place || count == 0 || count > RESOLUTIONS_LIMIT) return false;
    for (uint8_t i = 0; i < count; i++) {
        if (!read_short(reader, &values[i])) return false;
    }
    /* A table that the effect makes is not there yet while the effect is only checked. */
    if (table == NULL) return !apply;
    if (count != table->resolutions.count) return false;
    for (uint8_t i = 0; i < count && apply; i++) {
        struct bucket bucket = {table->wall.starts_ms[i], values[i]};
        counters_set_bucket(&table->counters, table->last_set, i, bucket, once_retention(table, i));
    }
    return true;
}

bool once_repeat(void *value, uint8_t code, struct effect_reader *reader, bool apply) {
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
        if (apply) (void)!lethe_window_remove(table->window, id, table->head.clock_ms);
        return true;
    }
    case 'R': {
        lethe_hash id = effect_read_hash(reader);
        if (apply) (void)!lethe_window_make_room(table->window, id, table->head.clock_ms);
        return true;
    }
    case 'P':
        return repeat_resolutions(table, reader, apply);
    case 'w':
        return repeat_wall(table, reader, apply);
    case 'l':
        return repeat_late(table, reader, apply);
    case 'b':
        return repeat_buckets(table, reader, apply);
    case 'S':
    case 'D':
        return repeat_counter(table, reader, code == 'S', apply);
    default:
        return sections_repeat(table, code, reader, apply);
    }
}

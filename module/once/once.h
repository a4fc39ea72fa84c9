/* module/once/once.h - the once-table: one key, many counters, one window. table.c has the
 * essay. */
#ifndef LETHE_MODULE_ONCE_ONCE_H
#define LETHE_MODULE_ONCE_ONCE_H

#include "change/change.h"
#include "command/command.h"
#include "command/info.h"
#include "once/claims.h"
#include "once/counters.h"
#include "once/holds.h"
#include "once/resolutions.h"
#include "once/sections.h"
#include "value/value.h"

/* The options of a table: options.c. */
struct once_options {
    lethe_window_options window;
    struct resolutions resolutions;
};
extern const struct option once_options[];
void once_default_options(void *options);
const char *once_contradiction(const void *options);
/* The step that says per which periods a new table counts, if it does; and its reading. */
void once_write_more(const void *options, struct effect *effect);
bool once_read_more(struct effect_reader *reader, struct resolutions *out);

/* The wall clock of the change under way, by which buckets go: meter.c. */
struct once_wall {
    int64_t now_ms;
    /* When the present period of each resolution began. */
    int64_t presents_ms[RESOLUTIONS_LIMIT];
    /* The time that what is added belongs to, and when its periods began; mostly the present. */
    int64_t at_ms, starts_ms[RESOLUTIONS_LIMIT];
    /* One of them is not the present period. */
    bool is_late;
    /* The effect has it. */
    bool is_noted;
};

struct once {
    struct value head;
    lethe_window *window;
    /* To which time the window was moved after the last effect; UINT64_MAX: not known. */
    uint64_t window_clock_ms;
    struct counters counters;
    uint64_t seed;
    /* W, and how often the window forgets. */
    uint64_t window_ms, period_ms;
    /* The window is of the forgetful kind: no id can be taken back. */
    bool is_forgetful;
    /* It has more expired filters to free. */
    bool has_more;

    /* Per which periods it also counts. */
    struct resolutions resolutions;
    struct once_wall wall;
    /* Work that is to be done once. */
    struct claims claims;
    /* What is set aside under a limit. */
    struct holds holds;
    /* While an effect is repeated: the counter that its last step has set. */
    struct counter *last_set;
};

/* Whether it has any claim or hold. Most have none. */
static inline bool once_has_records(const struct once *table) {
    return (records_count(&table->claims.records) | records_count(&table->holds.records)) != 0;
}

/* Takes a window over, into a table whose head is filled in and whose rest is zero: table.c. */
void once_fill(struct once *table, lethe_window *window);
/* Saving and loading: save.c, for struct value_type. */
lethe_status once_save(const void *value, lethe_sink sink);
lethe_status once_load(void *value, lethe_source source);
uint32_t once_version(const void *value);

/* Moves the window to the table's time: table.c. */
void once_follow(struct once *table);

/* --- Opening: open.c */

/* A change of a table by operations. While the server is out of memory, or the table is as large
 * as it may be, duplicates are answered as usual and nothing else is done: a client that retries
 * an operation must learn that it was applied. */
struct once_change {
    struct change change;
    struct once *table;
    bool is_out_of_memory;
    /* Of once_open_for_id. */
    lethe_hash id;
};
/* Opens a table, and makes it if there is none and may_create. False with the error replied. */
bool once_open_to_change(redis_context *context, redis_string *name, bool may_create,
                         struct once_change *out);
/* The same for operations that a replica could repeat by their command: while nobody listens, their
 * effect is a silent one. */
bool once_open_for_ids(redis_context *context, redis_string *name, bool may_create,
                       struct once_change *out);
/* The same for one operation, whose id is hashed; and what the window has on it is on its way from
 * memory while the change begins. */
bool once_open_for_id(redis_context *context, redis_string *name, const redis_string *id,
                      bool may_create, struct once_change *out);
/* Opens it to read; *out is NULL when there is none. False with the error replied. */
bool once_open_to_read(redis_context *context, redis_string *name, struct opened *opened,
                       const struct once **out);

/* Whether each of every step-th words may be an id. An empty one is what a script sends whose
 * variable is not set, and all such operations would be duplicates of one. False with the error
 * replied. */
bool once_are_ids(redis_context *context, redis_string **words, size_t count, size_t step);
lethe_hash once_hash(const struct once *table, const redis_string *id);
/* Whether the id was seen: what was applied is a duplicate even where it would not fit now. */
bool once_is_duplicate(const struct once *table, lethe_hash id);

/* --- Changing, with the step of the effect: effects.c */

/* Asks the window whether ids are fresh, remembers them if so, and appends that to the effect. */
void once_try(struct once *table, struct effect *effect, const lethe_hash *ids, size_t count,
              uint8_t *answers);
/* Takes an id back, unless the window is of the forgetful kind, and appends that. */
lethe_status once_forget(struct once *table, struct effect *effect, lethe_hash id);

/* The same as once_try for the id of an operation that may still fail. If it is fresh, once_end
 * says whether the operation was done; in between, the table's clock must stand still. */
uint8_t once_begin(struct once *table, struct effect *effect, lethe_hash id);
void once_end(struct once *table, struct effect *effect, lethe_hash id, bool is_done);
/* Appends a counter's value. */
void once_note_counter(struct effect *effect, const struct counter *counter);
/* Appends the wall clock, and the time of what is added if that is another; and the buckets of the
 * counter that was appended last. */
void once_note_wall(struct effect *effect, const struct once *table);
void once_note_buckets(struct effect *effect, const struct once *table,
                       const struct counter *counter);
/* Appends that a counter was removed. */
void once_note_removal(struct effect *effect, const char *name, size_t size);
/* What came before in an effect that is repeated, in reader->seen: the time of a wall clock; a
 * counter that was set, which is what buckets after it belong to; a hold. */
enum { SEEN_WALL = 1, SEEN_COUNTER = 2, SEEN_HOLD = 4 };
/* Repeats a step: struct value_type. */
bool once_repeat(void *value, uint8_t code, struct effect_reader *reader, bool apply);

/* --- Totals and buckets: meter.c */

static inline bool once_is_metered(const struct once *table) {
    return table->resolutions.count > 0;
}
/* Per which periods an empty table counts. */
void once_set_resolutions(struct once *table, const struct resolutions *resolutions);
/* The wall clock of this host, in a range that periods are good for. */
int64_t once_wall_now(void);
/* Sets the wall clock of the change that begins, to this host's or to what a master says. */
void once_begin_wall(struct once *table);
void once_set_wall(struct once *table, int64_t wall_ms);
/* What is added from now on in this change belongs to that time, and not to the present. */
void once_set_late(struct once *table, int64_t wall_ms);
/* The counter's bucket of the time that what is added belongs to; a counter of NULL has none. */
int64_t once_bucket(const struct once *table, const struct counter *counter, uint32_t resolution);
/* Which buckets of a resolution stay, as of the present. */
struct retention once_retention(const struct once *table, uint32_t resolution);

/* Whether the total and these buckets of a counter stay 64-bit integers if delta is added to
 * a total of value, which other changes of the same operation may have led to. */
bool once_can_add_to_buckets(const struct once *table, const struct counter *counter, int64_t value,
                             int64_t delta);
static inline bool once_can_add(const struct once *table, const struct counter *counter,
                                int64_t value, int64_t delta) {
    int64_t sum;
    return !__builtin_add_overflow(value, delta, &sum) &&
           (!once_is_metered(table) || once_can_add_to_buckets(table, counter, value, delta));
}
/* Whether all of them lie between -most and most. */
bool once_is_small(const struct once *table, const struct counter *counter, int64_t most);
/* Adds to the total and these buckets, and appends that. */
void once_add_to_buckets(struct once *table, struct effect *effect, struct counter *counter,
                         int64_t delta);
static inline void once_add_to(struct once *table, struct effect *effect, struct counter *counter,
                               int64_t delta) {
    if (once_is_metered(table)) {
        once_add_to_buckets(table, effect, counter, delta);
    } else {
        counter->value += delta;
        once_note_counter(effect, counter);
    }
}

/* --- Commands */

extern const struct command once_commands[], once_meter_commands[], once_limit_commands[],
    once_claim_commands[], once_hold_commands[];

redis_command_function once_incrby, once_mincrby, once_add, once_forget_command, once_del, once_get,
    once_mget, once_scan, once_top, once_seen, once_call, once_range, once_take, once_peek,
    once_begin_claim, once_renew, once_done, once_abort, once_list_claims, once_hold, once_settle,
    once_release, once_list_holds;

/* The fields of ONCE.INFO: struct value_type. */
void once_gather_facts(redis_context *context, const void *value, void *facts);
extern const struct info_field once_info_fields[];

#endif

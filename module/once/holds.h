/* module/once/holds.h - holds: amounts that are set aside under a limit until they are settled or
 * released.
 *
 * holds.c has the essay. Leases go by the table's own clock, which a change has moved to the
 * present; buckets by the wall clock of when the hold was made. */
#ifndef LETHE_MODULE_ONCE_HOLDS_H
#define LETHE_MODULE_ONCE_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "once/records_save.h"
#include "once/slice.h"

struct effect;
struct once;
struct once_section;

enum { HOLD_ID_MOST = 65535 };

/* In saved values and effects. */
enum hold_state {
    HOLD_OPEN = 1,
    HOLD_SETTLED = 2,
    HOLD_RELEASED = 3,
    HOLD_EXPIRED = 4 /* its lease is over, and nobody has settled it since */
};

/* What a hold is, without its place in a table. */
struct hold_facts {
    uint8_t state;
    /* At most that much is added; to what it is limited; on the bucket of which period, or 0 for
     * the total. */
    int64_t amount, most;
    uint64_t period_ms;
    /* By which the buckets go that it belongs to. */
    int64_t wall_ms;
    /* Its lease is over from this moment on. */
    uint64_t deadline_ms;
    /* The same while it is open. Afterwards: the moment after its end. W runs from here. */
    uint64_t until_ms;
    /* What it was settled with. */
    int64_t actual;
    struct slice id, counter;
};

struct hold {
    struct record head;
    int64_t amount, most;
    uint64_t period_ms;
    int64_t wall_ms;
    uint64_t deadline_ms, until_ms;
    int64_t actual;
    uint32_t counter_size;
    uint8_t state;
    /* The counter's name. */
    char counter[];
};

struct holds {
    struct records records;
    /* By counter: the sum of what is held, and of each bucket. A counter of which nothing is held
     * is not there, nor a bucket. */
    struct counters held;
    /* How many are open, and the memory of all. */
    uint64_t open, bytes;
    /* How often FORCE has passed a limit. */
    uint64_t forced;
};

/* The hold of that id, unless it is over. */
struct hold *holds_find(const struct once *table, struct slice id);
struct hold_facts hold_facts_of(const struct hold *hold);
/* What is left of its lease, at least 1 while it runs; 0 if it has ended. */
uint64_t hold_left_ms(const struct hold_facts *facts, uint64_t now_ms);
/* Whether that much more of a counter can be held in 64 bits. */
bool holds_can_add(const struct once *table, struct slice counter, int64_t amount);

/* Makes the hold of that id what the facts say, and appends that. What they point to may belong to
 * the hold that is replaced. Cost: O(log n). */
void holds_set(struct once *table, struct effect *effect, const struct hold_facts *facts);
/* Makes the facts of a hold those of one that has ended now. */
void hold_end(const struct once *table, struct hold_facts *facts, enum hold_state state);

/* --- Saving and repeating: holds_save.c */

extern const struct once_section holds_section;

/* Without an effect, for what is repeated or loaded. */
void holds_put(struct once *table, const struct hold_facts *facts);
/* Its two steps: the record, under an id that has no open one, and, of one that is open, what it
 * holds. */
const struct hold *holds_keep(struct once *table, const struct hold_facts *facts);
void holds_add_up(struct once *table, const struct hold *hold);
/* Ends the lease of one that is open. */
void holds_expire(struct once *table, struct hold *hold);
void holds_take_out(struct once *table, struct hold *hold);
/* A hold as bytes: its head is followed by the id and the counter's name. */
extern const struct record_kind hold_kind;
void hold_write(const struct hold_facts *facts, struct record_bytes *out);

#endif

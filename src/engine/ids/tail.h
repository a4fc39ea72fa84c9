/* engine/ids/tail.h - TAIL: entries of the index in the order in which they came.
 *
 * Entries are appended, and found by a table of their places. A tail that is full does not change
 * any more, and can be written, alone or with others, in the order of its ids. */
#ifndef LETHE_ENGINE_IDS_TAIL_H
#define LETHE_ENGINE_IDS_TAIL_H

#include "engine/ids/run.h"

/* What all tails of an index have in common. */
typedef struct lethe_tail_form {
    const lethe_allocator *allocator;
    /* The most items. */
    uint64_t limit;
    /* The table has 2^home_bits homes. Its slots have the place of an item, plus 1, in the lower
     * place_bits, and above them bits of its id; or they are 0. */
    unsigned home_bits, place_bits;
} lethe_tail_form;

typedef struct lethe_tail {
    unsigned char *items;
    uint32_t *slots;
    uint64_t count;
    /* No clock is before base_ms or after last_ms. */
    uint64_t base_ms, last_ms;
} lethe_tail;

/* A form for at least one item, and 2^24 at most. */
lethe_tail_form lethe_tail_plan(uint64_t limit, const lethe_allocator *allocator);
/* What a tail can take of memory; its items take it as they come. */
uint64_t lethe_tail_bytes(const lethe_tail_form *form);
uint64_t lethe_tail_table_bytes(const lethe_tail_form *form);

/* Takes a zeroed tail, or one that was made. Errors: LETHE_ENOMEM; drop frees what there is. */
LETHE_MUST_CHECK lethe_status lethe_tail_make(const lethe_tail_form *form, lethe_tail *tail);
/* Takes a zeroed tail, and leaves one. */
void lethe_tail_drop(const lethe_tail_form *form, lethe_tail *tail);

/* The slot at which the search for an order begins. */
static inline uint32_t *lethe_tail_home(const lethe_tail_form *form, const lethe_tail *tail,
                                        uint64_t order) {
    return tail->slots + (order >> (64 - form->home_bits));
}

/* The bits of an id in its slot: those that follow its home's. */
static inline uint32_t lethe_tail_tag(const lethe_tail_form *form, uint64_t order) {
    uint32_t bits = (uint32_t)(order << form->home_bits >> 32);
    return bits >> form->place_bits << form->place_bits;
}

/* The last slot, which stays free: every search ends there. */
enum { LETHE_TAIL_SPILL = 256 };
static inline size_t lethe_tail_last_slot(const lethe_tail_form *form) {
    return ((size_t)1 << form->home_bits) + LETHE_TAIL_SPILL;
}

/* Adds an entry. False: it is full, or the clock too far from that of its first entry; an empty
 * tail is neither. Cost: a cache miss, which lethe_tail_home says. */
static inline bool lethe_tail_add(const lethe_tail_form *form, lethe_tail *tail, lethe_log_id id,
                                  lethe_index_entry entry) {
    uint64_t order = lethe_run_order(id);
    if (tail->count == 0) tail->base_ms = tail->last_ms = entry.clock_ms;
    if (tail->count == form->limit || entry.clock_ms < tail->base_ms ||
        entry.clock_ms - tail->base_ms > UINT32_MAX)
        return false;
    uint32_t *slot = lethe_tail_home(form, tail, order);
    while (*slot != 0)
        slot++;
    if (slot == tail->slots + lethe_tail_last_slot(form)) return false;
    lethe_run_item item = {.order = order,
                           .rest = lethe_run_rest(id),
                           .digest = entry.digest,
                           .clock_ms = (uint32_t)(entry.clock_ms - tail->base_ms)};
    lethe_run_item_store(tail->items + (size_t)tail->count * LETHE_RUN_ITEM_BYTES, &item);
    tail->count++;
    *slot = lethe_tail_tag(form, order) | (uint32_t)tail->count;
    if (entry.clock_ms > tail->last_ms) tail->last_ms = entry.clock_ms;
    return true;
}
/* The latest entry of an id; false if there is none. */
bool lethe_tail_find(const lethe_tail_form *form, const lethe_tail *tail, lethe_log_id id,
                     lethe_index_entry *out);
/* Has the processor fetch the entry of an id, and says whether there seems to be one. */
bool lethe_tail_prefetch_item(const lethe_tail_form *form, const lethe_tail *tail, lethe_log_id id);

/* --- writing --- */

/* Tails, the oldest first, on their way to become a run. */
typedef struct lethe_tail_writer {
    /* run is NULL: none is under way. */
    lethe_run_writer run;
    const lethe_tail *tails;
    unsigned count;
    /* Those before it are written. */
    uint64_t home;
    /* Items that are sorted: lethe_run_item each. */
    lethe_buffer items;
} lethe_tail_writer;

/* Begins with a run in memory, or in a file: see lethe_run_begin. The tails stay where they are
 * and as they are. */
LETHE_MUST_CHECK lethe_status lethe_tail_writer_begin(lethe_tail_writer *writer,
                                                      const lethe_tail *tails, unsigned count,
                                                      const char *path, lethe_chunks *memory);
/* Writes up to `most` items, and a few more. *ended becomes whether all are written. Errors: those
 * of lethe_run_append. */
LETHE_MUST_CHECK lethe_status lethe_tail_writer_go_on(const lethe_tail_form *form,
                                                      lethe_tail_writer *writer, uint64_t most,
                                                      bool *ended);
/* *out is the caller's. On error there is none. */
LETHE_MUST_CHECK lethe_status lethe_tail_writer_end(lethe_tail_writer *writer, lethe_run **out);
/* Drops what was written. Takes a zeroed writer. */
void lethe_tail_writer_abandon(lethe_tail_writer *writer);

#endif

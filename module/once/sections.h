/* module/once/sections.h - what a once-table may have besides counters and a window: claims.
 *
 * sections.c has the essay, docs/format/module.md every byte. A section is a part of struct once
 * and a struct once_section with its functions; one row in once_sections[] joins it to saving and
 * loading, memory, digests, effects and the timer. */
#ifndef LETHE_MODULE_ONCE_SECTIONS_H
#define LETHE_MODULE_ONCE_SECTIONS_H

#include <lethe/lethe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/redis_api.h"
#include "value/chunks.h"

struct effect;
struct effect_reader;
struct once;
struct record_kind;

/* Functions marked * may be NULL. */
struct once_section {
    /* In saved values; in ascending order in the list. Never used for anything else. */
    uint8_t tag;
    /* Of the section's records. */
    const struct record_kind *kind;
    /* Into a table whose window, seed and options are there. */
    void (*init)(struct once *table);
    void (*drop)(struct once *table);

    /* How many bytes save will write; 0: there is nothing to save, and the table has no such
     * section. By the table's clock: what is over then is not saved. */
    uint64_t (*saved_bytes)(const struct once *table);
    lethe_status (*save)(const struct once *table, lethe_sink sink);
    /* Into an empty one; must read exactly that many bytes, and trust none of them. */
    lethe_status (*load)(struct once *table, struct chunk_reader *reader, uint64_t bytes);
    /* Of what is saved. */
    void (*digest)(const struct once *table, redis_digest *digest);

    size_t (*memory)(const struct once *table);
    size_t (*allocations)(const struct once *table);

    /* Repeats a step of an effect, as in struct value_type. *is_known becomes true if the step is
     * one of the section's. */
    bool (*repeat)(struct once *table, uint8_t code, struct effect_reader *reader, bool apply,
                   bool *is_known);
    /* * On a master, after the timer has moved the clock: does what is due, a bounded number of
     * them, and appends the steps. */
    void (*end_due)(struct once *table, struct effect *effect);
};

/* All of them; NULL is the last. */
extern const struct once_section *const once_sections[];

/* For table.c and save.c: the same for all sections. */
void sections_init(struct once *table);
void sections_drop(struct once *table);
bool sections_are_used(const struct once *table);
lethe_status sections_save(const struct once *table, lethe_sink sink);
lethe_status sections_load(struct once *table, struct chunk_reader *reader);
void sections_digest(const struct once *table, redis_digest *digest);
size_t sections_memory(const struct once *table);
size_t sections_allocations(const struct once *table);
bool sections_repeat(struct once *table, uint8_t code, struct effect_reader *reader, bool apply);
/* Whether the table's clock should be moved, because something is due as of now_ms. */
bool sections_are_due(const struct once *table, uint64_t now_ms);
void sections_end_due(struct once *table, struct effect *effect);
/* Releases at most so many records of each that are over by the table's clock. Nobody can see it,
 * so replicas do it by themselves. */
void sections_give_back(struct once *table, unsigned budget);

#endif

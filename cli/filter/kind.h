/* kind.h - what a kind of filter is to the `lethe filter` commands.
 *
 * The commands know no kind by name. What all structures have in common comes from the kind's row
 * of structures/structure.h; the kind adds its options and how it is described. To add one, write a
 * file that defines a struct filter_kind, and add its row to filter/kinds.c and its name to
 * FILTER_KINDS. A function that a structure does not have is NULL, and the command that needs it
 * says so.
 *
 * Objects are the library's own (lethe_bloom and so on), passed as void pointers; a cascade's is
 * that of filter/cascade.c. Two kinds may share a type of file, as bloom and blocked do; then
 * the loaded object shows which of them it is. */
#ifndef LETHE_CLI_FILTER_KIND_H
#define LETHE_CLI_FILTER_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame/arguments.h"
#include "lethe/bloom.h"
#include "structures/structure.h"

/* The values of --kind, in the order of the table in filter/kinds.c. */
#define FILTER_KINDS "bloom|blocked|quotient|gaussian|cascade"

/* What the options of `filter build` say; zero where they say nothing. */
struct filter_settings {
    uint64_t capacity;
    double error;
    uint64_t seed;
    const char *out;      /* where it will be saved */
    uint64_t bits, slots; /* the size itself, instead of capacity and error */
    uint32_t hashes, slot_bits;
    uint32_t spacing; /* the place of its name among the choices */
};

/* A number or a word that is part of a kind's shape. */
struct filter_fact {
    /* "slot_bits": the member in JSON; the label in text, and the word in messages, is "slot
     * bits". */
    const char *name;
    uint64_t number;
    const char *word; /* instead of the number, if not NULL */
};

enum { FILTER_FACTS = 8 };

/* What is known of a filter, in the order in which it is printed. */
struct filter_facts {
    const char *kind;
    struct filter_fact shape[FILTER_FACTS]; /* what must agree in a merge, besides kind and seed */
    size_t shape_count;
    uint64_t seed;
    uint64_t capacity;    /* 0: not planned for a number of lines */
    double planned_error; /* with a capacity */
    /* Lines that were added and not removed again, each as often as it was. */
    uint64_t additions;
    bool knows_additions;
    double distinct_estimate; /* infinite: too many to tell */
    double fill;
    double error_now;
    uint64_t memory_bytes;
};

struct filter_kind {
    /* "bloom" */
    const char *name;
    const struct structure *structure;
    /* Options of `filter build` that not every kind has. */
    const char *const *build_options;
    /* The facts that must agree in a merge, besides kind and seed. */
    const char *const *shape;

    /* Reads those options and looks whether all fit together. Says what is wrong: EXIT_USAGE. */
    int (*read_options)(const struct arguments *arguments, struct filter_settings *settings);
    /* The structure's own options, all zero except their size. */
    void (*fill_options)(const struct filter_settings *settings, void *options);

    /* Optional: instead of planning and making the structure from its options. LETHE_EINVAL: too
     * large. */
    lethe_status (*plan)(const struct filter_settings *settings, uint64_t *memory_bytes);
    lethe_status (*make)(const struct filter_settings *settings, void **out);
    /* Optional: instead of the structure's function. */
    lethe_status (*add)(void *object, const lethe_hash *hashes, size_t count);
    /* Optional: what the facts of the structure say in other words. */
    void (*describe)(const void *object, struct filter_facts *out);
    /* Optional: the underlying classical Bloom filter. */
    lethe_status (*extract)(const void *object, lethe_bloom **out);
};

/* A filter and its kind. {0} is none. */
struct filter {
    const struct filter_kind *kind;
    void *object;
};

extern const struct filter_kind filter_kind_bloom;
extern const struct filter_kind filter_kind_blocked;
extern const struct filter_kind filter_kind_quotient;
extern const struct filter_kind filter_kind_gaussian;
extern const struct filter_kind filter_kind_cascade;

/* All kinds in the order of FILTER_KINDS, ending with NULL. */
extern const struct filter_kind *const filter_kinds[];

/* The kind of an object of a structure. */
const struct filter_kind *filter_kind_of(const struct structure *structure, const void *object);

/* The memory that a filter of these settings takes, and the filter. LETHE_EINVAL: too large. */
lethe_status filter_plan(const struct filter_kind *kind, const struct filter_settings *settings,
                         uint64_t *memory_bytes);
lethe_status filter_make(const struct filter_kind *kind, const struct filter_settings *settings,
                         struct filter *out);

/* Hashes are made with the filter's seed. What was added before an error stays so. */
uint64_t filter_seed(const struct filter *filter);
lethe_status filter_add(const struct filter *filter, const lethe_hash *hashes, size_t count);
void filter_describe(const struct filter *filter, struct filter_facts *out);

/* Adds a number to the shape. */
void filter_fact_number(struct filter_facts *facts, const char *name, uint64_t number);

#endif

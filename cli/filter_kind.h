/* filter_kind.h - what a kind of filter is to the `lethe filter` commands: a table of operations.
 *
 * The commands know no kind by name. To add one, write a file that defines a struct filter_kind, and add
 * its row to filter_kinds.c and its name to FILTER_KINDS. A function that a kind can't have is NULL, and
 * the command that needs it says so.
 *
 * Objects are the library's own (lethe_bloom and so on), handed around as void pointers: only the file
 * of a kind knows what is behind them. Two kinds may share a type of file, as bloom and blocked do; then
 * loading tells which of them it was. */
#ifndef LETHE_CLI_FILTER_KIND_H
#define LETHE_CLI_FILTER_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arguments.h"
#include "lethe/bloom.h"

/* The values of --kind, in the order of the table in filter_kinds.c. */
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
    const char *name; /* "bits": the label in text, the member in JSON, the word in messages */
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
    uint64_t additions;
    double distinct_estimate; /* infinite: too many to tell */
    double fill;
    double error_now;
    uint64_t memory_bytes;
};

struct filter_kind {
    const char *name;                 /* "bloom" */
    const char *type;                 /* the four letters of its files: "BLOM" */
    bool is_folder;                   /* not a file */
    const char *const *build_options; /* options of `filter build` that not every kind has */

    /* Reads those options and looks whether all fit together. Says what is wrong: EXIT_USAGE. */
    int (*read_options)(const struct arguments *arguments, struct filter_settings *settings);
    /* The memory that a filter of these settings takes, and the filter. LETHE_EINVAL: too large. */
    lethe_status (*plan)(const struct filter_settings *settings, uint64_t *memory_bytes);
    lethe_status (*make)(const struct filter_settings *settings, void **out);

    lethe_status (*load)(const char *path, void **out);
    lethe_status (*save)(const void *filter, const char *path);
    void (*free)(void *filter);
    /* Whether a loaded object is of this kind and not of another with the same type of file; NULL: yes. */
    bool (*is)(const void *filter);

    uint64_t (*seed)(const void *filter);
    void (*describe)(const void *filter, struct filter_facts *out);

    /* Hashes are made with the filter's seed. What was added or removed before an error stays so. */
    lethe_status (*add_batch)(void *filter, const lethe_hash *hashes, size_t count);
    lethe_status (*test_batch)(const void *filter, const lethe_hash *hashes, size_t count,
                               uint8_t *present);
    /* Optional. removed[i] becomes 1 where the key was there. */
    lethe_status (*remove_batch)(void *filter, const lethe_hash *hashes, size_t count,
                                 uint8_t *removed);
    /* Optional. LETHE_EMISMATCH: nothing changed. */
    lethe_status (*merge)(void *filter, const void *other);
    /* Optional: the underlying classical Bloom filter. */
    lethe_status (*extract)(const void *filter, lethe_bloom **out);
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

/* Adds a number to the shape. */
void filter_fact_number(struct filter_facts *facts, const char *name, uint64_t number);
/* Adds a word to the shape; it must outlive facts. */
void filter_fact_word(struct filter_facts *facts, const char *name, const char *word);

#endif

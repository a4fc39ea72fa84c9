/* structures/structure.h - one description of each of Lethe's structures.
 *
 * IDEA    Bloom filters, quotient filters, windows, sketches and the rest are made, saved, loaded,
 *         asked and measured by public functions of the same shape. A row of the table below binds
 *         these functions for one structure, or for one kind of it, behind void pointers. The
 *         command line, the module, the fuzz targets and the tests go through the table wherever
 *         they do the same to every structure. A structure that is added later gets its row here,
 *         and with it all of these, and the tests that run over every row.
 * WHY     A library of its own, and not a public header: its rows are bound to what the programs in
 *         this repository need, and may change with them. A generic handle in the public interface
 *         would have to be kept for ever, and a caller that knows which structure it has is better
 *         served by its typed functions. This library uses public headers only, as any client does,
 *         so that it can be made public if somebody asks for it.
 * LIMIT   What only one structure can do (reading a quotient filter through, extracting a Bloom
 *         filter, a cascade's checkpoints) stays with its own functions. Calls through a row are
 *         indirect: hot loops of single keys and benchmarks call the typed functions. */
#ifndef LETHE_STRUCTURES_STRUCTURE_H
#define LETHE_STRUCTURES_STRUCTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/hash.h"
#include "lethe/io.h"
#include "lethe/status.h"

/* What every structure can be planned from. Zero selects the default; a structure ignores what it
 * does not have. */
struct structure_plan {
    /* Keys, or ids within the window. */
    uint64_t capacity;
    double error;
    /* Of the counters of a sketch, and the tables of a cascade. */
    uint64_t memory_bytes;
    /* Of structures that forget. */
    uint64_t window_ms;
    uint64_t seed;
    /* Where it lives, for structures whose lives_in_folder is true. */
    const char *folder;
    const lethe_allocator *allocator;
};

/* A number or a word that a structure reports of itself. Its name is the name of the field in the
 * public shape or stats. */
enum structure_fact_kind { STRUCTURE_NUMBER, STRUCTURE_FRACTION, STRUCTURE_FLAG, STRUCTURE_WORD };

struct structure_fact {
    const char *name;
    enum structure_fact_kind kind;
    /* Of a number, and of a flag: 0 or 1. */
    uint64_t number;
    double fraction;
    const char *word;
};

enum { STRUCTURE_FACTS = 40, STRUCTURE_OPTIONS_BYTES = 256, STRUCTURE_REPORT_BYTES = 1024 };

struct structure_facts {
    struct structure_fact facts[STRUCTURE_FACTS];
    size_t count;
};

/* Where a fact is: in the shape or in the stats, at this offset. */
struct structure_field {
    const char *name;
    enum { FIELD_U64, FIELD_U32, FIELD_F64, FIELD_BOOL, FIELD_ENUM } type;
    bool is_of_shape;
    size_t offset;
    /* Of an enumeration: its values as words. */
    const char *const *words;
};

/* One structure, or one kind of it. Functions that it does not have are NULL; then structures of
 * this kind cannot do it. Objects are the library's own, and hashes are made with their seed. Time
 * is ignored by structures that have none. Errors are those of the public functions. */
struct structure {
    /* "bloom": for people and for options. Each row has its own. */
    const char *name;
    /* The four letters of its files, which kinds of one structure share; NULL: it has no such
     * file. */
    const char *type;
    /* The version that is written, and the oldest one that is read. A newest_version that is not 0
     * is written as well, for what the other cannot say. */
    uint16_t version, oldest_version, newest_version;
    bool lives_in_folder;
    /* A key that was added may be reported absent. */
    bool may_miss;
    /* Which kind of the structure this row is: a value of its enumeration. */
    int kind;

    /* Options, shape and stats: structs that start with their size. 0: there is none. */
    size_t options_bytes, shape_bytes, stats_bytes;
    /* What options and shape were in their first version, if they have grown since. 0: they have
     * not. */
    size_t first_options_bytes, first_shape_bytes;
    /* Where the shape has its memory_bytes. */
    size_t memory_in_shape;
    /* Fills in the structure's own options, all zero except their size. */
    void (*plan_options)(const struct structure *row, const struct structure_plan *plan,
                         void *options);

    /* The shape that the structure's own options lead to; nothing is allocated. */
    lethe_status (*plan)(const void *options, void *shape);

    /* The structure's own options, or NULL. A structure that lives in a folder takes its path. */
    lethe_status (*make)(const void *options, void **out);
    lethe_status (*open)(const char *folder, const void *options, void **out, lethe_detail *detail);
    void (*free)(void *object);
    /* Whether a loaded object is of this kind; NULL: all are. */
    bool (*is)(const struct structure *row, const void *object);
    uint64_t (*seed)(const void *object);
    lethe_status (*get_shape)(const void *object, void *shape);
    lethe_status (*info)(const void *object, uint64_t now_ms, void *stats);

    /* What was added before an error stays so. */
    lethe_status (*add)(void *object, const lethe_hash *hashes, size_t count, uint64_t now_ms);
    /* present[i] becomes 1 or 0. */
    lethe_status (*test)(const void *object, const lethe_hash *hashes, size_t count,
                         uint64_t now_ms, uint8_t *present);
    /* removed[i] becomes 1 where the key was there. */
    lethe_status (*remove)(void *object, const lethe_hash *hashes, size_t count, uint64_t now_ms,
                           uint8_t *removed);
    lethe_status (*count)(const void *object, const lethe_hash *hashes, size_t count,
                          uint64_t now_ms, uint64_t *counts);
    /* Lets time pass and gives back what has expired; *more: there is more to do now. */
    lethe_status (*work)(void *object, uint64_t now_ms, unsigned budget, bool *more);
    /* Into object. A window takes over what other holds, and leaves it empty. */
    lethe_status (*merge)(void *object, void *other);
    lethe_status (*copy)(const void *object, void **out);
    lethe_status (*clear)(void *object);

    lethe_status (*save)(const void *object, lethe_sink sink);
    lethe_status (*load)(lethe_source source, const lethe_allocator *allocator, void **out);
    lethe_status (*save_file)(const void *object, const char *path, lethe_detail *detail);
    lethe_status (*load_file)(const char *path, const lethe_allocator *allocator, void **out,
                              lethe_detail *detail);

    /* What it reports of itself, in order; ends with a NULL name. */
    const struct structure_field *fields;
};

/* All rows; ends with NULL. */
extern const struct structure *const structures[];

extern const struct structure structure_bloom, structure_blocked, structure_quotient,
    structure_gaussian, structure_forgetful, structure_forgetful_paper, structure_forgetful_printed,
    structure_window, structure_window_forgetful, structure_count_min, structure_conservative,
    structure_count, structure_log, structure_fid, structure_export, structure_cascade,
    structure_packed;

/* The row that an object of the same type as row's is of. */
const struct structure *structure_of_object(const struct structure *row, const void *object);

/* Makes a structure from what all have in common. *out is NULL on error. */
lethe_status structure_make(const struct structure *row, const struct structure_plan *plan,
                            void **out);

/* The memory that a structure with its own options will take. Errors: LETHE_EINVAL. */
lethe_status structure_planned_bytes(const struct structure *row, const void *options,
                                     uint64_t *memory_bytes);

/* Reports the facts of an object. Errors: LETHE_EINVAL. */
lethe_status structure_report(const struct structure *row, const void *object, uint64_t now_ms,
                              struct structure_facts *out);
/* A fact by its name, or NULL. */
const struct structure_fact *structure_fact(const struct structure_facts *facts, const char *name);
/* A number or fraction by its name; 0 where there is none. */
uint64_t structure_number(const struct structure_facts *facts, const char *name);
double structure_fraction(const struct structure_facts *facts, const char *name);

#endif

/* module/types/held.h - a structure of the library as the value under a key.
 *
 * FBF, QF, GBF and FID differ in what their commands do, not in how a value is held: each key
 * holds one structure, which is made, saved, loaded, merged and freed by the functions of its
 * row (structures/structure.h). A type says which row, and adds what the row does not know. */
#ifndef LETHE_MODULE_TYPES_HELD_H
#define LETHE_MODULE_TYPES_HELD_H

#include "server/allocator.h"
#include "structures/structure.h"
#include "value/value.h"

/* The value of every such type. */
struct held {
    struct value head;
    /* By which items are hashed. */
    uint64_t seed;
    /* A lethe_forgetful, lethe_quotient, lethe_gaussian or lethe_sketch. */
    void *structure;
    /* FBF: there is more to give back of what has expired. */
    bool has_more;
};

/* How a type holds its structure. Functions marked * may be NULL. */
struct holding {
    const struct structure *row;
    /* * Where the type's options are not the structure's own. *out is NULL on error. */
    lethe_status (*make)(const void *options, void **out);
    /* Cost: O(1). The row's stats may take longer. */
    size_t (*memory)(const void *structure);
    /* * Besides row->is: whether a loaded structure may be a value whose clock is clock_ms. */
    bool (*is_acceptable)(const void *structure, uint64_t clock_ms);
};

/* Functions of a value_type, by its holding. */
lethe_status held_make(void *value, const void *options);
lethe_status held_save(const void *value, lethe_sink sink);
lethe_status held_load(void *value, lethe_source source);
lethe_status held_merge(void *value, const void *other);
void held_drop(void *value);
size_t held_memory(const void *value);
/* Of a type whose options begin with the structure's own. */
uint64_t held_planned_bytes(const struct value_type *type, const void *options);
/* PREFIX.COUNT: how often items are there. */
redis_command_function held_count;
/* For INFO: the structure's memory, and that of the value itself. */
uint64_t held_bytes(const void *value);

/* The structure of a value, which may be NULL. */
static inline void *held_structure(const void *value) {
    return value != NULL ? ((const struct held *)value)->structure : NULL;
}

/* The members of a struct value_type for a type whose struct holding is `holding`. */
#define VALUE_TYPE_HELD                                                                            \
    .value_bytes = sizeof(struct held), .handle = &handle, .holding = &holding, .make = held_make, \
    .merge = held_merge, .load_from_snapshot = load_from_snapshot, .save = held_save,              \
    .load = held_load, .drop = held_drop, .memory = held_memory

#endif

/* window/part_hot.inc.h - the operations on entries, written once and compiled per instruction
 * set.
 *
 * A template: the including file defines OPERATIONS, the name of the lists of functions at the
 * end. Whatever is called for every id takes the shape of a block as an argument. For the shapes
 * of the usual windows the shape is a constant, and the compiler folds everything that depends
 * on it. */
#include "core/inline.h"
#include "window/part.h"

#include "window/part_entry.inc.h"

/* Stays after part_entry.inc.h, whose functions it uses. */
#include "window/part_batch.inc.h"

static void sweep(lethe_part *part, uint64_t first, uint64_t count, uint64_t period) {
    for (uint64_t i = first; i < first + count; i++) {
        unsigned char *slab = part->slabs[i / part->shape.blocks];
        if (slab == NULL) continue;
        lethe_queue_refresh(&part->shape.queue,
                            lethe_part_block(part, slab, i % part->shape.blocks), period);
    }
}

/* The functions for parts of one shape: a constant, or NULL for the part's own shape. */
#define OPERATIONS_FOR(name, constant)                                                             \
    LETHE_NOINLINE struct found find_##name(const lethe_part *part, unsigned char *first,          \
                                            unsigned char *second, uint64_t remainder,             \
                                            uint64_t period) {                                     \
        const struct hot hot = {.shape = constant};                                                \
        return find_with(shape_of(&hot, part), first, second, remainder, period);                  \
    }                                                                                              \
    LETHE_NOINLINE lethe_part_result put_crowded_##name(lethe_part *part, const lethe_hash *id,    \
                                                        uint64_t period) {                         \
        const struct hot hot = {.shape = constant};                                                \
        return put_crowded_with(shape_of(&hot, part), part, id, period);                           \
    }                                                                                              \
    static const struct hot hot_##name = {constant, find_##name, put_crowded_##name};              \
    static void prefetch_##name(const lethe_part *part, lethe_hash id) {                           \
        struct map map = map_of(part);                                                             \
        (void)prefetch(shape_of(&hot_##name, part), &map, &id);                                    \
    }                                                                                              \
    static bool test_##name(const lethe_part *part, lethe_hash id, uint64_t period) {              \
        return test_with(&hot_##name, part, &id, period);                                          \
    }                                                                                              \
    static lethe_part_result insert_##name(lethe_part *part, lethe_hash id, uint64_t period) {     \
        return insert_with(&hot_##name, part, &id, period);                                        \
    }                                                                                              \
    static lethe_part_result add_and_test_##name(lethe_part *part, lethe_hash id,                  \
                                                 uint64_t period) {                                \
        return add_and_test_with(&hot_##name, part, &id, period);                                  \
    }                                                                                              \
    static void ask_group_##name(const lethe_part *part, const lethe_hash *ids, unsigned count,    \
                                 struct lethe_part_group *group) {                                 \
        ask_group_with(&hot_##name, part, ids, count, group);                                      \
    }                                                                                              \
    static uint32_t test_group_##name(const lethe_part *part, const lethe_hash *ids,               \
                                      unsigned count, const struct lethe_part_group *group,        \
                                      uint64_t period) {                                           \
        return test_group_with(&hot_##name, part, ids, count, group, period);                      \
    }                                                                                              \
    static void test_batch_##name(lethe_part *const *parts, unsigned count, const lethe_hash *ids, \
                                  size_t id_count, uint64_t period, uint8_t *answers) {            \
        test_batch_with(&hot_##name, parts, count, ids, id_count, period, answers);                \
    }                                                                                              \
    static size_t add_and_test_batch_##name(                                                       \
        lethe_part *const *parts, unsigned count, const lethe_hash *ids, size_t id_count,          \
        uint64_t period, uint8_t *answers, lethe_part_result *result) {                            \
        return add_and_test_batch_with(&hot_##name, parts, count, ids, id_count, period, answers,  \
                                       result);                                                    \
    }                                                                                              \
    static size_t add_batch_##name(lethe_part *part, const lethe_hash *ids, size_t id_count,       \
                                   uint64_t period, uint64_t *inserted,                            \
                                   lethe_part_result *result) {                                    \
        return add_batch_with(&hot_##name, part, ids, id_count, period, inserted, result);         \
    }

OPERATIONS_FOR(first_usual, &lethe_part_usual[0])
OPERATIONS_FOR(second_usual, &lethe_part_usual[1])
OPERATIONS_FOR(third_usual, &lethe_part_usual[2])
OPERATIONS_FOR(fourth_usual, &lethe_part_usual[3])
OPERATIONS_FOR(fifth_usual, &lethe_part_usual[4])
OPERATIONS_FOR(any, NULL)

#define OPERATIONS_OF(name)                                                                    \
    {                                                                                          \
        .prefetch = prefetch_##name, .test = test_##name, .add_and_test = add_and_test_##name, \
        .insert = insert_##name, .count_matches = count_matches, .remove = remove_one,         \
        .ask_group = ask_group_##name, .test_group = test_group_##name,                        \
        .test_batch = test_batch_##name, .add_and_test_batch = add_and_test_batch_##name,      \
        .add_batch = add_batch_##name, .sweep = sweep,                                         \
    }

const struct lethe_part_operations OPERATIONS[LETHE_PART_USUAL + 1] = {
    OPERATIONS_OF(first_usual),  OPERATIONS_OF(second_usual), OPERATIONS_OF(third_usual),
    OPERATIONS_OF(fourth_usual), OPERATIONS_OF(fifth_usual),  OPERATIONS_OF(any)};

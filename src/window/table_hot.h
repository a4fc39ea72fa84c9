/* window/table_hot.h - the operations on entries, written once and compiled for each instruction set.
 *
 * The including file defines OPERATIONS, the name of the tables of functions at the end. What is called for
 * every id takes the shape of a block as an argument: for the shapes of the usual windows it is a
 * constant, and all that depends on it is settled when this is compiled. Ids are handed down by
 * pointers: as an argument gcc would store the two halves of one and load them as one vector, which can't
 * begin before everything earlier is done with. */
#include "window/table.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define NEVER_INLINE static __attribute__((noinline))

/* How many ids ahead a batch asks for memory, and how many entries of a full block are considered at once
 * when one has to move. */
enum { AHEAD = 32, CONSIDERED = 2, LINE_BYTES = 64 };

/* A living entry: its block, NULL when there is none, and its number there. */
struct found {
    unsigned char *block;
    unsigned number;
};

/* The shape of a table's blocks, and what is called now and then, made for it. Always a constant that the
 * compiler sees through; with shape NULL it is the table's own. */
struct hot {
    const struct lethe_queue_shape *shape;
    struct found (*find)(const lethe_table *table, unsigned char *first, unsigned char *second,
                         uint64_t remainder, uint64_t period);
    lethe_table_result (*insert_crowded)(lethe_table *table, const lethe_hash *id, uint64_t period);
};

ALWAYS_INLINE const struct lethe_queue_shape *shape_of(const struct hot *hot,
                                                       const lethe_table *table) {
    return hot->shape != NULL ? hot->shape : &table->shape.queue;
}

/* Where an id belongs: its two blocks, NULL if their segment is not there. Segment and first block come from
 * the high half of its hash, the remainder from the low half, whose upper six bits are left to
 * stripes. */
struct place {
    unsigned char *first, *second;
    uint64_t remainder;
};

ALWAYS_INLINE uint64_t segment_of(const lethe_table *table, const lethe_hash *id) {
    return lethe_multiply_high(id->high, table->shape.segments);
}

ALWAYS_INLINE uint64_t first_block_of(const lethe_table *table, const lethe_hash *id) {
    return ((id->high & UINT32_MAX) * table->shape.blocks) >> 32;
}

ALWAYS_INLINE struct place place_of(const struct lethe_queue_shape *shape, const lethe_table *table,
                                    const lethe_hash *id) {
    uint64_t remainder = id->low & table->remainder_mask;
    uint64_t first = first_block_of(table, id);
    uint64_t second = lethe_table_other_block(table, remainder, first);
    unsigned char *segment = table->segments[segment_of(table, id)];
    if (__builtin_expect(segment == NULL, 0)) return (struct place){NULL, NULL, remainder};
    return (struct place){
        .first = segment + first * shape->block_bytes,
        .second = segment + second * shape->block_bytes,
        .remainder = remainder,
    };
}

/* As place_of, and asks for the blocks. */
ALWAYS_INLINE struct place prefetch(const struct lethe_queue_shape *shape, const lethe_table *table,
                                    const lethe_hash *id) {
    struct place place = place_of(shape, table, id);
    for (unsigned at = 0; at < shape->block_bytes; at += LINE_BYTES) {
        __builtin_prefetch(place.first + at, 1);
        __builtin_prefetch(place.second + at, 1);
    }
    return place;
}

/* The id's entry. */
ALWAYS_INLINE struct found find_with(const struct lethe_queue_shape *shape, unsigned char *first,
                                     unsigned char *second, uint64_t remainder, uint64_t period) {
    uint32_t match = lethe_queue_match(shape, first, remainder);
    unsigned number = lethe_queue_find(shape, first, match, period);
    if (number < shape->slots) return (struct found){first, number};
    match = lethe_queue_match(shape, second, remainder);
    number = lethe_queue_find(shape, second, match, period);
    if (number < shape->slots) return (struct found){second, number};
    return (struct found){NULL, 0};
}

/* The same, where mostly there is none and a first look tells. */
ALWAYS_INLINE struct found look(const struct hot *hot, const lethe_table *table,
                                const struct place *place, uint64_t period) {
    bool might = lethe_queue_might_match(shape_of(hot, table), place->first, place->second,
                                         place->remainder);
    if (__builtin_expect(!might, 1)) return (struct found){NULL, 0};
    return hot->find(table, place->first, place->second, place->remainder, period);
}

/* Counts an entry of that age out of the table's records. */
static void uncount(lethe_table *table, uint64_t period, uint64_t age) {
    table->alive--;
    table->recorded[(period - age) % LETHE_TABLE_PERIODS]--;
}

ALWAYS_INLINE void count_in(lethe_table *table, uint64_t period) {
    table->alive++;
    table->recorded[period % LETHE_TABLE_PERIODS]++;
}

/* An entry of a full block and the other block that it could be in. */
struct move {
    unsigned char *from, *to;
    unsigned number;
    uint64_t remainder;
};

ALWAYS_INLINE struct move plan_move(const struct lethe_queue_shape *shape, const lethe_table *table,
                                    unsigned char *segment, unsigned char *from, unsigned number) {
    unsigned slot = lethe_queue_turn(shape, lethe_queue_head(shape, from), number);
    uint64_t remainder = lethe_queue_remainder(shape, from, slot);
    uint64_t block = (uint64_t)(from - segment) / shape->block_bytes;
    uint64_t other = lethe_table_other_block(table, remainder, block);
    return (struct move){from, segment + other * shape->block_bytes, number, remainder};
}

/* Carries a move out, unless the other block is full, too. */
ALWAYS_INLINE bool try_move(const struct lethe_queue_shape *shape, const struct move *move,
                            uint64_t period) {
    if (move->to == move->from) return false;
    unsigned end = lethe_queue_end(shape, lethe_queue_ages_at(shape, move->to, period));
    if (lethe_queue_is_full(shape, end)) return false;
    unsigned age =
        lethe_queue_age(shape, lethe_queue_ages_at(shape, move->from, period), move->number);
    lethe_queue_remove(shape, move->from, period, move->number);
    lethe_queue_insert(shape, move->to, period, age, move->remainder);
    return true;
}

/* Moves an entry of either of two full blocks to its other block, and returns the one that has room now. The
 * youngest are tried first, since they are moved with the least effort; a few at a time are asked for
 * together, since none of their other blocks will be in the cache. */
ALWAYS_INLINE unsigned char *make_way(const struct lethe_queue_shape *shape,
                                      const lethe_table *table, unsigned char *segment,
                                      const struct place *place, uint64_t period) {
    unsigned char *const full[2] = {place->first, place->second};
    const unsigned slots = shape->slots;
    for (unsigned number = 0; number < slots; number += CONSIDERED) {
        struct move moves[2 * CONSIDERED];
        unsigned count = 0;
        for (unsigned i = number; i < number + CONSIDERED && i < slots; i++) {
            for (unsigned j = 0; j < 2; j++) {
                moves[count] = plan_move(shape, table, segment, full[j], i);
                __builtin_prefetch(moves[count++].to, 1);
            }
        }
        for (unsigned i = 0; i < count; i++) {
            if (try_move(shape, &moves[i], period)) return moves[i].from;
        }
    }
    return NULL;
}

/* Adds an entry whose blocks are both full. */
ALWAYS_INLINE lethe_table_result insert_crowded_with(const struct lethe_queue_shape *shape,
                                                     lethe_table *table, const lethe_hash *id,
                                                     uint64_t period) {
    struct place place = place_of(shape, table, id);
    unsigned char *block =
        make_way(shape, table, table->segments[segment_of(table, id)], &place, period);
    if (block == NULL) return LETHE_TABLE_IS_FULL;
    lethe_queue_insert(shape, block, period, 0, place.remainder);
    count_in(table, period);
    return LETHE_TABLE_ADDED;
}

/* Adds an entry to the emptier of its blocks: only what is alive counts. Which one that is can't be guessed,
 * so there is no branch on it. */
ALWAYS_INLINE lethe_table_result insert_at(const struct hot *hot, lethe_table *table,
                                           const lethe_hash *id, const struct place *place,
                                           uint64_t period) {
    const struct lethe_queue_shape *shape = shape_of(hot, table);
    if (table->alive >= table->shape.capacity) return LETHE_TABLE_IS_FULL;
    lethe_queue_ages ages = lethe_queue_ages_soon(shape, place->first, period);
    lethe_queue_ages ages_second = lethe_queue_ages_soon(shape, place->second, period);
    unsigned end = lethe_queue_end(shape, ages);
    unsigned end_second = lethe_queue_end(shape, ages_second);
    uintptr_t block = (uintptr_t)place->first, second = (uintptr_t)place->second;
    uint64_t take_second = -(uint64_t)(end_second < end); /* all ones, or none */
    block ^= (block ^ second) & take_second;
    ages = lethe_queue_is_wide(shape)
               ? (take_second != 0 ? ages_second : ages)
               : (uint64_t)ages ^ ((uint64_t)(ages ^ ages_second) & take_second);
    if (end_second < end) end = end_second;
    if (__builtin_expect(lethe_queue_is_full(shape, end), 0))
        return hot->insert_crowded(table, id, period);
    lethe_queue_append(shape, (unsigned char *)block, ages, end, period, place->remainder);
    count_in(table, period);
    return LETHE_TABLE_ADDED;
}

/* Makes the id's segment if it is not there yet. In a batch the place may be from before another id of it made the
 * segment, and wrote there. */
ALWAYS_INLINE bool ensure_exists(const struct lethe_queue_shape *shape, lethe_table *table,
                                 const lethe_hash *id, struct place *place) {
    if (__builtin_expect(place->first != NULL, 1)) return true;
    bool is_new = table->segments[segment_of(table, id)] == NULL;
    if (!lethe_table_ensure_segment(table, segment_of(table, id))) return false;
    *place = place_of(shape, table, id);
    /* It is zero. But to read it first would fault twice, for a page to read and for one to write. */
    if (is_new) *(volatile unsigned char *)place->first = 0;
    return true;
}

ALWAYS_INLINE bool check_at(const struct hot *hot, const lethe_table *table,
                            const struct place *place, uint64_t period) {
    if (__builtin_expect(place->first == NULL, 0)) return false;
    return look(hot, table, place, period).block != NULL;
}

ALWAYS_INLINE bool check_with(const struct hot *hot, const lethe_table *table, const lethe_hash *id,
                              uint64_t period) {
    struct place place = place_of(shape_of(hot, table), table, id);
    return check_at(hot, table, &place, period);
}

ALWAYS_INLINE lethe_table_result check_and_insert_at(const struct hot *hot, lethe_table *table,
                                                     const lethe_hash *id, struct place *place,
                                                     uint64_t period) {
    if (!ensure_exists(shape_of(hot, table), table, id, place)) return LETHE_TABLE_NO_MEMORY;
    if (look(hot, table, place, period).block != NULL) return LETHE_TABLE_IS_DUPLICATE;
    return insert_at(hot, table, id, place, period);
}

ALWAYS_INLINE lethe_table_result check_and_insert_with(const struct hot *hot, lethe_table *table,
                                                       const lethe_hash *id, uint64_t period) {
    struct place place = place_of(shape_of(hot, table), table, id);
    return check_and_insert_at(hot, table, id, &place, period);
}

ALWAYS_INLINE lethe_table_result insert_with(const struct hot *hot, lethe_table *table,
                                             const lethe_hash *id, uint64_t period) {
    struct place place = place_of(shape_of(hot, table), table, id);
    if (!ensure_exists(shape_of(hot, table), table, id, &place)) return LETHE_TABLE_NO_MEMORY;
    return insert_at(hot, table, id, &place, period);
}

/* Makes an entry the youngest of its block. */
NEVER_INLINE void refresh_entry(lethe_table *table, struct found found, uint64_t remainder,
                                uint64_t period) {
    const struct lethe_queue_shape *shape = &table->shape.queue;
    lethe_queue_ages ages = lethe_queue_ages_at(shape, found.block, period);
    unsigned age = lethe_queue_age(shape, ages, found.number);
    if (age == 0) return;
    lethe_queue_remove(shape, found.block, period, found.number);
    lethe_queue_insert(shape, found.block, period, 0, remainder);
    uncount(table, period, age);
    count_in(table, period);
}

ALWAYS_INLINE lethe_table_result record_at(const struct hot *hot, lethe_table *table,
                                           const lethe_hash *id, struct place *place,
                                           uint64_t period, uint64_t *inserted) {
    if (!ensure_exists(shape_of(hot, table), table, id, place)) return LETHE_TABLE_NO_MEMORY;
    struct found found = look(hot, table, place, period);
    if (found.block != NULL) {
        refresh_entry(table, found, place->remainder, period);
        return LETHE_TABLE_ADDED;
    }
    lethe_table_result result = insert_at(hot, table, id, place, period);
    *inserted += result == LETHE_TABLE_ADDED;
    return result;
}

static unsigned count_matches(const lethe_table *table, lethe_hash id, uint64_t period) {
    const struct lethe_queue_shape *shape = &table->shape.queue;
    struct place place = place_of(shape, table, &id);
    if (place.first == NULL) return 0;
    uint32_t match = lethe_queue_match(shape, place.first, place.remainder);
    unsigned count = lethe_queue_count(shape, place.first, match, period);
    if (place.first == place.second) return count;
    match = lethe_queue_match(shape, place.second, place.remainder);
    return count + lethe_queue_count(shape, place.second, match, period);
}

static bool remove_one(lethe_table *table, lethe_hash id, uint64_t period) {
    const struct lethe_queue_shape *shape = &table->shape.queue;
    struct place place = place_of(shape, table, &id);
    if (place.first == NULL) return false;
    struct found found = find_with(shape, place.first, place.second, place.remainder, period);
    if (found.block == NULL) return false;
    lethe_queue_ages ages = lethe_queue_ages_at(shape, found.block, period);
    uncount(table, period, lethe_queue_age(shape, ages, found.number));
    lethe_queue_remove(shape, found.block, period, found.number);
    return true;
}

/* The places of the next ids of a batch, whose blocks have been asked for. */
struct pipeline {
    struct place places[AHEAD];
};

ALWAYS_INLINE void pipeline_fill(const struct lethe_queue_shape *shape, const lethe_table *table,
                                 const lethe_hash *ids, size_t count, struct pipeline *pipeline) {
    for (size_t i = 0; i < count && i < AHEAD; i++)
        pipeline->places[i] = prefetch(shape, table, &ids[i]);
}

/* Takes the place of id number i, and asks for the one that is AHEAD of it. */
ALWAYS_INLINE struct place pipeline_next(const struct lethe_queue_shape *shape,
                                         const lethe_table *table, const lethe_hash *ids,
                                         size_t count, size_t i, struct pipeline *pipeline) {
    struct place *slot = &pipeline->places[i % AHEAD], place = *slot;
    if (i + AHEAD < count) *slot = prefetch(shape, table, &ids[i + AHEAD]);
    return place;
}

/* The other tables of a chain, those that are only read: there are none most of the time. */
ALWAYS_INLINE void prefetch_older(lethe_table *const *tables, unsigned count, const lethe_hash *ids,
                                  size_t id_count, size_t i) {
    for (unsigned t = 1; t < count && i < id_count; t++)
        (void)prefetch(&tables[t]->shape.queue, tables[t], &ids[i]);
}

ALWAYS_INLINE bool check_older(lethe_table *const *tables, unsigned count, const lethe_hash *id,
                               uint64_t period) {
    for (unsigned t = 1; t < count; t++) {
        if (tables[t]->operations->check(tables[t], *id, period)) return true;
    }
    return false;
}

ALWAYS_INLINE void check_batch_with(const struct hot *hot, lethe_table *const *tables,
                                    unsigned count, const lethe_hash *ids, size_t id_count,
                                    uint64_t period, uint8_t *answers) {
    const struct lethe_queue_shape *shape = shape_of(hot, tables[0]);
    struct pipeline pipeline;
    pipeline_fill(shape, tables[0], ids, id_count, &pipeline);
    for (size_t i = 0; i < AHEAD; i++)
        prefetch_older(tables, count, ids, id_count, i);
    for (size_t i = 0; i < id_count; i++) {
        struct place place = pipeline_next(shape, tables[0], ids, id_count, i, &pipeline);
        prefetch_older(tables, count, ids, id_count, i + AHEAD);
        answers[i] =
            check_at(hot, tables[0], &place, period) || check_older(tables, count, &ids[i], period);
    }
}

ALWAYS_INLINE size_t check_and_insert_batch_with(const struct hot *hot, lethe_table *const *tables,
                                                 unsigned count, const lethe_hash *ids,
                                                 size_t id_count, uint64_t period, uint8_t *answers,
                                                 lethe_table_result *result) {
    const struct lethe_queue_shape *shape = shape_of(hot, tables[0]);
    struct pipeline pipeline;
    pipeline_fill(shape, tables[0], ids, id_count, &pipeline);
    for (size_t i = 0; i < AHEAD; i++)
        prefetch_older(tables, count, ids, id_count, i);
    for (size_t i = 0; i < id_count; i++) {
        struct place place = pipeline_next(shape, tables[0], ids, id_count, i, &pipeline);
        prefetch_older(tables, count, ids, id_count, i + AHEAD);
        lethe_table_result found = LETHE_TABLE_IS_DUPLICATE;
        if (count == 1 || !check_older(tables, count, &ids[i], period))
            found = check_and_insert_at(hot, tables[0], &ids[i], &place, period);
        if (__builtin_expect(found > LETHE_TABLE_IS_DUPLICATE, 0)) {
            *result = found;
            return i;
        }
        answers[i] = (uint8_t)found;
    }
    *result = LETHE_TABLE_ADDED;
    return id_count;
}

ALWAYS_INLINE size_t record_batch_with(const struct hot *hot, lethe_table *table,
                                       const lethe_hash *ids, size_t id_count, uint64_t period,
                                       uint64_t *inserted, lethe_table_result *result) {
    const struct lethe_queue_shape *shape = shape_of(hot, table);
    struct pipeline pipeline;
    uint64_t count = 0;
    size_t done = 0;
    *result = LETHE_TABLE_ADDED;
    pipeline_fill(shape, table, ids, id_count, &pipeline);
    for (; done < id_count; done++) {
        struct place place = pipeline_next(shape, table, ids, id_count, done, &pipeline);
        *result = record_at(hot, table, &ids[done], &place, period, &count);
        if (__builtin_expect(*result != LETHE_TABLE_ADDED, 0)) break;
    }
    *inserted = count;
    return done;
}

static void prefetch_one(const lethe_table *table, lethe_hash id) {
    (void)prefetch(&table->shape.queue, table, &id);
}

static void sweep(lethe_table *table, uint64_t first, uint64_t count, uint64_t period) {
    for (uint64_t i = first; i < first + count; i++) {
        unsigned char *segment = table->segments[i / table->shape.blocks];
        if (segment == NULL) continue;
        lethe_queue_refresh(&table->shape.queue,
                            lethe_table_block(table, segment, i % table->shape.blocks), period);
    }
}

/* The functions for tables of one shape: a constant, or NULL for the table's own. */
#define OPERATIONS_FOR(name, constant)                                                             \
    NEVER_INLINE struct found find_##name(const lethe_table *table, unsigned char *first,          \
                                          unsigned char *second, uint64_t remainder,               \
                                          uint64_t period) {                                       \
        const struct hot hot = {.shape = constant};                                                \
        return find_with(shape_of(&hot, table), first, second, remainder, period);                 \
    }                                                                                              \
    NEVER_INLINE lethe_table_result insert_crowded_##name(lethe_table *table,                      \
                                                          const lethe_hash *id, uint64_t period) { \
        const struct hot hot = {.shape = constant};                                                \
        return insert_crowded_with(shape_of(&hot, table), table, id, period);                      \
    }                                                                                              \
    static const struct hot hot_##name = {constant, find_##name, insert_crowded_##name};           \
    static bool check_##name(const lethe_table *table, lethe_hash id, uint64_t period) {           \
        return check_with(&hot_##name, table, &id, period);                                        \
    }                                                                                              \
    static lethe_table_result insert_##name(lethe_table *table, lethe_hash id, uint64_t period) {  \
        return insert_with(&hot_##name, table, &id, period);                                       \
    }                                                                                              \
    static lethe_table_result check_and_insert_##name(lethe_table *table, lethe_hash id,           \
                                                      uint64_t period) {                           \
        return check_and_insert_with(&hot_##name, table, &id, period);                             \
    }                                                                                              \
    static void check_batch_##name(lethe_table *const *tables, unsigned count,                     \
                                   const lethe_hash *ids, size_t id_count, uint64_t period,        \
                                   uint8_t *answers) {                                             \
        check_batch_with(&hot_##name, tables, count, ids, id_count, period, answers);              \
    }                                                                                              \
    static size_t check_and_insert_batch_##name(                                                   \
        lethe_table *const *tables, unsigned count, const lethe_hash *ids, size_t id_count,        \
        uint64_t period, uint8_t *answers, lethe_table_result *result) {                           \
        return check_and_insert_batch_with(&hot_##name, tables, count, ids, id_count, period,      \
                                           answers, result);                                       \
    }                                                                                              \
    static size_t record_batch_##name(lethe_table *table, const lethe_hash *ids, size_t id_count,  \
                                      uint64_t period, uint64_t *inserted,                         \
                                      lethe_table_result *result) {                                \
        return record_batch_with(&hot_##name, table, ids, id_count, period, inserted, result);     \
    }

OPERATIONS_FOR(first_usual, &lethe_table_usual[0])
OPERATIONS_FOR(second_usual, &lethe_table_usual[1])
OPERATIONS_FOR(third_usual, &lethe_table_usual[2])
OPERATIONS_FOR(any, NULL)

#define OPERATIONS_OF(name)                                                                      \
    {                                                                                            \
        .prefetch = prefetch_one, .check = check_##name,                                         \
        .check_and_insert = check_and_insert_##name, .insert = insert_##name,                    \
        .count_matches = count_matches, .remove = remove_one, .check_batch = check_batch_##name, \
        .check_and_insert_batch = check_and_insert_batch_##name,                                 \
        .record_batch = record_batch_##name, .sweep = sweep,                                     \
    }

const struct lethe_table_operations OPERATIONS[LETHE_TABLE_USUAL + 1] = {
    OPERATIONS_OF(first_usual), OPERATIONS_OF(second_usual), OPERATIONS_OF(third_usual),
    OPERATIONS_OF(any)};

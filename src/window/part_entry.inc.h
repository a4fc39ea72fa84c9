/* window/part_entry.inc.h - looks for, adds, moves and removes single entries of a part.
 *
 * Part of the template window/part_hot.inc.h, which includes it. Ids are passed by pointer: gcc
 * would store the two halves of an id that is passed by value and load them again as one vector,
 * and that load has to wait for all earlier stores. */
/* How many ids ahead a batch prefetches, and how many entries of each full block are considered
 * at a time when one has to move. */
enum { AHEAD = 32, CONSIDERED = 1, LINE_BYTES = 64 };

/* A living entry: its block, NULL if there is none, and its number in the block. */
struct found {
    unsigned char *block;
    unsigned number;
};

/* The shape of a part's blocks, and the rarely called functions compiled for that shape. Always a
 * constant that the compiler can see through. A NULL shape means the part's own. */
struct hot {
    const struct lethe_queue_shape *shape;
    struct found (*find)(const lethe_part *part, unsigned char *first, unsigned char *second,
                         uint64_t remainder, uint64_t period);
    lethe_part_result (*put_crowded)(lethe_part *part, const lethe_hash *id, uint64_t period);
};

LETHE_INLINE const struct lethe_queue_shape *shape_of(const struct hot *hot,
                                                      const lethe_part *part) {
    return hot->shape != NULL ? hot->shape : &part->shape.queue;
}

/* The fields of a part that say where ids lie. A batch copies them once: a compiler has to assume
 * that a store into a block changes the fields of the part itself. */
struct map {
    unsigned char *const *slabs;
    uint64_t slab_count, blocks, remainder_mask;
};

LETHE_INLINE struct map map_of(const lethe_part *part) {
    return (struct map){part->slabs, part->shape.slabs, part->shape.blocks, part->remainder_mask};
}

/* The place of an id: its two blocks, NULL if their slab is not allocated. Slab and first
 * block come from the high half of its hash and the remainder from the low half, whose upper six
 * bits choose the stripe (window.h). */
struct place {
    unsigned char *first, *second;
    uint64_t remainder;
};

LETHE_INLINE uint64_t slab_of(uint64_t slab_count, const lethe_hash *id) {
    return lethe_multiply_high(id->high, slab_count);
}

LETHE_INLINE struct place place_of(const struct lethe_queue_shape *shape, const struct map *map,
                                   const lethe_hash *id) {
    uint64_t remainder = id->low & map->remainder_mask;
    uint64_t first = ((id->high & UINT32_MAX) * map->blocks) >> 32;
    uint64_t second = lethe_part_other_block(map->blocks, remainder, first);
    unsigned char *slab = map->slabs[slab_of(map->slab_count, id)];
    if (__builtin_expect(slab == NULL, 0)) return (struct place){NULL, NULL, remainder};
    return (struct place){
        .first = slab + first * shape->block_bytes,
        .second = slab + second * shape->block_bytes,
        .remainder = remainder,
    };
}

LETHE_INLINE struct place place_in(const struct lethe_queue_shape *shape, const lethe_part *part,
                                   const lethe_hash *id) {
    struct map map = map_of(part);
    return place_of(shape, &map, id);
}

/* As place_of, and prefetches the blocks. */
LETHE_INLINE struct place prefetch(const struct lethe_queue_shape *shape, const struct map *map,
                                   const lethe_hash *id) {
    struct place place = place_of(shape, map, id);
    for (unsigned at = 0; at < shape->block_bytes; at += LINE_BYTES) {
        __builtin_prefetch(place.first + at, 1);
        __builtin_prefetch(place.second + at, 1);
    }
    return place;
}

/* The entry of an id, in either of its blocks. */
LETHE_INLINE struct found find_with(const struct lethe_queue_shape *shape, unsigned char *first,
                                    unsigned char *second, uint64_t remainder, uint64_t period) {
    uint32_t match = lethe_queue_match(shape, first, remainder);
    unsigned number = lethe_queue_find(shape, first, match, period);
    if (number < shape->slots) return (struct found){first, number};
    match = lethe_queue_match(shape, second, remainder);
    number = lethe_queue_find(shape, second, match, period);
    if (number < shape->slots) return (struct found){second, number};
    return (struct found){NULL, 0};
}

/* The same for ids that are mostly not there: a quick first look rules them out. */
LETHE_INLINE struct found look(const struct hot *hot, const lethe_part *part,
                               const struct place *place, uint64_t period) {
    bool might =
        lethe_queue_might_match(shape_of(hot, part), place->first, place->second, place->remainder);
    if (__builtin_expect(!might, 1)) return (struct found){NULL, 0};
    return hot->find(part, place->first, place->second, place->remainder, period);
}

/* Subtracts an entry of that age from the part's counts. */
static void uncount(lethe_part *part, uint64_t period, uint64_t age) {
    part->alive--;
    part->added[(period - age) % LETHE_PART_PERIODS]--;
}

LETHE_INLINE void count_in(lethe_part *part, uint64_t period, uint64_t count) {
    part->alive += count;
    part->added[period % LETHE_PART_PERIODS] += count;
}

/* An entry of a full block, and the other block to which it could move. */
struct move {
    unsigned char *from, *to;
    unsigned number;
    uint64_t remainder;
};

LETHE_INLINE struct move plan_move(const struct lethe_queue_shape *shape, const lethe_part *part,
                                   unsigned char *slab, unsigned char *from, unsigned number) {
    unsigned slot = lethe_queue_turn(shape, lethe_queue_head(shape, from), number);
    uint64_t remainder = lethe_queue_remainder(shape, from, slot);
    uint64_t block = (uint64_t)(from - slab) / shape->block_bytes;
    uint64_t other = lethe_part_other_block(part->shape.blocks, remainder, block);
    return (struct move){from, slab + other * shape->block_bytes, number, remainder};
}

LETHE_INLINE bool has_room(const struct lethe_queue_shape *shape, const struct move *move,
                           uint64_t period) {
    unsigned end = lethe_queue_end(shape, lethe_queue_ages_soon(shape, move->to, period));
    return move->to != move->from && !lethe_queue_is_full(shape, end);
}

/* Chooses an entry of one of two full blocks that can move to its other block; false if there is
 * none. The youngest entries are considered first, because moving them takes the fewest steps.
 * Their other blocks are not in the cache, so a few are prefetched together, and all of these are
 * looked at: which is the first with room could not be predicted. */
LETHE_INLINE bool choose_move(const struct lethe_queue_shape *shape, const lethe_part *part,
                              unsigned char *slab, const struct place *place, uint64_t period,
                              struct move *out) {
    unsigned char *const full[2] = {place->first, place->second};
    const unsigned slots = shape->slots;
    for (unsigned number = 0; number < slots; number += CONSIDERED) {
        struct move moves[2 * CONSIDERED];
        unsigned count = 0, possible = 0;
        for (unsigned i = number; i < number + CONSIDERED && i < slots; i++) {
            for (unsigned j = 0; j < 2; j++) {
                moves[count] = plan_move(shape, part, slab, full[j], i);
                __builtin_prefetch(moves[count++].to, 1);
            }
        }
        for (unsigned i = 0; i < count; i++)
            possible |= (unsigned)has_room(shape, &moves[i], period) << i;
        if (possible == 0) continue;
        *out = moves[__builtin_ctz(possible)];
        return true;
    }
    return false;
}

/* Puts an entry of which both blocks are full: in the place of one that moves. */
LETHE_INLINE lethe_part_result put_crowded_with(const struct lethe_queue_shape *shape,
                                                lethe_part *part, const lethe_hash *id,
                                                uint64_t period) {
    struct place place = place_in(shape, part, id);
    struct move move;
    unsigned char *slab = part->slabs[slab_of(part->shape.slabs, id)];
    if (!choose_move(shape, part, slab, &place, period, &move)) return LETHE_PART_IS_FULL;
    lethe_queue_ages ages = lethe_queue_ages_soon(shape, move.from, period);
    unsigned age = lethe_queue_age(shape, ages, move.number);
    lethe_queue_insert(shape, move.to, period, age, move.remainder);
    lethe_queue_replace(shape, move.from, period, move.number, place.remainder);
    return LETHE_PART_ADDED;
}

/* Puts an entry into the one of its blocks that has fewer living entries. A branch on which one
 * that is could not be predicted, so there is none. The caller counts it. */
LETHE_INLINE lethe_part_result put_at(const struct hot *hot, lethe_part *part, const lethe_hash *id,
                                      const struct place *place, uint64_t period) {
    const struct lethe_queue_shape *shape = shape_of(hot, part);
    lethe_queue_ages ages = lethe_queue_ages_soon(shape, place->first, period);
    lethe_queue_ages ages_second = lethe_queue_ages_soon(shape, place->second, period);
    unsigned end = lethe_queue_end(shape, ages);
    unsigned end_second = lethe_queue_end(shape, ages_second);
    uintptr_t block = (uintptr_t)place->first, second = (uintptr_t)place->second;
    uint64_t take_second = -(uint64_t)(end_second < end); /* all ones, or zero */
    block ^= (block ^ second) & take_second;
    ages = lethe_queue_is_wide(shape)
               ? (take_second != 0 ? ages_second : ages)
               : (uint64_t)ages ^ ((uint64_t)(ages ^ ages_second) & take_second);
    if (end_second < end) end = end_second;
    if (__builtin_expect(lethe_queue_is_full(shape, end), 0))
        return hot->put_crowded(part, id, period);
    lethe_queue_append(shape, (unsigned char *)block, ages, end, period, place->remainder);
    return LETHE_PART_ADDED;
}

/* The entries that may still be added to a part. */
LETHE_INLINE uint64_t room_of(const lethe_part *part) {
    return part->alive < part->shape.capacity ? part->shape.capacity - part->alive : 0;
}

LETHE_INLINE lethe_part_result insert_at(const struct hot *hot, lethe_part *part,
                                         const lethe_hash *id, const struct place *place,
                                         uint64_t period) {
    if (room_of(part) == 0) return LETHE_PART_IS_FULL;
    lethe_part_result result = put_at(hot, part, id, place, period);
    if (result == LETHE_PART_ADDED) count_in(part, period, 1);
    return result;
}

/* Allocates the id's slab if it is missing. In a batch, the place may have been computed before
 * another id of the batch allocated that slab and wrote to it. */
LETHE_INLINE bool ensure_exists(const struct lethe_queue_shape *shape, lethe_part *part,
                                const lethe_hash *id, struct place *place) {
    if (__builtin_expect(place->first != NULL, 1)) return true;
    uint64_t slab = slab_of(part->shape.slabs, id);
    bool is_new = part->slabs[slab] == NULL;
    if (!lethe_part_ensure_slab(part, slab)) return false;
    *place = place_in(shape, part, id);
    /* The byte is zero already. Writing before reading saves a page fault: a read would map the
     * zero page, and the next write would fault again. */
    if (is_new) *(volatile unsigned char *)place->first = 0;
    return true;
}

LETHE_INLINE bool test_at(const struct hot *hot, const lethe_part *part, const struct place *place,
                          uint64_t period) {
    if (__builtin_expect(place->first == NULL, 0)) return false;
    return look(hot, part, place, period).block != NULL;
}

LETHE_INLINE bool test_with(const struct hot *hot, const lethe_part *part, const lethe_hash *id,
                            uint64_t period) {
    struct place place = place_in(shape_of(hot, part), part, id);
    return test_at(hot, part, &place, period);
}

LETHE_INLINE lethe_part_result add_and_test_at(const struct hot *hot, lethe_part *part,
                                               const lethe_hash *id, struct place *place,
                                               uint64_t period) {
    if (!ensure_exists(shape_of(hot, part), part, id, place)) return LETHE_PART_NO_MEMORY;
    if (look(hot, part, place, period).block != NULL) return LETHE_PART_IS_DUPLICATE;
    return insert_at(hot, part, id, place, period);
}

LETHE_INLINE lethe_part_result add_and_test_with(const struct hot *hot, lethe_part *part,
                                                 const lethe_hash *id, uint64_t period) {
    struct place place = place_in(shape_of(hot, part), part, id);
    return add_and_test_at(hot, part, id, &place, period);
}

LETHE_INLINE lethe_part_result insert_with(const struct hot *hot, lethe_part *part,
                                           const lethe_hash *id, uint64_t period) {
    struct place place = place_in(shape_of(hot, part), part, id);
    if (!ensure_exists(shape_of(hot, part), part, id, &place)) return LETHE_PART_NO_MEMORY;
    return insert_at(hot, part, id, &place, period);
}

/* Makes an entry the youngest one of its block. */
LETHE_NOINLINE void refresh_entry(lethe_part *part, struct found found, uint64_t remainder,
                                  uint64_t period) {
    const struct lethe_queue_shape *shape = &part->shape.queue;
    lethe_queue_ages ages = lethe_queue_ages_at(shape, found.block, period);
    unsigned age = lethe_queue_age(shape, ages, found.number);
    if (age == 0) return;
    lethe_queue_replace(shape, found.block, period, found.number, remainder);
    uncount(part, period, age);
    count_in(part, period, 1);
}

static unsigned count_matches(const lethe_part *part, lethe_hash id, uint64_t period) {
    const struct lethe_queue_shape *shape = &part->shape.queue;
    struct place place = place_in(shape, part, &id);
    if (place.first == NULL) return 0;
    uint32_t match = lethe_queue_match(shape, place.first, place.remainder);
    unsigned count = lethe_queue_count(shape, place.first, match, period);
    if (place.first == place.second) return count;
    match = lethe_queue_match(shape, place.second, place.remainder);
    return count + lethe_queue_count(shape, place.second, match, period);
}

static bool remove_one(lethe_part *part, lethe_hash id, uint64_t period) {
    const struct lethe_queue_shape *shape = &part->shape.queue;
    struct place place = place_in(shape, part, &id);
    if (place.first == NULL) return false;
    struct found found = find_with(shape, place.first, place.second, place.remainder, period);
    if (found.block == NULL) return false;
    lethe_queue_ages ages = lethe_queue_ages_at(shape, found.block, period);
    uncount(part, period, lethe_queue_age(shape, ages, found.number));
    lethe_queue_remove(shape, found.block, period, found.number);
    return true;
}

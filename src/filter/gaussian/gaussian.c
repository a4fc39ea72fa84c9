/* filter/gaussian/gaussian.c - the public Gaussian Bloom filter: makes filters, hands keys to their
 * operations.
 *
 * IDEA    m slots instead of m bits. Hash function i raises the slots around its position to a bell
 *         that only it has; a key is present when no slot is below its bells. The positions, and
 *         the slots that are full, are those of the classical filter with the same m, k and seed.
 * LAYOUT  guard | slots | guard. Packed slots of t bits lie densely, slot s at bits ts to ts + t -
 *         1 of little-endian words; floats and doubles lie as arrays do. The guards are all full,
 *         and so are the bits after the last slot: a bell at the edge is never contradicted where
 *         there is no slot, and never needs to be cut. They are in memory only.
 * I1      A slot is the largest of all levels that any key added has there (Definition 2). So it is
 *         never below a level of a key that was added: no false negative (Lemma 1).
 * I2      Only the middle of a bell is full. So the full slots are the bits of the classical
 *         filter, and a key that is present here is present there (Lemma 2, Definition 3).
 * I3      Bells are nested: each lies within that of the next hash function.
 * I4      Shape, bells and seed never change after creation. Bells are saved, never made again from
 *         a rule: exp() differs between machines, and a bell that became higher by one step would
 *         be a false negative.
 * WHY     Slots of four bits by default: more add hardly anything with our spacing (bell.c), and
 *         two lose a third of the gain at k = 5.
 * LIMIT   Neighbouring slots are read together: a filter of many bits per slot and many hash
 *         functions with the published spacing touches several cache lines per probe.
 * PAPER   docs/papers.md#the-gaussian-bloom-filter */
#include "filter/gaussian/gaussian.h"

#include <string.h>

#include "core/allocator.h"
#include "core/sized.h"

unsigned char *lethe_gaussian_slots(const lethe_gaussian *filter) {
    return filter->field.memory +
           lethe_gaussian_guard_bytes(filter->shape.slot_bits, filter->shape.radius);
}

/* The bits between the last slot and the end of its word are full, like a guard. */
static void fill_end(const lethe_gaussian *filter) {
    const lethe_gaussian_shape *shape = &filter->shape;
    unsigned used = shape->slots * shape->slot_bits % 64;
    if (used == 0) return;
    unsigned char *last =
        lethe_gaussian_slots(filter) + (lethe_gaussian_words(shape) - 1) * sizeof(uint64_t);
    if (shape->slot_bits == LETHE_GAUSSIAN_FLOAT_BITS) {
        ((float *)(void *)last)[1] = 1;
    } else {
        lethe_gaussian_write(last, lethe_gaussian_read(last) | UINT64_MAX << used);
    }
}

/* Fills a guard: ones are full packed slots, but a NaN in floats. */
static void fill_guard(unsigned char *bytes, size_t size, uint32_t slot_bits) {
    if (slot_bits == LETHE_GAUSSIAN_FLOAT_BITS) {
        for (size_t i = 0; i < size / sizeof(float); i++)
            ((float *)(void *)bytes)[i] = 1;
    } else if (slot_bits == LETHE_GAUSSIAN_DOUBLE_BITS) {
        for (size_t i = 0; i < size / sizeof(double); i++)
            ((double *)(void *)bytes)[i] = 1;
    } else {
        memset(bytes, 0xff, size);
    }
}

lethe_status lethe_gaussian_from_table(const lethe_gaussian_shape *shape,
                                       struct lethe_gaussian_table *table,
                                       const lethe_allocator *allocator, lethe_gaussian **out) {
    *out = NULL;
    size_t guard = lethe_gaussian_guard_bytes(shape->slot_bits, shape->radius), slots = 0;
    bool fits = lethe_size_multiply(lethe_gaussian_words(shape), sizeof(uint64_t), &slots) &&
                slots <= PTRDIFF_MAX - 2 * guard;
    lethe_gaussian *filter = fits ? lethe_alloc_zeroed(allocator, sizeof *filter) : NULL;
    if (filter == NULL) {
        lethe_gaussian_table_drop(table, allocator);
        return LETHE_ENOMEM;
    }
    *filter = (lethe_gaussian){
        .field = {.range = shape->slots,
                  .hashes = shape->hashes,
                  .slot_bits = shape->slot_bits,
                  .bells = table->bells,
                  .parts = table->parts},
        .operations = table->operations,
        .shape = *shape,
        .table = *table,
        .memory_bytes = slots + 2 * guard,
        .allocator = allocator,
    };
    filter->shape.size = sizeof filter->shape;
    filter->field.memory = lethe_alloc_zeroed(allocator, filter->memory_bytes);
    if (filter->field.memory == NULL) {
        lethe_gaussian_free(filter);
        return LETHE_ENOMEM;
    }
    fill_guard(filter->field.memory, guard, shape->slot_bits);
    fill_guard(filter->field.memory + guard + slots, guard, shape->slot_bits);
    fill_end(filter);
    *out = filter;
    return LETHE_OK;
}

/* The bells that a shape asks for. */
static lethe_status make_table(const lethe_gaussian_shape *shape, const lethe_allocator *allocator,
                               struct lethe_gaussian_table *table) {
    struct lethe_gaussian_rule rule = {.hashes = shape->hashes,
                                       .slot_bits = shape->slot_bits,
                                       .spacing = shape->spacing,
                                       .exponential = shape->exponential,
                                       .deviation_cap = shape->deviation_cap};
    uint32_t radii[LETHE_GAUSSIAN_MAX_HASHES];
    for (uint32_t i = 0; i < shape->hashes; i++)
        radii[i] = lethe_gaussian_radius(&rule, i + 1);
    lethe_status status =
        lethe_gaussian_table_init(radii, shape->hashes, shape->slot_bits, allocator, table);
    if (status != LETHE_OK) return status;
    lethe_gaussian_table_fill(&rule, table);
    status = lethe_gaussian_table_finish(table, shape->radius, allocator);
    if (status != LETHE_OK) lethe_gaussian_table_drop(table, allocator);
    return status;
}

lethe_status lethe_gaussian_new(const lethe_gaussian_options *options, lethe_gaussian **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_gaussian_options taken;
    lethe_gaussian_shape shape;
    lethe_status status = lethe_gaussian_plan_options(options, &taken, &shape);
    if (status != LETHE_OK) return status;
    struct lethe_gaussian_table table;
    status = make_table(&shape, taken.allocator, &table);
    if (status != LETHE_OK) return status;
    return lethe_gaussian_from_table(&shape, &table, taken.allocator, out);
}

/* A table with the same levels. */
static lethe_status copy_table(const struct lethe_gaussian_table *table, uint32_t radius,
                               const lethe_allocator *allocator, struct lethe_gaussian_table *out) {
    uint32_t radii[LETHE_GAUSSIAN_MAX_HASHES];
    for (uint32_t i = 0; i < table->hashes; i++)
        radii[i] = table->bells[i].radius;
    lethe_status status =
        lethe_gaussian_table_init(radii, table->hashes, table->slot_bits, allocator, out);
    if (status != LETHE_OK) return status;
    memcpy(out->levels, table->levels, table->level_count * sizeof *table->levels);
    status = lethe_gaussian_table_finish(out, radius, allocator);
    if (status != LETHE_OK) lethe_gaussian_table_drop(out, allocator);
    return status;
}

lethe_status lethe_gaussian_copy(const lethe_gaussian *filter, lethe_gaussian **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (filter == NULL) return LETHE_EINVAL;
    struct lethe_gaussian_table table;
    lethe_status status =
        copy_table(&filter->table, filter->shape.radius, filter->allocator, &table);
    if (status != LETHE_OK) return status;
    status = lethe_gaussian_from_table(&filter->shape, &table, filter->allocator, out);
    if (status != LETHE_OK) return status;
    memcpy((*out)->field.memory, filter->field.memory, filter->memory_bytes);
    (*out)->additions = filter->additions;
    return LETHE_OK;
}

lethe_status lethe_gaussian_new_like(const lethe_gaussian *pattern, uint64_t slots,
                                     uint64_t capacity, double error, lethe_gaussian **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (pattern == NULL) return LETHE_EINVAL;
    lethe_gaussian_shape shape = pattern->shape;
    /* Written so that a NaN is refused as well. */
    bool valid = slots >= 2 * (uint64_t)shape.radius + 1 && slots <= LETHE_GAUSSIAN_MAX_SLOTS &&
                 error >= 0 && error <= 1;
    if (!valid) return LETHE_EINVAL;
    shape.slots = slots;
    shape.capacity = capacity;
    shape.error = error;
    shape.memory_bytes = lethe_gaussian_words(&shape) * sizeof(uint64_t);
    struct lethe_gaussian_table table;
    lethe_status status = copy_table(&pattern->table, shape.radius, pattern->allocator, &table);
    if (status != LETHE_OK) return status;
    return lethe_gaussian_from_table(&shape, &table, pattern->allocator, out);
}

void lethe_gaussian_free(lethe_gaussian *filter) {
    if (filter == NULL) return;
    const lethe_allocator *allocator = filter->allocator;
    lethe_gaussian_table_drop(&filter->table, allocator);
    lethe_release(allocator, filter->field.memory, filter->memory_bytes);
    lethe_release(allocator, filter, sizeof *filter);
}

void lethe_gaussian_clear(lethe_gaussian *filter) {
    if (filter == NULL) return;
    memset(lethe_gaussian_slots(filter), 0, filter->shape.memory_bytes);
    fill_end(filter);
    filter->additions = 0;
}

uint64_t lethe_gaussian_seed(const lethe_gaussian *filter) {
    return filter != NULL ? filter->shape.seed : 0;
}

lethe_status lethe_gaussian_get_shape(const lethe_gaussian *filter, lethe_gaussian_shape *out) {
    if (filter == NULL) return LETHE_EINVAL;
    return LETHE_GIVE(&filter->shape, out, memory_bytes);
}

void lethe_gaussian_add_hash(lethe_gaussian *filter, lethe_hash hash) {
    if (filter == NULL) return;
    filter->additions++;
    filter->operations->add(&filter->field, hash);
}

bool lethe_gaussian_test_hash(const lethe_gaussian *filter, lethe_hash hash) {
    return filter != NULL && filter->operations->test(&filter->field, hash);
}

bool lethe_gaussian_add_and_test_hash(lethe_gaussian *filter, lethe_hash hash) {
    if (filter == NULL) return false;
    filter->additions++;
    return filter->operations->add_and_test(&filter->field, hash);
}

void lethe_gaussian_add(lethe_gaussian *filter, const void *key, size_t size) {
    lethe_gaussian_add_hash(filter, lethe_hash_bytes(lethe_gaussian_seed(filter), key, size));
}

bool lethe_gaussian_test(const lethe_gaussian *filter, const void *key, size_t size) {
    return lethe_gaussian_test_hash(filter,
                                    lethe_hash_bytes(lethe_gaussian_seed(filter), key, size));
}

bool lethe_gaussian_add_and_test(lethe_gaussian *filter, const void *key, size_t size) {
    return lethe_gaussian_add_and_test_hash(
        filter, lethe_hash_bytes(lethe_gaussian_seed(filter), key, size));
}

lethe_status lethe_gaussian_add_batch(lethe_gaussian *filter, const lethe_hash *hashes,
                                      size_t count) {
    if (filter == NULL || (hashes == NULL && count > 0)) return LETHE_EINVAL;
    filter->additions += count;
    filter->operations->add_batch(&filter->field, hashes, count);
    return LETHE_OK;
}

lethe_status lethe_gaussian_test_batch(const lethe_gaussian *filter, const lethe_hash *hashes,
                                       size_t count, uint8_t *present) {
    if (filter == NULL || ((hashes == NULL || present == NULL) && count > 0)) return LETHE_EINVAL;
    filter->operations->test_batch(&filter->field, hashes, count, present);
    return LETHE_OK;
}

lethe_status lethe_gaussian_add_and_test_batch(lethe_gaussian *filter, const lethe_hash *hashes,
                                               size_t count, uint8_t *present) {
    if (filter == NULL || ((hashes == NULL || present == NULL) && count > 0)) return LETHE_EINVAL;
    filter->additions += count;
    filter->operations->add_and_test_batch(&filter->field, hashes, count, present);
    return LETHE_OK;
}

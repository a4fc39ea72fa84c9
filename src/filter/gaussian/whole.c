/* filter/gaussian/whole.c - what looks at all slots: unions, estimates, and the Bloom filter
 * underneath.
 *
 * Packed slots are taken eight at a time: they are t bytes then, so that eight always begin at a
 * byte. */
#include <math.h>
#include <string.h>

#include "core/allocator.h"
#include "core/sized.h"
#include "filter/bloom/bloom.h"
#include "filter/gaussian/gaussian.h"

enum { GROUP = 8 };

/* The lowest bit of each of eight slots. */
static uint64_t lowest_bits(uint32_t slot_bits) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < GROUP; i++)
        bits |= UINT64_C(1) << i * slot_bits;
    return bits;
}

double lethe_gaussian_slot(const lethe_gaussian *filter, uint64_t slot) {
    if (filter == NULL || slot >= filter->shape.slots) return 0;
    uint32_t bits = filter->shape.slot_bits;
    const unsigned char *slots = lethe_gaussian_slots(filter);
    if (bits == LETHE_GAUSSIAN_FLOAT_BITS) return ((const float *)(const void *)slots)[slot];
    if (bits == LETHE_GAUSSIAN_DOUBLE_BITS) return ((const double *)(const void *)slots)[slot];
    uint64_t location = slot * bits, top = (UINT64_C(1) << bits) - 1;
    uint64_t level = lethe_gaussian_read(slots + location / 8) >> location % 8 & top;
    return (double)level / (double)top;
}

double lethe_gaussian_bell(const lethe_gaussian *filter, uint32_t hash, uint64_t distance) {
    if (filter == NULL || hash == 0 || hash > filter->shape.hashes) return 0;
    const struct lethe_gaussian_bell *bell = &filter->table.bells[hash - 1];
    if (distance > bell->radius) return 0;
    return filter->table.levels[bell->levels + distance] /
           lethe_gaussian_top(filter->shape.slot_bits);
}

/* Which of the eight slots from group number group on are full, as bits; those after the last slot
 * count as full. */
static unsigned full_in_group(const lethe_gaussian *filter, uint64_t group, uint64_t lowest) {
    uint32_t bits = filter->shape.slot_bits;
    if (!lethe_gaussian_is_packed(bits)) {
        unsigned full = 0;
        for (unsigned i = 0; i < GROUP; i++) {
            uint64_t slot = group * GROUP + i;
            bool is_slot = slot < filter->shape.slots;
            full |= (unsigned)(!is_slot || lethe_gaussian_slot(filter, slot) == 1) << i;
        }
        return full;
    }
    uint64_t word = lethe_gaussian_read(lethe_gaussian_slots(filter) + group * bits);
    uint64_t all = word;
    for (uint32_t i = 1; i < bits; i++)
        all &= word >> i;
    return (unsigned)lethe_extract64_portable(all & lowest, lowest);
}

/* Writes the full slots as bits into words, which are zeroed; the number of them. */
static uint64_t put_full_slots(const lethe_gaussian *filter, uint64_t *words) {
    uint64_t slots = filter->shape.slots, count = 0;
    uint32_t bits = filter->shape.slot_bits;
    uint64_t lowest = lethe_gaussian_is_packed(bits) ? lowest_bits(bits) : 0;
    for (uint64_t group = 0; group * GROUP < slots; group++) {
        uint64_t first = group * GROUP, full = full_in_group(filter, group, lowest);
        if (slots - first < GROUP) full &= (UINT64_C(1) << (slots - first)) - 1;
        words[first / 64] |= full << first % 64;
        count += lethe_popcount64(full);
    }
    return count;
}

static bool is_same_shape(const lethe_gaussian *a, const lethe_gaussian *b) {
    bool same = a->shape.slots == b->shape.slots && a->shape.hashes == b->shape.hashes &&
                a->shape.slot_bits == b->shape.slot_bits && a->shape.seed == b->shape.seed &&
                a->table.level_count == b->table.level_count;
    for (uint32_t i = 0; same && i < a->shape.hashes; i++)
        same = a->table.bells[i].radius == b->table.bells[i].radius;
    return same && memcmp(a->table.levels, b->table.levels,
                          a->table.level_count * sizeof *a->table.levels) == 0;
}

static void unite_packed(lethe_gaussian *filter, const lethe_gaussian *other) {
    uint32_t bits = filter->shape.slot_bits;
    uint64_t tops = lowest_bits(bits) << (bits - 1);
    uint64_t whole = tops | (tops - lowest_bits(bits));
    unsigned char *to = lethe_gaussian_slots(filter);
    const unsigned char *from = lethe_gaussian_slots(other);
    for (uint64_t done = 0; done < filter->shape.slots; done += GROUP, to += bits, from += bits) {
        uint64_t levels = lethe_gaussian_read(from) & whole;
        struct lethe_gaussian_piece piece = {.levels = levels, .tops = tops};
        lethe_gaussian_write(to, lethe_gaussian_raise(lethe_gaussian_read(to), piece, bits));
    }
}

static void unite_floats(lethe_gaussian *filter, const lethe_gaussian *other) {
    float *to = (float *)(void *)lethe_gaussian_slots(filter);
    const float *from = (const float *)(const void *)lethe_gaussian_slots(other);
    for (uint64_t i = 0; i < filter->shape.slots; i++) {
        if (to[i] < from[i]) to[i] = from[i];
    }
}

static void unite_doubles(lethe_gaussian *filter, const lethe_gaussian *other) {
    double *to = (double *)(void *)lethe_gaussian_slots(filter);
    const double *from = (const double *)(const void *)lethe_gaussian_slots(other);
    for (uint64_t i = 0; i < filter->shape.slots; i++) {
        if (to[i] < from[i]) to[i] = from[i];
    }
}

lethe_status lethe_gaussian_merge(lethe_gaussian *filter, const lethe_gaussian *other) {
    if (filter == NULL || other == NULL) return LETHE_EINVAL;
    if (!is_same_shape(filter, other)) return LETHE_EMISMATCH;
    uint32_t bits = filter->shape.slot_bits;
    if (bits == LETHE_GAUSSIAN_FLOAT_BITS) {
        unite_floats(filter, other);
    } else if (bits == LETHE_GAUSSIAN_DOUBLE_BITS) {
        unite_doubles(filter, other);
    } else {
        unite_packed(filter, other);
    }
    filter->additions += other->additions;
    return LETHE_OK;
}

static lethe_bloom_shape bloom_shape(const lethe_gaussian_shape *shape) {
    lethe_bloom_shape bloom = {
        .size = sizeof bloom,
        .layout = LETHE_BLOOM_CLASSIC,
        .bits = shape->slots,
        .hashes = shape->hashes,
        .capacity = shape->capacity,
        .error = shape->error,
        .seed = shape->seed,
    };
    bloom.memory_bytes = lethe_bloom_words(&bloom) * sizeof(uint64_t);
    return bloom;
}

lethe_status lethe_gaussian_extract(const lethe_gaussian *filter, lethe_bloom **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (filter == NULL) return LETHE_EINVAL;
    lethe_bloom_shape shape = bloom_shape(&filter->shape);
    lethe_status status = lethe_bloom_from_shape(&shape, filter->allocator, out);
    if (status != LETHE_OK) return status;
    (void)put_full_slots(filter, (*out)->bits.words);
    (*out)->additions = filter->additions;
    return LETHE_OK;
}

/* Bells are nested, so the highest of all is the last one. */
static void raise_all(lethe_gaussian *filter, const lethe_bloom *bloom) {
    uint64_t words = lethe_bloom_words(&bloom->shape);
    for (uint64_t i = 0; i < words; i++) {
        for (uint64_t left = bloom->bits.words[i]; left != 0; left &= left - 1) {
            uint64_t slot = i * 64 + (unsigned)__builtin_ctzll(left);
            filter->operations->raise(&filter->field, filter->shape.hashes - 1, slot);
        }
    }
}

lethe_status lethe_gaussian_promote(const lethe_bloom *bloom, const lethe_gaussian_options *options,
                                    lethe_gaussian **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_gaussian_options asked;
    lethe_status status = LETHE_TAKE(options, &asked, allocator);
    if (status != LETHE_OK) return status;
    if (bloom == NULL) return LETHE_EINVAL;
    /* Written so that a NaN is refused as well. */
    if (asked.slots != 0 || asked.hashes != 0 || asked.capacity != 0 || !(asked.error == 0) ||
        asked.seed != 0 || bloom->shape.layout != LETHE_BLOOM_CLASSIC) {
        return LETHE_EINVAL;
    }
    asked.slots = bloom->shape.bits;
    asked.hashes = bloom->shape.hashes;
    asked.seed = bloom->shape.seed;
    status = lethe_gaussian_new(&asked, out);
    if (status != LETHE_OK) return status;
    (*out)->shape.capacity = bloom->shape.capacity;
    (*out)->shape.error = bloom->shape.error;
    (*out)->additions = bloom->additions;
    raise_all(*out, bloom);
    return LETHE_OK;
}

/* The n for which looking at every n-th of `count` things looks at about `most` of them. */
static uint64_t step_for(uint64_t count, uint64_t most) {
    return most >= count ? 1 : (count - 1) / (most > 0 ? most : 1) + 1;
}

/* The share of full slots, going by every step-th group of them. */
static double sample_fill(const lethe_gaussian *filter, uint64_t step) {
    uint64_t slots = filter->shape.slots, full = 0, seen = 0;
    uint32_t bits = filter->shape.slot_bits;
    uint64_t lowest = lethe_gaussian_is_packed(bits) ? lowest_bits(bits) : 0;
    for (uint64_t first = 0; first < slots; first += step * GROUP) {
        uint64_t here = slots - first < GROUP ? slots - first : GROUP;
        uint64_t mask = (UINT64_C(1) << here) - 1;
        full += lethe_popcount64(full_in_group(filter, first / GROUP, lowest) & mask);
        seen += here;
    }
    return (double)full / (double)seen;
}

/* The product, over all bells, of the share of slots at which each would be found, going by every
 * step-th slot. A bell that is contradicted somewhere contradicts all wider ones there, since bells
 * are nested. */
static double sample_error(const lethe_gaussian *filter, uint64_t step) {
    uint64_t passes[LETHE_GAUSSIAN_MAX_HASHES] = {0}, seen = 0;
    for (uint64_t slot = 0; slot < filter->shape.slots; slot += step, seen++) {
        for (uint32_t bell = 0; bell < filter->shape.hashes; bell++) {
            if (!filter->operations->covers(&filter->field, bell, slot)) break;
            passes[bell]++;
        }
    }
    double error = 1;
    for (uint32_t bell = 0; bell < filter->shape.hashes; bell++)
        error *= (double)passes[bell] / (double)seen;
    return error;
}

lethe_status lethe_gaussian_estimate(const lethe_gaussian *filter, uint64_t most_slots,
                                     lethe_gaussian_stats *out) {
    lethe_gaussian_stats stats = LETHE_INIT(lethe_gaussian_stats);
    if (filter == NULL) return LETHE_EINVAL;
    lethe_status status = lethe_sized_check(out, LETHE_SIZE_WITH(&stats, distinct_estimate));
    if (status != LETHE_OK) return status;
    uint64_t slots = filter->shape.slots;
    stats.additions = filter->additions;
    stats.fill = sample_fill(filter, step_for(slots, most_slots));
    stats.error_estimate =
        sample_error(filter, step_for(slots, most_slots / GROUP / filter->shape.hashes));
    lethe_bloom_shape bloom = bloom_shape(&filter->shape);
    stats.slots_full = (uint64_t)round(stats.fill * (double)slots);
    stats.bloom_error = pow(stats.fill, filter->shape.hashes);
    /* Two samples may differ by chance, but not the wrong way round. */
    stats.error_estimate = fmin(stats.error_estimate, stats.bloom_error);
    stats.distinct_estimate = lethe_bloom_keys_from_fill(&bloom, stats.fill);
    return LETHE_GIVE(&stats, out, distinct_estimate);
}

lethe_status lethe_gaussian_info(const lethe_gaussian *filter, lethe_gaussian_stats *out) {
    return lethe_gaussian_estimate(filter, UINT64_MAX, out);
}

/* filter/packed/gaussian.c - the Gaussian filter without a header; packed.c has the layout.
 *
 * I1      The bells of every t and k are made together with the object, so a block of other
 *         parameters than the object's own is tested as fast as any. They come from the same rule
 *         on every machine, since no value lies near a step: a test measures how far.
 * WHY     The bells of these t reach over at most 57 bits, so that one word at a byte address holds
 *         all the slots of a probe. At the ends of the array the word is moved inwards and the bell
 *         is shifted against it: what lies outside is shifted out, and no spare bytes are needed.
 *         The widest bell is tested first: a slot that another hash function filled contradicts it
 *         soonest. */
#include "filter/bloom/probe.h"
#include "filter/gaussian/bell.h"
#include "filter/packed/packed.h"

enum { NOTE_HASHES = 63 /* the part of a note that is k */, NOTE_SLOT_BITS = 6 };

static struct lethe_packed_bell make_bell(const struct lethe_gaussian_rule *rule, uint32_t hash) {
    int64_t radius = lethe_gaussian_radius(rule, hash);
    struct lethe_packed_bell bell = {.radius = radius};
    for (int64_t slot = -radius; slot <= radius; slot++) {
        uint32_t distance = (uint32_t)(slot < 0 ? -slot : slot);
        uint64_t level = (uint64_t)lethe_gaussian_level(rule, hash, distance);
        unsigned shift = (unsigned)(slot + radius) * rule->slot_bits;
        bell.piece.levels |= level << shift;
        bell.piece.tops |= UINT64_C(1) << (shift + rule->slot_bits - 1);
    }
    return bell;
}

void lethe_packed_make_bells(lethe_packed *packed) {
    for (uint32_t bits = 1; bits <= LETHE_PACKED_MAX_SLOT_BITS; bits++) {
        struct lethe_packed_bell *next = packed->bells[bits - 1];
        for (uint32_t k = 1; k <= LETHE_PACKED_BELLS; k++) {
            struct lethe_gaussian_rule rule = {.hashes = k, .slot_bits = bits};
            for (uint32_t hash = 1; hash <= k; hash++)
                *next++ = make_bell(&rule, hash);
        }
    }
    packed->powers[0] = 1;
    for (unsigned i = 1; i <= LETHE_PACKED_BELLS; i++)
        packed->powers[i] = packed->powers[i - 1] * LETHE_BLOOM_MULTIPLIER;
}

static uint32_t best_hashes(const lethe_packed_options *options) {
    return lethe_packed_classic_hashes(options->bits_per_key / options->slot_bits,
                                       LETHE_PACKED_MAX_GAUSSIAN_HASHES);
}

static unsigned note(const lethe_packed *packed, size_t count, size_t array_bytes) {
    (void)count;
    (void)array_bytes;
    return packed->options.hashes | (packed->options.slot_bits - 1) << NOTE_SLOT_BITS;
}

/* Where the slots of a bell lie: a word of the array, and the bell shifted to fit it. */
struct view {
    size_t offset;
    struct lethe_gaussian_piece piece;
};

static inline struct view look(size_t array_bytes, uint64_t position,
                               const struct lethe_packed_bell *bell, unsigned slot_bits) {
    int64_t first = ((int64_t)position - bell->radius) * (int64_t)slot_bits;
    int64_t last_offset = (int64_t)array_bytes - LETHE_PACKED_WORD_BYTES;
    int64_t offset = first >> 3;
    if (offset > last_offset) offset = last_offset;
    if (offset < 0) offset = 0;
    int64_t shift = first - offset * 8;
    struct view view = {.offset = (size_t)offset, .piece = bell->piece};
    if (shift >= 0) {
        view.piece.levels <<= shift;
        view.piece.tops <<= shift;
    } else {
        view.piece.levels >>= -shift;
        view.piece.tops >>= -shift;
    }
    return view;
}

static const struct lethe_packed_bell *bells_of(const lethe_packed *packed, unsigned slot_bits,
                                                uint32_t hashes) {
    return packed->bells[slot_bits - 1] + (size_t)hashes * (hashes - 1) / 2;
}

static void add(const lethe_packed *packed, const struct lethe_packed_bell *bells, lethe_hash hash,
                uint64_t slots, unsigned char *array, size_t array_bytes) {
    uint32_t slot_bits = packed->options.slot_bits;
    for (uint32_t i = 0; i < packed->options.hashes; i++) {
        uint64_t position = lethe_bloom_next_position(&hash.low, hash.high, slots);
        struct view view = look(array_bytes, position, &bells[i], slot_bits);
        uint64_t word = lethe_gaussian_read(array + view.offset);
        lethe_gaussian_write(array + view.offset,
                             lethe_gaussian_raise(word, view.piece, slot_bits));
    }
}

/* Division by the bits of a slot, which is 1 to 4. */
static uint64_t slots_in(uint64_t bits, unsigned slot_bits) {
    switch (slot_bits) {
    case 1:
        return bits;
    case 2:
        return bits / 2;
    case 3:
        return bits / 3;
    default:
        return bits / 4;
    }
}

static void build(const lethe_packed *packed, const lethe_hash *hashes, size_t count,
                  unsigned char *array, size_t array_bytes) {
    uint32_t slot_bits = packed->options.slot_bits;
    const struct lethe_packed_bell *bells = bells_of(packed, slot_bits, packed->options.hashes);
    uint64_t slots = slots_in((uint64_t)array_bytes * 8, slot_bits);
    for (size_t i = 0; i < count; i++)
        add(packed, bells, hashes[i], slots, array, array_bytes);
}

static bool test(const lethe_packed *packed, lethe_hash hash, const unsigned char *array,
                 size_t array_bytes, unsigned note_found) {
    unsigned slot_bits = (note_found >> NOTE_SLOT_BITS) + 1, hashes = note_found & NOTE_HASHES;
    if (hashes == 0 || hashes > LETHE_PACKED_MAX_GAUSSIAN_HASHES) return true;
    const struct lethe_packed_bell *bells = bells_of(packed, slot_bits, hashes);
    uint64_t slots = slots_in((uint64_t)array_bytes * 8, slot_bits);
    uint64_t state = hash.low * packed->powers[hashes];
    for (uint32_t i = hashes; i-- > 0;) {
        uint64_t position = lethe_bloom_previous_position(&state, hash.high, slots);
        struct view view = look(array_bytes, position, &bells[i], slot_bits);
        if (lethe_gaussian_below(lethe_gaussian_read(array + view.offset), view.piece) != 0)
            return false;
    }
    return true;
}

const struct lethe_packed_operations lethe_packed_gaussian = {
    .unit_bytes = 1,
    .bits_least = 1,
    .hashes_most = LETHE_PACKED_MAX_GAUSSIAN_HASHES,
    .hashes_step = 1,
    .best_hashes = best_hashes,
    .note = note,
    .build = build,
    .test = test,
};

/* filter/gaussian/byte_avx2.inc.h - narrow bells in slots of which 2 or 4 share a byte, with AVX2.
 *
 * The including file defines SLOTS_PER_BYTE, VECTOR, OF(name), the intrinsic for that vector, and
 * OPERATIONS, and these functions:
 *   VECTOR split(const unsigned char *word)
 *       the word once for each place of a slot in a byte, with the slots of that place only
 *   VECTOR load(const VECTOR *levels)
 *   long long together(VECTOR slots)
 *       the opposite of split
 *   bool is_zero(VECTOR vector)
 *
 * After split every slot has a byte of its own, and one instruction takes the larger of slot and
 * level in all of them. A bell has one such vector for each place of its position in a byte, in a
 * word that begins as many whole bytes before the position's byte as the bell needs. So nothing is
 * shifted, and a location is just the position. */
#include "filter/gaussian/gaussian.h"

static inline uint64_t locate(const struct lethe_gaussian_field *field,
                              const struct lethe_gaussian_bell *bell, uint64_t position) {
    (void)field;
    (void)bell;
    return position;
}

static inline unsigned char *word_at(const struct lethe_gaussian_field *field,
                                     const struct lethe_gaussian_bell *bell, uint64_t position) {
    return field->memory + bell->start + position / SLOTS_PER_BYTE;
}

static inline const unsigned char *first_byte(const struct lethe_gaussian_field *field,
                                              const struct lethe_gaussian_bell *bell,
                                              uint64_t position) {
    return word_at(field, bell, position);
}

static inline VECTOR levels_at(const struct lethe_gaussian_field *field,
                               const struct lethe_gaussian_bell *bell, uint64_t position) {
    const VECTOR *levels = field->parts;
    return load(levels + bell->parts + position % SLOTS_PER_BYTE);
}

static inline bool covers_at(const struct lethe_gaussian_field *field,
                             const struct lethe_gaussian_bell *bell, uint64_t position) {
    VECTOR slots = split(word_at(field, bell, position));
    return is_zero(OF(subs_epu8)(levels_at(field, bell, position), slots));
}

static inline bool raise_at(const struct lethe_gaussian_field *field,
                            const struct lethe_gaussian_bell *bell, uint64_t position) {
    unsigned char *word = word_at(field, bell, position);
    VECTOR slots = split(word), levels = levels_at(field, bell, position);
    long long raised = together(OF(max_epu8)(slots, levels));
    memcpy(word, &raised, sizeof raised);
    return is_zero(OF(subs_epu8)(levels, slots));
}

#define LAST_BYTE 7
#include "filter/gaussian/loops.inc.h"

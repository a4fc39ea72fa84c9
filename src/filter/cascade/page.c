/* filter/cascade/page.c - pages of ascending numbers in the code of Elias and Fano.
 *
 * IDEA    A page stores each number's distance from the first one: the low bits as they are, and
 *         the high bits in unary. Number i with high part h sets bit h + i. With as many low bits
 *         as the mean difference has, a number costs two bits more than those.
 * LAYOUT  0   check        u64, XXH3-64 of bytes 8..4095; its seed: cascade, run and page
 *         8   base         u64, the first number
 *         16  count        u16, numbers
 *         18  low bits     u8
 *         19  zero         u8
 *         20  high words   u16
 *         22  extra count  u16
 *         24  zero         u64
 *         32  highs        high words x u64
 *         ..  lows         count x low bits, rounded up to bytes
 *         ..  extras       extra count x [place u16][removed varint][added varint], ascending
 *         ..  zero         to the end, at least 8 bytes: any low part can be read as a word
 * I1      Numbers ascend strictly within a page and from page to page.
 * I2      A page ends before a number that would not fit is written.
 * WHY     A page is found without reading another one, read with one access, and checked by itself.
 * LIMIT   4096 numbers per page: below 8 bits per number, room is left over. */
#include "filter/cascade/page.h"

#include <string.h>

#include "core/bits.h"
#include "core/codec.h"
#include "core/cpu.h"
#include "core/inline.h"

enum {
    HEADER = LETHE_CASCADE_PAGE_HEADER_BYTES,
    ROOM_BYTES = LETHE_CASCADE_PAGE_BYTES - HEADER - 8,
    ROOM_BITS = ROOM_BYTES * 8,
    MAX_EXTRA_BYTES = 2 + 10 + 10
};

static uint64_t load_word(const unsigned char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return lethe_little_endian64(word);
}

static void store_word(unsigned char *at, uint64_t word) {
    word = lethe_little_endian64(word);
    memcpy(at, &word, sizeof word);
}

static unsigned load_short(const unsigned char *at) {
    return at[0] | (unsigned)at[1] << 8;
}

static void store_short(unsigned char *at, unsigned value) {
    at[0] = (unsigned char)value;
    at[1] = (unsigned char)(value >> 8);
}

void lethe_cascade_page_begin(struct lethe_cascade_page_builder *builder, unsigned low_bits) {
    memset(builder, 0, sizeof *builder);
    builder->low_bits = low_bits;
}

size_t lethe_cascade_page_add(struct lethe_cascade_page_builder *builder, const uint64_t *numbers,
                              size_t count) {
    if (count == 0) return 0;
    const unsigned low_bits = builder->low_bits & 63;
    unsigned index = builder->count, fill = builder->low_fill;
    if (index == 0) builder->base = numbers[0];
    const uint64_t base = builder->base, mask = (UINT64_C(1) << low_bits) - 1;
    const unsigned room_bits = ROOM_BITS - builder->extra_bytes * 8;
    uint64_t *lows = builder->lows + (index * low_bits) / 64, low = builder->low;
    unsigned high_word = builder->high_words == 0 ? 0 : builder->high_words - 1;
    uint64_t high_bits = builder->highs[high_word]; /* in a register until the word is complete */
    size_t taken = 0;
    for (; taken < count && index < LETHE_CASCADE_PAGE_ENTRIES; taken++, index++) {
        uint64_t distance = numbers[taken] - base;
        uint64_t high = distance >> low_bits; /* cppcheck-suppress shiftTooManyBits */
        if (high >= ROOM_BITS) break;
        unsigned place = (unsigned)high + index;
        /* The lows end at a byte, which costs up to 7 bits. */
        if (((place + 64) & ~63u) + (index + 1) * low_bits + 7 > room_bits) break;
        if (place / 64 != high_word) {
            builder->highs[high_word] = high_bits;
            high_word = place / 64;
            high_bits = 0;
        }
        high_bits |= UINT64_C(1) << place % 64;
        distance &= mask;
        low |= distance << fill;
        fill += low_bits;
        if (fill >= 64) {
            *lows++ = low;
            fill -= 64;
            low = fill == 0 ? 0 : distance >> (low_bits - fill);
        }
    }
    if (taken == 0) return 0;
    builder->highs[high_word] = high_bits;
    builder->low = low;
    builder->low_fill = fill;
    builder->count = index;
    builder->high_words = high_word + 1;
    builder->last = numbers[taken - 1];
    return taken;
}

static unsigned put_varint(unsigned char *at, uint64_t value) {
    unsigned size = 0;
    for (; value >= 0x80; value >>= 7)
        at[size++] = (unsigned char)(value | 0x80);
    at[size++] = (unsigned char)value;
    return size;
}

bool lethe_cascade_page_add_value(struct lethe_cascade_page_builder *builder, uint64_t number,
                                  struct lethe_cascade_value value) {
    if (builder->extra_bytes + MAX_EXTRA_BYTES > ROOM_BYTES / 2) return false;
    builder->extra_bytes +=
        MAX_EXTRA_BYTES; /* room for it is kept free before the number goes in */
    bool fits = lethe_cascade_page_add(builder, &number, 1) == 1;
    builder->extra_bytes -= MAX_EXTRA_BYTES;
    if (!fits) return false;
    unsigned char *at = builder->extras + builder->extra_bytes;
    store_short(at, builder->count - 1);
    unsigned size = 2 + put_varint(at + 2, value.removed);
    size += put_varint(at + size, value.added);
    builder->extra_bytes += size;
    builder->extra_count++;
    return true;
}

void lethe_cascade_page_end(struct lethe_cascade_page_builder *builder, uint64_t check_seed,
                            unsigned char out[LETHE_CASCADE_PAGE_BYTES]) {
    memset(out, 0, LETHE_CASCADE_PAGE_BYTES);
    store_word(out + 8, builder->base);
    store_short(out + 16, builder->count);
    out[18] = (unsigned char)builder->low_bits;
    store_short(out + 20, builder->high_words);
    store_short(out + 22, builder->extra_count);
    unsigned char *at = out + HEADER;
    for (unsigned i = 0; i < builder->high_words; i++, at += 8)
        store_word(at, builder->highs[i]);
    size_t low_bits = (size_t)builder->count * builder->low_bits, low_bytes = (low_bits + 7) / 8;
    for (size_t i = 0; i < low_bits / 64; i++)
        store_word(at + i * 8, builder->lows[i]);
    for (size_t i = low_bits / 64 * 8; i < low_bytes; i++)
        at[i] = (unsigned char)(builder->low >> 8 * (i % 8));
    memcpy(at + low_bytes, builder->extras, builder->extra_bytes);
    store_word(out, lethe_checksum(check_seed, out + 8, LETHE_CASCADE_PAGE_BYTES - 8));

    memset(builder->highs, 0, (size_t)builder->high_words * 8);
    builder->low = builder->low_fill = 0;
    builder->count = builder->high_words = builder->extra_bytes = builder->extra_count = 0;
}

lethe_status lethe_cascade_page_open(const unsigned char data[LETHE_CASCADE_PAGE_BYTES],
                                     uint64_t check_seed, struct lethe_cascade_page *out) {
    if (load_word(data) != lethe_checksum(check_seed, data + 8, LETHE_CASCADE_PAGE_BYTES - 8)) {
        return LETHE_ECORRUPT;
    }
    unsigned count = load_short(data + 16), low_bits = data[18];
    unsigned high_words = load_short(data + 20), extra_count = load_short(data + 22);
    if (count == 0 || count > LETHE_CASCADE_PAGE_ENTRIES) return LETHE_ECORRUPT;
    if (low_bits > LETHE_CASCADE_MAX_LOW_BITS || data[19] != 0) return LETHE_ECORRUPT;
    if (extra_count > count || load_word(data + 24) != 0) return LETHE_ECORRUPT;
    size_t low_bytes = ((size_t)count * low_bits + 7) / 8;
    size_t high_bytes = (size_t)high_words * 8;
    if (high_bytes + low_bytes > ROOM_BYTES) return LETHE_ECORRUPT;
    *out = (struct lethe_cascade_page){
        .highs = data + HEADER,
        .lows = data + HEADER + high_bytes,
        .extras = data + HEADER + high_bytes + low_bytes,
        .extras_end = data + HEADER + ROOM_BYTES,
        .base = load_word(data + 8),
        .count = count,
        .low_bits = low_bits,
        .high_words = high_words,
        .extra_count = extra_count,
    };
    return LETHE_OK;
}

static inline uint64_t low_part(const struct lethe_cascade_page *page, unsigned index,
                                uint64_t mask) {
    size_t at = (size_t)index * page->low_bits;
    return load_word(page->lows + at / 8) >> at % 8 & mask;
}

/* Reads a varint; false when it does not end within ten bytes or the page. */
static bool get_varint(const unsigned char **at, const unsigned char *end, uint64_t *out) {
    *out = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        unsigned char byte = *(*at)++;
        if (shift == 63 && byte > 1) return false;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

/* Reads one extra; false when it is not one. */
static bool get_extra(const unsigned char **at, const unsigned char *end, unsigned *place,
                      struct lethe_cascade_value *value) {
    if (end - *at < 2) return false;
    *place = load_short(*at);
    *at += 2;
    return get_varint(at, end, &value->removed) && get_varint(at, end, &value->added);
}

lethe_status lethe_cascade_page_read(const struct lethe_cascade_page *page, uint64_t *numbers,
                                     uint16_t *which, struct lethe_cascade_value *values) {
    unsigned index = 0, low_bits = page->low_bits, count = page->count;
    uint64_t mask = (UINT64_C(1) << low_bits) - 1, base = page->base;
    for (unsigned i = 0; i < page->high_words; i++) {
        uint64_t word = load_word(page->highs + (size_t)i * 8);
        /* Only near the end can there be more than the header says. */
        if (count - index < 64 && lethe_popcount64(word) > count - index) return LETHE_ECORRUPT;
        for (; word != 0; word &= word - 1, index++) {
            uint64_t high = i * 64u + (unsigned)__builtin_ctzll(word) - index;
            numbers[index] = base + (high << low_bits | low_part(page, index, mask));
        }
    }
    if (index != count || numbers[0] != base) return LETHE_ECORRUPT;
    unsigned wrong = 0;
    for (unsigned i = 1; i < count; i++)
        wrong |= numbers[i] <= numbers[i - 1];
    if (wrong) return LETHE_ECORRUPT;

    const unsigned char *at = page->extras;
    for (unsigned i = 0; i < page->extra_count; i++) {
        unsigned place;
        if (!get_extra(&at, page->extras_end, &place, &values[i])) return LETHE_ECORRUPT;
        if (place >= count || (i > 0 && place <= which[i - 1])) return LETHE_ECORRUPT;
        which[i] = (uint16_t)place;
    }
    return LETHE_OK;
}

/* The value of the number at a place. */
static struct lethe_cascade_value value_at(const struct lethe_cascade_page *page, unsigned place) {
    struct lethe_cascade_value value;
    const unsigned char *at = page->extras;
    for (unsigned i = 0; i < page->extra_count; i++) {
        unsigned found;
        if (!get_extra(&at, page->extras_end, &found, &value)) break;
        if (found == place) return value;
        if (found > place) break;
    }
    return (struct lethe_cascade_value){.added = 1};
}

/* Where the numbers with the given high part begin: after that many zeros of the highs. A word is
 * remembered only when the zeros before it were too few, so one that was passed is never the answer
 * for as many zeros or more. */
LETHE_INLINE uint64_t skip_zeros_inline(const struct lethe_cascade_page *page, uint64_t zeros,
                                        struct lethe_cascade_page_place *from) {
    unsigned i = from->word;
    uint64_t left = zeros - from->zeros, place = (uint64_t)i * 64;
    for (; i < page->high_words; i++, place += 64) {
        uint64_t word = ~load_word(page->highs + (size_t)i * 8);
        unsigned here = lethe_popcount64(word);
        if (here >= left) {
            place += left == 0 ? 0 : lethe_select64(word, (unsigned)left - 1) + 1;
            break;
        }
        left -= here;
    }
    *from = (struct lethe_cascade_page_place){.word = i, .zeros = zeros - left};
    return place;
}

#if defined(__x86_64__)
__attribute__((target("popcnt"))) static uint64_t
skip_zeros_popcnt(const struct lethe_cascade_page *page, uint64_t zeros,
                  struct lethe_cascade_page_place *from) {
    return skip_zeros_inline(page, zeros, from);
}
#endif

static uint64_t skip_zeros(const struct lethe_cascade_page *page, uint64_t zeros,
                           struct lethe_cascade_page_place *from) {
#if defined(__x86_64__)
    if (lethe_cpu() >= LETHE_CPU_AVX2) return skip_zeros_popcnt(page, zeros, from);
#endif
    return skip_zeros_inline(page, zeros, from);
}

bool lethe_cascade_page_find(const struct lethe_cascade_page *page,
                             struct lethe_cascade_page_place *from, uint64_t least,
                             uint64_t *number, struct lethe_cascade_value *value) {
    uint64_t distance = least > page->base ? least - page->base : 0;
    uint64_t high = distance >> page->low_bits, mask = (UINT64_C(1) << page->low_bits) - 1;
    uint64_t place = skip_zeros(page, high, from);
    uint64_t index = place - high; /* that many numbers have a smaller high part */
    if (place < high) return false;
    for (uint64_t i = place / 64; i < page->high_words; i++) {
        uint64_t word = load_word(page->highs + i * 8);
        if (i == place / 64) word &= ~UINT64_C(0) << place % 64;
        for (; word != 0; word &= word - 1, index++) {
            if (index >= page->count) return false;
            high = i * 64 + (unsigned)__builtin_ctzll(word) - index;
            uint64_t here = high << page->low_bits | low_part(page, (unsigned)index, mask);
            if (here < distance) continue;
            *number = page->base + here;
            *value = value_at(page, (unsigned)index);
            return true;
        }
    }
    return false;
}

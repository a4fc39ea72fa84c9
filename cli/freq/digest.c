/* freq/digest.c - counts the frequent keys of a text before a sketch sees them.
 *
 * IDEA    Most lines of most texts are among a few thousand. They are counted exactly in a small
 *         table, which costs much less than a sketch: one line of the processor's cache instead of
 *         one for each row. Only what leaves the table goes to the sketch, with its weight.
 * LAYOUT  Sets of two entries, one cache line each. In front is the key with the higher count.
 * I1      A key is in at most one entry, so a weight is in the table or in the list, never in both.
 * I2      A key that finds no entry takes the place of the second one, which goes to the list. So a
 *         rare key cannot push out one that is frequent.
 * I3      A key of at most SHORT_BYTES bytes is in its entry as it is. Of a longer one, its hash
 *         is: the sketch knows keys by the same hash, so it cannot tell more keys apart either. The
 *         size says which it is.
 * WHY     The table is emptied after each text. So the lists do not depend on which thread had
 *         which text before. */
#include "freq/digest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "input/byte_order.h"
#include "lethe/hash.h"

enum { SHORT_BYTES = 16, WINDOW = 64, WAITING = 32 };

struct entry {
    /* The key, padded with zeros, or its hash. */
    uint64_t low, high;
    /* 0: there is no key. */
    uint64_t weight;
    uint32_t size, offset;
};

struct digest {
    struct digest_settings settings;
    struct entry *entries;
    struct digest_key *list;
    size_t count;

    /* Entries whose sets are on their way. */
    struct entry next[WAITING];
    struct entry *sets[WAITING];
    size_t waiting;

    const char *text;
    digest_visit *visit;
    void *context;
    bool has_ended;
};

struct digest *digest_new(const struct digest_settings *settings) {
    struct digest *digest = calloc(1, sizeof *digest);
    if (digest == NULL) return NULL;
    size_t bytes = (size_t)2 * DIGEST_SETS * sizeof *digest->entries;
    digest->settings = *settings;
    digest->entries = aligned_alloc(2 * sizeof *digest->entries, bytes);
    digest->list = malloc(DIGEST_LIST * sizeof *digest->list);
    if (digest->entries == NULL || digest->list == NULL) {
        digest_free(digest);
        return NULL;
    }
    memset(digest->entries, 0, bytes);
    return digest;
}

void digest_free(struct digest *digest) {
    if (digest == NULL) return;
    free(digest->entries);
    free(digest->list);
    free(digest);
}

static void hand_out(struct digest *digest) {
    if (digest->count == 0 || digest->has_ended) return;
    digest->has_ended = !digest->visit(digest->context, digest->list, digest->count);
    digest->count = 0;
}

static inline void list(struct digest *digest, const struct entry *entry) {
    if (digest->count == DIGEST_LIST) hand_out(digest);
    if (digest->has_ended) return;
    digest->list[digest->count++] =
        (struct digest_key){.offset = entry->offset, .size = entry->size, .weight = entry->weight};
}

/* The entry of a key alone. The padding of the text allows to read beyond a short key. */
static inline struct entry entry_of(const struct digest *digest, const char *key, size_t size) {
    static const unsigned char masks[2 * SHORT_BYTES] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                         255, 255, 255, 255, 255, 255, 255, 255};
    struct entry entry = {.size = (uint32_t)size, .offset = (uint32_t)(key - digest->text)};
    if (size > SHORT_BYTES) {
        lethe_hash hash = lethe_hash_bytes(digest->settings.seed, key, size);
        entry.low = hash.low;
        entry.high = hash.high;
        return entry;
    }
    uint64_t low, high;
    memcpy(&entry.low, key, sizeof low);
    memcpy(&entry.high, key + sizeof low, sizeof high);
    memcpy(&low, masks + SHORT_BYTES - size, sizeof low);
    memcpy(&high, masks + SHORT_BYTES - size + sizeof low, sizeof high);
    entry.low &= low;
    entry.high &= high;
    return entry;
}

static inline bool is_same(const struct entry *a, const struct entry *b) {
    return ((a->low ^ b->low) | (a->high ^ b->high) | (a->size ^ b->size)) == 0;
}

static inline size_t set_of(const struct entry *entry) {
    uint64_t mixed =
        (entry->low ^ entry->high * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
    mixed = (mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed >> 32) * DIGEST_SETS >> 32;
}

/* Adds to a weight; what does not fit 64 bits goes to the list. */
static inline void add_to(struct digest *digest, struct entry *entry, uint64_t weight) {
    if (!__builtin_add_overflow(entry->weight, weight, &entry->weight)) return;
    entry->weight -= weight;
    list(digest, entry);
    entry->weight = weight;
}

static inline void put(struct digest *digest, struct entry entry, struct entry *set) {
    uint64_t weight = entry.weight;
    if (is_same(&set[0], &entry) && set[0].weight != 0) {
        add_to(digest, &set[0], weight);
    } else if (is_same(&set[1], &entry) && set[1].weight != 0) {
        add_to(digest, &set[1], weight);
        if (set[1].weight <= set[0].weight) return;
        struct entry first = set[0];
        set[0] = set[1];
        set[1] = first;
    } else {
        if (set[1].weight != 0) list(digest, &set[1]);
        set[1] = entry;
    }
}

/* Puts the entries that wait into the table. */
static void put_waiting(struct digest *digest) {
    for (size_t i = 0; i < digest->waiting; i++)
        put(digest, digest->next[i], digest->sets[i]);
    digest->waiting = 0;
}

/* Lists all entries, and empties the table. */
static void empty(struct digest *digest) {
    for (size_t i = 0; i < (size_t)2 * DIGEST_SETS; i++) {
        if (digest->entries[i].weight == 0) continue;
        list(digest, &digest->entries[i]);
        digest->entries[i].weight = 0;
    }
    hand_out(digest);
}

/* Bit i says whether byte i is a newline. */
static inline uint64_t newlines(const char *data) {
    uint64_t mask = 0;
#if defined(__SSE2__)
    const __m128i newline = _mm_set1_epi8('\n');
    for (size_t i = 0; i < WINDOW / 16; i++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(data + 16 * i));
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, newline)) << 16 * i;
    }
#else
    for (unsigned i = 0; i < WINDOW; i++)
        mask |= (uint64_t)(data[i] == '\n') << i;
#endif
    return mask;
}

/* One line, without its newline. */
static inline enum digest_result take_line(struct digest *digest, const char *line, size_t size,
                                           bool has_fields, struct key_problem *problem) {
    size_t marks = byte_order_marks(line, size);
    line += marks;
    size -= marks;
    if (size > 0 && line[size - 1] == '\r') size--;
    lethe_bytes key = {.data = line, .size = size};
    uint64_t weight = 1;
    if (has_fields && !key_of_line(key, &digest->settings.fields, &key, &weight, problem))
        return DIGEST_LACKS;
    if (key.size > digest->settings.longest_key) return DIGEST_LONG;
    struct entry entry = entry_of(digest, key.data, key.size);
    struct entry *set = digest->entries + 2 * set_of(&entry);
    entry.weight = weight;
    __builtin_prefetch(set, 1);
    digest->next[digest->waiting] = entry;
    digest->sets[digest->waiting++] = set;
    if (digest->waiting == WAITING) put_waiting(digest);
    return digest->has_ended ? DIGEST_ENDED : DIGEST_DONE;
}

static inline enum digest_result each_line(struct digest *digest, lethe_bytes text, bool has_fields,
                                           uint64_t *lines, struct key_problem *problem) {
    const char *data = text.data;
    size_t from = 0;
    uint64_t count = 0;
    enum digest_result result = DIGEST_DONE;
    for (size_t at = 0; at < text.size && result == DIGEST_DONE; at += WINDOW) {
        uint64_t mask = newlines(data + at);
        if (text.size - at < WINDOW) mask &= UINT64_MAX >> (WINDOW - (text.size - at));
        for (; mask != 0 && result == DIGEST_DONE; mask &= mask - 1) {
            size_t end = at + (size_t)__builtin_ctzll(mask);
            result = take_line(digest, data + from, end - from, has_fields, problem);
            from = end + 1;
            count++;
        }
    }
    *lines = count;
    return result;
}

enum digest_result digest_text(struct digest *digest, lethe_bytes text, digest_visit *visit,
                               void *context, uint64_t *lines, struct key_problem *problem) {
    assert(text.size <= UINT32_MAX && (text.size == 0 || visit != NULL));
    digest->text = text.data;
    digest->visit = visit;
    digest->context = context;
    digest->has_ended = false;
    digest->count = digest->waiting = 0;
    enum digest_result result = digest->settings.fields.key == 0
                                    ? each_line(digest, text, false, lines, problem)
                                    : each_line(digest, text, true, lines, problem);
    put_waiting(digest);
    empty(digest);
    if (result == DIGEST_DONE && digest->has_ended) result = DIGEST_ENDED;
    return result;
}

/* freq/digest.c - counts the frequent keys of texts before a sketch sees them.
 *
 * IDEA    Most lines of most texts are among a few thousand. They are counted exactly in a small
 *         table, which costs much less than a sketch: one line of the processor's cache instead of
 *         one for each row. Only what leaves the table goes to the sketch, with its weight.
 * LAYOUT  Sets of two entries, one cache line each. In front is the key with the higher count.
 * I1      A key with a weight is in at most one entry, so a weight is in the table or in the list,
 *         never in both.
 * I2      A key that finds no entry takes the place of the second one, which goes to the list. So a
 *         rare key cannot push out one that is frequent.
 * I3      A key of at most DIGEST_SHORT_BYTES bytes is in its entry as it is, and stays in the
 *         table from text to text. Of a longer one, its hash is: the sketch knows keys by the same
 *         hash, so it cannot tell more keys apart either. The size says which it is. Its bytes are
 *         in the text, so it leaves the table with its text.
 * I4      An entry of weight 0 is empty. It may be taken for one of the key that it had: the sum is
 *         right, and the text and the place in it are those of the new line.
 * WHY     Whether a line's key is in the table can hardly be predicted: with words of a language,
 *         two or three of four are. A branch that depends on it costs as much as half of the rest.
 *         So an entry is written to the list whether it leaves or not, and where the list goes on
 *         decides; and the entry that is found, or replaced, is written in full either way. */
#include "freq/digest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "input/byte_order.h"
#include "lethe/hash.h"

enum { SHORT_BYTES = DIGEST_SHORT_BYTES, WINDOW = 64, WAITING = 128, LARGE_PAGE = 2 << 20 };

struct digest_table {
    void *memory;
    struct digest_key *entries; /* in that memory */
    size_t sets;
    /* By how much the 64 bits that choose a set are shifted. */
    unsigned shift;
    /* A bit for each set: it may have a long key, which is in it until the end of the text. */
    uint64_t *long_sets;
};

struct digest {
    struct digest_settings settings;
    struct digest_key *list;
    size_t count;

    /* Entries whose sets are on their way. */
    struct digest_key next[WAITING];
    struct digest_key *sets[WAITING];
    size_t waiting;

    struct digest_table *table;
    const char *text;
    digest_visit *visit;
    void *context;
    bool has_ended;
};

/* Points the entries at the first place in the memory that is a multiple of so many bytes. */
static void place_entries(struct digest_table *table, size_t alignment) {
    size_t beyond = (uintptr_t)table->memory % alignment;
    char *first = (char *)table->memory + (beyond == 0 ? 0 : alignment - beyond);
    table->entries = (struct digest_key *)(void *)first;
}

/* Sets are anywhere in memory: with large pages their addresses are found in less time. What no
 * line has come to takes no memory yet. */
static bool allocate(struct digest_table *table) {
    size_t bytes = 2 * table->sets * sizeof *table->entries;
    bool is_large = bytes % LARGE_PAGE == 0;
    size_t alignment = is_large ? LARGE_PAGE : 2 * sizeof *table->entries;
    table->memory = calloc(1, bytes + alignment);
    table->long_sets = calloc((table->sets + 63) / 64, sizeof *table->long_sets);
    if (table->memory == NULL || table->long_sets == NULL) return false;
    place_entries(table, alignment);
#if defined(MADV_HUGEPAGE)
    if (is_large) (void)madvise(table->entries, bytes, MADV_HUGEPAGE);
#endif
    return true;
}

struct digest_table *digest_table_new(size_t sets) {
    assert(sets > 1 && (sets & (sets - 1)) == 0);
    struct digest_table *table = calloc(1, sizeof *table);
    if (table == NULL) return NULL;
    table->sets = sets;
    table->shift = 64 - (unsigned)__builtin_ctzll(sets);
    if (allocate(table)) return table;
    digest_table_free(table);
    return NULL;
}

void digest_table_free(struct digest_table *table) {
    if (table == NULL) return;
    free(table->long_sets);
    free(table->memory);
    free(table);
}

struct digest *digest_new(const struct digest_settings *settings) {
    struct digest *digest = calloc(1, sizeof *digest);
    if (digest == NULL) return NULL;
    digest->settings = *settings;
    digest->list = malloc(DIGEST_LIST * sizeof *digest->list);
    if (digest->list == NULL) {
        free(digest);
        return NULL;
    }
    return digest;
}

void digest_free(struct digest *digest) {
    if (digest == NULL) return;
    free(digest->list);
    free(digest);
}

static void hand_out(struct digest *digest) {
    if (digest->count > 0 && !digest->has_ended)
        digest->has_ended = !digest->visit(digest->context, digest->list, digest->count);
    digest->count = 0;
}

/* Makes room in the list for so many entries. */
static inline void make_room(struct digest *digest, size_t entries) {
    if (digest->count + entries > DIGEST_LIST) hand_out(digest);
}

/* The entry of a key alone. The padding of the text allows to read beyond a short key. */
static inline struct digest_key entry_of(const struct digest *digest, const char *key,
                                         size_t size) {
    static const unsigned char masks[2 * SHORT_BYTES] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                         255, 255, 255, 255, 255, 255, 255, 255};
    struct digest_key entry = {.size = (uint32_t)size, .offset = (uint32_t)(key - digest->text)};
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

static inline bool is_same(const struct digest_key *a, const struct digest_key *b) {
    return ((a->low ^ b->low) | (a->high ^ b->high) | (a->size ^ b->size)) == 0;
}

static inline size_t set_of(const struct digest_table *table, const struct digest_key *entry) {
    uint64_t mixed =
        (entry->low ^ entry->high * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
    mixed = (mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed >> table->shift);
}

/* Puts an entry into its set; the list has room for two more. */
static inline void put(struct digest *digest, const struct digest_key *entry,
                       struct digest_key *set) {
    bool is_first = is_same(&set[0], entry), is_second = is_same(&set[1], entry);
    bool is_there = is_first | is_second;
    digest->list[digest->count] = set[1];
    digest->count += !is_there & (set[1].weight != 0);
    struct digest_key *place = &set[!is_first];
    uint64_t sum, before = place->weight & -(uint64_t)is_there;
    if (__builtin_expect(__builtin_add_overflow(before, entry->weight, &sum), false)) {
        /* What does not fit 64 bits goes to the list. */
        digest->list[digest->count++] = *place;
        sum = entry->weight;
    }
    *place = *entry;
    place->weight = sum;
    if (__builtin_expect(set[1].weight <= set[0].weight, true)) return;
    struct digest_key first = set[0];
    set[0] = set[1];
    set[1] = first;
}

/* Puts the entries that wait into the table. */
static void put_waiting(struct digest *digest) {
    make_room(digest, (size_t)2 * WAITING);
    for (size_t i = 0; i < digest->waiting; i++)
        put(digest, &digest->next[i], digest->sets[i]);
    digest->waiting = 0;
}

/* Lists the entries of a set whose keys are longer than that, and empties them. */
static inline void list_set(struct digest *digest, struct digest_table *table, size_t set,
                            int64_t size) {
    make_room(digest, 2);
    for (size_t i = 2 * set; i < 2 * set + 2; i++) {
        struct digest_key *entry = &table->entries[i];
        if (entry->weight == 0 || entry->size <= size) continue;
        digest->list[digest->count++] = *entry;
        entry->weight = 0;
    }
}

static void list_long(struct digest *digest, struct digest_table *table) {
    for (size_t i = 0; i < (table->sets + 63) / 64; i++) {
        for (uint64_t bits = table->long_sets[i]; bits != 0; bits &= bits - 1)
            list_set(digest, table, 64 * i + (size_t)__builtin_ctzll(bits), SHORT_BYTES);
        table->long_sets[i] = 0;
    }
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
    struct digest_key entry = entry_of(digest, key.data, key.size);
    struct digest_table *table = digest->table;
    size_t number = set_of(table, &entry);
    struct digest_key *set = table->entries + 2 * number;
    if (key.size > SHORT_BYTES) table->long_sets[number / 64] |= UINT64_C(1) << number % 64;
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

static void begin(struct digest *digest, digest_visit *visit, void *context) {
    digest->visit = visit;
    digest->context = context;
    digest->has_ended = false;
    digest->count = digest->waiting = 0;
}

enum digest_result digest_text(struct digest *digest, struct digest_table *table, lethe_bytes text,
                               digest_visit *visit, void *context, uint64_t *lines,
                               struct key_problem *problem) {
    assert(text.size <= UINT32_MAX && (text.size == 0 || visit != NULL));
    begin(digest, visit, context);
    digest->text = text.data;
    digest->table = table;
    enum digest_result result = digest->settings.fields.key == 0
                                    ? each_line(digest, text, false, lines, problem)
                                    : each_line(digest, text, true, lines, problem);
    put_waiting(digest);
    list_long(digest, table);
    hand_out(digest);
    if (result == DIGEST_DONE && digest->has_ended) result = DIGEST_ENDED;
    return result;
}

enum digest_result digest_empty(struct digest *digest, struct digest_table *table,
                                digest_visit *visit, void *context) {
    begin(digest, visit, context);
    for (size_t set = 0; set < table->sets; set++)
        list_set(digest, table, set, -1);
    hand_out(digest);
    return digest->has_ended ? DIGEST_ENDED : DIGEST_DONE;
}

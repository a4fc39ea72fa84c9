/* filter/cascade/table.c - a hash table in which linear probing keeps the order of the words.
 *
 * IDEA    A word's home is its place among all words, scaled to the table: the order of homes is
 *         the order of words. Probing also keeps each cluster sorted, so the whole table is sorted:
 *         it is written out by walking over it once, without sorting.
 * LAYOUT  slots[homes + SPILL]: words, EMPTY where there is none. The last clusters may run over
 *         into the spill. Values that are not "one insertion" are in a small hash table beside it,
 *         by fingerprint.
 * I1      From a word's home to the word there is no empty slot, and all words there are smaller.
 * I2      Words ascend over the table, empty slots left out.
 * I3      No word is LONGEST or more slots from its home.
 * I4      Slots of a table that has no word are not read: until the first word comes they may hold
 *         anything (has_slots). So a cascade that nothing is added to touches no memory for them.
 * WHY     Eight bytes per slot are three times what a quotient filter needs, but an insertion is
 *         one cache miss and a few comparisons; a smaller table costs a fraction of a merge more
 *         per entry.
 * LIMIT   A cluster longer than LONGEST, which random hashes never make at this load, counts as a
 *         full table: words that are not random make small runs instead of long searches. */
#include "filter/cascade/table.h"

#include <string.h>

#include "core/allocator.h"
#include "core/bits.h"
#include "core/salt.h"
#include "lethe/hash.h"

#define EMPTY UINT64_MAX

enum { SPILL = 512, LONGEST = 4096, FIRST_EXTRA_SLOTS = 64, SLOTS_PER_LINE = 8 };

struct lethe_cascade_extra {
    uint64_t key; /* the word without its tag, and with the lowest bit set; 0 is none */
    struct lethe_cascade_value value;
};

static inline uint64_t home_of(const struct lethe_cascade_table *table, uint64_t word) {
    uint64_t place = word << (64 - table->words.bits + table->words.range_bits);
    return lethe_multiply_high(place, table->homes);
}

uint64_t lethe_cascade_table_slots(uint64_t homes) {
    return homes + SPILL;
}

static void empty_slots(struct lethe_cascade_table *table) {
    memset(table->slots, 0xff, table->slot_count * sizeof *table->slots);
    table->has_slots = true;
}

/* What is the same for a new table and one that is used again. */
static void reset(struct lethe_cascade_table *table) {
    table->count = table->tombstones = 0;
    table->first_period = table->last_period = 0;
    table->limit = table->homes - table->homes / 6;
    table->is_written = false;
}

/* NOLINTBEGIN(readability-non-const-parameter): the table writes to the slots later. */
void lethe_cascade_table_init(struct lethe_cascade_table *table, struct lethe_cascade_words words,
                              uint64_t homes, uint64_t *slots, const lethe_allocator *allocator) {
    *table = (struct lethe_cascade_table){.allocator = allocator,
                                          .words = words,
                                          .slots = slots,
                                          .homes = homes,
                                          .slot_count = lethe_cascade_table_slots(homes),
                                          .extra_limit = homes / 16 + 16};
    reset(table);
}
/* NOLINTEND(readability-non-const-parameter) */

void lethe_cascade_table_drop(struct lethe_cascade_table *table) {
    lethe_release(table->allocator, table->extras, table->extra_slots * sizeof *table->extras);
    table->extras = NULL;
}

void lethe_cascade_table_clear(struct lethe_cascade_table *table) {
    empty_slots(table);
    lethe_release(table->allocator, table->extras, table->extra_slots * sizeof *table->extras);
    table->extras = NULL;
    table->extra_slots = table->extra_count = 0;
    reset(table);
}

uint64_t lethe_cascade_table_extra_bytes(const struct lethe_cascade_table *table) {
    return table->extra_slots * sizeof *table->extras;
}

void lethe_cascade_table_prefetch(const struct lethe_cascade_table *table, uint64_t word) {
    const uint64_t *home = &table->slots[home_of(table, word)];
    __builtin_prefetch(home, 1);
    /* Where many clusters end. After the last home there is the spill. */
    __builtin_prefetch(home + SLOTS_PER_LINE, 1);
}

/* The first slot from the word's home on that is empty, or holds a word with this fingerprint or a
 * larger one; slot_count when the search became too long. */
static inline uint64_t search(const struct lethe_cascade_table *table, uint64_t word) {
    uint64_t least = word >> table->words.tag_bits << table->words.tag_bits;
    uint64_t at = home_of(table, word), end = at + LONGEST;
    if (end > table->slot_count) end = table->slot_count;
    while (at < end && table->slots[at] < least)
        at++;
    return at < end ? at : table->slot_count;
}

static inline bool same_fingerprint(const struct lethe_cascade_table *table, uint64_t a,
                                    uint64_t b) {
    return (a ^ b) >> table->words.tag_bits == 0;
}

static uint64_t extra_home(const struct lethe_cascade_table *table, uint64_t key) {
    return lethe_hash_u64(lethe_salt(), key).low & (table->extra_slots - 1);
}

/* The slot of the extra of a word's fingerprint, or the empty one where it would be. */
static struct lethe_cascade_extra *extra_of(const struct lethe_cascade_table *table,
                                            uint64_t word) {
    uint64_t key = word | 1, mask = table->extra_slots - 1;
    uint64_t at = extra_home(table, key);
    while (table->extras[at].key != key && table->extras[at].key != 0)
        at = (at + 1) & mask;
    return &table->extras[at];
}

/* Makes sure that one more extra has room. */
static lethe_status grow_extras(struct lethe_cascade_table *table) {
    if (2 * (table->extra_count + 1) <= table->extra_slots) return LETHE_OK;
    if (table->extra_count >= table->extra_limit) return LETHE_EFULL;
    struct lethe_cascade_table grown = *table;
    grown.extra_slots = table->extra_slots == 0 ? FIRST_EXTRA_SLOTS : 2 * table->extra_slots;
    grown.extras = lethe_alloc_zeroed(table->allocator, grown.extra_slots * sizeof *grown.extras);
    if (grown.extras == NULL) return LETHE_ENOMEM;
    for (uint64_t i = 0; i < table->extra_slots; i++) {
        if (table->extras[i].key != 0) *extra_of(&grown, table->extras[i].key) = table->extras[i];
    }
    lethe_release(table->allocator, table->extras, table->extra_slots * sizeof *table->extras);
    table->extras = grown.extras;
    table->extra_slots = grown.extra_slots;
    return LETHE_OK;
}

/* Takes out the extra of a fingerprint that needs none any more: the extras after it that would no
 * longer be found move up. */
static void drop_extra(struct lethe_cascade_table *table, uint64_t word) {
    uint64_t mask = table->extra_slots - 1;
    uint64_t gap = (uint64_t)(extra_of(table, word) - table->extras);
    for (uint64_t next = (gap + 1) & mask; table->extras[next].key != 0; next = (next + 1) & mask) {
        uint64_t home = extra_home(table, table->extras[next].key);
        if (((next - home) & mask) < ((next - gap) & mask)) continue;
        table->extras[gap] = table->extras[next];
        gap = next;
    }
    table->extras[gap] = (struct lethe_cascade_extra){0};
    table->extra_count--;
}

/* Puts the word into slot at, and moves what was there and after it one slot further. */
static lethe_status insert_at(struct lethe_cascade_table *table, uint64_t at, uint64_t word) {
    /* The words after it have later homes, so none of them gets further than LONGEST from its
     * own. */
    uint64_t end = at, last = home_of(table, word) + LONGEST;
    if (last > table->slot_count) last = table->slot_count;
    while (end < last && table->slots[end] != EMPTY)
        end++;
    if (end >= last || table->count >= table->limit) return LETHE_EFULL;
    for (; end > at; end--) /* mostly one or two: no call */
        table->slots[end] = table->slots[end - 1];
    table->slots[at] = word;
    table->count++;
    return LETHE_OK;
}

/* Takes the word out of slot at; the words after it that are not at home move up. */
static void remove_at(struct lethe_cascade_table *table, uint64_t at) {
    uint64_t end = at + 1;
    while (end < table->slot_count && table->slots[end] != EMPTY &&
           home_of(table, table->slots[end]) < end)
        end++;
    memmove(&table->slots[at], &table->slots[at + 1], (end - at - 1) * sizeof *table->slots);
    table->slots[end - 1] = EMPTY;
    table->count--;
}

static struct lethe_cascade_value value_of(const struct lethe_cascade_table *table, uint64_t word) {
    if ((word & 1) == 0) return (struct lethe_cascade_value){.added = 1};
    return extra_of(table, word)->value;
}

/* Gives the fingerprint in slot at a new value. */
static lethe_status set_value(struct lethe_cascade_table *table, uint64_t at,
                              struct lethe_cascade_value value) {
    uint64_t word = table->slots[at];
    struct lethe_cascade_value before = value_of(table, word);
    bool is_plain = lethe_cascade_value_is_one(value);
    if (is_plain || lethe_cascade_value_is_none(value)) {
        if ((word & 1) != 0) drop_extra(table, word);
    } else {
        lethe_status status = grow_extras(table);
        if (status != LETHE_OK) return status;
        struct lethe_cascade_extra *extra = extra_of(table, word);
        if (extra->key == 0) table->extra_count++;
        *extra = (struct lethe_cascade_extra){.key = word | 1, .value = value};
    }
    table->tombstones -= before.removed > 0;
    table->tombstones += value.removed > 0;
    table->slots[at] = (word & ~UINT64_C(1)) | !is_plain;
    if (lethe_cascade_value_is_none(value)) remove_at(table, at);
    return LETHE_OK;
}

/* Without ages: composes the fingerprint's value with one more step. */
static lethe_status apply_step(struct lethe_cascade_table *table, uint64_t word, bool removes) {
    struct lethe_cascade_value step = {.removed = removes, .added = !removes};
    uint64_t at = search(table, word);
    if (at == table->slot_count) return LETHE_EFULL;
    if (same_fingerprint(table, table->slots[at], word)) {
        return set_value(table, at, lethe_cascade_compose(step, value_of(table, table->slots[at])));
    }
    if (!removes) return insert_at(table, at, word);
    lethe_status status = grow_extras(table);
    if (status == LETHE_OK) status = insert_at(table, at, word);
    if (status != LETHE_OK) return status;
    /* set_value needs no more memory now, and can't fail. */
    return set_value(table, at, step);
}

lethe_status lethe_cascade_table_apply(struct lethe_cascade_table *table, uint64_t word,
                                       bool removes) {
    if (!table->has_slots) empty_slots(table);
    if (!lethe_cascade_has_ages(&table->words)) return apply_step(table, word, removes);
    uint64_t at = search(table, word);
    if (at == table->slot_count) return LETHE_EFULL;
    if (!same_fingerprint(table, table->slots[at], word)) return insert_at(table, at, word);
    if (table->slots[at] < word) table->slots[at] = word;
    return LETHE_OK;
}

bool lethe_cascade_table_find(const struct lethe_cascade_table *table, uint64_t word, uint64_t *tag,
                              struct lethe_cascade_value *value) {
    if (table->count == 0) return false;
    uint64_t at = search(table, word);
    if (at == table->slot_count || !same_fingerprint(table, table->slots[at], word)) return false;
    *tag = table->slots[at] & ((UINT64_C(1) << table->words.tag_bits) - 1);
    *value = (struct lethe_cascade_value){.added = 1};
    if (!lethe_cascade_has_ages(&table->words)) *value = value_of(table, table->slots[at]);
    return true;
}

size_t lethe_cascade_table_read(const struct lethe_cascade_table *table, uint64_t *at,
                                uint64_t *words, struct lethe_cascade_value *values, size_t room,
                                size_t *value_count) {
    bool has_values = !lethe_cascade_has_ages(&table->words);
    size_t count = 0;
    *value_count = 0;
    if (table->count == 0) *at = table->slot_count;
    for (; *at < table->slot_count && count < room; ++*at) {
        uint64_t word = table->slots[*at];
        words[count] = word;
        count += word != EMPTY;
        if (word != EMPTY && has_values && (word & 1) != 0) {
            values[(*value_count)++] = value_of(table, word);
        }
    }
    return count;
}

/* filter/quotient/check.c - whether a table is what this library would have made of some
 * fingerprints.
 *
 * The marks are walked through as a builder would have put them: bucket after bucket, each run from
 * where the last one ended or its block begins to its end. After that every invariant of
 * quotient.c has been checked, so no operation can leave the table. Nothing here trusts what it
 * reads: a slot is compared with the end of the table before it is looked at. */
#include "filter/quotient/fields.h"
#include "filter/quotient/quotient.h"

/* What was seen so far. */
struct walk {
    const lethe_quotient *filter;
    uint64_t slot; /* the next one; all before it are accounted for */
    uint64_t slots_used, distinct, counted, total;
};

static uint64_t remainder_at(const struct walk *walk, uint64_t slot) {
    const struct lethe_quotient_table *table = &walk->filter->table;
    return lethe_fields_get(table->remainders, table->bits, slot);
}

static bool is_end(const struct walk *walk, uint64_t slot) {
    return walk->filter->table.marks[slot / 64].ends >> (slot % 64) & 1;
}

/* Slots up to `to` are free: all zero. */
static bool skip_free(struct walk *walk, uint64_t to) {
    for (; walk->slot < to; walk->slot++) {
        if (is_end(walk, walk->slot) || remainder_at(walk, walk->slot) != 0) return false;
    }
    return true;
}

/* One fingerprint, from slot `first` to before `end`, once or twice. */
static bool check_fingerprint(struct walk *walk, uint64_t fingerprint, uint64_t copies) {
    uint64_t count = lethe_quotient_counts_get(&walk->filter->counts, fingerprint);
    if (copies > 2 || (count != 0 && copies != 2)) return false;
    walk->distinct++;
    walk->counted += count != 0;
    walk->total = lethe_quotient_sum(walk->total, count != 0 ? count : copies);
    return true;
}

/* The run of one bucket. It can't be longer than what is left of MAX_HOMED. */
static bool check_run(struct walk *walk, uint64_t quotient, uint64_t beyond) {
    uint64_t first = quotient << walk->filter->table.bits;
    bool ended = false;
    while (!ended) {
        uint64_t start = walk->slot;
        if (start >= beyond) return false;
        uint64_t remainder = remainder_at(walk, start);
        while (!ended && walk->slot < beyond && remainder_at(walk, walk->slot) == remainder)
            ended = is_end(walk, walk->slot++);
        if (!check_fingerprint(walk, first + remainder, walk->slot - start)) return false;
        if (!ended && (walk->slot >= beyond || remainder_at(walk, walk->slot) < remainder))
            return false;
    }
    return true;
}

static bool check_block(struct walk *walk, uint64_t block) {
    const struct lethe_quotient_table *table = &walk->filter->table;
    uint64_t first = block * LETHE_QUOTIENT_BLOCK;
    if (!skip_free(walk, first) || table->carry[block] != walk->slot - first) return false;
    uint64_t occupied = table->marks[block].occupied, start = walk->slot;
    if (block >= table->blocks && occupied != 0) return false;
    for (; occupied != 0; occupied &= occupied - 1) {
        uint64_t quotient = first + (unsigned)__builtin_ctzll(occupied);
        if (!check_run(walk, quotient, first + LETHE_QUOTIENT_MAX_HOMED)) return false;
    }
    walk->slots_used += walk->slot - start;
    return true;
}

bool lethe_quotient_is_sound(const lethe_quotient *filter) {
    struct walk walk = {.filter = filter};
    uint64_t blocks = lethe_quotient_all_blocks(&filter->table);
    for (uint64_t block = 0; block < blocks; block++) {
        if (!check_block(&walk, block)) return false;
    }
    return skip_free(&walk, blocks * LETHE_QUOTIENT_BLOCK) &&
           walk.slots_used == filter->slots_used && walk.distinct == filter->distinct &&
           walk.counted == filter->counts.used && walk.slots_used <= filter->limit &&
           (walk.total == filter->total || filter->total == UINT64_MAX);
}

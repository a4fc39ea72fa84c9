/* dedup/asking.c - lines in memory before the cascade.
 *
 * IDEA    The cascade takes about 120 ns to answer, memory 20. So what is asked is looked up in
 *         memory first. Without --db the cascade gets only what finds no room there. With --db it
 *         gets every new line, but is not asked: memory has all that the cascade has. So it may
 *         get them later, from another thread (adding.h).
 * I1      With --db, memory goes by the fingerprints of the cascade, and has each of them or is not
 *         asked at all. When it is full it is given up, because the cascade knows everything. So
 *         the answers are those of the cascade, except that memory takes a new line for another
 *         with its own small error.
 * I2      That error and the cascade's are together what the user allowed: memory has an eighth
 *         of it, and with --db at most seven eighths of the cascade's capacity are in memory.
 * I3      The cascade is asked only when it has all lines that were answered before.
 * WHY     Reading a cascade into memory takes about 40 ns an entry, a third of asking about a line.
 *         It is begun when as much was spent on asking: at most twice the best is spent, whatever
 *         comes. A cascade that has nothing yet is kept from the first line on. */
#include "dedup/asking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frame/clock.h"
#include "frame/interrupt.h"

enum { LOAD_AT_ONCE = 4096, SPREAD_AT_ONCE = 256, ENTRIES_PER_LINE = 3 };

static lethe_cascade_stats stats_of(const struct asking *asking) {
    lethe_cascade_stats stats = LETHE_INIT(lethe_cascade_stats);
    (void)lethe_cascade_info(asking->cascade, clock_wall_ms(), &stats);
    return stats;
}

/* The fingerprint that the cascade keeps of a hash, as lethe_cascade_each shows it. */
static uint64_t fingerprint_of(const struct asking *asking, uint64_t high) {
    unsigned rest = 64 - asking->bits;
    return high >> rest << rest;
}

/* Hashes fingerprints once more, so that all bits of what memory is asked are random. */
static void spread(const uint64_t *fingerprints, size_t count, lethe_hash *out) {
    lethe_hash_u64_batch(LETHE_DEFAULT_SEED, fingerprints, count, out);
}

struct loading {
    struct asking *asking;
    struct resident *resident;
    size_t count;
    bool is_whole;
    uint64_t fingerprints[LOAD_AT_ONCE];
    lethe_hash hashes[LOAD_AT_ONCE];
    uint8_t answers[LOAD_AT_ONCE];
};

static bool load_gathered(struct loading *loading) {
    spread(loading->fingerprints, loading->count, loading->hashes);
    resident_ask(loading->resident, loading->hashes, loading->count, loading->answers);
    loading->asking->kept += loading->count;
    loading->count = 0;
    loading->is_whole = !resident_is_full(loading->resident) && !interrupt_requested();
    return loading->is_whole;
}

static bool load_one(void *context, uint64_t fingerprint, uint64_t count) {
    (void)count;
    struct loading *loading = context;
    loading->fingerprints[loading->count++] = fingerprint;
    return loading->count < LOAD_AT_ONCE || load_gathered(loading);
}

/* Takes all that the cascade has into memory; false if that cannot be. */
static bool load(struct asking *asking, struct resident *resident) {
    struct loading *loading = malloc(sizeof *loading);
    if (loading == NULL) return false;
    *loading = (struct loading){.asking = asking, .resident = resident, .is_whole = true};
    /* A page that cannot be read matters only to those who ask for it. */
    bool is_read =
        lethe_cascade_each(asking->cascade, clock_wall_ms(), load_one, loading) == LETHE_OK;
    bool is_whole = is_read && loading->is_whole && load_gathered(loading);
    free(loading);
    return is_whole;
}

/* All that there is at a time. */
static uint64_t entries_of(const struct asking *asking, const lethe_cascade_stats *stats) {
    return asking->remembers ? stats->entries : 0;
}

bool asking_should_keep(const struct asking *asking, uint64_t lines) {
    if (asking->state != ASKING_NOT_YET || asking->resident_bytes == 0) return false;
    lethe_cascade_stats stats = stats_of(asking);
    return entries_of(asking, &stats) / ENTRIES_PER_LINE <= lines;
}

void asking_keep(struct asking *asking) {
    lethe_cascade_stats stats = stats_of(asking);
    uint64_t room = resident_lines_in(asking->resident_bytes, asking->resident_error);
    uint64_t entries = entries_of(asking, &stats), expected = asking->expected;
    asking->state = ASKING_NEVER;
    if (entries > room / 4 * 3) return;
    asking->bits = stats.fingerprint_bits;
    asking->most = asking->remembers ? stats.capacity / 8 * 7 : UINT64_MAX;
    asking->kept = 0;
    if (expected > 0) expected += entries;
    struct resident *resident = resident_new(asking->resident_bytes, asking->resident_error,
                                             expected, lethe_cascade_seed(asking->cascade));
    if (resident == NULL || (entries > 0 && !load(asking, resident))) {
        resident_free(resident);
        return;
    }
    asking->resident = resident;
    asking->state = ASKING_KEPT;
}

bool asking_is_quick(const struct asking *asking) {
    return asking->resident != NULL && !resident_is_full(asking->resident);
}

void asking_begin_adding(struct asking *asking) {
    if (asking->remembers && asking->resident != NULL && asking->adding == NULL)
        asking->adding = adding_new(asking->cascade);
}

lethe_status asking_settle(struct asking *asking) {
    return asking->adding != NULL ? adding_wait(asking->adding) : LETHE_OK;
}

lethe_status asking_end_adding(struct asking *asking) {
    lethe_status status = asking_settle(asking);
    adding_free(asking->adding);
    asking->adding = NULL;
    return status;
}

void asking_drop(struct asking *asking) {
    adding_free(asking->adding);
    resident_free(asking->resident);
    free(asking->asked);
    free(asking->answers);
    asking->adding = NULL;
    asking->resident = NULL;
    asking->asked = NULL;
    asking->answers = NULL;
    asking->capacity = 0;
}

static bool make_room(struct asking *asking, size_t count) {
    if (count <= asking->capacity) return true;
    free(asking->asked);
    free(asking->answers);
    asking->asked = malloc(count * sizeof *asking->asked);
    asking->answers = malloc(count);
    asking->capacity = asking->asked != NULL && asking->answers != NULL ? count : 0;
    return asking->capacity > 0;
}

static lethe_status ask_cascade(struct asking *asking, const lethe_hash *hashes, size_t count,
                                uint8_t *present, size_t *done) {
    return lethe_cascade_add_and_test_batch(asking->cascade, hashes, count, clock_wall_ms(),
                                            present, done);
}

static void give_up(struct asking *asking) {
    resident_free(asking->resident);
    asking->resident = NULL;
    asking->state = ASKING_NEVER;
}

/* Without --db: memory, and the cascade about what memory does not know. */
static lethe_status ask_both(struct asking *asking, const lethe_hash *hashes, size_t count,
                             uint8_t *present, size_t *done) {
    size_t unknown = 0, answered = 0, at = 0, taken = 0;
    resident_ask(asking->resident, hashes, count, present);
    for (size_t i = 0; i < count; i++) {
        if (present[i] == RESIDENT_UNKNOWN) asking->asked[unknown++] = hashes[i];
    }
    lethe_status status = LETHE_OK;
    if (unknown > 0)
        status = ask_cascade(asking, asking->asked, unknown, asking->answers, &answered);
    for (; at < count; at++) {
        if (present[at] != RESIDENT_UNKNOWN) continue;
        if (taken == answered) break;
        present[at] = asking->answers[taken++];
    }
    *done = at;
    return status;
}

/* What memory is asked about lines whose hashes these are. */
static void spread_all(const struct asking *asking, const lethe_hash *hashes, size_t count) {
    uint64_t fingerprints[SPREAD_AT_ONCE];
    for (size_t from = 0, some; from < count; from += some) {
        some = count - from < SPREAD_AT_ONCE ? count - from : SPREAD_AT_ONCE;
        for (size_t i = 0; i < some; i++)
            fingerprints[i] = fingerprint_of(asking, hashes[from + i].high);
        spread(fingerprints, some, asking->asked + from);
    }
}

/* Of lines that memory knows or took in, gathers the new ones; returns how many there are. */
static size_t gather_new(const lethe_hash *hashes, size_t count, const uint8_t *present,
                         lethe_hash *out) {
    size_t fresh = 0;
    for (size_t i = 0; i < count; i++) {
        out[fresh] = hashes[i];
        fresh += present[i] == RESIDENT_NEW;
    }
    return fresh;
}

/* Puts the new ones of these lines into the cascade, or has the other thread do so. */
static lethe_status remember(struct asking *asking, const lethe_hash *hashes, size_t count,
                             const uint8_t *present) {
    if (count == 0) return LETHE_OK;
    lethe_hash *gathered =
        asking->adding != NULL ? adding_room(asking->adding, count) : asking->asked;
    if (gathered == NULL) return LETHE_ENOMEM;
    size_t fresh = gather_new(hashes, count, present, gathered);
    asking->kept += fresh;
    if (asking->adding != NULL) return adding_put(asking->adding, fresh);
    if (fresh == 0) return LETHE_OK;
    return lethe_cascade_add_batch(asking->cascade, gathered, fresh, clock_wall_ms(), NULL);
}

/* With --db: memory, which has all that the cascade has; the cascade gets what is new. Without room
 * in memory nothing is taken in from there on, and the cascade is asked about the rest. */
static lethe_status ask_and_remember(struct asking *asking, const lethe_hash *hashes, size_t count,
                                     uint8_t *present, size_t *done) {
    spread_all(asking, hashes, count);
    resident_ask(asking->resident, asking->asked, count, present);
    const uint8_t *unknown =
        resident_is_full(asking->resident) ? memchr(present, RESIDENT_UNKNOWN, count) : NULL;
    size_t known = unknown != NULL ? (size_t)(unknown - present) : count;
    lethe_status status = remember(asking, hashes, known, present);
    if (status == LETHE_OK && known < count) status = asking_settle(asking); /* I3 */
    *done = known;
    if (status != LETHE_OK) {
        *done = 0; /* some may be in the cascade; no checkpoint will say so */
        return status;
    }
    if (known == count) return LETHE_OK;
    give_up(asking);
    size_t more = 0;
    status = ask_cascade(asking, hashes + known, count - known, present + known, &more);
    *done = known + more;
    return status;
}

lethe_status asking_ask(struct asking *asking, const lethe_hash *hashes, size_t count,
                        uint8_t *present, size_t *done) {
    *done = 0;
    /* I2, I3. */
    if (asking->resident != NULL && asking->kept + count > asking->most) {
        lethe_status status = asking_settle(asking);
        if (status != LETHE_OK) return status;
        give_up(asking);
    }
    if (asking->resident == NULL) return ask_cascade(asking, hashes, count, present, done);
    if (!make_room(asking, count)) return LETHE_ENOMEM;
    return asking->remembers ? ask_and_remember(asking, hashes, count, present, done)
                             : ask_both(asking, hashes, count, present, done);
}

double asking_error(const struct asking *asking) {
    if (!asking->remembers || asking->resident == NULL) return asking_facts_of(asking).error;
    /* As lethe_cascade_info computes it, of all that the cascade will have. */
    double in_cascade = -expm1(-(double)asking->kept * exp2(-(double)asking->bits));
    return in_cascade + resident_facts_of(asking->resident).error;
}

struct asking_facts asking_facts_of(const struct asking *asking) {
    lethe_cascade_stats stats = stats_of(asking);
    struct resident_facts first = resident_facts_of(asking->resident);
    /* With --db, what is in memory is in the cascade too. */
    return (struct asking_facts){.error = stats.error_estimate + first.error,
                                 .entries = stats.entries + (asking->remembers ? 0 : first.entries),
                                 .memory_bytes = stats.memory_bytes + first.memory_bytes,
                                 .disk_bytes = stats.disk_bytes};
}

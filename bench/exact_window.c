/* bench/exact_window.c - hash sets with expiry by generation.
 *
 * IDEA    Four generations to a window. Ids go into the newest set and are looked for in all five:
 *         the oldest may still hold ids that came less than W ago. When a quarter of W is over the
 *         oldest set is emptied and becomes the newest.
 * LAYOUT  One array a set, linear probing, 0 is an empty place; the id 0 has a flag of its own.
 * WHY     Written to be a fair peer: one multiplication as the hash, the same place in all sets,
 *         huge pages from the same allocator, and in batches a prefetch in all sets 16 ids
 *         ahead. */
#include "exact_window.h"

#include <string.h>

#include "frame.h"

enum { GENERATIONS = 4, SETS = GENERATIONS + 1, AHEAD = 16 };

#define MOST_LOAD 0.7

struct set {
    uint64_t *places;
    uint64_t count;
    bool has_zero;
};

struct exact_window {
    struct set sets[SETS]; /* newest first */
    uint64_t mask;         /* places of a set, less one */
    unsigned shift;
    uint64_t most; /* ids in a set */
    uint64_t period_ms, period_end_ms;
    const lethe_allocator *allocator;
};

static size_t set_bytes(const exact_window *window) {
    return (size_t)(window->mask + 1) * sizeof(uint64_t);
}

exact_window *exact_window_new(uint64_t window_ms, uint64_t ids, const lethe_allocator *allocator) {
    exact_window *window = allocator->allocate_zeroed(allocator->context, sizeof *window);
    if (window == NULL) return NULL;
    unsigned bits = 4;
    while ((double)(UINT64_C(1) << bits) * MOST_LOAD < (double)ids / GENERATIONS)
        bits++;
    *window = (exact_window){
        .mask = (UINT64_C(1) << bits) - 1,
        .shift = 64 - bits,
        .most = (uint64_t)((double)(UINT64_C(1) << bits) * MOST_LOAD),
        .period_ms = window_ms / GENERATIONS,
        .period_end_ms = window_ms / GENERATIONS,
        .allocator = allocator,
    };
    for (int i = 0; i < SETS; i++) {
        window->sets[i].places = allocator->allocate_zeroed(allocator->context, set_bytes(window));
        if (window->sets[i].places == NULL) {
            exact_window_free(window);
            return NULL;
        }
    }
    return window;
}

void exact_window_free(exact_window *window) {
    if (window == NULL) return;
    const lethe_allocator *allocator = window->allocator;
    for (int i = 0; i < SETS; i++) {
        if (window->sets[i].places == NULL) continue;
        allocator->release(allocator->context, window->sets[i].places, set_bytes(window));
    }
    allocator->release(allocator->context, window, sizeof *window);
}

static inline uint64_t place_of(const exact_window *window, uint64_t id) {
    return ((id ^ id >> 32) * UINT64_C(0x9e3779b97f4a7c15)) >> window->shift;
}

/* The place of the id in a set, or the empty one where it would be. */
static inline uint64_t *find(const exact_window *window, const struct set *set, uint64_t place,
                             uint64_t id) {
    while (set->places[place] != 0 && set->places[place] != id)
        place = (place + 1) & window->mask;
    return &set->places[place];
}

static void begin_period(exact_window *window) {
    struct set oldest = window->sets[SETS - 1];
    memmove(&window->sets[1], &window->sets[0], (SETS - 1) * sizeof window->sets[0]);
    if (oldest.count > 0) memset(oldest.places, 0, set_bytes(window));
    window->sets[0] = (struct set){.places = oldest.places};
    window->period_end_ms += window->period_ms;
}

static inline void advance(exact_window *window, uint64_t now_ms) {
    while (now_ms >= window->period_end_ms)
        begin_period(window);
}

/* The id 0 can't be distinguished from an empty place. */
static bool check_and_record_zero(exact_window *window) {
    for (int i = 0; i < SETS; i++) {
        if (window->sets[i].has_zero) return true;
    }
    window->sets[0].has_zero = true;
    return false;
}

static inline bool check_and_record(exact_window *window, uint64_t id) {
    if (id == 0) return check_and_record_zero(window);
    uint64_t place = place_of(window, id);
    for (int i = 1; i < SETS; i++) {
        if (*find(window, &window->sets[i], place, id) == id) return true;
    }
    uint64_t *newest = find(window, &window->sets[0], place, id);
    if (*newest == id) return true;
    bench_require(window->sets[0].count < window->most, "keeping more ids than announced");
    *newest = id;
    window->sets[0].count++;
    return false;
}

bool exact_window_check_and_record(exact_window *window, uint64_t id, uint64_t now_ms) {
    advance(window, now_ms);
    return check_and_record(window, id);
}

void exact_window_check_and_record_batch(exact_window *window, const uint64_t *ids, size_t count,
                                         uint64_t now_ms, uint8_t *is_duplicate) {
    advance(window, now_ms);
    for (size_t i = 0; i < count + AHEAD; i++) {
        if (i < count) {
            uint64_t place = place_of(window, ids[i]);
            for (int set = 0; set < SETS; set++)
                __builtin_prefetch(&window->sets[set].places[place]);
        }
        if (i >= AHEAD) is_duplicate[i - AHEAD] = check_and_record(window, ids[i - AHEAD]);
    }
}

/* dedup/resident.c - the lines that came first, in a window that does not move.
 *
 * IDEA    A window of the library is a compact set of fingerprints with a cap on its memory. Its
 *         clock stands still here, so nothing is forgotten.
 * I1      A line is taken in here, or the caller remembers it elsewhere. From the first line that
 *         the window refuses, nothing new is answered any more: all that the window does not know
 *         is unknown, in the rest of that batch too. Otherwise a line that was refused, and so is
 *         known elsewhere only, could be new here when it comes again and room has come up.
 * WHY     A cascade takes about 120 ns a line, this about 25. Windows of this error have blocks
 *         that are compiled for it (window/part.h); with others it would be nearly twice as
 *         much. */
#include "dedup/resident.h"

#include <math.h>
#include <stdlib.h>

#include "lethe/window.h"

static const uint64_t NOW_MS = 1;

struct resident {
    lethe_window *window;
    bool is_full;
};

/* Each line is given a little more than a window needs, so that the window's first part stays below
 * the cap. */
uint64_t resident_lines_in(uint64_t memory_bytes, double error) {
    double bits_per_line = 16 - 1.1 * log2(error);
    return (uint64_t)((double)memory_bytes * 8 / bits_per_line) + 1;
}

struct resident *resident_new(uint64_t memory_bytes, double error, uint64_t lines, uint64_t seed) {
    uint64_t room = resident_lines_in(memory_bytes, error);
    struct resident *resident = calloc(1, sizeof *resident);
    if (resident == NULL) return NULL;
    lethe_window_options options = LETHE_OPTIONS(
        lethe_window_options, .error = error, .slack = 1,
        .capacity = lines > 0 && lines < room ? lines : room, .max_memory_bytes = memory_bytes,
        .policy = LETHE_POLICY_REFUSE, .seed = seed);
    if (lethe_window_new(&options, &resident->window) == LETHE_OK) return resident;
    free(resident);
    return NULL;
}

void resident_free(struct resident *resident) {
    if (resident == NULL) return;
    lethe_window_free(resident->window);
    free(resident);
}

bool resident_is_full(const struct resident *resident) {
    return resident->is_full;
}

void resident_ask(struct resident *resident, const lethe_hash *hashes, size_t count,
                  uint8_t *answers) {
    bool was_full = resident->is_full;
    /* What is refused says so in its answer. */
    if (was_full) {
        (void)lethe_window_test_batch(resident->window, hashes, count, NOW_MS, answers);
    } else if (lethe_window_add_and_test_batch(resident->window, hashes, count, NOW_MS, answers) ==
               LETHE_OK) {
        for (size_t i = 0; i < count; i++)
            answers[i] = answers[i] == LETHE_ANSWER_DUPLICATE ? RESIDENT_PRESENT : RESIDENT_NEW;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        resident->is_full |=
            answers[i] != LETHE_ANSWER_DUPLICATE && answers[i] != LETHE_ANSWER_FRESH;
        answers[i] = answers[i] == LETHE_ANSWER_DUPLICATE ? RESIDENT_PRESENT
                     : resident->is_full                  ? RESIDENT_UNKNOWN
                                                          : RESIDENT_NEW;
    }
}

struct resident_facts resident_facts_of(const struct resident *resident) {
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    if (resident != NULL) (void)lethe_window_info(resident->window, NOW_MS, &stats);
    return (struct resident_facts){
        .error = stats.error_estimate, .entries = stats.ids, .memory_bytes = stats.memory_bytes};
}

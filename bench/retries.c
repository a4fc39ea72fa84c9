/* bench/retries.c - operations and retries; see retries.h. */
#include "retries.h"

#include <stdbool.h>
#include <stdlib.h>

#include "frame.h"
#include "keys.h"

/* One operation of each round of ten is a retry: the rate of fresh ids is as steady as can be, and
 * which one it is can't be guessed. Streams are far enough apart that their numbers never meet. */
enum { ROUND = 10, STREAM_SHIFT = 44 };

void retries_init(struct retries *stream, uint64_t n, uint64_t seed, unsigned number) {
    size_t count = (size_t)(n / RETRIES_QUARTERS / (ROUND - 1) * ROUND);
    *stream = (struct retries){
        .count = count,
        .ids = malloc(count * sizeof *stream->ids),
        .is_retry = malloc(count),
        .answers = malloc(count),
        .ms_an_operation = (RETRIES_WINDOW_MS / RETRIES_QUARTERS << 32) / count,
        .seed = seed,
        .base = (uint64_t)number << STREAM_SHIFT,
        .recent = n / 2,
        .random = keys_scramble(seed + number),
    };
    bench_require(stream->ids != NULL && stream->is_retry != NULL && stream->answers != NULL,
                  "allocating operations");
}

void retries_drop(struct retries *stream) {
    free(stream->ids);
    free(stream->is_retry);
    free(stream->answers);
    free(stream->unrecorded);
}

void retries_next(struct retries *stream) {
    if (stream->made > 0) stream->start_ms += RETRIES_WINDOW_MS / RETRIES_QUARTERS;
    uint64_t random = 0;
    for (size_t i = 0; i < stream->count; i++) {
        if (i % ROUND == 0) random = keys_scramble(stream->random += UINT64_C(0x9e3779b97f4a7c15));
        bool is_retry = random % ROUND == i % ROUND && stream->made > 0;
        uint64_t number = stream->made;
        if (is_retry) {
            uint64_t recent = stream->made < stream->recent ? stream->made : stream->recent;
            number -= 1 + ((random >> 32) * recent >> 32);
        } else {
            stream->made++;
        }
        stream->ids[i] = keys_scramble(stream->seed + stream->base + number);
        stream->is_retry[i] = is_retry;
    }
}

/* Makes sure that there is room for one more. */
static void reserve_unrecorded(struct retries *stream) {
    if (stream->unrecorded_count < stream->unrecorded_room) return;
    size_t room = 2 * stream->unrecorded_room + 1024;
    uint64_t *larger = realloc(stream->unrecorded, room * sizeof *larger);
    bench_require(larger != NULL, "counting answers");
    stream->unrecorded = larger;
    stream->unrecorded_room = room;
}

static int compare_ids(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static bool was_recorded(const struct retries *stream, uint64_t id) {
    return stream->unrecorded_count == 0 ||
           bsearch(&id, stream->unrecorded, stream->unrecorded_count, sizeof id, compare_ids) ==
               NULL;
}

void retries_count(struct retries *stream) {
    for (size_t i = 0; i < stream->count; i++) {
        if (stream->is_retry[i]) continue;
        stream->fresh++;
        if (stream->answers[i] == RETRIES_FRESH) continue;
        stream->false_duplicates++;
        reserve_unrecorded(stream);
        stream->unrecorded[stream->unrecorded_count++] = stream->ids[i];
    }
    if (stream->unrecorded_count > 0) {
        qsort(stream->unrecorded, stream->unrecorded_count, sizeof *stream->unrecorded,
              compare_ids);
    }
    for (size_t i = 0; i < stream->count; i++) {
        if (stream->is_retry[i] && stream->answers[i] != RETRIES_DUPLICATE &&
            was_recorded(stream, stream->ids[i])) {
            stream->missed++;
        }
    }
}

void retries_reset_false(struct retries *stream) {
    stream->fresh = 0;
    stream->false_duplicates = 0;
}

/* bench/retries.h - operations that arrive at a steady rate, one in ten of them a retry.
 *
 * Time is virtual: n fresh ids arrive in W = 600 s, and n / 9 retries of ids chosen evenly among
 * those of the last W / 2. A stream makes its operations a quarter of W at a time, before they are
 * timed, and afterwards counts what was wrong with the answers:
 *
 *   missed  a retry that was answered `fresh`, although its id had been recorded. An id that was
 *           taken for a duplicate when it first came was never recorded, so its retries don't
 *           count.
 *   false   a fresh id that was answered `duplicate`. */
#ifndef LETHE_BENCH_RETRIES_H
#define LETHE_BENCH_RETRIES_H

#include <stddef.h>
#include <stdint.h>

#define RETRIES_WINDOW_MS UINT64_C(600000)

enum { RETRIES_QUARTERS = 4, RETRIES_FRESH = 0, RETRIES_DUPLICATE = 1 };

struct retries {
    /* The operations of this quarter. */
    size_t count;
    uint64_t *ids;
    uint8_t *is_retry;
    uint8_t *answers; /* to be filled in */
    uint64_t start_ms;
    uint64_t ms_an_operation; /* in units of 2^-32 ms */

    uint64_t missed; /* since the beginning */
    uint64_t fresh;  /* since retries_reset_false */
    uint64_t false_duplicates;

    uint64_t seed, base, made, recent, random;
    uint64_t *unrecorded; /* ids taken for duplicates when they first came, sorted */
    size_t unrecorded_count, unrecorded_room;
};

/* A stream of n fresh ids in W. Streams of one seed that differ in number share no id. Ends the
 * program when there is no memory. */
void retries_init(struct retries *stream, uint64_t n, uint64_t seed, unsigned number);
void retries_drop(struct retries *stream);

/* Makes the operations of the next quarter of W. */
void retries_next(struct retries *stream);
/* Counts the answers to them. */
void retries_count(struct retries *stream);
void retries_reset_false(struct retries *stream);

/* When operation number index of this quarter arrives. */
static inline uint64_t retries_now_ms(const struct retries *stream, size_t index) {
    return stream->start_ms + (index * stream->ms_an_operation >> 32);
}

#endif

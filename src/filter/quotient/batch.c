/* filter/quotient/batch.c - the quotient filter's operations on many keys at once.
 *
 * IDEA    Memory is requested for keys that come soon while the current one is worked on. hot.inc.h
 *         does this for adding and testing, as long as nothing unusual happens. A third copy, a
 *         full filter or a fingerprint out of range ends its loop, is handled singly, and the loop
 *         goes on after it.
 * I1      Every item is tried, in order. The first error is the status of the batch. */
#include "core/bits.h"
#include "filter/quotient/quotient.h"

enum {
    /* Hashes of a batch that become fingerprints at once. */
    PIECE = 512,
    /* How many keys ahead memory is requested. */
    AHEAD = 16
};

/* What became of a batch so far. */
struct progress {
    lethe_status status;
    /* Results of the caller's, or NULL. */
    uint8_t *done;
};

static void note(struct progress *progress, size_t index, lethe_status status) {
    if (status != LETHE_OK && progress->status == LETHE_OK) progress->status = status;
    if (progress->done != NULL) progress->done[index] = status == LETHE_OK;
}

/* Adds fingerprints; the first one is item number `first` of the batch. */
static void add_piece(lethe_quotient *filter, const uint64_t *fingerprints, size_t count,
                      size_t first, struct progress *progress) {
    for (size_t at = 0; at < count;) {
        uint64_t room = filter->slots_used < filter->limit ? filter->limit - filter->slots_used : 0;
        size_t most = count - at < room ? count - at : (size_t)room;
        size_t seconds = 0;
        size_t added =
            filter->operations->add_batch(&filter->table, fingerprints + at, most, &seconds);
        filter->slots_used += added;
        filter->distinct += added - seconds;
        filter->total = lethe_quotient_sum(filter->total, added);
        for (size_t i = 0; progress->done != NULL && i < added; i++)
            progress->done[first + at + i] = 1;
        at += added;
        if (at == count) break;
        note(progress, first + at, lethe_quotient_add_some(filter, fingerprints[at], 1));
        at++;
    }
}

/* How many of the first fingerprints are in range. */
static size_t count_in_range(const lethe_quotient *filter, const uint64_t *fingerprints,
                             size_t count) {
    size_t valid = 0;
    while (valid < count && fingerprints[valid] <= filter->max_fingerprint)
        valid++;
    return valid;
}

lethe_status lethe_quotient_add_fingerprint_batch(lethe_quotient *filter,
                                                  const uint64_t *fingerprints, size_t count,
                                                  uint8_t *added) {
    if (!lethe_quotient_is_writable(filter) || (fingerprints == NULL && count > 0))
        return LETHE_EINVAL;
    struct progress progress = {.done = NULL};
    progress.done = added;
    for (size_t at = 0; at < count; at++) {
        size_t valid = count_in_range(filter, fingerprints + at, count - at);
        add_piece(filter, fingerprints + at, valid, at, &progress);
        at += valid;
        if (at < count) note(&progress, at, LETHE_EINVAL);
    }
    return progress.status;
}

lethe_status lethe_quotient_add_batch(lethe_quotient *filter, const lethe_hash *hashes,
                                      size_t count, uint8_t *added) {
    if (!lethe_quotient_is_writable(filter) || (hashes == NULL && count > 0)) return LETHE_EINVAL;
    uint64_t fingerprints[PIECE];
    struct progress progress = {.done = NULL};
    progress.done = added;
    for (size_t at = 0; at < count; at += PIECE) {
        size_t piece = count - at < PIECE ? count - at : PIECE;
        for (size_t i = 0; i < piece; i++)
            fingerprints[i] = lethe_quotient_fingerprint_of(filter, hashes[at + i]);
        add_piece(filter, fingerprints, piece, at, &progress);
    }
    return progress.status;
}

lethe_status lethe_quotient_test_fingerprint_batch(const lethe_quotient *filter,
                                                   const uint64_t *fingerprints, size_t count,
                                                   uint8_t *present) {
    if (filter == NULL || ((fingerprints == NULL || present == NULL) && count > 0))
        return LETHE_EINVAL;
    size_t valid = count_in_range(filter, fingerprints, count);
    filter->operations->test_batch(&filter->table, fingerprints, valid, present);
    for (size_t i = valid; i < count; i++)
        present[i] = lethe_quotient_test_fingerprint(filter, fingerprints[i]);
    return LETHE_OK;
}

lethe_status lethe_quotient_test_batch(const lethe_quotient *filter, const lethe_hash *hashes,
                                       size_t count, uint8_t *present) {
    if (filter == NULL || ((hashes == NULL || present == NULL) && count > 0)) return LETHE_EINVAL;
    uint64_t fingerprints[PIECE];
    for (size_t at = 0; at < count; at += PIECE) {
        size_t piece = count - at < PIECE ? count - at : PIECE;
        for (size_t i = 0; i < piece; i++)
            fingerprints[i] = lethe_quotient_fingerprint_of(filter, hashes[at + i]);
        filter->operations->test_batch(&filter->table, fingerprints, piece, present + at);
    }
    return LETHE_OK;
}

/* Requests the memory of a hash that comes soon. */
static void prefetch(const lethe_quotient *filter, lethe_hash hash) {
    uint64_t fingerprint = lethe_quotient_fingerprint_of(filter, hash);
    uint64_t block = (fingerprint >> filter->table.bits) / LETHE_QUOTIENT_BLOCK;
    __builtin_prefetch(&filter->table.carry[block], 1);
    __builtin_prefetch(&filter->table.marks[block], 1);
    __builtin_prefetch(filter->table.remainders + block * 8 * filter->table.bits, 1);
}

lethe_status lethe_quotient_count_batch(const lethe_quotient *filter, const lethe_hash *hashes,
                                        size_t count, uint64_t *counts) {
    if (filter == NULL || ((hashes == NULL || counts == NULL) && count > 0)) return LETHE_EINVAL;
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) prefetch(filter, hashes[i + AHEAD]);
        counts[i] = lethe_quotient_count_hash(filter, hashes[i]);
    }
    return LETHE_OK;
}

lethe_status lethe_quotient_remove_batch(lethe_quotient *filter, const lethe_hash *hashes,
                                         size_t count, uint8_t *removed) {
    if (!lethe_quotient_is_writable(filter) || (hashes == NULL && count > 0)) return LETHE_EINVAL;
    struct progress progress = {.done = NULL};
    progress.done = removed;
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) prefetch(filter, hashes[i + AHEAD]);
        note(&progress, i, lethe_quotient_remove_hash(filter, hashes[i], 1));
    }
    return progress.status;
}

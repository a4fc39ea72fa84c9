/* paper/published_cascade.c - the published cascade filter; see published_cascade.h.
 *
 * I1  A level on disk is empty, or complete and closed.
 * I2  An entry's number, fingerprint first and then its tombstone bit, is the same in all levels.
 *     So levels are merged as sorted lists of numbers are.
 * I3  No tombstone is in the oldest level: what it would cancel can't be in an older one. */
#include "paper/published_cascade.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "paper/published_level.h"

enum { LEVELS = 24, PATH_BYTES = 2200 };

struct published_cascade {
    struct published_cascade_options options;
    char folder[PATH_BYTES - 32];
    struct published_quotient *memory;
    struct level_lookup *lookups[LEVELS]; /* NULL: the level is empty; [0] is not used */
};

static struct published_shape shape_of(const struct published_cascade *cascade, unsigned level) {
    const struct published_cascade_options *options = &cascade->options;
    unsigned quotient_bits = options->quotient_bits + (level > 0 ? level - 1 : 0);
    return (struct published_shape){.quotient_bits = quotient_bits,
                                    .remainder_bits = options->fingerprint_bits - quotient_bits,
                                    .has_tombstones = options->has_tombstones};
}

static void path_of(const struct published_cascade *cascade, unsigned level,
                    char path[PATH_BYTES]) {
    snprintf(path, PATH_BYTES, "%s/level-%u", cascade->folder, level);
}

struct published_cascade *published_cascade_new(const struct published_cascade_options *options) {
    struct published_cascade *cascade = calloc(1, sizeof *cascade);
    if (cascade == NULL) return NULL;
    cascade->options = *options;
    int length = snprintf(cascade->folder, sizeof cascade->folder, "%s", options->folder);
    struct published_shape shape = shape_of(cascade, 0);
    if (length >= (int)sizeof cascade->folder) {
        errno = ENAMETOOLONG;
    } else {
        cascade->memory = published_quotient_new(&shape);
    }
    if (cascade->memory != NULL) return cascade;
    free(cascade);
    return NULL;
}

static void drop_level(struct published_cascade *cascade, unsigned level) {
    if (cascade->lookups[level] == NULL) return;
    level_lookup_close(cascade->lookups[level]);
    cascade->lookups[level] = NULL;
    char path[PATH_BYTES];
    path_of(cascade, level, path);
    (void)unlink(path);
}

void published_cascade_free(struct published_cascade *cascade) {
    if (cascade == NULL) return;
    int error = errno;
    for (unsigned level = 1; level < LEVELS; level++)
        drop_level(cascade, level);
    published_quotient_free(cascade->memory);
    free(cascade);
    errno = error;
}

unsigned published_cascade_levels(const struct published_cascade *cascade) {
    unsigned levels = 0;
    for (unsigned level = 1; level < LEVELS; level++)
        levels += cascade->lookups[level] != NULL;
    return levels;
}

size_t published_cascade_bytes(const struct published_cascade *cascade) {
    return published_quotient_bytes(cascade->memory);
}

bool published_cascade_is_full(const struct published_cascade *cascade) {
    return published_quotient_count(cascade->memory) >= cascade->options.memory_entries;
}

/* Merging. */

/* What is read: a reader for each level, and its next entry. */
struct merge {
    struct level_reader *readers[LEVELS];
    uint64_t heads[LEVELS];
    unsigned count; /* of readers that have a head */
};

static bool advance(struct merge *merge, unsigned i) {
    if (level_reader_next(merge->readers[i], &merge->heads[i])) return true;
    if (errno != 0) return false;
    level_reader_close(merge->readers[i]);
    merge->count--;
    merge->readers[i] = merge->readers[merge->count];
    merge->heads[i] = merge->heads[merge->count];
    merge->readers[merge->count] = NULL;
    return true;
}

static bool open_merge(struct published_cascade *cascade, unsigned target, struct merge *merge) {
    for (unsigned level = 0; level < target; level++) {
        struct published_shape shape = shape_of(cascade, level);
        char path[PATH_BYTES];
        path_of(cascade, level, path);
        struct level_reader *reader =
            level == 0 ? level_reader_of(cascade->memory, &shape) : level_reader_open(path, &shape);
        if (reader == NULL) return false;
        merge->readers[merge->count++] = reader;
        if (!advance(merge, merge->count - 1)) return false;
    }
    return true;
}

static bool smallest_of(struct merge *merge, uint64_t *entry) {
    unsigned least = 0;
    for (unsigned i = 1; i < merge->count; i++) {
        if (merge->heads[i] < merge->heads[least]) least = i;
    }
    *entry = merge->heads[least];
    return advance(merge, least);
}

/* Of one fingerprint: so many entries and so many tombstones, which cancel each other. */
static bool put_rest(struct level_writer *writer, uint64_t fingerprint, int64_t balance,
                     bool is_oldest) {
    bool fine = true;
    for (; balance > 0 && fine; balance--)
        fine = level_writer_put(writer, fingerprint << 1);
    for (; balance < 0 && fine && !is_oldest; balance++)
        fine = level_writer_put(writer, fingerprint << 1 | 1);
    return fine;
}

static bool merge_cancelling(struct merge *merge, struct level_writer *writer, bool is_oldest) {
    uint64_t entry, fingerprint = 0;
    int64_t balance = 0;
    while (merge->count > 0) {
        if (!smallest_of(merge, &entry)) return false;
        if (entry >> 1 != fingerprint) {
            if (!put_rest(writer, fingerprint, balance, is_oldest)) return false;
            fingerprint = entry >> 1;
            balance = 0;
        }
        balance += entry & 1 ? -1 : 1;
    }
    return put_rest(writer, fingerprint, balance, is_oldest);
}

static bool merge_plainly(struct merge *merge, struct level_writer *writer) {
    uint64_t entry;
    while (merge->count > 0) {
        if (!smallest_of(merge, &entry) || !level_writer_put(writer, entry)) return false;
    }
    return true;
}

static bool write_level(struct published_cascade *cascade, unsigned target, const char *path) {
    struct published_shape shape = shape_of(cascade, target);
    struct merge merge = {0};
    struct level_writer *writer = level_writer_open(path, &shape);
    bool fine = writer != NULL && open_merge(cascade, target, &merge);
    bool is_oldest = true;
    for (unsigned level = target + 1; level < LEVELS; level++)
        is_oldest = is_oldest && cascade->lookups[level] == NULL;
    if (fine) {
        fine = shape.has_tombstones ? merge_cancelling(&merge, writer, is_oldest)
                                    : merge_plainly(&merge, writer);
    }
    int error = errno;
    for (unsigned i = 0; i < merge.count; i++)
        level_reader_close(merge.readers[i]);
    errno = error;
    if (writer != NULL && !level_writer_close(writer)) return false;
    errno = error;
    return fine;
}

/* Merges QF0 and all levels before the smallest empty one into that. */
static bool make_room(struct published_cascade *cascade) {
    unsigned target = 1;
    while (cascade->lookups[target] != NULL)
        target++;
    struct published_shape shape = shape_of(cascade, target);
    if (target == LEVELS - 1 || shape.quotient_bits >= cascade->options.fingerprint_bits) {
        errno = EOVERFLOW;
        return false;
    }
    char path[PATH_BYTES];
    path_of(cascade, target, path);
    if (!write_level(cascade, target, path)) return false;
    cascade->lookups[target] = level_lookup_open(path, &shape);
    if (cascade->lookups[target] == NULL) return false;
    published_quotient_clear(cascade->memory);
    for (unsigned level = 1; level < target; level++)
        drop_level(cascade, level);
    return true;
}

/* Operations. */

static bool insert_entry(struct published_cascade *cascade, uint64_t entry) {
    if (published_cascade_is_full(cascade) && !make_room(cascade)) return false;
    if (published_quotient_insert(cascade->memory, entry)) return true;
    /* The last cluster reached the end of the slots, which is as good as full. */
    return make_room(cascade) && published_quotient_insert(cascade->memory, entry);
}

static uint64_t fingerprint_of(const struct published_cascade *cascade, lethe_hash hash) {
    struct published_shape shape = shape_of(cascade, 0);
    return published_fingerprint(&shape, hash);
}

static uint64_t entry_of(const struct published_cascade *cascade, lethe_hash hash) {
    return fingerprint_of(cascade, hash) << cascade->options.has_tombstones;
}

void published_cascade_prefetch(const struct published_cascade *cascade, lethe_hash hash) {
    published_quotient_prefetch(cascade->memory, entry_of(cascade, hash));
}

bool published_cascade_insert(struct published_cascade *cascade, lethe_hash hash) {
    return insert_entry(cascade, entry_of(cascade, hash));
}

bool published_cascade_remove(struct published_cascade *cascade, lethe_hash hash) {
    if (!cascade->options.has_tombstones) {
        errno = ENOTSUP;
        return false;
    }
    uint64_t entry = fingerprint_of(cascade, hash) << 1;
    if (published_quotient_remove(cascade->memory, entry)) return true;
    return insert_entry(cascade, entry | 1);
}

bool published_cascade_test(struct published_cascade *cascade, lethe_hash hash, bool *is_present,
                            uint64_t *reads) {
    uint64_t fingerprint = fingerprint_of(cascade, hash);
    int64_t balance = published_quotient_balance(cascade->memory, fingerprint);
    for (unsigned level = 1; level < LEVELS; level++) {
        if (balance > 0 && !cascade->options.has_tombstones) break;
        if (cascade->lookups[level] == NULL) continue;
        int64_t more;
        if (!level_lookup_balance(cascade->lookups[level], fingerprint, &more, reads)) return false;
        balance += more;
    }
    *is_present = balance > 0;
    return true;
}

bool published_cascade_read(struct published_cascade *cascade, uint64_t random) {
    unsigned level = LEVELS - 1;
    while (level > 0 && cascade->lookups[level] == NULL)
        level--;
    errno = 0;
    return level > 0 && level_lookup_read(cascade->lookups[level], random);
}

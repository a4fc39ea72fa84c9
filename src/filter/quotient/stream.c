/* filter/quotient/stream.c - filters in the order of their fingerprints: reading through, merging,
 * building.
 *
 * IDEA    A filter decodes into ascending fingerprints a block at a time. Several are joined by a
 *         tree of two-way merges, each of which fills a small buffer from two others, and the
 *         result is appended to an empty table. Doubling and halving are merges of one.
 * I1      A fingerprint's copies go through the tree as they are. How often it is there beyond them
 *         is looked up at the end, in the counts of all filters that have some.
 * WHY     Buffers are in the first-level cache, tables are read and written once and in order. The
 *         merge of two has no branch that depends on the data: which one is smaller is a coin
 *         toss. */
#include <string.h>

#include "core/allocator.h"
#include "filter/quotient/quotient.h"

enum { BUFFER = 1024 };

/* Where fingerprints come from: a filter, or two others merged. */
struct stream {
    const lethe_quotient *filter; /* NULL for a merge */
    uint64_t block;               /* of the filter: the next one to decode */
    struct stream *left, *right;  /* of a merge */
    size_t at, size;              /* fingerprints[at..size) wait to be taken */
    uint64_t fingerprints[BUFFER + LETHE_QUOTIENT_MAX_HOMED];
};

static void refill(struct stream *stream);

static void refill_from_filter(struct stream *stream) {
    const struct lethe_quotient_table *table = &stream->filter->table;
    while (stream->size < BUFFER && stream->block < table->blocks) {
        stream->size += stream->filter->operations->decode(table, stream->block++,
                                                           stream->fingerprints + stream->size);
    }
}

static bool is_empty(struct stream *stream) {
    if (stream->at == stream->size) refill(stream);
    return stream->size == 0;
}

/* Takes all that fits from the one that is left. */
static void take_rest(struct stream *to, struct stream *from) {
    size_t count = from->size - from->at, room = BUFFER - to->size;
    if (count > room) count = room;
    memcpy(to->fingerprints + to->size, from->fingerprints + from->at, count * sizeof(uint64_t));
    to->size += count;
    from->at += count;
}

/* Two merges side by side, steps each: from a and b to out, and from c and d to out + steps.
 * Nothing here waits for a guess, only for the last comparison, and the two do not wait for each
 * other. */
static void merge_steps(const uint64_t *a, const uint64_t *b, const uint64_t *c, const uint64_t *d,
                        uint64_t *out, size_t steps) {
    for (size_t i = 0; i < steps; i++) {
        uint64_t first = *a, second = *b, third = *c, fourth = *d;
        size_t left = first <= second, upper = third <= fourth;
        out[i] = left ? first : second;
        out[i + steps] = upper ? third : fourth;
        a += left;
        b += 1 - left;
        c += upper;
        d += 1 - upper;
    }
}

/* How many of the first `taken` of a merge come from a; both have at least that many. */
static size_t share_of(const uint64_t *a, const uint64_t *b, size_t taken) {
    size_t low = 0, high = taken;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (a[middle] <= b[taken - middle - 1]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Merges as many as both have waiting, and as there is room for: then neither can run out before
 * the end, and its end need not be looked for. */
static void take_smaller(struct stream *to, struct stream *left, struct stream *right) {
    const uint64_t *a = left->fingerprints + left->at, *b = right->fingerprints + right->at;
    size_t in_a = left->size - left->at, in_b = right->size - right->at;
    size_t room = BUFFER - to->size, count = in_a < in_b ? in_a : in_b;
    if (count > room) count = room;
    uint64_t *out = to->fingerprints + to->size;
    if (count == 1) {
        out[0] = *a <= *b ? *a : *b;
    } else {
        count = count / 2 * 2;
        size_t half = share_of(a, b, count / 2);
        merge_steps(a, b, a + half, b + (count / 2 - half), out, count / 2);
    }
    size_t from_a = share_of(a, b, count);
    to->size += count;
    left->at += from_a;
    right->at += count - from_a;
}

static void refill_from_two(struct stream *stream) {
    while (stream->size < BUFFER) {
        bool no_left = is_empty(stream->left), no_right = is_empty(stream->right);
        if (no_left && no_right) return;
        if (no_left) {
            take_rest(stream, stream->right);
        } else if (no_right) {
            take_rest(stream, stream->left);
        } else {
            take_smaller(stream, stream->left, stream->right);
        }
    }
}

/* Fills the buffer, all of which was taken; it stays empty at the end. The depth of the tree is the
 * logarithm of the number of filters. */
static void refill(struct stream *stream) { /* NOLINT(misc-no-recursion) */
    stream->at = stream->size = 0;
    if (stream->filter != NULL) {
        refill_from_filter(stream);
    } else {
        refill_from_two(stream);
    }
}

/* Makes a tree over count filters of the streams from *next on; returns its root. */
static struct stream *plant(struct stream **next, /* NOLINT(misc-no-recursion) */
                            const lethe_quotient *const *filters, size_t count) {
    struct stream *stream = (*next)++;
    if (count == 1) {
        stream->filter = filters[0];
    } else {
        stream->left = plant(next, filters, count / 2);
        stream->right = plant(next, filters + count / 2, count - count / 2);
    }
    return stream;
}

/* A filter being built from a stream. */
struct build {
    lethe_quotient *out;
    const lethe_quotient *const *filters;
    size_t count;
    bool has_counts; /* some filter's side table is in use */
    struct lethe_quotient_builder builder;
};

/* One fingerprint with all its copies, of which there are two or more. Errors: LETHE_EFULL,
 * LETHE_ENOMEM. */
static lethe_status put_repeated(struct build *build, uint64_t fingerprint, size_t copies) {
    uint64_t total = copies;
    for (size_t i = 0; build->has_counts && i < build->count; i++) {
        uint64_t more = lethe_quotient_uncopied(&build->filters[i]->counts, fingerprint);
        if (more > UINT64_MAX - total) return LETHE_EFULL;
        total += more;
    }
    if (total > 2) {
        lethe_status status =
            lethe_quotient_counts_reserve(&build->out->counts, build->out->allocator);
        if (status != LETHE_OK) return status;
        lethe_quotient_counts_set(&build->out->counts, fingerprint, total);
    }
    return LETHE_OK;
}

/* Takes a look at each fingerprint that is there twice; none is there more often. */
static lethe_status settle_pairs(struct build *build, const uint64_t *fingerprints, size_t count) {
    lethe_status status = LETHE_OK;
    for (size_t i = 1; i < count && status == LETHE_OK; i++) {
        if (__builtin_expect(fingerprints[i] == fingerprints[i - 1], 0))
            status = put_repeated(build, fingerprints[i], 2);
    }
    return status;
}

/* Leaves at most two copies of each fingerprint, and notes how often those with more are there. All
 * copies of a fingerprint are here: drain saw to that. */
static lethe_status settle(struct build *build, uint64_t *fingerprints, size_t *count) {
    size_t kept = 0, thrice = 0;
    size_t repeated = build->out->operations->repeated(fingerprints, *count, &thrice);
    build->out->distinct += *count - repeated;
    if (repeated == 0) return LETHE_OK;
    if (thrice == 0)
        return build->has_counts ? settle_pairs(build, fingerprints, *count) : LETHE_OK;
    for (size_t i = 0; i < *count;) {
        size_t copies = 1;
        while (i + copies < *count && fingerprints[i + copies] == fingerprints[i])
            copies++;
        uint64_t fingerprint = fingerprints[i];
        lethe_status status = copies > 1 ? put_repeated(build, fingerprint, copies) : LETHE_OK;
        if (status != LETHE_OK) return status;
        fingerprints[kept++] = fingerprint;
        if (copies > 1) fingerprints[kept++] = fingerprint;
        i += copies;
    }
    *count = kept;
    return LETHE_OK;
}

static lethe_status append(struct build *build, uint64_t *fingerprints, size_t count) {
    lethe_status status = settle(build, fingerprints, &count);
    if (status != LETHE_OK) return status;
    build->out->operations->append(&build->builder, fingerprints, count);
    build->out->slots_used += count;
    return build->builder.is_crowded ? LETHE_EFULL : LETHE_OK;
}

/* The last fingerprint of a buffer may have more copies in the next one, so all of its copies wait
 * there. There are at most two of each filter, of which `waiting` has room for. */
static lethe_status drain(struct build *build, struct stream *stream, uint64_t *waiting) {
    size_t held = 0;
    lethe_status status = LETHE_OK;
    while (status == LETHE_OK && !is_empty(stream)) {
        uint64_t *first = stream->fingerprints + stream->at;
        size_t count = stream->size - stream->at, tail = 1;
        stream->at = stream->size;
        if (held > 0 && first[0] != waiting[0]) {
            status = append(build, waiting, held);
            held = 0;
        }
        while (tail < count && first[count - tail - 1] == first[count - 1])
            tail++;
        if (held > 0 && tail < count) {
            size_t same = 0;
            while (first[same] == waiting[0])
                waiting[held++] = first[same++];
            status = append(build, waiting, held);
            held = 0;
            first += same;
            count -= same;
        }
        if (status == LETHE_OK && count > tail) status = append(build, first, count - tail);
        memcpy(waiting + held, first + count - tail, tail * sizeof *waiting);
        held += tail;
    }
    if (status == LETHE_OK && held > 0) status = append(build, waiting, held);
    return status;
}

static lethe_status build_all(struct build *build, const lethe_allocator *allocator) {
    size_t streams_bytes, waiting_bytes;
    if (!lethe_size_multiply(2 * (uint64_t)build->count - 1, sizeof(struct stream),
                             &streams_bytes) ||
        !lethe_size_multiply(2 * (uint64_t)build->count, sizeof(uint64_t), &waiting_bytes))
        return LETHE_ENOMEM;
    struct stream *streams = lethe_alloc_zeroed(allocator, streams_bytes);
    uint64_t *waiting = lethe_alloc_zeroed(allocator, waiting_bytes);
    lethe_status status = LETHE_ENOMEM;
    if (streams != NULL && waiting != NULL) {
        struct stream *next = streams;
        status = drain(build, plant(&next, build->filters, build->count), waiting);
    }
    if (status == LETHE_OK) build->out->operations->finish(&build->builder);
    lethe_release(allocator, waiting, waiting_bytes);
    lethe_release(allocator, streams, streams_bytes);
    return status;
}

lethe_status lethe_quotient_rebuild(const lethe_quotient *const *filters, size_t count,
                                    const lethe_quotient_shape *shape,
                                    const lethe_allocator *allocator, lethe_quotient **out) {
    lethe_status status = lethe_quotient_from_shape(shape, allocator, true, out);
    if (status != LETHE_OK) return status;
    struct build build = {.out = *out, .filters = filters, .count = count};
    build.builder.table = &build.out->table;
    for (size_t i = 0; i < count; i++) {
        build.has_counts |= filters[i]->counts.used != 0;
        build.out->total = lethe_quotient_sum(build.out->total, filters[i]->total);
    }
    status = build_all(&build, allocator);
    if (status == LETHE_OK && build.out->slots_used > build.out->limit) status = LETHE_EFULL;
    if (status != LETHE_OK) {
        lethe_quotient_free(build.out);
        *out = NULL;
    }
    return status;
}

/* The first one's shape, doubled until all would fill at most 90% of it, or as far as that goes. */
static lethe_quotient_shape shape_for(const lethe_quotient *const *filters, size_t count) {
    uint64_t used = 0;
    for (size_t i = 0; i < count; i++)
        used = lethe_quotient_sum(used, filters[i]->slots_used);
    lethe_quotient_shape shape = filters[0]->shape;
    while (shape.slots - shape.slots / 10 < used && shape.remainder_bits > 1 &&
           shape.slots <= LETHE_QUOTIENT_MAX_SLOTS / 2)
        shape = lethe_quotient_doubled(&shape);
    return shape;
}

lethe_status lethe_quotient_new_merged(const lethe_quotient *const *filters, size_t count,
                                       lethe_quotient **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (filters == NULL || count == 0) return LETHE_EINVAL;
    for (size_t i = 0; i < count; i++)
        if (filters[i] == NULL) return LETHE_EINVAL;
    for (size_t i = 1; i < count; i++) {
        if (filters[i]->shape.seed != filters[0]->shape.seed ||
            filters[i]->max_fingerprint != filters[0]->max_fingerprint)
            return LETHE_EMISMATCH;
    }
    lethe_quotient_shape shape = shape_for(filters, count);
    return lethe_quotient_rebuild(filters, count, &shape, filters[0]->allocator, out);
}

lethe_quotient_cursor lethe_quotient_seek(const lethe_quotient *filter, uint64_t from) {
    if (filter == NULL) return (lethe_quotient_cursor){0};
    lethe_quotient_cursor cursor = {.filter = filter, .block = filter->table.blocks};
    if (from > filter->max_fingerprint) return cursor;
    cursor.block = (from >> filter->table.bits) / LETHE_QUOTIENT_BLOCK;
    uint64_t fingerprints[LETHE_QUOTIENT_MAX_HOMED];
    size_t count = filter->operations->decode(&filter->table, cursor.block, fingerprints);
    while (cursor.skip < count && fingerprints[cursor.skip] < from)
        cursor.skip++;
    return cursor;
}

size_t lethe_quotient_next(lethe_quotient_cursor *cursor, lethe_quotient_entry *entries,
                           size_t room) {
    if (cursor == NULL || cursor->filter == NULL || entries == NULL) return 0;
    const lethe_quotient *filter = cursor->filter;
    uint64_t fingerprints[LETHE_QUOTIENT_MAX_HOMED];
    size_t filled = 0;
    while (filled < room && cursor->block < filter->table.blocks) {
        size_t count = filter->operations->decode(&filter->table, cursor->block, fingerprints);
        size_t i = cursor->skip;
        while (i < count && filled < room) {
            uint64_t fingerprint = fingerprints[i++];
            uint64_t times = 1;
            if (i < count && fingerprints[i] == fingerprint) {
                times = 2 + lethe_quotient_uncopied(&filter->counts, fingerprint);
                i++;
            }
            entries[filled++] = (lethe_quotient_entry){fingerprint, times};
        }
        cursor->skip = i;
        if (i == count) {
            cursor->block++;
            cursor->skip = 0;
        }
    }
    return filled;
}

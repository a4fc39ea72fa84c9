/* filter/cascade/stream.c - reading runs and tables in order, and merging them.
 *
 * IDEA    A merge of many is a tree of merges of two, each a loop over blocks that are in the
 *         cache. The loop has no branch that depends on which word is smaller: only equal
 *         fingerprints, which are rare, and words with values leave it.
 * I1      The words that come out ascend strictly by fingerprint.
 * I2      When two streams are merged, the newer one's words came later, so its removals cancel the
 *         older one's.
 * WHY     Random words make a branch on their order mispredict half of the time, and that costs
 *         more than the rest of a merge. */
#include "filter/cascade/stream.h"

#include <string.h>

#include "core/allocator.h"

enum { BLOCK = LETHE_CASCADE_PAGE_ENTRIES, PAGE = LETHE_CASCADE_PAGE_BYTES };

static struct lethe_cascade_stream *make_stream(const struct lethe_cascade_frame *frame) {
    struct lethe_cascade_stream *stream = lethe_alloc_zeroed(frame->allocator, sizeof *stream);
    if (stream == NULL) return NULL;
    stream->frame = frame;
    stream->words = lethe_alloc_zeroed(frame->allocator, BLOCK * sizeof *stream->words);
    stream->values = lethe_alloc_zeroed(frame->allocator, BLOCK * sizeof *stream->values);
    if (stream->words == NULL || stream->values == NULL) {
        lethe_cascade_stream_free(stream);
        return NULL;
    }
    return stream;
}

void lethe_cascade_stream_free(struct lethe_cascade_stream *stream) {
    if (stream == NULL) return;
    const lethe_allocator *allocator = stream->frame->allocator;
    lethe_cascade_stream_free(stream->newer); /* a tree is as high as a level has runs */
    lethe_cascade_stream_free(stream->older);
    lethe_release(allocator, stream->words, BLOCK * sizeof *stream->words);
    lethe_release(allocator, stream->values, BLOCK * sizeof *stream->values);
    lethe_release(allocator, stream->which, BLOCK * sizeof *stream->which);
    lethe_release(allocator, stream->memory, stream->frame->buffer_bytes + PAGE);
    lethe_release(allocator, stream, sizeof *stream);
}

lethe_status lethe_cascade_stream_of_table(const struct lethe_cascade_frame *frame,
                                           const struct lethe_cascade_table *table,
                                           struct lethe_cascade_stream **out) {
    *out = make_stream(frame);
    if (*out == NULL) return LETHE_ENOMEM;
    (*out)->table = table;
    return LETHE_OK;
}

lethe_status lethe_cascade_stream_of_run(const struct lethe_cascade_frame *frame,
                                         struct lethe_cascade_run *run,
                                         struct lethe_cascade_stream **out) {
    *out = NULL;
    struct lethe_cascade_stream *stream = make_stream(frame);
    if (stream == NULL) return LETHE_ENOMEM;
    stream->run = run;
    stream->which = lethe_alloc_zeroed(frame->allocator, BLOCK * sizeof *stream->which);
    stream->memory = lethe_alloc_zeroed(frame->allocator, frame->buffer_bytes + PAGE);
    if (stream->which == NULL || stream->memory == NULL) {
        lethe_cascade_stream_free(stream);
        return LETHE_ENOMEM;
    }
    stream->buffer = stream->memory + (PAGE - (uintptr_t)stream->memory % PAGE) % PAGE;
    *out = stream;
    return LETHE_OK;
}

lethe_status lethe_cascade_stream_merge(const struct lethe_cascade_frame *frame,
                                        struct lethe_cascade_stream *newer,
                                        struct lethe_cascade_stream *older,
                                        struct lethe_cascade_stream **out) {
    *out = make_stream(frame);
    if (*out == NULL) {
        lethe_cascade_stream_free(newer);
        lethe_cascade_stream_free(older);
        return LETHE_ENOMEM;
    }
    (*out)->newer = newer;
    (*out)->older = older;
    return LETHE_OK;
}

/* Counts tags from the merge's first period instead of first, and drops what is too old. */
static void adjust_ages(struct lethe_cascade_stream *stream, uint64_t first) {
    const struct lethe_cascade_frame *frame = stream->frame;
    uint64_t mask = (UINT64_C(1) << LETHE_CASCADE_AGE_TAG_BITS) - 1;
    size_t kept = 0;
    for (size_t i = 0; i < stream->count; i++) {
        uint64_t word = stream->words[i], period = first + (word & mask);
        stream->words[kept] = (word & ~mask) + (period - frame->first_period);
        kept += period >= frame->oldest_period;
    }
    stream->count = kept;
}

static void fill_from_table(struct lethe_cascade_stream *stream) {
    do {
        stream->count = lethe_cascade_table_read(stream->table, &stream->slot, stream->words,
                                                 stream->values, BLOCK, &stream->value_count);
        if (stream->count == 0) return;
        if (lethe_cascade_has_ages(&stream->frame->words)) {
            adjust_ages(stream, stream->table->first_period);
        }
    } while (stream->count == 0);
}

/* The next page of the run, through the buffer. */
static lethe_status read_page(struct lethe_cascade_stream *stream, const unsigned char **out) {
    struct lethe_cascade_run *run = stream->run;
    if (stream->next_page >= stream->buffered_page + stream->buffered_pages) {
        uint64_t pages = stream->frame->buffer_bytes / PAGE;
        if (pages > run->facts.pages - stream->next_page) {
            pages = run->facts.pages - stream->next_page;
        }
        lethe_status status = lethe_os_block_read(&run->file, stream->next_page * PAGE,
                                                  stream->buffer, (size_t)pages * PAGE);
        if (status != LETHE_OK) return status;
        stream->buffered_page = stream->next_page;
        stream->buffered_pages = pages;
    }
    *out = stream->buffer + (stream->next_page - stream->buffered_page) * PAGE;
    return LETHE_OK;
}

/* Turns the numbers of a page into words. */
static lethe_status convert(struct lethe_cascade_stream *stream) {
    struct lethe_cascade_run *run = stream->run;
    unsigned tag_bits = stream->frame->words.tag_bits, age_bits = run->facts.age_bits;
    if (stream->words[stream->count - 1] >> (stream->frame->words.bits - tag_bits + age_bits) !=
        0) {
        return LETHE_ECORRUPT;
    }
    if (!lethe_cascade_has_ages(&stream->frame->words)) {
        for (size_t i = 0; i < stream->count; i++)
            stream->words[i] <<= 1;
        for (size_t i = 0; i < stream->value_count; i++)
            stream->words[stream->which[i]] |= 1;
        return LETHE_OK;
    }
    if (stream->value_count > 0) return LETHE_ECORRUPT;
    uint64_t mask = (UINT64_C(1) << age_bits) - 1;
    for (size_t i = 0; i < stream->count; i++)
        stream->words[i] = stream->words[i] >> age_bits << tag_bits | (stream->words[i] & mask);
    adjust_ages(stream, run->facts.first_period);
    return LETHE_OK;
}

static lethe_status read_block(struct lethe_cascade_stream *stream) {
    struct lethe_cascade_run *run = stream->run;
    do {
        stream->count = stream->value_count = 0;
        if (stream->next_page == run->facts.pages) return LETHE_OK;
        const unsigned char *data;
        lethe_status status = read_page(stream, &data);
        if (status != LETHE_OK) return status;
        uint64_t seed =
            lethe_cascade_page_seed(stream->frame->identity, run->facts.id, stream->next_page);
        struct lethe_cascade_page page;
        status = lethe_cascade_page_open(data, seed, &page);
        if (status != LETHE_OK) return status;
        status = lethe_cascade_page_read(&page, stream->words, stream->which, stream->values);
        if (status != LETHE_OK) return status;
        if (page.base != run->fences[stream->next_page]) return LETHE_ECORRUPT;
        stream->next_page++;
        stream->count = page.count;
        stream->value_count = page.extra_count;
        if (stream->next_page < run->facts.pages &&
            stream->words[stream->count - 1] >= run->fences[stream->next_page]) {
            return LETHE_ECORRUPT;
        }
        status = convert(stream);
        if (status != LETHE_OK) return status;
    } while (stream->count == 0);
    return LETHE_OK;
}

static lethe_status fill_from_run(struct lethe_cascade_stream *stream) {
    lethe_status status = read_block(stream);
    stream->is_damaged = status != LETHE_OK;
    return status;
}

struct lethe_cascade_run *lethe_cascade_stream_damaged(const struct lethe_cascade_stream *stream) {
    if (stream == NULL) return NULL;
    if (stream->is_damaged) return stream->run;
    struct lethe_cascade_run *newer = lethe_cascade_stream_damaged(stream->newer);
    return newer != NULL ? newer : lethe_cascade_stream_damaged(stream->older);
}

/* Merges plain words of both, which have at least steps each, until equal fingerprints meet.
 * Returns how many came out. */
static size_t merge_plain(const uint64_t *a, const uint64_t *b, size_t *from_a, size_t *from_b,
                          uint64_t *out, size_t steps, unsigned tag_bits) {
    size_t i = 0, j = 0, k = 0;
    for (; k < steps; k++) {
        uint64_t x = a[i], y = b[j];
        if ((x ^ y) >> tag_bits == 0) break;
        size_t first = x < y;
        out[k] = first ? x : y;
        i += first;
        j += 1 - first;
    }
    *from_a = i;
    *from_b = j;
    return k;
}

static struct lethe_cascade_value take_value(struct lethe_cascade_stream *from, uint64_t word) {
    if ((word & 1) == 0) return (struct lethe_cascade_value){.added = 1};
    return from->values[from->value_at++];
}

static void put(struct lethe_cascade_stream *stream, uint64_t word,
                struct lethe_cascade_value value) {
    if (lethe_cascade_value_is_none(value)) return;
    bool is_plain = lethe_cascade_value_is_one(value);
    stream->words[stream->count++] = (word & ~UINT64_C(1)) | !is_plain;
    if (!is_plain) stream->values[stream->value_count++] = value;
}

/* One word of either, or of both when their fingerprints are equal. */
static void merge_one(struct lethe_cascade_stream *stream) {
    struct lethe_cascade_stream *newer = stream->newer, *older = stream->older;
    uint64_t x = newer->words[newer->at], y = older->words[older->at];
    bool equal = (x ^ y) >> stream->frame->words.tag_bits == 0;
    newer->at += equal || x < y;
    older->at += equal || y < x;
    if (lethe_cascade_has_ages(&stream->frame->words)) {
        stream->words[stream->count++] = equal ? (x > y ? x : y) : (x < y ? x : y);
    } else if (equal) {
        struct lethe_cascade_value late = take_value(newer, x), early = take_value(older, y);
        put(stream, x, lethe_cascade_compose(late, early));
    } else if (x < y) {
        put(stream, x, take_value(newer, x));
    } else {
        put(stream, y, take_value(older, y));
    }
}

/* Merges until one block is used up or the room is. */
static void merge_blocks(struct lethe_cascade_stream *stream) {
    struct lethe_cascade_stream *newer = stream->newer, *older = stream->older;
    while (stream->count < BLOCK && newer->at < newer->count && older->at < older->count) {
        size_t steps = BLOCK - stream->count;
        if (steps > newer->count - newer->at) steps = newer->count - newer->at;
        if (steps > older->count - older->at) steps = older->count - older->at;
        bool has_values =
            newer->value_at < newer->value_count || older->value_at < older->value_count;
        if (!has_values) {
            size_t from_newer, from_older;
            size_t merged = merge_plain(newer->words + newer->at, older->words + older->at,
                                        &from_newer, &from_older, stream->words + stream->count,
                                        steps, stream->frame->words.tag_bits);
            stream->count += merged;
            newer->at += from_newer;
            older->at += from_older;
            if (merged == steps) continue;
        }
        merge_one(stream);
    }
}

/* Copies what is left of a block when the other stream has ended. */
static void copy_block(struct lethe_cascade_stream *stream, struct lethe_cascade_stream *from) {
    size_t count = from->count - from->at;
    memcpy(stream->words, from->words + from->at, count * sizeof *stream->words);
    stream->count = count;
    stream->value_count = from->value_count - from->value_at;
    if (stream->value_count > 0) {
        memcpy(stream->values, from->values + from->value_at,
               stream->value_count * sizeof *stream->values);
    }
    from->at = from->count;
    from->value_at = from->value_count;
}

static lethe_status fill_from_both(struct lethe_cascade_stream *stream) {
    stream->count = stream->value_count = 0;
    while (stream->count < BLOCK) {
        struct lethe_cascade_stream *sides[] = {stream->newer, stream->older};
        for (int i = 0; i < 2; i++) {
            if (sides[i]->at < sides[i]->count) continue;
            lethe_status status = lethe_cascade_stream_fill(sides[i]);
            if (status != LETHE_OK) return status;
        }
        bool newer_ended = stream->newer->count == 0, older_ended = stream->older->count == 0;
        if (newer_ended || older_ended) {
            if (stream->count == 0) copy_block(stream, newer_ended ? stream->older : stream->newer);
            return LETHE_OK;
        }
        merge_blocks(stream);
    }
    return LETHE_OK;
}

lethe_status lethe_cascade_stream_fill(struct lethe_cascade_stream *stream) {
    stream->at = stream->value_at = 0;
    if (stream->newer != NULL) return fill_from_both(stream);
    if (stream->run != NULL) return fill_from_run(stream);
    fill_from_table(stream);
    return LETHE_OK;
}

/* filter/cascade/stream.h - words in ascending order, a block at a time: from a table, from a run,
 * or merged of two streams. */
#ifndef LETHE_CASCADE_STREAM_H
#define LETHE_CASCADE_STREAM_H

#include "filter/cascade/run.h"
#include "filter/cascade/table.h"

/* What all streams of a merge have in common. */
struct lethe_cascade_frame {
    struct lethe_cascade_words words;
    const lethe_allocator *allocator;
    uint64_t identity;
    uint64_t first_period;  /* what the tags of the words that come out are counted from */
    uint64_t oldest_period; /* entries of earlier ones are dropped; at least first_period */
    size_t buffer_bytes;    /* that a run is read by; a multiple of a page */
};

/* A block of words. Without ages, words whose lowest bit is set have a value, in their order; the
 * others stand for one insertion. */
struct lethe_cascade_stream {
    uint64_t *words;
    size_t count, at; /* words[at..count) are still to be taken */
    struct lethe_cascade_value *values;
    size_t value_count, value_at;

    const struct lethe_cascade_frame *frame;
    const struct lethe_cascade_table *table;
    uint64_t slot;
    struct lethe_cascade_run *run;
    unsigned char *memory, *buffer;
    uint64_t next_page, buffered_page, buffered_pages;
    bool is_damaged; /* the run could not be read on */
    uint16_t *which;
    struct lethe_cascade_stream *newer, *older; /* owned */
};

/* Each makes a stream that owns only what is said. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_cascade_stream_of_table(const struct lethe_cascade_frame *frame,
                                                            const struct lethe_cascade_table *table,
                                                            struct lethe_cascade_stream **out);
LETHE_MUST_CHECK lethe_status lethe_cascade_stream_of_run(const struct lethe_cascade_frame *frame,
                                                          struct lethe_cascade_run *run,
                                                          struct lethe_cascade_stream **out);
/* Owns both streams, also when it fails. */
LETHE_MUST_CHECK lethe_status lethe_cascade_stream_merge(const struct lethe_cascade_frame *frame,
                                                         struct lethe_cascade_stream *newer,
                                                         struct lethe_cascade_stream *older,
                                                         struct lethe_cascade_stream **out);
/* Takes NULL. */
void lethe_cascade_stream_free(struct lethe_cascade_stream *stream);

/* The run that a failed fill could not read, or NULL where something else was wrong. Takes NULL. */
struct lethe_cascade_run *lethe_cascade_stream_damaged(const struct lethe_cascade_stream *stream);

/* Reads the next block; count stays 0 at the end. Errors: LETHE_ECORRUPT, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_cascade_stream_fill(struct lethe_cascade_stream *stream);

#endif

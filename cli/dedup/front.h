/* dedup/front.h - reads lines and hashes them in a thread of its own, ahead of who asks about them.
 *
 * Guarantee  Chunks come in the order of the input, each of one input, and as soon as reading has
 *            to wait.
 * Memory     FRONT_CHUNKS chunks; each is a share of what was given, or one batch of long lines.
 * Threads    Two: one reads, one takes the chunks. The reader of lines belongs to the first until
 *            front_end returns. */
#ifndef LETHE_CLI_DEDUP_FRONT_H
#define LETHE_CLI_DEDUP_FRONT_H

#include <stdatomic.h>

#include "input/keys.h"

enum {
    FRONT_CHUNKS = 4,
    FRONT_MOST_LINES = 16384 /* so that a chunk stays in the processor's cache */
};

struct front_chunk {
    /* The lines, each with its line end; they belong to who takes the chunk. */
    char *text;
    size_t text_size, text_capacity;
    lethe_hash *hashes;
    /* With line ends. */
    uint32_t *sizes;
    size_t count;
    /* After the last of them. */
    struct line_place place;
    uint64_t lines_read, bytes_read;
};

struct front;

/* What is read, and how. */
struct front_work {
    struct line_reader *reader;
    const struct inputs *inputs;
    const struct key_fields *fields;
    uint64_t seed, memory_bytes;
    /* Becomes true when reading is to end at once: the reader stops on it. */
    atomic_bool *stop;
};

/* Makes one, which has nothing to do with the reader yet. NULL: there is no memory for it. */
struct front *front_new(const struct front_work *work);
/* After front_end, if it was started. Takes NULL. */
void front_free(struct front *front);

/* Starts reading. The reader is between two batches. False: there can be no thread. */
bool front_start(struct front *front);

/* Waits for the next chunk, and gives the one before back. NULL: there is none. */
struct front_chunk *front_next(struct front *front);
/* Asks to stop after what is read: front_next gives what there is. */
void front_pause(struct front *front);
/* Ends the thread; chunks that were not taken are lost. *paused: there may be more to read. Returns
 * EXIT_DONE, or what reading failed with. */
int front_end(struct front *front, bool *paused);

/* For the reading thread: hands over what it has, and waits until all is given back, or it has to
 * stop. */
void front_drain(struct front *front);

#endif

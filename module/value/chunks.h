/* module/value/chunks.h - a saved value as a row of pieces: chunks.c has the essay, and
 * docs/format/module.md every byte. */
#ifndef LETHE_MODULE_VALUE_CHUNKS_H
#define LETHE_MODULE_VALUE_CHUNKS_H

#include <lethe/lethe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHUNK_BYTES = 1 << 20, CHUNK_TRAILER_BYTES = 8 };

/* Pieces of a saved value, in order; each is a block of the server's allocator. {0} has none. */
struct chunks {
    char **data;
    size_t *sizes;
    size_t count, capacity;
    uint64_t bytes;
};

/* Takes over data. False when the piece can't follow, because the last one was not a full one; data
 * is then still the caller's. */
bool chunks_append(struct chunks *chunks, char *data, size_t size);
/* Copies the data; false also if memory is short. */
bool chunks_append_copy(struct chunks *chunks, const char *data, size_t size);
/* Releases the pieces; what is left is {0}. */
void chunks_drop(struct chunks *chunks);
/* Whether they end with the right checksum. */
bool chunks_are_whole(const struct chunks *chunks);

/* Reads the pieces from the beginning. */
struct chunk_reader {
    const struct chunks *chunks;
    size_t chunk, position;
    /* Bytes still to be read, without the checksum. */
    uint64_t left;
};
struct chunk_reader chunk_reader_at_start(const struct chunks *chunks);
lethe_source chunk_reader_source(struct chunk_reader *reader);

/* Takes one piece of a value that is being saved. */
typedef lethe_status chunk_emitter(void *context, const char *data, size_t size, bool is_last);

/* Cuts what is saved into pieces and hands each to emit. */
struct chunk_writer {
    chunk_emitter *emit;
    void *context;
    char *buffer;
    size_t used;
    uint64_t checksum;
};
/* Errors: LETHE_ENOMEM. */
lethe_status chunk_writer_begin(struct chunk_writer *writer, chunk_emitter *emit, void *context);
lethe_sink chunk_writer_sink(struct chunk_writer *writer);
/* Writes the checksum and the last piece if status is LETHE_OK, and releases the buffer. */
lethe_status chunk_writer_end(struct chunk_writer *writer, lethe_status status);

#endif

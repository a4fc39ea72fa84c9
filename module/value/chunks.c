/* module/value/chunks.c - a saved value as a row of pieces.
 *
 * LAYOUT  Snapshots, the log and DUMP carry a value as pieces of one mebibyte, so that nothing
 *         ever needs the whole of it in one string, and no string comes near the server's limit
 *         of 512 MB. All pieces except the last have exactly that size. The last ends with a
 *         checksum over everything before it: each piece is hashed with the hash of the one
 *         before as its seed.
 * WHY     A value is loaded from memory only, when all its pieces are there: so the loaders know
 *         how much data there really is, and no forged length makes them allocate more. */
#include "value/chunks.h"

#include <string.h>

#include "server/redis_api.h"

static bool reserve_one(struct chunks *chunks) {
    if (chunks->count < chunks->capacity) return true;
    size_t capacity = chunks->capacity == 0 ? 4 : 2 * chunks->capacity;
    chunks->data = redis.Realloc(chunks->data, capacity * sizeof *chunks->data);
    chunks->sizes = redis.Realloc(chunks->sizes, capacity * sizeof *chunks->sizes);
    chunks->capacity = capacity;
    return chunks->data != NULL && chunks->sizes != NULL;
}

bool chunks_append(struct chunks *chunks, char *data, size_t size) {
    if (size == 0 || size > CHUNK_BYTES + CHUNK_TRAILER_BYTES) return false;
    if (chunks->count > 0 && chunks->sizes[chunks->count - 1] != CHUNK_BYTES) return false;
    if (!reserve_one(chunks)) return false;
    chunks->data[chunks->count] = data;
    chunks->sizes[chunks->count++] = size;
    chunks->bytes += size;
    return true;
}

bool chunks_append_copy(struct chunks *chunks, const char *data, size_t size) {
    char *copy = redis.TryAlloc != NULL ? redis.TryAlloc(size) : redis.Alloc(size);
    if (copy == NULL) return false;
    memcpy(copy, data, size);
    if (chunks_append(chunks, copy, size)) return true;
    redis.Free(copy);
    return false;
}

void chunks_drop(struct chunks *chunks) {
    for (size_t i = 0; i < chunks->count; i++)
        redis.Free(chunks->data[i]);
    redis.Free(chunks->data);
    redis.Free(chunks->sizes);
    *chunks = (struct chunks){0};
}

static uint64_t add_to_checksum(uint64_t checksum, const char *data, size_t size) {
    return lethe_hash_bytes(checksum, data, size).low;
}

bool chunks_are_whole(const struct chunks *chunks) {
    if (chunks->count == 0) return false;
    size_t last = chunks->count - 1, size = chunks->sizes[last];
    if (size < CHUNK_TRAILER_BYTES) return false;
    uint64_t checksum = 0, stored;
    for (size_t i = 0; i < last; i++)
        checksum = add_to_checksum(checksum, chunks->data[i], chunks->sizes[i]);
    checksum = add_to_checksum(checksum, chunks->data[last], size - CHUNK_TRAILER_BYTES);
    memcpy(&stored, chunks->data[last] + size - CHUNK_TRAILER_BYTES, sizeof stored);
    return stored == checksum;
}

struct chunk_reader chunk_reader_at_start(const struct chunks *chunks) {
    return (struct chunk_reader){.chunks = chunks, .left = chunks->bytes - CHUNK_TRAILER_BYTES};
}

static lethe_status read_from_chunks(void *context, void *data, size_t size) {
    struct chunk_reader *reader = context;
    if (size > reader->left) return LETHE_ECORRUPT;
    reader->left -= size;
    char *out = data;
    while (size > 0) {
        size_t here = reader->chunks->sizes[reader->chunk] - reader->position;
        if (here > size) here = size;
        memcpy(out, reader->chunks->data[reader->chunk] + reader->position, here);
        out += here;
        size -= here;
        reader->position += here;
        if (reader->position == reader->chunks->sizes[reader->chunk]) {
            reader->chunk++;
            reader->position = 0;
        }
    }
    return LETHE_OK;
}

lethe_source chunk_reader_source(struct chunk_reader *reader) {
    return (lethe_source){.context = reader, .read = read_from_chunks, .size_bytes = reader->left};
}

lethe_status chunk_writer_begin(struct chunk_writer *writer, chunk_emitter *emit, void *context) {
    *writer = (struct chunk_writer){.emit = emit, .context = context};
    writer->buffer = redis.Alloc(CHUNK_BYTES + CHUNK_TRAILER_BYTES);
    return writer->buffer != NULL ? LETHE_OK : LETHE_ENOMEM;
}

static lethe_status write_to_chunks(void *context, const void *data, size_t size) {
    struct chunk_writer *writer = context;
    const char *from = data;
    while (size > 0) {
        /* A full piece waits until more comes: the last one also holds the checksum. */
        if (writer->used == CHUNK_BYTES) {
            writer->checksum = add_to_checksum(writer->checksum, writer->buffer, CHUNK_BYTES);
            lethe_status status = writer->emit(writer->context, writer->buffer, CHUNK_BYTES, false);
            if (status != LETHE_OK) return status;
            writer->used = 0;
        }
        size_t here = CHUNK_BYTES - writer->used;
        if (here > size) here = size;
        memcpy(writer->buffer + writer->used, from, here);
        writer->used += here;
        from += here;
        size -= here;
    }
    return LETHE_OK;
}

lethe_sink chunk_writer_sink(struct chunk_writer *writer) {
    return (lethe_sink){.context = writer, .write = write_to_chunks};
}

static lethe_status emit_last(struct chunk_writer *writer) {
    writer->checksum = add_to_checksum(writer->checksum, writer->buffer, writer->used);
    memcpy(writer->buffer + writer->used, &writer->checksum, CHUNK_TRAILER_BYTES);
    return writer->emit(writer->context, writer->buffer, writer->used + CHUNK_TRAILER_BYTES, true);
}

lethe_status chunk_writer_end(struct chunk_writer *writer, lethe_status status) {
    if (status == LETHE_OK) status = emit_last(writer);
    redis.Free(writer->buffer);
    writer->buffer = NULL;
    return status;
}

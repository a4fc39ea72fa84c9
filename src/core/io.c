/* core/io.c - the library's own sinks and sources: memory and files. */
#include "core/io.h"

#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "os/file.h"

static lethe_status read_memory(void *context, void *data, size_t size) {
    lethe_memory_reader *reader = context;
    if (size > reader->size - reader->position) return LETHE_ECORRUPT;
    memcpy(data, (const char *)reader->data + reader->position, size);
    reader->position += size;
    return LETHE_OK;
}

lethe_source lethe_source_from_memory(lethe_memory_reader *reader) {
    return (lethe_source){
        .context = reader, .read = read_memory, .size_bytes = reader->size - reader->position};
}

static lethe_status write_memory(void *context, const void *data, size_t size) {
    lethe_memory_writer *writer = context;
    if (size > writer->capacity - writer->size) {
        if (size > SIZE_MAX / 4 || writer->size > SIZE_MAX / 4) return LETHE_ENOMEM;
        size_t capacity = 2 * writer->capacity;
        if (capacity < writer->size + size) capacity = writer->size + size;
        void *grown = realloc(writer->data, capacity);
        if (grown == NULL) return LETHE_ENOMEM;
        writer->data = grown;
        writer->capacity = capacity;
    }
    memcpy((char *)writer->data + writer->size, data, size);
    writer->size += size;
    return LETHE_OK;
}

lethe_sink lethe_sink_to_memory(lethe_memory_writer *writer) {
    return (lethe_sink){.context = writer, .write = write_memory};
}

void lethe_memory_writer_free(lethe_memory_writer *writer) {
    free(writer->data);
    *writer = (lethe_memory_writer){0};
}

static lethe_status write_replacement(void *context, const void *data, size_t size) {
    return lethe_os_replace_write(context, data, size);
}

lethe_status lethe_replace_file(const char *path,
                                lethe_status (*save)(const void *object, lethe_sink sink),
                                const void *object, bool *is_in_place) {
    *is_in_place = false;
    lethe_os_replacement *replacement;
    lethe_status status = lethe_os_replace_begin(path, &replacement);
    if (status != LETHE_OK) return status;
    status = save(object, (lethe_sink){.context = replacement, .write = write_replacement});
    if (status != LETHE_OK) {
        lethe_os_replace_abort(replacement);
        return status;
    }
    return lethe_os_replace_commit(replacement, is_in_place);
}

lethe_status lethe_save_to_file(const char *path,
                                lethe_status (*save)(const void *object, lethe_sink sink),
                                const void *object) {
    bool is_in_place; /* a filter is one file: whoever is told of the error may save it again */
    return lethe_replace_file(path, save, object, &is_in_place);
}

static lethe_status read_file(void *context, void *data, size_t size) {
    return lethe_os_reader_read(context, data, size);
}

lethe_status lethe_load_from_file(const char *path,
                                  lethe_status (*load)(void *context, lethe_source source),
                                  void *context) {
    lethe_os_reader reader;
    lethe_status status = lethe_os_reader_open(path, &reader);
    if (status != LETHE_OK) return status;
    status = load(
        context,
        (lethe_source){.context = &reader, .read = read_file, .size_bytes = reader.size_bytes});
    lethe_os_reader_close(&reader);
    return status;
}

static lethe_status peek(void *context, lethe_source source) {
    unsigned char header[LETHE_FRAME_HEADER_BYTES];
    if (source.size_bytes < sizeof header) return LETHE_ECORRUPT;
    lethe_status status = source.read(source.context, header, sizeof header);
    if (status != LETHE_OK) return status;
    return lethe_frame_check_header(header, source.size_bytes, context);
}

lethe_status lethe_file_peek(const char *path, lethe_file_info *out) {
    *out = (lethe_file_info){0};
    return lethe_load_from_file(path, peek, out);
}

/* core/io.c - the library's own sinks and sources: memory and files. */
#include "core/io.h"

#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "core/detail.h"
#include "core/sized.h"
#include "os/file.h"

static lethe_status read_memory(void *context, void *data, size_t size) {
    lethe_memory_reader *reader = context;
    if (size > reader->size - reader->position) return LETHE_ECORRUPT;
    if (size == 0) return LETHE_OK;
    memcpy(data, (const char *)reader->data + reader->position, size);
    reader->position += size;
    return LETHE_OK;
}

lethe_source lethe_source_from_memory(lethe_memory_reader *reader) {
    bool is_usable = reader != NULL && reader->position <= reader->size &&
                     (reader->data != NULL || reader->size == 0);
    if (!is_usable) return (lethe_source){0};
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
    if (writer == NULL) return (lethe_sink){0};
    return (lethe_sink){.context = writer, .write = write_memory};
}

void lethe_memory_writer_free(lethe_memory_writer *writer) {
    if (writer == NULL) return;
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
    if (path == NULL || object == NULL) return LETHE_EINVAL;
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
                                const void *object, lethe_detail *detail) {
    bool is_in_place; /* an object is one file: after an error the caller may save it again */
    lethe_status status = lethe_replace_file(path, save, object, &is_in_place);
    return lethe_detail_of_file(detail, status, "write", path);
}

static lethe_status read_file(void *context, void *data, size_t size) {
    return lethe_os_reader_read(context, data, size);
}

lethe_status lethe_load_from_file(const char *path,
                                  lethe_status (*load)(void *context, lethe_source source),
                                  void *context, lethe_detail *detail) {
    lethe_os_reader reader;
    lethe_status status = path != NULL ? lethe_os_reader_open(path, &reader) : LETHE_EINVAL;
    if (status != LETHE_OK) return lethe_detail_of_file(detail, status, "read", path);
    status = load(
        context,
        (lethe_source){.context = &reader, .read = read_file, .size_bytes = reader.size_bytes});
    lethe_os_reader_close(&reader);
    return lethe_detail_of_file(detail, status, "read", path);
}

static lethe_status peek(void *context, lethe_source source) {
    unsigned char header[LETHE_FRAME_HEADER_BYTES];
    if (source.size_bytes < sizeof header) return LETHE_ECORRUPT;
    lethe_status status = source.read(source.context, header, sizeof header);
    if (status != LETHE_OK) return status;
    return lethe_frame_check_header(header, source.size_bytes, context);
}

lethe_status lethe_file_peek(const char *path, lethe_file_info *out, lethe_detail *detail) {
    lethe_file_info found = LETHE_INIT(lethe_file_info);
    lethe_status status = lethe_sized_check(out, LETHE_SIZE_WITH(&found, version));
    if (status != LETHE_OK) return status;
    lethe_status peeked = lethe_load_from_file(path, peek, &found, detail);
    status = LETHE_GIVE(&found, out, version);
    return peeked != LETHE_OK ? peeked : status;
}

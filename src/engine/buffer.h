/* engine/buffer.h - bytes that grow. */
#ifndef LETHE_ENGINE_BUFFER_H
#define LETHE_ENGINE_BUFFER_H

#include <stdbool.h>
#include <string.h>

#include "core/allocator.h"

typedef struct lethe_buffer {
    unsigned char *data;
    size_t size, capacity;
    const lethe_allocator *allocator;
} lethe_buffer;

static inline void lethe_buffer_free(lethe_buffer *buffer) {
    lethe_release(buffer->allocator, buffer->data, buffer->capacity);
    buffer->data = NULL;
    buffer->size = buffer->capacity = 0;
}

/* Makes room for more bytes after those that are there; false when there is no memory. */
static inline bool lethe_buffer_reserve(lethe_buffer *buffer, size_t more) {
    if (more <= buffer->capacity - buffer->size) return true;
    size_t capacity = buffer->capacity < 4096 ? 4096 : buffer->capacity;
    while (capacity - buffer->size < more) {
        if (capacity > SIZE_MAX / 4) return false;
        capacity *= 2;
    }
    unsigned char *data = lethe_alloc_zeroed(buffer->allocator, capacity);
    if (data == NULL) return false;
    if (buffer->size > 0) memcpy(data, buffer->data, buffer->size);
    lethe_release(buffer->allocator, buffer->data, buffer->capacity);
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

/* Appends what reserve made room for. */
static inline void lethe_buffer_append(lethe_buffer *buffer, const void *data, size_t size) {
    if (size == 0 || buffer->data == NULL) return;
    memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
}

#endif

/* simulation/module/bytes.c - bytes, commands and streams of them. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

void bytes_add(bytes *to, const void *data, size_t size) {
    if (to->size + size > to->room) {
        to->room = 2 * (to->size + size) + 64;
        to->data = realloc(to->data, to->room);
        if (to->data == NULL) abort();
    }
    if (size > 0) memcpy(to->data + to->size, data, size);
    to->size += size;
}

void bytes_free(bytes *these) {
    free(these->data);
    *these = (bytes){0};
}

bytes bytes_copy(bytes these) {
    bytes copy = {0};
    bytes_add(&copy, these.data, these.size);
    return copy;
}

command command_copy(const command *from) {
    command copy = {.count = from->count};
    for (int i = 0; i < from->count; i++) {
        copy.words[i] = bytes_copy(from->words[i]);
    }
    return copy;
}

void command_free(command *these) {
    for (int i = 0; i < these->count; i++) {
        bytes_free(&these->words[i]);
    }
    these->count = 0;
}

command command_of(const char *first, ...) {
    command made = {0};
    va_list more;
    va_start(more, first);
    for (const char *word = first; word != NULL; word = va_arg(more, const char *)) {
        bytes_add(&made.words[made.count++], word, strlen(word));
    }
    va_end(more);
    return made;
}

void stream_add(stream *to, const command *from) {
    if (to->count == to->room) {
        to->room = 2 * to->room + 16;
        to->commands = realloc(to->commands, to->room * sizeof *to->commands);
        if (to->commands == NULL) abort();
    }
    to->commands[to->count++] = command_copy(from);
}

void stream_cut(stream *these, size_t count) {
    while (these->count > count) {
        command_free(&these->commands[--these->count]);
    }
}

void stream_free(stream *these) {
    stream_cut(these, 0);
    free(these->commands);
    *these = (stream){0};
}

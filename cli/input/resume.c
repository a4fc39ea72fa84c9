/* resume.c - the bytes and names of marks.
 *
 * WHY     Different files may begin alike, with the same header, so a name alone settles nothing. A
 *         file that begins like a known one but continues otherwise gets a name with a number after
 *         it, and so takes no other mark away. */
#include "input/resume.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/little_endian.h"

enum { FIRST_VERSION = 1, VERSION = 2, FIRST_BYTES = 53 };

static const char name_prefix[] = "file-";

size_t resume_encode(const struct resume_mark *mark, unsigned char out[RESUME_VALUE_BYTES]) {
    unsigned char *at = put_number(out, mark->has_blocks ? VERSION : FIRST_VERSION, 1);
    if (mark->has_blocks) {
        at = put_number(at, mark->flags, 1);
    } else {
        at = put_number(put_number(at, resume_sample_size(mark->offset), 2),
                        resume_sample_size(mark->offset), 2);
    }
    at = put_number(put_number(at, mark->offset, 8), mark->line, 8);
    at = put_hash(put_hash(at, mark->head), mark->tail);
    if (!mark->has_blocks) return (size_t)(at - out);
    at = put_hash(at, mark->blocks);
    at = put_number(at, mark->file.identity, 8);
    at = put_number(put_number(at, mark->file.size, 8), mark->file.modified_ns, 8);
    size_t manner = strlen(mark->manner);
    at = put_number(at, manner, 2);
    memcpy(at, mark->manner, manner);
    return (size_t)(at - out) + manner;
}

static enum resume_problem decode_first(const unsigned char *at, struct resume_mark *mark) {
    uint64_t head_bytes = get_number(&at, 2), tail_bytes = get_number(&at, 2);
    mark->offset = get_number(&at, 8);
    mark->line = get_number(&at, 8);
    mark->head = get_hash(&at);
    mark->tail = get_hash(&at);
    uint64_t sample = resume_sample_size(mark->offset);
    bool is_sound = mark->offset > 0 && head_bytes == sample && tail_bytes == sample;
    return is_sound ? RESUME_FINE : RESUME_DAMAGED;
}

static enum resume_problem decode_second(const unsigned char *at, size_t left,
                                         struct resume_mark *mark, size_t *used) {
    mark->has_blocks = true;
    mark->flags = (unsigned)get_number(&at, 1);
    mark->offset = get_number(&at, 8);
    mark->line = get_number(&at, 8);
    mark->head = get_hash(&at);
    mark->tail = get_hash(&at);
    mark->blocks = get_hash(&at);
    mark->file.identity = get_number(&at, 8);
    mark->file.size = get_number(&at, 8);
    mark->file.modified_ns = get_number(&at, 8);
    size_t manner = (size_t)get_number(&at, 2);
    if (manner >= RESUME_MANNER_BYTES || manner > left || memchr(at, '\0', manner) != NULL) {
        return RESUME_DAMAGED;
    }
    memcpy(mark->manner, at, manner);
    *used += manner;
    return RESUME_FINE;
}

enum resume_problem resume_decode(lethe_bytes bytes, struct resume_mark *out, size_t *used) {
    const unsigned char *at = bytes.data;
    struct resume_mark mark = {0};
    if (bytes.size == 0 || *at == 0) return RESUME_DAMAGED;
    if (*at > VERSION) return RESUME_NEWER;
    *used = *at == FIRST_VERSION ? FIRST_BYTES : RESUME_FIXED_BYTES;
    if (bytes.size < *used) return RESUME_DAMAGED;
    enum resume_problem problem = *at == FIRST_VERSION
                                      ? decode_first(at + 1, &mark)
                                      : decode_second(at + 1, bytes.size - *used, &mark, used);
    if (problem == RESUME_FINE) *out = mark;
    return problem;
}

static struct resume_entry *find_name(const struct resume_table *table, const char *name) {
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->entries[i].name, name) == 0) return &table->entries[i];
    }
    return NULL;
}

static bool append(struct resume_table *table, const struct resume_entry *entry) {
    if (table->count == table->capacity) {
        size_t capacity = table->capacity == 0 ? 16 : 2 * table->capacity;
        struct resume_entry *larger = realloc(table->entries, capacity * sizeof *larger);
        if (larger == NULL) return false;
        table->entries = larger;
        table->capacity = capacity;
    }
    table->entries[table->count++] = *entry;
    return true;
}

bool resume_put(struct resume_table *table, const char *name, const struct resume_mark *mark) {
    struct resume_entry *known = find_name(table, name);
    if (known != NULL) {
        known->mark = *mark;
        return true;
    }
    struct resume_entry entry = {.mark = *mark};
    snprintf(entry.name, sizeof entry.name, "%s", name);
    return append(table, &entry);
}

bool resume_load(struct resume_table *table, lethe_bytes name, lethe_bytes value) {
    size_t prefix = sizeof name_prefix - 1, used = 0;
    if (name.size < prefix || memcmp(name.data, name_prefix, prefix) != 0) return true;
    struct resume_entry entry = {0};
    if (name.size >= sizeof entry.name || memchr(name.data, '\0', name.size) != NULL ||
        resume_decode(value, &entry.mark, &used) != RESUME_FINE || used != value.size ||
        entry.mark.offset == 0) {
        table->not_understood++;
        return true;
    }
    memcpy(entry.name, name.data, name.size);
    return append(table, &entry);
}

void resume_free(struct resume_table *table) {
    free(table->entries);
    *table = (struct resume_table){0};
}

bool resume_has_other_manner(const struct resume_table *table, const char *manner) {
    size_t others = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct resume_mark *mark = &table->entries[i].mark;
        others += mark->has_blocks && strcmp(mark->manner, manner) != 0;
    }
    return others > 0;
}

bool resume_same_place(const struct resume_mark *a, const struct resume_mark *b) {
    if (a->offset != b->offset || !resume_hash_equal(a->head, b->head) ||
        !resume_hash_equal(a->tail, b->tail)) {
        return false;
    }
    return !a->has_blocks || !b->has_blocks || resume_hash_equal(a->blocks, b->blocks);
}

void resume_new_name(const struct resume_table *table, const struct resume_mark *mark,
                     char out[RESUME_NAME_BYTES]) {
    snprintf(out, RESUME_NAME_BYTES, "%s%016" PRIx64 "%016" PRIx64, name_prefix, mark->head.high,
             mark->head.low);
    size_t length = strlen(out);
    unsigned long last = 0; /* the greatest number after this name; 1: it has none */
    for (size_t i = 0; i < table->count; i++) {
        const char *name = table->entries[i].name;
        if (strncmp(name, out, length) != 0) continue;
        unsigned long number = name[length] == '-' ? strtoul(name + length + 1, NULL, 10) : 1;
        if (number > last) last = number;
    }
    if (last > 0) snprintf(out + length, RESUME_NAME_BYTES - length, "-%lu", last + 1);
}

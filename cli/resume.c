/* resume.c - marks of how far files have been read.
 *
 * WHY     Two different files may begin alike (a common header), so a name alone settles nothing: a file is
 *         the one of a mark only if the bytes before the mark's place are the same too. A file that begins
 *         like a known one but goes on otherwise gets a name of its own, with a number behind it, and
 *         so takes nobody's mark away. */
#include "resume.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1 };

static const char name_prefix[] = "file-";

struct resume_mark resume_describe(uint64_t offset, uint64_t line, const void *head,
                                   const void *tail) {
    size_t sample = offset < RESUME_SAMPLE_BYTES ? (size_t)offset : RESUME_SAMPLE_BYTES;
    return (struct resume_mark){
        .head_bytes = (uint16_t)sample,
        .tail_bytes = (uint16_t)sample,
        .offset = offset,
        .line = line,
        .head = lethe_hash_bytes(LETHE_DEFAULT_SEED, head, sample),
        .tail = lethe_hash_bytes(LETHE_DEFAULT_SEED, tail, sample),
    };
}

static unsigned char *put(unsigned char *at, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        *at++ = (unsigned char)(value >> (8 * i));
    }
    return at;
}

static uint64_t get(const unsigned char **at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        value |= (uint64_t) * (*at)++ << (8 * i);
    }
    return value;
}

void resume_encode(const struct resume_mark *mark, unsigned char out[RESUME_VALUE_BYTES]) {
    unsigned char *at = put(out, VERSION, 1);
    at = put(at, mark->head_bytes, 2);
    at = put(at, mark->tail_bytes, 2);
    at = put(at, mark->offset, 8);
    at = put(at, mark->line, 8);
    at = put(at, mark->head.low, 8);
    at = put(at, mark->head.high, 8);
    at = put(at, mark->tail.low, 8);
    put(at, mark->tail.high, 8);
}

enum resume_problem resume_decode(lethe_bytes value, struct resume_mark *out) {
    const unsigned char *at = value.data;
    if (value.size == 0) return RESUME_DAMAGED;
    if (*at++ != VERSION) return RESUME_NEWER;
    if (value.size != RESUME_VALUE_BYTES) return RESUME_DAMAGED;
    struct resume_mark mark;
    mark.head_bytes = (uint16_t)get(&at, 2);
    mark.tail_bytes = (uint16_t)get(&at, 2);
    mark.offset = get(&at, 8);
    mark.line = get(&at, 8);
    mark.head.low = get(&at, 8);
    mark.head.high = get(&at, 8);
    mark.tail.low = get(&at, 8);
    mark.tail.high = get(&at, 8);
    uint64_t sample = mark.offset < RESUME_SAMPLE_BYTES ? mark.offset : RESUME_SAMPLE_BYTES;
    if (mark.offset == 0 || mark.head_bytes != sample || mark.tail_bytes != sample) {
        return RESUME_DAMAGED;
    }
    *out = mark;
    return RESUME_FINE;
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
    size_t prefix = sizeof name_prefix - 1;
    if (name.size < prefix || memcmp(name.data, name_prefix, prefix) != 0) return true;
    struct resume_entry entry = {0};
    if (name.size >= sizeof entry.name || memchr(name.data, '\0', name.size) != NULL ||
        resume_decode(value, &entry.mark) != RESUME_FINE) {
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

static bool equal(lethe_hash a, lethe_hash b) {
    return a.low == b.low && a.high == b.high;
}

const struct resume_entry *resume_candidate(const struct resume_table *table, const void *head,
                                            size_t size, uint64_t before) {
    const struct resume_entry *best = NULL;
    lethe_hash whole = lethe_hash_bytes(LETHE_DEFAULT_SEED, head, size);
    for (size_t i = 0; i < table->count; i++) {
        const struct resume_entry *entry = &table->entries[i];
        const struct resume_mark *mark = &entry->mark;
        if (mark->offset >= before || mark->head_bytes > size) continue;
        if (best != NULL && mark->offset <= best->mark.offset) continue;
        lethe_hash hash = mark->head_bytes == size
                              ? whole
                              : lethe_hash_bytes(LETHE_DEFAULT_SEED, head, mark->head_bytes);
        if (equal(hash, mark->head)) best = entry;
    }
    return best;
}

bool resume_tail_matches(const struct resume_mark *mark, const void *tail) {
    return equal(lethe_hash_bytes(LETHE_DEFAULT_SEED, tail, mark->tail_bytes), mark->tail);
}

void resume_new_name(const struct resume_table *table, const struct resume_mark *mark,
                     char out[RESUME_NAME_BYTES]) {
    snprintf(out, RESUME_NAME_BYTES, "%s%016" PRIx64 "%016" PRIx64, name_prefix, mark->head.high,
             mark->head.low);
    size_t length = strlen(out);
    for (unsigned number = 2; find_name(table, out) != NULL; number++) {
        snprintf(out + length, RESUME_NAME_BYTES - length, "-%u", number);
    }
}

/* resume.h - going on where the last run stopped reading a file.
 *
 * A file is known by its content and not by its name: by a hash of how it begins and one of what lies just before
 * the place that was reached. So a file that has grown is read on from there, a file that was renamed by
 * log rotation as well, and one that was replaced or cut short is noticed.
 *
 * The counters' store keeps a mark for each file, durable in one step with the events before it. Its
 * name comes from how the file began when it was first seen, and stays while the file grows.
 *
 * All offsets are in the decompressed stream. */
#ifndef LETHE_CLI_RESUME_H
#define LETHE_CLI_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

enum {
    RESUME_SAMPLE_BYTES = 4096, /* of the beginning, and before the place: as many as there are */
    RESUME_NAME_BYTES = 64,
    RESUME_VALUE_BYTES = 53
};

struct resume_mark {
    uint16_t head_bytes, tail_bytes; /* hashed; at most RESUME_SAMPLE_BYTES */
    uint64_t offset;                 /* of the first byte that was not read */
    uint64_t line;                   /* lines before it */
    lethe_hash head, tail;
};

/* Describes a place: offset bytes were read, the first of them are at head, the last at tail. Each has
 * RESUME_SAMPLE_BYTES, or offset bytes if that is less. */
struct resume_mark resume_describe(uint64_t offset, uint64_t line, const void *head,
                                   const void *tail);

/* The bytes of a mark: version 1; head_bytes, tail_bytes (16 bits); offset, line, head and tail, low half first
 * (64 bits each); all little-endian. */
void resume_encode(const struct resume_mark *mark, unsigned char out[RESUME_VALUE_BYTES]);

enum resume_problem {
    RESUME_FINE = 0,
    RESUME_NEWER,  /* of a version that this program does not know */
    RESUME_DAMAGED /* of no version at all */
};
enum resume_problem resume_decode(lethe_bytes value, struct resume_mark *out);

/* The marks of a store. Zeroed, it is empty. */
struct resume_entry {
    char name[RESUME_NAME_BYTES];
    struct resume_mark mark;
};
struct resume_table {
    struct resume_entry *entries;
    size_t count, capacity;
    size_t not_understood; /* marks that were left out */
};

/* Takes in a mark of the store, if it is one of a file. Returns false when memory is short. */
bool resume_load(struct resume_table *table, lethe_bytes name, lethe_bytes value);

/* Stores a mark under its name, replacing what that name had. */
bool resume_put(struct resume_table *table, const char *name, const struct resume_mark *mark);
void resume_free(struct resume_table *table);

/* Finds marks of files that begin as this one does: the furthest that is nearer than before. head has size bytes,
 * RESUME_SAMPLE_BYTES or all that there are. NULL when there is no more. */
const struct resume_entry *resume_candidate(const struct resume_table *table, const void *head,
                                            size_t size, uint64_t before);

/* Whether the bytes just before the mark's place are what they were: tail has RESUME_SAMPLE_BYTES, or offset
 * bytes if that is less. */
bool resume_tail_matches(const struct resume_mark *mark, const void *tail);

/* Writes a name for the mark of a new file that no other has. */
void resume_new_name(const struct resume_table *table, const struct resume_mark *mark,
                     char out[RESUME_NAME_BYTES]);

#endif

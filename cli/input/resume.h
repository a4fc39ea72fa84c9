/* resume.h - marks: where the last run stopped reading a file.
 *
 * A file is known by its content, not by its name. A mark has three hashes: of the file's first
 * bytes, of the bytes just before the place that was reached, and of all that was read. So reading
 * continues there when the file has grown or was renamed by log rotation, and it is noticed when
 * the file was replaced or cut short. A file that is not compressed and has the same inode, the
 * same first bytes and the same bytes before the place is taken for the file of the mark at once.
 * For any other file the hash of all that was read decides.
 *
 * A store keeps one mark per file, durable in one step with the events before it. The name of a
 * mark comes from the file's first bytes when it was first seen, and stays while the file grows.
 * Another file that has all of the first one and more, such as tomorrow's export, continues from
 * that mark and gets its own.
 *
 * All offsets count decompressed bytes. */
#ifndef LETHE_CLI_INPUT_RESUME_H
#define LETHE_CLI_INPUT_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

enum {
    /* At the beginning, and before the place; fewer if there are fewer. */
    RESUME_SAMPLE_BYTES = 4096,
    RESUME_NAME_BYTES = 64,
    RESUME_MANNER_BYTES = 640,
    RESUME_FIXED_BYTES = 92,
    /* At most. */
    RESUME_VALUE_BYTES = RESUME_FIXED_BYTES + RESUME_MANNER_BYTES
};

/* How many bytes are hashed at either end of what is before an offset. */
static inline size_t resume_sample_size(uint64_t offset) {
    return offset < RESUME_SAMPLE_BYTES ? (size_t)offset : RESUME_SAMPLE_BYTES;
}

static inline bool resume_hash_equal(lethe_hash a, lethe_hash b) {
    return a.low == b.low && a.high == b.high;
}

/* The file that was read, as the system knows it. */
struct resume_file {
    /* From device, inode and time of birth. 0: not known; so are those of compressed files in marks
     * that an earlier version made. */
    uint64_t identity;
    /* When the mark was made. */
    uint64_t size, modified_ns;
};

enum {
    /* So far no event of the file was counted or a duplicate. */
    RESUME_UNTAKEN = 1,
    /* The place is inside a line that is too long to be read. */
    RESUME_INSIDE = 2,
    /* Of a file that is written: all that was written to it is before the place. */
    RESUME_CLOSED = 4
};

struct resume_mark {
    /* Of the first byte that was not read, and how many lines are before it. */
    uint64_t offset, line;
    /* Of RESUME_SAMPLE_BYTES, or of offset bytes if that is less. */
    lethe_hash head, tail;

    /* False: made by an earlier version, without what follows. */
    bool has_blocks;
    unsigned flags;
    /* Of all whole blocks of RESUME_SAMPLE_BYTES before the place (resume_track.h). */
    lethe_hash blocks;
    struct resume_file file;
    /* How the file was read: the options that say so. */
    char manner[RESUME_MANNER_BYTES];
};

/* Writes the bytes of a mark, and returns how many there are. Version 2: version and flags (8 bits
 * each); offset, line, head, tail and blocks, low half first, identity, size, modified_ns (64 bits
 * each); the size of the manner (16 bits), and the manner; all little-endian. Version 1 ends before
 * blocks, and instead of flags it has the sizes of head and tail (16 bits each). A mark without
 * blocks is written so. */
size_t resume_encode(const struct resume_mark *mark, unsigned char out[RESUME_VALUE_BYTES]);

enum resume_problem {
    RESUME_FINE = 0,
    RESUME_NEWER,  /* of a version that this program does not know */
    RESUME_DAMAGED /* of no version at all */
};
/* Takes a mark from the beginning of bytes; *used says how many it has. */
enum resume_problem resume_decode(lethe_bytes bytes, struct resume_mark *out, size_t *used);

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

/* Whether a file may have been read in another manner than this one. */
bool resume_has_other_manner(const struct resume_table *table, const char *manner);

/* Whether the two are the same place in the same content. Where one has no hash of all that was
 * read, its samples decide. */
bool resume_same_place(const struct resume_mark *a, const struct resume_mark *b);

/* Writes a name for the mark of a new file that no other has. */
void resume_new_name(const struct resume_table *table, const struct resume_mark *mark,
                     char out[RESUME_NAME_BYTES]);

#endif

/* resume.h - going on where the last run stopped reading a file.
 *
 * A file is known by its content and not by its name: by a hash of how it begins, one of what lies just before the
 * place that was reached, and one of all that was read. So a file that has grown is read on from there, a file that was renamed by
 * log rotation as well, and one that was replaced or cut short is noticed. What has the inode of the file that was read, begins as it did and
 * has the same before the place, is taken for it at once; of any other the hash of all that was read decides.
 *
 * The counters' store keeps a mark for each file, durable in one step with the events before it. Its
 * name comes from how the file began when it was first seen, and stays while the file grows. Another file that has all of
 * the first and more, such as tomorrow's export, goes on from its mark and gets one of its own.
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
    RESUME_MANNER_BYTES = 640,
    RESUME_FIXED_BYTES = 92,
    RESUME_VALUE_BYTES = RESUME_FIXED_BYTES + RESUME_MANNER_BYTES /* at most */
};

/* The file that was read, as the system knows it. */
struct resume_file {
    uint64_t
        identity; /* of device, inode and time of birth; 0: not known, or the file was compressed */
    uint64_t size, modified_ns; /* when the mark was made */
};

enum {
    RESUME_UNTAKEN = 1, /* no event of the file was counted or a duplicate so far */
    RESUME_INSIDE = 2,  /* the place is inside a line that was rejected */
    RESUME_CLOSED =
        4 /* of a file that is written: all that was written to it is before the place */
};

struct resume_mark {
    uint64_t offset;       /* of the first byte that was not read */
    uint64_t line;         /* lines before it */
    lethe_hash head, tail; /* of RESUME_SAMPLE_BYTES, or offset bytes if that is less */
    bool has_blocks;       /* false: of an earlier version, without what follows */
    unsigned flags;
    lethe_hash
        blocks; /* of all whole blocks of RESUME_SAMPLE_BYTES before the place (resume_track.h) */
    struct resume_file file;
    char manner[RESUME_MANNER_BYTES]; /* how it was read: the options that say so */
};

/* The bytes of a mark; returns how many. Version 2: version and flags (8 bits each); offset, line, head, tail and blocks, low
 * half first, identity, size, modified_ns (64 bits each); the size of the manner (16 bits), and the manner; all
 * little-endian. Version 1 ends before blocks, and has in place of flags the sizes of head and tail (16 bits
 * each); a mark without blocks is written so. */
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

/* Whether the two are the same place in the same content. Where one has no hash of all that was read, its samples
 * decide. */
bool resume_same_place(const struct resume_mark *a, const struct resume_mark *b);

/* Writes a name for the mark of a new file that no other has. */
void resume_new_name(const struct resume_table *table, const struct resume_mark *mark,
                     char out[RESUME_NAME_BYTES]);

#endif

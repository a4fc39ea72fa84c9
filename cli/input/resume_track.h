/* resume_track.h - hashes the bytes that are read, so that any place among them can be marked.
 *
 * All that was read is hashed in blocks: each hash is made of the hash of all blocks before and
 * that of the next block. A place is described by the hash of the whole blocks before it and by its
 * tail, which reaches back beyond the last of them. So a later run can continue hashing from there
 * without reading what came before. */
#ifndef LETHE_CLI_INPUT_RESUME_TRACK_H
#define LETHE_CLI_INPUT_RESUME_TRACK_H

#include "input/resume.h"

struct resume_track {
    /* Bytes so far. */
    uint64_t offset;
    /* head: once there is a whole block. */
    lethe_hash head, blocks;
    /* The last whole block, and what came after it. */
    char recent[2 * RESUME_SAMPLE_BYTES];
};

void resume_track_start(struct resume_track *track);
/* The next bytes. Cost: a hash of them. */
void resume_track_feed(struct resume_track *track, const void *data, size_t size);

/* Continues from a mark that has blocks. tail has the bytes before its place, RESUME_SAMPLE_BYTES
 * or all. */
void resume_track_go_on(struct resume_track *track, const struct resume_mark *mark,
                        const void *tail);

/* The place reached; without manner, file and flags. */
struct resume_mark resume_track_mark(const struct resume_track *track, uint64_t line);

/* The byte before the place, of which there must be one. */
char resume_track_last(const struct resume_track *track);

#endif

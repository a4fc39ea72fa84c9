/* resume_track.h - follows the bytes that are read, to describe any place among them.
 *
 * All that was read is hashed in blocks, one hash made of that of all blocks before and that of the next. A place is described by that of
 * the whole blocks before it and by its tail, which reaches back beyond the last of them; so a later run can go on hashing from
 * there without reading what came before. */
#ifndef LETHE_CLI_RESUME_TRACK_H
#define LETHE_CLI_RESUME_TRACK_H

#include "resume.h"

struct resume_track {
    uint64_t offset;                      /* bytes so far */
    lethe_hash head, blocks;              /* head: once there is a whole block */
    char recent[2 * RESUME_SAMPLE_BYTES]; /* the last whole block, and what came behind it */
};

void resume_track_start(struct resume_track *track);
/* The next bytes. Cost: a hash of them. */
void resume_track_feed(struct resume_track *track, const void *data, size_t size);

/* Goes on from a mark that has blocks. tail has the bytes before its place, RESUME_SAMPLE_BYTES or all. */
void resume_track_go_on(struct resume_track *track, const struct resume_mark *mark,
                        const void *tail);

/* The place reached; without manner, file and flags. */
struct resume_mark resume_track_mark(const struct resume_track *track, uint64_t line);

/* The byte before the place, of which there must be one. */
char resume_track_last(const struct resume_track *track);

#endif

/* resume_track.c - hashes what is read; see resume_track.h.
 *
 * LAYOUT  recent: [the last whole block, if there is one][the bytes of the next: offset %
 *         RESUME_SAMPLE_BYTES] */
#include "input/resume_track.h"

#include <string.h>

#include "input/little_endian.h"

enum { BLOCK = RESUME_SAMPLE_BYTES };

static lethe_hash hash(const void *data, size_t size) {
    return lethe_hash_bytes(LETHE_DEFAULT_SEED, data, size);
}

/* How many bytes there are of the next block. */
static size_t begun(const struct resume_track *track) {
    return (size_t)(track->offset % BLOCK);
}

static const char *tail_of(const struct resume_track *track) {
    return track->recent + BLOCK + begun(track) - resume_sample_size(track->offset);
}

void resume_track_start(struct resume_track *track) {
    track->offset = 0;
    track->head = track->blocks = (lethe_hash){0};
}

static void add_block(struct resume_track *track, const void *block, bool is_first) {
    unsigned char both[32];
    lethe_hash next = hash(block, BLOCK);
    if (is_first) track->head = next;
    put_hash(put_hash(both, track->blocks), next);
    track->blocks = hash(both, sizeof both);
}

void resume_track_feed(struct resume_track *track, const void *data, size_t size) {
    const char *from = data;
    while (size > 0) {
        size_t before = begun(track), more = BLOCK - before;
        if (more > size) more = size;
        if (more < BLOCK) memcpy(track->recent + BLOCK + before, from, more);
        const char *block = more == BLOCK ? from : track->recent + BLOCK;
        bool is_whole = before + more == BLOCK, is_first = track->offset < BLOCK;
        track->offset += more;
        from += more;
        size -= more;
        if (!is_whole) return;
        add_block(track, block, is_first);
        /* Only the last one is ever looked back at. */
        if (size < BLOCK) memcpy(track->recent, block, BLOCK);
    }
}

void resume_track_go_on(struct resume_track *track, const struct resume_mark *mark,
                        const void *tail) {
    track->offset = mark->offset;
    track->head = mark->head;
    track->blocks = mark->blocks;
    size_t size = resume_sample_size(track->offset);
    memcpy(track->recent + BLOCK + begun(track) - size, tail, size);
}

struct resume_mark resume_track_mark(const struct resume_track *track, uint64_t line) {
    struct resume_mark mark = {.offset = track->offset,
                               .line = line,
                               .head = track->head,
                               .blocks = track->blocks,
                               .has_blocks = true};
    mark.tail = hash(tail_of(track), resume_sample_size(track->offset));
    if (track->offset < BLOCK) mark.head = mark.tail;
    return mark;
}

char resume_track_last(const struct resume_track *track) {
    return track->recent[BLOCK + begun(track) - 1];
}

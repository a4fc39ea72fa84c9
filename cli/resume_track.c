/* resume_track.c - hashes what is read; see resume_track.h.
 *
 * LAYOUT  recent: [the last whole block, if there is one][the bytes of the next: offset % RESUME_SAMPLE_BYTES] */
#include "resume_track.h"

#include <string.h>

enum { BLOCK = RESUME_SAMPLE_BYTES };

static lethe_hash hash(const void *data, size_t size) {
    return lethe_hash_bytes(LETHE_DEFAULT_SEED, data, size);
}

static size_t behind(const struct resume_track *track) {
    return (size_t)(track->offset % BLOCK);
}

/* What has been read, up to a block of it. */
static size_t tail_size(const struct resume_track *track) {
    return track->offset < BLOCK ? (size_t)track->offset : BLOCK;
}

static const char *tail_of(const struct resume_track *track) {
    return track->recent + BLOCK + behind(track) - tail_size(track);
}

void resume_track_start(struct resume_track *track) {
    track->offset = 0;
    track->head = track->blocks = (lethe_hash){0};
}

/* Numbers are little-endian, on whatever machine. */
static void put_hash(unsigned char *to, lethe_hash value) {
    for (int i = 0; i < 8; i++) {
        to[i] = (unsigned char)(value.low >> (8 * i));
        to[8 + i] = (unsigned char)(value.high >> (8 * i));
    }
}

static void add_block(struct resume_track *track, const void *block, bool is_first) {
    unsigned char both[32];
    lethe_hash next = hash(block, BLOCK);
    if (is_first) track->head = next;
    put_hash(both, track->blocks);
    put_hash(both + 16, next);
    track->blocks = hash(both, sizeof both);
}

void resume_track_feed(struct resume_track *track, const void *data, size_t size) {
    const char *from = data;
    while (size > 0) {
        size_t before = behind(track), more = BLOCK - before;
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
    size_t size = tail_size(track);
    memcpy(track->recent + BLOCK + behind(track) - size, tail, size);
}

struct resume_mark resume_track_mark(const struct resume_track *track, uint64_t line) {
    struct resume_mark mark = {.offset = track->offset,
                               .line = line,
                               .head = track->head,
                               .blocks = track->blocks,
                               .has_blocks = true};
    mark.tail = hash(tail_of(track), tail_size(track));
    if (track->offset < BLOCK) mark.head = mark.tail;
    return mark;
}

char resume_track_last(const struct resume_track *track) {
    return track->recent[BLOCK + behind(track) - 1];
}

/* resume_find.c - finds the mark of a file among those of files that begin alike.
 *
 * I1      A mark whose tail differs is of another file, and costs one read. If the file of the mark
 *         has the same inode and may only have grown since, it is taken for the same. Otherwise the
 *         file is read up to the mark, and the hash of all of that decides.
 * I2      Of several marks that fit, the furthest is taken: each is a place that was reached in the
 *         same content. */
#include "input/resume_find.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/interrupt.h"

enum { PIECE_BYTES = 1 << 20 };

static uint64_t nanoseconds(uint64_t seconds, uint64_t rest) {
    return seconds * UINT64_C(1000000000) + rest;
}

uint64_t resume_identify(uint64_t device, uint64_t inode, uint64_t born_ns) {
    const uint64_t words[3] = {device, inode, born_ns};
    return lethe_hash_bytes(LETHE_DEFAULT_SEED, words, sizeof words).low | 1;
}

uint64_t resume_identify_packed(uint64_t identity) {
    return lethe_hash_bytes(LETHE_DEFAULT_SEED, &identity, sizeof identity).low | 1;
}

bool resume_look(int descriptor, struct resume_file *out) {
    struct stat status;
    struct statx more;
    *out = (struct resume_file){0};
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    uint64_t born_ns = 0; /* where the file system does not know */
    if (statx(descriptor, "", AT_EMPTY_PATH, STATX_BTIME, &more) == 0 &&
        (more.stx_mask & STATX_BTIME) != 0) {
        born_ns = nanoseconds((uint64_t)more.stx_btime.tv_sec, more.stx_btime.tv_nsec);
    }
    out->identity = resume_identify(status.st_dev, status.st_ino, born_ns);
    out->size = (uint64_t)status.st_size;
    out->modified_ns =
        nanoseconds((uint64_t)status.st_mtim.tv_sec, (uint64_t)status.st_mtim.tv_nsec);
    return true;
}

bool resume_read_at(int descriptor, uint64_t offset, void *to, size_t size) {
    for (size_t got = 0; got < size;) {
        ssize_t more = pread(descriptor, (char *)to + got, size - got, (off_t)(offset + got));
        if (more <= 0) return false;
        got += (size_t)more;
    }
    return true;
}

static int compare_places(const void *a, const void *b) {
    const struct resume_entry *left = *(const struct resume_entry *const *)a;
    const struct resume_entry *right = *(const struct resume_entry *const *)b;
    if (left->mark.offset != right->mark.offset) {
        return left->mark.offset < right->mark.offset ? -1 : 1;
    }
    return strcmp(left->name, right->name);
}

struct resume_search resume_search_begin(const struct resume_table *table, const void *head,
                                         size_t size, uint64_t least) {
    struct resume_search search = {0};
    if (table->count == 0) return search;
    search.candidates = malloc(table->count * sizeof(const struct resume_entry *));
    search.is_short_of_memory = search.candidates == NULL;
    lethe_hash whole = lethe_hash_bytes(LETHE_DEFAULT_SEED, head, size);
    for (size_t i = 0; i < table->count && search.candidates != NULL; i++) {
        const struct resume_mark *mark = &table->entries[i].mark;
        size_t sample = resume_sample_size(mark->offset);
        if (mark->offset < least || sample > size) continue;
        lethe_hash hash =
            sample == size ? whole : lethe_hash_bytes(LETHE_DEFAULT_SEED, head, sample);
        if (resume_hash_equal(hash, mark->head))
            search.candidates[search.count++] = &table->entries[i];
    }
    if (search.count > 1) {
        qsort(search.candidates, search.count, sizeof(const struct resume_entry *), compare_places);
    }
    return search;
}

void resume_search_end(struct resume_search *search) {
    free(search->candidates);
    *search = (struct resume_search){0};
}

bool resume_has_tail(int descriptor, const struct resume_mark *mark) {
    char tail[RESUME_SAMPLE_BYTES];
    size_t size = resume_sample_size(mark->offset);
    return resume_read_at(descriptor, mark->offset - size, tail, size) &&
           resume_hash_equal(lethe_hash_bytes(LETHE_DEFAULT_SEED, tail, size), mark->tail);
}

/* Whether it is the file of the mark, and since then was only added to or not touched at all. */
static bool is_trusted(const struct resume_mark *mark, const struct resume_file *file) {
    return mark->has_blocks && mark->file.identity == file->identity && file->identity != 0 &&
           (file->size > mark->file.size ||
            (file->size == mark->file.size && file->modified_ns == mark->file.modified_ns));
}

/* Reads on to offset. */
static enum resume_answer read_through(int descriptor, uint64_t offset, char *piece,
                                       struct resume_track *track) {
    while (track->offset < offset) {
        if (interrupt_requested()) return RESUME_STOPPED;
        uint64_t left = offset - track->offset;
        size_t size = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        if (!resume_read_at(descriptor, track->offset, piece, size)) return RESUME_NONE;
        resume_track_feed(track, piece, size);
    }
    return RESUME_FOUND;
}

enum resume_answer resume_follow(int descriptor, uint64_t offset, struct resume_track *track) {
    char *piece = malloc(PIECE_BYTES);
    resume_track_start(track);
    enum resume_answer answer =
        piece != NULL ? read_through(descriptor, offset, piece, track) : RESUME_NONE;
    free(piece);
    return answer;
}

/* Compares the hash of all before each place. */
static enum resume_answer read_all(const struct resume_search *search, int descriptor, char *piece,
                                   const struct resume_entry **out) {
    static struct resume_track track;
    resume_track_start(&track);
    enum resume_answer answer = RESUME_FOUND;
    for (size_t i = 0; i < search->count && answer == RESUME_FOUND; i++) {
        const struct resume_entry *entry = search->candidates[i];
        answer = read_through(descriptor, entry->mark.offset, piece, &track);
        if (answer != RESUME_FOUND) break;
        struct resume_mark here = resume_track_mark(&track, 0);
        if (resume_same_place(&entry->mark, &here)) *out = entry;
    }
    if (answer == RESUME_STOPPED) return answer;
    return *out != NULL ? RESUME_FOUND : RESUME_NONE;
}

enum resume_answer resume_search_file(struct resume_search *search, int descriptor,
                                      const struct resume_entry **out) {
    struct resume_file file;
    size_t kept = 0;
    *out = NULL;
    if (!resume_look(descriptor, &file)) return RESUME_NONE;
    bool is_certain = true; /* the furthest that is left needs no reading */
    for (size_t i = 0; i < search->count; i++) {
        const struct resume_entry *entry = search->candidates[i];
        if (!resume_has_tail(descriptor, &entry->mark)) continue;
        search->candidates[kept++] = entry;
        is_certain = is_trusted(&entry->mark, &file) || !entry->mark.has_blocks;
    }
    search->count = kept;
    if (kept == 0) return RESUME_NONE;
    if (is_certain) {
        *out = search->candidates[kept - 1];
        return RESUME_FOUND;
    }
    char *piece = malloc(PIECE_BYTES);
    enum resume_answer answer =
        piece != NULL ? read_all(search, descriptor, piece, out) : RESUME_NONE;
    search->is_short_of_memory = piece == NULL;
    free(piece);
    return answer;
}

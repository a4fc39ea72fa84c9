/* paper/published_level.c - a published quotient filter in a file; see published_level.h.
 *
 * IDEA    A file is its slots, packed as in memory. Who goes through it in order has a window of it
 *         in a buffer, which begins no later than the cluster that is being read or written: the
 *         flag is_occupied of a quotient may be behind the slot where its run is.
 * LAYOUT  whole pages: the words of all slots, then zeros
 * LIMIT   A cluster longer than the buffer: EOVERFLOW. */
#include "paper/published_level.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "paper/published_slots.h"

enum {
    PAGE_WORDS = LEVEL_PAGE_BYTES / 8,
    BUFFER_WORDS = LEVEL_BUFFER_BYTES / 8,
    BUFFER_PAGES = BUFFER_WORDS / PAGE_WORDS,
    CACHED_PAGES = 4
};

static const uint64_t NO_PAGE = UINT64_MAX;

/* Past the page cache where the file system can. */
static int open_file(const char *path, int flags) {
    int descriptor = open(path, flags | O_CLOEXEC | O_DIRECT, 0666);
    if (descriptor < 0 && errno == EINVAL) descriptor = open(path, flags | O_CLOEXEC, 0666);
    return descriptor;
}

static uint64_t *new_pages(size_t bytes) {
    void *pages = NULL;
    errno = posix_memalign(&pages, LEVEL_PAGE_BYTES, bytes);
    if (errno != 0) return NULL;
    memset(pages, 0, bytes);
    return pages;
}

/* A slot may end in the word after the last of published_words. */
static uint64_t file_pages(const struct published_shape *shape) {
    return published_words(shape) / PAGE_WORDS + 1;
}

static bool transferred(ssize_t result, size_t wanted) {
    if (result >= 0 && (size_t)result != wanted) errno = EIO;
    return result == (ssize_t)wanted;
}

/* Writing. */

struct level_writer {
    struct published_shape shape;
    unsigned slot_bits;
    int descriptor;
    uint64_t base;  /* the page with which the buffer begins */
    uint64_t next;  /* slot */
    uint64_t slots; /* all */
    uint64_t last_quotient;
    bool has_last;
    uint64_t *words; /* BUFFER_WORDS, and a page for what a last slot has more */
};

struct level_writer *level_writer_open(const char *path, const struct published_shape *shape) {
    struct level_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) return NULL;
    writer->shape = *shape;
    writer->slot_bits = published_slot_bits(shape);
    writer->slots = published_slots(shape);
    writer->words = new_pages(LEVEL_BUFFER_BYTES + LEVEL_PAGE_BYTES);
    writer->descriptor = writer->words == NULL ? -1 : open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (writer->descriptor >= 0) return writer;
    free(writer->words);
    free(writer);
    return NULL;
}

/* Writes the buffer's first pages, those before the given one, and moves the others up. */
static bool write_before(struct level_writer *writer, uint64_t page) {
    uint64_t pages = page - writer->base < BUFFER_PAGES ? page - writer->base : BUFFER_PAGES;
    if (pages == 0) {
        errno = EOVERFLOW;
        return false;
    }
    size_t bytes = (size_t)pages * LEVEL_PAGE_BYTES;
    off_t offset = (off_t)(writer->base * LEVEL_PAGE_BYTES);
    if (!transferred(pwrite(writer->descriptor, writer->words, bytes, offset), bytes)) return false;
    size_t kept = LEVEL_BUFFER_BYTES + LEVEL_PAGE_BYTES - bytes;
    memmove(writer->words, (char *)writer->words + bytes, kept);
    memset((char *)writer->words + kept, 0, bytes);
    writer->base += pages;
    return true;
}

static uint64_t page_of(uint64_t slot, unsigned slot_bits) {
    return slot * slot_bits / 64 / PAGE_WORDS;
}

bool level_writer_put(struct level_writer *writer, uint64_t entry) {
    unsigned bits = value_bits(&writer->shape), slot_bits = writer->slot_bits;
    uint64_t quotient = entry >> bits;
    uint64_t at = quotient > writer->next ? quotient : writer->next;
    if (at + 1 >= writer->slots) {
        errno = EOVERFLOW;
        return false;
    }
    while (page_of(at, slot_bits) >= writer->base + BUFFER_PAGES) {
        if (!write_before(writer, page_of(quotient, slot_bits))) return false;
    }
    uint64_t flags = at != quotient ? SLOT_SHIFTED : 0;
    if (writer->has_last && writer->last_quotient == quotient) flags |= SLOT_CONTINUATION;
    uint64_t start = writer->base * PAGE_WORDS * 64;
    slot_store(writer->words, slot_bits, at * slot_bits - start,
               (entry & low_bits(bits)) << FLAG_BITS | flags);
    /* The lowest bit of a slot; the slot itself may be an earlier one. */
    uint64_t occupied = quotient * slot_bits - start;
    writer->words[occupied / 64] |= UINT64_C(1) << (occupied % 64);
    writer->next = at + 1;
    writer->last_quotient = quotient;
    writer->has_last = true;
    return true;
}

bool level_writer_close(struct level_writer *writer) {
    uint64_t end = file_pages(&writer->shape);
    bool fine = true;
    while (fine && writer->base < end)
        fine = write_before(writer, end);
    int error = errno;
    if (close(writer->descriptor) != 0 && fine) {
        error = errno;
        fine = false;
    }
    free(writer->words);
    free(writer);
    errno = error;
    return fine;
}

/* Reading in order. */

struct level_reader {
    struct published_shape shape;
    unsigned slot_bits;
    int descriptor;               /* -1: memory */
    uint64_t base, loaded, pages; /* the page with which the window begins, how many, of how many */
    uint64_t slots, complete;     /* all, and those before the end of the window */
    struct published_cursor cursor;
    const uint64_t *words;
    uint64_t *buffer;
};

static struct level_reader *new_reader(const struct published_shape *shape) {
    struct level_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) return NULL;
    reader->shape = *shape;
    reader->slot_bits = published_slot_bits(shape);
    reader->slots = published_slots(shape);
    reader->descriptor = -1;
    return reader;
}

struct level_reader *level_reader_of(const struct published_quotient *filter,
                                     const struct published_shape *shape) {
    struct level_reader *reader = new_reader(shape);
    if (reader == NULL) return NULL;
    reader->words = published_quotient_words(filter);
    reader->complete = reader->slots;
    return reader;
}

struct level_reader *level_reader_open(const char *path, const struct published_shape *shape) {
    struct level_reader *reader = new_reader(shape);
    if (reader == NULL) return NULL;
    reader->pages = file_pages(shape);
    reader->words = reader->buffer = new_pages(LEVEL_BUFFER_BYTES + LEVEL_PAGE_BYTES);
    if (reader->buffer != NULL) reader->descriptor = open_file(path, O_RDONLY);
    if (reader->descriptor >= 0) return reader;
    level_reader_close(reader);
    return NULL;
}

void level_reader_close(struct level_reader *reader) {
    if (reader == NULL) return;
    int error = errno;
    if (reader->descriptor >= 0) close(reader->descriptor);
    free(reader->buffer);
    free(reader);
    errno = error;
}

/* Moves the window on: it begins with the page of the cursor's quotient. */
static bool refill(struct level_reader *reader) {
    uint64_t first = page_of(reader->cursor.quotient, reader->slot_bits);
    uint64_t kept = reader->base + reader->loaded - first;
    if (reader->loaded == 0) kept = 0;
    if (kept == BUFFER_PAGES) {
        errno = EOVERFLOW;
        return false;
    }
    memmove(reader->buffer, reader->buffer + (first - reader->base) * PAGE_WORDS,
            (size_t)kept * LEVEL_PAGE_BYTES);
    uint64_t wanted = BUFFER_PAGES - kept, left = reader->pages - first - kept;
    if (wanted > left) wanted = left;
    size_t bytes = (size_t)wanted * LEVEL_PAGE_BYTES;
    if (!transferred(pread(reader->descriptor, reader->buffer + kept * PAGE_WORDS, bytes,
                           (off_t)((first + kept) * LEVEL_PAGE_BYTES)),
                     bytes)) {
        return false;
    }
    reader->base = first;
    reader->loaded = kept + wanted;
    reader->complete = (first + reader->loaded) * PAGE_WORDS * 64 / reader->slot_bits;
    if (reader->complete > reader->slots) reader->complete = reader->slots;
    return true;
}

static inline uint64_t word_of_window(void *context, uint64_t index) {
    const struct level_reader *reader = context;
    return reader->words[index - reader->base * PAGE_WORDS];
}

bool level_reader_next(struct level_reader *reader, uint64_t *entry) {
    for (;;) {
        if (cursor_next(word_of_window, reader, &reader->shape, reader->complete, &reader->cursor,
                        entry)) {
            return true;
        }
        errno = 0;
        if (reader->complete == reader->slots || !refill(reader)) return false;
    }
}

/* Looking up. */

struct level_lookup {
    struct published_shape shape;
    int descriptor;
    bool has_failed;
    uint64_t reads;
    uint64_t held[CACHED_PAGES]; /* page p in place p % CACHED_PAGES */
    uint64_t *words;
};

struct level_lookup *level_lookup_open(const char *path, const struct published_shape *shape) {
    struct level_lookup *lookup = calloc(1, sizeof *lookup);
    if (lookup == NULL) return NULL;
    lookup->shape = *shape;
    lookup->descriptor = open_file(path, O_RDONLY);
    if (lookup->descriptor >= 0) lookup->words = new_pages((size_t)CACHED_PAGES * LEVEL_PAGE_BYTES);
    if (lookup->words != NULL) return lookup;
    level_lookup_close(lookup);
    return NULL;
}

void level_lookup_close(struct level_lookup *lookup) {
    if (lookup == NULL) return;
    int error = errno;
    if (lookup->descriptor >= 0) close(lookup->descriptor);
    free(lookup->words);
    free(lookup);
    errno = error;
}

bool level_lookup_read(struct level_lookup *lookup, uint64_t random) {
    uint64_t page = random % file_pages(&lookup->shape);
    return transferred(pread(lookup->descriptor, lookup->words, LEVEL_PAGE_BYTES,
                             (off_t)(page * LEVEL_PAGE_BYTES)),
                       LEVEL_PAGE_BYTES);
}

static uint64_t word_of_page(void *context, uint64_t index) {
    struct level_lookup *lookup = context;
    uint64_t page = index / PAGE_WORDS, place = page % CACHED_PAGES;
    uint64_t *words = lookup->words + place * PAGE_WORDS;
    if (lookup->held[place] != page) {
        lookup->reads++;
        lookup->held[place] = page;
        if (!transferred(pread(lookup->descriptor, words, LEVEL_PAGE_BYTES,
                               (off_t)(page * LEVEL_PAGE_BYTES)),
                         LEVEL_PAGE_BYTES)) {
            lookup->has_failed = true;
            memset(words, 0, LEVEL_PAGE_BYTES);
        }
    }
    return words[index % PAGE_WORDS];
}

bool level_lookup_balance(struct level_lookup *lookup, uint64_t fingerprint, int64_t *balance,
                          uint64_t *reads) {
    for (int i = 0; i < CACHED_PAGES; i++)
        lookup->held[i] = NO_PAGE;
    lookup->reads = 0;
    lookup->has_failed = false;
    *balance = balance_in(word_of_page, lookup, &lookup->shape, fingerprint);
    *reads += lookup->reads;
    return !lookup->has_failed;
}

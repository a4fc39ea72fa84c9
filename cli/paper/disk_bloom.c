/* paper/disk_bloom.c - Bloom filters on disk; see disk_bloom.h. */
#include "paper/disk_bloom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, REGION_BYTES = 1 << 20, UNUSED = -1 };

struct disk_bloom {
    int descriptor;
    char path[4096];
    uint64_t bits; /* a whole number of regions */
    unsigned hashes;
    bool is_elevator;
    /* The elevator's. */
    uint64_t *queue;
    size_t queued, room;
    /* The traditional one's: page p may be in place p % places. */
    size_t places;
    int64_t *pages; /* which page a place holds, or UNUSED */
    bool *is_changed;
    unsigned char *memory; /* places pages, or one region */
};

static bool write_whole(int descriptor, const void *data, size_t size, uint64_t offset) {
    return pwrite(descriptor, data, size, (off_t)offset) == (ssize_t)size;
}

static bool read_whole(int descriptor, void *data, size_t size, uint64_t offset) {
    return pread(descriptor, data, size, (off_t)offset) == (ssize_t)size;
}

/* Past the page cache where the file system can. */
static int open_file(const char *path) {
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_DIRECT, 0666);
    if (descriptor < 0 && errno == EINVAL)
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return descriptor;
}

static bool prepare(struct disk_bloom *filter, size_t memory_bytes) {
    size_t size = REGION_BYTES;
    if (filter->is_elevator) {
        filter->room = memory_bytes / sizeof *filter->queue;
        filter->queue = malloc(filter->room * sizeof *filter->queue);
        if (filter->queue == NULL) return false;
    } else {
        filter->places = memory_bytes / PAGE_BYTES;
        filter->pages = malloc(filter->places * sizeof *filter->pages);
        filter->is_changed = calloc(filter->places, 1);
        if (filter->pages == NULL || filter->is_changed == NULL) return false;
        for (size_t i = 0; i < filter->places; i++)
            filter->pages[i] = UNUSED;
        if (memory_bytes > size) size = memory_bytes;
    }
    void *memory = NULL;
    errno = posix_memalign(&memory, PAGE_BYTES, size);
    filter->memory = memory;
    if (errno != 0) return false;
    memset(filter->memory, 0, size);
    bool fine = true;
    for (uint64_t at = 0; at < filter->bits / 8 && fine; at += REGION_BYTES)
        fine = write_whole(filter->descriptor, filter->memory, REGION_BYTES, at);
    return fine;
}

struct disk_bloom *disk_bloom_make(const char *path, uint64_t bits, unsigned hashes,
                                   size_t memory_bytes, bool is_elevator) {
    struct disk_bloom *filter = calloc(1, sizeof *filter);
    size_t size = strlen(path) + 1;
    if (filter == NULL || size > sizeof filter->path) {
        free(filter);
        return NULL;
    }
    memcpy(filter->path, path, size);
    uint64_t regions = (bits / 8 + REGION_BYTES - 1) / REGION_BYTES;
    filter->bits = regions * REGION_BYTES * 8;
    filter->hashes = hashes;
    filter->is_elevator = is_elevator;
    filter->descriptor = open_file(path);
    if (filter->descriptor >= 0 && prepare(filter, memory_bytes)) return filter;
    disk_bloom_free(filter);
    return NULL;
}

void disk_bloom_free(struct disk_bloom *filter) {
    if (filter == NULL) return;
    int error = errno;
    if (filter->descriptor >= 0) {
        close(filter->descriptor);
        unlink(filter->path);
    }
    free(filter->queue);
    free(filter->pages);
    free(filter->is_changed);
    free(filter->memory);
    free(filter);
    errno = error;
}

static void set_bit(unsigned char *bytes, uint64_t bit) {
    bytes[bit / 8] |= (unsigned char)(1U << (bit % 8));
}

/* Sets a bit in a page of the cache, fetching it first. */
static bool set_cached(struct disk_bloom *filter, uint64_t bit) {
    const uint64_t page_bits = (uint64_t)PAGE_BYTES * 8;
    int64_t page = (int64_t)(bit / page_bits);
    size_t place = (size_t)page % filter->places;
    unsigned char *bytes = filter->memory + place * PAGE_BYTES;
    if (filter->pages[place] != page) {
        if (filter->is_changed[place] &&
            !write_whole(filter->descriptor, bytes, PAGE_BYTES,
                         (uint64_t)filter->pages[place] * PAGE_BYTES)) {
            return false;
        }
        if (!read_whole(filter->descriptor, bytes, PAGE_BYTES, (uint64_t)page * PAGE_BYTES))
            return false;
        filter->pages[place] = page;
    }
    filter->is_changed[place] = true;
    set_bit(bytes, bit % page_bits);
    return true;
}

static int by_number(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Goes over the file once, and sets what is queued. */
static bool sweep(struct disk_bloom *filter) {
    const uint64_t region_bits = (uint64_t)REGION_BYTES * 8;
    qsort(filter->queue, filter->queued, sizeof *filter->queue, by_number);
    for (size_t at = 0; at < filter->queued;) {
        uint64_t region = filter->queue[at] / region_bits;
        uint64_t offset = region * REGION_BYTES;
        if (!read_whole(filter->descriptor, filter->memory, REGION_BYTES, offset)) return false;
        for (; at < filter->queued && filter->queue[at] / region_bits == region; at++)
            set_bit(filter->memory, filter->queue[at] % region_bits);
        if (!write_whole(filter->descriptor, filter->memory, REGION_BYTES, offset)) return false;
    }
    filter->queued = 0;
    return true;
}

static uint64_t bit_of(const struct disk_bloom *filter, lethe_hash hash, unsigned i) {
    uint64_t mixed = lethe_hash_u64(hash.low, hash.high + i).low;
    return (uint64_t)((unsigned __int128)mixed * filter->bits >> 64);
}

bool disk_bloom_fill_half(struct disk_bloom *filter) {
    /* The buffer is at least a region. */
    uint64_t word = 0;
    for (uint64_t at = 0; at < filter->bits / 8; at += REGION_BYTES) {
        for (size_t i = 0; i < REGION_BYTES; i += sizeof word) {
            uint64_t random = lethe_hash_u64(LETHE_DEFAULT_SEED, word++).low;
            memcpy(filter->memory + i, &random, sizeof random);
        }
        if (!write_whole(filter->descriptor, filter->memory, REGION_BYTES, at)) return false;
    }
    return true;
}

bool disk_bloom_test(const struct disk_bloom *filter, lethe_hash hash, bool *is_present,
                     uint64_t *reads) {
    const uint64_t page_bits = (uint64_t)PAGE_BYTES * 8;
    *is_present = true;
    for (unsigned i = 0; i < filter->hashes && *is_present; i++) {
        uint64_t bit = bit_of(filter, hash, i);
        if (!read_whole(filter->descriptor, filter->memory, PAGE_BYTES,
                        bit / page_bits * PAGE_BYTES)) {
            return false;
        }
        ++*reads;
        uint64_t place = bit % page_bits;
        *is_present = filter->memory[place / 8] >> (place % 8) & 1;
    }
    return true;
}

bool disk_bloom_insert(struct disk_bloom *filter, lethe_hash hash) {
    if (filter->is_elevator && filter->queued + filter->hashes > filter->room && !sweep(filter))
        return false;
    for (unsigned i = 0; i < filter->hashes; i++) {
        uint64_t bit = bit_of(filter, hash, i);
        if (filter->is_elevator) {
            filter->queue[filter->queued++] = bit;
        } else if (!set_cached(filter, bit)) {
            return false;
        }
    }
    return true;
}

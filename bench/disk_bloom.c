/* bench/disk_bloom.c - a Bloom filter on disk that is written in sweeps. */
#include "disk_bloom.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/bits.h"
#include "frame.h"
#include "os/block_file.h"
#include "os/reads.h"

enum { PAGE = 4096, REGION = 4 << 20, THREADS = 2, DEPTH = 64, MAX_HASHES = 32 };

struct disk_bloom {
    lethe_os_block_file file;
    char path[4096];
    uint64_t pages, regions;
    unsigned hashes;
    struct entry {
        uint64_t low, high;
    } * entries, *sorted;
    size_t room, count;
    uint64_t *starts; /* of each region in sorted */
    unsigned char *buffers[THREADS];
    lethe_os_reads *reads;
    /* A lookup under way. */
    const lethe_hash *asked;
    uint8_t *present;
};

struct disk_bloom *disk_bloom_make(const char *path, uint64_t capacity, double error,
                                   uint64_t memory_bytes) {
    struct disk_bloom *filter = calloc(1, sizeof *filter);
    bench_require(filter != NULL, "allocating a filter");
    snprintf(filter->path, sizeof filter->path, "%s", path);
    filter->hashes = (unsigned)lround(-log2(error));
    /* 2% for pages that get more than their share. */
    double bits = (double)capacity * -log2(error) * 1.4427 * 1.02;
    filter->regions = (uint64_t)(bits / 8 / REGION) + 1;
    filter->pages = filter->regions * (REGION / PAGE);
    filter->room = memory_bytes / (2 * sizeof *filter->entries);
    filter->entries = malloc(filter->room * sizeof *filter->entries);
    filter->sorted = malloc(filter->room * sizeof *filter->sorted);
    filter->starts = calloc(filter->regions + 1, sizeof *filter->starts);
    bench_require(filter->entries != NULL && filter->sorted != NULL && filter->starts != NULL,
                  "allocating a filter");
    bench_require(lethe_os_block_create(path, true, &filter->file) == LETHE_OK, "making a file");
    for (int i = 0; i < THREADS; i++)
        bench_require(posix_memalign((void **)&filter->buffers[i], PAGE, REGION) == 0,
                      "allocating a filter");
    memset(filter->buffers[0], 0, REGION);
    for (uint64_t i = 0; i < filter->regions; i++)
        bench_require(lethe_os_block_write(&filter->file, i * REGION, filter->buffers[0], REGION) ==
                          LETHE_OK,
                      "writing a file");
    bench_require(lethe_os_reads_new(LETHE_OS_READS_BEST, DEPTH, PAGE, &filter->reads) == LETHE_OK,
                  "preparing reads");
    return filter;
}

static uint64_t page_of(const struct disk_bloom *filter, uint64_t high) {
    return lethe_multiply_high(high, filter->pages);
}

/* The k bits of a key within its page. */
static inline unsigned bit_of(uint64_t low, unsigned index) {
    uint64_t step = (low >> 32) | 1;
    return (unsigned)((uint32_t)(low + index * step) >> 17);
}

struct sweep {
    struct disk_bloom *filter;
    int thread;
};

static void *sweep_regions(void *context) {
    struct sweep *sweep = context;
    struct disk_bloom *filter = sweep->filter;
    unsigned char *buffer = filter->buffers[sweep->thread];
    for (uint64_t i = (uint64_t)sweep->thread; i < filter->regions; i += THREADS) {
        uint64_t first = i == 0 ? 0 : filter->starts[i - 1], end = filter->starts[i];
        if (first == end) continue;
        bench_require(lethe_os_block_read(&filter->file, i * REGION, buffer, REGION) == LETHE_OK,
                      "reading a file");
        for (uint64_t j = first; j < end; j++) {
            unsigned char *page =
                buffer + (page_of(filter, filter->sorted[j].high) * PAGE - i * REGION);
            for (unsigned k = 0; k < filter->hashes; k++) {
                unsigned bit = bit_of(filter->sorted[j].low, k);
                page[bit / 8] |= (unsigned char)(1 << bit % 8);
            }
        }
        bench_require(lethe_os_block_write(&filter->file, i * REGION, buffer, REGION) == LETHE_OK,
                      "writing a file");
    }
    return NULL;
}

void disk_bloom_flush(struct disk_bloom *filter) {
    memset(filter->starts, 0, (filter->regions + 1) * sizeof *filter->starts);
    for (size_t i = 0; i < filter->count; i++)
        filter->starts[page_of(filter, filter->entries[i].high) / (REGION / PAGE) + 1]++;
    for (uint64_t i = 0; i < filter->regions; i++)
        filter->starts[i + 1] += filter->starts[i];
    /* After this, starts[i] is where region i ends. */
    for (size_t i = 0; i < filter->count; i++) {
        uint64_t region = page_of(filter, filter->entries[i].high) / (REGION / PAGE);
        filter->sorted[filter->starts[region]++] = filter->entries[i];
    }
    pthread_t threads[THREADS];
    struct sweep sweeps[THREADS];
    for (int i = 0; i < THREADS; i++) {
        sweeps[i] = (struct sweep){.filter = filter, .thread = i};
        bench_require(pthread_create(&threads[i], NULL, sweep_regions, &sweeps[i]) == 0,
                      "starting a thread");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    filter->count = 0;
}

void disk_bloom_insert(struct disk_bloom *filter, const lethe_hash *hashes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        filter->entries[filter->count++] =
            (struct entry){.low = hashes[i].low, .high = hashes[i].high};
        if (filter->count == filter->room) disk_bloom_flush(filter);
    }
}

static lethe_status answer(void *context, size_t index, const unsigned char *data) {
    struct disk_bloom *filter = context;
    bool all = true;
    for (unsigned k = 0; k < filter->hashes && all; k++) {
        unsigned bit = bit_of(filter->asked[index].low, k);
        all = (data[bit / 8] >> bit % 8 & 1) != 0;
    }
    filter->present[index] = all;
    return LETHE_OK;
}

void disk_bloom_test(struct disk_bloom *filter, const lethe_hash *hashes, size_t count,
                     uint8_t *present) {
    lethe_os_read *list = malloc(count * sizeof *list);
    bench_require(list != NULL, "allocating reads");
    for (size_t i = 0; i < count; i++)
        list[i] = (lethe_os_read){.descriptor = filter->file.descriptor,
                                  .size = PAGE,
                                  .offset = page_of(filter, hashes[i].high) * PAGE};
    filter->asked = hashes;
    filter->present = present;
    bench_require(lethe_os_reads_run(filter->reads, list, count, answer, filter) == LETHE_OK,
                  "reading pages");
    free(list);
}

uint64_t disk_bloom_bytes(const struct disk_bloom *filter) {
    return filter->regions * REGION;
}

void disk_bloom_free(struct disk_bloom *filter) {
    lethe_os_reads_free(filter->reads);
    lethe_os_block_close(&filter->file);
    unlink(filter->path);
    for (int i = 0; i < THREADS; i++)
        free(filter->buffers[i]);
    free(filter->entries);
    free(filter->sorted);
    free(filter->starts);
    free(filter);
}

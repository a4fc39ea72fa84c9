/* filter/cascade/run.c - reading a run's fences, and finding pages by them.
 *
 * LAYOUT  A file of pages of 4 KiB: `pages` of numbers (page.c), then of fences, 510 each:
 *         0   check   u64, as in page.c
 *         8   count   u64, fences in this page
 *         16  fences  count x u64, the first numbers of 510 pages in order; then zero
 * I1      Fences ascend strictly.
 * WHY     Eight bytes for 4 KiB are few enough to keep all of them in memory, so that a lookup
 *         computes the one page that it has to read. Fingerprints are random, so interpolation
 *         finds the page almost at once, and within a sorted batch it is near the last one. */
#include "filter/cascade/run.h"

#include <string.h>

#include "core/allocator.h"
#include "core/bytes.h"
#include "core/codec.h"
#include "os/file.h"

enum {
    PAGE = LETHE_CASCADE_PAGE_BYTES,
    FENCE_HEADER = 16,
    PAGE_FENCES = (PAGE - FENCE_HEADER) / 8,
    LOADED_PAGES = 16, /* at a time */
    WRITER_BYTES = 512 * 1024
};

void lethe_cascade_run_path(const char *folder, uint64_t id, char path[LETHE_OS_PATH_BYTES]) {
    (void)lethe_os_path(path, "%s/run-%016llx", folder, (unsigned long long)id);
}

uint64_t lethe_cascade_page_seed(uint64_t identity, uint64_t run_id, uint64_t page) {
    uint64_t mixed = (identity ^ run_id) * UINT64_C(0x9e3779b97f4a7c15);
    return (mixed ^ mixed >> 29) + page * UINT64_C(0xc2b2ae3d27d4eb4f);
}

static uint64_t fence_pages(uint64_t pages) {
    return (pages + PAGE_FENCES - 1) / PAGE_FENCES;
}

uint64_t lethe_cascade_run_bytes(const struct lethe_cascade_run *run) {
    return (run->facts.pages + fence_pages(run->facts.pages)) * PAGE;
}

/* Memory for a direct file: aligned within what the allocator gives. */
static unsigned char *align(unsigned char *memory) {
    return memory +
           (LETHE_OS_BLOCK_BYTES - (uintptr_t)memory % LETHE_OS_BLOCK_BYTES) % LETHE_OS_BLOCK_BYTES;
}

/* Takes the fences out of one page, number `page` of those with fences. */
static lethe_status load_fence_page(struct lethe_cascade_run *run, uint64_t identity, uint64_t page,
                                    const unsigned char *data) {
    uint64_t seed = lethe_cascade_page_seed(identity, run->facts.id, run->facts.pages + page);
    if (lethe_get_u64(data) != lethe_checksum(seed, data + 8, PAGE - 8)) return LETHE_ECORRUPT;
    uint64_t first = page * PAGE_FENCES, count = lethe_get_u64(data + 8);
    uint64_t left = run->facts.pages - first;
    if (count != (left < PAGE_FENCES ? left : PAGE_FENCES)) return LETHE_ECORRUPT;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t fence = lethe_get_u64(data + FENCE_HEADER + i * 8);
        if (first + i > 0 && fence <= run->fences[first + i - 1]) return LETHE_ECORRUPT;
        run->fences[first + i] = fence;
    }
    return LETHE_OK;
}

static lethe_status load_fences(struct lethe_cascade_run *run, uint64_t identity) {
    size_t bytes = (size_t)(LOADED_PAGES + 1) * PAGE;
    unsigned char *memory = lethe_alloc_zeroed(run->allocator, bytes);
    if (memory == NULL) return LETHE_ENOMEM;
    unsigned char *data = align(memory);
    uint64_t pages = fence_pages(run->facts.pages);
    lethe_status status = LETHE_OK;
    for (uint64_t page = 0; page < pages && status == LETHE_OK; page += LOADED_PAGES) {
        uint64_t count = pages - page < LOADED_PAGES ? pages - page : LOADED_PAGES;
        status = lethe_os_block_read(&run->file, (run->facts.pages + page) * PAGE, data,
                                     (size_t)count * PAGE);
        for (uint64_t i = 0; i < count && status == LETHE_OK; i++)
            status = load_fence_page(run, identity, page + i, data + i * PAGE);
    }
    lethe_release(run->allocator, memory, bytes);
    return status;
}

static struct lethe_cascade_run *make_run(struct lethe_cascade_run_facts facts,
                                          const lethe_allocator *allocator) {
    struct lethe_cascade_run *run = lethe_alloc_zeroed(allocator, sizeof *run);
    if (run == NULL) return NULL;
    run->facts = facts;
    run->allocator = allocator;
    run->file.descriptor = -1;
    run->references = 1;
    return run;
}

lethe_status lethe_cascade_run_open(const char *folder, uint64_t identity,
                                    struct lethe_cascade_run_facts facts, bool direct,
                                    const lethe_allocator *allocator,
                                    struct lethe_cascade_run **out) {
    *out = NULL;
    struct lethe_cascade_run *run = make_run(facts, allocator);
    if (run == NULL) return LETHE_ENOMEM;
    char path[LETHE_OS_PATH_BYTES];
    lethe_cascade_run_path(folder, facts.id, path);
    lethe_status status = lethe_os_block_open(path, direct, false, &run->file);
    if (status == LETHE_ENOTFOUND || status == LETHE_EINVAL) status = LETHE_ECORRUPT;
    /* The file's real length bounds what is allocated for its fences. */
    if (status == LETHE_OK && (facts.pages == 0 || facts.pages > run->file.size_bytes / PAGE ||
                               run->file.size_bytes != lethe_cascade_run_bytes(run))) {
        status = LETHE_ECORRUPT;
    }
    if (status == LETHE_OK) {
        run->fences = lethe_alloc_zeroed(allocator, facts.pages * sizeof *run->fences);
        run->fence_room = run->fences == NULL ? 0 : facts.pages;
        status = run->fences == NULL ? LETHE_ENOMEM : load_fences(run, identity);
    }
    if (status != LETHE_OK) {
        lethe_cascade_run_free(run);
        return status;
    }
    run->is_synced = true;
    run->generation = 1;
    *out = run;
    return LETHE_OK;
}

void lethe_cascade_run_free(struct lethe_cascade_run *run) {
    if (run == NULL) return;
    lethe_os_block_close(&run->file);
    lethe_cascade_sieve_free(run->filter);
    lethe_release(run->allocator, run->fences, run->fence_room * sizeof *run->fences);
    lethe_release(run->allocator, run, sizeof *run);
}

uint64_t lethe_cascade_run_page(const struct lethe_cascade_run *run, uint64_t number,
                                uint64_t hint) {
    const uint64_t *fences = run->fences;
    uint64_t low = hint, high = run->facts.pages; /* fences[low] <= number, or low is the hint */
    for (uint64_t step = 1; low + step < high; step *= 2) {
        if (fences[low + step] > number) {
            high = low + step;
            break;
        }
        low += step;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (fences[middle] > number) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return low;
}

lethe_status lethe_cascade_writer_begin(struct lethe_cascade_writer *writer, const char *folder,
                                        uint64_t identity, struct lethe_cascade_run_facts facts,
                                        uint64_t expected, unsigned number_bits, bool direct,
                                        const lethe_allocator *allocator) {
    *writer = (struct lethe_cascade_writer){.allocator = allocator, .identity = identity};
    facts.pages = facts.entries = facts.tombstones = 0;
    writer->run = make_run(facts, allocator);
    writer->memory = lethe_alloc_zeroed(allocator, WRITER_BYTES + PAGE);
    if (writer->run == NULL || writer->memory == NULL) {
        lethe_cascade_writer_drop(writer, folder);
        return LETHE_ENOMEM;
    }
    writer->buffer = align(writer->memory);
    /* log2 of the mean difference. */
    unsigned low_bits = number_bits;
    while (low_bits > 0 && expected >> (number_bits - low_bits) != 0)
        low_bits--;
    if (low_bits > LETHE_CASCADE_MAX_LOW_BITS) low_bits = LETHE_CASCADE_MAX_LOW_BITS;
    lethe_cascade_page_begin(&writer->builder, low_bits);
    char path[LETHE_OS_PATH_BYTES];
    lethe_cascade_run_path(folder, facts.id, path);
    lethe_status status = lethe_os_block_create(path, direct, &writer->run->file);
    if (status != LETHE_OK) lethe_cascade_writer_drop(writer, folder);
    return status;
}

static lethe_status flush(struct lethe_cascade_writer *writer) {
    lethe_status status =
        lethe_os_block_write(&writer->run->file, writer->offset, writer->buffer, writer->fill);
    if (status != LETHE_OK) return status;
    writer->offset += writer->fill;
    writer->fill = 0;
    return LETHE_OK;
}

/* Room for one more page in the buffer. */
static lethe_status next_page(struct lethe_cascade_writer *writer, unsigned char **out) {
    if (writer->fill == WRITER_BYTES) {
        lethe_status status = flush(writer);
        if (status != LETHE_OK) return status;
    }
    *out = writer->buffer + writer->fill;
    writer->fill += PAGE;
    return LETHE_OK;
}

static lethe_status add_fence(struct lethe_cascade_run *run, uint64_t fence) {
    if (run->facts.pages == run->fence_room) {
        uint64_t room = run->fence_room == 0 ? 64 : 2 * run->fence_room;
        uint64_t *grown = lethe_alloc_zeroed(run->allocator, room * sizeof *grown);
        if (grown == NULL) return LETHE_ENOMEM;
        if (run->fences != NULL) memcpy(grown, run->fences, run->fence_room * sizeof *grown);
        lethe_release(run->allocator, run->fences, run->fence_room * sizeof *grown);
        run->fences = grown;
        run->fence_room = room;
    }
    run->fences[run->facts.pages++] = fence;
    return LETHE_OK;
}

static lethe_status end_page(struct lethe_cascade_writer *writer) {
    struct lethe_cascade_run *run = writer->run;
    unsigned char *out;
    lethe_status status = next_page(writer, &out);
    if (status == LETHE_OK) status = add_fence(run, writer->builder.base);
    if (status != LETHE_OK) return status;
    lethe_cascade_page_end(
        &writer->builder,
        lethe_cascade_page_seed(writer->identity, run->facts.id, run->facts.pages - 1), out);
    return LETHE_OK;
}

lethe_status lethe_cascade_writer_add(struct lethe_cascade_writer *writer, const uint64_t *numbers,
                                      size_t count) {
    writer->run->facts.entries += count;
    while (count > 0) {
        size_t taken = lethe_cascade_page_add(&writer->builder, numbers, count);
        numbers += taken;
        count -= taken;
        if (count == 0) break;
        lethe_status status = end_page(writer);
        if (status != LETHE_OK) return status;
    }
    return LETHE_OK;
}

lethe_status lethe_cascade_writer_add_value(struct lethe_cascade_writer *writer, uint64_t number,
                                            struct lethe_cascade_value value) {
    writer->run->facts.entries++;
    writer->run->facts.tombstones += value.removed > 0;
    while (!lethe_cascade_page_add_value(&writer->builder, number, value)) {
        lethe_status status = end_page(writer);
        if (status != LETHE_OK) return status;
    }
    return LETHE_OK;
}

static lethe_status write_fences(struct lethe_cascade_writer *writer) {
    const struct lethe_cascade_run *run = writer->run;
    for (uint64_t page = 0; page < fence_pages(run->facts.pages); page++) {
        unsigned char *out;
        lethe_status status = next_page(writer, &out);
        if (status != LETHE_OK) return status;
        uint64_t first = page * PAGE_FENCES, left = run->facts.pages - first;
        uint64_t count = left < PAGE_FENCES ? left : PAGE_FENCES;
        memset(out, 0, PAGE);
        lethe_put_u64(out + 8, count);
        for (uint64_t i = 0; i < count; i++)
            lethe_put_u64(out + FENCE_HEADER + i * 8, run->fences[first + i]);
        uint64_t seed =
            lethe_cascade_page_seed(writer->identity, run->facts.id, run->facts.pages + page);
        lethe_put_u64(out, lethe_checksum(seed, out + 8, PAGE - 8));
    }
    return LETHE_OK;
}

lethe_status lethe_cascade_writer_end(struct lethe_cascade_writer *writer, const char *folder,
                                      struct lethe_cascade_run **out) {
    *out = NULL;
    lethe_status status = LETHE_OK;
    if (writer->builder.count > 0) status = end_page(writer);
    if (status == LETHE_OK) status = write_fences(writer);
    if (status == LETHE_OK) status = flush(writer);
    if (status != LETHE_OK) return status;
    if (writer->run->facts.entries > 0) {
        *out = writer->run;
        writer->run = NULL;
    }
    lethe_cascade_writer_drop(writer, folder);
    return LETHE_OK;
}

void lethe_cascade_writer_drop(struct lethe_cascade_writer *writer, const char *folder) {
    if (writer->run != NULL) {
        char path[LETHE_OS_PATH_BYTES] = "";
        bool exists = folder != NULL && writer->run->file.descriptor >= 0;
        if (exists) lethe_cascade_run_path(folder, writer->run->facts.id, path);
        lethe_cascade_run_free(writer->run);
        if (exists) lethe_os_remove(path);
    }
    lethe_release(writer->allocator, writer->memory, WRITER_BYTES + PAGE);
    *writer = (struct lethe_cascade_writer){0};
}

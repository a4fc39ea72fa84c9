/* engine/ids/run.h - RUN: entries of the index in the order of their ids, in memory or in a file.
 *
 * A run is written once, from its first item to its last, and never changes. */
#ifndef LETHE_ENGINE_IDS_RUN_H
#define LETHE_ENGINE_IDS_RUN_H

#include "core/bytes.h"
#include "engine/buffer.h"
#include "engine/ids/chunks.h"
#include "engine/log/segment.h"
#include "os/block_file.h"

/* An entry of the index, as runs order them: by the bytes of its id. */
typedef struct lethe_run_item {
    uint64_t order;    /* the id's first eight bytes, as a number that sorts as they do */
    uint16_t rest;     /* likewise the other two */
    uint32_t digest;   /* see lethe_index_entry */
    uint32_t clock_ms; /* after the run's base */
} lethe_run_item;

static inline uint64_t lethe_run_order(lethe_log_id id) {
    return __builtin_bswap64(id.low);
}
static inline uint16_t lethe_run_rest(lethe_log_id id) {
    return __builtin_bswap16(id.high);
}

enum { LETHE_RUN_ITEM_BYTES = 18 };
static inline void lethe_run_item_store(unsigned char *out, const lethe_run_item *item) {
    lethe_put_u64(out, item->order);
    lethe_put_u32(out + 8, item->clock_ms);
    lethe_put_u32(out + 12, item->digest);
    lethe_put_u16(out + 16, item->rest);
}
static inline lethe_run_item lethe_run_item_load(const unsigned char *data) {
    return (lethe_run_item){.order = lethe_get_u64(data),
                            .clock_ms = lethe_get_u32(data + 8),
                            .digest = lethe_get_u32(data + 12),
                            .rest = lethe_get_u16(data + 16)};
}
/* Whether a comes before b; false if they have one id. */
static inline bool lethe_run_item_is_before(const lethe_run_item *a, const lethe_run_item *b) {
    return a->order != b->order ? a->order < b->order : a->rest < b->rest;
}

typedef struct lethe_run {
    const lethe_allocator *allocator;
    uint64_t count;
    /* No clock is before base_ms or after last_ms. */
    uint64_t base_ms, last_ms;
    /* How many times its entries were merged. */
    unsigned level;
    /* Shelf s has the items from starts[s] to starts[s + 1] - 1: those whose order begins with s,
     * in this many bits. */
    unsigned shelf_bits;
    uint64_t *starts;
    /* Of a run in a file: a hash of each shelf. */
    uint64_t *sums;
    lethe_os_block_file file;
    /* Of a run in memory: where its items are, and the chunks, a pointer each. */
    lethe_chunks *memory;
    lethe_buffer chunks;
} lethe_run;

/* The shelf that has this order. */
static inline uint64_t lethe_run_shelf(const lethe_run *run, uint64_t order) {
    return run->shelf_bits == 0 ? 0 : order >> (64 - run->shelf_bits);
}
static inline bool lethe_run_is_in_file(const lethe_run *run) {
    return run->sums != NULL;
}

/* Item number `at` of a run in memory. Up to the end of its chunk the next ones follow it. */
static inline unsigned char *lethe_run_place(const lethe_run *run, uint64_t at) {
    unsigned char *const *chunks = (unsigned char *const *)(const void *)run->chunks.data;
    uint64_t in_chunk = at & (((uint64_t)1 << run->memory->item_bits) - 1);
    return chunks[at >> run->memory->item_bits] + in_chunk * LETHE_RUN_ITEM_BYTES;
}
static inline uint64_t lethe_run_chunk_count(const lethe_run *run) {
    return run->chunks.size / sizeof(unsigned char *);
}

/* Takes NULL. */
void lethe_run_free(lethe_run *run);
/* What it takes of memory, and of the disk. */
uint64_t lethe_run_memory_bytes(const lethe_run *run);
uint64_t lethe_run_file_bytes(const lethe_run *run);

/* Looks an id up; the latest of its entries counts, which was appended last. room is for a shelf
 * of the file. Errors: LETHE_ECORRUPT (the file is damaged), LETHE_EIO, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_run_find(const lethe_run *run, lethe_log_id id,
                                             lethe_buffer *room, lethe_index_entry *out,
                                             bool *found);
/* Has the processor fetch what a search for the id will look at first, and then second. */
void lethe_run_prefetch_shelf(const lethe_run *run, lethe_log_id id);
void lethe_run_prefetch_items(const lethe_run *run, lethe_log_id id);

/* --- writing --- */

typedef struct lethe_run_writer {
    lethe_run *run;
    /* Of a file: what is not written yet. It begins with a shelf, and the last shelf in it begins
     * at shelf_at. */
    lethe_buffer ahead;
    size_t shelf_at;
    uint64_t written_bytes;
    /* The shelf that takes items. */
    uint64_t shelf;
} lethe_run_writer;

/* Begins a run of about `expected` items, in memory, which must outlive it, or, if path is not
 * NULL, in a file without a name: path is where it has one for a moment. Errors: LETHE_ENOMEM,
 * LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_run_begin(lethe_run_writer *writer, uint64_t expected,
                                              uint64_t base_ms, const char *path,
                                              lethe_chunks *memory);
/* In ascending order; of one id, the latest last. Errors as above, and LETHE_ECORRUPT (they are in
 * no order). */
LETHE_MUST_CHECK lethe_status lethe_run_append(lethe_run_writer *writer,
                                               const lethe_run_item *item);
/* *out is the caller's. On error there is none. */
LETHE_MUST_CHECK lethe_status lethe_run_end(lethe_run_writer *writer, lethe_run **out);
/* Drops what was written. Takes a zeroed writer. */
void lethe_run_abandon(lethe_run_writer *writer);

/* --- reading all of it --- */

typedef struct lethe_run_reader {
    const lethe_run *run;
    /* The item that is next, unless at is count. */
    lethe_run_item next;
    uint64_t at;
    /* Of a file: items from piece_from on, up to the shelf before shelf. */
    lethe_buffer piece;
    uint64_t piece_from, shelf;
} lethe_run_reader;

/* Errors: those of lethe_run_find. */
LETHE_MUST_CHECK lethe_status lethe_run_reader_begin(lethe_run_reader *reader,
                                                     const lethe_run *run);
LETHE_MUST_CHECK lethe_status lethe_run_reader_advance(lethe_run_reader *reader);
static inline bool lethe_run_reader_has_next(const lethe_run_reader *reader) {
    return reader->run != NULL && reader->at < reader->run->count;
}
void lethe_run_reader_end(lethe_run_reader *reader);

/* --- run_merge.c: several runs become one --- */

enum { LETHE_RUN_WAYS = 4 };

/* Whether all of this lies in memory, and the writer has room for all that the readers have. */
bool lethe_run_can_merge(const lethe_run_writer *writer,
                         const lethe_run_reader readers[LETHE_RUN_WAYS]);
/* Moves up to `most` items from the readers, the oldest run first, to the writer, which begins no
 * later than any of them. Returns how many: fewer at the end of all. Only where
 * lethe_run_can_merge. */
uint64_t lethe_run_merge(lethe_run_writer *writer, lethe_run_reader readers[LETHE_RUN_WAYS],
                         uint64_t most);

#endif

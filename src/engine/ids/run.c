/* engine/ids/run.c - sorted entries of the index.
 *
 * LAYOUT  items:  [order u64][clock u32][digest u32][rest u16], ascending by order and rest; items
 *                 of one id in the order in which they were appended
 *                 in memory: in chunks of one size (chunks.h); in a file: one after the other
 *         starts: [item u64], one for each shelf, and their end
 * IDEA    Ids are hashes, so the first bits of one say where it is, give or take a few items. A
 *         shelf has about thirty items: one read of a file, and a short walk in memory from the
 *         place where the id would be if they were spread evenly.
 * I1      A file has no name, so nobody else writes to it, and it is gone when the process is. What
 *         comes back from the disk is compared with a hash in memory before it is believed.
 * WHY     A wrong byte in a file would make an event that was counted look like a fresh one. */
#include "engine/ids/run.h"

#include "core/allocator.h"
#include "os/file.h"

/* Items of a shelf, about; bytes that are read and written at once, about. */
enum { SHELF_ITEMS = 32, PIECE_BYTES = 1 << 18, ITEM = LETHE_RUN_ITEM_BYTES };

static size_t starts_bytes(const lethe_run *run) {
    return (((size_t)1 << run->shelf_bits) + 1) * sizeof *run->starts;
}

static size_t sums_bytes(const lethe_run *run) {
    return ((size_t)1 << run->shelf_bits) * sizeof *run->sums;
}

void lethe_run_free(lethe_run *run) {
    if (run == NULL) return;
    for (uint64_t i = lethe_run_chunk_count(run); i > 0; i--)
        lethe_chunks_give(run->memory, ((unsigned char **)(void *)run->chunks.data)[i - 1]);
    lethe_buffer_free(&run->chunks);
    lethe_release(run->allocator, run->starts, starts_bytes(run));
    lethe_release(run->allocator, run->sums, sums_bytes(run));
    lethe_os_block_close(&run->file);
    lethe_release(run->allocator, run, sizeof *run);
}

uint64_t lethe_run_memory_bytes(const lethe_run *run) {
    return sizeof *run + starts_bytes(run) + (lethe_run_is_in_file(run) ? sums_bytes(run) : 0) +
           lethe_run_chunk_count(run) * lethe_chunks_each_bytes(run->memory);
}

uint64_t lethe_run_file_bytes(const lethe_run *run) {
    return lethe_run_is_in_file(run) ? run->count * ITEM : 0;
}

static uint64_t sum_of(const unsigned char *items, size_t bytes) {
    return lethe_hash_bytes(0, items, bytes).low;
}

/* Reads the shelves from `shelf` up to, but without, `end`, after what is in out, and compares
 * them with their sums. */
static lethe_status read_shelves(const lethe_run *run, uint64_t shelf, uint64_t end,
                                 lethe_buffer *out) {
    uint64_t from = run->starts[shelf];
    size_t bytes = (size_t)(run->starts[end] - from) * ITEM;
    if (bytes == 0) return LETHE_OK;
    if (!lethe_buffer_reserve(out, bytes) || out->data == NULL) return LETHE_ENOMEM;
    unsigned char *at = out->data + out->size;
    lethe_status status = lethe_os_block_read(&run->file, from * ITEM, at, bytes);
    for (; shelf < end && status == LETHE_OK; shelf++) {
        size_t size = (size_t)(run->starts[shelf + 1] - run->starts[shelf]) * ITEM;
        if (size > 0 && sum_of(at, size) != run->sums[shelf]) status = LETHE_ECORRUPT;
        at += size;
    }
    if (status == LETHE_OK) out->size += bytes;
    return status;
}

/* --- looking up --- */

/* Where in a shelf of this many items the order would be if all were spread evenly. */
static uint64_t guess(const lethe_run *run, uint64_t order, uint64_t count) {
    return (uint64_t)((unsigned __int128)(order << run->shelf_bits) * count >> 64);
}

/* A shelf. */
struct shelf {
    const lethe_run *run;
    uint64_t from, count;
    /* Of a file. */
    const unsigned char *read;
};

static const unsigned char *item_at(const struct shelf *shelf, uint64_t at) {
    return shelf->read != NULL ? shelf->read + at * ITEM
                               : lethe_run_place(shelf->run, shelf->from + at);
}

static uint64_t order_at(const struct shelf *shelf, uint64_t at) {
    return lethe_get_u64(item_at(shelf, at));
}

/* The latest item of the id; NULL if there is none. */
static const unsigned char *search(const struct shelf *shelf, lethe_log_id id) {
    uint64_t count = shelf->count, order = lethe_run_order(id);
    uint64_t at = guess(shelf->run, order, count);
    uint16_t rest = lethe_run_rest(id);
    const unsigned char *latest = NULL;
    while (at < count && order_at(shelf, at) < order)
        at++;
    while (at > 0 && order_at(shelf, at - 1) >= order)
        at--;
    for (; at < count && order_at(shelf, at) == order; at++) {
        const unsigned char *item = item_at(shelf, at);
        if (lethe_get_u16(item + 16) == rest) latest = item;
    }
    return latest;
}

lethe_status lethe_run_find(const lethe_run *run, lethe_log_id id, lethe_buffer *room,
                            lethe_index_entry *out, bool *found) {
    uint64_t number = lethe_run_shelf(run, lethe_run_order(id));
    struct shelf shelf = {.run = run, .from = run->starts[number]};
    shelf.count = run->starts[number + 1] - shelf.from;
    *found = false;
    if (shelf.count == 0) return LETHE_OK;
    if (lethe_run_is_in_file(run)) {
        room->size = 0;
        lethe_status status = read_shelves(run, number, number + 1, room);
        if (status != LETHE_OK) return status;
        shelf.read = room->data;
    }
    const unsigned char *latest = search(&shelf, id);
    if (latest == NULL) return LETHE_OK;
    lethe_run_item item = lethe_run_item_load(latest);
    *out = (lethe_index_entry){.clock_ms = run->base_ms + item.clock_ms, .digest = item.digest};
    *found = true;
    return LETHE_OK;
}

void lethe_run_prefetch_shelf(const lethe_run *run, lethe_log_id id) {
    __builtin_prefetch(&run->starts[lethe_run_shelf(run, lethe_run_order(id))]);
}

void lethe_run_prefetch_items(const lethe_run *run, lethe_log_id id) {
    if (lethe_run_is_in_file(run)) return;
    uint64_t order = lethe_run_order(id), shelf = lethe_run_shelf(run, order);
    uint64_t from = run->starts[shelf], count = run->starts[shelf + 1] - from;
    if (count > 0) __builtin_prefetch(lethe_run_place(run, from + guess(run, order, count)));
}

/* --- writing --- */

static lethe_status make_file(lethe_run *run, const char *path) {
    run->sums = lethe_alloc_zeroed(run->allocator, sums_bytes(run));
    if (run->sums == NULL) return LETHE_ENOMEM;
    lethe_status status = lethe_os_block_create(path, false, &run->file);
    if (status == LETHE_OK && !lethe_os_remove(path)) status = LETHE_EIO;
    return status;
}

/* Makes room in memory for this many items. */
static lethe_status make_room(lethe_run *run, uint64_t items) {
    while (lethe_run_chunk_count(run) << run->memory->item_bits < items) {
        unsigned char *chunk = lethe_chunks_take(run->memory);
        if (chunk == NULL) return LETHE_ENOMEM;
        if (!lethe_buffer_reserve(&run->chunks, sizeof chunk)) {
            lethe_chunks_give(run->memory, chunk);
            return LETHE_ENOMEM;
        }
        lethe_buffer_append(&run->chunks, &chunk, sizeof chunk);
    }
    return LETHE_OK;
}

lethe_status lethe_run_begin(lethe_run_writer *writer, uint64_t expected, uint64_t base_ms,
                             const char *path, lethe_chunks *memory) {
    const lethe_allocator *allocator = memory->allocator;
    *writer = (lethe_run_writer){.ahead = {.allocator = allocator}};
    lethe_run *run = lethe_alloc_zeroed(allocator, sizeof *run);
    if (run == NULL) return LETHE_ENOMEM;
    *run = (lethe_run){.allocator = allocator,
                       .base_ms = base_ms,
                       .last_ms = base_ms,
                       .file = {.descriptor = -1},
                       .memory = memory,
                       .chunks = {.allocator = allocator}};
    while (expected >> run->shelf_bits > SHELF_ITEMS)
        run->shelf_bits++;
    run->starts = lethe_alloc_zeroed(allocator, starts_bytes(run));
    lethe_status status = run->starts != NULL ? LETHE_OK : LETHE_ENOMEM;
    if (status == LETHE_OK) status = path != NULL ? make_file(run, path) : make_room(run, expected);
    writer->run = run;
    if (status != LETHE_OK) lethe_run_abandon(writer);
    return status;
}

static lethe_status write_ahead(lethe_run_writer *writer) {
    lethe_status status = lethe_os_block_write(&writer->run->file, writer->written_bytes,
                                               writer->ahead.data, writer->ahead.size);
    writer->written_bytes += writer->ahead.size;
    writer->ahead.size = writer->shelf_at = 0;
    return status;
}

/* Ends shelves up to, but without, this one. */
static lethe_status turn_to_shelf(lethe_run_writer *writer, uint64_t shelf) {
    lethe_run *run = writer->run;
    lethe_status status = LETHE_OK;
    while (writer->shelf < shelf && status == LETHE_OK) {
        if (lethe_run_is_in_file(run)) {
            size_t size = writer->ahead.size - writer->shelf_at;
            if (size > 0)
                run->sums[writer->shelf] = sum_of(writer->ahead.data + writer->shelf_at, size);
            writer->shelf_at = writer->ahead.size;
            if (writer->ahead.size >= PIECE_BYTES) status = write_ahead(writer);
        }
        run->starts[++writer->shelf] = run->count;
    }
    return status;
}

lethe_status lethe_run_append(lethe_run_writer *writer, const lethe_run_item *item) {
    lethe_run *run = writer->run;
    uint64_t shelf = lethe_run_shelf(run, item->order);
    if (shelf < writer->shelf) return LETHE_ECORRUPT;
    if (shelf > writer->shelf) {
        lethe_status status = turn_to_shelf(writer, shelf);
        if (status != LETHE_OK) return status;
    }
    unsigned char *place;
    if (lethe_run_is_in_file(run)) {
        lethe_buffer *ahead = &writer->ahead;
        if (!lethe_buffer_reserve(ahead, ITEM) || ahead->data == NULL) return LETHE_ENOMEM;
        place = ahead->data + ahead->size;
        ahead->size += ITEM;
    } else {
        lethe_status status = make_room(run, run->count + 1);
        if (status != LETHE_OK) return status;
        place = lethe_run_place(run, run->count);
    }
    lethe_run_item_store(place, item);
    run->count++;
    uint64_t clock_ms = run->base_ms + item->clock_ms;
    if (clock_ms > run->last_ms) run->last_ms = clock_ms;
    return LETHE_OK;
}

lethe_status lethe_run_end(lethe_run_writer *writer, lethe_run **out) {
    lethe_status status = turn_to_shelf(writer, (uint64_t)1 << writer->run->shelf_bits);
    if (status == LETHE_OK && writer->ahead.size > 0) status = write_ahead(writer);
    *out = status == LETHE_OK ? writer->run : NULL;
    if (status == LETHE_OK) writer->run = NULL;
    lethe_run_abandon(writer);
    return status;
}

void lethe_run_abandon(lethe_run_writer *writer) {
    lethe_run_free(writer->run);
    lethe_buffer_free(&writer->ahead);
    *writer = (lethe_run_writer){0};
}

/* --- reading all of it --- */

/* Makes the item at `at` the next one, reading on if it is not there yet. */
static lethe_status load_next(lethe_run_reader *reader) {
    const lethe_run *run = reader->run;
    if (reader->at == run->count) return LETHE_OK;
    if (!lethe_run_is_in_file(run)) {
        reader->next = lethe_run_item_load(lethe_run_place(run, reader->at));
        return LETHE_OK;
    }
    if (reader->at == run->starts[reader->shelf]) {
        uint64_t end = reader->shelf, most = (uint64_t)1 << run->shelf_bits;
        while (end < most && (run->starts[end] - reader->at) * ITEM < PIECE_BYTES)
            end++;
        reader->piece.size = 0;
        lethe_status status = read_shelves(run, reader->shelf, end, &reader->piece);
        if (status != LETHE_OK) return status;
        reader->piece_from = reader->at;
        reader->shelf = end;
    }
    const unsigned char *item = reader->piece.data + (reader->at - reader->piece_from) * ITEM;
    reader->next = lethe_run_item_load(item);
    return LETHE_OK;
}

lethe_status lethe_run_reader_begin(lethe_run_reader *reader, const lethe_run *run) {
    *reader = (lethe_run_reader){.run = run, .piece = {.allocator = run->allocator}};
    return load_next(reader);
}

lethe_status lethe_run_reader_advance(lethe_run_reader *reader) {
    reader->at++;
    return load_next(reader);
}

void lethe_run_reader_end(lethe_run_reader *reader) {
    lethe_buffer_free(&reader->piece);
    *reader = (lethe_run_reader){0};
}

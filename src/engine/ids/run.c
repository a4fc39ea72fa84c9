/* engine/ids/run.c - sorted entries of the index.
 *
 * LAYOUT  items:  [order u64][clock u32][digest u32][rest u16], ascending by order and rest; items
 *                 of one id in the order in which they were appended
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

static uint64_t shelf_of(const lethe_run *run, uint64_t order) {
    return run->shelf_bits == 0 ? 0 : order >> (64 - run->shelf_bits);
}

static size_t starts_bytes(const lethe_run *run) {
    return (((size_t)1 << run->shelf_bits) + 1) * sizeof *run->starts;
}

static size_t sums_bytes(const lethe_run *run) {
    return ((size_t)1 << run->shelf_bits) * sizeof *run->sums;
}

static bool is_in_file(const lethe_run *run) {
    return run->sums != NULL;
}

void lethe_run_free(lethe_run *run) {
    if (run == NULL) return;
    lethe_buffer_free(&run->items);
    lethe_release(run->allocator, run->starts, starts_bytes(run));
    lethe_release(run->allocator, run->sums, sums_bytes(run));
    lethe_os_block_close(&run->file);
    lethe_release(run->allocator, run, sizeof *run);
}

uint64_t lethe_run_memory_bytes(const lethe_run *run) {
    return sizeof *run + starts_bytes(run) + (is_in_file(run) ? sums_bytes(run) : 0) +
           run->items.capacity;
}

uint64_t lethe_run_file_bytes(const lethe_run *run) {
    return is_in_file(run) ? run->count * ITEM : 0;
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

static uint64_t order_at(const unsigned char *items, uint64_t at) {
    return lethe_get_u64(items + at * ITEM);
}

/* The latest item of the id among these; NULL if there is none. */
static const unsigned char *search(const lethe_run *run, const unsigned char *items, uint64_t count,
                                   lethe_log_id id) {
    uint64_t order = lethe_run_order(id), at = guess(run, order, count);
    uint16_t rest = lethe_run_rest(id);
    const unsigned char *latest = NULL;
    while (at < count && order_at(items, at) < order)
        at++;
    while (at > 0 && order_at(items, at - 1) >= order)
        at--;
    for (; at < count && order_at(items, at) == order; at++) {
        if (lethe_get_u16(items + at * ITEM + 16) == rest) latest = items + at * ITEM;
    }
    return latest;
}

lethe_status lethe_run_find(const lethe_run *run, lethe_log_id id, lethe_buffer *room,
                            lethe_index_entry *out, bool *found) {
    uint64_t shelf = shelf_of(run, lethe_run_order(id));
    uint64_t from = run->starts[shelf], count = run->starts[shelf + 1] - from;
    *found = false;
    if (count == 0) return LETHE_OK;
    const unsigned char *items;
    if (is_in_file(run)) {
        room->size = 0;
        lethe_status status = read_shelves(run, shelf, shelf + 1, room);
        if (status != LETHE_OK) return status;
        items = room->data;
    } else {
        items = run->items.data + from * ITEM;
    }
    const unsigned char *latest = search(run, items, count, id);
    if (latest == NULL) return LETHE_OK;
    lethe_run_item item = lethe_run_item_load(latest);
    *out = (lethe_index_entry){.clock_ms = run->base_ms + item.clock_ms, .digest = item.digest};
    *found = true;
    return LETHE_OK;
}

void lethe_run_prefetch_shelf(const lethe_run *run, lethe_log_id id) {
    __builtin_prefetch(&run->starts[shelf_of(run, lethe_run_order(id))]);
}

void lethe_run_prefetch_items(const lethe_run *run, lethe_log_id id) {
    if (is_in_file(run)) return;
    uint64_t order = lethe_run_order(id), shelf = shelf_of(run, order);
    uint64_t from = run->starts[shelf], count = run->starts[shelf + 1] - from;
    const unsigned char *at = run->items.data + (from + guess(run, order, count)) * ITEM;
    __builtin_prefetch(at);
}

/* --- writing --- */

static lethe_status make_file(lethe_run *run, const char *path) {
    run->sums = lethe_alloc_zeroed(run->allocator, sums_bytes(run));
    if (run->sums == NULL) return LETHE_ENOMEM;
    lethe_status status = lethe_os_block_create(path, false, &run->file);
    if (status == LETHE_OK && !lethe_os_remove(path)) status = LETHE_EIO;
    return status;
}

static lethe_status make_items(lethe_run *run, uint64_t expected) {
    size_t bytes;
    if (!lethe_size_multiply(expected, ITEM, &bytes)) return LETHE_ENOMEM;
    if (bytes == 0) return LETHE_OK;
    run->items.data = lethe_alloc_zeroed(run->allocator, bytes);
    if (run->items.data == NULL) return LETHE_ENOMEM;
    run->items.capacity = bytes;
    return LETHE_OK;
}

lethe_status lethe_run_begin(lethe_run_writer *writer, uint64_t expected, uint64_t base_ms,
                             const char *path, const lethe_allocator *allocator) {
    *writer = (lethe_run_writer){.ahead = {.allocator = allocator}};
    lethe_run *run = lethe_alloc_zeroed(allocator, sizeof *run);
    if (run == NULL) return LETHE_ENOMEM;
    *run = (lethe_run){.allocator = allocator,
                       .base_ms = base_ms,
                       .last_ms = base_ms,
                       .file = {.descriptor = -1},
                       .items = {.allocator = allocator}};
    while (expected >> run->shelf_bits > SHELF_ITEMS)
        run->shelf_bits++;
    run->starts = lethe_alloc_zeroed(allocator, starts_bytes(run));
    lethe_status status = run->starts != NULL ? LETHE_OK : LETHE_ENOMEM;
    if (status == LETHE_OK)
        status = path != NULL ? make_file(run, path) : make_items(run, expected);
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
        if (is_in_file(run)) {
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
    uint64_t shelf = shelf_of(run, item->order);
    if (shelf < writer->shelf) return LETHE_ECORRUPT;
    if (shelf > writer->shelf) {
        lethe_status status = turn_to_shelf(writer, shelf);
        if (status != LETHE_OK) return status;
    }
    lethe_buffer *to = is_in_file(run) ? &writer->ahead : &run->items;
    if (!lethe_buffer_reserve(to, ITEM) || to->data == NULL) return LETHE_ENOMEM;
    lethe_run_item_store(to->data + to->size, item);
    to->size += ITEM;
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
    if (!is_in_file(run)) {
        reader->next = lethe_run_item_load(run->items.data + reader->at * ITEM);
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

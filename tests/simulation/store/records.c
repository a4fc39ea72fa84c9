/* simulation/store/records.c - records in the order of their keys, and their form in a file.
 *
 * A run has one record of a key, the newest, and a list of ranges that were deleted, each with
 * the number of the write that it came with: what is older and in the range is not there. Files
 * end with a checksum. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/store/database.h"
#include "simulation/store/machine.h"

void bytes_put(struct bytes *bytes, const void *data, size_t size) {
    if (bytes->size + size > bytes->room) {
        bytes->room = 2 * bytes->room + size + 64;
        unsigned char *larger = machine_allocate(bytes->room);
        if (bytes->size > 0) memcpy(larger, bytes->data, bytes->size);
        machine_release(bytes->data);
        bytes->data = larger;
    }
    if (size > 0) memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void bytes_put_number(struct bytes *bytes, uint64_t number) {
    bytes_put(bytes, &number, sizeof number);
}

void bytes_put_string(struct bytes *bytes, const void *data, size_t size) {
    bytes_put_number(bytes, size);
    bytes_put(bytes, data, size);
}

void bytes_drop(struct bytes *bytes) {
    machine_release(bytes->data);
    *bytes = (struct bytes){0};
}

uint64_t cursor_number(struct cursor *cursor) {
    uint64_t number = 0;
    if (cursor->is_broken || (size_t)(cursor->end - cursor->at) < sizeof number) {
        cursor->is_broken = true;
        return 0;
    }
    memcpy(&number, cursor->at, sizeof number);
    cursor->at += sizeof number;
    return number;
}

struct slice cursor_string(struct cursor *cursor) {
    uint64_t size = cursor_number(cursor);
    if (cursor->is_broken || size > (uint64_t)(cursor->end - cursor->at)) {
        cursor->is_broken = true;
        return (struct slice){0};
    }
    struct slice slice = {.data = cursor->at, .size = (size_t)size};
    cursor->at += size;
    return slice;
}

int slice_compare(struct slice a, struct slice b) {
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size > 0 ? memcmp(a.data, b.data, size) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

struct slice slice_copy(struct slice from) {
    unsigned char *data = machine_allocate(from.size + 1);
    if (from.size > 0) memcpy(data, from.data, from.size);
    return (struct slice){.data = data, .size = from.size};
}

size_t run_seek(const struct run *run, struct slice key) {
    size_t low = 0, high = run->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (slice_compare(run->records[middle]->key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct record *run_find(const struct run *run, struct slice key) {
    size_t at = run_seek(run, key);
    bool found = at < run->count && slice_compare(run->records[at]->key, key) == 0;
    return found ? run->records[at] : NULL;
}

static struct record *new_record(struct slice key, struct slice value, uint64_t sequence,
                                 bool is_deleted) {
    struct record *record = machine_allocate(sizeof *record + key.size + value.size + 1);
    unsigned char *data = (unsigned char *)(record + 1);
    if (key.size > 0) memcpy(data, key.data, key.size);
    if (value.size > 0) memcpy(data + key.size, value.data, value.size);
    *record = (struct record){.key = {data, key.size},
                              .value = {data + key.size, value.size},
                              .sequence = sequence,
                              .is_deleted = is_deleted};
    return record;
}

void run_put(struct run *run, struct slice key, struct slice value, uint64_t sequence,
             bool is_deleted) {
    struct record *record = new_record(key, value, sequence, is_deleted);
    run->bytes += key.size + value.size + 32;
    size_t at = run_seek(run, key);
    if (at < run->count && slice_compare(run->records[at]->key, key) == 0) {
        machine_release(run->records[at]);
        run->records[at] = record;
        return;
    }
    if (run->count == run->room) {
        run->room = 2 * run->room + 16;
        struct record **larger = machine_allocate(run->room * sizeof *larger);
        if (run->count > 0) memcpy(larger, run->records, run->count * sizeof *larger);
        machine_release(run->records);
        run->records = larger;
    }
    memmove(run->records + at + 1, run->records + at, (run->count - at) * sizeof *run->records);
    run->records[at] = record;
    run->count++;
}

void run_delete_range(struct run *run, struct slice from, struct slice to, uint64_t sequence) {
    if (run->range_count == run->range_room) {
        run->range_room = 2 * run->range_room + 8;
        struct range *larger = machine_allocate(run->range_room * sizeof *larger);
        if (run->range_count > 0) memcpy(larger, run->ranges, run->range_count * sizeof *larger);
        machine_release(run->ranges);
        run->ranges = larger;
    }
    run->ranges[run->range_count++] =
        (struct range){.from = slice_copy(from), .to = slice_copy(to), .sequence = sequence};
    run->bytes += from.size + to.size + 32;
}

uint64_t run_deleted(const struct run *run, struct slice key) {
    uint64_t latest = 0;
    for (size_t i = 0; i < run->range_count; i++) {
        const struct range *range = &run->ranges[i];
        if (range->sequence > latest && slice_compare(range->from, key) <= 0 &&
            slice_compare(key, range->to) < 0)
            latest = range->sequence;
    }
    return latest;
}

void run_drop(struct run *run) {
    for (size_t i = 0; i < run->count; i++)
        machine_release(run->records[i]);
    for (size_t i = 0; i < run->range_count; i++) {
        machine_release((void *)(uintptr_t)run->ranges[i].from.data);
        machine_release((void *)(uintptr_t)run->ranges[i].to.data);
    }
    machine_release(run->records);
    machine_release(run->ranges);
    *run = (struct run){0};
}

void run_encode(const struct run *run, struct bytes *out) {
    bytes_put_number(out, run->identity);
    bytes_put_number(out, run->count);
    bytes_put_number(out, run->range_count);
    for (size_t i = 0; i < run->count; i++) {
        const struct record *record = run->records[i];
        bytes_put_string(out, record->key.data, record->key.size);
        bytes_put_string(out, record->value.data, record->value.size);
        bytes_put_number(out, record->sequence << 1 | record->is_deleted);
    }
    for (size_t i = 0; i < run->range_count; i++) {
        bytes_put_string(out, run->ranges[i].from.data, run->ranges[i].from.size);
        bytes_put_string(out, run->ranges[i].to.data, run->ranges[i].to.size);
        bytes_put_number(out, run->ranges[i].sequence);
    }
}

bool run_decode(struct run *run, struct cursor *cursor) {
    run->identity = cursor_number(cursor);
    uint64_t count = cursor_number(cursor), ranges = cursor_number(cursor);
    for (uint64_t i = 0; i < count && !cursor->is_broken; i++) {
        struct slice key = cursor_string(cursor), value = cursor_string(cursor);
        uint64_t number = cursor_number(cursor);
        if (!cursor->is_broken) run_put(run, key, value, number >> 1, (number & 1) != 0);
    }
    for (uint64_t i = 0; i < ranges && !cursor->is_broken; i++) {
        struct slice from = cursor_string(cursor), to = cursor_string(cursor);
        uint64_t sequence = cursor_number(cursor);
        if (!cursor->is_broken) run_delete_range(run, from, to, sequence);
    }
    return !cursor->is_broken && cursor->at == cursor->end;
}

/* Puts what the records of several runs come to into one. */
void run_merge(struct run *out, const struct run *run) {
    for (size_t i = 0; i < run->count; i++) {
        const struct record *record = run->records[i];
        const struct record *there = run_find(out, record->key);
        if (there == NULL || there->sequence < record->sequence)
            run_put(out, record->key, record->value, record->sequence, record->is_deleted);
    }
    for (size_t i = 0; i < run->range_count; i++)
        run_delete_range(out, run->ranges[i].from, run->ranges[i].to, run->ranges[i].sequence);
}

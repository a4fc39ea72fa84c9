/* engine/ids/run_merge.c - merging runs that lie in memory.
 *
 * IDEA    The 80 bits of the next id of each run are one number, and that of a run at its end is
 *         greater than any. Three comparisons, of two pairs and of their winners, choose the least
 *         without a branch that nobody could predict. Of equal ones the older run's comes first.
 * I1      What is written is what lethe_run_append and lethe_run_reader_advance would have written,
 *         one item after the other. Between two calls writer and readers are as these leave them.
 * WHY     All merges of an index together move an item two or three times. */
#include "engine/ids/run.h"

enum { ITEM = LETHE_RUN_ITEM_BYTES, WAYS = LETHE_RUN_WAYS };

typedef unsigned __int128 id_key;

/* Greater than every id. */
#define NO_KEY ((id_key)1 << 80)

/* A run that is read, from the item at `at` on. */
struct way {
    const lethe_run *run;
    const unsigned char *at;
    id_key key;
    uint64_t number;
    /* What its clocks are behind those of the new run. */
    uint32_t clock_ms;
};

/* Whether an item is the first one of its chunk. */
static bool begins_chunk(const lethe_run *run, uint64_t number) {
    return (number & (((uint64_t)1 << run->memory->item_bits) - 1)) == 0;
}

static void load_key(struct way *way) {
    way->key = (id_key)lethe_get_u64(way->at) << 16 | lethe_get_u16(way->at + 16);
}

/* Makes the item with way->number the next one, whatever was before it. */
static void place_way(struct way *way) {
    way->key = NO_KEY;
    if (way->number == way->run->count) return;
    way->at = lethe_run_place(way->run, way->number);
    load_key(way);
}

static void advance_way(struct way *way) {
    way->number++;
    if (way->number == way->run->count || begins_chunk(way->run, way->number)) {
        place_way(way);
        return;
    }
    way->at += ITEM;
    load_key(way);
}

bool lethe_run_can_merge(const lethe_run_writer *writer, const lethe_run_reader readers[WAYS]) {
    bool in_memory = !lethe_run_is_in_file(writer->run);
    uint64_t items = 0;
    for (unsigned i = 0; i < WAYS; i++) {
        if (readers[i].run == NULL || readers[i].run->count == 0) return false;
        in_memory = in_memory && !lethe_run_is_in_file(readers[i].run);
        items += readers[i].run->count - readers[i].at;
    }
    if (!in_memory) return false;
    uint64_t room = lethe_run_chunk_count(writer->run) << writer->run->memory->item_bits;
    return room - writer->run->count >= items;
}

/* Where the run goes on that is written. */
struct output {
    unsigned char *at;
    uint64_t shelf, count;
    uint32_t last_ms;
};

/* Begins the shelves up to that of the order. */
static void turn_to(struct output *out, const lethe_run *run, uint64_t order) {
    uint64_t shelf = lethe_run_shelf(run, order);
    while (out->shelf < shelf)
        run->starts[++out->shelf] = out->count;
}

static void move_item(struct output *out, const lethe_run *run, struct way *way) {
    lethe_run_item item = lethe_run_item_load(way->at);
    item.clock_ms += way->clock_ms;
    turn_to(out, run, item.order);
    if (begins_chunk(run, out->count)) out->at = lethe_run_place(run, out->count);
    lethe_run_item_store(out->at, &item);
    out->at += ITEM;
    out->count++;
    if (item.clock_ms > out->last_ms) out->last_ms = item.clock_ms;
    advance_way(way);
}

uint64_t lethe_run_merge(lethe_run_writer *writer, lethe_run_reader readers[WAYS], uint64_t most) {
    lethe_run *run = writer->run;
    struct way ways[WAYS];
    for (unsigned i = 0; i < WAYS; i++) {
        const lethe_run *from = readers[i].run;
        ways[i] = (struct way){.run = from,
                               .number = readers[i].at,
                               .clock_ms = (uint32_t)(from->base_ms - run->base_ms)};
        place_way(&ways[i]);
    }
    struct output out = {.shelf = writer->shelf,
                         .count = run->count,
                         .last_ms = (uint32_t)(run->last_ms - run->base_ms)};
    if (!begins_chunk(run, run->count)) out.at = lethe_run_place(run, run->count);
    uint64_t moved = 0;
    for (; moved < most; moved++) {
        unsigned low = ways[1].key < ways[0].key, high = 2 + (ways[3].key < ways[2].key);
        unsigned least = ways[high].key < ways[low].key ? high : low;
        if (ways[least].key == NO_KEY) break;
        move_item(&out, run, &ways[least]);
    }
    for (unsigned i = 0; i < WAYS; i++) {
        readers[i].at = ways[i].number;
        if (ways[i].key != NO_KEY) readers[i].next = lethe_run_item_load(ways[i].at);
    }
    run->count = out.count;
    run->last_ms = run->base_ms + out.last_ms;
    writer->shelf = out.shelf;
    return moved;
}

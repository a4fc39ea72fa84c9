/* engine/ids/tail.c - the newest entries of the index.
 *
 * LAYOUT  items:  as in a run (run.c), in the order in which they came
 *         slots:  [bits of the id, place + 1], in 32 bits; 0 is free. A table with linear probing,
 *                 in which an id's first bits are its home, and a few slots more behind the last
 *                 home; the last slot stays free, so that every search ends
 * IDEA    A fresh id is only ever appended: a slot is written, which was fetched ahead, and an item
 *         behind the one before it. Nothing is moved, sorted or merged until memory is short, and
 *         then most ids of a run of counting have gone through no more than this.
 *         Since homes are first bits, the table is all but sorted. Items are written a few homes at
 *         a time, those of all tails together, which a simple sort of two dozen items puts in
 *         order.
 * I1      Nothing is ever removed, and the table has no end that leads to its beginning. So of
 *         items of one id, the later ones are in later slots: the last one that is found counts,
 *         and writing keeps their order.
 * I2      A search for an id that is not there looks at slots of one or two cache lines, and almost
 *         never at an item: the bits in a slot differ from its own.
 * WHY     Most ids are never asked for. Tails that were sorted and merged at once took more time
 *         than asking a few tables does.
 * LIMIT   If the table overflows at its end, the tail is full sooner. Ids are hashes under a secret
 *         seed, so that it all but never happens. */
#include "engine/ids/tail.h"

#include "core/allocator.h"

/* Homes whose items are sorted together; how many homes ahead items are fetched. */
enum { TOGETHER = 8, AHEAD = 32, ITEM = LETHE_RUN_ITEM_BYTES };

/* --- memory --- */

lethe_tail_form lethe_tail_plan(uint64_t limit, const lethe_allocator *allocator) {
    lethe_tail_form form = {
        .allocator = allocator, .limit = limit, .home_bits = 1, .place_bits = 1};
    if (form.limit == 0) form.limit = 1;
    while (4 * form.limit > (uint64_t)3 << form.home_bits) /* three quarters are used at most */
        form.home_bits++;
    while (form.limit >> form.place_bits > 0)
        form.place_bits++;
    return form;
}

static size_t items_bytes(const lethe_tail_form *form) {
    return (size_t)form->limit * ITEM;
}

uint64_t lethe_tail_table_bytes(const lethe_tail_form *form) {
    return (lethe_tail_last_slot(form) + 1) * sizeof(uint32_t);
}

uint64_t lethe_tail_bytes(const lethe_tail_form *form) {
    return items_bytes(form) + lethe_tail_table_bytes(form);
}

lethe_status lethe_tail_make(const lethe_tail_form *form, lethe_tail *tail) {
    size_t table_bytes = (size_t)lethe_tail_table_bytes(form);
    if (tail->items == NULL) tail->items = lethe_alloc_zeroed(form->allocator, items_bytes(form));
    if (tail->slots == NULL) {
        tail->slots = lethe_alloc_zeroed(form->allocator, table_bytes);
    } else if (tail->count > 0) {
        memset(tail->slots, 0, table_bytes);
    }
    tail->count = 0;
    return tail->items != NULL && tail->slots != NULL ? LETHE_OK : LETHE_ENOMEM;
}

void lethe_tail_drop(const lethe_tail_form *form, lethe_tail *tail) {
    lethe_release(form->allocator, tail->items, items_bytes(form));
    lethe_release(form->allocator, tail->slots, (size_t)lethe_tail_table_bytes(form));
    *tail = (lethe_tail){0};
}

/* --- adding and finding --- */

static const unsigned char *item_of(const lethe_tail_form *form, const lethe_tail *tail,
                                    uint32_t slot) {
    uint32_t place = (slot & (((uint32_t)1 << form->place_bits) - 1)) - 1;
    return tail->items + (size_t)place * ITEM;
}

/* Whether the item in this slot may be the one with the tag. */
static bool may_have(const lethe_tail_form *form, uint32_t slot, uint32_t tag) {
    return (slot ^ tag) >> form->place_bits == 0;
}

bool lethe_tail_find(const lethe_tail_form *form, const lethe_tail *tail, lethe_log_id id,
                     lethe_index_entry *out) {
    uint64_t order = lethe_run_order(id);
    uint32_t tag = lethe_tail_tag(form, order);
    uint16_t rest = lethe_run_rest(id);
    bool found = false;
    for (const uint32_t *slot = lethe_tail_home(form, tail, order); *slot != 0; slot++) {
        if (!may_have(form, *slot, tag)) continue;
        lethe_run_item item = lethe_run_item_load(item_of(form, tail, *slot));
        if (item.order != order || item.rest != rest) continue;
        *out =
            (lethe_index_entry){.clock_ms = tail->base_ms + item.clock_ms, .digest = item.digest};
        found = true;
    }
    return found;
}

bool lethe_tail_prefetch_item(const lethe_tail_form *form, const lethe_tail *tail,
                              lethe_log_id id) {
    uint64_t order = lethe_run_order(id);
    uint32_t tag = lethe_tail_tag(form, order);
    for (const uint32_t *slot = lethe_tail_home(form, tail, order); *slot != 0; slot++) {
        if (!may_have(form, *slot, tag)) continue;
        __builtin_prefetch(item_of(form, tail, *slot));
        return true;
    }
    return false;
}

/* --- writing --- */

lethe_status lethe_tail_writer_begin(lethe_tail_writer *writer, const lethe_tail *tails,
                                     unsigned count, const char *path, lethe_chunks *memory) {
    uint64_t items = 0, base_ms = tails[0].base_ms;
    for (unsigned i = 0; i < count; i++) {
        items += tails[i].count;
        if (tails[i].base_ms < base_ms) base_ms = tails[i].base_ms;
    }
    *writer = (lethe_tail_writer){
        .tails = tails, .count = count, .items = {.allocator = memory->allocator}};
    return lethe_run_begin(&writer->run, items, base_ms, path, memory);
}

/* Takes the items of a tail whose homes are from `from` to `to` - 1. They are in the slots from
 * there on, up to the first free one behind those homes. */
static lethe_status gather(const lethe_tail_form *form, const lethe_tail *tail, uint64_t from,
                           uint64_t to, lethe_tail_writer *writer) {
    lethe_buffer *items = &writer->items;
    uint32_t behind_ms = (uint32_t)(tail->base_ms - writer->run.run->base_ms);
    for (uint64_t at = from; at < to || tail->slots[at] != 0; at++) {
        if (at + AHEAD < lethe_tail_last_slot(form) && at < to && tail->slots[at + AHEAD] != 0)
            __builtin_prefetch(item_of(form, tail, tail->slots[at + AHEAD]));
        if (tail->slots[at] == 0) continue;
        lethe_run_item item = lethe_run_item_load(item_of(form, tail, tail->slots[at]));
        uint64_t home = item.order >> (64 - form->home_bits);
        if (home < from || home >= to) continue;
        item.clock_ms += behind_ms;
        if (!lethe_buffer_reserve(items, sizeof item)) return LETHE_ENOMEM;
        lethe_buffer_append(items, &item, sizeof item);
    }
    return LETHE_OK;
}

/* Those of one id stay in their order. */
static void sort(lethe_run_item *items, size_t count) {
    for (size_t i = 1; i < count; i++) {
        lethe_run_item item = items[i];
        size_t at = i;
        for (; at > 0 && lethe_run_item_is_before(&item, &items[at - 1]); at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Writes the items of the next few homes, and says how many they are. */
static lethe_status write_homes(const lethe_tail_form *form, lethe_tail_writer *writer,
                                size_t *written) {
    uint64_t homes = (uint64_t)1 << form->home_bits, from = writer->home;
    uint64_t to = homes - from < TOGETHER ? homes : from + TOGETHER;
    lethe_status status = LETHE_OK;
    writer->items.size = 0;
    for (unsigned i = 0; i < writer->count && status == LETHE_OK; i++)
        status = gather(form, &writer->tails[i], from, to, writer);
    if (status != LETHE_OK) return status;
    lethe_run_item *items = (void *)writer->items.data;
    *written = writer->items.size / sizeof *items;
    sort(items, *written);
    for (size_t i = 0; i < *written && status == LETHE_OK; i++)
        status = lethe_run_append(&writer->run, &items[i]);
    writer->home = to;
    return status;
}

lethe_status lethe_tail_writer_go_on(const lethe_tail_form *form, lethe_tail_writer *writer,
                                     uint64_t most, bool *ended) {
    lethe_status status = LETHE_OK;
    size_t written = 0;
    for (uint64_t moved = 0; moved < most && writer->home >> form->home_bits == 0;
         moved += written) {
        status = write_homes(form, writer, &written);
        if (status != LETHE_OK) break;
    }
    *ended = writer->home >> form->home_bits != 0;
    return status;
}

lethe_status lethe_tail_writer_end(lethe_tail_writer *writer, lethe_run **out) {
    lethe_status status = lethe_run_end(&writer->run, out);
    lethe_tail_writer_abandon(writer);
    return status;
}

void lethe_tail_writer_abandon(lethe_tail_writer *writer) {
    lethe_run_abandon(&writer->run);
    lethe_buffer_free(&writer->items);
    *writer = (lethe_tail_writer){0};
}

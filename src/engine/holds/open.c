/* engine/holds/open.c - the open holds of a store, in memory.
 *
 * IDEA    Bounds count what is held, and a lease ends by itself. So every open hold is in memory: a
 *         heap has the one whose lease ends first at its root, and a table finds one by its id.
 * I1      heap[hold->place] is the hold, and no parent's lease ends after its children's.
 * I2      What the heap has is held (values/held.h), and nothing else is.
 * I3      A lease has ended when the clock is past its last millisecond (claims/decide.c, I1).
 *         Nothing is written then: it follows from the record. Whatever is decided because of it is
 *         committed with a clock that is past it too, so that after a crash it has ended as well.
 * WHY     The end of a lease is recorded later, by the calls about holds (tidy.c): operations that
 *         only carry bounds write nothing about holds. */
#include "core/allocator.h"
#include "core/detail.h"
#include "engine/store.h"

/* Fewer records without a hold than this are not worth moving the others. */
enum { FEW_GONE = 1024, FEWEST = 16 };

static size_t size_of(const lethe_hold_open *hold) {
    return sizeof *hold + hold->id_size + hold->key_size;
}

static lethe_bytes id_of(const lethe_hold_open *hold) {
    return (lethe_bytes){.data = hold->bytes, .size = hold->id_size};
}

static lethe_bytes key_of(const lethe_hold_open *hold) {
    return (lethe_bytes){.data = hold->bytes + hold->id_size, .size = hold->key_size};
}

static void release(lethe_store *store, lethe_hold_open *hold) {
    store->holds.bytes -= size_of(hold);
    lethe_release(store->allocator, hold, size_of(hold));
}

/* --- the heap --- */

static void put(lethe_holds *holds, size_t place, lethe_hold_open *hold) {
    holds->heap[place] = hold;
    hold->place = place;
}

static void sift_up(lethe_holds *holds, lethe_hold_open *hold) {
    size_t place = hold->place;
    while (place > 0 && holds->heap[(place - 1) / 2]->deadline_ms > hold->deadline_ms) {
        put(holds, place, holds->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(holds, place, hold);
}

static void sift_down(lethe_holds *holds, lethe_hold_open *hold) {
    size_t place = hold->place;
    for (size_t child; (child = 2 * place + 1) < holds->count; place = child) {
        lethe_hold_open *const *heap = holds->heap;
        if (child + 1 < holds->count && heap[child + 1]->deadline_ms < heap[child]->deadline_ms)
            child++;
        if (heap[child]->deadline_ms >= hold->deadline_ms) break;
        put(holds, place, heap[child]);
    }
    put(holds, place, hold);
}

static bool reserve(lethe_store *store) {
    lethe_holds *holds = &store->holds;
    if (holds->count < holds->capacity) return true;
    size_t capacity = 2 * holds->capacity + FEWEST;
    lethe_hold_open **heap = lethe_alloc_zeroed(store->allocator, capacity * sizeof(void *));
    if (heap == NULL) return false;
    if (holds->count > 0) memcpy(heap, holds->heap, holds->count * sizeof(void *));
    lethe_release(store->allocator, holds->heap, holds->capacity * sizeof(void *));
    holds->heap = heap;
    holds->capacity = capacity;
    return true;
}

/* --- by id --- */

static uint32_t tag_of(const void *context, lethe_bytes id) {
    const lethe_store *store = context;
    return lethe_tally_tag(lethe_hash_bytes(store->state.seed, id.data, id.size));
}

static bool has_hold(const void *context, const lethe_tally_record *record) {
    (void)context;
    return !record->absent;
}

static lethe_tally_record *find(const lethe_store *store, lethe_bytes id) {
    return lethe_tally_find(store->holds.by_id, tag_of(store, id), id);
}

/* Takes a hold out of the heap and out of the sums. It stays the caller's. */
static void take_out(lethe_store *store, lethe_hold_open *hold) {
    lethe_holds *holds = &store->holds;
    holds->held_high -= holds->held_low < (uint64_t)hold->amount;
    holds->held_low -= (uint64_t)hold->amount;
    lethe_hold_open *last = holds->heap[--holds->count];
    if (last != hold) {
        put(holds, hold->place, last);
        sift_up(holds, last);
        sift_down(holds, last);
    }
    find(store, id_of(hold))->absent = true;
    holds->gone++;
    lethe_held_remove(&store->values, key_of(hold), hold->wall_ms, hold->amount);
    if (holds->gone < FEW_GONE || holds->gone < lethe_tally_count(holds->by_id) / 2) return;
    lethe_status status = lethe_tally_keep(
        holds->by_id, &(lethe_tally_filter){.stays = has_hold, .tag = tag_of, .context = store});
    if (status == LETHE_OK) holds->gone = 0; /* otherwise they stay */
}

/* Has the table find it. */
static bool enter(lethe_store *store, lethe_hold_open *hold) {
    lethe_holds *holds = &store->holds;
    lethe_tally_record *record = find(store, id_of(hold));
    if (record == NULL)
        record = lethe_tally_add(holds->by_id, tag_of(store, id_of(hold)), id_of(hold));
    else
        holds->gone--;
    if (record == NULL) return false;
    record->absent = false;
    record->value = (int64_t)(intptr_t)hold;
    return true;
}

/* --- what others call --- */

static lethe_status make(lethe_store *store, lethe_bytes id, const lethe_hold_record *record,
                         lethe_hold_open **out) {
    size_t size = sizeof **out + id.size + record->key.size;
    lethe_hold_open *hold = lethe_alloc_zeroed(store->allocator, size);
    *out = hold;
    if (hold == NULL) return LETHE_ENOMEM;
    hold->deadline_ms = record->deadline_ms;
    hold->wall_ms = record->wall_ms;
    hold->amount = record->amount;
    hold->id_size = (uint16_t)id.size;
    hold->key_size = (uint16_t)record->key.size;
    memcpy(hold->bytes, id.data, id.size);
    memcpy(hold->bytes + id.size, record->key.data, record->key.size);
    store->holds.bytes += size;
    return LETHE_OK;
}

lethe_status lethe_holds_add(lethe_store *store, lethe_bytes id, const lethe_hold_record *record) {
    lethe_holds *holds = &store->holds;
    lethe_hold_open *hold;
    lethe_status status = LETHE_OK;
    if (holds->by_id == NULL) status = lethe_tally_new(store->allocator, 0, &holds->by_id);
    if (status == LETHE_OK && !reserve(store)) status = LETHE_ENOMEM;
    if (status == LETHE_OK) status = make(store, id, record, &hold);
    if (status != LETHE_OK) return status;
    status = lethe_held_add(&store->values, record->key, record->wall_ms, record->amount);
    if (status == LETHE_OK && !enter(store, hold)) {
        lethe_held_remove(&store->values, record->key, record->wall_ms, record->amount);
        status = LETHE_ENOMEM;
    }
    if (status != LETHE_OK) {
        release(store, hold);
        return status;
    }
    put(holds, holds->count++, hold);
    sift_up(holds, hold);
    holds->held_low += (uint64_t)hold->amount;
    holds->held_high += holds->held_low < (uint64_t)hold->amount;
    return LETHE_OK;
}

void lethe_holds_remove(lethe_store *store, lethe_bytes id) {
    lethe_hold_open *hold = (lethe_hold_open *)(intptr_t)find(store, id)->value;
    take_out(store, hold);
    release(store, hold);
}

static void append_lapsed(lethe_holds *holds, lethe_hold_open *hold) {
    if (holds->lapsed == NULL) holds->lapsed_end = &holds->lapsed;
    hold->next = NULL;
    *holds->lapsed_end = hold;
    holds->lapsed_end = &hold->next;
}

void lethe_holds_lapse(lethe_store *store, uint64_t now_ms) {
    lethe_holds *holds = &store->holds;
    while (holds->count > 0 && holds->heap[0]->deadline_ms < now_ms) {
        lethe_hold_open *hold = holds->heap[0];
        take_out(store, hold);
        append_lapsed(holds, hold);
    }
}

void lethe_holds_drop_lapsed(lethe_store *store) {
    lethe_hold_open *hold = store->holds.lapsed;
    store->holds.lapsed = hold->next;
    release(store, hold);
}

/* --- opening and closing --- */

/* Takes one from disk. Of one whose lease has ended nothing is held, whether or not a call has
 * recorded that: others may have been placed since, and the sum of all need not fit. */
static lethe_status take_in(lethe_store *store, lethe_bytes key, lethe_bytes value,
                            uint64_t now_ms) {
    lethe_hold_record hold;
    lethe_hold_open *lapsed;
    lethe_status status = lethe_hold_load(value, &hold);
    if (status != LETHE_OK || hold.state != LETHE_HOLD_IS_OPEN) return status;
    if (hold.place > store->values.meters.count) return LETHE_ECORRUPT;
    lethe_bytes id = {.data = (const char *)key.data + 1, .size = key.size - 1};
    if (hold.deadline_ms < now_ms) {
        status = make(store, id, &hold, &lapsed);
        if (status == LETHE_OK) append_lapsed(&store->holds, lapsed);
        return status;
    }
    status = lethe_holds_add(store, id, &hold);
    return status == LETHE_EFULL ? LETHE_ECORRUPT : status;
}

lethe_status lethe_holds_open(lethe_store *store, lethe_detail *detail) {
    static const char first = LETHE_HOLD_BY_ID;
    if (!store->claims.exist || store->claims.record.holds.placed == 0) return LETHE_OK;
    if (store->values.kind != &lethe_counters_values)
        return lethe_explain_damage("a hold", LETHE_ECORRUPT, detail);
    uint64_t now_ms = lethe_claims_now(&store->claims);
    lethe_walk *walk;
    lethe_status status = lethe_walk_begin(store->disk, LETHE_FAMILY_CLAIMS,
                                           (lethe_bytes){.data = &first, .size = 1}, &walk);
    if (status != LETHE_OK) return lethe_explain_damage("", status, detail);
    lethe_bytes key, value;
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value) && key.size > 1 &&
           *(const char *)key.data == LETHE_HOLD_BY_ID)
        status = take_in(store, key, value, now_ms);
    lethe_status ended = lethe_walk_end(walk, detail);
    return status == LETHE_OK ? ended : lethe_explain_damage("a hold", status, detail);
}

void lethe_holds_close(lethe_store *store) {
    lethe_holds *holds = &store->holds;
    for (size_t i = 0; i < holds->count; i++)
        release(store, holds->heap[i]);
    while (holds->lapsed != NULL)
        lethe_holds_drop_lapsed(store);
    lethe_release(store->allocator, holds->heap, holds->capacity * sizeof(void *));
    lethe_tally_free(holds->by_id);
    *holds = (lethe_holds){0};
}

/* sketch/top.c - the list of the most frequent keys.
 *
 * IDEA    A key is in the list while its estimate is among the highest. Whenever a key is added to
 *         the sketch, its new estimate is compared with the lowest one in the list. A true heavy
 *         hitter enters with its last addition at the latest, because from then on its estimate is
 *         at least its frequency.
 * LAYOUT  keys, in any order; a min-heap of (estimate, key); an open-addressing table from hash to
 *         key, with linear probing. All three grow together, up to twice the number asked for.
 * I1      An entry of the heap is never above its key's count. An addition raises only the count;
 *         the heap is corrected when its lowest entry matters. So adding a frequent key costs one
 *         lookup.
 * I2      floor is the heap's lowest entry if the list is full, else 0. A key whose estimate is
 *         below floor cannot change the list.
 * I3      Which keys are in the list depends only on the keys in it and on what is added, never on
 *         the layout in memory. Of equal counts the lower hash leaves first, and additions are
 *         compared with the true lowest count. So a list that was saved and loaded, as a replica's
 *         was, develops exactly like the original.
 * WHY     count is the estimate at the key's own last change, not the current one: it is as good an
 *         upper bound, and what other keys have since done to its counters does not raise it.
 *         at_least starts with the addition that brought the key in, so it is certain.
 * LIMIT   A key that left the list, and would return only because other keys were removed, stays
 *         out until it is added again. */
#include "sketch/top.h"

#include <stdlib.h>
#include <string.h>

#include "core/allocator.h"
#include "core/bits.h"
#include "core/salt.h"

enum { FIRST_ROOM = 64, LEAST_KEY_BYTES = 64, SLOTS_PER_KEY = 2 };

struct heap_entry {
    uint64_t count;
    uint32_t key;
    /* The low bits of the key's hash, which decide between most equal counts. */
    uint32_t tie;
};

struct lethe_top {
    struct lethe_top_key *keys;
    struct heap_entry *heap;
    /* A slot holds the number of a key plus 1, or 0 if it is empty. */
    uint32_t *slots;

    uint32_t used, room, capacity, wanted;
    uint32_t slot_mask;
    uint64_t floor;
    uint64_t salt;
    const lethe_allocator *allocator;
};

uint64_t lethe_top_capacity(uint32_t wanted) {
    return 2 * (uint64_t)wanted;
}

lethe_status lethe_top_new(uint32_t wanted, const lethe_allocator *allocator,
                           struct lethe_top **out) {
    *out = lethe_alloc_zeroed(allocator, sizeof **out);
    if (*out == NULL) return LETHE_ENOMEM;
    (*out)->wanted = wanted;
    (*out)->capacity = (uint32_t)lethe_top_capacity(wanted);
    (*out)->allocator = allocator;
    (*out)->salt = lethe_salt();
    return LETHE_OK;
}

/* The bytes of the three arrays, for a given number of keys. */
struct sizes {
    size_t keys, heap, slots;
    uint32_t slot_count;
};

static struct sizes sizes_for(uint32_t room) {
    struct sizes sizes = {.slot_count = 1};
    while (sizes.slot_count < SLOTS_PER_KEY * room)
        sizes.slot_count *= 2;
    sizes.keys = room * sizeof(struct lethe_top_key);
    sizes.heap = room * sizeof(struct heap_entry);
    sizes.slots = sizes.slot_count * sizeof(uint32_t);
    return sizes;
}

static void release_arrays(struct lethe_top *top) {
    if (top->room == 0) return;
    struct sizes sizes = sizes_for(top->room);
    lethe_release(top->allocator, top->keys, sizes.keys);
    lethe_release(top->allocator, top->heap, sizes.heap);
    lethe_release(top->allocator, top->slots, sizes.slots);
}

void lethe_top_free(struct lethe_top *top) {
    if (top == NULL) return;
    /* Keys beyond those in use have memory too, after a clear. */
    for (uint32_t i = 0; i < top->room; i++)
        lethe_release(top->allocator, top->keys[i].bytes, top->keys[i].room);
    release_arrays(top);
    lethe_release(top->allocator, top, sizeof *top);
}

void lethe_top_clear(struct lethe_top *top) {
    if (top->room > 0) memset(top->slots, 0, sizes_for(top->room).slots);
    top->used = 0;
    top->floor = 0;
}

uint32_t lethe_top_count(const struct lethe_top *top) {
    return top->used;
}

const struct lethe_top_key *lethe_top_at(const struct lethe_top *top, uint32_t i) {
    return &top->keys[i];
}

/* The home slot of a hash. It depends on a salt of this process, since an attacker can choose keys
 * whose hashes are similar. One multiplication suffices, because the input is already a hash. */
static uint32_t home_of(const struct lethe_top *top, lethe_hash hash) {
    lethe_uint128 product = (lethe_uint128)(hash.low ^ top->salt) * (hash.high ^ ~top->salt);
    return (uint32_t)(product ^ product >> 64) & top->slot_mask;
}

/* The slot of a hash, or the empty slot in which it belongs. */
static uint32_t slot_of(const struct lethe_top *top, lethe_hash hash) {
    uint32_t slot = home_of(top, hash);
    while (top->slots[slot] != 0) {
        const struct lethe_top_key *key = &top->keys[top->slots[slot] - 1];
        if (key->hash.low == hash.low && key->hash.high == hash.high) break;
        slot = (slot + 1) & top->slot_mask;
    }
    return slot;
}

static struct lethe_top_key *find(const struct lethe_top *top, lethe_hash hash) {
    if (top->room == 0) return NULL;
    uint32_t number = top->slots[slot_of(top, hash)];
    return number == 0 ? NULL : &top->keys[number - 1];
}

const struct lethe_top_key *lethe_top_find(const struct lethe_top *top, lethe_hash hash) {
    return find(top, hash);
}

/* Removes a hash from the table and moves the hashes it had displaced closer to their homes. */
static void drop_slot(struct lethe_top *top, lethe_hash hash) {
    uint32_t hole = slot_of(top, hash), next = hole;
    top->slots[hole] = 0;
    for (;;) {
        next = (next + 1) & top->slot_mask;
        if (top->slots[next] == 0) return;
        uint32_t home = home_of(top, top->keys[top->slots[next] - 1].hash);
        /* It stays if its home lies, cyclically, after the hole. */
        if (((next - home) & top->slot_mask) < ((next - hole) & top->slot_mask)) continue;
        top->slots[hole] = top->slots[next];
        top->slots[next] = 0;
        hole = next;
    }
}

static struct heap_entry entry_of(const struct lethe_top *top, uint32_t number) {
    const struct lethe_top_key *key = &top->keys[number];
    return (struct heap_entry){.count = key->count, .key = number, .tie = (uint32_t)key->hash.low};
}

/* Whether a leaves the list before b. */
static bool is_lower(const struct lethe_top *top, struct heap_entry a, struct heap_entry b) {
    if (a.count != b.count) return a.count < b.count;
    if (a.tie != b.tie) return a.tie < b.tie;
    lethe_hash first = top->keys[a.key].hash, second = top->keys[b.key].hash;
    return first.low != second.low ? first.low < second.low : first.high < second.high;
}

static void put_in_heap(struct lethe_top *top, uint32_t place, struct heap_entry entry) {
    top->heap[place] = entry;
    top->keys[entry.key].place = place;
}

static void sift_up(struct lethe_top *top, uint32_t place) {
    struct heap_entry entry = top->heap[place];
    while (place > 0 && is_lower(top, entry, top->heap[(place - 1) / 2])) {
        put_in_heap(top, place, top->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put_in_heap(top, place, entry);
}

static void sift_down(struct lethe_top *top, uint32_t place) {
    struct heap_entry entry = top->heap[place];
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= top->used) break;
        if (child + 1 < top->used && is_lower(top, top->heap[child + 1], top->heap[child])) child++;
        if (!is_lower(top, top->heap[child], entry)) break;
        put_in_heap(top, place, top->heap[child]);
        place = child;
    }
    put_in_heap(top, place, entry);
}

static void set_floor(struct lethe_top *top) {
    top->floor = top->used == top->capacity ? top->heap[0].count : 0;
}

/* Brings the key with the true lowest count to the front of the heap: I1. */
static void settle(struct lethe_top *top) {
    for (;;) {
        uint64_t count = top->keys[top->heap[0].key].count;
        if (top->heap[0].count == count) break;
        top->heap[0].count = count;
        sift_down(top, 0);
    }
    set_floor(top);
}

static void set_count(struct lethe_top *top, struct lethe_top_key *key, uint64_t count) {
    key->count = count;
    if (count >= top->heap[key->place].count) return;
    top->heap[key->place].count = count;
    sift_up(top, key->place);
    set_floor(top);
}

/* Doubles the arrays. */
static lethe_status grow(struct lethe_top *top) {
    uint32_t room = top->room == 0 ? FIRST_ROOM : 2 * top->room;
    if (room > top->capacity) room = top->capacity;
    struct sizes sizes = sizes_for(room);
    struct lethe_top_key *keys = lethe_alloc_zeroed(top->allocator, sizes.keys);
    struct heap_entry *heap = lethe_alloc_zeroed(top->allocator, sizes.heap);
    uint32_t *slots = lethe_alloc_zeroed(top->allocator, sizes.slots);
    if (keys == NULL || heap == NULL || slots == NULL) {
        lethe_release(top->allocator, keys, sizes.keys);
        lethe_release(top->allocator, heap, sizes.heap);
        lethe_release(top->allocator, slots, sizes.slots);
        return LETHE_ENOMEM;
    }
    if (top->keys != NULL) {
        memcpy(keys, top->keys, top->room * sizeof *keys);
        memcpy(heap, top->heap, top->used * sizeof *heap);
    }
    release_arrays(top);
    top->keys = keys;
    top->heap = heap;
    top->slots = slots;
    top->room = room;
    top->slot_mask = sizes.slot_count - 1;
    for (uint32_t i = 0; i < top->used; i++)
        slots[slot_of(top, keys[i].hash)] = i + 1;
    return LETHE_OK;
}

/* Stores bytes as the key, in its allocation if they fit. */
static lethe_status write_bytes(struct lethe_top *top, struct lethe_top_key *key,
                                lethe_bytes bytes) {
    if (bytes.size > key->room) {
        uint32_t room = LEAST_KEY_BYTES;
        while (room < bytes.size)
            room *= 2;
        void *larger = lethe_alloc_zeroed(top->allocator, room);
        if (larger == NULL) return LETHE_ENOMEM;
        lethe_release(top->allocator, key->bytes, key->room);
        key->bytes = larger;
        key->room = room;
    }
    if (bytes.size > 0) memcpy(key->bytes, bytes.data, bytes.size);
    key->size = (uint32_t)bytes.size;
    return LETHE_OK;
}

/* Adds a key to a list that is not full. */
static lethe_status append(struct lethe_top *top, lethe_hash hash, lethe_bytes bytes, uint64_t seen,
                           uint64_t count) {
    if (top->used == top->room || top->keys == NULL) {
        if (grow(top) != LETHE_OK) return LETHE_ENOMEM;
    }
    uint32_t number = top->used;
    struct lethe_top_key *key = &top->keys[number];
    if (write_bytes(top, key, bytes) != LETHE_OK) return LETHE_ENOMEM;
    key->hash = hash;
    key->count = count;
    key->at_least = seen;
    top->slots[slot_of(top, hash)] = number + 1;
    top->used++;
    top->heap[number] = entry_of(top, number);
    sift_up(top, number);
    set_floor(top);
    return LETHE_OK;
}

/* Replaces the lowest key, which is first in the heap, if the new one is higher. */
static lethe_status replace(struct lethe_top *top, lethe_hash hash, lethe_bytes bytes,
                            uint64_t seen, uint64_t count) {
    if (count <= top->heap[0].count) return LETHE_OK;
    uint32_t number = top->heap[0].key;
    struct lethe_top_key *key = &top->keys[number];
    lethe_hash old = key->hash;
    if (write_bytes(top, key, bytes) != LETHE_OK) return LETHE_ENOMEM;
    drop_slot(top, old);
    key->hash = hash;
    key->count = count;
    key->at_least = seen;
    top->slots[slot_of(top, hash)] = number + 1;
    top->heap[0] = entry_of(top, number);
    sift_down(top, 0);
    set_floor(top);
    return LETHE_OK;
}

lethe_status lethe_top_added(struct lethe_top *top, lethe_hash hash, lethe_bytes key, uint64_t seen,
                             uint64_t count) {
    if (count < top->floor) return LETHE_OK;
    struct lethe_top_key *kept = find(top, hash);
    /* Compare with the true floor. It is not above the count of any key in the list, so a key
     * that is in the list and rises does not need it. */
    if (top->keys != NULL && top->used == top->capacity && (kept == NULL || count < kept->count)) {
        settle(top);
        if (count < top->floor) return LETHE_OK;
    }
    if (kept != NULL) {
        uint64_t sum = kept->at_least + seen;
        kept->at_least = sum < seen ? UINT64_MAX : sum;
        set_count(top, kept, count);
        return LETHE_OK;
    }
    if (top->used < top->capacity || top->keys == NULL) return append(top, hash, key, seen, count);
    return replace(top, hash, key, seen, count);
}

void lethe_top_removed(struct lethe_top *top, lethe_hash hash, uint64_t weight, uint64_t count) {
    struct lethe_top_key *kept = find(top, hash);
    if (kept == NULL) return;
    kept->at_least = kept->at_least > weight ? kept->at_least - weight : 0;
    set_count(top, kept, count);
}

lethe_status lethe_top_copy(const struct lethe_top *top, struct lethe_top **out) {
    lethe_status status = lethe_top_new(top->wanted, top->allocator, out);
    for (uint32_t i = 0; status == LETHE_OK && i < top->used; i++) {
        const struct lethe_top_key *key = &top->keys[i];
        status = append(*out, key->hash, (lethe_bytes){key->bytes, key->size}, key->at_least,
                        key->count);
    }
    if (status != LETHE_OK) {
        lethe_top_free(*out);
        *out = NULL;
    }
    return status;
}

int lethe_top_order(uint64_t count_a, lethe_bytes a, uint64_t count_b, lethe_bytes b) {
    if (count_a != count_b) return count_a > count_b ? -1 : 1;
    size_t shared = a.size < b.size ? a.size : b.size;
    int order = shared == 0 ? 0 : memcmp(a.data, b.data, shared);
    if (order != 0) return order;
    return (a.size > b.size) - (a.size < b.size);
}

int lethe_top_compare(const struct lethe_top_key *a, const struct lethe_top_key *b) {
    return lethe_top_order(a->count, (lethe_bytes){a->bytes, a->size}, b->count,
                           (lethe_bytes){b->bytes, b->size});
}

static int compare_pointers(const void *a, const void *b) {
    return lethe_top_compare(*(const struct lethe_top_key *const *)a,
                             *(const struct lethe_top_key *const *)b);
}

lethe_status lethe_top_sorted(const struct lethe_top *top, const struct lethe_top_key ***out,
                              size_t *bytes) {
    *out = NULL;
    *bytes = top->used * sizeof(void *);
    if (top->used == 0) return LETHE_OK;
    const struct lethe_top_key **sorted = lethe_alloc_zeroed(top->allocator, *bytes);
    if (sorted == NULL) return LETHE_ENOMEM;
    for (uint32_t i = 0; i < top->used; i++)
        sorted[i] = &top->keys[i];
    qsort(sorted, top->used, sizeof(void *), compare_pointers);
    *out = sorted;
    return LETHE_OK;
}

/* engine/values/sketch_disk.c - a store's sketch on disk.
 *
 * IDEA    A saved sketch is a frame of megabytes. It goes into COUNTERS in pieces, through the
 *         table that a fold of counters uses (disk/fold_table.c), and so becomes part of the store
 *         as a whole or not at all.
 * LAYOUT  COUNTERS: []            -> the commit that it is of (disk/fold_table.c)
 *                   [n, 4 bytes]  -> piece n, from 0 on
 *                   [ff ff ff ff] -> bytes of all pieces together, 8
 * I1      A table replaces every record of the one before: pieces that are not needed any more are
 *         deleted in it.
 * WHY     In the store, not in a file of its own: so backups, checksums, and readers in other
 *         processes see the sketch and the log of the same moment without further work.
 * LIMIT   All of it is written each time, whatever changed. */
#include "engine/values/sketch_disk.h"

#include <string.h>

#include "core/allocator.h"
#include "core/bytes.h"
#include "core/detail.h"
#include "engine/log/segment.h"

enum { PIECE_BYTES = 1 << 20, PIECE_KEY_BYTES = 4, SIZE_BYTES = 8, KEYS_AT_ONCE = 256 };
static const uint32_t SIZE_KEY = UINT32_MAX;

lethe_sketch_options lethe_sketch_disk_options(const lethe_state *state,
                                               const lethe_allocator *allocator) {
    return LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID,
                         .memory_bytes = state->sketch_bytes, .top = state->sketch_top,
                         .seed = state->seed, .allocator = allocator);
}

static lethe_bytes piece_key(uint32_t number, unsigned char out[PIECE_KEY_BYTES]) {
    lethe_put_sorted_u32(out, number);
    return (lethe_bytes){.data = out, .size = PIECE_KEY_BYTES};
}

/* Takes the bytes of a sketch being saved, and puts them into the table piece by piece. */
struct cutter {
    lethe_fold_table *table;
    unsigned char *piece;
    size_t used;
    uint32_t number;
    uint64_t bytes;
};

static void put_piece(struct cutter *cutter) {
    unsigned char key[PIECE_KEY_BYTES];
    if (cutter->used == 0) return;
    lethe_fold_table_put(cutter->table, piece_key(cutter->number++, key),
                         (lethe_bytes){.data = cutter->piece, .size = cutter->used});
    cutter->used = 0;
}

static lethe_status take_bytes(void *context, const void *data, size_t size) {
    struct cutter *cutter = context;
    const unsigned char *at = data;
    cutter->bytes += size;
    while (size > 0) {
        size_t room = PIECE_BYTES - cutter->used, some = size < room ? size : room;
        memcpy(cutter->piece + cutter->used, at, some);
        cutter->used += some;
        at += some;
        size -= some;
        if (cutter->used == PIECE_BYTES) put_piece(cutter);
    }
    return LETHE_OK; /* an error of the table shows at its end */
}

/* What comes after the sketch's own bytes. */
static void put_end(struct cutter *cutter, uint32_t pieces_before) {
    unsigned char key[PIECE_KEY_BYTES], size[SIZE_BYTES];
    put_piece(cutter);
    for (uint32_t i = cutter->number; i < pieces_before; i++) {
        lethe_fold_table_delete(cutter->table, piece_key(i, key));
    }
    lethe_put_u64(size, cutter->bytes);
    lethe_fold_table_put(cutter->table, piece_key(SIZE_KEY, key),
                         (lethe_bytes){.data = size, .size = sizeof size});
}

lethe_status lethe_sketch_disk_save(lethe_disk *disk, const lethe_sketch *sketch, uint64_t cut,
                                    const lethe_allocator *allocator, lethe_sketch_saved *saved,
                                    lethe_detail *detail) {
    struct cutter cutter = {.piece = lethe_alloc_zeroed(allocator, PIECE_BYTES)};
    if (cutter.piece == NULL) return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory");
    lethe_status status =
        lethe_fold_table_begin(disk, LETHE_FAMILY_COUNTERS, cut, &cutter.table, detail);
    if (status == LETHE_OK) {
        status = lethe_sketch_save(sketch, (lethe_sink){.context = &cutter, .write = take_bytes});
        if (status == LETHE_OK) {
            put_end(&cutter, saved->pieces);
            status = lethe_fold_table_end(cutter.table, NULL, detail);
        } else {
            lethe_fold_table_drop(cutter.table);
            (void)lethe_detail_fill(detail, status, "cannot save the sketch: %s",
                                    lethe_strerror(status));
        }
    }
    lethe_release(allocator, cutter.piece, PIECE_BYTES);
    if (status == LETHE_OK) *saved = (lethe_sketch_saved){.cut = cut, .pieces = cutter.number};
    return status;
}

/* Puts the pieces together again. */
struct joiner {
    lethe_walk *walk;
    /* What of the current piece was not read yet. */
    lethe_bytes piece;
    /* The number of the next piece. */
    uint32_t next;
};

/* Goes on to the next piece; LETHE_ECORRUPT if there is none. */
static lethe_status next_piece(struct joiner *joiner) {
    unsigned char expected[PIECE_KEY_BYTES];
    lethe_bytes key;
    if (!lethe_walk_next(joiner->walk, &key, &joiner->piece)) return LETHE_ECORRUPT;
    (void)piece_key(joiner->next++, expected);
    bool is_it = key.size == PIECE_KEY_BYTES && memcmp(key.data, expected, PIECE_KEY_BYTES) == 0;
    return is_it && joiner->piece.size > 0 ? LETHE_OK : LETHE_ECORRUPT;
}

static lethe_status give_bytes(void *context, void *data, size_t size) {
    struct joiner *joiner = context;
    unsigned char *to = data;
    while (size > 0) {
        if (joiner->piece.size == 0) {
            lethe_status status = next_piece(joiner);
            if (status != LETHE_OK) return status;
        }
        size_t some = size < joiner->piece.size ? size : joiner->piece.size;
        memcpy(to, joiner->piece.data, some);
        joiner->piece.data = (const char *)joiner->piece.data + some;
        joiner->piece.size -= some;
        to += some;
        size -= some;
    }
    return LETHE_OK;
}

/* Whether nothing is left but the record of the size. */
static bool is_at_end(struct joiner *joiner) {
    unsigned char expected[PIECE_KEY_BYTES];
    lethe_bytes key, value;
    lethe_bytes end = piece_key(SIZE_KEY, expected);
    return joiner->piece.size == 0 && lethe_walk_next(joiner->walk, &key, &value) &&
           key.size == end.size && memcmp(key.data, end.data, end.size) == 0 &&
           !lethe_walk_next(joiner->walk, &key, &value);
}

/* A sketch of that plan can't take more on disk: counters, keys of the list, and their frame. */
static uint64_t most_bytes(const lethe_sketch_shape *shape) {
    enum { EACH = 64 + LETHE_KEY_LIMIT_BYTES, FRAME = 4096 };
    return shape->memory_bytes + (uint64_t)shape->top * 2 * EACH + FRAME;
}

static bool is_planned(const lethe_sketch_shape *shape, const lethe_sketch_shape *plan) {
    return shape->kind == plan->kind && shape->width == plan->width &&
           shape->depth == plan->depth && shape->is_width == plan->is_width &&
           shape->is_depth == plan->is_depth && shape->counter_bits == plan->counter_bits &&
           shape->removal == plan->removal && shape->top == plan->top && shape->seed == plan->seed;
}

/* Reads the number under the key; *found becomes whether there is such a record. */
static lethe_status get_number(lethe_disk *disk, lethe_bytes key, unsigned char out[SIZE_BYTES],
                               bool *found, lethe_detail *detail) {
    lethe_record record;
    lethe_status status = lethe_disk_get(disk, LETHE_FAMILY_COUNTERS, key, &record, detail);
    if (status != LETHE_OK) return status;
    *found = record.data != NULL;
    if (*found && record.size == SIZE_BYTES) {
        memcpy(out, record.data, SIZE_BYTES);
    } else if (*found) {
        status = LETHE_ECORRUPT;
    }
    lethe_record_release(&record);
    return status;
}

static lethe_status join(lethe_disk *disk, const lethe_sketch_shape *plan, uint64_t bytes,
                         const lethe_allocator *allocator, lethe_sketch **out,
                         lethe_sketch_saved *saved, lethe_detail *detail) {
    unsigned char first[PIECE_KEY_BYTES];
    struct joiner joiner = {0};
    lethe_status status =
        lethe_walk_begin(disk, LETHE_FAMILY_COUNTERS, piece_key(0, first), &joiner.walk);
    if (status != LETHE_OK) return status;
    status = lethe_sketch_load(
        (lethe_source){.context = &joiner, .read = give_bytes, .size_bytes = bytes}, allocator,
        out);
    if (status == LETHE_OK) {
        lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
        (void)lethe_sketch_get_shape(*out, &shape);
        if (!is_planned(&shape, plan) || !is_at_end(&joiner)) status = LETHE_ECORRUPT;
    }
    saved->pieces = joiner.next;
    /* What RocksDB found wrong is the better reason. */
    lethe_status ended = lethe_walk_end(joiner.walk, detail);
    return ended != LETHE_OK ? ended : status;
}

/* What is saved, if anything is. */
static lethe_status load_saved(lethe_disk *disk, const lethe_sketch_shape *plan,
                               const lethe_allocator *allocator, lethe_sketch **out,
                               lethe_sketch_saved *saved, lethe_detail *detail) {
    unsigned char key[PIECE_KEY_BYTES], number[SIZE_BYTES];
    bool found, has_size;
    lethe_status status = get_number(disk, (lethe_bytes){0}, number, &found, detail);
    if (status != LETHE_OK || !found) return status;
    (void)lethe_commit_of_key((lethe_bytes){.data = number, .size = SIZE_BYTES}, &saved->cut);
    status = get_number(disk, piece_key(SIZE_KEY, key), number, &has_size, detail);
    if (status != LETHE_OK) return status;
    uint64_t bytes = lethe_get_u64(number);
    if (!has_size || bytes > most_bytes(plan)) return LETHE_ECORRUPT;
    return join(disk, plan, bytes, allocator, out, saved, detail);
}

lethe_status lethe_sketch_disk_load(lethe_disk *disk, const lethe_state *state,
                                    const lethe_allocator *allocator, lethe_sketch **out,
                                    lethe_sketch_saved *saved, lethe_detail *detail) {
    *out = NULL;
    *saved = (lethe_sketch_saved){0};
    lethe_sketch_options options = lethe_sketch_disk_options(state, allocator);
    lethe_sketch_shape plan = LETHE_INIT(lethe_sketch_shape);
    lethe_status status = lethe_sketch_plan(&options, &plan);
    if (status == LETHE_EINVAL) status = LETHE_ECORRUPT; /* Lethe writes no such state */
    if (detail != NULL) detail->text[0] = '\0';
    if (status == LETHE_OK) status = load_saved(disk, &plan, allocator, out, saved, detail);
    if (status == LETHE_OK && *out == NULL) status = lethe_sketch_new(&options, out);
    if (status == LETHE_OK) return LETHE_OK;
    lethe_sketch_free(*out);
    *out = NULL;
    if (status == LETHE_ETYPE) status = LETHE_ECORRUPT;
    if (detail == NULL || detail->text[0] != '\0') return status;
    if (status == LETHE_ENOMEM)
        return lethe_detail_fill(detail, status, "not enough memory for the store's sketch");
    if (status == LETHE_EVERSION) {
        return lethe_detail_fill(detail, status,
                                 "the store was written by a newer version of lethe; use that one");
    }
    return lethe_detail_fill(detail, status, "the store's sketch is damaged; restore a backup");
}

/* Additions next to each other are made together, which is faster and gives the same result. */
struct additions {
    lethe_bytes keys[KEYS_AT_ONCE];
    uint64_t weights[KEYS_AT_ONCE];
    size_t count;
};

static lethe_status add_all(lethe_sketch *sketch, struct additions *additions) {
    size_t count = additions->count;
    additions->count = 0;
    return lethe_sketch_add_key_batch(sketch, additions->keys, count, additions->weights, NULL);
}

static lethe_status replay_one(lethe_sketch *sketch, const lethe_change *change,
                               struct additions *additions) {
    if (change->delta > 0) {
        additions->keys[additions->count] = change->key;
        additions->weights[additions->count++] = (uint64_t)change->delta;
        return additions->count == KEYS_AT_ONCE ? add_all(sketch, additions) : LETHE_OK;
    }
    lethe_status status = add_all(sketch, additions);
    if (status != LETHE_OK) return status;
    status =
        lethe_sketch_remove(sketch, change->key.data, change->key.size, -(uint64_t)change->delta);
    return status == LETHE_ENOTFOUND ? LETHE_ECORRUPT : status;
}

lethe_status lethe_sketch_disk_replay(lethe_sketch *sketch, lethe_bytes segment,
                                      uint64_t *changes) {
    struct additions additions;
    additions.count = 0;
    lethe_changes deltas;
    lethe_status status = lethe_deltas_open(segment, &deltas);
    if (status != LETHE_OK) return status;
    *changes += deltas.left;
    while (status == LETHE_OK && deltas.left > 0) {
        lethe_change change;
        status = lethe_deltas_next(&deltas, &change);
        if (status == LETHE_OK) status = replay_one(sketch, &change, &additions);
    }
    return status == LETHE_OK ? add_all(sketch, &additions) : status;
}

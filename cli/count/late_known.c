/* late_known.c - which records a list of late events has already.
 *
 * IDEA    With --from-start, events that were listed before are met again. So the list is read
 *         first, and of each record it is known how often it is there: a table of hashes.
 * I1      A record that is there n times is passed over n times, and then added.
 * WHY     A mark of the list says only how far it is right, and the events before the marks of the
 *         files are no part of what a killed run has left.
 * MEMORY  24 bytes for each record of the list, twice at most. */
#include <stdlib.h>
#include <string.h>

#include "count/late_known.h"
#include "events/frame.h"
#include "input/resume_find.h"
#include "say/message.h"

enum { LEAST_SLOTS = 1024, PIECE_BYTES = 1 << 20 };

/* count is one more than how often the record is there; 0: the slot is empty. */
struct slot {
    lethe_hash hash;
    uint64_t count;
};

struct count_known {
    struct slot *slots;
    size_t slot_count, used;
};

static struct slot *find(struct slot *slots, size_t slot_count, lethe_hash hash) {
    size_t at = (size_t)hash.low & (slot_count - 1);
    while (slots[at].count > 0 && !resume_hash_equal(slots[at].hash, hash)) {
        at = (at + 1) & (slot_count - 1);
    }
    return &slots[at];
}

static bool grow(struct count_known *known) {
    size_t slot_count = known->slot_count > 0 ? 2 * known->slot_count : LEAST_SLOTS;
    struct slot *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) return false;
    for (size_t i = 0; i < known->slot_count; i++) {
        if (known->slots[i].count == 0) continue;
        *find(slots, slot_count, known->slots[i].hash) = known->slots[i];
    }
    free(known->slots);
    known->slots = slots;
    known->slot_count = slot_count;
    return true;
}

static bool add(struct count_known *known, lethe_bytes record) {
    if (4 * (known->used + 1) > 3 * known->slot_count && !grow(known)) return false;
    lethe_hash hash = lethe_hash_bytes(LETHE_DEFAULT_SEED, record.data, record.size);
    struct slot *slot = find(known->slots, known->slot_count, hash);
    known->used += slot->count == 0;
    slot->hash = hash;
    slot->count += slot->count == 0 ? 2 : 1;
    return true;
}

/* What is read of the list: from `at` in the file on. */
struct piece {
    char *data;
    size_t size, room;
    uint64_t at;
};

/* Adds the whole records of a piece, and leaves the rest of it. */
static bool add_records(struct count_known *known, struct piece *piece, char delimiter,
                        bool is_last) {
    struct event_record record;
    struct event_frame frame = {0};
    size_t taken = 0;
    while (taken < piece->size && event_frame_find(&frame, delimiter, piece->data + taken,
                                                   piece->size - taken, is_last, &record)) {
        if (!add(known, (lethe_bytes){.data = piece->data + taken, .size = record.size}))
            return false;
        taken += record.taken;
        frame = (struct event_frame){0};
    }
    memmove(piece->data, piece->data + taken, piece->size - taken);
    piece->size -= taken;
    return true;
}

/* Reads more of the list, up to its end. */
static bool read_more(struct piece *piece, int descriptor, uint64_t end) {
    if (piece->room - piece->size < PIECE_BYTES) {
        char *larger = realloc(piece->data, 2 * piece->room + PIECE_BYTES);
        if (larger == NULL) return false;
        piece->data = larger;
        piece->room = 2 * piece->room + PIECE_BYTES;
    }
    uint64_t more = end - piece->at < PIECE_BYTES ? end - piece->at : PIECE_BYTES;
    if (!resume_read_at(descriptor, piece->at, piece->data + piece->size, (size_t)more))
        return false;
    piece->at += more;
    piece->size += (size_t)more;
    return true;
}

int count_known_read(const struct appended *list, char delimiter, struct count_known **out) {
    struct piece piece = {0};
    *out = calloc(1, sizeof **out);
    bool is_fine = *out != NULL;
    while (is_fine && piece.at < list->at) {
        is_fine = read_more(&piece, list->descriptor, list->at) &&
                  add_records(*out, &piece, delimiter, piece.at == list->at);
    }
    free(piece.data);
    if (is_fine) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT,
                        "cannot read %s, which --from-start needs, so that no line comes twice; "
                        "free memory, or name another file with --late-out",
                        list->path);
}

bool count_known_take(struct count_known *known, lethe_bytes record) {
    if (known == NULL || known->used == 0) return false;
    struct slot *slot = find(known->slots, known->slot_count,
                             lethe_hash_bytes(LETHE_DEFAULT_SEED, record.data, record.size));
    if (slot->count < 2) return false;
    slot->count--;
    return true;
}

void count_known_free(struct count_known *known) {
    if (known == NULL) return;
    free(known->slots);
    free(known);
}

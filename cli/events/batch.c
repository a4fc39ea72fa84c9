/* batch.c - the memory of a batch.
 *
 * I1      An empty batch has room for any line within the limit, and one operation may have as many
 *         changes as the library takes, whatever came before it.
 * WHY     All of it is allocated at the start: nothing is allocated per event. */
#include "events/batch.h"

#include <assert.h>
#include <stdlib.h>

/* A line, as much again for what is unescaped from it, and an id that is joined from several
 * fields. Lines of ordinary length fill a batch by their number long before this. */
_Static_assert(2 * EVENT_LINE_LIMIT_BYTES + LETHE_ID_LIMIT_BYTES <= EVENT_TEXT_BYTES,
               "an empty batch takes any line");

enum { CHANGES_ROOM = EVENTS_PER_BATCH + LETHE_CHANGES_LIMIT };

bool event_batch_init(struct event_batch *batch) {
    *batch = (struct event_batch){
        .share_room = calloc(EVENT_SHARES_LIMIT, sizeof *batch->share_room),
        .share_number_room = calloc(EVENTS_PER_BATCH, sizeof *batch->share_number_room),
        .operation_room = calloc(EVENTS_PER_BATCH, sizeof *batch->operation_room),
        .line_room = malloc(EVENTS_PER_BATCH * sizeof *batch->line_room),
        .number_room = malloc(EVENTS_PER_BATCH * sizeof *batch->number_room),
        .complaint_room = malloc(EVENT_COMPLAINTS_SHOWN * sizeof *batch->complaint_room),
        .changes = calloc(CHANGES_ROOM, sizeof *batch->changes),
        .text = malloc(EVENT_TEXT_BYTES),
    };
    if (batch->share_room == NULL || batch->share_number_room == NULL ||
        batch->operation_room == NULL || batch->line_room == NULL || batch->number_room == NULL ||
        batch->complaint_room == NULL || batch->changes == NULL || batch->text == NULL) {
        event_batch_free(batch);
        return false;
    }
    batch->shares = batch->share_room;
    batch->share_numbers = batch->share_number_room;
    batch->operations = batch->operation_room;
    batch->lines = batch->line_room;
    batch->line_numbers = batch->number_room;
    batch->complaints = batch->complaint_room;
    return true;
}

void event_batch_free(struct event_batch *batch) {
    free(batch->share_room);
    free(batch->share_number_room);
    free(batch->operation_room);
    free(batch->line_room);
    free(batch->number_room);
    free(batch->complaint_room);
    free(batch->changes);
    free(batch->text);
    *batch = (struct event_batch){0};
}

void event_batch_clear(struct event_batch *batch) {
    batch->share_count = 0;
    batch->crowd = 0;
    batch->count = 0;
    batch->unreadable = 0;
    batch->complaint_count = 0;
    batch->guessed_unit = UNIT_BY_SIZE;
    batch->given_id = (lethe_bytes){0};
    batch->change_count = 0;
    batch->text_used = 0;
}

size_t event_batch_add_share(struct event_batch *batch, size_t input, const char *path) {
    assert(batch->share_count < EVENT_SHARES_LIMIT);
    struct event_share *share = &batch->share_room[batch->share_count];
    share->input = input;
    share->path = path;
    share->slot = 0;
    share->header = (lethe_bytes){0};
    share->offset = share->line = share->resumed_at = 0;
    share->starts_input = share->was_taken = share->has_mark = share->is_pending_open = false;
    share->is_later = false;
    share->warning[0] = share->note[0] = '\0';
    share->pending_bytes = share->pending_line = 0;
    return batch->share_count++;
}

bool event_batch_has_mark(const struct event_batch *batch) {
    size_t marks = 0;
    for (size_t i = 0; i < batch->share_count; i++) {
        marks += batch->shares[i].has_mark;
    }
    return marks > 0;
}

struct event_extent event_batch_extent(const struct event_batch *batch) {
    return (struct event_extent){batch->count, batch->change_count, batch->text_used,
                                 batch->guessed_unit};
}

void event_batch_cut(struct event_batch *batch, struct event_extent extent) {
    batch->count = extent.count;
    batch->change_count = extent.change_count;
    batch->text_used = extent.text_used;
    batch->guessed_unit = extent.guessed_unit;
}

bool event_batch_has_room(const struct event_batch *batch, size_t size) {
    return batch->count < EVENTS_PER_BATCH &&
           2 * size + LETHE_ID_LIMIT_BYTES <= EVENT_TEXT_BYTES - batch->text_used;
}

char *event_batch_take(struct event_batch *batch, size_t size) {
    assert(size <= EVENT_TEXT_BYTES - batch->text_used);
    char *room = batch->text + batch->text_used;
    batch->text_used += size;
    return room;
}

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
        .operation_room = calloc(EVENTS_PER_BATCH, sizeof *batch->operation_room),
        .line_room = malloc(EVENTS_PER_BATCH * sizeof *batch->line_room),
        .number_room = malloc(EVENTS_PER_BATCH * sizeof *batch->number_room),
        .complaint_room = malloc(EVENT_COMPLAINTS_SHOWN * sizeof *batch->complaint_room),
        .changes = calloc(CHANGES_ROOM, sizeof *batch->changes),
        .text = malloc(EVENT_TEXT_BYTES),
    };
    if (batch->operation_room == NULL || batch->line_room == NULL || batch->number_room == NULL ||
        batch->complaint_room == NULL || batch->changes == NULL || batch->text == NULL) {
        event_batch_free(batch);
        return false;
    }
    batch->operations = batch->operation_room;
    batch->lines = batch->line_room;
    batch->line_numbers = batch->number_room;
    batch->complaints = batch->complaint_room;
    return true;
}

void event_batch_free(struct event_batch *batch) {
    free(batch->operation_room);
    free(batch->line_room);
    free(batch->number_room);
    free(batch->complaint_room);
    free(batch->changes);
    free(batch->text);
    *batch = (struct event_batch){0};
}

void event_batch_clear(struct event_batch *batch, size_t input, const char *path) {
    batch->input = input;
    batch->path = path;
    batch->count = 0;
    batch->unreadable = 0;
    batch->complaint_count = 0;
    batch->guessed_unit = UNIT_BY_SIZE;
    batch->starts_input = false;
    batch->resumed_at = 0;
    batch->warning[0] = '\0';
    batch->has_mark = false;
    batch->change_count = 0;
    batch->text_used = 0;
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

/* parse.c - parses a record by its format.
 *
 * I1      A record that is unreadable, or finds no room, leaves the batch as it was. */
#include "events/parse.h"

#include <string.h>

enum event_result event_parse(const struct event_format *format, lethe_bytes record, uint64_t line,
                              struct event_batch *batch, struct event_problem *problem) {
    if (record.size == 0) {
        event_problem_set(problem, "the line is empty; remove it");
        return EVENT_UNREADABLE;
    }
    size_t text_used = batch->text_used;
    size_t place = batch->count;
    enum event_time_unit guessed_unit = batch->guessed_unit;
    char *copy = event_batch_take(batch, record.size);
    memcpy(copy, record.data, record.size);
    record.data = copy;
    enum event_result result = EVENT_UNREADABLE;
    switch (format->kind) {
    case EVENTS_PLAIN:
        result = event_parse_plain(format, record, batch, problem);
        break;
    case EVENTS_CSV:
        result = event_parse_csv(format, record, batch, problem);
        break;
    case EVENTS_JSONL:
        result = event_parse_json(format, record, batch, problem);
        break;
    }
    if (result == EVENT_TAKEN) {
        batch->line_room[place] = record;
        batch->number_room[place] = line;
    } else {
        batch->text_used = text_used;
        batch->guessed_unit = guessed_unit;
    }
    return result;
}

bool event_parse_header(struct event_format *format, lethe_bytes record, struct event_batch *batch,
                        struct event_problem *problem) {
    bool fine = format->kind == EVENTS_CSV
                    ? event_parse_csv_header(format, record, batch, problem)
                    : event_parse_plain_header(format, record, batch, problem);
    batch->text_used = 0;
    return fine;
}

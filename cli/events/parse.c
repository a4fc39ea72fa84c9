/* parse.c - parses a record by its format.
 *
 * I1      A record that is unreadable, or finds no room, leaves the batch as it was. */
#include "events/parse.h"

#include <string.h>

#include "input/byte_order.h"

enum event_result event_parse(const struct event_format *format, lethe_bytes record, uint64_t line,
                              struct event_batch *batch, struct event_problem *problem) {
    size_t marks = byte_order_marks(record.data, record.size);
    record = (lethe_bytes){(const char *)record.data + marks, record.size - marks};
    if (record.size == 0) {
        event_problem_set(problem, "the line is empty; remove it");
        return EVENT_UNREADABLE;
    }
    struct event_extent before = event_batch_extent(batch);
    size_t place = batch->count;
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
        event_batch_cut(batch, before);
    }
    return result;
}

bool event_parse_header(struct event_format *format, lethe_bytes record, struct event_batch *batch,
                        struct event_problem *problem) {
    size_t marks = byte_order_marks(record.data, record.size);
    record = (lethe_bytes){(const char *)record.data + marks, record.size - marks};
    bool fine = format->kind == EVENTS_CSV
                    ? event_parse_csv_header(format, record, batch, problem)
                    : event_parse_plain_header(format, record, batch, problem);
    batch->text_used = 0;
    return fine;
}

/* parse.c - parses a record by its format, and what the formats share.
 *
 * I1      A record that is unreadable, or finds no room, leaves the batch as it was. */
#include "events/parse.h"

#include <inttypes.h>
#include <string.h>

#include "events/fields.inc.h"

bool event_check_size(const char *what, lethe_bytes field, size_t limit,
                      struct event_problem *problem) {
    if (field.size == 0) {
        event_problem_set(problem, "the %s is empty; give one of 1 to %zu bytes", what, limit);
        return false;
    }
    if (field.size > limit) {
        event_problem_set(problem, "the %s is %zu bytes long; the longest is %zu, so hash it first",
                          what, field.size, limit);
        return false;
    }
    return true;
}

bool event_explain_delta(lethe_bytes field, enum integer_problem reason,
                         struct event_problem *problem) {
    struct event_excerpt excerpt;
    if (field.size == 0) {
        event_problem_set(problem, "the delta is empty; write a whole number");
    } else if (reason == INTEGER_TOO_LARGE) {
        event_problem_set(problem,
                          "the delta '%s' is beyond 64 bits; write a number from %" PRId64
                          " to %" PRId64,
                          event_excerpt(field, &excerpt), INT64_MIN, INT64_MAX);
    } else {
        event_problem_set(problem,
                          "the delta '%s' is not a whole number; write one such as 1 or -5",
                          event_excerpt(field, &excerpt));
    }
    return false;
}

enum event_result event_parse(const struct event_format *format, lethe_bytes record, uint64_t line,
                              struct event_batch *batch, struct event_problem *problem) {
    if (record.size == 0) {
        event_problem_set(problem, "the line is empty; remove it");
        return EVENT_UNREADABLE;
    }
    size_t text_used = batch->text_used;
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
        batch->text_used = text_used;
    }
    return result;
}

/* fields.inc.h - the fields of a record, whatever is between them.
 *
 * Plain lines and CSV differ only in how a field ends and is quoted. The functions here take the
 * one that finds the next field as an argument, and are compiled into each of the two parsers, so
 * that no call is left in the loop. What the fields mean is in record.h, for every format. */
#ifndef LETHE_CLI_EVENTS_FIELDS_INC_H
#define LETHE_CLI_EVENTS_FIELDS_INC_H

#include "events/header.h"
#include "events/record.h"

enum field_result { FIELD_FOUND = 0, FIELD_NONE, FIELD_BAD };

/* Finds the next field of a record. FIELD_BAD after saying what is wrong. */
typedef enum field_result (*field_next)(void *cursor, lethe_bytes *field,
                                        struct event_problem *problem);

/* id, key[, delta[, key, delta]...] */
EVENT_INLINE enum event_result event_by_order(const struct event_format *format, field_next next,
                                              void *cursor, struct event_batch *batch,
                                              struct event_problem *problem) {
    static const lethe_bytes none = {0};
    lethe_bytes id, field;
    if (next(cursor, &id, problem) != FIELD_FOUND || !event_take_id(id, problem)) {
        return EVENT_UNREADABLE;
    }
    size_t room = EVENTS_PER_BATCH + LETHE_CHANGES_LIMIT - batch->change_count;
    for (size_t count = 0;; count++) {
        enum field_result found = next(cursor, &field, problem);
        if (found == FIELD_NONE && count > 0) return event_add(batch, id, count, 0);
        if (found == FIELD_NONE) {
            event_problem_set(problem, "there is an id but no key; write id, key and delta");
        }
        if (found != FIELD_FOUND || !event_take_key(field, problem)) return EVENT_UNREADABLE;
        if (count == LETHE_CHANGES_LIMIT) {
            event_problem_set(problem, "more than %d keys in one event; write several events",
                              LETHE_CHANGES_LIMIT);
            return EVENT_UNREADABLE;
        }
        if (count == room) return EVENT_NO_ROOM;
        lethe_change *change = &batch->changes[batch->change_count + count];
        change->key = field;
        found = next(cursor, &field, problem);
        if (found == FIELD_BAD || !event_take_delta(format, found == FIELD_NONE ? none : field,
                                                    &change->delta, problem)) {
            return EVENT_UNREADABLE;
        }
        if (found == FIELD_NONE) return event_add(batch, id, count + 1, 0);
    }
}

/* The line ends before the columns from by_column[taken] on. Deltas may be missing, whether the
 * line has a place for them or not. */
static inline bool event_miss_columns(const struct event_format *format, size_t taken,
                                      lethe_bytes *fields, struct event_problem *problem) {
    for (; taken < format->column_count; taken++) {
        const struct event_place *place = &format->places[format->by_column[taken]];
        fields[format->by_column[taken]] = (lethe_bytes){0};
        if (place->role == ROLE_DELTA) continue;
        event_problem_set(problem, "the line has no column %u; check it, and --fields",
                          (unsigned)place->column);
        return false;
    }
    return true;
}

/* Each at its column. */
EVENT_INLINE enum event_result event_by_column(const struct event_format *format, field_next next,
                                               void *cursor, struct event_batch *batch,
                                               struct event_problem *problem) {
    lethe_bytes fields[EVENT_PLACES_LIMIT];
    size_t taken = 0;
    for (uint32_t column = 1; taken < format->column_count; column++) {
        lethe_bytes field;
        enum field_result found = next(cursor, &field, problem);
        if (found == FIELD_NONE && event_miss_columns(format, taken, fields, problem)) break;
        if (found != FIELD_FOUND) return EVENT_UNREADABLE;
        for (; taken < format->column_count &&
               format->places[format->by_column[taken]].column == column;
             taken++) {
            fields[format->by_column[taken]] = field;
        }
    }
    if (format->has_names && event_is_header(format, fields)) {
        event_problem_set(problem, "this is the header again; remove it");
        return EVENT_UNREADABLE;
    }
    return event_take_fields(format, fields, batch, problem);
}

/* The names of the columns. */
EVENT_INLINE bool event_by_header(struct event_format *format, field_next next, void *cursor,
                                  lethe_bytes record, struct event_problem *problem) {
    lethe_bytes field;
    enum field_result found;
    uint32_t column = 0;
    event_header_begin(format);
    while ((found = next(cursor, &field, problem)) == FIELD_FOUND && column < EVENT_COLUMN_LIMIT) {
        if (!event_header_take(format, ++column, field, problem)) return false;
    }
    return found != FIELD_BAD && event_header_end(format, record, problem);
}

#endif

/* fields.inc.h - fields become an operation, whatever is between them.
 *
 * Plain lines and CSV differ only in how a field ends and is quoted. The functions here take the
 * one that finds the next field as an argument, and are compiled into each of the two parsers, so
 * that no call is left in the loop. */
#ifndef LETHE_CLI_EVENTS_FIELDS_INC_H
#define LETHE_CLI_EVENTS_FIELDS_INC_H

#include "events/parse.h"
#include "events/time.h"
#include "input/integer.h"

enum field_result { FIELD_FOUND = 0, FIELD_NONE, FIELD_BAD };

/* Finds the next field of a record. FIELD_BAD after saying what is wrong. */
typedef enum field_result (*field_next)(void *cursor, lethe_bytes *field,
                                        struct event_problem *problem);

#define EVENT_INLINE static inline __attribute__((always_inline))

/* The checks of single fields; false after saying what is wrong. */
bool event_check_size(const char *what, lethe_bytes field, size_t limit,
                      struct event_problem *problem);
/* Whether a record that has these fields is the header once more, as in files that were put
 * together. */
bool event_is_header(const struct event_format *format, const lethe_bytes fields[ROLE_COUNT]);
bool event_explain_delta(lethe_bytes field, enum integer_problem reason,
                         struct event_problem *problem);

EVENT_INLINE bool event_take_id(lethe_bytes id, struct event_problem *problem) {
    if (id.size - 1 < LETHE_ID_LIMIT_BYTES) return true;
    return event_check_size("id", id, LETHE_ID_LIMIT_BYTES, problem);
}

EVENT_INLINE bool event_take_key(lethe_bytes key, struct event_problem *problem) {
    if (key.size - 1 < LETHE_KEY_LIMIT_BYTES) return true;
    return event_check_size("key", key, LETHE_KEY_LIMIT_BYTES, problem);
}

EVENT_INLINE bool event_take_delta(lethe_bytes field, int64_t *delta,
                                   struct event_problem *problem) {
    enum integer_problem reason = integer_parse(field, delta);
    return reason == INTEGER_FINE || event_explain_delta(field, reason, problem);
}

/* Adds the operation whose changes have been written after those of the others. */
EVENT_INLINE enum event_result event_add(struct event_batch *batch, lethe_bytes id,
                                         size_t change_count, uint64_t time_ms) {
    batch->operation_room[batch->count++] =
        (lethe_operation){.id = id,
                          .changes = batch->changes + batch->change_count,
                          .change_count = change_count,
                          .time_ms = time_ms};
    batch->change_count += change_count;
    return EVENT_TAKEN;
}

/* id, key[, delta[, key, delta]...] */
EVENT_INLINE enum event_result event_by_order(field_next next, void *cursor,
                                              struct event_batch *batch,
                                              struct event_problem *problem) {
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
        *change = (lethe_change){.key = field, .delta = 1};
        found = next(cursor, &field, problem);
        if (found == FIELD_NONE && count == 0) return event_add(batch, id, 1, 0);
        if (found == FIELD_NONE) {
            event_problem_set(problem, "the last of several keys has no delta; write one");
        }
        if (found != FIELD_FOUND || !event_take_delta(field, &change->delta, problem)) {
            return EVENT_UNREADABLE;
        }
    }
}

/* Each at its column. */
EVENT_INLINE enum event_result event_by_column(const struct event_format *format, field_next next,
                                               void *cursor, struct event_batch *batch,
                                               struct event_problem *problem) {
    lethe_bytes fields[ROLE_COUNT] = {{0}};
    for (uint32_t column = 1; column <= format->last_column; column++) {
        lethe_bytes field;
        enum field_result found = next(cursor, &field, problem);
        if (found == FIELD_NONE) {
            event_problem_set(problem, "the line has no column %u; check it, and --fields",
                              (unsigned)column);
        }
        if (found != FIELD_FOUND) return EVENT_UNREADABLE;
        for (int role = 0; role < ROLE_COUNT; role++) {
            if (format->columns[role] == column) fields[role] = field;
        }
    }
    if (format->has_names && event_is_header(format, fields)) {
        event_problem_set(problem, "this is the header again; remove it");
        return EVENT_UNREADABLE;
    }
    if (batch->change_count == EVENTS_PER_BATCH + LETHE_CHANGES_LIMIT) return EVENT_NO_ROOM;
    lethe_change *change = &batch->changes[batch->change_count];
    *change = (lethe_change){.key = fields[ROLE_KEY], .delta = 1};
    uint64_t time_ms = 0;
    if (!event_take_id(fields[ROLE_ID], problem) || !event_take_key(change->key, problem) ||
        (format->columns[ROLE_DELTA] != 0 &&
         !event_take_delta(fields[ROLE_DELTA], &change->delta, problem)) ||
        (format->columns[ROLE_TIME] != 0 &&
         !event_time_parse(fields[ROLE_TIME], &time_ms, problem))) {
        return EVENT_UNREADABLE;
    }
    return event_add(batch, fields[ROLE_ID], 1, time_ms);
}

#endif

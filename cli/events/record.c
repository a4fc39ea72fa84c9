/* record.c - what the fields of a record mean; see record.h.
 *
 * I1      The change that is written last is part of an operation only once event_add says so. A
 *         record that is rejected leaves nothing. */
#include "events/record.h"

#include <string.h>

#include "events/number.h"
#include "lethe/id.h"

enum { TIME_BYTES = 128 };

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

bool event_take_other_delta(const struct event_format *format, lethe_bytes field, int64_t *delta,
                            struct event_problem *problem) {
    *delta = decimal_unit(format->scale);
    if (field.size == 0) {
        if (!format->is_strict) return true;
        event_problem_set(problem, "the delta is missing, which --strict does not allow; write a "
                                   "number");
        return false;
    }
    enum decimal_problem reason = decimal_parse_scaled(field, format->scale, delta);
    if (reason == DECIMAL_FINE) return true;
    event_problem_number(problem, "delta", field, format->scale, reason);
    return false;
}

/* What a place says: a literal, or what was found there. */
static lethe_bytes text_of(const struct event_format *format, size_t place,
                           const lethe_bytes *fields) {
    const struct event_place *at = &format->places[place];
    return at->kind == PLACE_LITERAL ? event_place_text(format, at) : fields[place];
}

/* Whether the id is the one that the batch expects, if it does. */
static bool is_expected(const struct event_batch *batch, lethe_bytes id,
                        struct event_problem *problem) {
    struct event_excerpt one, other;
    lethe_bytes given = batch->given_id;
    if (given.size == 0 || (given.size == id.size && memcmp(given.data, id.data, id.size) == 0)) {
        return true;
    }
    event_problem_set(problem, "the event has the id '%s', and was given '%s' as well; give one",
                      event_excerpt(id, &one), event_excerpt(given, &other));
    return false;
}

/* The id of one field, or of several. */
static bool join_id(const struct event_format *format, const lethe_bytes *fields,
                    struct event_batch *batch, lethe_bytes *id, struct event_problem *problem) {
    lethe_bytes parts[EVENT_PLACES_LIMIT];
    size_t count = event_format_count(format, ROLE_ID), size;
    char joined[LETHE_ID_LIMIT_BYTES];
    *id = fields[0];
    if (count == 1) return event_take_id(*id, problem);
    for (size_t i = 0; i < count; i++) {
        parts[i] = text_of(format, i, fields);
        if (parts[i].size == 0) {
            event_problem_set(problem, "field %zu of the id is empty; give one of 1 byte or more",
                              i + 1);
            return false;
        }
    }
    if (lethe_id_join(parts, count, joined, sizeof joined, &size) != LETHE_OK) {
        return event_check_size("id", (lethe_bytes){joined, size}, LETHE_ID_LIMIT_BYTES, problem);
    }
    char *room = event_batch_take(batch, size);
    memcpy(room, joined, size);
    *id = (lethe_bytes){.data = room, .size = size};
    return true;
}

bool event_make_id(const struct event_format *format, const lethe_bytes *fields,
                   struct event_batch *batch, lethe_bytes *id, struct event_problem *problem) {
    bool is_missing = event_format_count(format, ROLE_ID) == 1 && fields[0].data == NULL;
    if (is_missing && batch->given_id.size > 0) {
        *id = batch->given_id;
        return event_take_id(*id, problem);
    }
    return join_id(format, fields, batch, id, problem) && is_expected(batch, *id, problem);
}

/* The keys, each with its delta, or with the one for all. */
static bool take_changes(const struct event_format *format, const lethe_bytes *fields,
                         lethe_change *changes, struct event_problem *problem) {
    size_t keys = event_format_count(format, ROLE_KEY);
    size_t deltas = event_format_count(format, ROLE_DELTA);
    for (size_t i = 0; i < keys; i++) {
        lethe_change *change = &changes[i];
        *change = (lethe_change){.key = text_of(format, format->starts[ROLE_KEY] + i, fields),
                                 .delta = decimal_unit(format->scale)};
        if (!event_take_key(change->key, problem)) return false;
        if (deltas == 1 && i > 0) change->delta = changes[0].delta;
        if (deltas <= i) continue;
        lethe_bytes delta = text_of(format, format->starts[ROLE_DELTA] + i, fields);
        if (!event_take_delta(format, delta, &change->delta, problem)) return false;
    }
    return true;
}

/* The time of one field; or of two, a day and a time of day. */
bool event_take_time(const struct event_format *format, const lethe_bytes *fields,
                     struct event_batch *batch, uint64_t *time_ms, struct event_problem *problem) {
    *time_ms = 0;
    if (!event_format_has_time(format)) return true;
    const lethe_bytes *times = fields + format->starts[ROLE_TIME];
    enum event_time_unit guessed = UNIT_BY_SIZE;
    lethe_bytes text = times[0];
    char joined[TIME_BYTES];
    if (event_format_count(format, ROLE_TIME) == 2) {
        size_t size = times[0].size + 1 + times[1].size;
        if (times[0].size >= sizeof joined || times[1].size >= sizeof joined - times[0].size) {
            event_problem_set(problem, "the time is %zu bytes long; check %s", size,
                              format->fields_option);
            return false;
        }
        memcpy(joined, times[0].data, times[0].size);
        joined[times[0].size] = ' ';
        memcpy(joined + times[0].size + 1, times[1].data, times[1].size);
        text = (lethe_bytes){.data = joined, .size = size};
    }
    if (!event_time_parse(&format->time, text, time_ms, &guessed, problem)) return false;
    if (guessed != UNIT_BY_SIZE && batch->guessed_unit == UNIT_BY_SIZE) {
        batch->guessed_unit = guessed;
        batch->guessed_at = batch->count;
    }
    return true;
}

enum event_result event_take_fields(const struct event_format *format, const lethe_bytes *fields,
                                    struct event_batch *batch, struct event_problem *problem) {
    size_t keys = event_format_count(format, ROLE_KEY);
    if (keys > EVENTS_PER_BATCH + LETHE_CHANGES_LIMIT - batch->change_count) return EVENT_NO_ROOM;
    lethe_change *changes = batch->changes + batch->change_count;
    uint64_t time_ms;
    lethe_bytes id;
    if (!event_make_id(format, fields, batch, &id, problem) ||
        !take_changes(format, fields, changes, problem) ||
        !event_take_time(format, fields, batch, &time_ms, problem)) {
        return EVENT_UNREADABLE;
    }
    return event_add(batch, id, keys, time_ms);
}

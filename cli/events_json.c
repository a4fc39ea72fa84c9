/* events_json.c - a JSON object a line. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "events_fields.h"

/* Finds the member of a role; NULL when the format names none or the object has none (or null). */
static const json_t *find_member(const struct event_format *format, const json_t *object,
                                 enum event_role role) {
    if (format->names[role][0] == '\0') return NULL;
    const json_t *member = json_object_get(object, format->names[role]);
    return json_is_null(member) ? NULL : member;
}

/* The bytes of a member that is a string or a whole number; the batch keeps them. */
static bool take_text(const struct event_format *format, const json_t *object, enum event_role role,
                      struct event_batch *batch, lethe_bytes *out, struct event_problem *problem) {
    const json_t *member = find_member(format, object, role);
    if (json_is_string(member)) {
        out->size = json_string_length(member);
        char *room = event_batch_take(batch, out->size);
        memcpy(room, json_string_value(member), out->size);
        out->data = room;
        return true;
    }
    if (json_is_integer(member)) {
        char digits[32];
        int length =
            snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(member));
        char *room = event_batch_take(batch, (size_t)length);
        memcpy(room, digits, (size_t)length);
        *out = (lethe_bytes){.data = room, .size = (size_t)length};
        return true;
    }
    if (member == NULL) {
        event_problem_set(problem, "the object has no member '%s'; name the right one in --fields",
                          format->names[role]);
    } else {
        event_problem_set(problem,
                          "the member '%s' is neither a string nor a whole number; make "
                          "it one of these",
                          format->names[role]);
    }
    return false;
}

/* The deltas of most events are not given, and are then 1. */
static bool take_delta(const struct event_format *format, const json_t *object, int64_t *delta,
                       struct event_problem *problem) {
    const json_t *member = find_member(format, object, ROLE_DELTA);
    *delta = 1;
    if (member == NULL) return true;
    if (json_is_integer(member)) {
        *delta = json_integer_value(member);
        return true;
    }
    if (json_is_string(member)) {
        lethe_bytes text = {.data = json_string_value(member), .size = json_string_length(member)};
        return event_take_delta(text, delta, problem);
    }
    event_problem_set(problem, "the member '%s' is not a whole number; write one such as 1 or -5",
                      format->names[ROLE_DELTA]);
    return false;
}

static enum event_result take_object(const struct event_format *format, const json_t *object,
                                     struct event_batch *batch, struct event_problem *problem) {
    if (!json_is_object(object)) {
        event_problem_set(problem,
                          "the line is not a JSON object; write {\"id\": ..., \"key\": ...}");
        return EVENT_REJECTED;
    }
    if (batch->change_count == EVENTS_PER_BATCH + LETHE_CHANGES_LIMIT) return EVENT_NO_ROOM;
    lethe_change *change = &batch->changes[batch->change_count];
    lethe_bytes id, time;
    uint64_t time_ms = 0;
    if (!take_text(format, object, ROLE_ID, batch, &id, problem) || !event_take_id(id, problem) ||
        !take_text(format, object, ROLE_KEY, batch, &change->key, problem) ||
        !event_take_key(change->key, problem) ||
        !take_delta(format, object, &change->delta, problem) ||
        (event_format_has_time(format) &&
         (!take_text(format, object, ROLE_TIME, batch, &time, problem) ||
          !event_time_parse(time, &time_ms, problem)))) {
        return EVENT_REJECTED;
    }
    return event_add(batch, id, 1, time_ms);
}

enum event_result event_parse_json(const struct event_format *format, lethe_bytes record,
                                   struct event_batch *batch, struct event_problem *problem) {
    json_error_t error;
    json_t *object =
        json_loadb(record.data, record.size, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
    if (object == NULL) {
        event_problem_set(problem, "not JSON at column %d: %s; write one object a line",
                          error.column, error.text);
        return EVENT_REJECTED;
    }
    enum event_result result = take_object(format, object, batch, problem);
    json_decref(object);
    return result;
}

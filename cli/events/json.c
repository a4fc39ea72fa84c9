/* json.c - one JSON object per line.
 *
 * IDEA    Jansson parses the line; the members that the format names become id, key, delta and
 *         time.
 * I1      A member that several roles name is copied into the batch once, so the room that a line
 *         was promised is enough.
 * LIMIT   Parsing takes most of the time of counting JSON: a tree is made of each line. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "events/fields.inc.h"

/* Finds the member of a role; NULL when the format names none or the object has none (or null). */
static const json_t *find_member(const struct event_format *format, const json_t *object,
                                 enum event_role role) {
    if (format->names[role][0] == '\0') return NULL;
    const json_t *member = json_object_get(object, format->names[role]);
    return json_is_null(member) ? NULL : member;
}

/* What was taken from an object so far, by role. */
struct taken {
    const json_t *object;
    lethe_bytes texts[ROLE_COUNT];
};

/* The text of another role that has the same member, or NULL. */
static const lethe_bytes *find_shared(const struct event_format *format, const struct taken *taken,
                                      enum event_role role) {
    for (int other = 0; other < ROLE_COUNT; other++) {
        if (taken->texts[other].data != NULL &&
            strcmp(format->names[other], format->names[role]) == 0) {
            return &taken->texts[other];
        }
    }
    return NULL;
}

/* The bytes of a member that is a string or a whole number; the batch keeps them, once for all the
 * roles that name the member. */
static bool take_text(const struct event_format *format, enum event_role role,
                      struct event_batch *batch, struct taken *taken,
                      struct event_problem *problem) {
    const json_t *member = find_member(format, taken->object, role);
    const lethe_bytes *shared = find_shared(format, taken, role);
    char digits[32];
    lethe_bytes text;
    if (shared != NULL) {
        taken->texts[role] = *shared;
        return true;
    }
    if (json_is_string(member)) {
        text = (lethe_bytes){json_string_value(member), json_string_length(member)};
    } else if (json_is_integer(member)) {
        int length =
            snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(member));
        text = (lethe_bytes){digits, (size_t)length};
    } else {
        if (member == NULL) {
            event_problem_set(problem,
                              "the object has no member '%s'; name the right one in --fields",
                              format->names[role]);
        } else {
            event_problem_set(problem,
                              "the member '%s' is neither a string nor a whole number; make "
                              "it one of these",
                              format->names[role]);
        }
        return false;
    }
    char *room = event_batch_take(batch, text.size);
    if (text.size > 0) memcpy(room, text.data, text.size);
    taken->texts[role] = (lethe_bytes){room, text.size};
    return true;
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
        return EVENT_UNREADABLE;
    }
    if (batch->change_count == EVENTS_PER_BATCH + LETHE_CHANGES_LIMIT) return EVENT_NO_ROOM;
    lethe_change *change = &batch->changes[batch->change_count];
    struct taken taken = {.object = object};
    const lethe_bytes *texts = taken.texts;
    uint64_t time_ms = 0;
    if (!take_text(format, ROLE_ID, batch, &taken, problem) ||
        !event_take_id(texts[ROLE_ID], problem) ||
        !take_text(format, ROLE_KEY, batch, &taken, problem) ||
        !event_take_key(texts[ROLE_KEY], problem) ||
        !take_delta(format, object, &change->delta, problem) ||
        (event_format_has_time(format) &&
         (!take_text(format, ROLE_TIME, batch, &taken, problem) ||
          !event_time_parse(texts[ROLE_TIME], &time_ms, problem)))) {
        return EVENT_UNREADABLE;
    }
    change->key = texts[ROLE_KEY];
    return event_add(batch, texts[ROLE_ID], 1, time_ms);
}

static bool is_blank(lethe_bytes record) {
    const char *text = record.data;
    size_t at = 0;
    while (at < record.size && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r')) {
        at++;
    }
    return at == record.size;
}

enum event_result event_parse_json(const struct event_format *format, lethe_bytes record,
                                   struct event_batch *batch, struct event_problem *problem) {
    json_error_t error;
    json_t *object =
        json_loadb(record.data, record.size, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
    if (object == NULL && is_blank(record)) {
        event_problem_set(problem, "the line is empty; remove it");
        return EVENT_UNREADABLE;
    }
    if (object == NULL) {
        event_problem_set(problem, "not JSON at column %d: %s; write one object per line",
                          error.column, error.text);
        return EVENT_UNREADABLE;
    }
    enum event_result result = take_object(format, object, batch, problem);
    json_decref(object);
    return result;
}

/* json.c - one JSON object per line.
 *
 * IDEA    Jansson parses the line; the members that the format names become the fields of a record
 *         (record.h).
 * I1      A member that several places name is copied into the batch once, so the room that a line
 *         was promised is enough.
 * LIMIT   Parsing takes most of the time of counting JSON: a tree is made of each line. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "events/json_real.h"
#include "events/places.h"
#include "events/record.h"

/* An element of an array by its number, as a JSON pointer writes it. */
static const json_t *find_element(const json_t *array, const char *name) {
    uint64_t place;
    bool is_number = integer_parse_natural((lethe_bytes){name, strlen(name)}, &place) &&
                     (name[0] != '0' || name[1] == '\0');
    return is_number ? json_array_get(array, (size_t)place) : NULL;
}

/* Finds the member of a place; NULL when the object has none, or null there. */
static const json_t *find_member(const struct event_format *format, const struct event_place *place,
                                 const json_t *object) {
    lethe_bytes names = event_place_text(format, place);
    const char *name = names.data, *end = name + names.size;
    for (; name < end && object != NULL; name += strlen(name) + 1) {
        object = json_is_array(object) ? find_element(object, name) : json_object_get(object, name);
    }
    return json_is_null(object) ? NULL : object;
}

/* Says what is wrong with a member: words before and after its name. */
static bool reject(const struct event_format *format, const struct event_place *place,
                   const char *before, const char *after, struct event_problem *problem) {
    char name[2 * EVENT_NAME_BYTES];
    (void)event_place_describe(format, place, name, sizeof name);
    event_problem_set(problem, "%s '%s'%s", before, name, after);
    return false;
}

/* What was taken from an object so far, by place. */
struct taken {
    const json_t *object, *members[EVENT_PLACES_LIMIT];
    lethe_bytes line, fields[EVENT_PLACES_LIMIT];
};

/* The text of a member that is a string or a number. It may be in `digits`. */
static bool text_of(const struct taken *taken, const json_t *member, enum event_role role,
                    char digits[32], lethe_bytes *out) {
    if (json_is_string(member)) {
        *out = (lethe_bytes){json_string_value(member), json_string_length(member)};
        return true;
    }
    if (json_is_integer(member)) {
        int length = snprintf(digits, 32, "%" JSON_INTEGER_FORMAT, json_integer_value(member));
        *out = (lethe_bytes){digits, (size_t)length};
        return true;
    }
    if (json_is_real(member) && (role == ROLE_DELTA || role == ROLE_TIME)) {
        *out = event_json_real(taken->object, member, taken->line);
        return out->size > 0;
    }
    return false;
}

/* Whether an earlier place has the same member, whose text is then used again. */
static bool is_shared(struct taken *taken, size_t place) {
    for (size_t i = 0; i < place; i++) {
        if (taken->members[i] != taken->members[place]) continue;
        taken->fields[place] = taken->fields[i];
        return true;
    }
    return false;
}

/* Takes the bytes of a place; the batch keeps them. A delta may be missing. */
static bool take_place(const struct event_format *format, size_t place, struct event_batch *batch,
                       struct taken *taken, struct event_problem *problem) {
    const struct event_place *at = &format->places[place];
    char digits[32];
    lethe_bytes text;
    taken->fields[place] = (lethe_bytes){0};
    taken->members[place] = NULL;
    if (at->kind == PLACE_LITERAL) return true;
    const json_t *member = find_member(format, at, taken->object);
    if (member == NULL) {
        return at->role == ROLE_DELTA || reject(format, at, "the object has no member",
                                                "; name the right one in --fields", problem);
    }
    taken->members[place] = member;
    if (!text_of(taken, member, at->role, digits, &text)) {
        return reject(format, at, "the member",
                      at->role == ROLE_DELTA
                          ? " is not a whole number; write one such as 1 or -5"
                          : " is neither a string nor a whole number; make it one of these",
                      problem);
    }
    if (is_shared(taken, place)) return true;
    char *room = event_batch_take(batch, text.size);
    if (text.size > 0) memcpy(room, text.data, text.size);
    taken->fields[place] = (lethe_bytes){room, text.size};
    return true;
}

static enum event_result take_object(const struct event_format *format, const json_t *object,
                                     lethe_bytes line, struct event_batch *batch,
                                     struct event_problem *problem) {
    if (!json_is_object(object)) {
        event_problem_set(problem,
                          "the line is not a JSON object; write {\"id\": ..., \"key\": ...}");
        return EVENT_UNREADABLE;
    }
    struct taken taken;
    taken.object = object;
    taken.line = line;
    for (size_t i = 0; i < format->place_count; i++) {
        if (!take_place(format, i, batch, &taken, problem)) return EVENT_UNREADABLE;
    }
    return event_take_fields(format, taken.fields, batch, problem);
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
    enum event_result result = take_object(format, object, record, batch, problem);
    json_decref(object);
    return result;
}

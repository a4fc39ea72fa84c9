/* json.c - one JSON object per line.
 *
 * IDEA    A scan checks the line, and finds the members that the format names where they stand
 *         (scan.h). They become the fields of a record (record.h).
 * I1      Places that name the same member share its node in the tree, and so its text: a string
 *         is unescaped into the batch once, and the room that a line was promised is enough.
 *         Of a string in base64 what is read takes no more room than its text, once.
 * I2      A member is missing if it is not there or null, or if one on the path to it is. A path
 *         that leads through anything that has no members is a mistake, of the line or of
 *         --fields.
 * I3      A delta that is missing is 1. But a CloudEvent without `data` may have it elsewhere, as
 *         data_base64 or in another format: a delta that is looked for there is not known. */
#include <string.h>

#include "events/changes.h"
#include "events/places.h"
#include "events/record.h"
#include "events/scan.h"
#include "input/base64.h"

/* The padding after a line is what is promised for an id. */
_Static_assert((int)SCAN_PADDING_BYTES <= (int)LETHE_ID_LIMIT_BYTES, "a line has its padding");

/* How a value is called in a message. */
static const char *kind_name(uint8_t kind) {
    static const char *const names[] = {
        [SCAN_NOTHING] = "nothing",  [SCAN_NULL] = "null",     [SCAN_BOOLEAN] = "true or false",
        [SCAN_INTEGER] = "a number", [SCAN_REAL] = "a number", [SCAN_STRING] = "a string",
        [SCAN_OBJECT] = "an object", [SCAN_ARRAY] = "a list",  [SCAN_BYTES] = "a string",
    };
    return names[kind];
}

/* Says that a place has nothing it could have: not in this line, if it is required. */
static bool miss(const struct event_format *format, const struct event_place *place,
                 const struct event_batch *batch, struct event_problem *problem) {
    char name[2 * EVENT_NAME_BYTES];
    if (place->role == ROLE_DELTA) return true;
    if (place->role == ROLE_ID && batch->given_id.size > 0) return true;
    (void)event_place_describe(format, place, name, sizeof name);
    event_problem_set(problem, "the object has no member '%s'; name the right one in %s", name,
                      format->fields_option);
    return false;
}

/* I3: whether a member is looked for in the data of an event that has none. */
static bool lacks_data(const struct event_format *format, uint16_t node,
                       const struct scan_value *found) {
    const struct member_node *nodes = format->members.nodes;
    while (nodes[node].parent != MEMBER_ROOT) {
        node = nodes[node].parent;
    }
    return strcmp(format->text + nodes[node].name, "data") == 0 &&
           (found[node].kind == SCAN_NOTHING || found[node].kind == SCAN_NULL);
}

/* A member that was not found. What stands where its path ends says why. */
static bool miss_member(const struct event_format *format, const struct event_place *place,
                        uint16_t node, const struct scan_value *found,
                        const struct event_batch *batch, struct event_problem *problem) {
    const struct member_node *nodes = format->members.nodes;
    uint16_t last = nodes[node].parent, child = node;
    while (last != MEMBER_ROOT && found[last].kind == SCAN_NOTHING) {
        child = last;
        last = nodes[last].parent;
    }
    uint8_t kind = last != MEMBER_ROOT ? found[last].kind : SCAN_OBJECT;
    if (kind == SCAN_OBJECT || kind == SCAN_NULL ||
        (kind == SCAN_ARRAY && nodes[child].element != MEMBER_NO_ELEMENT)) {
        return miss(format, place, batch, problem);
    }
    char name[2 * EVENT_NAME_BYTES];
    (void)event_place_describe(format, place, name, sizeof name);
    event_problem_set(problem,
                      "the path '%s' leads through '%s', which is %s and has no member '%s'; "
                      "name the right one in %s",
                      name, format->text + nodes[last].name, kind_name(kind),
                      format->text + nodes[child].name, format->fields_option);
    return false;
}

/* Whether a role takes such a value. */
static bool is_taken(enum event_role role, uint8_t kind) {
    if (kind == SCAN_REAL) return role == ROLE_DELTA || role == ROLE_TIME;
    return kind == SCAN_STRING || kind == SCAN_INTEGER;
}

static bool reject_kind(const struct event_format *format, const struct event_place *place,
                        uint8_t kind, struct event_problem *problem) {
    char name[2 * EVENT_NAME_BYTES];
    (void)event_place_describe(format, place, name, sizeof name);
    event_problem_set(problem, "the member '%s' is %s%s", name, kind_name(kind),
                      place->role == ROLE_DELTA ? ", not a number; write one such as 1 or -5"
                      : kind == SCAN_REAL
                          ? " with a fraction or an exponent; make it a string or a whole number"
                          : "; make it a string or a whole number");
    return false;
}

lethe_bytes event_text_of(struct scan_value *value, struct event_batch *batch) {
    if (value->is_escaped) {
        char *room = event_batch_take(batch, value->size);
        value->size = (uint32_t)scan_unescape((lethe_bytes){value->at, value->size}, room);
        value->at = room;
        value->is_escaped = false;
    }
    /* Of the whole numbers only this one has two texts. */
    bool is_minus_zero =
        value->kind == SCAN_INTEGER && value->size == 2 && memcmp(value->at, "-0", 2) == 0;
    return (lethe_bytes){.data = value->at + is_minus_zero, .size = value->size - is_minus_zero};
}

bool event_bytes_of(struct scan_value *value, const char *role, struct event_batch *batch,
                    lethe_bytes *out, struct event_problem *problem) {
    if (value->kind != SCAN_BYTES) {
        lethe_bytes text = {.data = value->at, .size = value->size};
        char *room = value->kind == SCAN_STRING ? event_batch_take(batch, text.size) : NULL;
        if (value->is_escaped) {
            text.size = scan_unescape(text, room);
            text.data = room;
        }
        size_t size;
        if (room == NULL || !base64_read(text.data, text.size, room, &size)) {
            event_problem_set(problem, "the %s is not in base64, as its member's name says", role);
            return false;
        }
        *value = (struct scan_value){.at = room, .size = (uint32_t)size, .kind = SCAN_BYTES};
    }
    *out = (lethe_bytes){.data = value->at, .size = value->size};
    return true;
}

/* Whether an event has a place's bytes in base64. */
static bool has_base64(const struct event_format *format, size_t place,
                       const struct scan_value *found) {
    uint16_t node = format->base64_nodes[place];
    return node != MEMBER_ROOT && found[node].kind != SCAN_NOTHING && found[node].kind != SCAN_NULL;
}

/* Takes what a place names. A delta may be missing. */
static bool take_place(const struct event_format *format, size_t place, struct scan_value *found,
                       struct event_batch *batch, lethe_bytes *field,
                       struct event_problem *problem) {
    const struct event_place *at = &format->places[place];
    *field = (lethe_bytes){0};
    if (at->kind == PLACE_LITERAL) return true;
    if (format->takes_base64 && has_base64(format, place, found)) {
        return event_bytes_of(&found[format->base64_nodes[place]], event_role_name(at->role), batch,
                              field, problem);
    }
    uint16_t node = format->members.of_place[place];
    uint8_t kind = found[node].kind;
    if (format->is_cloud && at->role == ROLE_DELTA && lacks_data(format, node, found)) {
        event_problem_set(problem, "the event has no data that can be read as JSON, and the delta "
                                   "is looked for in it");
        return false;
    }
    if (kind == SCAN_NOTHING) return miss_member(format, at, node, found, batch, problem);
    if (kind == SCAN_NULL) return miss(format, at, batch, problem);
    if (!is_taken(at->role, kind)) return reject_kind(format, at, kind, problem);
    *field = event_text_of(&found[node], batch);
    return true;
}

/* Whether the event has nothing that it may not have. */
static bool passes_guards(const struct event_format *format, struct scan_value *found,
                          struct event_batch *batch, struct event_problem *problem) {
    for (size_t i = 0; i < format->guard_count; i++) {
        struct scan_value *value = &found[format->guard_nodes[i]];
        const char *only = format->guards[i].only;
        if (value->kind == SCAN_NOTHING || value->kind == SCAN_NULL) continue;
        if (only != NULL && value->kind == SCAN_STRING) {
            lethe_bytes text = event_text_of(value, batch);
            if (text.size == strlen(only) && memcmp(text.data, only, text.size) == 0) continue;
        }
        event_problem_set(problem, "%s", format->guards[i].reason);
        return false;
    }
    return true;
}

enum event_result event_parse_json(const struct event_format *format, lethe_bytes record,
                                   struct event_batch *batch, struct event_problem *problem) {
    struct scan_value found[MEMBER_NODES_LIMIT];
    struct scan_failure failure;
    lethe_bytes fields[EVENT_PLACES_LIMIT];
    struct scan_wanted wanted = {.tree = &format->members, .names = format->text};
    batch->text[batch->text_used] = '\0'; /* the record is the last that was taken */
    if (!format->scan(&wanted, record, found, &failure)) {
        scan_explain(&failure, record, format->text + format->members.nodes[failure.node].name,
                     problem);
        return EVENT_UNREADABLE;
    }
    if (!passes_guards(format, found, batch, problem)) return EVENT_UNREADABLE;
    bool has_changes = event_has_changes(format, found);
    for (size_t i = 0; i < format->place_count; i++) {
        enum event_role role = format->places[i].role;
        fields[i] = (lethe_bytes){0};
        if (has_changes && (role == ROLE_KEY || role == ROLE_DELTA)) {
            if (!event_lacks_place(format, i, found, problem)) return EVENT_UNREADABLE;
            continue;
        }
        if (!take_place(format, i, found, batch, &fields[i], problem)) return EVENT_UNREADABLE;
    }
    if (has_changes) return event_take_list(format, fields, found, batch, problem);
    return event_take_fields(format, fields, batch, problem);
}

/* cloud.c - CloudEvents in binary mode: attributes in headers, data in the body.
 *
 * IDEA    The same event is written in structured mode, and parsed as such: so both have one
 *         parser, and the same id. Only the attributes that the format names, or minds, are looked
 *         for.
 * I1      Data that is not JSON is left out, and the event has none then. If something is looked
 *         for in the data, the event is refused: a delta that cannot be read is not 1. */
#include <string.h>
#include <strings.h>

#include "say/utf8.h"
#include "server/parsing.h"

enum { HEADER_LIMIT_BYTES = 8192 };

/* The first name of a place's path, with a NUL after it; NULL for a literal. */
static const char *first_name(const struct event_format *format, size_t place) {
    const struct event_place *at = &format->places[place];
    return at->kind == PLACE_MEMBER ? format->text + at->text : NULL;
}

/* Whether one of the first `count` places has this first name. */
static bool came_before(const struct event_format *format, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        const char *other = first_name(format, i);
        if (other != NULL && strcmp(other, name) == 0) return true;
    }
    return false;
}

static bool write_attribute(request_lookup *header, void *connection, const char *name,
                            struct text *out, struct event_problem *problem) {
    char header_name[EVENT_NAME_BYTES + 4] = "ce-", value[HEADER_LIMIT_BYTES];
    char unquoted[HEADER_LIMIT_BYTES];
    size_t size;
    strncat(header_name, name, sizeof header_name - 4);
    const char *text = header(connection, header_name);
    if (text == NULL) return true; /* the parser says if that is a mistake */
    if (strlen(text) > sizeof value ||
        !request_unescape(unquoted, request_header_value(text, unquoted), value, &size) ||
        !utf8_is_text((lethe_bytes){.data = value, .size = size})) {
        event_problem_set(problem,
                          "the header %s is too long, is not UTF-8, or has a %% without two digits "
                          "after it",
                          header_name);
        return false;
    }
    text_put(out, out->size > 1 ? "," : "");
    text_quoted_string(out, name);
    text_put(out, ":");
    text_quoted(out, (lethe_bytes){.data = value, .size = size});
    return true;
}

/* Whether something is looked for in the data. */
static bool names_data(const struct event_format *format) {
    for (size_t i = 0; i < format->place_count; i++) {
        const char *name = first_name(format, i);
        if (name != NULL && strcmp(name, "data") == 0) return true;
    }
    return false;
}

/* Whether a Content-Type is one of JSON: application/json, text/json, or application/X+json. */
static bool type_is_json(const char *type) {
    size_t size = type != NULL ? strcspn(type, "; \t") : 0;
    return size > 5 && (type[size - 5] == '/' || type[size - 5] == '+') &&
           strncasecmp(type + size - 4, "json", 4) == 0;
}

bool cloud_write(request_lookup *header, void *connection, const struct event_format *format,
                 lethe_bytes body, struct text *out, struct event_problem *problem) {
    bool is_json = type_is_json(header(connection, "Content-Type"));
    if (!is_json && body.size > 0 && names_data(format)) { /* I1 */
        event_problem_set(problem, "the Content-Type is not that of JSON, and a part of the event "
                                   "is looked for in its data; send JSON as application/json");
        return false;
    }
    text_put(out, "{");
    for (size_t i = 0; i < format->place_count; i++) {
        const char *name = first_name(format, i);
        if (name == NULL || strcmp(name, "data") == 0 || came_before(format, i, name)) continue;
        if (!write_attribute(header, connection, name, out, problem)) return false;
    }
    for (size_t i = 0; i < format->guard_count; i++) {
        const char *name = format->guards[i].name;
        if (came_before(format, format->place_count, name)) continue;
        if (!write_attribute(header, connection, name, out, problem)) return false;
    }
    if (is_json && body.size > 0) {
        if (!event_is_one_value(body)) {
            event_problem_set(problem, "the body is not one JSON value");
            return false;
        }
        text_put(out, out->size > 1 ? ",\"data\":" : "\"data\":");
        text_add(out, body.data, body.size);
    }
    text_put(out, "}");
    return true;
}

/* places.c - reads --fields; see places.h for what it may say.
 *
 * I1      Columns are given all by number, or all by name.
 * I2      One delta, none, or as many as there are keys. */
#include "events/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/decimal.h"

enum { SHOWN_BYTES = 64, TIMES_MOST = 2 };

/* What is left of the text of --fields, and what was read of it. */
struct reader {
    const char *at;
    struct event_format *format;
    struct event_place places[EVENT_PLACES_LIMIT];
    size_t count;
    struct event_problem *problem;
};

/* One value, without the quotes around it. */
struct value {
    char text[EVENT_NAME_BYTES];
    size_t size;
    bool is_quoted;
};

static int shown(size_t length) {
    return (int)(length > SHOWN_BYTES ? SHOWN_BYTES : length);
}

static bool fail_long(struct reader *reader, enum event_role role) {
    event_problem_set(reader->problem, "the name of %s is longer than %d bytes; give a shorter one",
                      event_role_name(role), EVENT_NAME_BYTES - 1);
    return false;
}

/* Takes a value in quotes, whose first is next. */
static bool take_quoted(struct reader *reader, enum event_role role, struct value *value) {
    value->is_quoted = true;
    for (reader->at++;; reader->at++) {
        if (reader->at[0] == '"' && *++reader->at != '"') break;
        if (reader->at[0] == '\0') {
            event_problem_set(reader->problem, "the quotes of %s do not end; close them",
                              event_role_name(role));
            return false;
        }
        if (value->size == sizeof value->text - 1) return fail_long(reader, role);
        value->text[value->size++] = *reader->at;
    }
    if (*reader->at == ',' || *reader->at == '\0') return true;
    event_problem_set(reader->problem,
                      "the quotes of %s are followed by more than a comma; double "
                      "those inside it",
                      event_role_name(role));
    return false;
}

/* Takes a value up to the comma after it. */
static bool take_value(struct reader *reader, enum event_role role, struct value *value) {
    *value = (struct value){.size = 0};
    if (*reader->at == '"') return take_quoted(reader, role, value);
    value->size = strcspn(reader->at, ",");
    if (value->size >= sizeof value->text) return fail_long(reader, role);
    memcpy(value->text, reader->at, value->size);
    reader->at += value->size;
    return true;
}

/* Keeps some bytes in the format's text, as a part of a place. */
static bool keep(struct reader *reader, struct event_place *place, const char *text, size_t size) {
    struct event_format *format = reader->format;
    if (size > sizeof format->text - format->text_used) {
        event_problem_set(reader->problem,
                          "all names together are longer than %zu bytes; name less",
                          sizeof format->text);
        return false;
    }
    if (place->size == 0) place->text = (uint32_t)format->text_used;
    memcpy(format->text + format->text_used, text, size);
    format->text_used += size;
    place->size += (uint32_t)size;
    return true;
}

/* Keeps the names that a path goes through, which are between `separator`s. In a JSON pointer ~0
 * stands for ~ and ~1 for /. */
static bool keep_path(struct reader *reader, struct event_place *place, const char *path,
                      char separator) {
    char name[EVENT_NAME_BYTES];
    for (const char *at = path;; at++) {
        size_t size = 0;
        for (; *at != separator && *at != '\0'; at++) {
            bool is_escape = separator == '/' && *at == '~';
            if (is_escape) at++;
            if (is_escape && *at != '0' && *at != '1') {
                event_problem_set(reader->problem,
                                  "in '%s' a ~ is followed by neither 0 nor 1; "
                                  "write ~0 for ~, and ~1 for /",
                                  path);
                return false;
            }
            name[size++] = !is_escape ? *at : *at == '0' ? '~' : '/';
        }
        if (size == 0 && separator == '.') {
            event_problem_set(reader->problem,
                              "'%s' has no name beside a dot; put a name that has "
                              "dots in quotes, or write a pointer such as /a/b",
                              path);
            return false;
        }
        name[size++] = '\0';
        if (!keep(reader, place, name, size)) return false;
        if (*at == '\0') return true;
    }
}

static bool set_member(struct reader *reader, struct event_place *place, struct value *value) {
    place->kind = PLACE_MEMBER;
    reader->format->has_names = true;
    if (value->is_quoted) return keep(reader, place, value->text, value->size + 1);
    if (value->text[0] == '/') return keep_path(reader, place, value->text + 1, '/');
    return keep_path(reader, place, value->text, '.');
}

/* A column, by its number or its name. */
static bool set_column(struct reader *reader, struct event_place *place, struct value *value) {
    bool is_number = !value->is_quoted && strspn(value->text, "0123456789") == value->size;
    place->kind = PLACE_COLUMN;
    if (!is_number) {
        reader->format->has_names = true;
        return keep(reader, place, value->text, value->size);
    }
    unsigned long column = value->size > 8 ? 0 : strtoul(value->text, NULL, 10);
    if (column < 1 || column > EVENT_COLUMN_LIMIT) {
        event_problem_set(reader->problem, "%s=%.*s is not a column; give a number from 1 to %d",
                          event_role_name(place->role), shown(value->size), value->text,
                          EVENT_COLUMN_LIMIT);
        return false;
    }
    place->column = (uint32_t)column;
    return true;
}

static bool set_literal(struct reader *reader, struct event_place *place, struct value *value) {
    struct decimal ignored;
    place->kind = PLACE_LITERAL;
    if (place->role == ROLE_TIME) {
        event_problem_set(reader->problem, "a time cannot be a literal; say where it is");
        return false;
    }
    if (place->role == ROLE_DELTA &&
        !decimal_parse((lethe_bytes){value->text, value->size}, &ignored)) {
        event_problem_set(reader->problem, "the delta ':%s' is not a number; write one such as :1",
                          value->text);
        return false;
    }
    return keep(reader, place, value->text, value->size);
}

/* The role that the next item names; ROLE_COUNT after saying what is wrong. */
static enum event_role take_role(struct reader *reader) {
    size_t length = strcspn(reader->at, "=,"), whole = strcspn(reader->at, ",");
    int role = 0;
    while (role < ROLE_COUNT &&
           (strlen(event_role_name((enum event_role)role)) != length ||
            strncmp(event_role_name((enum event_role)role), reader->at, length) != 0)) {
        role++;
    }
    if (role == ROLE_COUNT) {
        event_problem_set(reader->problem,
                          "'%.*s' names none of id, key, delta and time; write id=1,key=2,delta=3",
                          shown(whole), reader->at);
    } else if (length >= whole || length + 1 == whole) {
        event_problem_set(reader->problem, "'%.*s' does not say where it is; write %s=%s",
                          shown(whole), reader->at, event_role_name((enum event_role)role),
                          reader->format->kind == EVENTS_JSONL ? "and the member's name"
                                                               : "and the column's number");
        role = ROLE_COUNT;
    } else {
        reader->at += length + 1;
    }
    return (enum event_role)role;
}

/* Reads one item, such as id=1. */
static bool take_item(struct reader *reader) {
    struct value value;
    enum event_role role = take_role(reader);
    if (role == ROLE_COUNT) return false;
    if (reader->count == EVENT_PLACES_LIMIT) {
        event_problem_set(reader->problem, "more than %d fields; give fewer", EVENT_PLACES_LIMIT);
        return false;
    }
    struct event_place *place = &reader->places[reader->count++];
    *place = (struct event_place){.role = role};
    bool is_literal = *reader->at == ':';
    if (is_literal) reader->at++;
    if (!take_value(reader, role, &value)) return false;
    if (value.size == 0) {
        event_problem_set(reader->problem, "the name of %s is empty; give one",
                          event_role_name(role));
        return false;
    }
    if (is_literal) return set_literal(reader, place, &value);
    if (reader->format->kind == EVENTS_JSONL) return set_member(reader, place, &value);
    return set_column(reader, place, &value);
}

static bool read_items(struct reader *reader, const char *fields) {
    reader->at = fields;
    for (;; reader->at++) {
        if (!take_item(reader)) return false;
        if (*reader->at == '\0') return true;
    }
}

/* Puts the places in the order of their roles; those of one role stay in theirs. */
static void sort_places(struct reader *reader) {
    struct event_format *format = reader->format;
    for (int role = 0; role < ROLE_COUNT; role++) {
        format->starts[role] = format->place_count;
        for (size_t i = 0; i < reader->count; i++) {
            if ((int)reader->places[i].role != role) continue;
            format->places[format->place_count++] = reader->places[i];
        }
    }
    format->starts[ROLE_COUNT] = format->place_count;
}

static bool is_same(const struct event_format *format, const struct event_place *a,
                    const struct event_place *b) {
    return a->role == b->role && a->kind == b->kind && a->column == b->column &&
           a->size == b->size &&
           memcmp(format->text + a->text, format->text + b->text, a->size) == 0;
}

/* An id or key that is given twice is a mistake; a delta may stand for two keys. */
static bool check_repeated(const struct event_format *format, struct event_problem *problem) {
    for (size_t i = 0; i < format->starts[ROLE_DELTA]; i++) {
        for (size_t j = 0; j < i; j++) {
            if (!is_same(format, &format->places[i], &format->places[j])) continue;
            event_problem_set(problem, "the same %s is given twice; give it once",
                              event_role_name(format->places[i].role));
            return false;
        }
    }
    return true;
}

/* Whether all of some places are literals. */
static bool are_literals(const struct event_place *places, size_t count) {
    size_t literals = 0;
    for (size_t i = 0; i < count; i++) {
        literals += places[i].kind == PLACE_LITERAL;
    }
    return literals == count;
}

static bool check_columns(const struct event_format *format, struct event_problem *problem) {
    size_t numbers = 0;
    for (size_t i = 0; i < format->place_count; i++) {
        numbers += format->places[i].column != 0;
    }
    if (!format->has_names || numbers == 0) return true;
    event_problem_set(problem, "names and numbers are mixed; give names, with a header in the "
                               "file, or numbers, without one");
    return false;
}

/* What an event cannot do without, and what cannot be mixed. */
static bool check_places(const struct event_format *format, struct event_problem *problem) {
    for (enum event_role role = ROLE_ID; role <= ROLE_KEY; role++) {
        if (event_format_count(format, role) > 0) continue;
        event_problem_set(problem, "%s is missing; an event has an id and a key",
                          event_role_name(role));
        return false;
    }
    size_t keys = event_format_count(format, ROLE_KEY);
    size_t deltas = event_format_count(format, ROLE_DELTA);
    if (are_literals(format->places, event_format_count(format, ROLE_ID))) {
        event_problem_set(problem, "the id is the same in every event; say where it is");
        return false;
    }
    if (deltas > 1 && deltas != keys) {
        event_problem_set(problem,
                          "there are %zu keys and %zu deltas; give one delta for all "
                          "keys, or one for each",
                          keys, deltas);
        return false;
    }
    if (event_format_count(format, ROLE_TIME) > TIMES_MOST) {
        event_problem_set(problem, "time is given more than twice; give a day and a time of day");
        return false;
    }
    return check_repeated(format, problem) && check_columns(format, problem);
}

/* What stands for fields that are not given. */
static bool read_defaults(struct reader *reader, const struct event_format_options *options) {
    bool has_id = false, has_key = false;
    for (size_t i = 0; i < reader->count; i++) {
        has_id = has_id || reader->places[i].role == ROLE_ID;
        has_key = has_key || reader->places[i].role == ROLE_KEY;
    }
    if (options->is_cloud && has_id) {
        event_problem_set(reader->problem, "the id of a CloudEvent is its source and its id; give "
                                           "key, delta and time only, or --jsonl");
        return false;
    }
    if (options->is_cloud) {
        return read_items(reader, "id=source,id=id") && (has_key || read_items(reader, "key=type"));
    }
    if (options->fields != NULL || options->kind != EVENTS_JSONL) return true;
    return read_items(reader, "id=id,key=key,delta=delta");
}

bool event_places_read(const struct event_format_options *options, struct event_format *format,
                       struct event_problem *problem) {
    struct event_problem reason;
    struct reader reader = {.format = format, .problem = &reason};
    bool fine = (options->fields == NULL || read_items(&reader, options->fields)) &&
                read_defaults(&reader, options);
    sort_places(&reader);
    fine = fine && (reader.count == 0 || check_places(format, &reason));
    if (!fine) {
        const char *fields = options->fields != NULL ? options->fields : "";
        event_problem_set(problem, "%s %.*s: %s", format->fields_option, shown(strlen(fields)),
                          fields, reason.text);
    }
    return fine;
}

/* Writes a name or a literal so that it is read as what it is. */
static size_t describe_text(const char *before, lethe_bytes text, bool needs_quotes, char *out,
                            size_t room) {
    size_t used = (size_t)snprintf(out, room, "%s%s", before, needs_quotes ? "\"" : "");
    const char *letters = text.data;
    for (size_t i = 0; i < text.size; i++) {
        if (needs_quotes && letters[i] == '"' && used + 1 < room) out[used++] = '"';
        if (used + 1 < room) out[used++] = letters[i];
    }
    if (used < room) snprintf(out + used, room - used, "%s", needs_quotes ? "\"" : "");
    return used + needs_quotes;
}

static size_t describe_pointer(lethe_bytes names, char *out, size_t room) {
    size_t used = 0;
    const char *at = names.data, *end = at + names.size;
    for (; at < end && used + 3 < room; at++) {
        if (at == names.data || at[-1] == '\0') out[used++] = '/';
        if (*at == '\0') continue;
        if (*at == '~' || *at == '/') out[used++] = '~';
        out[used++] = *at == '~' ? '0' : *at == '/' ? '1' : *at;
    }
    out[used] = '\0';
    return at < end ? room : used;
}

size_t event_place_describe(const struct event_format *format, const struct event_place *place,
                            char *out, size_t room) {
    lethe_bytes text = event_place_text(format, place);
    const char *letters = text.data;
    if (place->column != 0 && place->size == 0) {
        return (size_t)snprintf(out, room, "%u", (unsigned)place->column);
    }
    if (place->kind == PLACE_MEMBER) {
        if (memchr(letters, '\0', text.size) != letters + text.size - 1) {
            return describe_pointer(text, out, room);
        }
        text.size--;
    }
    const char *special = place->kind == PLACE_MEMBER   ? "\":/"
                          : place->kind == PLACE_COLUMN ? "\":"
                                                        : "\"";
    bool needs_quotes = text.size == 0 || memchr(letters, ',', text.size) != NULL ||
                        strchr(special, letters[0]) != NULL;
    if (place->kind == PLACE_COLUMN) {
        size_t digits = 0;
        while (digits < text.size && letters[digits] >= '0' && letters[digits] <= '9') {
            digits++;
        }
        needs_quotes = needs_quotes || digits == text.size;
    }
    return describe_text(place->kind == PLACE_LITERAL ? ":" : "", text, needs_quotes, out, room);
}

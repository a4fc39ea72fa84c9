/* format.c - reads --fields: id=1,key=2, or names of members or columns.
 *
 * I1      A role has a column, or a name, or neither; names and columns are never mixed. */
#include "events/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const role_names[ROLE_COUNT] = {"id", "key", "delta", "time"};

const char *event_role_name(enum event_role role) {
    return role_names[role];
}

bool event_format_has_time(const struct event_format *format) {
    return format->columns[ROLE_TIME] != 0 || format->names[ROLE_TIME][0] != '\0';
}

bool event_format_has_header(const struct event_format *format) {
    return format->kind == EVENTS_CSV && format->has_names;
}

/* The role that text is the name of, or ROLE_COUNT. */
static enum event_role find_role(const char *text, size_t length) {
    int role = 0;
    while (role < ROLE_COUNT &&
           (strlen(role_names[role]) != length || strncmp(role_names[role], text, length) != 0)) {
        role++;
    }
    return (enum event_role)role;
}

/* Stores where one role is found: a number, or a name. */
static bool set_place(struct event_format *format, enum event_role role, const char *place,
                      size_t length, struct event_problem *problem) {
    bool is_number = strspn(place, "0123456789") >= length && format->kind != EVENTS_JSONL;
    if (!is_number && format->kind == EVENTS_PLAIN) {
        event_problem_set(problem,
                          "'%.*s' is not a column of a plain line; give its number from 1, or "
                          "--csv or --jsonl, whose fields have names",
                          (int)(length > 64 ? 64 : length), place);
        return false;
    }
    if (!is_number) {
        if (length >= EVENT_NAME_BYTES) {
            event_problem_set(problem, "the name of %s is longer than %d bytes; give a shorter one",
                              role_names[role], EVENT_NAME_BYTES - 1);
            return false;
        }
        memcpy(format->names[role], place, length);
        format->has_names = true;
        return true;
    }
    unsigned long column = length > 8 ? 0 : strtoul(place, NULL, 10);
    if (column < 1 || column > EVENT_COLUMN_LIMIT) {
        event_problem_set(problem, "%s=%.*s is not a column; give a number from 1 to %d",
                          role_names[role], (int)(length > 64 ? 64 : length), place,
                          EVENT_COLUMN_LIMIT);
        return false;
    }
    format->columns[role] = (uint32_t)column;
    if (column > format->last_column) format->last_column = (uint32_t)column;
    format->has_columns = true;
    return true;
}

/* Reads one "id=1". */
static bool take_place(struct event_format *format, const char *text, size_t length,
                       struct event_problem *problem) {
    const char *equals = memchr(text, '=', length);
    size_t name_length = equals != NULL ? (size_t)(equals - text) : length;
    enum event_role role = find_role(text, name_length);
    int shown = (int)(length > 64 ? 64 : length);
    if (role == ROLE_COUNT) {
        event_problem_set(problem,
                          "'%.*s' names none of id, key, delta and time; write id=1,key=2,delta=3",
                          shown, text);
        return false;
    }
    if (equals == NULL || name_length + 1 == length) {
        event_problem_set(
            problem, "'%.*s' does not say where it is; write %s=%s", shown, text, role_names[role],
            format->kind == EVENTS_JSONL ? "and the member's name" : "and the column's number");
        return false;
    }
    if (format->columns[role] != 0 || format->names[role][0] != '\0') {
        event_problem_set(problem, "%s is given twice; give it once", role_names[role]);
        return false;
    }
    return set_place(format, role, equals + 1, length - name_length - 1, problem);
}

/* What an event cannot do without, and what cannot be mixed. */
static bool check_places(const struct event_format *format, struct event_problem *problem) {
    for (enum event_role role = ROLE_ID; role <= ROLE_KEY; role++) {
        if (format->columns[role] != 0 || format->names[role][0] != '\0') continue;
        event_problem_set(problem, "%s is missing; an event has an id and a key", role_names[role]);
        return false;
    }
    if (format->has_names && format->has_columns) {
        event_problem_set(problem,
                          "names and numbers are mixed; give names, with a header in the file, or "
                          "numbers, without one");
        return false;
    }
    return true;
}

bool event_format_make(enum event_kind kind, const char *fields, struct event_format *out,
                       struct event_problem *problem) {
    *out = (struct event_format){.kind = kind};
    if (fields == NULL) {
        if (kind != EVENTS_JSONL) return true;
        for (int role = ROLE_ID; role <= ROLE_DELTA; role++) {
            snprintf(out->names[role], sizeof out->names[role], "%s", role_names[role]);
        }
        out->has_names = true;
        return true;
    }
    for (const char *at = fields;; at++) {
        size_t length = strcspn(at, ",");
        if (!take_place(out, at, length, problem)) return false;
        at += length;
        if (*at == '\0') break;
    }
    return check_places(out, problem);
}

void event_format_describe(const struct event_format *format, char out[EVENT_MANNER_BYTES]) {
    static const char *const kinds[] = {"", "--csv", "--jsonl"};
    size_t length = (size_t)snprintf(out, EVENT_MANNER_BYTES, "%s", kinds[format->kind]);
    const char *before = format->kind == EVENTS_PLAIN ? "--fields " : " --fields ";
    for (enum event_role role = ROLE_ID; role < ROLE_COUNT; role++) {
        const char *name = format->names[role];
        char column[16];
        if (format->columns[role] != 0) {
            snprintf(column, sizeof column, "%u", format->columns[role]);
            name = column;
        }
        if (name[0] == '\0') continue;
        length += (size_t)snprintf(out + length, EVENT_MANNER_BYTES - length, "%s%s=%s", before,
                                   role_names[role], name);
        before = ",";
    }
}

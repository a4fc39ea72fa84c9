/* csv.c - CSV records as in RFC 4180, and their header.
 *
 * IDEA    A field without quotes is used where it stands. A quoted field is too, unless it has
 *         doubled quotes: then it is written anew after the line.
 * LIMIT   Fields are separated by commas only. */
#include <string.h>

#include "events/fields.inc.h"

struct csv_cursor {
    const char *at, *end; /* at is NULL after the last field */
    struct event_batch *batch;
};

/* A field in quotes. Doubled quotes in it stand for one. */
static enum field_result quoted_field(struct csv_cursor *cursor, lethe_bytes *field,
                                      struct event_problem *problem) {
    const char *from = cursor->at + 1;
    const char *to = from;
    size_t doubled = 0;
    for (;;) {
        to = memchr(to, '"', (size_t)(cursor->end - to));
        if (to == NULL) {
            event_problem_set(problem, "a quoted field does not end; close its quotes, and double "
                                       "those inside it");
            return FIELD_BAD;
        }
        if (to + 1 == cursor->end || to[1] != '"') break;
        doubled++;
        to += 2;
    }
    if (to + 1 < cursor->end && to[1] != ',') {
        event_problem_set(problem, "a quoted field is followed by more than a comma; double the "
                                   "quotes inside it");
        return FIELD_BAD;
    }
    cursor->at = to + 1 < cursor->end ? to + 2 : NULL;
    *field = (lethe_bytes){.data = from, .size = (size_t)(to - from)};
    if (doubled == 0) return FIELD_FOUND;
    char *room = event_batch_take(cursor->batch, field->size);
    size_t size = 0;
    for (; from < to; from++) {
        room[size++] = *from;
        from += *from == '"';
    }
    *field = (lethe_bytes){.data = room, .size = size};
    return FIELD_FOUND;
}

EVENT_INLINE enum field_result csv_next(void *context, lethe_bytes *field,
                                        struct event_problem *problem) {
    struct csv_cursor *cursor = context;
    const char *from = cursor->at;
    if (from == NULL) return FIELD_NONE;
    if (from < cursor->end && *from == '"') return quoted_field(cursor, field, problem);
    const char *comma = memchr(from, ',', (size_t)(cursor->end - from));
    const char *to = comma != NULL ? comma : cursor->end;
    if (memchr(from, '"', (size_t)(to - from)) != NULL) {
        event_problem_set(problem, "there is a quote inside a field without quotes around it; put "
                                   "quotes around, and double the one inside");
        return FIELD_BAD;
    }
    cursor->at = comma != NULL ? comma + 1 : NULL;
    *field = (lethe_bytes){.data = from, .size = (size_t)(to - from)};
    return FIELD_FOUND;
}

enum event_result event_parse_csv(const struct event_format *format, lethe_bytes record,
                                  struct event_batch *batch, struct event_problem *problem) {
    struct csv_cursor cursor = {
        .at = record.data, .end = (const char *)record.data + record.size, .batch = batch};
    if (format->has_columns) return event_by_column(format, csv_next, &cursor, batch, problem);
    return event_by_order(csv_next, &cursor, batch, problem);
}

static bool has_name(lethe_bytes field, const char *name) {
    return field.data != NULL && strlen(name) == field.size &&
           memcmp(name, field.data, field.size) == 0;
}

bool event_is_header(const struct event_format *format, const lethe_bytes fields[ROLE_COUNT]) {
    static const char mark[] =
        "\xef\xbb\xbf"; /* of the order of bytes: each file may begin with one */
    lethe_bytes names[] = {fields[ROLE_ID], fields[ROLE_KEY]};
    for (int role = ROLE_ID; role <= ROLE_KEY; role++) {
        lethe_bytes *name = &names[role];
        if (format->columns[role] == 1 && name->size > 3 && memcmp(name->data, mark, 3) == 0) {
            *name = (lethe_bytes){(const char *)name->data + 3, name->size - 3};
        }
        if (!has_name(*name, format->names[role])) return false;
    }
    return true;
}

/* Says that there is no such column, and why that may be. */
static bool explain_header(lethe_bytes header, const char *name, struct event_problem *problem) {
    struct event_excerpt excerpt;
    bool has_comma = memchr(header.data, ',', header.size) != NULL;
    bool has_another = memchr(header.data, ';', header.size) != NULL ||
                       memchr(header.data, '\t', header.size) != NULL;
    if (!has_comma && has_another) {
        event_problem_set(problem,
                          "the header, '%s', has no commas, which --csv needs between columns; "
                          "write the file with them",
                          event_excerpt(header, &excerpt));
    } else {
        event_problem_set(problem,
                          "the header, '%s', has no column '%s'; name one that it has in --fields, "
                          "or give numbers if there is no header",
                          event_excerpt(header, &excerpt), name);
    }
    return false;
}

/* Whether every name has found its column. */
static bool check_header(const struct event_format *format, lethe_bytes header,
                         struct event_problem *problem) {
    for (int role = 0; role < ROLE_COUNT; role++) {
        if (format->names[role][0] != '\0' && format->columns[role] == 0) {
            return explain_header(header, format->names[role], problem);
        }
    }
    return true;
}

bool event_parse_header(const struct event_format *format, lethe_bytes record,
                        struct event_batch *batch, struct event_format *out,
                        struct event_problem *problem) {
    *out = *format;
    out->has_columns = true;
    struct csv_cursor cursor = {
        .at = record.data, .end = (const char *)record.data + record.size, .batch = batch};
    lethe_bytes field;
    enum field_result found;
    uint32_t column = 0;
    while ((found = csv_next(&cursor, &field, problem)) == FIELD_FOUND &&
           column < EVENT_COLUMN_LIMIT) {
        column++;
        for (int role = 0; role < ROLE_COUNT; role++) {
            const char *name = out->names[role];
            if (name[0] == '\0' || !has_name(field, name)) continue;
            if (out->columns[role] != 0) {
                event_problem_set(problem,
                                  "the header has more than one column '%s'; give each a name of "
                                  "its own",
                                  name);
                return false;
            }
            out->columns[role] = column;
            out->last_column = column;
        }
    }
    batch->text_used = 0;
    return found != FIELD_BAD && check_header(out, record, problem);
}

/* header.c - finds the columns of names; see header.h. */
#include "events/header.h"

#include <string.h>

static bool has_name(const struct event_format *format, const struct event_place *place,
                     lethe_bytes name) {
    lethe_bytes wanted = event_place_text(format, place);
    return wanted.size == name.size && memcmp(wanted.data, name.data, name.size) == 0;
}

void event_header_begin(struct event_format *format) {
    for (size_t i = 0; i < format->place_count; i++) {
        format->places[i].column = 0;
    }
}

bool event_header_take(struct event_format *format, uint32_t column, lethe_bytes name,
                       struct event_problem *problem) {
    for (size_t i = 0; i < format->place_count; i++) {
        struct event_place *place = &format->places[i];
        if (place->kind != PLACE_COLUMN || !has_name(format, place, name)) continue;
        if (place->column != 0) {
            event_problem_set(problem,
                              "the header has more than one column '%.*s'; give each a name of its "
                              "own",
                              (int)place->size, format->text + place->text);
            return false;
        }
        place->column = column;
    }
    return true;
}

/* What a header has between its columns, if that is not what it should be: the option for it. */
static const char *other_delimiter(const struct event_format *format, lethe_bytes header) {
    static const struct {
        char byte;
        const char *advice;
    } others[] = {{',', "--csv"},
                  {';', "--csv --delimiter ';'"},
                  {'|', "--csv --delimiter '|'"},
                  {'\t', "neither --csv nor --delimiter"}};
    char wanted = format->kind == EVENTS_CSV ? format->delimiter : '\t';
    if (memchr(header.data, wanted, header.size) != NULL) return NULL;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (memchr(header.data, others[i].byte, header.size) != NULL) return others[i].advice;
    }
    return NULL;
}

/* Says that there is no such column, and why that may be. */
static bool reject(const struct event_format *format, const struct event_place *place,
                   lethe_bytes header, struct event_problem *problem) {
    struct event_excerpt excerpt;
    const char *advice = other_delimiter(format, header);
    if (advice != NULL) {
        event_problem_set(problem,
                          "the header, '%s', has nothing that separates columns; for this file "
                          "give %s",
                          event_excerpt(header, &excerpt), advice);
    } else {
        event_problem_set(problem,
                          "the header, '%s', has no column '%.*s'; name one that it has in "
                          "--fields, or give numbers if there is no header",
                          event_excerpt(header, &excerpt), (int)place->size,
                          format->text + place->text);
    }
    return false;
}

bool event_header_end(struct event_format *format, lethe_bytes record,
                      struct event_problem *problem) {
    for (size_t i = 0; i < format->place_count; i++) {
        const struct event_place *place = &format->places[i];
        if (place->kind == PLACE_COLUMN && place->column == 0) {
            return reject(format, place, record, problem);
        }
    }
    event_format_order(format);
    return true;
}

bool event_is_header(const struct event_format *format, const lethe_bytes *fields) {
    for (size_t i = 0; i < format->starts[ROLE_DELTA]; i++) {
        const struct event_place *place = &format->places[i];
        lethe_bytes name = fields[i];
        if (place->kind != PLACE_COLUMN) continue;
        if (!has_name(format, place, name)) return false;
    }
    return true;
}

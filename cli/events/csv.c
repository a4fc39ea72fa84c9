/* csv.c - CSV records as in RFC 4180, with commas or another delimiter.
 *
 * IDEA    A field without quotes is used where it stands. A quoted field is too, unless it has
 *         doubled quotes: then it is written anew after the line. */
#include <string.h>

#include "events/fields.inc.h"

struct csv_cursor {
    const char *at, *end; /* at is NULL after the last field */
    char delimiter;
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
    if (to + 1 < cursor->end && to[1] != cursor->delimiter) {
        event_problem_set(problem,
                          "a quoted field is followed by more than a %s; double the "
                          "quotes inside it",
                          cursor->delimiter == ',' ? "comma" : "delimiter");
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
    const char *stop = memchr(from, cursor->delimiter, (size_t)(cursor->end - from));
    const char *to = stop != NULL ? stop : cursor->end;
    if (memchr(from, '"', (size_t)(to - from)) != NULL) {
        event_problem_set(problem, "there is a quote inside a field without quotes around it; put "
                                   "quotes around, and double the one inside");
        return FIELD_BAD;
    }
    cursor->at = stop != NULL ? stop + 1 : NULL;
    *field = (lethe_bytes){.data = from, .size = (size_t)(to - from)};
    return FIELD_FOUND;
}

static struct csv_cursor start(const struct event_format *format, lethe_bytes record,
                               struct event_batch *batch) {
    return (struct csv_cursor){.at = record.data,
                               .end = (const char *)record.data + record.size,
                               .delimiter = format->delimiter,
                               .batch = batch};
}

enum event_result event_parse_csv(const struct event_format *format, lethe_bytes record,
                                  struct event_batch *batch, struct event_problem *problem) {
    struct csv_cursor cursor = start(format, record, batch);
    if (format->place_count > 0) return event_by_column(format, csv_next, &cursor, batch, problem);
    return event_by_order(format, csv_next, &cursor, batch, problem);
}

bool event_parse_csv_header(struct event_format *format, lethe_bytes record,
                            struct event_batch *batch, struct event_problem *problem) {
    struct csv_cursor cursor = start(format, record, batch);
    return event_by_header(format, csv_next, &cursor, record, problem);
}
